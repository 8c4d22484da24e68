// What is known of numbers: the least and the largest integer that there can be, and whether reals are negative.
#ifndef PLACE_EQUAL_VALUES_RANGE_H
#define PLACE_EQUAL_VALUES_RANGE_H

#include "equal/values/value.h"

// The least and the largest integer of a type, or truth; of reals, and of what has more bits than are counted, none.
struct bounds value_bounds_of_type(enum element);
// Bounds of a value of integers. What is not known has none.
struct bounds value_bounds(struct calculus *, struct viewed);
// Whether integers are never zero: they lie on one side of it, or are the difference of one digit turned by different
// numbers.
bool value_is_never_zero(struct calculus *, struct viewed);

// Whether reals, where they are numbers, or integers are known not to be negative.
bool value_is_not_negative(struct calculus *, struct viewed);

#endif
