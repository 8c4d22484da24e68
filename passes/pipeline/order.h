// Schedules of the methods of ir/methods.def, what must hold of any schedule, and what one comes
// to. Shared by order.c and simulate.c, and by who asks for a schedule.
#ifndef PLACE_PASSES_PIPELINE_ORDER_H
#define PLACE_PASSES_PIPELINE_ORDER_H

#include "ir/arena.h"
#include "ir/schedule.h"

struct pipeline_shape {
    enum pipeline_method method;
    uint32_t n_ranks, n_chunks, n_microbatches; // at least one of each
};

// How many stages a device has with the method; 0: any number.
uint32_t method_chunks(enum pipeline_method);

// The method of any number of stages a device that has the same order; itself: there is none.
enum pipeline_method method_of_chunks(enum pipeline_method);

// How many microbatches the method needs.
uint32_t least_microbatches(enum pipeline_method, uint32_t n_ranks);

// Why a device may not have so many stages with the method; NULL: it may. Allocates its text in `arena`.
const char *chunks_unfit(struct arena *, enum pipeline_method, uint32_t n_chunks);

// Why the method has no schedule of this shape; NULL: it has one. Allocates its text in `arena`.
const char *shape_unfit(struct arena *, const struct pipeline_shape *);

// The schedule of a shape that fits, in time linear in its tasks.
struct schedule *schedule_of_shape(struct arena *, const struct pipeline_shape *);

// A task's place in a schedule. `index`: in its rank's list; behind its end: a task that is missing.
struct task_place {
    uint32_t rank, index;
};

// A task that is there twice or not at all, on a rank that does not have the stage, or before what it
// reads on its own rank; and what to do about it.
struct schedule_fault {
    const char *what, *help;
    struct task_place place;
};

// Whether there is one, the first of which is told in `out` (NULL: nobody asks). That messages come in
// time is for schedule_simulate to say. Allocates its texts in `arena`.
bool schedule_is_wrong(struct arena *, const struct schedule *, struct schedule_fault *out);

// `0F3`, as the file writes a task from which the schedule is, or as files do today.
const char *task_text(struct arena *, const struct schedule *, const struct task *);

// Whether each stage makes gradients of weights of microbatches 2 k and 2 k + 1 one after the other.
bool schedule_pairs(struct arena *, const struct schedule *);

struct fraction {
    int64_t numerator, denominator; // lowest terms
};

struct rank_load {
    uint32_t in_flight;    // most microbatches, times chunks, from F to the end of B or W
    uint32_t until_inputs; // the same until B or I
    uint32_t sends;        // most messages that are sent and that nobody reads yet
};

struct waiting_task {
    struct task task, read; // what it waits for
};

struct simulation {
    const struct schedule *of;
    const double *begins; // by what simulation_begin knows
    double makespan;
    double idle, span_idle, spans; // of all ranks; inside each one's span; the sum of spans
    // The shares of idle time, where every stage takes as long as any other.
    struct fraction bubble, span_bubble;
    struct rank_load *ranks;
    // Tasks of which each waits for a rank that is kept by the next one, the last for the first's.
    // 0: the schedule runs.
    struct waiting_task *cycle;
    uint32_t n_cycle;
};

// Runs a schedule of which nothing is wrong: F, I and W take a unit of time, B two, times the
// weight of the stage (NULL: 1 for all). False: it cannot run, as `cycle` says.
bool schedule_simulate(struct arena *, const struct schedule *, const double *weights,
                       struct simulation *out);

// When each rank has done its tasks, where one takes lengths[stage * N_TASK_KINDS + kind]. The schedule runs.
double *schedule_ends(struct arena *, const struct schedule *, const double *lengths);

// When a task began; of weights that are not apart, all of backward.
double simulation_begin(const struct simulation *, const struct task *);

#endif
