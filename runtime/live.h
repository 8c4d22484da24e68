/* What is alive in a rank's arenas, counted from the statements that it executes: the second of two
 * counts of memory held. The other is how far the arena was written to (host/arena.h). Neither
 * knows the plan: what a statement makes alive or frees stands in the descriptor's effects.
 *
 * An item is alive from the first statement that writes it to its free, a unit's frame while the
 * unit runs, everything else that persists or is the host's always. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "runtime/place.h"

/* What bytes are counted under. */
enum live_state {
    LIVE_PARAMETERS,
    LIVE_OPTIMIZER,
    LIVE_GRADIENTS,
    LIVE_ACTIVATIONS,
    LIVE_TRANSIENT, /* and what the host fills or reads */
    LIVE_STATES
};
extern const char *const live_state_names[LIVE_STATES];
enum live_state live_state_of(enum place_class class);

/* Bytes alive at one moment, and in all. */
struct live_bytes {
    int64_t states[LIVE_STATES], sum;
};

struct live_report {
    /* In the step: */
    struct live_bytes peak[PLACE_N_TIERS]; /* when the most was alive there */
    int32_t peak_statement;                /* of the device's; -1: none executed */
    int64_t unfreed;                       /* alive when it ended, and freed by no statement */
    /* In this step and those before: */
    int64_t end[PLACE_N_TIERS]; /* of the last byte that was alive at some time */
    int64_t overlapping; /* most bytes of an item that belonged to others that were alive too */
    int64_t unused;      /* bytes of the arenas that were never alive */
};

struct live;
/* What is alive on the rank. Null: no memory. The program must outlive it. */
struct live *live_new(const struct place_program *program, int32_t rank);
void live_free(struct live *live);

/* A step begins and ends; between them every executed statement is told, with the values of the
 * loops' variables around it, before it works. */
void live_begin_step(struct live *live);
void live_begin_statement(struct live *live, int32_t statement, const int64_t *variables);
struct live_report live_end_step(struct live *live);

/* Called for every executed statement with what is alive on the device while it works. */
typedef void live_observer(void *data, int32_t statement, const int64_t *variables,
                           const struct live_bytes *alive);
void live_observe(struct live *live, live_observer *observer, void *data);
