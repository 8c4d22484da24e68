// The gathers of what one iteration of a loop needs, and the slots of what they gather.
//
//   gather_pipeline.c  which gathers there are, their slots, and references to these
//   prefetch.c  starts them ahead, and waits for them
#ifndef PLACE_PASSES_GATHER_PIPELINE_H
#define PLACE_PASSES_GATHER_PIPELINE_H

#include "passes/schedule/overlap.h"

// What is brought for an iteration at the same time before its use, as shards from another tier; or
// gathered, of what another stage has brought.
struct stage {
    struct block gathers; // pairs of start and wait, and loops of such
    int64_t ahead;        // k: how many iterations, or units of one, before its use it starts
    int64_t slots; // iterations of which something is there at once: k + 1, or as many as there are
};

// Gathers of what one iteration needs, and what stands behind them.
struct gather_pipeline {
    struct statement *loop;
    int variable;         // the loop's, by its depth
    struct stage *stages; // the last to start first: each reads what those behind it have brought
    uint32_t n_stages;
    struct block rest;
};

// The units of an iteration; one alone may start iterations ahead.
struct units {
    struct gather_pipeline *items;
    uint32_t n;
};

// ---- which gathers ----------------------------------------------------------------------------
// `variable` is that of the loop, and `around` its body. Is a statement a loop, inside that one and
// going with it, of gathers and nothing else?
bool is_nest(const struct overlapper *, const struct statement *, const struct block *around,
             int variable);
// The gathers at the very front of the loop, each stage as far ahead of the next, and the last of the
// use, as all that are in it ask for.
struct gather_pipeline find_gather_pipeline(const struct overlapper *, struct statement *loop,
                                            int variable);
// A loop of gathers that stands in what follows those of a pipeline, not ahead of its use.
struct gather_pipeline pipeline_of_nest(const struct overlapper *, const struct gather_pipeline *,
                                        uint32_t at);
struct units find_units(const struct overlapper *, struct statement *loop, int variable);

// ---- slots ------------------------------------------------------------------------------------
// Every layer has a place of its own where what is gathered is kept; else the next may have it too.
bool has_slots(const struct overlapper *, buffer_id);
// Which of a buffer's stacks is that of its layers; 0: it has none.
unsigned layer_stack(const struct overlapper *, buffer_id);
// Owners cast what they give to all into slots of their own: as many, and to each owner the same.
bool has_slots_of_owners(const struct overlapper *, buffer_id);
// Layers from what a gather brings in one iteration to what it brings in the next.
int64_t layers_between_iterations(const struct statement *gather);
// Counts the slots of what the units of a loop gather: as many as layers of it are in use at once. None
// is known before.
void count_slots(struct overlapper *, const struct units *);
// The slot of what is gathered, and of the transfer that brings it, for the layer, or the iteration,
// that is so many later than that of the variable; of what has owners, one of the same owner.
struct index slot_of(const struct overlapper *, const struct reference *, int variable,
                     int64_t offset);
struct index flight_of(const struct overlapper *, uint32_t handle, int variable, int64_t offset);
// Gives what is gathered its slots, and refers to them in what stands behind the gathers.
void refer_and_give_slots(struct overlapper *, const struct gather_pipeline *);

#endif
