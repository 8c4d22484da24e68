// The world of one program: the values that there can be, and how they can lie on its mesh. This is
// all that the algebra of values needs; it knows neither steps nor buffers.
#ifndef PLACE_VERIFY_ALGEBRA_WORLD_H
#define PLACE_VERIFY_ALGEBRA_WORLD_H

#include "verify/algebra/coverage.h"
#include "verify/algebra/digits.h"
#include "verify/algebra/leaves.h"
#include "verify/algebra/term.h"

struct world {
    struct arena *arena;
    struct arena
        *states; // of what stores hold, which may be moved to another (sides.h); else the same
    struct terms *terms; // of both programs
    const struct mesh *mesh;
    struct digits digits;
    struct intern coverages, leaves;
    uint32_t all_axes;
    uint32_t batch_axes; // that cut the batch; others are of the model
    uint32_t n_attempts; // to prove a loop, so far
};

void world_init(struct world *, struct terms *, const struct mesh *, struct arena *);

#endif
