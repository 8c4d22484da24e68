// Selectors by layer; see by_layer.h.
#include "passes/reference/by_layer.h"

#include <stdlib.h>

struct layer_range reach_of(const struct selector *selector) {
    int64_t begin = selector->slice_begin, end = selector->slice_end, step = selector->slice_step;
    if (!selector->has_slice)
        return (struct layer_range){0, INT64_MAX, 1};
    if (step >= end - begin)
        return (struct layer_range){begin, begin + 1, 1};
    int64_t before = begin - (step - 1);
    return (struct layer_range){before > 0 ? before : 0, begin + round_up(end - begin, step), step};
}

static int by_begin(const void *left, const void *right) {
    const struct stretch *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

// One for each border, none of them twice.
static struct by_layer find_stretches(struct arena *arena, const struct selector *const *selectors,
                                      uint32_t n) {
    struct stretch *found = ARENA_ARRAY(arena, struct stretch, 2 * (size_t)n + 1);
    uint32_t n_found = 1;
    for (uint32_t i = 0; i < n; i++) {
        struct layer_range reach = reach_of(selectors[i]);
        if (!selectors[i]->has_slice)
            continue;
        found[n_found++].begin = reach.begin;
        found[n_found++].begin = reach.end;
    }
    qsort(found, n_found, sizeof *found, by_begin);
    struct by_layer index = {found, 1};
    for (uint32_t i = 1; i < n_found; i++)
        if (found[i].begin > found[index.n - 1].begin)
            found[index.n++] = found[i];
    return index;
}

static uint32_t number_at(const struct by_layer *index, int64_t layer) {
    uint32_t low = 0, high = index->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (index->stretches[middle].begin <= layer)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const struct stretch *stretch_at(const struct by_layer *index, int64_t layer) {
    return &index->stretches[number_at(index, layer)];
}

int64_t stretch_end(const struct by_layer *index, const struct stretch *stretch) {
    return stretch + 1 < index->stretches + index->n ? stretch[1].begin : INT64_MAX;
}

struct by_layer selectors_by_layer(struct arena *arena, const struct selector *const *selectors,
                                   uint32_t n) {
    struct by_layer index = find_stretches(arena, selectors, n);
    for (uint32_t i = 0; i < n; i++) {
        struct layer_range reach = reach_of(selectors[i]);
        for (uint32_t s = number_at(&index, reach.begin);
             s < index.n && index.stretches[s].begin < reach.end; s++) {
            struct stretch *stretch = &index.stretches[s];
            ARENA_PUSH(arena, stretch->numbers, stretch->n, stretch->cap, i);
        }
    }
    return index;
}
