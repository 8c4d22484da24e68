// How many bytes hold something, while ranges of them come and go. What several ranges share counts
// once.
#ifndef PLACE_PASSES_HELD_H
#define PLACE_PASSES_HELD_H

#include "ir/ir.h"

struct held_range {
    int64_t begin, end;
};
struct held_node { // of a binary tree over the borders of all ranges
    int64_t held;  // bytes below it
    uint32_t over; // ranges that hold all of it, and not all of what is around it
};
struct held_bytes {
    int64_t *borders; // in order, each once
    struct held_node *nodes;
    uint32_t n_borders;
};

// Makes room for ranges that begin and end at these n borders, in any order; they are kept, and
// sorted.
struct held_bytes held_new(struct arena *, int64_t *borders, uint32_t n);
// The range comes (by = 1) or goes (by = -1).
void held_change(struct held_bytes *, struct held_range, int by);
int64_t held_in_all(const struct held_bytes *);

#endif
