// A step made shorter: of long loops the middle is left out, and with it the items that only the
// middle names, so that what follows a step item by item (uses.h) takes the same time for any
// number of layers.
//
// What is left is a step like the whole one, statement for statement, with the same lives of items,
// only fewer of them. Where a loop was long it has iterations from its beginning and from its end,
// and between them a *middle* that stands for what is left out: as many items there as the pattern
// of indices takes to repeat, each for several of the whole.
#ifndef PLACE_PASSES_SHORTEN_H
#define PLACE_PASSES_SHORTEN_H

#include "passes/schedule/uses.h"

struct line; // rulers.h

struct shortened {
    const struct program *program; // with the step and the numbers of items to be followed
    // NULL: nothing is left out, and `program` is the whole one.
    const struct line *stacks, *loops; // of every buffer's; by place, of uses.h
    const uint32_t *around;            // of every place: that of the loop around it, or NO_ID
};

// Allocates in `arena`; the short step shares with the whole what is equal.
struct shortened shorten(const struct program *, enum step_kind, struct arena *);
struct shortened not_shortened(const struct program *);

// How many items of the whole step this one of the short step stands for, or places of a stack.
int64_t items_stood_for(const struct shortened *, buffer_id, int64_t item);
int64_t places_stood_for(const struct shortened *, buffer_id, unsigned stack, int64_t place);
// What a place of a stack, or a value of a loop's variable, is in the whole step, if it stands for
// one.
int64_t whole_place(const struct shortened *, buffer_id, unsigned stack, int64_t place);
int64_t whole_variable(const struct shortened *, uint32_t loop, int64_t value);
// Is a loop, which has this place, in an iteration of the middle, and does it name items?
bool is_in_middle(const struct shortened *, uint32_t loop, int64_t variable);

#endif
