// First fit: places for items that share bytes where they are not alive together. Each gets the
// lowest offset from `base` on where it fits beside those that were placed before it; the largest
// come first (first fit decreasing), of equal ones the one with the lower number.
#ifndef PLACE_PASSES_FIRST_FIT_H
#define PLACE_PASSES_FIRST_FIT_H

#include "passes/schedule/lifetimes.h"

struct placed_item {
    int64_t bytes, offset; // the offset is what is found
    struct lifetime lives[N_STEPS];
    uint32_t id;
};

enum { ALIGNMENT_BYTES = 64 }; // a cache line, and the widest vector

static inline int64_t aligned_bytes(int64_t bytes) {
    return round_up(bytes, ALIGNMENT_BYTES);
}

// Sorts the items and places all; returns the end of the last.
int64_t first_fit(struct arena *, struct placed_item *items, uint32_t n, int64_t base);

#endif
