// Reverse mode inside one unit: the backward unit of a forward unit. Steps are differentiate's.
#ifndef PLACE_PASSES_GRADIENTS_H
#define PLACE_PASSES_GRADIENTS_H

#include "ir/ir.h"

// What a parameter of the backward unit is.
enum backward_source {
    BACKWARD_FORWARD,   // forward's value `of`; not one of its parameters: forward must save it
    BACKWARD_COTANGENT, // the cotangent of forward's result number `of`
    BACKWARD_SUM,       // what the gradient of forward's parameter `of` is added to
};
struct backward_operand {
    enum backward_source source;
    uint32_t of;
};

struct backward {
    uint32_t unit;                     // NO_ID: no wanted parameter has a gradient
    struct backward_operand *operands; // one per parameter of the unit
    uint32_t *results; // one per result: the forward parameter it is the gradient of
};

// Derives the unit `name` from the unit `forward`.
//   given   of each result of forward: is there a cotangent? The others have a cotangent of zero.
//   wanted  of each parameter of forward: is its gradient wanted?
//   added   of each parameter of forward: is its gradient added to a sum, in the sum's place?
//   gradients  of each parameter of forward: the element type of its gradient
struct backward derive_backward(struct program *, uint32_t forward, const char *name,
                                const bool *given, const bool *wanted, const bool *added,
                                const enum dtype *gradients);

// Is the result of an op of the unit cheaper to compute again than to keep (gradients.def)?
bool is_computed_again(const struct unit *, const struct op *);

#endif
