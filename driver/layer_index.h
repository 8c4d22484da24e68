// Which of many ranges of layers have a layer? A file may place every third of a thousand layers by
// a statement of its own, and what is asked of each layer must not look through all ranges.
#ifndef PLACE_DRIVER_LAYER_INDEX_H
#define PLACE_DRIVER_LAYER_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

struct layers {
    int64_t begin, end;  // both 0: what has them is not repeated by layer, and is in each
    int64_t step, width; // of every `step` layers the first `width`
};

struct indexed_layers {
    struct layers layers;
    int64_t furthest; // the last end in the part of the list that this one is the middle of
    uint32_t number;  // the caller's
};
// A tree as a sorted list: the middle one of a part is above those before and behind it.
struct layer_index { // all zero: empty
    struct indexed_layers *items;
    uint32_t n, cap;
};

void layer_index_add(struct arena *, struct layer_index *, struct layers, uint32_t number);
// To be called behind the last addition, before the first search.
void layer_index_sort(struct layer_index *);

enum { LAYER_SEARCH_DEPTH = 34 }; // of a tree of 2^32, with one to come at each height
struct layer_search {
    const struct layer_index *index;
    int64_t layer;
    unsigned depth;
    struct {
        uint32_t begin, end;
    } parts[LAYER_SEARCH_DEPTH];
};
struct layer_search search_layer(const struct layer_index *, int64_t layer);
// Moves to the next range that has the layer, in no order, and sets its number. False: no other.
bool search_next(struct layer_search *, uint32_t *number);

#endif
