// Stages, slots: how many there must be of what a rank has of several microbatches at once.
#include <stdlib.h>
#include <string.h>

#include "passes/stages/stages.h"

struct lives lives_of(struct arena *arena, uint32_t n) {
    return (struct lives){.of = ARENA_ARRAY(arena, struct lifetime, n),
                          .n = n,
                          .in_order = ARENA_ARRAY(arena, const struct lifetime *, n),
                          .last = ARENA_ARRAY(arena, const struct lifetime *, n),
                          .ends = ARENA_ARRAY(arena, uint32_t, n)};
}

static int by_begin(const void *left, const void *right) {
    const struct lifetime *a = *(const struct lifetime *const *)left;
    const struct lifetime *b = *(const struct lifetime *const *)right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_number(const void *left, const void *right) {
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// Mostly they are in order.
static void sort_lives(struct lives *lives) {
    bool begin_in_order = true, end_in_order = true;
    for (uint32_t m = 0; m < lives->n; m++) {
        lives->in_order[m] = &lives->of[m];
        lives->ends[m] = lives->of[m].end;
        begin_in_order &= m == 0 || lives->of[m - 1].begin <= lives->of[m].begin;
        end_in_order &= m == 0 || lives->of[m - 1].end <= lives->of[m].end;
    }
    if (!begin_in_order)
        qsort(lives->in_order, lives->n, sizeof *lives->in_order, by_begin);
    if (!end_in_order)
        qsort(lives->ends, lives->n, sizeof *lives->ends, by_number);
}

static int64_t most_at_once(const struct lives *lives) {
    uint32_t ended = 0, most = 1;
    for (uint32_t i = 0; i < lives->n; i++) {
        while (lives->ends[ended] < lives->in_order[i]->begin)
            ended++;
        most = i + 1 - ended > most ? i + 1 - ended : most;
    }
    return most;
}

// Whether those that have the same slot are there one after the other.
static bool is_enough(const struct lives *lives, int64_t slots) {
    memset(lives->last, 0, (size_t)slots * sizeof *lives->last);
    for (uint32_t i = 0; i < lives->n; i++) {
        const struct lifetime *life = lives->in_order[i];
        const struct lifetime **before = &lives->last[(life - lives->of) % slots];
        if (*before && (*before)->end >= life->begin)
            return false;
        *before = life;
    }
    return true;
}

int64_t slots_of(struct lives *lives) {
    sort_lives(lives);
    int64_t slots = most_at_once(lives);
    while (!is_enough(lives, slots))
        slots++;
    return slots;
}
