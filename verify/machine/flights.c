// What is in flight where: the slots of handles, and what becomes of a transfer of which the places
// are written meanwhile.
#include "verify/machine/machine.h"

static bool has_flights(const struct series *series) {
    return series->n > 1 || series->runs[0].n_held > 0;
}

// ---- where it is in flight --------------------------------------------------------------------

// Every write asks what is in flight where it writes: hardly anything, though whole layers of
// gradients may be under way. A home is what one write may reach: a buffer, with all others of its
// region.
static uint32_t home_of(const struct abstract_machine *m, buffer_id id) {
    uint32_t region = m->region_of[id];
    return region == NO_ID ? m->n_regions + id : region;
}

// Puts the handle into the list, which is in order, or takes it out.
static void list_handle(struct world *w, struct handle_list *list, uint32_t handle, bool listed) {
    uint32_t at = list->n;
    while (at > 0 && list->handles[at - 1] >= handle)
        at--;
    bool found = at < list->n && list->handles[at] == handle;
    if (found != listed)
        list->handles = list_splice(w->arena, list->handles, &list->n, &list->cap, sizeof handle,
                                    (struct cut){at, at + found}, &handle, listed);
}

static void list_flights(struct abstract_machine *m, uint32_t handle, bool listed) {
    const struct home_list *homes = &m->store.homes[handle];
    for (uint32_t i = 0; i < homes->n; i++)
        list_handle(m->world, &m->store.flying[homes->list[i]], handle, listed);
}

static void add_home(struct abstract_machine *m, struct home_list *homes, buffer_id buffer) {
    uint32_t home = home_of(m, owner_of(m->program, buffer));
    for (uint32_t i = 0; i < homes->n; i++)
        if (homes->list[i] == home) // this saves time: handles are listed once anyway
            return;
    ARENA_PUSH(m->world->arena, homes->list, homes->n, homes->cap, home);
}

void flights_init(struct abstract_machine *m, const struct step *step) {
    struct store *store = &m->store;
    store->homes = ARENA_ARRAY(m->world->arena, struct home_list, step->n_handles + 1);
    store->flying =
        ARENA_ARRAY(m->world->arena, struct handle_list, m->n_regions + m->program->n_buffers + 1);
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        for (uint32_t i = 0; walk.statement->kind == STATEMENT_START && i < start->n_pieces; i++) {
            add_home(m, &store->homes[start->handle], start->pieces[i].from.buffer);
            add_home(m, &store->homes[start->handle], start->pieces[i].to.buffer);
        }
    }
}

void flights_find(struct abstract_machine *m) {
    struct store *store = &m->store;
    for (uint32_t home = 0; home < m->n_regions + m->program->n_buffers; home++)
        store->flying[home].n = 0;
    for (uint32_t h = 0; h < store->n_handles; h++)
        if (has_flights(flights_of(&m->store, h)))
            list_flights(m, h, true);
}

const struct handle_list *flights_near(const struct abstract_machine *m, buffer_id buffer) {
    return &m->store.flying[home_of(m, buffer)];
}

void put_flights(struct abstract_machine *m, uint32_t handle, struct run run) {
    const struct series *series = flights_of(&m->store, handle);
    bool had = has_flights(series);
    series_put(m->world, flights_of(&m->store, handle), run);
    if (has_flights(series) != had)
        list_flights(m, handle, !had);
}

// ---- what is written meanwhile ----------------------------------------------------------------

struct touched { // slots of a run whose pieces reach into a place; none: begin == end
    int32_t begin, end;
};

// Pieces of `buffer` from `item` on, one item further with each slot if they move.
static struct touched touched_slots(struct abstract_machine *m, const struct run *run,
                                    buffer_id buffer, int32_t item, bool moves, struct place at) {
    struct symbols *symbols = &m->world->terms->symbols;
    struct touched none = {run->begin, run->begin}, all = {run->begin, run->end};
    if (!buffers_meet(m, buffer, at.buffer))
        return none;
    if (!moves ||
        // This saves time: what follows says the same of one slot, but where bytes depend on a
        // symbol, for one iteration only.
        run_is_single(run))
        return bytes_intersect(m, (struct place){buffer, item}, at) ? all : none;
    int32_t first = at.item, end = at.item + 1;
    if (buffer != at.buffer)
        bytes_items(m, at, buffer, &first, &end);
    int32_t behind = item + (run->end - run->begin);
    first = number_largest(symbols, first, item);
    end = number_least(symbols, end, behind);
    if (!number_before(symbols, first, end))
        return none;
    return (struct touched){run->begin + (first - item), run->begin + (end - item)};
}

