// What people say beside the programs' texts.
#include <string.h>

#include "equal/layout/layout.h"
#include "equal/layout/spec.h"

static bool read_spec(struct layout_given *given, uint32_t source, struct arena *arena,
                      struct diagnostics *diagnostics) {
    if (source == NO_SOURCE)
        return true;
    const struct source_file *file = &diagnostics->sources->items[source];
    const char *text = file->text + text_begin(file->text, file->length);
    char first = text[strspn(text, " \t\r\n")];
    bool is_json = first == '{' || first == '[';
    given->spec = is_json ? spec_read_json(source, arena, diagnostics)
                          : spec_read_table(source, arena, diagnostics);
    if (given->spec && given->spec->has_mesh) {
        given->has_mesh = true;
        given->mesh = given->spec->mesh;
        given->mesh_span = given->spec->mesh_span;
    }
    return given->spec != NULL;
}

static bool read_mesh_option(struct layout_given *given, const char *text, struct arena *arena,
                             struct diagnostics *diagnostics) {
    if (!text)
        return true;
    uint32_t length = (uint32_t)strlen(text);
    uint32_t source = source_add(diagnostics->sources, arena, "--mesh", text, length);
    given->has_mesh = true;
    given->mesh_span = span_of(source, 0, length);
    return device_mesh_read(&given->mesh, given->mesh_span, arena, diagnostics);
}

bool layout_given_read(struct layout_given *given, uint32_t spec, const char *mesh_text,
                       struct arena *arena, struct diagnostics *diagnostics) {
    *given = (struct layout_given){.has_mesh = false};
    return read_spec(given, spec, arena, diagnostics) &&
           read_mesh_option(given, mesh_text, arena, diagnostics);
}
