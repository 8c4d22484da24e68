// Lifetimes of buffers, for the memory plan and the account of it.
//
// A lifetime is of intervals of *positions*: statements are numbered in the order of the step's
// text, a loop has a position before its body and one behind it. A buffer that is touched in a loop
// lives for the whole loop if a value may cross its iterations: if it is indexed by the loop's
// variable, or read before it is written. One that is a single item is dead from the last use of a
// value to where the next one is written, as a unit's frame is between two calls; of several items
// a buffer is alive from the first use to the last.
#ifndef PLACE_PASSES_LIFETIMES_H
#define PLACE_PASSES_LIFETIMES_H

#include "ir/ir.h"

struct interval {
    int64_t first, last;
};
struct lifetime {
    const struct interval *list; // in ascending order, none meets another
    uint32_t n;
};

// Whether buffers that live so share no bytes. What takes turns shares them with what does so too; what is
// alive once, as a sum of gradients, has its bytes alone in between: the proof takes what shares bytes as one
// (verify/machine/tasks.h), and would then find another task's sum in a unit's frame.
bool lifetimes_meet(const struct lifetime *, const struct lifetime *);

// Evaluation leaves the logits behind for the host, which knows them by their name
// (backend/descriptor.c); in training they are an activation like others.
bool is_left_to_host(const struct program *, buffer_id buffer, enum step_kind step);

int64_t count_positions(const struct block *block);

// The positions at which each buffer is alive, by its number, all in the arena. What persists and what
// the host reads or writes lives for the whole step, and a position more on each side. A window has
// no bytes: what touches it touches the buffer that it is in, and nobody asks for its own.
struct lifetime *step_lifetimes(const struct program *, enum step_kind step, struct arena *);

#endif
