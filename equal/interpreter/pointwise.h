// Primitives that work element by element.
#ifndef PLACE_EQUAL_INTERPRETER_POINTWISE_H
#define PLACE_EQUAL_INTERPRETER_POINTWISE_H

#include "equal/interpreter/machine.h"

// An integer as wide as its type is.
int64_t wrap_integer(enum element, int64_t);

// The first n elements of the result. An operand of one element goes with all of a result of more.
void execute_pointwise(struct machine *, const struct instruction *, const struct array *const *in,
                       struct array *out, int64_t n);

// False: the same numbers, at most in another type of reals.
bool pointwise_computes(const struct instruction *, const struct array_shape *operand);

#endif
