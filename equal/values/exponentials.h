// Exponentials and logarithms.
#ifndef PLACE_EQUAL_VALUES_EXPONENTIALS_H
#define PLACE_EQUAL_VALUES_EXPONENTIALS_H

#include "equal/values/value.h"

struct viewed value_exponential(struct calculus *, struct viewed, const struct coordinates *);
struct viewed value_log(struct calculus *, struct viewed, const struct coordinates *);

bool is_exponential(const struct calculus *, struct viewed);
// What an exponential is of, its scale aside. False: it is none.
bool exponent_of(struct calculus *, struct viewed, struct viewed *exponent);

enum { MAX_SPLIT = 24 };
// A product as factors that have no dimension over which it is summed, and the rest.
struct split_product {
    struct viewed apart[MAX_SPLIT]; // each with the scale one
    uint32_t n;
    struct viewed rest; // with the product's scale
};
// Of a KIND_PRODUCT. `exponentials`: only these are apart; at most so many. False: it cannot be said.
bool split_product(struct calculus *, struct viewed, bool exponentials, uint32_t most,
                   const struct coordinates *, struct split_product *);

#endif
