// Partition, hops: what routes ask for at an event is put into the step.
//
// Hops of one kind that a call has are made side by side: transfers over the same axes are one
// collective, what is added is one call of a unit, what is freed one statement.
#include "passes/partition/hops.h"

// ---- what is done at once ---------------------------------------------------------------------

static void emit_collective(struct draft *draft, struct cursor at, const struct load *load,
                            enum collective_kind cut) {
    struct transfers transfers = {0};
    for (uint32_t i = 0; i < load->n; i++) {
        const struct hop *hop = load->items[i].hop;
        enum collective_kind kind = owners_collective(
            storage_of(&draft->plan->placement, load->items[i].way->reference), cut);
        struct reference from = cargo_item(draft, at, load, i, hop->from);
        struct reference to = cargo_item(draft, at, load, i, hop->to);
        struct span span = state_span(draft->plan, load->items[i].way->reference,
                                      hop_rows[load->kind].cause, &hop->axes);
        add_piece(draft, &transfers, kind, &hop->axes, from, to, span, hop->bucket_bytes);
    }
    emit_transfers(draft, at, &transfers, load_name(draft->plan, load, '.'));
}

// From one tier to another: all that goes there at the call is one transfer, or that of each tensor.
static void emit_copies(struct draft *draft, struct cursor at, const struct load *load) {
    struct transfers transfers = {0};
    for (uint32_t i = 0; i < load->n; i++) {
        const struct hop *hop = load->items[i].hop;
        struct reference from = cargo_item(draft, at, load, i, hop->from);
        struct reference to = cargo_item(draft, at, load, i, hop->to);
        struct span span = offload_span(draft->plan, load->items[i].way->reference);
        add_piece(draft, &transfers, COLLECTIVE_COPY, &hop->axes, from, to, span,
                  hop->bucket_bytes);
    }
    emit_transfers(draft, at, &transfers, load_name(draft->plan, load, '.'));
}

static void emit_zeroes(struct draft *draft, struct cursor at, const struct load *load) {
    for (uint32_t i = 0; i < load->n; i++)
        push_statement(
            draft, at,
            (struct statement){.kind = STATEMENT_ZERO,
                               .span = load->call->span,
                               .zero = cargo_item(draft, at, load, i, load->items[i].hop->to)});
}

static void emit_release(struct draft *draft, struct cursor at, const struct load *load) {
    struct reference *items = ARENA_ARRAY(draft->arena, struct reference, load->n);
    for (uint32_t i = 0; i < load->n; i++)
        items[i] = cargo_item(draft, at, load, i, load->items[i].hop->from);
    push_statement(draft, at,
                   (struct statement){.kind = STATEMENT_FREE,
                                      .span = load->call->span,
                                      .free = {.items = items, .n_items = load->n}});
}

static void emit_load(struct draft *draft, struct cursor at, const struct load *load) {
    switch (hop_rows[load->kind].action) {
    case ACTION_GATHER:
        emit_collective(draft, at, load, COLLECTIVE_ALL_GATHER);
        break;
    case ACTION_SCATTER:
        emit_collective(draft, at, load, COLLECTIVE_REDUCE_SCATTER);
        break;
    case ACTION_REDUCE:
        emit_collective(draft, at, load, COLLECTIVE_ALL_REDUCE);
        break;
    case ACTION_KEEP:
        emit_keep(draft, at, load);
        break;
    case ACTION_COPY:
        emit_copies(draft, at, load);
        break;
    case ACTION_ADD:
        emit_add(draft, at, load);
        break;
    case ACTION_CARRY:
        emit_carry(draft, at, load);
        break;
    case ACTION_ENCODE:
        emit_encode(draft, at, load);
        break;
    case ACTION_DECODE:
        emit_decode(draft, at, load);
        break;
    case ACTION_ZERO:
        emit_zeroes(draft, at, load);
        break;
    case ACTION_RELEASE:
        emit_release(draft, at, load);
        break;
    }
}

// ---- when -------------------------------------------------------------------------------------

// A call, and which hops of its states are looked for there.
struct moment {
    const struct statement *call;
    unsigned states;                           // of which, by their bits
    enum { MOMENT_READ, MOMENT_WRITTEN } side; // operands or results of the call
    unsigned events;                           // of these events, by their bits
    uint64_t kinds;                            // and of these kinds
    enum use use;
};
#define BIT(number)  (UINT32_C(1) << (number))
#define KIND(number) (UINT64_C(1) << (number))
#define ALL_KINDS    UINT64_MAX
_Static_assert((int)N_HOPS <= 64 && (int)N_EVENTS <= 32, "a bit for each");

