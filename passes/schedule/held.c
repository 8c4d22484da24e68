// A range is counted at the fewest nodes of the tree that make it up.
#include "passes/schedule/held.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

struct held_bytes held_new(struct arena *arena, int64_t *borders, uint32_t n) {
    struct held_bytes held = {.borders = borders,
                              .nodes = ARENA_ARRAY(arena, struct held_node, 4 * n + 4)};
    if (n)
        qsort(borders, n, sizeof *borders, by_value);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || borders[i] != borders[i - 1])
            borders[held.n_borders++] = borders[i];
    return held;
}

// The node is for what lies between the borders `low` and `high`.
static void change(struct held_bytes *held, uint32_t node, uint32_t low, uint32_t high,
                   struct held_range range, int by) {
    const int64_t *borders = held->borders;
    if (range.end <= borders[low] || borders[high] <= range.begin)
        return;
    struct held_node *at = &held->nodes[node], *halves = &held->nodes[2 * node + 1];
    if (range.begin <= borders[low] && borders[high] <= range.end) {
        at->over += (uint32_t)by;
    } else {
        uint32_t middle = (low + high) / 2;
        change(held, 2 * node + 1, low, middle, range, by);
        change(held, 2 * node + 2, middle, high, range, by);
    }
    if (at->over)
        at->held = borders[high] - borders[low];
    else
        at->held = high - low > 1 ? halves[0].held + halves[1].held : 0;
}

void held_change(struct held_bytes *held, struct held_range range, int by) {
    if (held->n_borders > 1)
        change(held, 0, 0, held->n_borders - 1, range, by);
}

int64_t held_in_all(const struct held_bytes *held) {
    return held->nodes[0].held;
}
