// Compares two programs on the same inputs: what one device makes of whole arrays, and many devices of their parts.
#ifndef PLACE_EQUAL_INTERPRETER_COMPARE_H
#define PLACE_EQUAL_INTERPRETER_COMPARE_H

#include "equal/interpreter/interpret.h"
#include "equal/layout/layout.h"

// Where what a device has as its part of a result differs most from what the one device has there. Differences are
// relative to the largest number of the whole result, or, of a result that is smaller than all others by far, to a
// millionth of theirs: what should be zero is what rounding left. 0, everything is the same; infinite, one is no number,
// or an infinite one, or not zero where all results are.
struct difference {
    double relative;
    uint32_t result, device;
    const int64_t *index; // in the whole result, by dimension; NULL: everything is the same
    double one, many;
};

struct comparison {
    const struct execution *one, *many;
    struct difference greatest;
    struct difference greatest_finite; // of those that are not infinite
    const double *relative;            // by result: how much it differs at most
    // Where one cannot be executed: which, why, and at which instruction, if there is one.
    const struct graph *refused;
    const char *why;
    const struct instruction *at;
};

// The part of a whole array that a device has, which is of that shape.
struct array *array_part(const struct array *whole, const struct array_layout *,
                         const struct device_mesh *, uint32_t device, const struct array_shape *,
                         struct arena *);

// Executes both on whole inputs, in the order of one device's parameters, and compares each device's part of each
// result: so copies that should be alike are. False: one cannot be executed. `observers`: of the one and of the many;
// NULL: none.
bool compare_programs(const struct pairing *, const struct graph *one, const struct graph *many,
                      const struct array *const *wholes, struct observer *const *observers,
                      struct arena *, struct comparison *);

#endif
