// Tests of whether a digit of a coordinate is a number, or another digit.
#ifndef PLACE_EQUAL_VALUES_PLACES_H
#define PLACE_EQUAL_VALUES_PLACES_H

#include "equal/values/laws.h"

struct number_test {
    struct piece digit; // with the coefficient one, and not turned
    int64_t number;     // of its places
};
// False: the operand is no such test.
bool read_number_test(struct calculus *, const struct operand *, struct number_test *);
// A test of whether two digits of as many places are one, of which one is turned so far.
struct turn_test {
    struct piece digits[2]; // without coefficients and shifts
    int64_t turn;
};
bool read_turn_test(struct calculus *, const struct operand *, struct turn_test *);

// Other factors than the test say the coordinate as what it is where the test holds. False: they do already.
bool place_others(struct calculus *, struct factors *, uint32_t test, uint32_t coordinate,
                  const struct affine *is);
// Other factors than a test say the number. False: none does otherwise.
bool place_numbers(struct calculus *, struct factors *);
#endif
