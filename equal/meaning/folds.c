// Products of arrays with contracted dimensions, and what is folded over dimensions.
#include <math.h>
#include <string.h>

#include "equal/graph/window.h"
#include "equal/meaning/read.h"

// XLA copies what regions make, and sums narrow types in wider ones. Other casts, from those of its parameters, are none of
// these.
static const struct instruction *behind_casts(const struct computation *of,
                                              const struct instruction *by,
                                              const struct array_shape *own) {
    for (;;) {
        const struct instruction *from = by->n_operands == 1 ? graph_operand(of, by, 0) : NULL;
        bool moves = by->primitive == PRIM_COPY || by->primitive == PRIM_CONVERT;
        if (!from || !moves || by->shape->is_tuple || from->shape->is_tuple ||
            !element_holds(from->shape->element, own->element))
            return by;
        by = from;
    }
}

static const struct array_shape *parameter_shape_of(const struct computation *of) {
    for (uint32_t i = 0; i < of->n; i++)
        if (of->instructions[i].primitive == PRIM_PARAMETER)
            return of->instructions[i].shape;
    return NULL;
}

enum primitive region_primitive(const struct graph *graph, uint32_t computation) {
    const struct computation *of = &graph->computations[computation];
    const struct array_shape *own = parameter_shape_of(of);
    if (of->n_parameters != 2 || own->is_tuple)
        return PRIM_OPAQUE;
    const struct instruction *root = behind_casts(of, &of->instructions[of->root], own);
    if (root->n_operands != 2)
        return PRIM_OPAQUE;
    const struct instruction *a = behind_casts(of, graph_operand(of, root, 0), own);
    const struct instruction *b = behind_casts(of, graph_operand(of, root, 1), own);
    bool both = a->primitive == PRIM_PARAMETER && b->primitive == PRIM_PARAMETER && a != b;
    return both ? root->primitive : PRIM_OPAQUE;
}

bool fold_values(struct calculus *c, enum primitive primitive, enum number_kind kind,
                 struct viewed value, uint64_t mask, const struct coordinates *all,
                 struct viewed *made) {
    bool truths = kind == NUMBER_TRUTH;
    switch (primitive) {
    case PRIM_ADD:
        *made = truths ? value_fold(c, KIND_ANY, value, mask, all)
                       : value_product(c, &value, 1, mask, all);
        return true;
    case PRIM_MAXIMUM:
        *made = value_fold(c, KIND_LARGEST, value, mask, all);
        return true;
    case PRIM_MINIMUM:
        *made = value_fold(c, KIND_LEAST, value, mask, all);
        return true;
    case PRIM_AND:
        *made = value_fold(c, KIND_ALL, value, mask, all);
        return truths;
    case PRIM_OR:
        *made = value_fold(c, KIND_ANY, value, mask, all);
        return truths;
    default:
        return false;
    }
}

// ---- dot --------------------------------------------------------------------------------------

struct contraction {
    struct affine of[2][MAX_GRAPH_RANK];
    struct substitution by[2];
    struct coordinates all;
    uint64_t summed;
};

static void name_dimension(struct contraction *d, int side, int64_t k, uint32_t coordinate) {
    d->of[side][k] = affine_coordinate(coordinate, d->by[side].sizes[k]);
    d->by[side].of[k] = &d->of[side][k];
}

static bool read_dot(const struct at *at, struct viewed *made) {
    const struct instruction_attributes *a = at->by->attributes;
    struct contraction d; // its indices are set as dimensions are named
    uint32_t next = 0;
    d.all = at->all;
    d.summed = 0;
    memset(d.by, 0, sizeof d.by);
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < operand_shape(at, (uint32_t)side)->rank; k++)
            d.by[side].sizes[k] = operand_shape(at, (uint32_t)side)->sizes[k];
    for (uint32_t i = 0; i < a->left_batch.n; i++, next++) {
        name_dimension(&d, 0, a->left_batch.of[i], next);
        name_dimension(&d, 1, a->right_batch.of[i], next);
    }
    for (uint32_t i = 0; i < a->left_contracting.n; i++) {
        int64_t k = a->left_contracting.of[i];
        uint32_t coordinate = add_coordinate(&d.all, d.by[0].sizes[k]);
        d.summed |= UINT64_C(1) << coordinate;
        name_dimension(&d, 0, k, coordinate);
        name_dimension(&d, 1, a->right_contracting.of[i], coordinate);
    }
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < operand_shape(at, (uint32_t)side)->rank; k++)
            if (!d.by[side].of[k])
                name_dimension(&d, side, k, next++);
    struct viewed factors[2];
    for (uint32_t side = 0; side < 2; side++)
        if (!value_move(at->r->c, operand_value(at, side), &d.by[side], &factors[side]))
            return false;
    if (shape_kind(at->by->shape) != NUMBER_TRUTH) {
        *made = value_product(at->r->c, factors, 2, d.summed, &d.all);
        return true;
    }
    struct viewed both = value_product(at->r->c, factors, 2, 0, &d.all);
    *made = d.summed ? value_fold(at->r->c, KIND_ANY, both, d.summed, &d.all) : both;
    return true;
}

// ---- reduce -----------------------------------------------------------------------------------

// Whether folding begins with what changes nothing.
static bool begins_with_nothing(const struct calculus *c, enum primitive primitive,
                                enum number_kind kind, struct viewed start) {
    int64_t n, d;
    bool known = value_number(c, start, &n, &d);
    if (primitive == PRIM_ADD || primitive == PRIM_OR)
        return known && n == 0;
    if (primitive == PRIM_AND)
        return known && n == 1 && d == 1;
    return kind == NUMBER_REAL && value_is_endless(c, start, primitive == PRIM_MAXIMUM);
}

