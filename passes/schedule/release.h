// Release, step by step, as its test asks for it.
#ifndef PLACE_PASSES_RELEASE_H
#define PLACE_PASSES_RELEASE_H

#include "passes/schedule/shorten.h"

// Places the frees of a step by the uses of items in the short one. False, and nothing is changed:
// what stands for several items dies in no loop that would name them all.
bool release_by(struct program *, enum step_kind, const struct shortened *, struct arena *,
                struct too_long *);

#endif
