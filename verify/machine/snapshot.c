// The store as a whole, for proofs about loops (induction.c): copied, put back, generalised from
// two iterations to any, and compared.
#include "verify/machine/machine.h"

#include <string.h>

static void copy_series(struct arena *arena, struct series *to, const struct series *from,
                        uint32_t n) {
    uint32_t n_runs = 0;
    for (uint32_t i = 0; i < n; i++)
        n_runs += from[i].n;
    struct run *runs = ARENA_ARRAY(arena, struct run, n_runs + 1);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(runs, from[i].runs, from[i].n * sizeof *runs);
        to[i] = (struct series){runs, from[i].n, from[i].n};
        runs += from[i].n;
    }
}

static struct snapshot copy(const struct abstract_machine *m, struct arena *arena,
                            const struct snapshot *from) {
    uint32_t n = m->program->n_buffers, n_handles = m->store.n_handles;
    struct snapshot made = {.items = ARENA_ARRAY(arena, struct series, n + 1),
                            .flights = ARENA_ARRAY(arena, struct series, n_handles + 1),
                            .regions = ARENA_ARRAY(arena, struct region, m->n_regions + 1)};
    copy_series(arena, made.items, from->items, n);
    copy_series(arena, made.flights, from->flights, n_handles);
    for (uint32_t i = 0; i < m->n_regions; i++) {
        const struct region *region = &from->regions[i];
        made.regions[i] = (struct region){
            arena_copy(arena, region->stretches, region->n * sizeof *region->stretches), region->n,
            region->n};
    }
    return made;
}

struct snapshot snapshot_take(const struct abstract_machine *m, struct arena *arena) {
    struct snapshot now = {m->store.items, m->store.flights, m->store.regions};
    return copy(m, arena, &now);
}

void snapshot_put(struct abstract_machine *m, const struct snapshot *state) {
    struct snapshot own = copy(m, m->world->states, state);
    m->store.items = own.items;
    m->store.flights = own.flights;
    m->store.regions = own.regions;
    flights_find(m);
}

static void move_held(struct series *all, uint32_t n, struct arena *to) {
    for (uint32_t i = 0; i < n; i++)
        for (struct run *run = all[i].runs; run < all[i].runs + all[i].n; run++)
            run->held =
                run->n_held ? arena_copy(to, run->held, run->n_held * sizeof *run->held) : NULL;
}

void store_move(struct abstract_machine *m, struct arena *to) {
    struct snapshot moved = snapshot_take(m, to);
    m->store.items = moved.items;
    m->store.flights = moved.flights;
    m->store.regions = moved.regions;
    move_held(m->store.items, m->program->n_buffers, to);
    move_held(m->store.flights, m->store.n_handles, to);
}

// ---- generalising -----------------------------------------------------------------------------

struct change { // between two states, `shift` apart in what the loop counts
    struct abstract_machine *machine;
    struct builder builder;
    int32_t now, shift, symbol;
    bool fits;
};

// A number that stayed is a constant; one that went along with the loop depends on it, or on the
// multiple of its variable.
static int32_t generalise(struct change *c, int32_t before, int32_t after) {
    const struct symbols *symbols = &c->machine->world->terms->symbols;
    int32_t moved = after - before, factor = symbols->list[symbols->n - 1].factor;
    int64_t multiple;
    if (moved == 0)
        return after;
    if (moved == c->shift)
        return after - c->now + c->symbol;
    if (factor && moved == c->shift * factor &&
        number_multiple(symbols, c->symbol, factor, &multiple))
        return after - c->now * factor + (int32_t)multiple;
    c->fits = false;
    return after;
}

// A range that is generalised must not become empty while it stands for anything. Now it is not,
// and for how long is noted with the symbol (number.h).
static void keep_range(struct change *c, int32_t begin, int32_t end) {
    (void)number_before(&c->machine->world->terms->symbols, begin, end);
}

