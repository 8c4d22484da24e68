// Transfers between devices: from start to wait the sources may not be written and the targets hold
// nothing. What is in flight stands in the slots of handles (store.h), so that as many transfers as
// there are layers may be under way.
#include "verify/machine/engine.h"

#include <string.h>

static struct series *flights_of(struct engine *e, uint32_t handle) {
    return &e->store.flights[handle];
}

static bool has_flights(const struct series *series) {
    return series->n > 1 || series->runs[0].n_held > 0;
}

// ---- where it is in flight --------------------------------------------------------------------

// Every write asks what is in flight where it writes: hardly anything, though whole layers of
// gradients may be under way. A home is what one write may reach: a buffer, with all others of its
// region.
static uint32_t home_of(const struct engine *e, buffer_id id) {
    uint32_t region = e->region_of[id];
    return region == NO_ID ? e->n_regions + id : region;
}

// Puts the handle into the list, which is in order, or takes it out.
static void list_handle(struct engine *e, struct handle_list *list, uint32_t handle, bool listed) {
    uint32_t at = list->n;
    while (at > 0 && list->handles[at - 1] >= handle)
        at--;
    bool found = at < list->n && list->handles[at] == handle;
    if (found != listed)
        list->handles = list_splice(e, list->handles, &list->n, &list->cap, sizeof handle,
                                    (struct cut){at, at + found}, &handle, listed);
}

static void list_flights(struct engine *e, uint32_t handle, bool listed) {
    const struct home_list *homes = &e->store.homes[handle];
    for (uint32_t i = 0; i < homes->n; i++)
        list_handle(e, &e->store.flying[homes->list[i]], handle, listed);
}

static void add_home(struct engine *e, struct home_list *homes, buffer_id buffer) {
    uint32_t home = home_of(e, owner_of(e, buffer));
    for (uint32_t i = 0; i < homes->n; i++)
        if (homes->list[i] == home)
            return;
    ARENA_PUSH(e->arena, homes->list, homes->n, homes->cap, home);
}

void flights_init(struct engine *e, const struct step *step) {
    struct store *store = &e->store;
    store->homes = ARENA_ARRAY(e->arena, struct home_list, step->n_handles + 1);
    store->flying =
        ARENA_ARRAY(e->arena, struct handle_list, e->n_regions + e->program->n_buffers + 1);
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        for (uint32_t i = 0; walk.statement->kind == STATEMENT_START && i < start->n_pieces; i++) {
            add_home(e, &store->homes[start->handle], start->pieces[i].from.buffer);
            add_home(e, &store->homes[start->handle], start->pieces[i].to.buffer);
        }
    }
}

void flights_find(struct engine *e) {
    struct store *store = &e->store;
    for (uint32_t home = 0; home < e->n_regions + e->program->n_buffers; home++)
        store->flying[home].n = 0;
    for (uint32_t h = 0; h < store->n_handles; h++)
        if (has_flights(flights_of(e, h)))
            list_flights(e, h, true);
}

const struct handle_list *flights_near(const struct engine *e, buffer_id buffer) {
    return &e->store.flying[home_of(e, buffer)];
}

static void put_flights(struct engine *e, uint32_t handle, struct run run) {
    const struct series *series = flights_of(e, handle);
    bool had = has_flights(series);
    series_put(e, flights_of(e, handle), run);
    if (has_flights(series) != had)
        list_flights(e, handle, !had);
}

// ---- what is written meanwhile ----------------------------------------------------------------

struct touched { // slots of a run whose pieces reach into a place; none: begin == end
    int32_t begin, end;
};

// Pieces of `buffer` from `item` on, one item further with each slot if they move.
static struct touched touched_slots(struct engine *e, const struct run *run, buffer_id buffer,
                                    int32_t item, bool moves, struct place at) {
    struct symbols *symbols = &e->terms->symbols;
    struct touched none = {run->begin, run->begin}, all = {run->begin, run->end};
    if (!buffers_meet(e, buffer, at.buffer))
        return none;
    if (!moves ||
        // This saves time: what follows says the same of one slot, but where bytes depend on a
        // symbol, for one iteration only.
        run_is_single(run))
        return bytes_intersect(e, (struct place){buffer, item}, at) ? all : none;
    int32_t first = at.item, end = at.item + 1;
    if (buffer != at.buffer)
        bytes_items(e, at, buffer, &first, &end);
    int32_t behind = item + (run->end - run->begin);
    first = number_largest(symbols, first, item);
    end = number_least(symbols, end, behind);
    if (!number_before(symbols, first, end))
        return none;
    return (struct touched){run->begin + (first - item), run->begin + (end - item)};
}

