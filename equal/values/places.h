// Tests of whether a digit of a coordinate is a number.
#ifndef PLACE_EQUAL_VALUES_PLACES_H
#define PLACE_EQUAL_VALUES_PLACES_H

#include "equal/values/laws.h"

struct number_test {
    struct piece digit; // with the coefficient one, and not turned
    int64_t number;     // of its places
};
// False: the operand is no such test.
bool read_number_test(struct calculus *, const struct operand *, struct number_test *);
// Other factors than a test say the number. False: none does otherwise.
bool place_numbers(struct calculus *, struct factors *);
#endif