// Sums over layers or microbatches, which collect one more in each iteration. What else is another
// node is another value.
static struct term generalise_sum(struct change *c, struct term before, struct term after) {
    struct terms *terms = c->machine->world->terms;
    const struct node *x = &terms->nodes[before.node], *y = &terms->nodes[after.node];
    if (x->key->kind != NODE_SUM || y->key->kind != NODE_SUM || x->n_parts != y->n_parts) {
        c->fits = false;
        return after;
    }
    uint32_t n = y->n_parts;
    struct part *parts = ARENA_ARRAY(c->machine->world->arena, struct part, n);
    for (uint32_t i = 0; i < n; i++) {
        struct summand a = sum_part(terms, (struct scaled){before, SCALE_ONE}, i);
        struct summand b = sum_part(terms, (struct scaled){after, SCALE_ONE}, i);
        c->fits = c->fits && a.node == b.node && a.scale == b.scale;
        parts[i] = (struct part){.node = b.node,
                                 .at = generalise(c, a.at, b.at),
                                 .end = generalise(c, a.end, b.end),
                                 .scale = b.scale,
                                 .m_begin = generalise(c, a.m_begin, b.m_begin),
                                 .m_end = generalise(c, a.m_end, b.m_end)};
        keep_range(c, parts[i].at, parts[i].end);
        if (parts[i].m_begin != ALL_MICROBATCHES)
            keep_range(c, parts[i].m_begin, parts[i].m_end);
    }
    return c->fits ? term_make(&c->builder, NODE_SUM, 0, 0, parts, n) : after;
}

static void generalise_held(struct change *c, const struct held *before, struct held *held) {
    struct held old = *before;
    c->fits = judgement_alike(&old.value, &held->value) && old.behind == held->behind;
    for (unsigned which = HELD_MICROBATCH; which < N_HELD_NUMBERS; which++) {
        int32_t *number = held_number(held, which);
        *number = generalise(c, *held_number(&old, which), *number);
    }
    struct term was = old.value.value.of, *is = &held->value.value.of;
    if (was.node == is->node)
        is->at = generalise(c, was.at, is->at);
    else
        *is = generalise_sum(c, was, *is);
}

static void generalise_run(struct change *c, const struct run *before, struct run *run) {
    c->fits = before->state == run->state && before->window == run->window &&
              before->start == run->start && before->n_held == run->n_held;
    bool single = run_is_single(run);
    struct held *held =
        arena_copy(c->machine->world->states, run->held, run->n_held * sizeof *held);
    for (uint32_t i = 0; i < run->n_held && c->fits; i++) {
        generalise_held(c, &before->held[i], &held[i]);
        if (single)
            held[i].moves = before->held[i].moves;
    }
    run->held = held;
    run->skipped = single ? before->skipped : run->skipped;
    run->begin = generalise(c, before->begin, run->begin);
    run->end = generalise(c, before->end, run->end);
    keep_range(c, run->begin, run->end);
}

static void generalise_series(struct change *c, const struct series *before, struct series *all,
                              uint32_t n) {
    for (uint32_t i = 0; i < n && c->fits; i++) {
        c->fits = before[i].n == all[i].n;
        for (uint32_t k = 0; k < all[i].n && c->fits; k++)
            generalise_run(c, &before[i].runs[k], &all[i].runs[k]);
    }
}

static void generalise_region(struct change *c, const struct region *before,
                              struct region *region) {
    struct abstract_machine *m = c->machine;
    c->fits = c->fits && before->n == region->n;
    for (uint32_t i = 0; i < region->n && c->fits; i++) {
        const struct stretch *old = &before->stretches[i];
        struct stretch *stretch = &region->stretches[i];
        c->fits = old->buffer == stretch->buffer && old->owner == stretch->owner;
        stretch->item = generalise(c, old->item, stretch->item);
        if (i) // in order as now; for how long is noted
            (void)address_before(&m->world->terms->symbols,
                                 bytes_begin(m, stretch[-1].buffer, stretch[-1].item),
                                 bytes_begin(m, stretch->buffer, stretch->item));
    }
}