static void spoil(struct engine *e, struct series *series, const struct run *run,
                  struct touched slots, uint32_t i, const struct fault *fault) {
    struct run part = run_part(e, run, slots.begin, slots.end);
    struct held *held = arena_copy(e->arena, part.held, part.n_held * sizeof *held);
    held[i].value = judgement_fault(fault);
    part.held = held;
    series_put(e, series, part);
}

// Most transfers have nothing to do with what is written.
static bool is_near(const struct engine *e, const struct transfer_piece *piece, struct place at) {
    uint32_t home = home_of(e, at.buffer);
    return home_of(e, owner_of(e, piece->from.buffer)) == home ||
           home_of(e, owner_of(e, piece->to.buffer)) == home;
}

// One piece of the run. True: the run has been cut.
static bool disturb_piece(struct engine *e, struct series *series, const struct run *run,
                          uint32_t i, struct place at, struct span span,
                          const struct fault **spoilt) {
    const struct transfer_piece *piece = &run->start->start.pieces[i];
    const struct held *held = &run->held[i];
    struct place from = {owner_of(e, piece->from.buffer), held->from};
    struct place to = {owner_of(e, piece->to.buffer), held->to};
    struct touched read =
        touched_slots(e, run, from.buffer, from.item, held->moves >> HELD_FROM & 1, at);
    struct touched filled =
        touched_slots(e, run, to.buffer, to.item, held->moves >> HELD_TO & 1, at);
    bool reads = read.begin != read.end, fills = filled.begin != filled.end;
    if (!reads && !fills)
        return false;
    struct touched slots = reads ? read : filled;
    struct held first = run_held(e, run, i, slots.begin);
    struct place what = {reads ? from.buffer : to.buffer, reads ? first.from : first.to};
    // What a transfer reads then is spoilt, and so what it brings; what it fills, is who wrote it.
    struct fault *fault = fault_make(e, E610, reads ? run->start->span : span, NULL,
                                     "`%s` is written while a transfer still %s it",
                                     place_name(e, what), reads ? "reads" : "fills");
    fault_also(fault, reads ? span : run->start->span,
               reads ? "written here" : "the transfer starts here");
    buffer_id misplaced = plan_misplaced(e, what.buffer, at.buffer);
    if (misplaced != NO_ID)
        fault->span = e->program->buffers[misplaced].span;
    fault_caused_by(fault, &run->start->span);
    if (!reads && history_unawaited(e, run->start->span))
        fault_last(fault);
    if (fills && !*spoilt)
        *spoilt = fault;
    if (held->value.fault)
        return false;
    spoil(e, series, run, slots, i, fault);
    return true;
}

// True: a run has been cut, and the others may be touched too.
static bool disturb_series(struct engine *e, struct series *series, struct place at,
                           struct span span, const struct fault **spoilt) {
    for (uint32_t r = 0; r < series->n; r++) {
        struct run run = series->runs[r]; // the series may be moved
        for (uint32_t i = 0; i < run.n_held; i++)
            if (is_near(e, &run.start->start.pieces[i], at) &&
                disturb_piece(e, series, &run, i, at, span, spoilt))
                return true;
    }
    return false;
}

const struct fault *disturb_flights(struct engine *e, struct place at, struct span span) {
    const struct fault *spoilt = NULL;
    const struct handle_list *flying = flights_near(e, at.buffer);
    for (uint32_t i = 0; i < flying->n; i++)
        while (disturb_series(e, flights_of(e, flying->handles[i]), at, span, &spoilt))
            continue;
    return spoilt;
}

// ---- start ------------------------------------------------------------------------------------

