// Release, step by step, as its test asks for it.
#ifndef PLACE_PASSES_RELEASE_H
#define PLACE_PASSES_RELEASE_H

#include "passes/schedule/followed.h"

// Places the frees of a step as it was followed. False, and nothing is changed: it is too long, or
// what stands for several items dies in no loop that would name them all.
bool release_by(struct program *, enum step_kind, const struct followed *);

#endif
