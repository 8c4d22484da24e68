// Branches of which it is not known which one is taken are a choice.
#include "equal/meaning/read.h"

// Whether devices meet in the computation, or in what it calls.
static bool has_collectives(const struct graph *graph, uint32_t number, bool *seen) {
    const struct computation *of = &graph->computations[number];
    if (seen[number])
        return false;
    seen[number] = true;
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *by = &of->instructions[i];
        if (primitive_rows[by->primitive].class == PRIMITIVE_COLLECTIVE)
            return true;
        for (uint32_t k = 0; k < by->attributes->n_called; k++)
            if (has_collectives(graph, by->attributes->called[k], seen))
                return true;
    }
    return false;
}

static bool depends_on_device(const struct calculus *c, struct viewed value) {
    struct view view;
    view_get(&c->views, value.view, &view);
    for (uint32_t d = 0; d < view.n; d++)
        if (affine_has(&view.of[d], COORDINATE_DEVICE))
            return true;
    return false;
}

// Each array as the one where the truth holds, or else the other.
static struct meaning choose(const struct at *at, const struct array_shape *shape,
                             struct viewed which, const struct meaning *yes,
                             const struct meaning *no) {
    struct meaning made = {0};
    struct coordinates all = coordinates_of(shape, at->r->graph->n_devices);
    if (!shape->is_tuple) {
        made.value = value_select(at->r->c, which, yes->value, no->value, &all);
        return made;
    }
    struct meaning *members = ARENA_ARRAY(at->r->c->arena, struct meaning, shape->n_members + 1);
    for (uint32_t i = 0; i < shape->n_members; i++)
        members[i] = choose(at, shape->members[i], which, &yes->members[i], &no->members[i]);
    made.members = members;
    return made;
}

// Whether branch `number` is taken. What is no number of a branch takes the last.
static struct viewed takes_branch(const struct at *at, uint32_t number) {
    struct calculus *c = at->r->c;
    struct viewed which = operand_value(at, 0);
    struct coordinates all = coordinates_of(operand_shape(at, 0), at->r->graph->n_devices);
    if (shape_kind(operand_shape(at, 0)) == NUMBER_TRUTH)
        return which;
    struct viewed both[] = {which, value_fraction(c, -(int64_t)number, 1)};
    return value_test(c, KIND_IS_ZERO, value_sum(c, both, 2, &all), true, &all);
}

bool can_choose_branches(const struct at *at) {
    const struct instruction_attributes *a = at->by->attributes;
    bool *seen = ARENA_ARRAY(&at->r->c->scratch, bool, at->r->graph->n_computations + 1);
    bool differ = depends_on_device(at->r->c, operand_value(at, 0));
    for (uint32_t i = 0; i < a->n_called && differ; i++)
        if (has_collectives(at->r->graph, a->called[i], seen))
            return false;
    return true;
}

struct meaning choose_branches(const struct at *at, const struct meaning *branches) {
    uint32_t n = at->by->attributes->n_called;
    struct meaning made = branches[n - 1];
    for (uint32_t i = n - 1; i-- > 0;)
        made = choose(at, at->by->shape, takes_branch(at, i), &branches[i], &made);
    return made;
}
