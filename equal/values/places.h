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
// Whether the value, or one of its factors, is a test of what is zero.
bool has_zero_test(const struct calculus *, struct viewed);

// Other factors than a test say the number. False: none does otherwise.
bool place_numbers(struct calculus *, struct factors *);
// Of a sum's items takes those that are there at a digit's places each, for all places, which are `*made` together. False:
// there are no such.
bool stand_at_places(struct calculus *, struct viewed *items, uint32_t *n,
                     const struct coordinates *all, struct viewed *made);

#endif
