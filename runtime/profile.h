/* Where a rank's time goes: what its runtime calls take, by statement and call, and, while there is
 * room, each of them in time, on the rank's own thread and on its helpers. Taken down in steps that
 * are profiled, read when the rank has none in hand. Everything is allocated before the first. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/place.h"

/* What time is counted as. */
enum work {
#define WORK(NAME, text) WORK_##NAME,
#include "runtime/work.def"
    N_WORKS
};
extern const char *const work_names[N_WORKS];

/* The work that a recorded call (runtime/recorder.h) does. */
enum work work_of_call(int32_t call);

struct profile_span {
    uint64_t begin, end; /* ticks of the processor's clock */
    int32_t statement, call;
    uint64_t task; /* runtime/task.h */
};

/* What one thread did, in order. */
struct profile_row {
    struct profile_span *spans;
    int64_t n;
};

struct profile_total {
    uint64_t ticks, calls;
};

/* What every product of a statement is: c = op(a) op(b), or c += op(a) op(b), c of m x n. */
struct profile_product {
    int64_t m, n, k; /* 0: the statement has made none */
    bool transpose_a, transpose_b, added;
};

struct profile {
    const struct place_program *program;
    struct profile_total *totals;     /* [statement + 1][call]; row 0: of no statement */
    struct profile_product *products; /* [statement + 1] */
    struct profile_total *tasks;      /* [stage][letter of TASK_LETTERS]; without waiting */
    uint64_t step_ticks, steps;       /* profiled */
    /* Ticks in which collectives were under way while the rank did something else. */
    uint64_t hidden;
    uint64_t hidden_since;   /* 0: not now */
    uint64_t aside;          /* of the call in hand: ticks that went to something else */
    uint64_t aside_before;   /* and before the wait in hand */
    uint64_t piece;          /* and from where on no span has it */
    uint64_t task;           /* in hand; 0: none */
    uint64_t worked_from;    /* on it, without waiting since */
    bool under_way;          /* some collective is */
    uint64_t began;          /* the step in hand; 0: none is profiled */
    int32_t statement, call; /* in hand: written by the owner while no helper works for it */
    int32_t threads;
    int64_t capacity;          /* spans of a row; 0: no spans are kept */
    struct profile_row rows[]; /* by thread: the owner's first */
};

/* Makes a profile for a rank with so many threads, which keeps that many spans of each. Null: no
 * memory. The program must outlive it. */
struct profile *profile_new(const struct place_program *program, int threads, int64_t capacity);
void profile_free(struct profile *profile);

void profile_begin_step(struct profile *profile);
void profile_end_step(struct profile *profile);

/* The owner enters a call and leaves it. Enter returns the clock. */
uint64_t profile_enter(struct profile *profile, int32_t statement, int32_t call);
void profile_leave(struct profile *profile, int32_t statement, int32_t call, uint64_t begin);

/* Inside a call the owner tells what product it makes: the same at every call of the statement. */
void profile_describe_product(struct profile *profile, int32_t statement,
                              struct profile_product product);

/* A helper (thread >= 1) has worked for the call in hand. */
void profile_helped(struct profile *profile, int thread, uint64_t begin);

/* The owner goes on to another task. */
void profile_begin_task(struct profile *profile, uint64_t task);

/* Inside a call the owner waits for other ranks: this is time of its own, and parts the call's in time. Of no profile
 * both do nothing. */
uint64_t profile_begin_wait(struct profile *profile);
void profile_end_wait(struct profile *profile, uint64_t begin);

/* At the end of a collective's call: whether any that was started is not complete. */
void profile_under_way(struct profile *profile, bool any);

/* Inside another call the owner has gone on with collectives since `begin`: this is their time, not
 * the call's. Whether any is still not complete. */
void profile_progressed(struct profile *profile, uint64_t begin, bool any);

/* What all calls of a statement took, or of one call of it. */
const struct profile_total *profile_total(const struct profile *profile, int32_t statement,
                                          int32_t call);

/* What all tasks of a stage took that TASK_LETTERS has in this place. */
const struct profile_total *profile_task(const struct profile *profile, int32_t stage, int letter);

/* What its products are; m is 0 where it has made none. */
struct profile_product profile_product_of(const struct profile *profile, int32_t statement);

static inline uint64_t profile_clock(void) {
    return __builtin_ia32_rdtsc();
}
