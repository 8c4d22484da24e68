// A rank's tasks as loops: what a text writes of them. Shared by roll.c and by who writes steps.
#ifndef PLACE_PASSES_PIPELINE_ROLL_H
#define PLACE_PASSES_PIPELINE_ROLL_H

#include "ir/arena.h"
#include "ir/schedule.h"

// A loop, or one task (no body). The microbatch of a task is its own plus, for each loop around it,
// the loop's stride times the number of the iteration, from 0 on: so the variable of a loop may be
// the microbatch of the first task in it.
struct rolled {
    struct task task; // the first of a loop in its first iteration
    uint32_t count;   // iterations; 1: of a task
    int64_t stride;   // of microbatches, from one iteration to the next
    struct rolled *body;
    uint32_t n_body;
};

// Linear in the tasks, for a given number of stages on a rank.
struct rolled *roll_tasks(struct arena *, const struct rank_tasks *, uint32_t n_chunks,
                          uint32_t *n);

// The tasks that the loops stand for, in order.
struct rank_tasks unroll_tasks(struct arena *, const struct rolled *, uint32_t n);

#endif
