// Transfers between devices, or tiers of one: from start to wait the sources may not be written and the targets hold
// nothing. What is in flight stands in the slots of handles (store.h), so that as many transfers as
// there are layers may be under way.
#include "verify/machine/machine.h"

#include <string.h>

#include "verify/machine/sides.h"
#include "verify/rules/rules.h"

// ---- start ------------------------------------------------------------------------------------

// `at`: where it goes; of what is given to others, nowhere.
static void keep_history(struct abstract_machine *m, buffer_id to, const struct place *at,
                         struct judgement *value) {
    if (!m->proof->history)
        return;
    history_made(m->proof, value, m->program->buffers[to].name);
    if (at)
        store_note_place(m, to, *at, value);
}

// What the bytes of a buffer are to hold must fit there.
static struct judgement fitted(struct abstract_machine *m, buffer_id to, struct judgement value,
                               struct span span) {
    if (value.fault || form_fits(&m->world->digits, value.form, &m->types[to]))
        return value;
    return judgement_fault(fault_make(m->proof, E510, span, NULL,
                                      "what arrives in `%s` is %s, for which it has "
                                      "no room or too much",
                                      m->program->buffers[to].name,
                                      form_text(&m->world->digits, m->world->arena, value.form)));
}

static struct judgement exchanged(struct abstract_machine *m, const struct statement *statement,
                                  const struct exchange *exchange, const struct tensor_type *part,
                                  const struct judgement *from) {
    struct builder builder = statement_builder(m);
    if (is_copy(&statement->start))
        return copy_apply(m->world, from);
    if (exchange->kind == COLLECTIVE_SEND)
        return message_apply(m->proof, exchange, from, statement->span);
    return collective_apply(m->proof, &builder, exchange, type_elements(part), from,
                            statement->span);
}

static struct judgement piece_value(struct abstract_machine *m, const struct statement *statement,
                                    const struct transfer_piece *piece, bool in_place) {
    struct exchange exchange = statement->start.exchange;
    bool gives = sides_exchange(m, &exchange); // to others, and what arrives is not known yet
    struct judgement from = store_read(m, piece->from, statement->span);
    if (!is_copy(&statement->start)) // which may bring ahead what a later task needs
        note_odd(m, m->program->buffers[piece->from.buffer].name, &from, statement->span);
    bool gather = exchange.kind == COLLECTIVE_ALL_GATHER;
    const struct tensor_type *part = &m->types[gather ? piece->from.buffer : piece->to.buffer];
    if (gives && !exchange_is_message(&exchange))
        exchange = sides_own_exchange(m, &exchange);
    history_begin(m->proof, NULL, &exchange, statement->span, &from, 1);
    struct judgement value = exchanged(m, statement, &exchange, part, &from);
    // What works in place touches nothing behind a whole's elements.
    if (in_place && exchange.kind == COLLECTIVE_ALL_REDUCE)
        value.padding = from.padding;
    else if (in_place && gather && value.form != FORM_ANY &&
             !form_is_flat(&m->world->digits, value.form))
        value.padding = store_padding(m, place_of(m, piece->to));
    struct place at = place_of(m, piece->to);
    keep_history(m, piece->to.buffer, gives ? NULL : &at, &value);
    value = gives ? value : fitted(m, piece->to.buffer, value, statement->span);
    history_end(m->proof);
    return value;
}

// Every device's part must be where the collective looks for it, or puts it, if it works in place.
static bool in_place_fits(const struct abstract_machine *m, const struct exchange *exchange,
                          const struct transfer_piece *piece) {
    static const struct axis_list none;
    switch (exchange->kind) {
    case COLLECTIVE_ALL_GATHER:
        return windows_nest(m, piece->to.buffer, &exchange->axes, piece->from.buffer);
    case COLLECTIVE_REDUCE_SCATTER:
        return windows_nest(m, piece->from.buffer, &exchange->axes, piece->to.buffer);
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_PERMUTE:
        return false; // others still read what arrives would be written over
    default:
        return windows_nest(m, piece->from.buffer, &none, piece->to.buffer);
    }
}

static bool same_place(struct world *w, struct place a, struct place b) {
    return a.buffer == b.buffer && number_equal(&w->terms->symbols, a.item, b.item);
}

// What others are to bring. Until it is there nobody asks what it is, but whoever writes where it
// goes spoils it (flights.c).
static struct judgement nothing_yet(struct abstract_machine *m) {
    struct builder builder = statement_builder(m);
    struct scaled zero = {term_constant(&builder, NODE_ZERO), SCALE_ONE};
    return judgement_of(m->world, zero, FORM_ANY, DTYPE_NONE);
}

