// Graphs: the tables of element types and primitives, and where in the user's program an instruction comes from.
#include "equal/graph/graph.h"

#include <inttypes.h>
#include <string.h>

const struct element_row element_rows[N_ELEMENT_TYPES] = {
#define ELEMENT(name, text, bits, kind) {text, bits, NUMBER_##kind},
#include "equal/graph/elements.def"
#undef ELEMENT
};

const struct primitive_row primitive_rows[N_PRIMITIVES] = {
#define PRIMITIVE(name, word, class, operands) {word, PRIMITIVE_##class, operands},
#include "equal/graph/primitives.def"
#undef PRIMITIVE
};

enum { SHOWN_MEMBERS = 4 };

const char *shape_text(const struct array_shape *shape, struct arena *arena) {
    if (shape->is_tuple && shape->n_members > SHOWN_MEMBERS)
        return arena_format(arena, "a tuple of %u", shape->n_members);
    const char *text = "";
    for (uint32_t i = 0; i < shape->n_members; i++) {
        const struct array_shape *member = shape->members[i];
        text = arena_format(arena, "%s%s%s", text, i ? ", " : "",
                            member->is_tuple ? "a tuple" : shape_text(member, arena));
    }
    if (shape->is_tuple)
        return arena_format(arena, "(%s)", text);
    for (uint32_t i = 0; i < shape->rank; i++)
        text = arena_format(arena, "%s%s%" PRId64, text, i ? "," : "", shape->sizes[i]);
    return arena_format(arena, "%s[%s]", element_rows[shape->element].text, text);
}

// Frames of an installed package say how a library calls, not what the user wrote.
static bool is_of_library(const char *file) {
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
}

static const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

bool element_is_integer(enum element element) {
    enum number_kind kind = element_rows[element].kind;
    return kind == NUMBER_INTEGER || kind == NUMBER_UNSIGNED;
}

void element_range(enum element element, int64_t *least, int64_t *most) {
    bool has_sign = element_rows[element].kind == NUMBER_INTEGER;
    int bits = element_rows[element].bits - has_sign;
    *most = bits < 63 ? (INT64_C(1) << bits) - 1 : INT64_MAX;
    *least = has_sign ? -*most - 1 : 0;
}

const char *graph_place(const struct graph *graph, const struct instruction *instruction,
                        struct arena *arena) {
    uint32_t at = instruction->frame;
    while (at && is_of_library(graph->frames[at].file))
        at = graph->frames[at].parent;
    if (!at)
        at = instruction->frame;
    if (!at)
        return NULL;
    const struct source_frame *frame = &graph->frames[at];
    if (!frame->function)
        return arena_format(arena, "%s:%u", base_name(frame->file), frame->line);
    return arena_format(arena, "%s:%u %s", base_name(frame->file), frame->line, frame->function);
}
