// See layer_index.h: an interval tree.
#include "driver/layer_index.h"

#include <stdlib.h>

#include "ir/check.h"

static bool has_layer(const struct layers *layers, int64_t layer) {
    return layers->end == 0 || (layers->begin <= layer && layer < layers->end &&
                                (layer - layers->begin) % layers->step < layers->width);
}

void layer_index_add(struct arena *arena, struct layer_index *index, struct layers layers,
                     uint32_t number) {
    struct indexed_layers item = {.layers = layers, .number = number};
    ARENA_PUSH(arena, index->items, index->n, index->cap, item);
}

static int by_begin(const void *left, const void *right) {
    const struct indexed_layers *a = left, *b = right;
    if (a->layers.begin != b->layers.begin)
        return a->layers.begin < b->layers.begin ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static uint32_t middle(uint32_t begin, uint32_t end) {
    return begin + (end - begin) / 2;
}

// Returns the furthest end of a part.
static int64_t find_furthest(struct layer_index *index, uint32_t begin, uint32_t end) {
    if (begin == end)
        return INT64_MIN;
    struct indexed_layers *item = &index->items[middle(begin, end)];
    int64_t before = find_furthest(index, begin, middle(begin, end));
    int64_t behind = find_furthest(index, middle(begin, end) + 1, end);
    item->furthest = item->layers.end ? item->layers.end : INT64_MAX;
    item->furthest = before > item->furthest ? before : item->furthest;
    item->furthest = behind > item->furthest ? behind : item->furthest;
    return item->furthest;
}

void layer_index_sort(struct layer_index *index) {
    if (index->n)
        qsort(index->items, index->n, sizeof *index->items, by_begin);
    find_furthest(index, 0, index->n);
}

static void push_part(struct layer_search *search, uint32_t begin, uint32_t end) {
    if (begin == end)
        return;
    CHECK(search->depth < LAYER_SEARCH_DEPTH);
    search->parts[search->depth].begin = begin;
    search->parts[search->depth++].end = end;
}

struct layer_search search_layer(const struct layer_index *index, int64_t layer) {
    struct layer_search search = {.index = index, .layer = layer};
    push_part(&search, 0, index->n);
    return search;
}

bool search_next(struct layer_search *search, uint32_t *number) {
    while (search->depth) {
        uint32_t begin = search->parts[--search->depth].begin;
        uint32_t end = search->parts[search->depth].end, at = middle(begin, end);
        const struct indexed_layers *item = &search->index->items[at];
        if (item->furthest <= search->layer)
            continue;
        push_part(search, begin, at);
        if (item->layers.begin <= search->layer)
            push_part(search, at + 1, end);
        if (!has_layer(&item->layers, search->layer))
            continue;
        *number = item->number;
        return true;
    }
    return false;
}