// The microbatches are around the first and the last of the calls that use a state.
static bool happens(const struct plan *plan, struct cursor at, const struct moment *moment,
                    enum route_event event, struct reference of) {
    const struct reach *reach = at.reach;
    const struct statement *call = moment->call;
    bool gradient = reference_buffer(plan, of)->class == CLASS_GRADIENTS;
    enum pipeline_end end = end_of_call(plan, &call->call);
    const struct statement *first = reach->first_reader_at[end][of.buffer];
    switch (event) {
    case EVENT_BEFORE_USE:
        return begins_use(plan, at, call, of, moment->use);
    case EVENT_BEFORE_FIRST_USE:
        return is_same_call(first, call) && begins_use(plan, at, call, of, moment->use);
    case EVENT_BEFORE_LATER_USE:
        return !is_same_call(first, call) && begins_use(plan, at, call, of, moment->use);
    case EVENT_BEHIND_FIRST_USE:
        return is_same_call(first, call);
    case EVENT_BEHIND_USE:
        return ends_use(plan, at, call, of);
    case EVENT_BEHIND_LAST_USE:
        return is_same_call(reach->last_reader_at[end][of.buffer], call);
    case EVENT_BEFORE_MICROBATCHES:
        return is_same_call((gradient ? reach->last_writer : reach->first_reader)[of.buffer], call);
    case EVENT_BEHIND_MICROBATCHES:
        return is_same_call((gradient ? reach->last_writer : reach->last_reader)[of.buffer], call);
    case EVENT_BEFORE_NORM:
        return !is_per_microbatch(plan, call) && update_use_of(plan, at, of) == moment->use;
    case EVENT_BEFORE_UPDATE:
        return update_use_of(plan, at, of) == moment->use;
    case EVENT_BEHIND_NORM:
        return true;
    case EVENT_BEHIND_FIRST_UPDATE:
        return is_same_call(reach->first_writer[of.buffer], call);
    case EVENT_BEHIND_EARLIER_UPDATE:
        return !is_same_call(reach->last_writer[of.buffer], call);
    case EVENT_BEHIND_UPDATE:
        return reference_buffer(plan, of)->class != CLASS_PARAMETERS ||
               is_same_call(reach->last_writer[of.buffer], call);
    default: // behind the last write
        return is_same_call(reach->last_writer[of.buffer], call);
    }
}

// The moment's events that happen for this reference, by their bits.
static unsigned events_of(const struct plan *plan, struct cursor at, const struct moment *moment,
                          struct reference of) {
    unsigned events = 0;
    for (int event = 0; event < N_EVENTS; event++)
        if (moment->events & BIT(event) && happens(plan, at, moment, (enum route_event)event, of))
            events |= BIT(event);
    return events;
}

// What happens at a moment, in the order of the call's operands or results.
struct found {
    struct cargo *items;
    uint32_t n, cap;
    uint64_t kinds;
};

static void find_hops(struct draft *draft, struct cursor at, const struct moment *moment,
                      struct reference of, struct found *found) {
    const struct buffer *buffer = reference_buffer(draft->plan, of);
    if (!has_way(buffer) || !(moment->states >> class_states[buffer->class] & 1))
        return;
    if (class_states[buffer->class] == STATE_OPTIMIZER)
        ensure_buffer(draft, of.buffer);
    struct way *way = way_of(draft, buffer);
    unsigned events = events_of(draft->plan, at, moment, of);
    if (events)
        note_chance(draft, way,
                    (struct chance){.unit = moment->call->call.unit,
                                    .buffers_of = way->shared[moment->call->call.unit],
                                    .layers = layers_of_use(draft->plan, at, moment->use),
                                    .item = moved_index(at, of.indices[0]),
                                    .events = events});
    for (unsigned i = 0; i < way->route.n_hops; i++) {
        const struct hop *hop = &way->route.hops[i];
        if (!(events & BIT(hop->event)) || !(moment->kinds & KIND(hop->kind)))
            continue;
        struct cargo cargo = {way, hop, of};
        ARENA_PUSH(draft->arena, found->items, found->n, found->cap, cargo);
        found->kinds |= KIND(hop->kind);
    }
}