// Parameters that were gathered, perhaps in strides: what the letter S* means.
static void note_gather(struct engine *e, const struct transfer *start, buffer_id from,
                        const struct judgement *value) {
    const struct buffer *source = &e->program->buffers[from];
    if (!e->recording || value->fault || start->exchange.kind != COLLECTIVE_ALL_GATHER ||
        source->tensor == NO_ID)
        return;
    uint32_t axes = (uint32_t)axis_list_mask(&start->exchange.axes);
    if (source->class == CLASS_PARAMETERS)
        e->found[from].gathered |= axes;
    for (buffer_id id = 0; source->class == CLASS_TRANSIENT && id < e->program->n_buffers; id++) {
        const struct buffer *buffer = &e->program->buffers[id];
        if (buffer->class == CLASS_PARAMETERS && buffer->tensor == source->tensor &&
            buffer->first_layer == source->first_layer &&
            buffer_layer_step(buffer) == buffer_layer_step(source))
            e->found[id].gathered |= axes;
    }
}

static void keep_history(struct engine *e, const struct transfer_piece *piece,
                         struct judgement *value) {
    struct judgement old;
    if (!e->history)
        return;
    struct place to = place_of(e, piece->to);
    history_made(e, value, e->program->buffers[piece->to.buffer].name);
    history_place(e, value, piece->to.buffer,
                  store_holds(e, to.buffer, to.item, &old) ? &old : NULL);
}

static struct judgement piece_value(struct engine *e, const struct statement *statement,
                                    const struct transfer_piece *piece, bool in_place) {
    const struct exchange *exchange = &statement->start.exchange;
    struct judgement from = store_read(e, piece->from, statement->span);
    bool gather = exchange->kind == COLLECTIVE_ALL_GATHER;
    const struct tensor_type *part = &e->types[gather ? piece->from.buffer : piece->to.buffer];
    history_begin(e, NULL, exchange, statement->span, &from, 1);
    struct judgement value =
        collective_apply(e, exchange, type_elements(part), &from, statement->span);
    if (exchange->kind == COLLECTIVE_ALL_REDUCE && in_place)
        value.clean = from.clean; // nothing touches the padding
    keep_history(e, piece, &value);
    if (!value.fault && !form_fits(&e->digits, value.form, &e->types[piece->to.buffer]))
        value = judgement_fault(fault_make(e, E510, statement->span, NULL,
                                           "what arrives in `%s` is %s, for which it has "
                                           "no room or too much",
                                           e->program->buffers[piece->to.buffer].name,
                                           form_text(&e->digits, e->arena, value.form)));
    history_end(e);
    return value;
}

// In place every device's part must be where the collective looks for it, or puts it.
static bool in_place_fits(const struct engine *e, const struct exchange *exchange,
                          const struct transfer_piece *piece) {
    static const struct axis_list none;
    switch (exchange->kind) {
    case COLLECTIVE_ALL_GATHER:
        return windows_nest(e, piece->to.buffer, &exchange->axes, piece->from.buffer);
    case COLLECTIVE_REDUCE_SCATTER:
        return windows_nest(e, piece->from.buffer, &exchange->axes, piece->to.buffer);
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_PERMUTE:
        return false; // others still read what arrives would be written over
    default:
        return windows_nest(e, piece->from.buffer, &none, piece->to.buffer);
    }
}

static bool same_place(struct engine *e, struct place a, struct place b) {
    return a.buffer == b.buffer && number_equal(&e->terms->symbols, a.item, b.item);
}

static struct held start_piece(struct engine *e, const struct statement *statement,
                               const struct transfer_piece *piece) {
    struct place from = place_of(e, piece->from), to = place_of(e, piece->to);
    bool in_place = same_place(e, from, to);
    struct held made = {
        .value = piece_value(e, statement, piece, in_place), .from = from.item, .to = to.item};
    note_gather(e, &statement->start, from.buffer, &made.value);
    if (in_place ? !in_place_fits(e, &statement->start.exchange, piece)
                 : bytes_intersect(e, from, to))
        made.value =
            judgement_fault(fault_make(e, E610, statement->span, NULL, "`%s` and `%s` share bytes",
                                       place_name(e, from), place_name(e, to)));
    return made;
}

// The pieces travel in no order: what one fills, no other may read or fill.
static bool pieces_are_apart(struct engine *e, const struct transfer *start) {
    bool apart = true;
    store_begin_claims(e);
    for (uint32_t i = 0; i < start->n_pieces; i++)
        apart = store_claim(e, start->pieces[i].to) && apart;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i];
        if (!same_place(e, place_of(e, piece->from), place_of(e, piece->to)))
            apart = apart && !store_is_claimed(e, piece->from);
    }
    return apart;
}

