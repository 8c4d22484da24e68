// Runs and series; see store.h. What two neighbours hold decides whether they are one run: each
// number must grow from one to the other by their distance, or not at all; a layer's by a multiple
// of the distance, which the first two items of a run decide. Of faults that are alike the first
// one stays, of makings (history.h) the last.
#include "verify/machine/machine.h"

#include <string.h>

int32_t *held_number(struct held *held, enum held_number which) {
    switch (which) {
    case HELD_LAYER:
        return &held->value.value.of.at;
    case HELD_MICROBATCH:
        return &held->value.microbatch;
    case HELD_FROM:
        return &held->from;
    default:
        return &held->to;
    }
}

// The pace of a number that moves is by how much it grows from an item of the run to the next.
static int32_t pace(const struct run *run, enum held_number which) {
    return which == HELD_LAYER ? 1 + run->skipped : 1;
}

static void advance(struct world *w, const struct run *run, struct held *held, int32_t distance) {
    for (unsigned which = 0; which < N_HELD_NUMBERS; which++)
        if (held->moves >> which & 1)
            *held_number(held, which) +=
                number_times(&w->terms->symbols, distance, pace(run, which));
}

bool run_is_single(const struct run *run) {
    return run->end == run->begin + 1;
}

bool runs_move_alike(const struct run *a, const struct run *b) {
    bool alike = a->n_held == b->n_held;
    for (uint32_t i = 0; alike && i < a->n_held; i++)
        alike = a->held[i].moves == b->held[i].moves &&
                (!(a->held[i].moves >> HELD_LAYER & 1) || a->skipped == b->skipped);
    return alike;
}

struct held run_held(struct world *w, const struct run *run, uint32_t i, int32_t item) {
    struct held held = run->held[i];
    advance(w, run, &held, item - run->begin);
    return held;
}

struct run run_part(struct world *w, const struct run *run, int32_t begin, int32_t end) {
    struct run part = *run;
    part.begin = begin;
    part.end = end;
    if (begin == run->begin || run->n_held == 0) // this saves time: nothing is advanced
        return part;
    struct held *held = arena_copy(w->states, run->held, run->n_held * sizeof *held);
    for (uint32_t i = 0; i < run->n_held; i++)
        advance(w, run, &held[i], begin - run->begin);
    part.held = held;
    return part;
}

// ---- joining ----------------------------------------------------------------------------------

static int32_t growth(const struct held *from, const struct held *to, enum held_number which) {
    return *held_number((struct held *)to, which) - *held_number((struct held *)from, which);
}

static uint8_t moves_between(const struct held *from, const struct held *to) {
    uint8_t moves = 0;
    for (unsigned which = 0; which < N_HELD_NUMBERS; which++)
        moves |= (uint8_t)((growth(from, to, which) != 0) << which);
    return moves;
}

// What is skipped between neighbours, if they are one run; behind a single one the first layer that
// changes says it.
static int32_t skipped_between(const struct run *left, const struct run *right) {
    if (!run_is_single(left))
        return left->skipped;
    for (uint32_t i = 0; i < left->n_held; i++) {
        int32_t grown = growth(&left->held[i], &right->held[i], HELD_LAYER);
        if (grown != 0)
            return grown > 0 && !number_is_symbolic(grown) ? grown - 1 : 0;
    }
    return 0;
}

// Does the number grow from run to run as it does from item to item?
static bool keeps_pace(const struct world *w, const struct run *left, const struct run *right,
                       enum held_number which, int32_t grown) {
    int64_t expected;
    return number_multiple(&w->terms->symbols, right->begin - left->begin, pace(left, which),
                           &expected) &&
           grown == expected;
}

// What two runs hold at the same place, the first items of each.
static bool joins_at(const struct world *w, const struct run *left, const struct run *right,
                     uint32_t i) {
    const struct held *a = &left->held[i], *b = &right->held[i];
    const struct judgement *x = &a->value, *y = &b->value;
    if (!judgement_alike(x, y) || x->value.of.node != y->value.of.node || a->behind != b->behind)
        return false;
    for (unsigned which = 0; which < N_HELD_NUMBERS; which++) {
        int32_t grown = growth(a, b, which);
        if (grown != 0 && !keeps_pace(w, left, right, which, grown))
            return false;
    }
    uint8_t moves = moves_between(a, b);
    bool skip_alike = !(moves >> HELD_LAYER & 1) || right->skipped == left->skipped;
    return (run_is_single(left) || a->moves == moves) &&
           (run_is_single(right) || (b->moves == moves && skip_alike));
}

