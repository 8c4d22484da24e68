// A step that is followed item by item: made short (shorten.h), and what it uses then (uses.h). It
// is found once: `release` frees by it, and the account of the same program counts by it, though
// frees and a plan have come to the program in between.
#ifndef PLACE_PASSES_FOLLOWED_H
#define PLACE_PASSES_FOLLOWED_H

#include "passes/schedule/shorten.h"
#include "passes/schedule/uses.h"

struct followed {
    struct arena arena; // holds all of it
    struct shortened shortened;
    struct uses uses; // of the short step
    const uint32_t
        *numbers; // of every place: statements before it that are neither loops nor frees
};

// Frees with followed_free (passes/passes.h).
struct followed *follow_step(const struct program *, enum step_kind);
// The same of a step that is not made short.
struct followed *follow_whole_step(const struct program *, enum step_kind);
// Ids of the statements of a step that are neither loops nor frees, by their numbers.
uint32_t *numbered_ids(const struct step *, struct arena *);

#endif