static const unsigned of_update = BIT(EVENT_BEFORE_UPDATE) | BIT(EVENT_BEHIND_FIRST_UPDATE) |
                                  BIT(EVENT_BEHIND_EARLIER_UPDATE) | BIT(EVENT_BEHIND_UPDATE);

// That an update reads parameters is no use of them.
static struct found find_all(struct draft *draft, struct cursor at, const struct moment *moment) {
    const struct call *call = &moment->call->call;
    const struct unit *unit = &draft->plan->reference->job->units[call->unit];
    bool written = moment->side == MOMENT_WRITTEN;
    struct found found = {0};
    if (!written && call_updates(draft->plan, call) != ((moment->events & of_update) != 0))
        return found;
    note_moment(draft, at, moment->kinds, false);
    for (uint32_t i = 0; i < (written ? unit->n_results : unit->n_parameters); i++)
        find_hops(draft, at, moment, written ? call->results[i] : call->operands[i], &found);
    return found;
}

// Whether a unit makes it; what moves by a statement goes with all others of its kind.
static bool by_unit(const struct cargo *cargo) {
    enum action action = hop_rows[cargo->hop->kind].action;
    return action == ACTION_KEEP || action == ACTION_ADD || action == ACTION_CARRY;
}

// Where a unit runs that makes the hop.
static enum tier runs_in(const struct cargo *cargo) {
    return by_unit(cargo) ? cargo->way->route.stations[cargo->hop->to].tier : TIER_DEVICE;
}

// Along which axes are the owners who alone execute a unit that makes the hop.
static struct axis_list owners_of_unit(const struct draft *draft, const struct cargo *cargo) {
    const struct storage *storage = storage_of(&draft->plan->placement, cargo->way->reference);
    const struct station *stations = cargo->way->route.stations;
    struct axis_list from = owner_axes(storage, &stations[cargo->hop->from].flat);
    struct axis_list to = owner_axes(storage, &stations[cargo->hop->to].flat);
    return !by_unit(cargo) ? (struct axis_list){0} : from.n ? from : to;
}

// What one call of a unit makes runs in one tier, on all devices or on one owner.
static bool go_together(const struct draft *draft, const struct cargo *a, const struct cargo *b) {
    struct axis_list owners[] = {owners_of_unit(draft, a), owners_of_unit(draft, b)};
    return a->hop->kind == b->hop->kind && runs_in(a) == runs_in(b) &&
           axis_list_equal(&owners[0], &owners[1]);
}

// Those that go with one of them, if no earlier one does.
static void emit_those_with(struct draft *draft, struct cursor at, const struct statement *call,
                            const struct found *found, uint32_t first) {
    struct load load = {.call = call,
                        .kind = found->items[first].hop->kind,
                        .items = ARENA_ARRAY(draft->arena, struct cargo, found->n)};
    for (uint32_t i = 0; i < found->n; i++) {
        bool together = go_together(draft, &found->items[i], &found->items[first]);
        if (together && i < first)
            return;
        if (together)
            load.items[load.n++] = found->items[i];
    }
    emit_load(draft, at, &load);
}

// In the order of tiers, what all devices do first.
static void emit_kind(struct draft *draft, struct cursor at, const struct statement *call,
                      enum hop_kind kind, const struct found *found) {
    for (unsigned by = 0; by < 2 * N_TIERS; by++)
        for (uint32_t i = 0; i < found->n; i++) {
            const struct cargo *cargo = &found->items[i];
            if (cargo->hop->kind == kind && runs_in(cargo) == by / 2 &&
                (owners_of_unit(draft, cargo).n > 0) == (by % 2 == 1))
                emit_those_with(draft, at, call, found, i);
        }
}

static void emit_moment(struct draft *draft, struct cursor at, struct moment moment) {
    struct found found = find_all(draft, at, &moment);
    for (int kind = 0; found.kinds >> kind; kind++)
        if (found.kinds & KIND(kind))
            emit_kind(draft, at, moment.call, (enum hop_kind)kind, &found);
}

// ---- around a call ----------------------------------------------------------------------------

