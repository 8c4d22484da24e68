// First fit; see first_fit.h.
//
// Where an item fits is found by going through those that are placed, from the lowest offset up.
// They stand in shelves of neighbours, which mostly are of one size and, from layer to layer, of
// lives that lie in each other. A shelf knows what all of its items have in common, so that most of
// them are passed as one: those of which none is alive together with the item, and those of which
// all are and that leave no room for it between them. Still each item asks all shelves: n^2 / 64
// steps, of which those for ten thousands of buffers are seconds.
#include "passes/schedule/first_fit.h"

#include <stdlib.h>
#include <string.h>

enum { SHELF_ITEMS = 64 };

struct shelf {
    const struct placed_item *items[SHELF_ITEMS]; // as `lies_above` says
    uint32_t n;
    struct interval hulls[N_STEPS]; // who does not meet it in any step is alive with none of them,
    struct interval cores[N_STEPS]; // who meets it in one is alive with all; some are empty
    int64_t end, widest;            // of all items; the widest gap between them
};

struct shelves {
    struct arena *arena;
    struct shelf **list; // in the order of their items
    uint32_t n, cap;
};

static bool meet_in_a_step(const struct lifetime a[N_STEPS], const struct lifetime b[N_STEPS]) {
    for (int s = 0; s < N_STEPS; s++)
        if (lifetimes_meet(&a[s], &b[s]))
            return true;
    return false;
}

// As items of which each has one value.
static bool meets_hull(const struct interval hulls[N_STEPS], const struct lifetime lives[N_STEPS]) {
    for (int s = 0; s < N_STEPS; s++)
        if (hulls[s].first <= hulls[s].last &&
            lifetimes_meet(&(struct lifetime){&hulls[s], 1}, &lives[s]))
            return true;
    return false;
}

// Some value of the item in the core itself.
static bool meets_core(const struct interval cores[N_STEPS], const struct lifetime lives[N_STEPS]) {
    for (int s = 0; s < N_STEPS; s++)
        for (uint32_t i = 0; i < lives[s].n; i++)
            if (cores[s].first <= lives[s].list[i].last &&
                lives[s].list[i].first <= cores[s].last && cores[s].first <= cores[s].last)
                return true;
    return false;
}

static int64_t first_of(const struct lifetime *lives) {
    return lives->n ? lives->list[0].first : INT64_MAX;
}

static int64_t end_of(const struct placed_item *item) {
    return size_plus(item->offset, aligned_bytes(item->bytes));
}

// The order of the items: by offset, and at one offset by their lives, so that neighbours are alive
// at about the same time.
static bool lies_above(const struct placed_item *a, const struct placed_item *b) {
    if (a->offset != b->offset)
        return a->offset > b->offset;
    return first_of(&a->lives[STEP_TRAIN]) > first_of(&b->lives[STEP_TRAIN]);
}

// ---- a shelf ----------------------------------------------------------------------------------

static int64_t length_of(const struct interval *interval) {
    return interval->last - interval->first + 1;
}

// Who meets an interval of an item is alive with it: the longest is what most do.
static void add_life(struct interval *hull, struct interval *core, const struct lifetime *lives) {
    static const struct interval none = {1, 0};
    const struct interval *longest = lives->n ? &lives->list[0] : &none;
    for (uint32_t i = 0; i < lives->n; i++) {
        const struct interval *one = &lives->list[i];
        hull->first = one->first < hull->first ? one->first : hull->first;
        hull->last = one->last > hull->last ? one->last : hull->last;
        longest = length_of(one) > length_of(longest) ? one : longest;
    }
    core->first = longest->first > core->first ? longest->first : core->first;
    core->last = longest->last < core->last ? longest->last : core->last;
}

static void add_lives(struct shelf *shelf, const struct placed_item *item) {
    for (int s = 0; s < N_STEPS; s++)
        add_life(&shelf->hulls[s], &shelf->cores[s], &item->lives[s]);
}

static void measure_gaps(struct shelf *shelf) {
    shelf->end = shelf->items[0]->offset;
    shelf->widest = 0;
    for (uint32_t i = 0; i < shelf->n; i++) {
        int64_t gap = shelf->items[i]->offset - shelf->end, end = end_of(shelf->items[i]);
        shelf->widest = gap > shelf->widest ? gap : shelf->widest;
        shelf->end = end > shelf->end ? end : shelf->end;
    }
}

static struct shelf *new_shelf(struct arena *arena) {
    static const struct interval none = {INT64_MAX, INT64_MIN}, all = {INT64_MIN, INT64_MAX};
    struct shelf *shelf = ARENA_NEW(arena, struct shelf);
    for (int s = 0; s < N_STEPS; s++) {
        shelf->hulls[s] = none;
        shelf->cores[s] = all;
    }
    return shelf;
}

