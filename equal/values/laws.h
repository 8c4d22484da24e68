// The factors of a product, and laws of products with tests among them.
#ifndef PLACE_EQUAL_VALUES_LAWS_H
#define PLACE_EQUAL_VALUES_LAWS_H

#include "equal/values/join.h"

enum { MAX_PRODUCT = 24 };

struct factors {
    struct operand items[MAX_PRODUCT]; // over coordinates, each with the scale one
    uint32_t n;
    scale_id scale;
    bool is_zero;
    struct coordinates all; // with those that were opened
    uint64_t summed;
};

// Leaves out factors that follow from others, and what others decide.
void apply_laws(struct calculus *, struct factors *);

#endif
