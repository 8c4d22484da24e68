// Texts of all ranks in one file, one behind the other: where they say different numbers, each device has its own.
#ifndef PLACE_EQUAL_FX_RANKS_H
#define PLACE_EQUAL_FX_RANKS_H

#include "equal/fx/reader.h"

// Compares the texts behind the first with it, before that is read. False: they differ in more than whole numbers, or
// are not as many as there are devices, which has been reported (E908).
bool fx_compare_ranks(struct reader *);
// The numbers of all devices where the first text has one at this place; NULL: all have the same.
const int64_t *fx_numbers_of_ranks(struct reader *, const char *at);
// Whether all of them were asked for, at the end of the text: of others, as the sizes of shapes, it has been reported
// that ranks have their own (E908).
bool fx_heard_ranks(struct reader *);

#endif