bool store_generalise(struct abstract_machine *m, const struct snapshot *before, int32_t now,
                      int32_t shift, int32_t symbol) {
    struct change c = {m, statement_builder(m), now, shift, symbol, true};
    generalise_series(&c, before->items, m->store.items, m->program->n_buffers);
    generalise_series(&c, before->flights, m->store.flights, m->store.n_handles);
    for (uint32_t i = 0; i < m->n_regions; i++)
        generalise_region(&c, &before->regions[i], &m->store.regions[i]);
    return c.fits;
}

// ---- replacing --------------------------------------------------------------------------------

static void replace_held(struct world *w, struct builder *builder, struct held *held, int32_t by) {
    for (unsigned which = HELD_MICROBATCH; which < N_HELD_NUMBERS; which++) {
        int32_t *number = held_number(held, which);
        *number = number_replace(&w->terms->symbols, *number, by);
    }
    if (!held->value.fault)
        held->value.value = sum_replace(builder, held->value.value, by);
}

static void replace_series(struct abstract_machine *m, struct series *all, uint32_t n, int32_t by) {
    const struct symbols *symbols = &m->world->terms->symbols;
    struct builder builder = statement_builder(m);
    for (uint32_t i = 0; i < n; i++)
        for (struct run *run = all[i].runs; run < all[i].runs + all[i].n; run++) {
            struct held *held = arena_copy(m->world->states, run->held, run->n_held * sizeof *held);
            for (uint32_t k = 0; k < run->n_held; k++)
                replace_held(m->world, &builder, &held[k], by);
            run->held = held;
            run->begin = number_replace(symbols, run->begin, by);
            run->end = number_replace(symbols, run->end, by);
        }
}

void store_replace(struct abstract_machine *m, int32_t by) {
    replace_series(m, m->store.items, m->program->n_buffers, by);
    replace_series(m, m->store.flights, m->store.n_handles, by);
    for (uint32_t i = 0; i < m->n_regions; i++)
        for (uint32_t k = 0; k < m->store.regions[i].n; k++) {
            int32_t *item = &m->store.regions[i].stretches[k].item;
            *item = number_replace(&m->world->terms->symbols, *item, by);
        }
}

// ---- comparing --------------------------------------------------------------------------------

// Both are compared as functions of the symbols; what is equal for some iterations only is
// different.
static bool held_equal(const struct held *a, const struct held *b) {
    struct held x = *a, y = *b;
    bool equal = judgement_alike(&x.value, &y.value) &&
                 x.value.value.of.node == y.value.value.of.node && x.behind == y.behind;
    for (unsigned which = 0; which < N_HELD_NUMBERS; which++)
        equal = equal && *held_number(&x, which) == *held_number(&y, which);
    return equal;
}

static bool run_equal(const struct run *a, const struct run *b) {
    bool equal = a->begin == b->begin && a->end == b->end && a->state == b->state &&
                 a->window == b->window && a->start == b->start && a->n_held == b->n_held &&
                 (run_is_single(a) || runs_move_alike(a, b));
    for (uint32_t i = 0; equal && i < a->n_held; i++)
        equal = held_equal(&a->held[i], &b->held[i]);
    return equal;
}

static bool series_equal(const struct series *a, const struct series *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].n != b[i].n)
            return false;
        for (uint32_t k = 0; k < a[i].n; k++)
            if (!run_equal(&a[i].runs[k], &b[i].runs[k]))
                return false;
    }
    return true;
}

static bool region_equal(const struct region *a, const struct region *b) {
    bool equal = a->n == b->n;
    for (uint32_t i = 0; equal && i < a->n; i++)
        equal = a->stretches[i].buffer == b->stretches[i].buffer &&
                a->stretches[i].item == b->stretches[i].item &&
                a->stretches[i].owner == b->stretches[i].owner;
    return equal;
}

bool store_equal(const struct abstract_machine *m, const struct snapshot *other) {
    bool equal = series_equal(m->store.items, other->items, m->program->n_buffers) &&
                 series_equal(m->store.flights, other->flights, m->store.n_handles);
    for (uint32_t i = 0; equal && i < m->n_regions; i++)
        equal = region_equal(&m->store.regions[i], &other->regions[i]);
    return equal;
}
