// Makes instructions of primitives, of which an op of PyTorch is often several. All have the op's name and line. What
// could not be made is NOT_BUILT, and so is all that is made of it; then either an error has been reported, or nothing:
// the op is not followed.
#ifndef PLACE_EQUAL_FX_BUILD_H
#define PLACE_EQUAL_FX_BUILD_H

#include "equal/fx/calls.h"

// An instruction as it is said. The attributes are kept.
uint32_t fx_emit(struct call *, enum primitive, const struct array_shape *,
                 const uint32_t *operands, uint32_t n, const struct instruction_attributes *);
const struct array_shape *fx_shape_of(struct call *, enum element, const struct sizes *);
struct instruction_attributes *fx_attributes(struct call *);
struct number_list fx_numbers(struct call *, const int64_t *, uint32_t n);
// The computation of two numbers that a reduction applies.
uint32_t fx_region(struct call *, enum primitive, enum element);

uint32_t fx_number(struct call *, enum element, double);
uint32_t fx_full(struct call *, enum element, double, const struct sizes *);
uint32_t fx_like(struct call *, uint32_t array, double); // everywhere this number
// Everywhere how many there are of something, which is not rounded as a number of the program is.
uint32_t fx_count(struct call *, uint32_t array, double);
// The device's own of these numbers, as 64 bits.
uint32_t fx_by_rank(struct call *, const int64_t *);
uint32_t fx_iota(struct call *, enum element, const struct sizes *, uint32_t dimension);
uint32_t fx_convert(struct call *, uint32_t, enum element);
uint32_t fx_unary(struct call *, enum primitive, uint32_t);
// Both arrays have the same sizes and types.
uint32_t fx_binary(struct call *, enum primitive, uint32_t, uint32_t);
uint32_t fx_compare(struct call *, enum direction, uint32_t, uint32_t);
uint32_t fx_select(struct call *, uint32_t truth, uint32_t, uint32_t);
// With a number on the right.
uint32_t fx_binary_number(struct call *, enum primitive, uint32_t, double);

uint32_t fx_reshape(struct call *, uint32_t, const struct sizes *);
uint32_t fx_transpose(struct call *, uint32_t, const uint32_t *order);
// Dimension i of the array becomes `dimensions[i]` of the result.
uint32_t fx_broadcast(struct call *, uint32_t, const struct sizes *, const int64_t *dimensions);
// As PyTorch does it: dimensions of one element, and those that lack in front, are repeated.
uint32_t fx_expand(struct call *, uint32_t, const struct sizes *);
uint32_t fx_slice(struct call *, uint32_t, uint32_t dimension, struct slice_range);
// So many elements of a dimension from a place on that is a number of the graph.
uint32_t fx_slice_from(struct call *, uint32_t, uint32_t dimension, uint32_t start, int64_t length);
uint32_t fx_pad(struct call *, uint32_t, uint32_t dimension, struct padding_range, double with);
uint32_t fx_concatenate(struct call *, const uint32_t *, uint32_t n, uint32_t dimension);

// A set of dimensions as bits.
static inline uint32_t fx_all_dimensions(const struct call *c, uint32_t array) {
    return (1u << fx_shape(c, array)->rank) - 1;
}
static inline uint32_t fx_last_dimension(const struct call *c, uint32_t array) {
    return fx_shape(c, array)->rank ? 1u << (fx_shape(c, array)->rank - 1) : 0;
}
// `keeps`: reduced dimensions have one element.
uint32_t fx_reduce(struct call *, enum primitive, uint32_t, uint32_t dimensions, bool keeps);
// The same, and as often as the array has elements.
uint32_t fx_spread(struct call *, enum primitive, uint32_t, uint32_t dimensions);
uint32_t fx_mean(struct call *, uint32_t, uint32_t dimensions, bool keeps);
struct contraction {
    int64_t left_batch[MAX_GRAPH_RANK], right_batch[MAX_GRAPH_RANK];
    int64_t left[MAX_GRAPH_RANK], right[MAX_GRAPH_RANK];
    uint32_t n_batch, n;
};
uint32_t fx_dot(struct call *, uint32_t, uint32_t, const struct contraction *);
uint32_t fx_tuple(struct call *, const uint32_t *, uint32_t n);

#endif
