/* One run, as all ranks of a process see it. Everything but what is atomic is constant while ranks
 * live; log and progress are touched by rank 0 alone. */
#pragma once
#include <stdatomic.h>
#include "runtime/context.h"
#include "runtime/host/checkpoint.h"
#include "runtime/host/data.h"
#include "runtime/host/log.h"
#include "runtime/host/progress.h"
#include "runtime/host/prompt.h"
#include "runtime/host/resume.h"
#include "runtime/host/room.h"
#include "runtime/host/saved_model.h"
#include "runtime/host/weights.h"

struct session {
    const struct place_program *program;
    const struct place_run_options *options;
    uint64_t seed;
    const struct kernels *kernels;
    int32_t processes;       /* that have ranks of this run */
    int threads;             /* of each rank's team */
    double patience_seconds; /* after which who does not go on is given up */
    struct dataset data, eval;
    struct prompt prompt;
    bool speaks_text; /* tokens are bytes of text, to be read and printed as such */
    struct resumption resumption;
    struct weights weights;
    struct saved_model saved;
    struct checkpoints checkpoints;
    struct claims claims; /* of room for what it writes */
    struct run_log log;
    struct progress progress;
    _Atomic int interrupted;  /* the ranks agreed to stop after a step */
    _Atomic int failed;       /* the same, since one of them holds a failure */
    _Atomic int64_t trained;  /* steps that are whole; 0: none since the start */
    _Atomic int64_t poisoned; /* the first of them that found or made what is no number; 0: none */
    _Atomic int disagreed;    /* processes were not started alike */
};

/* The life of a rank whose context has rank, team and transport: initial values, steps, evaluation,
 * samples, files. Its arena outlives it, for others may read from it until they know that it has
 * failed. Returns the context's status. */
int32_t rank_run(struct session *session, struct place_context *context);

/* The mean loss over a file. */
struct evaluation {
    bool is_whole; /* false: it was broken off, by an interrupt or a failure that a rank holds */
    double loss;
    int64_t tokens;
};
int32_t rank_evaluate(struct session *session, struct place_context *context,
                      struct evaluation *evaluation);
/* Printed by rank 0. */
int32_t rank_report_evaluation(struct session *session, struct place_context *context);
/* Samples tokens after a prompt, printed by rank 0. */
int32_t rank_sample(struct session *session, struct place_context *context);