static struct held start_piece(struct abstract_machine *m, const struct statement *statement,
                               const struct transfer_piece *piece) {
    struct place from = place_of(m, piece->from), to = place_of(m, piece->to);
    bool in_place = same_place(m->world, from, to);
    bool receives = statement->start.exchange.kind == COLLECTIVE_RECEIVE;
    struct held made = {.value =
                            receives ? nothing_yet(m) : piece_value(m, statement, piece, in_place),
                        .from = from.item,
                        .to = to.item};
    made.behind = in_place ? store_padding(m, to) : PADDING_ANY;
    note_gather(m, &statement->start, from.buffer, &made.value);
    if (exchange_is_message(&statement->start.exchange)) // of which one end is here
        return made;
    if (in_place ? !in_place_fits(m, &statement->start.exchange, piece)
                 : bytes_intersect(m, from, to))
        made.value = judgement_fault(fault_make(m->proof, E610, statement->span, NULL,
                                                "`%s` and `%s` share bytes", place_name(m, from),
                                                place_name(m, to)));
    return made;
}

// The pieces travel in no order: what one fills, no other may read or fill.
static bool pieces_are_apart(struct abstract_machine *m, const struct transfer *start) {
    bool apart = true;
    store_begin_claims(m);
    for (uint32_t i = 0; i < start->n_pieces; i++)
        apart = store_claim(m, start->pieces[i].to) && apart;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i];
        if (!same_place(m->world, place_of(m, piece->from), place_of(m, piece->to)))
            apart = apart && !store_is_claimed(m, piece->from);
    }
    return apart;
}

// The text is as it is meant, and the plan is wrong, where every piece is of one tensor.
static const struct fault *shared_fault(struct abstract_machine *m, const struct transfer *start,
                                        struct span span) {
    const struct buffer *buffers = m->program->buffers;
    const struct fault *fault = NULL;
    bool own = true;
    for (uint32_t i = 0; i < start->n_pieces; i++)
        own = own && buffers[start->pieces[i].from.buffer].tensor ==
                         buffers[start->pieces[i].to.buffer].tensor;
    if (own)
        fault = store_plan_fault(m, E610, "this collective", span);
    return fault ? fault
                 : fault_make(m->proof, E610, span, NULL,
                              "two pieces of this collective share bytes, of which one is filled");
}

// A slot is put to use; what was still in flight there is told and forgotten.
static void check_slot(struct abstract_machine *m, const struct statement *statement,
                       int32_t slot) {
    const struct transfer *start = &statement->start;
    const struct run *before = series_find(m->world, flights_of(&m->store, start->handle), slot);
    if (before->state == ITEM_EMPTY)
        return;
    struct fault *fault = fault_make(m->proof, E612, statement->span, NULL,
                                     "`%s` is started again before anything waited for it",
                                     m->cursor->step->handles[start->handle].name);
    fault_also(fault, before->start->span, "started here");
    fault_insist(m->proof, fault_caused_by(fault, &before->start->span));
    put_flights(m, start->handle, (struct run){.begin = slot, .end = slot + 1});
}

// The targets hold nothing from now on, and who fills one that is being filled spoils both.
static void claim_targets(struct abstract_machine *m, const struct statement *statement,
                          struct held *pieces) {
    const struct transfer *start = &statement->start;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        struct place to = place_of(m, start->pieces[i].to);
        const struct fault *spoilt = store_touch(m, to, statement->span);
        if (spoilt)
            pieces[i].value = judgement_fault(spoilt);
        store_set(m, to, (struct run){.state = ITEM_IN_FLIGHT, .by = &statement->span});
    }
}

// A part of a message or a meeting: what it gives is given, and the rest comes by others.
static void start_side(struct abstract_machine *m, const struct statement *statement, int32_t slot,
                       struct held *pieces) {
    const struct transfer *start = &statement->start;
    enum collective_kind kind = start->exchange.kind;
    struct judgement *given = ARENA_ARRAY(m->world->arena, struct judgement, start->n_pieces);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        given[i] = pieces[i].value;
        if (kind != COLLECTIVE_SEND && !(kind == COLLECTIVE_RECEIVE && given[i].fault))
            pieces[i].value = nothing_yet(m);
    }
    sides_start(m, statement, slot, given, (struct token){0});
}

