// What is known of integers: the least and the largest that there can be.
#ifndef PLACE_EQUAL_VALUES_RANGE_H
#define PLACE_EQUAL_VALUES_RANGE_H

#include "equal/values/value.h"

// Bounds of a value of integers. What is not known has none.
struct bounds value_bounds(struct calculus *, struct viewed);

#endif
