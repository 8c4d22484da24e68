// Loops over microbatches, by induction: the first iterations are executed; the states after two of
// them, which differ by one microbatch, are generalised to a state at *any* microbatch m; the body
// is executed once more from there, and must lead to the same state at m + 1. Then that is the
// state at the loop's end too. Where no such state is found every iteration is executed, as far as
// the budget for that goes.
//
// In the general state m is a large number, ANY_MICROBATCH. The only things done with microbatch
// numbers are comparing them and adding one, and the first iterations' numbers are small, so what
// holds for this m holds for every m behind them.
#include "verify/engine.h"

#include <string.h>

enum { MAX_PEELED = 5 };

// ---- whether it can work ----------------------------------------------------------------------

// Slots that rotate with m, and items of their own for every m, have no state of fixed size; of
// what m indexes only inputs fit, which a call reads.
static bool statement_fits(const struct program *program, const struct statement *statement,
                           int depth) {
    if (statement->kind == STATEMENT_START && statement->start.handle_index.variable == depth)
        return false;
    if (statement->kind == STATEMENT_WAIT)
        return statement->wait.index.variable != depth;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
        if (access.at->index.variable == depth &&
            (access.written || statement->kind != STATEMENT_CALL || access.at->index.modulus ||
             program->buffers[access.at->buffer].class != CLASS_INPUT))
            return false;
    return true;
}

static bool block_fits(const struct program *program, const struct block *block, int depth) {
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        if (!statement_fits(program, walk.statement, depth))
            return false;
    return true;
}

// ---- states -----------------------------------------------------------------------------------

struct snapshot {
    struct item *items;
    struct flight *flights;
    uint32_t n_flights;
};

static struct snapshot take(struct engine *e) {
    const struct store *store = &e->store;
    struct snapshot snapshot = {
        .items = arena_copy(e->arena, store->items, store->n_items * sizeof *store->items),
        .flights = arena_copy(e->arena, store->flights, store->n_flights * sizeof *store->flights),
        .n_flights = store->n_flights};
    for (uint32_t i = 0; i < snapshot.n_flights; i++)
        snapshot.flights[i].pieces =
            arena_copy(e->arena, snapshot.flights[i].pieces,
                       snapshot.flights[i].n_pieces * sizeof *snapshot.flights[i].pieces);
    return snapshot;
}

static void put_back(struct engine *e, const struct snapshot *snapshot) {
    struct store *store = &e->store;
    memcpy(store->items, snapshot->items, store->n_items * sizeof *store->items);
    store->flights = snapshot->flights;
    store->n_flights = store->cap_flights = snapshot->n_flights;
}

// ---- generalising -----------------------------------------------------------------------------

struct pair { // microbatch numbers at two successive iterations, of which the second is `m`
    int32_t m;
    bool fits;
};

// A number that stayed is a constant; one that grew by one goes with m.
static int32_t generalise(struct pair *pair, int32_t before, int32_t after) {
    if (before == after)
        return after;
    pair->fits = pair->fits && after == before + 1;
    return after - pair->m + ANY_MICROBATCH;
}

static struct term generalise_term(struct engine *e, struct pair *pair, struct term before,
                                   struct term after) {
    if (term_equal(before, after))
        return after;
    const struct node *x = &e->terms->nodes[before.node], *y = &e->terms->nodes[after.node];
    if (x->key->kind != NODE_SUM || y->key->kind != NODE_SUM || x->n_parts != y->n_parts ||
        before.at != after.at) {
        pair->fits = false;
        return after;
    }
    struct part *parts = ARENA_ARRAY(e->arena, struct part, y->n_parts);
    for (uint32_t i = 0; i < y->n_parts; i++) {
        struct part a = x->key->parts[i], b = y->key->parts[i];
        pair->fits =
            pair->fits && a.node == b.node && a.at == b.at && a.end == b.end && a.scale == b.scale;
        parts[i] = b;
        parts[i].m_begin = generalise(pair, a.m_begin, b.m_begin);
        parts[i].m_end = generalise(pair, a.m_end, b.m_end);
        if (e->terms->nodes[b.node].key->indexed) {
            parts[i].at += after.at;
            parts[i].end += after.at;
        }
    }
    return term_make(e->terms, NODE_SUM, 0, 0, parts, y->n_parts);
}

static bool same_type(const struct judgement *a, const struct judgement *b) {
    if (a->fault || b->fault)
        return a->fault && b->fault;
    return a->value.scale == b->value.scale && a->form == b->form && a->partial == b->partial &&
           a->partial_max == b->partial_max && a->bits == b->bits && a->dtype == b->dtype &&
           a->clean == b->clean;
}

static void generalise_value(struct engine *e, struct pair *pair, const struct judgement *before,
                             struct judgement *after) {
    pair->fits = pair->fits && same_type(before, after);
    if (!pair->fits || after->fault)
        return;
    after->microbatch = generalise(pair, before->microbatch, after->microbatch);
    after->value.of = generalise_term(e, pair, before->value.of, after->value.of);
}

