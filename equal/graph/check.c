// The check of a graph: each instruction by the rule of its primitive. What is opaque may have any shape.
#include "equal/graph/check.h"

#include "equal/graph/checker.h"

// ---- elements at their own places ---------------------------------------------------------------
static bool check_all_alike(const struct checked *c) {
    if (!check_arrays(c))
        return false;
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!are_alike(shape_of(c, i), c->by->shape))
            return check_failed_at(c, "operand %u is of another shape than the result", i);
    return true;
}

static bool check_same_places(const struct checked *c) {
    if (!check_arrays(c))
        return false;
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!have_same_sizes(shape_of(c, i), c->by->shape))
            return check_failed_at(c, "operand %u has other sizes than the result", i);
    return true;
}

static bool check_gives_truth(const struct checked *c) {
    return kind_of(c->by->shape) == NUMBER_TRUTH || check_failed_at(c, "the result is of pred");
}

static bool check_compare(const struct checked *c) {
    return check_same_places(c) && check_gives_truth(c) &&
           (have_alike_elements(shape_of(c, 0), shape_of(c, 1)) ||
            check_failed_at(c, "the operands have elements of different types"));
}

static bool check_is_finite(const struct checked *c) {
    return check_same_places(c) && check_gives_truth(c) &&
           (kind_of(shape_of(c, 0)) == NUMBER_REAL ||
            check_failed_at(c, "the operand is of reals"));
}

// The absolute value of a complex number is a real.
static bool check_abs(const struct checked *c) {
    return check_same_places(c) && (have_alike_elements(shape_of(c, 0), c->by->shape) ||
                                    kind_of(shape_of(c, 0)) == NUMBER_OTHER ||
                                    check_failed_at(c, "the result has elements of another type"));
}

// An operand that is the result's like, or one number for all its elements.
static bool check_fits_or_is_number(const struct checked *c, uint32_t operand) {
    const struct array_shape *shape = shape_of(c, operand);
    return is_scalar(shape) || have_same_sizes(shape, c->by->shape) ||
           check_failed_at(c, "operand %u has other sizes than the result", operand);
}

static bool check_clamp(const struct checked *c) {
    if (!check_arrays(c) || !check_fits_or_is_number(c, 0) || !check_fits_or_is_number(c, 2))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!have_alike_elements(shape_of(c, i), c->by->shape))
            return check_failed_at(c, "operand %u has elements of another type", i);
    return are_alike(shape_of(c, 1), c->by->shape) ||
           check_failed_at(c, "operand 1 is of another shape than the result");
}

static bool check_select(const struct checked *c) {
    if (!check_arrays(c) || !check_fits_or_is_number(c, 0))
        return false;
    if (kind_of(shape_of(c, 0)) != NUMBER_TRUTH)
        return check_failed_at(c, "operand 0 is of pred");
    for (uint32_t i = 1; i < 3; i++)
        if (!are_alike(shape_of(c, i), c->by->shape))
            return check_failed_at(c, "operand %u is of another shape than the result", i);
    return true;
}

static bool check_reduce_precision(const struct checked *c) {
    return check_all_alike(c) &&
           ((attributes_of(c)->exponent_bits >= 1 && attributes_of(c)->mantissa_bits >= 0) ||
            check_failed_at(c, "there are no numbers of so few bits"));
}

// ---- what no operand decides --------------------------------------------------------------------
static bool check_device(const struct checked *c) {
    return (is_scalar(c->by->shape) && is_whole_number(c->by->shape)) ||
           check_failed_at(c, "the result is a whole number");
}

static bool check_iota(const struct checked *c) {
    const struct array_shape *shape = c->by->shape;
    return check_arrays(c) &&
           check_dimensions(c, &attributes_of(c)->dimensions, shape->rank, true, "the result") &&
           (is_whole_number(shape) || kind_of(shape) == NUMBER_REAL ||
            check_failed_at(c, "the result is of numbers"));
}

static bool check_barrier(const struct checked *c) {
    return are_alike(shape_of(c, 0), c->by->shape) ||
           check_failed_at(c, "the result is of another shape than the operand");
}

// ---- all ----------------------------------------------------------------------------------------
// Primitives of one class have one rule, but for these.
static check_rule *const rules[N_PRIMITIVES] = {
    [PRIM_ABS] = check_abs,
    [PRIM_ALL_GATHER] = check_all_gather,
    [PRIM_ALL_REDUCE] = check_all_reduce,
    [PRIM_ALL_TO_ALL] = check_all_to_all,
    [PRIM_BITCAST] = check_reshape,
    [PRIM_BROADCAST] = check_broadcast,
    [PRIM_CALL] = check_call,
    [PRIM_CLAMP] = check_clamp,
    [PRIM_COLLECTIVE_PERMUTE] = check_collective_permute,
    [PRIM_COMPARE] = check_compare,
    [PRIM_CONCATENATE] = check_concatenate,
    [PRIM_CONDITIONAL] = check_conditional,
    [PRIM_CONVERT] = check_same_places,
    [PRIM_DOT] = check_dot,
    [PRIM_DYNAMIC_SLICE] = check_dynamic_slice,
    [PRIM_DYNAMIC_UPDATE_SLICE] = check_dynamic_update_slice,
    [PRIM_GATHER] = check_gather,
    [PRIM_GET_TUPLE_ELEMENT] = check_get_tuple_element,
    [PRIM_IOTA] = check_iota,
    [PRIM_IS_FINITE] = check_is_finite,
    [PRIM_MAP] = check_map,
    [PRIM_OPTIMIZATION_BARRIER] = check_barrier,
    [PRIM_PAD] = check_pad,
    [PRIM_PARTITION_ID] = check_device,
    [PRIM_REDUCE] = check_reduce,
    [PRIM_REDUCE_PRECISION] = check_reduce_precision,
    [PRIM_REDUCE_SCATTER] = check_reduce_scatter,
    [PRIM_REPLICA_ID] = check_device,
    [PRIM_RESHAPE] = check_reshape,
    [PRIM_REVERSE] = check_reverse,
    [PRIM_SCATTER] = check_scatter,
    [PRIM_SELECT] = check_select,
    [PRIM_SLICE] = check_slice,
    [PRIM_SORT] = check_sort,
    [PRIM_TRANSPOSE] = check_transpose,
    [PRIM_TUPLE] = check_tuple,
    [PRIM_WHILE] = check_while,
};

static bool check_instruction(const struct checked *c) {
    check_rule *rule = rules[c->by->primitive];
    if (rule)
        return rule(c);
    return primitive_rows[c->by->primitive].class != PRIMITIVE_POINTWISE || check_all_alike(c);
}

bool graph_check(const struct graph *graph, struct diagnostics *diagnostics) {
    struct arena scratch = {0};
    struct device_marks marks = {ARENA_ARRAY(&scratch, uint32_t, graph->n_devices),
                                 ARENA_ARRAY(&scratch, uint32_t, graph->n_devices), 0};
    struct intern alike = {.arena = &scratch};
    bool good = true;
    for (uint32_t i = 0; good && i < graph->n_computations; i++) {
        struct checked c = {graph, &graph->computations[i], NULL, diagnostics, &marks, &alike};
        for (uint32_t j = 0; good && j < c.computation->n; j++) {
            c.by = &c.computation->instructions[j];
            good = check_instruction(&c);
        }
    }
    arena_free(&scratch);
    return good;
}
