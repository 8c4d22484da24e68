// The gathers of what one iteration of a loop needs, and the slots of what they gather.
//
//   pipeline.c   which gathers there are, their slots, and references to these
//   prefetch.c   starts them ahead, and waits for them
#ifndef PLACE_PASSES_PIPELINE_H
#define PLACE_PASSES_PIPELINE_H

#include "passes/schedule/overlap.h"

// Gathers of what one iteration needs, and what stands behind them.
struct pipeline {
    struct statement *loop;
    int variable;         // the loop's, by its depth
    struct block leading; // pairs of start and wait, and loops of such
    struct block rest;
    int64_t ahead; // k: how many iterations, or units of one, before its use a gather starts
    int64_t slots; // iterations of which something is there at once: k + 1, or as many as there are
};

// The units of an iteration; one alone may start iterations ahead.
struct units {
    struct pipeline *items;
    uint32_t n;
};

// ---- which gathers ----------------------------------------------------------------------------
// `variable` is that of the loop. Is a statement a loop, inside that one and going with it, of gathers
// and nothing else?
bool is_nest(const struct overlapper *, const struct statement *, int variable);
// The gathers at the very front of the loop, as far ahead as all of them ask for.
struct pipeline find_pipeline(const struct overlapper *, struct statement *loop, int variable);
// `leading`, which stands in the loop, so many iterations ahead, or as many as there are.
struct pipeline make_pipeline(struct statement *loop, int variable, struct block leading,
                              int64_t ahead);
struct units find_units(const struct overlapper *, struct statement *loop, int variable);

// ---- slots ------------------------------------------------------------------------------------
// Every layer has a place of its own where what is gathered is kept; else the next may have it too.
bool has_slots(const struct overlapper *, buffer_id);
// Layers from what a gather brings in one iteration to what it brings in the next.
int64_t layers_between_iterations(const struct statement *gather);
// Counts the slots of what the units of a loop gather: as many as layers of it are in use at once. None
// is known before.
void count_slots(struct overlapper *, const struct units *);
// The slot of what is gathered, and of the transfer that brings it, for the layer, or the iteration,
// that is so many later than that of the variable.
struct index slot_of(const struct overlapper *, buffer_id gathered, int variable, int64_t offset);
struct index flight_of(const struct overlapper *, uint32_t handle, int variable, int64_t offset);
// Gives what is gathered its slots, and refers to them in what stands behind the gathers.
void refer_and_give_slots(struct overlapper *, const struct pipeline *);

#endif
