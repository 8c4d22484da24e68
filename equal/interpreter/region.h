// Regions: computations of scalars that folds, sorts and maps call for their elements. A region is flattened once and
// then executed in lanes, many elements at a time.
#ifndef PLACE_EQUAL_INTERPRETER_REGION_H
#define PLACE_EQUAL_INTERPRETER_REGION_H

#include "equal/interpreter/machine.h"

enum { REGION_LANES = 256 };

// Parameters and results are scalars with room for all lanes. Results have arrays of their own, so that who executes
// a region again may copy them to parameters.
struct region {
    struct region_step *steps;
    uint32_t n_steps, cap_steps;
    struct array **parameters, **results;
    uint32_t n_parameters, n_results;
};

// The region that a computation is, in the machine's scratch. NULL, which has been refused: it does what none can.
const struct region *region_of(struct machine *, uint32_t computation);
// Executes the first lanes, and counts them.
void region_execute(struct machine *, const struct region *, int64_t lanes);

#endif