void store_start(struct abstract_machine *m, const struct statement *statement) {
    const struct transfer *start = &statement->start;
    enum collective_kind kind = start->exchange.kind;
    int32_t slot = number_of(m, start->handle_index);
    check_slot(m, statement, slot);
    const struct fault *mixed = kind == COLLECTIVE_SEND || pieces_are_apart(m, start)
                                    ? NULL
                                    : shared_fault(m, start, statement->span);
    struct held *pieces = ARENA_ARRAY(m->world->arena, struct held, start->n_pieces);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        pieces[i] = start_piece(m, statement, &start->pieces[i]);
        if (mixed)
            pieces[i].value = judgement_fault(mixed);
    }
    if (sides_exchange(m, &start->exchange))
        start_side(m, statement, slot, pieces);
    if (kind != COLLECTIVE_SEND)
        claim_targets(m, statement, pieces);
    put_flights(m, start->handle,
                (struct run){.begin = slot,
                             .end = slot + 1,
                             .state = ITEM_IN_FLIGHT,
                             .by = &statement->span,
                             .start = statement,
                             .held = pieces,
                             .n_held = start->n_pieces});
}

// ---- wait -------------------------------------------------------------------------------------

// What is written meanwhile where a part still reads what it gives spoils what others get of it.
static void check_given(struct abstract_machine *m, const struct run *flight) {
    for (uint32_t i = 0; i < flight->n_held; i++) {
        const struct fault *fault = flight->held[i].value.fault;
        if (fault && fault->by == &flight->start->span)
            fault_insist(m->proof, fault);
    }
}

// What others have brought of a piece.
static struct judgement arrived(struct abstract_machine *m, const struct run *flight,
                                const struct end *end, uint32_t i, struct place place) {
    const struct transfer *start = &flight->start->start;
    const struct transfer_piece *piece = &start->pieces[i];
    struct given given = sides_given(m, end, i);
    struct judgement value = sides_arrived(m, end, i, given);
    history_begin(m->proof, NULL, &start->exchange, flight->start->span, given.list, given.n);
    if (end->meeting && reference_equal(&piece->from, &piece->to) && !value.fault)
        value.padding = end->meeting->given[m->side][i].padding;
    keep_history(m, piece->to.buffer, &place, &value);
    note_odd(m, m->program->buffers[piece->to.buffer].name, &value, flight->start->span);
    value = fitted(m, piece->to.buffer, value, flight->start->span);
    history_end(m->proof);
    return value;
}

// Nobody else has any bytes where these arrive.
static void deliver(struct abstract_machine *m, const struct run *flight, const struct end *end,
                    uint32_t i, int32_t slot) {
    buffer_id to = flight->start->start.pieces[i].to.buffer;
    struct held piece = run_held(m->world, flight, i, slot);
    if (end && !piece.value.fault)
        piece.value =
            arrived(m, flight, end, i, (struct place){owner_of(m->program, to), piece.to});
    struct place place = {owner_of(m->program, to), piece.to};
    bool window = place.buffer != to;
    struct held held = {.value = piece.value, .behind = window ? piece.behind : PADDING_ANY};
    bytes_take(m, place.buffer, place.item, place.item + 1, &flight->start->span);
    store_set(m, place,
              (struct run){.state = window ? ITEM_WINDOW : ITEM_READY,
                           .window = window ? to : 0,
                           .by = &flight->start->span,
                           .held = &held,
                           .n_held = 1});
    note_found(m, to, &held.value);
}

void store_wait(struct abstract_machine *m, const struct statement *statement) {
    struct series *series = flights_of(&m->store, statement->wait.handle);
    int32_t slot = number_of(m, statement->wait.index);
    struct run flight = *series_find(m->world, series, slot);
    if (flight.state == ITEM_EMPTY) {
        fault_insist(m->proof, fault_make(m->proof, E612, statement->span, NULL,
                                          "this waits for `%s`, of which nothing is on its way",
                                          m->cursor->step->handles[statement->wait.handle].name));
        return;
    }
    struct end *end = sides_end(m, statement->wait.handle, slot);
    bool gives = end && end->start->start.exchange.kind == COLLECTIVE_SEND;
    for (uint32_t i = 0; i < flight.n_held && !gives; i++)
        deliver(m, &flight, end, i, slot);
    if (end) {
        if (end->start->start.exchange.kind != COLLECTIVE_RECEIVE)
            check_given(m, &flight);
        sides_close(m, end);
    }
    put_flights(m, statement->wait.handle, (struct run){.begin = slot, .end = slot + 1});
}
