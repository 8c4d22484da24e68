// What the rules of graph_check share, a rule for each primitive:
//
//     checker.c            reports, and questions about shapes
//     check_moves.c        elements at other places
//     check_indices.c      gather and scatter
//     check_folds.c        products, reductions, sorting
//     check_collectives.c  elements of other devices
//     check_calls.c        computations that are called
//     check.c              which rule is whose, and elements at their own places
#ifndef PLACE_EQUAL_GRAPH_CHECKER_H
#define PLACE_EQUAL_GRAPH_CHECKER_H

#include "equal/graph/check.h"
#include "verify/algebra/intern.h"

// By device: the last collective_permute, counted in `n`, in which it sends, and receives.
struct device_marks {
    uint32_t *sent_in, *received_in, n;
};
struct checked {
    const struct graph *graph;
    const struct computation *computation;
    const struct instruction *by;
    struct diagnostics *diagnostics;
    struct device_marks *marks;
    struct intern *alike; // pairs of shapes of calls that were found to be so
};
// Whether the instruction fits; if not, it has been reported.
typedef bool check_rule(const struct checked *);

// Reports what does not fit, and is false.
bool check_failed_at(const struct checked *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline const struct array_shape *shape_of(const struct checked *c, uint32_t operand) {
    return graph_operand(c->computation, c->by, operand)->shape;
}
static inline const struct instruction_attributes *attributes_of(const struct checked *c) {
    return c->by->attributes;
}
static inline enum number_kind kind_of(const struct array_shape *shape) {
    return element_rows[shape->element].kind;
}
static inline bool is_scalar(const struct array_shape *shape) {
    return !shape->is_tuple && shape->rank == 0;
}
static inline bool is_whole_number(const struct array_shape *shape) {
    return !shape->is_tuple &&
           (kind_of(shape) == NUMBER_INTEGER || kind_of(shape) == NUMBER_UNSIGNED);
}

bool have_same_sizes(const struct array_shape *, const struct array_shape *);
// The same type of elements, or two types of reals.
bool have_alike_elements(const struct array_shape *, const struct array_shape *);
// Both, of each part of a tuple.
bool are_alike(const struct array_shape *, const struct array_shape *);

bool check_arrays(const struct checked *); // operands and result
bool check_operands_are_arrays(const struct checked *);
// The result has these sizes.
bool check_result_sizes(const struct checked *, const int64_t *sizes, uint32_t rank);
// Results of several operands are a tuple, that of one is an array: that of operand i.
const struct array_shape *result_of(const struct checked *, uint32_t i, uint32_t n);
bool check_results(const struct checked *, uint32_t n);
// Dimensions of an array, each once; `in_order`: and increasing.
bool check_dimensions(const struct checked *, const struct number_list *, uint32_t rank,
                      bool in_order, const char *what);
// The one computation that is called takes two scalars of each operand's type, for n operands, and gives one for each.
bool check_region(const struct checked *, uint32_t n);
const struct computation *called_by(const struct checked *, uint32_t i);
static inline const struct array_shape *root_shape(const struct computation *of) {
    return of->instructions[of->root].shape;
}
static inline const struct array_shape *parameter_shape(const struct computation *of, uint32_t i) {
    return of->instructions[of->parameters[i]].shape;
}

check_rule check_broadcast, check_concatenate, check_dynamic_slice, check_dynamic_update_slice,
    check_get_tuple_element, check_pad, check_reshape, check_reverse, check_slice, check_transpose,
    check_tuple;
check_rule check_gather, check_scatter;
check_rule check_dot, check_reduce, check_sort;
check_rule check_all_gather, check_all_reduce, check_all_to_all, check_collective_permute,
    check_reduce_scatter;
check_rule check_call, check_conditional, check_map, check_while;

#endif
