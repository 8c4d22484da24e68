// Selectors by layer: which of many may say something of one, without asking all. A strategy may
// have a statement for each of thousands of layers, and what holds is asked of each of these.
#ifndef PLACE_PASSES_BY_LAYER_H
#define PLACE_PASSES_BY_LAYER_H

#include "ir/placement.h"

// Layers into which the same selectors reach, up to where the next ones begin.
struct stretch {
    int64_t begin;
    uint32_t *numbers; // of the selectors, in ascending order
    uint32_t n, cap;
};
struct by_layer {
    struct stretch *stretches; // in ascending order, the first begins at 0
    uint32_t n;
};

struct by_layer selectors_by_layer(struct arena *, const struct selector *const *, uint32_t n);
// The stretch that a layer is in. A slice with a step reaches over the layers between those that it
// takes: selector_covers has the last word.
const struct stretch *stretch_at(const struct by_layer *, int64_t layer);
// Where it ends; INT64_MAX: nowhere.
int64_t stretch_end(const struct by_layer *, const struct stretch *);

// The layers for which a selector says the same as its step does by itself: also before its first
// one and behind its last one it takes none of the next step - 1. Of a single layer, that one;
// without a slice all.
struct layer_range reach_of(const struct selector *);

#endif