enum {
    PARAMETERS = BIT(STATE_PARAMETERS),
    GRADIENTS = BIT(STATE_GRADIENTS),
    OPTIMIZER = BIT(STATE_OPTIMIZER)
};
static const unsigned at_use =
    BIT(EVENT_BEFORE_FIRST_USE) | BIT(EVENT_BEFORE_LATER_USE) | BIT(EVENT_BEFORE_USE);
static const struct moment before_norm = {
    .states = GRADIENTS, .events = BIT(EVENT_BEFORE_NORM), .kinds = ALL_KINDS, .use = USE_CALL};
static const struct moment before_update = {.states = PARAMETERS | GRADIENTS | OPTIMIZER,
                                            .events = BIT(EVENT_BEFORE_UPDATE),
                                            .kinds = ALL_KINDS,
                                            .use = USE_CALL};

// Two units read a parameter in one use: the one has the other's buffers.
void continue_uses(struct draft *draft, struct cursor at, const struct statement *from) {
    const struct plan *plan = draft->plan;
    const struct call *call = &from->call;
    for (uint32_t i = 0; i < plan->reference->job->units[call->unit].n_parameters; i++) {
        struct reference of = call->operands[i];
        const struct buffer *buffer = reference_buffer(plan, of);
        if (!is_tensor_state(buffer) || !continues_use(plan, at, of))
            continue;
        struct way *way = way_of(draft, buffer);
        way->shared[call->unit] = way->shared[at.before->call.unit];
    }
}

void before_call(struct draft *draft, struct cursor at, const struct statement *call) {
    emit_moment(draft, at,
                (struct moment){call, PARAMETERS, MOMENT_READ, at_use, ALL_KINDS, USE_CALL});
    struct moment norm = before_norm, update = before_update;
    norm.call = update.call = call;
    emit_moment(draft, at, norm);
    emit_moment(draft, at, update);
}

// What units have left of a gradient is known once the last has written it.
static void settle_routes(struct draft *draft, struct cursor at, const struct statement *call) {
    const struct plan *plan = draft->plan;
    const struct unit *unit = &plan->reference->job->units[call->call.unit];
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct reference result = call->call.results[i];
        const struct buffer *buffer = reference_buffer(plan, result);
        if (buffer->class != CLASS_GRADIENTS ||
            !is_same_call(at.reach->last_writer[result.buffer], call))
            continue;
        struct way *way = way_of(draft, buffer);
        struct route_facts facts = {
            .step = at.kind, .left = draft->states[result.buffer].type.partial & ~plan->token_axes};
        way->route = route_in(plan, buffer, &facts);
        note_left(draft, way, facts.left);
    }
}

void behind_call(struct draft *draft, struct cursor at, const struct statement *call) {
    const unsigned behind =
        BIT(EVENT_BEHIND_FIRST_USE) | BIT(EVENT_BEHIND_USE) | BIT(EVENT_BEHIND_LAST_USE);
    emit_moment(draft, at,
                (struct moment){call, PARAMETERS, MOMENT_READ, behind, ALL_KINDS, USE_CALL});
    if (!is_per_microbatch(draft->plan, call)) {
        emit_moment(draft, at,
                    (struct moment){call, GRADIENTS, MOMENT_READ, BIT(EVENT_BEHIND_NORM), ALL_KINDS,
                                    USE_CALL});
        return;
    }
    settle_routes(draft, at, call);
    emit_moment(draft, at,
                (struct moment){call, GRADIENTS, MOMENT_WRITTEN, BIT(EVENT_BEHIND_WRITE), ALL_KINDS,
                                USE_CALL});
}

// What is averaged is a whole sum from then on.
void behind_update(struct draft *draft, struct cursor at, const struct statement *call) {
    const unsigned behind = of_update & ~BIT(EVENT_BEFORE_UPDATE);
    emit_moment(
        draft, at,
        (struct moment){call, PARAMETERS | OPTIMIZER, MOMENT_WRITTEN, behind, ALL_KINDS, USE_CALL});
    emit_moment(draft, at,
                (struct moment){call, GRADIENTS, MOMENT_READ, BIT(EVENT_BEHIND_UPDATE), ALL_KINDS,
                                USE_CALL});
    for (uint32_t i = 0; i < draft->plan->reference->job->units[call->call.unit].n_results; i++)
        if (reference_buffer(draft->plan, call->call.results[i])->class == CLASS_PARAMETERS)
            draft->states[call->call.results[i].buffer].type.partial = 0;
}

