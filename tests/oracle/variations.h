// Strategies for one model on one mesh, of axes `outer`, `inner` and `tp`, `dp` being the product of the
// first two: ways to divide work, each with many ways to store the states.
#ifndef PLACE_TESTS_ORACLE_VARIATIONS_H
#define PLACE_TESTS_ORACLE_VARIATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

uint32_t n_variations(void);
// How many variations in a row, from a multiple of that number on, differ only in how states are
// stored.
uint32_t n_storages(void);
// The text of a strategy `main`: some have no meaning.
const char *variation(struct arena *, uint32_t i);

// A whole file, whose seven layers are gathered and recomputed in groups: so many of the ones and of the
// others, so far ahead, and freed behind forward, or kept, or a part of them.
uint32_t n_grouped(void);
bool grouped_keeps(uint32_t i);
const char *grouped(struct arena *, uint32_t i);

#endif
