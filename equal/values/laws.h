// The factors of a product, and laws of products with tests among them.
#ifndef PLACE_EQUAL_VALUES_LAWS_H
#define PLACE_EQUAL_VALUES_LAWS_H

#include "equal/values/join.h"

struct factors {
    struct operand items[MAX_PRODUCT]; // over coordinates, each with the scale one, none a product
    uint32_t n;
    scale_id scale;
    bool is_zero;
    struct coordinates all; // with those that were opened
    uint64_t summed;
};

// Leaves out a factor that follows from others, or says one as others decide it. False: there is none. Factors may be
// products then, and have scales.
bool apply_law(struct calculus *, struct factors *);

// The value where these tests hold, of which there are at most MAX_SPLIT: choices in it are made. It is another one
// elsewhere, so a product with the tests is none of what was there if that is no number.
struct viewed decided_where(struct calculus *, const struct viewed *tests, uint32_t n,
                            struct viewed, const struct coordinates *);

// A test of whether a digit of the device's number, turned, is a piece of another coordinate.
struct place_test {
    struct piece device, other; // with the coefficient one
};
// False: the operand is no such test.
bool read_place_test(struct calculus *, const struct operand *, struct place_test *);

#endif
