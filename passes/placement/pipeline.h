// A schedule that a file says, held against the pipeline. Shared by said_schedule.c and pipeline.c.
#ifndef PLACE_PASSES_PLACEMENT_PIPELINE_H
#define PLACE_PASSES_PLACEMENT_PIPELINE_H

#include "passes/pipeline/order.h"
#include "passes/placement/placing.h"

// What the mesh and the list of stages say of it. False: reported.
bool check_said_ranks(struct placing *, uint32_t n_ranks);
bool check_said_stages(struct placing *);
// The schedule, once stages and microbatches are known; NULL: reported.
const struct schedule *check_said_schedule(struct placing *);

#endif
