// Arrays one behind the other (KIND_JOINED).
#ifndef PLACE_EQUAL_VALUES_TOGETHER_H
#define PLACE_EQUAL_VALUES_TOGETHER_H

#include "equal/values/value.h"

// The n arrays, each over coordinates of which `along` has so many places, over coordinates in which it has all of them.
struct viewed value_together(struct calculus *, const struct viewed *, const int64_t *sizes,
                             uint32_t n, uint32_t along, const struct coordinates *all);

// How many parts stand together in the term, and their sizes; 0: it is none of such.
uint32_t standing_sizes(const struct calculus *, struct term, const int64_t **sizes);

#endif
