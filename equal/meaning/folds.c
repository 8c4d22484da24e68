// Products of arrays with contracted dimensions, and what is folded over dimensions.
#include <math.h>
#include <string.h>

#include "equal/meaning/read.h"

// XLA copies what regions make, and sums narrow types in wider ones. Casts between kinds of numbers are none of these.
static const struct instruction *behind_casts(const struct computation *of,
                                              const struct instruction *by) {
    for (;;) {
        const struct instruction *from = by->n_operands == 1 ? graph_operand(of, by, 0) : NULL;
        bool moves = by->primitive == PRIM_COPY || by->primitive == PRIM_CONVERT;
        if (!from || !moves || by->shape->is_tuple || from->shape->is_tuple ||
            element_rows[by->shape->element].kind != element_rows[from->shape->element].kind)
            return by;
        by = from;
    }
}

enum primitive region_primitive(const struct graph *graph, uint32_t computation) {
    const struct computation *of = &graph->computations[computation];
    const struct instruction *root = behind_casts(of, &of->instructions[of->root]);
    if (of->n_parameters != 2 || root->n_operands != 2)
        return PRIM_OPAQUE;
    const struct instruction *a = behind_casts(of, graph_operand(of, root, 0));
    const struct instruction *b = behind_casts(of, graph_operand(of, root, 1));
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
    struct contraction d = {.all = at->all};
    uint32_t next = 0;
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
    *made = value_product(at->r->c, factors, 2, d.summed, &d.all);
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
        *made = value_pointwise(c, KIND_POINTWISE + (int)primitive,
                                shape_kind(at->by->shape) != NUMBER_REAL, both, 2, &at->all);
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

bool read_fold(const struct at *at, struct viewed *made) {
    switch (at->by->primitive) {
    case PRIM_DOT:
        return read_dot(at, made);
    case PRIM_REDUCE:
        return read_reduce(at, made);
    default:
        return false;
    }
}