// ---- around loops -----------------------------------------------------------------------------

// Emits a moment's hops for all calls of a run of statements, inside loops like theirs.
static void emit_for_calls(struct draft *draft, struct cursor at,
                           const struct statement *statements, uint32_t n, struct moment moment) {
    for (uint32_t i = 0; i < n; i++) {
        const struct statement *from = &statements[i];
        if (from->kind == STATEMENT_CALL) {
            moment.call = from;
            emit_moment(draft, at, moment);
        }
        if (from->kind != STATEMENT_LOOP)
            continue;
        struct statement made = loop_like(from);
        emit_for_calls(draft, inside_loop(at, &made), from->loop.body.statements, from->loop.body.n,
                       moment);
        if (made.loop.body.n)
            push_statement(draft, at, made);
    }
}

// All calls of a group read what is gathered for the first that goes through all of its layers; of
// layers that are recomputed, for backward.
static void share_gathered(struct draft *draft, struct cursor at, const struct statement *first) {
    const struct plan *plan = draft->plan;
    for (uint32_t i = 0; i < plan->reference->job->units[first->call.unit].n_parameters; i++) {
        struct reference of = first->call.operands[i];
        if (!is_tensor_state(reference_buffer(plan, of)) ||
            !begins_use(plan, at, first, of, USE_GROUP))
            continue;
        struct way *way = way_of(draft, reference_buffer(plan, of));
        struct statement_walk walk = walk_statements(at.group);
        while (walk_next(&walk))
            if (reads_parameter(plan, walk.statement, of.buffer))
                way->shared[walk.statement->call.unit] = way->shared[first->call.unit];
    }
}

// First what is copied in for all calls, then the parts that are kept, then what is gathered out of
// them, then what is freed of these, each in loops of its own; and in front of the loops over the layers of a turn what is read of this turn's.
void before_group(struct draft *draft, struct cursor at) {
    const struct block *body = at.group;
    struct moment moment = {.states = PARAMETERS, .events = at_use, .use = USE_GROUP};
    static const uint64_t strides[] = {KIND(HOP_FETCH), KIND(HOP_CAST_PART) | KIND(HOP_GATHER_PART),
                                       KIND(HOP_CAST) | KIND(HOP_GATHER)};
    uint64_t rest = ALL_KINDS;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        moment.kinds = strides[i];
        rest &= ~strides[i];
        emit_for_calls(draft, at, body->statements, body->n, moment);
    }
    moment.kinds = rest;
    emit_for_calls(draft, at, body->statements, body->n, moment);
    struct moment norm = before_norm, update = before_update;
    norm.use = update.use = USE_GROUP;
    emit_for_calls(draft, at, body->statements, body->n, norm);
    emit_for_calls(draft, at, body->statements, body->n, update);
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL &&
            !call_updates(draft->plan, &walk.statement->call)) {
            share_gathered(draft, at, walk.statement);
            emit_moment(draft, at,
                        (struct moment){walk.statement, PARAMETERS, MOMENT_READ, at_use, ALL_KINDS,
                                        USE_TURN});
        }
}

// Once, for the calls inside the loop over microbatches: what accumulates begins as zero, and what is
// read in all of them is gathered.
void before_microbatches(struct draft *draft, struct cursor at, const struct statement *statements,
                         uint32_t n) {
    struct moment moment = {.events = BIT(EVENT_BEFORE_MICROBATCHES), .kinds = ALL_KINDS};
    moment.states = GRADIENTS;
    moment.side = MOMENT_WRITTEN;
    emit_for_calls(draft, at, statements, n, moment);
    moment.states = PARAMETERS;
    moment.side = MOMENT_READ;
    emit_for_calls(draft, at, statements, n, moment);
}

void behind_microbatches(struct draft *draft, struct cursor at, const struct statement *statements,
                         uint32_t n) {
    struct moment moment = {.events = BIT(EVENT_BEHIND_MICROBATCHES), .kinds = ALL_KINDS};
    moment.states = PARAMETERS;
    moment.side = MOMENT_READ;
    emit_for_calls(draft, at, statements, n, moment);
    moment.states = GRADIENTS;
    moment.side = MOMENT_WRITTEN;
    emit_for_calls(draft, at, statements, n, moment);
}