static bool has_value(const struct item *item) {
    return item->state == ITEM_READY || item->state == ITEM_WINDOW;
}

static bool same_place(const struct item *a, const struct item *b) {
    return a->state == b->state && (a->state != ITEM_WINDOW || a->window == b->window);
}

// The state of the store generalised over the one before it. False: they do not fit.
static bool generalise_store(struct engine *e, const struct snapshot *before, int32_t m) {
    struct pair pair = {m, true};
    struct store *store = &e->store;
    for (uint32_t i = 0; i < store->n_items && pair.fits; i++) {
        struct item *item = &store->items[i];
        if (!same_place(item, &before->items[i]))
            return false;
        if (has_value(item))
            generalise_value(e, &pair, &before->items[i].value, &item->value);
    }
    if (store->n_flights != before->n_flights)
        return false;
    for (uint32_t i = 0; i < store->n_flights && pair.fits; i++) {
        struct flight *flight = &store->flights[i];
        const struct flight *old = &before->flights[i];
        if (flight->handle != old->handle || flight->slot != old->slot ||
            flight->n_pieces != old->n_pieces)
            return false;
        for (uint32_t k = 0; k < flight->n_pieces && pair.fits; k++) {
            pair.fits = flight->pieces[k].from == old->pieces[k].from &&
                        flight->pieces[k].to == old->pieces[k].to;
            generalise_value(e, &pair, &old->pieces[k].value, &flight->pieces[k].value);
        }
    }
    return pair.fits;
}

// ---- comparing and leaving --------------------------------------------------------------------

// Moves m-dependent numbers from the general m to `to`; what does not depend on m stays.
static int32_t move_from_any(int32_t number, void *to) {
    return number >= ANY_MICROBATCH / 2 ? number - ANY_MICROBATCH + *(int32_t *)to : number;
}

static void rename_value(struct engine *e, struct judgement *value, int32_t to) {
    if (value->fault)
        return;
    value->microbatch = move_from_any(value->microbatch, &to);
    value->value = sum_rename(e->terms, value->value, move_from_any, &to);
}

static void rename_store(struct engine *e, int32_t to) {
    for (uint32_t i = 0; i < e->store.n_items; i++)
        if (has_value(&e->store.items[i]))
            rename_value(e, &e->store.items[i].value, to);
    for (uint32_t i = 0; i < e->store.n_flights; i++)
        for (uint32_t k = 0; k < e->store.flights[i].n_pieces; k++)
            rename_value(e, &e->store.flights[i].pieces[k].value, to);
}

static bool same_value(const struct judgement *a, const struct judgement *b) {
    if (!same_type(a, b))
        return false;
    return a->fault || (a->microbatch == b->microbatch && term_equal(a->value.of, b->value.of));
}

static bool same_store(const struct engine *e, const struct snapshot *other) {
    const struct store *store = &e->store;
    for (uint32_t i = 0; i < store->n_items; i++) {
        const struct item *a = &store->items[i], *b = &other->items[i];
        if (!same_place(a, b) || (has_value(a) && !same_value(&a->value, &b->value)))
            return false;
    }
    if (store->n_flights != other->n_flights)
        return false;
    for (uint32_t i = 0; i < store->n_flights; i++) {
        const struct flight *a = &store->flights[i], *b = &other->flights[i];
        if (a->handle != b->handle || a->slot != b->slot || a->n_pieces != b->n_pieces)
            return false;
        for (uint32_t k = 0; k < a->n_pieces; k++)
            if (a->pieces[k].from != b->pieces[k].from || a->pieces[k].to != b->pieces[k].to ||
                !same_value(&a->pieces[k].value, &b->pieces[k].value))
                return false;
    }
    return true;
}

// From the state before iteration m and the one before: true if the loop is done.
static bool leave_by_induction(struct engine *e, const struct loop *loop,
                               const struct snapshot *before, int32_t m) {
    struct snapshot now = take(e);
    if (generalise_store(e, before, m)) {
        struct snapshot general = take(e);
        iteration_execute(e, loop, ANY_MICROBATCH, true);
        // The same state one microbatch later: what is m + 1 in it is m in the general one.
        rename_store(e, ANY_MICROBATCH - 1);
        if (same_store(e, &general)) {
            rename_store(e, (int32_t)loop->end);
            return true;
        }
    }
    put_back(e, &now);
    return false;
}

void time_loop_execute(struct engine *e, const struct statement *statement) {
    const struct loop *loop = &statement->loop;
    bool fits = !loop->descending && block_fits(e->program, &loop->body, e->depth);
    struct snapshot before = {0};
    for (int64_t m = loop->begin; m < loop->end && !e->overrun; m++) {
        int64_t peeled = m - loop->begin;
        if (fits && peeled >= 2 && peeled < MAX_PEELED && loop->end - m > 1 &&
            leave_by_induction(e, loop, &before, (int32_t)m))
            return;
        if (fits && peeled + 1 < MAX_PEELED && loop->end - loop->begin > 3)
            before = take(e);
        int64_t value = loop->descending ? loop->end - 1 - peeled : m;
        iteration_execute(e, loop, value, true);
    }
}
