// Memory, for the account of it; the pass itself is declared in passes/passes.h.
#ifndef PLACE_PASSES_MEMORY_H
#define PLACE_PASSES_MEMORY_H

#include "passes/schedule/lifetimes.h"

// What a planned program would take if it had this step alone, of which the lives are given.
int64_t memory_of_step(const struct program *, enum step_kind, const struct lifetime *lives);

#endif
