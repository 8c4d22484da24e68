// Transfers between devices, or tiers of one: from start to wait the sources may not be written and the targets hold
// nothing. What is in flight stands in the slots of handles (store.h), so that as many transfers as
// there are layers may be under way.
#include "verify/machine/machine.h"

#include <string.h>

#include "verify/rules/rules.h"

// ---- start ------------------------------------------------------------------------------------

static void keep_history(struct abstract_machine *m, const struct transfer_piece *piece,
                         struct judgement *value) {
    if (!m->proof->history)
        return;
    history_made(m->proof, value, m->program->buffers[piece->to.buffer].name);
    store_note_place(m, piece->to, value);
}

static struct judgement piece_value(struct abstract_machine *m, const struct statement *statement,
                                    const struct transfer_piece *piece, bool in_place) {
    const struct exchange *exchange = &statement->start.exchange;
    struct judgement from = store_read(m, piece->from, statement->span);
    bool gather = exchange->kind == COLLECTIVE_ALL_GATHER;
    const struct tensor_type *part = &m->types[gather ? piece->from.buffer : piece->to.buffer];
    struct builder builder = statement_builder(m);
    history_begin(m->proof, NULL, exchange, statement->span, &from, 1);
    struct judgement value = is_copy(&statement->start)
                                 ? copy_apply(m->world, &from)
                                 : collective_apply(m->proof, &builder, exchange,
                                                    type_elements(part), &from, statement->span);
    // What works in place touches nothing behind a whole's elements.
    if (in_place && exchange->kind == COLLECTIVE_ALL_REDUCE)
        value.padding = from.padding;
    else if (in_place && gather && value.form != FORM_ANY &&
             !form_is_flat(&m->world->digits, value.form))
        value.padding = store_padding(m, place_of(m, piece->to));
    keep_history(m, piece, &value);
    if (!value.fault && !form_fits(&m->world->digits, value.form, &m->types[piece->to.buffer]))
        value =
            judgement_fault(fault_make(m->proof, E510, statement->span, NULL,
                                       "what arrives in `%s` is %s, for which it has "
                                       "no room or too much",
                                       m->program->buffers[piece->to.buffer].name,
                                       form_text(&m->world->digits, m->world->arena, value.form)));
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

static struct held start_piece(struct abstract_machine *m, const struct statement *statement,
                               const struct transfer_piece *piece) {
    struct place from = place_of(m, piece->from), to = place_of(m, piece->to);
    bool in_place = same_place(m->world, from, to);
    struct held made = {
        .value = piece_value(m, statement, piece, in_place), .from = from.item, .to = to.item};
    made.behind = in_place ? store_padding(m, to) : PADDING_ANY;
    note_gather(m, &statement->start, from.buffer, &made.value);
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

void store_start(struct abstract_machine *m, const struct statement *statement) {
    const struct transfer *start = &statement->start;
    int32_t slot = number_of(m, start->handle_index);
    check_slot(m, statement, slot);
    const struct fault *mixed =
        pieces_are_apart(m, start) ? NULL : shared_fault(m, start, statement->span);
    struct held *pieces = ARENA_ARRAY(m->world->arena, struct held, start->n_pieces);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        pieces[i] = start_piece(m, statement, &start->pieces[i]);
        if (mixed)
            pieces[i].value = judgement_fault(mixed);
    }
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

// Nobody else has any bytes where these arrive.
static void deliver(struct abstract_machine *m, const struct run *flight, uint32_t i,
                    int32_t slot) {
    buffer_id to = flight->start->start.pieces[i].to.buffer;
    struct held piece = run_held(m->world, flight, i, slot);
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
    for (uint32_t i = 0; i < flight.n_held; i++)
        deliver(m, &flight, i, slot);
    put_flights(m, statement->wait.handle, (struct run){.begin = slot, .end = slot + 1});
}
