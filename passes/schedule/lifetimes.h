// Lifetimes of buffers, for the memory plan and the account of it.
//
// A lifetime is an interval of *positions*: statements are numbered in the order of the step's
// text, a loop has a position before its body and one behind it. A buffer that is touched in a loop
// lives for the whole loop if a value may cross its iterations: if it is indexed by the loop's
// variable, or read before it is written.
#ifndef PLACE_PASSES_LIFETIMES_H
#define PLACE_PASSES_LIFETIMES_H

#include "ir/ir.h"

struct interval {
    int64_t first, last; // first > last: empty
};

// Evaluation leaves the logits behind for the host, which knows them by their name
// (backend/descriptor.c); in training they are an activation like others.
bool is_left_to_host(const struct program *, buffer_id buffer, enum step_kind step);

int64_t count_positions(const struct block *block);

// The positions at which each buffer is alive, by its number, in the arena. What persists and what
// the host reads or writes lives for the whole step, and a position more on each side. A window has
// no bytes: what touches it touches the buffer that it is in, and nobody asks for its own.
struct interval *step_lifetimes(const struct program *, enum step_kind step, struct arena *);

#endif