static struct shelf *shelf_of(struct arena *arena, const struct placed_item *const *items,
                              uint32_t n) {
    struct shelf *shelf = new_shelf(arena);
    memcpy(shelf->items, items, n * sizeof *items);
    shelf->n = n;
    for (uint32_t i = 0; i < n; i++)
        add_lives(shelf, items[i]);
    measure_gaps(shelf);
    return shelf;
}

static void add_item(struct shelf *shelf, const struct placed_item *item) {
    uint32_t i = shelf->n++;
    for (; i > 0 && lies_above(shelf->items[i - 1], item); i--)
        shelf->items[i] = shelf->items[i - 1];
    shelf->items[i] = item;
    add_lives(shelf, item);
    measure_gaps(shelf);
}

// Where there is room for the item on the way from `offset` to the end of the shelf: `*found`; else
// the offset behind what is in its way.
static int64_t pass(const struct shelf *shelf, const struct placed_item *item, int64_t offset,
                    bool *found) {
    int64_t bytes = aligned_bytes(item->bytes);
    if (!meets_hull(shelf->hulls, item->lives))
        return offset;
    if (meets_core(shelf->cores, item->lives) && shelf->widest < bytes &&
        shelf->items[0]->offset < size_plus(offset, bytes))
        return shelf->end > offset ? shelf->end : offset;
    for (uint32_t i = 0; i < shelf->n; i++) {
        if (!meet_in_a_step(shelf->items[i]->lives, item->lives))
            continue;
        if ((*found = shelf->items[i]->offset >= size_plus(offset, bytes)))
            return offset;
        int64_t end = end_of(shelf->items[i]);
        offset = end > offset ? end : offset;
    }
    return offset;
}

// ---- all shelves ------------------------------------------------------------------------------

// The halves of a full shelf become shelves of their own.
static void divide(struct shelves *shelves, uint32_t at) {
    enum { HALF = SHELF_ITEMS / 2 };
    const struct shelf *full = shelves->list[at];
    ARENA_PUSH(shelves->arena, shelves->list, shelves->n, shelves->cap, NULL);
    memmove(&shelves->list[at + 2], &shelves->list[at + 1],
            (shelves->n - at - 2) * sizeof *shelves->list);
    shelves->list[at] = shelf_of(shelves->arena, full->items, HALF);
    shelves->list[at + 1] = shelf_of(shelves->arena, full->items + HALF, HALF);
}

// The last shelf whose first item is not above this one, or the first.
static uint32_t shelf_for(const struct shelves *shelves, const struct placed_item *item) {
    uint32_t low = 0, high = shelves->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (lies_above(shelves->list[middle]->items[0], item))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static void put(struct shelves *shelves, const struct placed_item *item) {
    if (shelves->n == 0)
        ARENA_PUSH(shelves->arena, shelves->list, shelves->n, shelves->cap,
                   new_shelf(shelves->arena));
    uint32_t at = shelf_for(shelves, item);
    if (shelves->list[at]->n == SHELF_ITEMS) {
        divide(shelves, at);
        at = shelf_for(shelves, item);
    }
    add_item(shelves->list[at], item);
}

static int64_t lowest_offset(const struct shelves *shelves, const struct placed_item *item,
                             int64_t base) {
    int64_t offset = base;
    bool found = false;
    for (uint32_t i = 0; i < shelves->n && !found; i++)
        offset = pass(shelves->list[i], item, offset, &found);
    return offset;
}

static int64_t length_in_training(const struct placed_item *item) {
    const struct lifetime *lives = &item->lives[STEP_TRAIN];
    int64_t length = 0;
    for (uint32_t i = 0; i < lives->n; i++)
        length += length_of(&lives->list[i]);
    return length;
}

// Larger items come first; among those of one size what lives longer, since it has fewer places
// left.
static int by_size(const void *a, const void *b) {
    const struct placed_item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    int64_t x_length = length_in_training(x), y_length = length_in_training(y);
    if (x_length != y_length)
        return x_length < y_length ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

int64_t first_fit(struct arena *arena, struct placed_item *items, uint32_t n, int64_t base) {
    struct shelves shelves = {.arena = arena};
    int64_t end = base;
    qsort(items, n, sizeof *items, by_size);
    for (uint32_t i = 0; i < n; i++) {
        items[i].offset = lowest_offset(&shelves, &items[i], base);
        put(&shelves, &items[i]);
        int64_t behind = size_plus(items[i].offset, items[i].bytes);
        end = behind > end ? behind : end;
    }
    return end;
}