static void spoil(struct world *w, struct series *series, const struct run *run,
                  struct touched slots, uint32_t i, const struct fault *fault) {
    struct run part = run_part(w, run, slots.begin, slots.end);
    struct held *held = arena_copy(w->states, part.held, part.n_held * sizeof *held);
    held[i].value = judgement_fault(fault);
    part.held = held;
    series_put(w, series, part);
}

static bool is_near(const struct abstract_machine *m, const struct transfer_piece *piece,
                    struct place at) {
    uint32_t home = home_of(m, at.buffer);
    // This saves time: most transfers have nothing to do with what is written.
    return home_of(m, owner_of(m->program, piece->from.buffer)) == home ||
           home_of(m, owner_of(m->program, piece->to.buffer)) == home;
}

// One piece of the run. True: the run has been cut.
static bool disturb_piece(struct abstract_machine *m, struct series *series, const struct run *run,
                          uint32_t i, struct place at, struct span span,
                          const struct fault **spoilt) {
    const struct transfer_piece *piece = &run->start->start.pieces[i];
    const struct held *held = &run->held[i];
    struct place from = {owner_of(m->program, piece->from.buffer), held->from};
    struct place to = {owner_of(m->program, piece->to.buffer), held->to};
    struct touched read =
        touched_slots(m, run, from.buffer, from.item, held->moves >> HELD_FROM & 1, at);
    struct touched filled =
        touched_slots(m, run, to.buffer, to.item, held->moves >> HELD_TO & 1, at);
    // A message has its other end elsewhere.
    enum collective_kind kind = run->start->start.exchange.kind;
    bool reads = read.begin != read.end && kind != COLLECTIVE_RECEIVE;
    bool fills = filled.begin != filled.end && kind != COLLECTIVE_SEND;
    if (!reads && !fills)
        return false;
    struct touched slots = reads ? read : filled;
    struct held first = run_held(m->world, run, i, slots.begin);
    struct place what = {reads ? from.buffer : to.buffer, reads ? first.from : first.to};
    // What a transfer reads then is spoilt, and so what it brings; what it fills, is who wrote it.
    struct fault *fault = fault_make(m->proof, E610, reads ? run->start->span : span, NULL,
                                     "`%s` is written while a transfer still %s it",
                                     place_name(m, what), reads ? "reads" : "fills");
    fault_also(fault, reads ? span : run->start->span,
               reads ? "written here" : "the transfer starts here");
    buffer_id misplaced = plan_misplaced(m, what.buffer, at.buffer);
    if (misplaced != NO_ID)
        fault->span = m->program->buffers[misplaced].span;
    fault_caused_by(fault, &run->start->span);
    if (!reads && history_unawaited(m->proof, run->start->span))
        fault_last(fault);
    if (fills && !*spoilt)
        *spoilt = fault;
    if (held->value.fault)
        return false;
    spoil(m->world, series, run, slots, i, fault);
    return true;
}

// True: a run has been cut, and the others may be touched too.
static bool disturb_series(struct abstract_machine *m, struct series *series, struct place at,
                           struct span span, const struct fault **spoilt) {
    for (uint32_t r = 0; r < series->n; r++) {
        struct run run = series->runs[r]; // the series may be moved
        for (uint32_t i = 0; i < run.n_held; i++)
            if (is_near(m, &run.start->start.pieces[i], at) &&
                disturb_piece(m, series, &run, i, at, span, spoilt))
                return true;
    }
    return false;
}

const struct fault *disturb_flights(struct abstract_machine *m, struct place at, struct span span) {
    const struct fault *spoilt = NULL;
    const struct handle_list *flying = flights_near(m, at.buffer);
    for (uint32_t i = 0; i < flying->n; i++)
        while (disturb_series(m, flights_of(&m->store, flying->handles[i]), at, span, &spoilt))
            continue;
    return spoilt;
}
