// Writes specs, as tables: a pairing's, which a person may keep and change, and lines that a person is to fill in.
#include <inttypes.h>

#include "equal/layout/shapes.h"
#include "equal/layout/spec.h"

const char *spec_line(const char *name, bool is_result, const struct array_shape *shape,
                      const char *const *dimensions, struct arena *arena) {
    const char *sizes = "", *cuts = "";
    for (uint32_t i = 0; i < shape->rank; i++) {
        sizes = arena_format(arena, "%s%s%" PRId64, sizes, i ? "," : "", shape->sizes[i]);
        cuts = arena_format(arena, "%s%s%s", cuts, i ? ", " : " ", dimensions[i]);
    }
    return arena_format(arena, "%s %s [%s] :%s", is_result ? "result" : "parameter", name, sizes,
                        cuts);
}

static const char *dimension_text(const struct device_mesh *mesh,
                                  const struct dimension_layout *dimension, struct arena *arena) {
    const char *text = "";
    if (dimension->n_segments == 1)
        return cut_text(mesh, &dimension->segments[0].cut, arena);
    for (uint32_t i = 0; i < dimension->n_segments; i++)
        text = arena_format(arena, "%s%s%" PRId64 "/%s", text, i ? " " : "",
                            dimension->segments[i].size,
                            cut_text(mesh, &dimension->segments[i].cut, arena));
    return text;
}

static void write_line(const struct pairing *pairing, const struct array_layout *array,
                       const char *name, bool is_result, FILE *out) {
    struct arena scratch = {.blocks = NULL};
    const char *dimensions[MAX_GRAPH_RANK];
    for (uint32_t i = 0; i < array->shape->rank; i++)
        dimensions[i] = dimension_text(&pairing->mesh, &array->dimensions[i], &scratch);
    fprintf(out, "%s\n", spec_line(name, is_result, array->shape, dimensions, &scratch));
    arena_free(&scratch);
}

void pairing_write_spec(const struct pairing *pairing, FILE *out) {
    struct arena scratch = {.blocks = NULL};
    fprintf(out, "mesh %s\n", device_mesh_text(&pairing->mesh, &scratch));
    for (uint32_t i = 0; i < pairing->n_parameters; i++)
        write_line(pairing, &pairing->parameters[i], pairing->parameters[i].name, false, out);
    for (uint32_t i = 0; i < pairing->n_results; i++)
        write_line(pairing, &pairing->results[i], arena_format(&scratch, "%u", i), true, out);
    arena_free(&scratch);
}
