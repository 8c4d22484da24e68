// Functions of elements where arrays stand together (KIND_JOINED).
#ifndef PLACE_EQUAL_VALUES_APART_H
#define PLACE_EQUAL_VALUES_APART_H

#include "equal/values/make.h"

// What the function makes of operands that are joined, part by part along a dimension along which some of them stand
// together. False: none does, or it cannot be said.
bool made_by_parts(struct calculus *, const struct element_function *, const struct operand *,
                   uint32_t n, const struct joined *, struct viewed *);

#endif