static struct held joined_held(const struct held *left, const struct held *right) {
    struct held both = *left;
    both.moves = moves_between(left, right);
    both.value.fault = fault_first(left->value.fault, right->value.fault);
    if (right->value.made > left->value.made)
        both.value.made = right->value.made;
    return both;
}

static bool says_what(const struct held *both, const struct held *left) {
    return both->moves == left->moves && both->value.fault == left->value.fault &&
           both->value.made == left->value.made;
}

// Makes `left` end where `right` does, if the two are one run.
static bool join(struct world *w, struct run *left, const struct run *right) {
    // Nobody asks which statement made what is ready.
    bool by_one = left->by == right->by || left->state == ITEM_READY;
    if (left->state != right->state || left->start != right->start || !by_one ||
        left->window != right->window || left->n_held != right->n_held)
        return false;
    struct run paced = *left;
    paced.skipped = skipped_between(left, right);
    for (uint32_t i = 0; i < left->n_held; i++)
        if (!joins_at(w, &paced, right, i))
            return false;
    *left = paced;
    struct held *joined = NULL;
    for (uint32_t i = 0; i < left->n_held; i++) {
        struct held both = joined_held(&left->held[i], &right->held[i]);
        if (says_what(&both, &left->held[i])) // this saves time: a run grows item by item
            continue;
        if (!joined)
            left->held = joined = arena_copy(w->states, left->held, left->n_held * sizeof *joined);
        joined[i] = both;
    }
    left->end = right->end;
    return true;
}

// ---- series -----------------------------------------------------------------------------------

static uint32_t find(struct world *w, const struct series *series, int32_t item) {
    uint32_t low = 0, high = series->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (number_before(&w->terms->symbols, item, series->runs[middle].begin))
            high = middle;
        else
            low = middle;
    }
    return low;
}

const struct run *series_find(struct world *w, const struct series *series, int32_t item) {
    return &series->runs[find(w, series, item)];
}

void *list_splice(struct arena *arena, void *list, uint32_t *n, uint32_t *cap, size_t size,
                  struct cut cut, const void *by, uint32_t n_by) {
    uint32_t behind = *n - cut.end, n_new = cut.begin + n_by + behind;
    char *bytes = list;
    if (n_new > *cap) {
        *cap = n_new * 2;
        bytes = arena_grow(arena, list, *n * size, *cap * size);
    }
    memmove(bytes + (cut.begin + n_by) * size, bytes + cut.end * size, behind * size);
    memcpy(bytes + cut.begin * size, by, n_by * size);
    *n = n_new;
    return bytes;
}

void series_put(struct world *w, struct series *series, struct run run) {
    struct symbols *symbols = &w->terms->symbols;
    uint32_t begin = find(w, series, run.begin);
    uint32_t end = run_is_single(&run) ? begin : find(w, series, run.end - 1);
    const struct run *first = &series->runs[begin], *last = &series->runs[end++];
    struct run list[3], joined[3];
    uint32_t n = 0, n_joined = 0;
    if (number_before(symbols, first->begin, run.begin))
        list[n++] = run_part(w, first, first->begin, run.begin);
    else if (begin > 0)
        list[n++] = series->runs[--begin];
    list[n++] = run;
    if (number_before(symbols, run.end, last->end))
        list[n++] = run_part(w, last, run.end, last->end);
    else if (end < series->n)
        list[n++] = series->runs[end++];
    for (uint32_t i = 0; i < n; i++)
        if (n_joined == 0 || !join(w, &joined[n_joined - 1], &list[i]))
            joined[n_joined++] = list[i];
    for (uint32_t i = 0; i < n_joined; i++)
        if (run.n_held && joined[i].held == run.held)
            joined[i].held = arena_copy(w->states, run.held, run.n_held * sizeof *run.held);
    series->runs = list_splice(w->states, series->runs, &series->n, &series->cap, sizeof *joined,
                               (struct cut){begin, end}, joined, n_joined);
}