static bool with_start(const struct at *at, enum primitive primitive, struct viewed folded,
                       struct viewed *made) {
    struct viewed both[] = {operand_value(at, 1), folded};
    struct calculus *c = at->r->c;
    bool extreme = primitive == PRIM_MAXIMUM || primitive == PRIM_MINIMUM;
    if (begins_with_nothing(c, primitive, shape_kind(at->by->shape), both[0]))
        *made = folded;
    else if (primitive == PRIM_ADD && shape_kind(at->by->shape) != NUMBER_TRUTH)
        *made = value_sum(c, both, 2, &at->all);
    else if (extreme)
        *made = value_extreme(c, primitive == PRIM_MAXIMUM,
                              shape_kind(at->by->shape) != NUMBER_REAL, both[0], both[1], &at->all);
    else
        return false;
    return true;
}

static bool read_reduce(const struct at *at, struct viewed *made) {
    const struct number_list *dimensions = &at->by->attributes->dimensions;
    const struct array_shape *from = operand_shape(at, 0);
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    struct coordinates all = at->all;
    uint64_t folded = 0;
    uint32_t next = 0;
    if (at->by->n_operands != 2)
        return false;
    for (uint32_t k = 0; k < from->rank; k++) {
        bool folds = false;
        for (uint32_t i = 0; i < dimensions->n; i++)
            folds |= dimensions->of[i] == k;
        uint32_t coordinate = folds ? add_coordinate(&all, from->sizes[k]) : next++;
        folded |= (uint64_t)folds << coordinate;
        of[k] = affine_coordinate(coordinate, from->sizes[k]);
        by.of[k] = &of[k];
        by.sizes[k] = from->sizes[k];
    }
    struct viewed value;
    enum primitive primitive = region_primitive(at->r->graph, at->by->attributes->called[0]);
    return value_move(at->r->c, operand_value(at, 0), &by, &value) &&
           fold_values(at->r->c, primitive, shape_kind(at->by->shape), value, folded, &all,
                       &value) &&
           with_start(at, primitive, value, made);
}

// ---- windows ----------------------------------------------------------------------------------

// Sums of what lies in each place's window: over all places, of those whose distance is one of the window.
struct windowing {
    const struct at *at;
    struct coordinates all;
    uint64_t summed;
    struct viewed factors[1 + 2 * MAX_GRAPH_RANK];
    uint32_t n_factors;
};

static void add_test(struct windowing *w, const struct affine *distance) {
    struct calculus *c = w->at->r->c;
    w->factors[w->n_factors++] =
        value_test(c, KIND_AT_LEAST, value_index(c, distance), true, &w->all);
}

// The operand's place, a coordinate that is summed over. False: windows do not lie side by side.
static bool name_window(struct windowing *w, const struct window_dimension *of, uint32_t k,
                        struct affine *place) {
    int64_t size = operand_shape(w->at, 0)->sizes[k], n = w->at->by->shape->sizes[k];
    struct affine behind, before;
    if (of->stride != 1 || of->dilation != 1 || of->base_dilation != 1)
        return false;
    uint32_t coordinate = add_coordinate(&w->all, size);
    w->summed |= UINT64_C(1) << coordinate;
    *place = affine_coordinate(coordinate, size);
    behind = *place;
    behind.base = of->low;
    before = affine_coordinate(k, n);
    before.base = of->size - 1 - of->low;
    struct affine own = affine_coordinate(k, n);
    if (!affine_add(&behind, &own, -1) || !affine_add(&before, place, -1) ||
        !affine_normal(&behind) || !affine_normal(&before))
        return false;
    add_test(w, &behind);
    add_test(w, &before);
    return true;
}

static bool read_windows(const struct at *at, struct viewed *made) {
    const struct array_shape *from = operand_shape(at, 0);
    struct windowing w = {.at = at, .all = at->all, .n_factors = 1};
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    struct window window;
    enum number_kind kind = shape_kind(at->by->shape);
    enum primitive primitive = region_primitive(at->r->graph, at->by->attributes->called[0]);
    if (at->by->n_operands != 2 || primitive != PRIM_ADD || kind == NUMBER_TRUTH ||
        !begins_with_nothing(at->r->c, primitive, kind, operand_value(at, 1)) ||
        !window_read(at->by->attributes->others, &window) || window.rank != from->rank)
        return false;
    for (uint32_t k = 0; k < from->rank; k++) {
        const struct window_dimension *dimension = &window.dimensions[k];
        bool moves = dimension->size > 1 || dimension->low || dimension->high ||
                     dimension->stride > 1 || dimension->base_dilation > 1;
        of[k] = affine_coordinate(k, from->sizes[k]);
        by.of[k] = &of[k];
        by.sizes[k] = from->sizes[k];
        if (moves && !name_window(&w, dimension, k, &of[k]))
            return false;
    }
    if (!value_move(at->r->c, operand_value(at, 0), &by, &w.factors[0]))
        return false;
    *made = value_product(at->r->c, w.factors, w.n_factors, w.summed, &w.all);
    return true;
}

bool read_fold(const struct at *at, struct viewed *made) {
    switch (at->by->primitive) {
    case PRIM_DOT:
        return read_dot(at, made);
    case PRIM_REDUCE:
        return read_reduce(at, made);
    case PRIM_REDUCE_WINDOW:
        return read_windows(at, made);
    default:
        return false;
    }
}
