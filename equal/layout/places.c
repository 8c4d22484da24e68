// Makes the places that are paired, and words for them.
#include "equal/layout/places.h"

#include <inttypes.h>

// ---- words ------------------------------------------------------------------------------------

const char *place_words(const struct place *place, struct arena *arena) {
    bool has_name = !place->is_result || (place->entry && place->entry->name[0]);
    return has_name ? arena_format(arena, "%s `%s`", place->is_result ? "result" : "parameter",
                                   place->layout->name)
                    : arena_format(arena, "result %u", place->number);
}

const char *sizes_text(struct arena *arena, const int64_t *sizes, uint32_t rank) {
    const char *text = "[";
    for (uint32_t i = 0; i < rank; i++)
        text = arena_format(arena, "%s%s%" PRId64, text, i ? "," : "", sizes[i]);
    return arena_format(arena, "%s]", text);
}

const char *place_line(const struct place *place, const char *const *dimensions,
                       struct arena *arena) {
    const char *name =
        place->is_result ? arena_format(arena, "%u", place->number) : place->layout->name;
    return spec_line(name, place->is_result, place->one, dimensions, arena);
}

// ---- places -----------------------------------------------------------------------------------

const struct instruction *entry_root(const struct graph *graph) {
    const struct computation *entry = &graph->computations[graph->entry];
    return &entry->instructions[entry->root];
}

static uint32_t count_results(const struct graph *graph) {
    const struct array_shape *shape = entry_root(graph)->shape;
    return shape->is_tuple ? shape->n_members : 1;
}

static const struct array_shape *result_shape(const struct graph *graph, uint32_t number) {
    const struct array_shape *shape = entry_root(graph)->shape;
    return shape->is_tuple ? shape->members[number] : shape;
}

// What makes the result, which is nearer to the user's program than the tuple of all.
static const struct instruction *result_instruction(const struct graph *graph, uint32_t number) {
    const struct instruction *root = entry_root(graph);
    return root->primitive == PRIM_TUPLE
               ? graph_operand(&graph->computations[graph->entry], root, number)
               : root;
}

bool has_arrays_only(const struct pairer *p, const struct graph *graph) {
    for (uint32_t i = 0; i < graph->computations[graph->entry].n_parameters; i++)
        if (entry_parameter(graph, i)->shape->is_tuple) {
            struct diagnostic *d = report(p->diagnostics, E915, entry_parameter(graph, i)->span,
                                          "parameter %u is a tuple", i);
            diagnostic_help(d, "make the program of flat arguments, as JAX does");
            return false;
        }
    for (uint32_t i = 0; i < count_results(graph); i++)
        if (result_shape(graph, i)->is_tuple) {
            struct diagnostic *d = report(p->diagnostics, E916, result_instruction(graph, i)->span,
                                          "result %u is a tuple", i);
            diagnostic_help(d, "make the program of flat results, as JAX does");
            return false;
        }
    return true;
}

bool has_equal_results(const struct pairer *p) {
    const struct graph *one = p->question->one, *many = p->question->many;
    uint32_t n_one = count_results(one), n_many = count_results(many);
    if (n_one == n_many)
        return true;
    struct diagnostic *d = report(p->diagnostics, E916, entry_root(many)->span,
                                  "the program of the many has %u result%s, that of one device %u",
                                  n_many, plural_s(n_many), n_one);
    diagnostic_label(d, entry_root(one)->span, "the results of one device");
    diagnostic_help(d, "return the same from both programs, in the same order");
    return false;
}

static struct place parameter_place(const struct pairer *p, uint32_t number, uint32_t of_many) {
    const struct instruction *one = entry_parameter(p->question->one, number);
    const struct instruction *many = entry_parameter(p->question->many, of_many);
    return (struct place){
        .number = number, .one = one->shape, .many = many->shape, .one_at = one, .many_at = many};
}

static struct place result_place(const struct pairer *p, uint32_t number) {
    const struct graph *one = p->question->one, *many = p->question->many;
    return (struct place){.is_result = true,
                          .number = number,
                          .one = result_shape(one, number),
                          .many = result_shape(many, number),
                          .one_at = result_instruction(one, number),
                          .many_at = result_instruction(many, number)};
}

void make_places(struct pairer *p, const struct matching *matching) {
    const struct graph *one = p->question->one;
    p->n_parameters = one->computations[one->entry].n_parameters;
    p->n_places = p->n_parameters + count_results(one);
    p->places = ARENA_ARRAY(p->arena, struct place, p->n_places);
    p->layouts = ARENA_ARRAY(p->arena, struct array_layout, p->n_places);
    for (uint32_t i = 0; i < p->n_places; i++) {
        struct place *place = &p->places[i];
        uint32_t number = i < p->n_parameters ? i : i - p->n_parameters;
        *place = i < p->n_parameters ? parameter_place(p, i, matching->many[i])
                                     : result_place(p, number);
        place->layout = &p->layouts[i];
        place->layout->shape = place->one;
        place->layout->name = place->is_result ? arena_format(p->arena, "%u", number)
                                               : entry_parameter_name(place->one_at, p->arena);
    }
}