// Where every piece is of one tensor the text is as it is meant, and the plan is wrong.
static const struct fault *shared_fault(struct engine *e, const struct transfer *start,
                                        struct span span) {
    const struct buffer *buffers = e->program->buffers;
    const struct fault *fault = NULL;
    bool own = true;
    for (uint32_t i = 0; i < start->n_pieces; i++)
        own = own && buffers[start->pieces[i].from.buffer].tensor ==
                         buffers[start->pieces[i].to.buffer].tensor;
    if (own)
        fault = store_plan_fault(e, E610, "this collective", span);
    return fault ? fault
                 : fault_make(e, E610, span, NULL,
                              "two pieces of this collective share bytes, of which one is filled");
}

// A slot is put to use; what was still in flight there is told and forgotten.
static void check_slot(struct engine *e, const struct statement *statement, int32_t slot) {
    const struct transfer *start = &statement->start;
    const struct run *before = series_find(e, flights_of(e, start->handle), slot);
    if (before->state == ITEM_EMPTY)
        return;
    struct fault *fault = fault_make(e, E612, statement->span, NULL,
                                     "`%s` is started again before anything waited for it",
                                     e->step->handles[start->handle].name);
    fault_also(fault, before->start->span, "started here");
    fault_insist(e, fault_caused_by(fault, &before->start->span));
    put_flights(e, start->handle, (struct run){.begin = slot, .end = slot + 1});
}

// The targets hold nothing from now on, and who fills one that is being filled spoils both.
static void claim_targets(struct engine *e, const struct statement *statement,
                          struct held *pieces) {
    const struct transfer *start = &statement->start;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        struct place to = place_of(e, start->pieces[i].to);
        const struct fault *spoilt = store_touch(e, to, statement->span);
        if (spoilt)
            pieces[i].value = judgement_fault(spoilt);
        store_set(e, to, (struct run){.state = ITEM_IN_FLIGHT, .by = &statement->span});
    }
}

void store_start(struct engine *e, const struct statement *statement) {
    const struct transfer *start = &statement->start;
    int32_t slot = number_of(e, start->handle_index);
    check_slot(e, statement, slot);
    const struct fault *mixed =
        pieces_are_apart(e, start) ? NULL : shared_fault(e, start, statement->span);
    struct held *pieces = ARENA_ARRAY(e->arena, struct held, start->n_pieces);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        pieces[i] = start_piece(e, statement, &start->pieces[i]);
        if (mixed)
            pieces[i].value = judgement_fault(mixed);
    }
    claim_targets(e, statement, pieces);
    put_flights(e, start->handle,
                (struct run){.begin = slot,
                             .end = slot + 1,
                             .state = ITEM_IN_FLIGHT,
                             .by = &statement->span,
                             .start = statement,
                             .held = pieces,
                             .n_held = start->n_pieces});
}

// ---- wait -------------------------------------------------------------------------------------

// Where the bytes arrive nobody else has any.
static void deliver(struct engine *e, const struct run *flight, uint32_t i, int32_t slot) {
    buffer_id to = flight->start->start.pieces[i].to.buffer;
    struct held piece = run_held(e, flight, i, slot), held = {.value = piece.value};
    struct place place = {owner_of(e, to), piece.to};
    bool window = place.buffer != to;
    bytes_take(e, place.buffer, place.item, place.item + 1, &flight->start->span);
    store_set(e, place,
              (struct run){.state = window ? ITEM_WINDOW : ITEM_READY,
                           .window = window ? to : 0,
                           .by = &flight->start->span,
                           .held = &held,
                           .n_held = 1});
    note_found(e, to, &held.value);
}

void store_wait(struct engine *e, const struct statement *statement) {
    struct series *series = flights_of(e, statement->wait.handle);
    int32_t slot = number_of(e, statement->wait.index);
    struct run flight = *series_find(e, series, slot);
    if (flight.state == ITEM_EMPTY) {
        fault_insist(e, fault_make(e, E612, statement->span, NULL,
                                   "this waits for `%s`, of which nothing is on its way",
                                   e->step->handles[statement->wait.handle].name));
        return;
    }
    for (uint32_t i = 0; i < flight.n_held; i++)
        deliver(e, &flight, i, slot);
    put_flights(e, statement->wait.handle, (struct run){.begin = slot, .end = slot + 1});
}
