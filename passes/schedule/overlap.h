// Overlap, between its files. The pass itself is declared in passes/passes.h.
//
//   overlap.c    the pass; gathers of single units, late waits, early starts in units
//   prefetch.c   gathers in loops start ahead of their use
//   gather_pipeline.c   which gathers these are (pipeline.h)
//   transfers.c  what all ask of transfers
#ifndef PLACE_PASSES_OVERLAP_H
#define PLACE_PASSES_OVERLAP_H

#include "ir/placement.h"
#include "passes/passes.h"

struct overlapper {
    struct program *program;
    struct placement placement;
    struct step *step;
    struct arena *scratch;
    struct touch *touched[LIMIT_LOOP_DEPTH]; // while waits sink, at each depth: by buffer
    uint32_t n_touches, n_blocks;            // that were noted, and in which waits sank
    int64_t *slots;                          // of what the loop at hand gathers, by buffer
};

// ---- transfers (transfers.c) -------------------------------------------------------------------
void push_copies(struct overlapper *, struct block *to, const struct statement *from, uint32_t n);
// Does a statement, or one inside it, name a buffer that the transfer carries? A wait names none.
bool touches(const struct overlapper *, const struct statement *, const struct transfer *);
// Does a call do nothing but cast shards, where they are kept or have been copied to, into their places
// in what is gathered? It starts with the gather.
bool prepares_gather(const struct overlapper *, const struct statement *);
// Are they a start and its wait? Do such stand here, one behind the other?
bool are_pair(const struct statement *start, const struct statement *wait);
bool is_pair(const struct block *, uint32_t at);
// Does it bring what a later statement uses, to a place of its own, so that it may start ahead?
bool brings_ahead(const struct transfer *);
// How many iterations ahead it is to start. One collective carries several tensors: the least
// of what they ask for, since all go together.
int64_t wanted_prefetch(const struct overlapper *, const struct transfer *);
// Runs through the transfers that are started in a block, loops included.
struct transfer_walk {
    struct statement_walk statements;
    struct transfer *transfer;
};
struct transfer_walk walk_transfers(const struct block *);
bool next_transfer(struct transfer_walk *);

// ---- gathers in loops (prefetch.c) -------------------------------------------------------------
// `depth` is the number of the variable that a loop in this block has.
void prefetch_block(struct overlapper *, struct block *, int depth);

#endif
