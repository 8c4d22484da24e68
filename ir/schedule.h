// The schedule of a pipeline: which rank computes what of which microbatch, in what order.
//
// A model that is split by layers is cut into *stages*, numbered in the order of the model, which are
// computed by the ranks of the pipeline's axis: one stage each, or several (virtual stages, chunks). A
// *task* is what a stage does for one microbatch. What each rank does is a list of tasks, in order;
// messages follow from it: the forward pass of a stage needs that of the stage before, its backward pass
// that of the stage behind.
//
// A method of ir/methods.def makes these lists (passes/pipeline/), a file may say them
// (frontend/schedule_file.c); nobody who reads them asks which of the two it was.
#ifndef PLACE_IR_SCHEDULE_H
#define PLACE_IR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/span.h"

enum pipeline_method {
#define METHOD(ID, name, map, chunks, order, lead, splits) METHOD_##ID,
#include "ir/methods.def"
#undef METHOD
    N_METHODS
};
extern const char *const method_names[N_METHODS];

enum task_kind {
    TASK_FORWARD,
    TASK_BACKWARD, // gradients of inputs and of weights together
    TASK_INPUTS,   // the part of backward that the stage before waits for
    TASK_WEIGHTS,  // the rest of it
    N_TASK_KINDS,
};
extern const char task_letters[N_TASK_KINDS]; // F, B, I, W

struct task {
    enum task_kind kind;
    bool overlapped; // side by side with the next one of the list, where the rank can
    uint32_t stage, microbatch;
    // What its rank does beside it, as a number: messages that it begins to receive and is done with
    // (passes/stages/order.c). 0: nobody has said.
    uint32_t beside;
};

struct rank_tasks {
    struct task *tasks;
    uint32_t n, cap;
};

struct schedule {
    uint32_t n_ranks, n_stages, n_microbatches;
    uint32_t *rank_of;        // by stage
    struct rank_tasks *ranks; // by rank
    bool splits_backward;     // somewhere I and W stand apart
    bool is_of_2024;          // as in files of that year I is called B, and B BW
    bool sums_ends; // what the last stage makes of weights in a microbatch the first stage adds to
};

// Whether another rank reads what the task makes for the next stage, or in backward for the one before: *reader's.
bool task_is_sent(const struct schedule *, const struct task *, uint32_t *reader);

#endif
