// account: memory and communication of one training step, from the final program.
//
// Memory: at every position of the step the buffers alive are known (lifetimes.h); the moment that
// is reported is the one whose highest byte is the end of the arena, and of those the fullest.
// What the plan leaves unused between buffers counts as transient, so that the parts sum to the
// peak. Beside it, what is alive at once when the step is executed item by item (uses.h), which a
// run counts too. Communication: every start, and every collective op of a called unit, times the
// trips of the loops around it.
#include "passes/account/account.h"

#include <stdlib.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "passes/schedule/held.h"
#include "passes/schedule/lifetimes.h"
#include "passes/schedule/memory.h"

// How often a collective starts, in a row of the account; the row of another role that it carries
// has no starts of its own.
static void count_starts(struct account_transfer *transfer, enum algorithm algorithm, bool first) {
    int64_t count = first ? transfer->count : 0;
    switch (algorithm) {
    case ALGORITHM_RING:
        transfer->n_rings = count;
        break;
    case ALGORITHM_DIRECT:
        transfer->n_direct = count;
        transfer->direct_bytes = transfer->bytes;
        break;
    case ALGORITHM_DOUBLING:
        transfer->n_doubling = count;
        transfer->doubling_bytes = transfer->bytes;
        break;
    }
}

// ---- memory -----------------------------------------------------------------------------------

struct moment {
    int64_t position, live_bytes, end_bytes;
    enum step_kind step;
};

static bool alive_at(const struct interval *lives, int64_t position) {
    return lives->first <= position && position <= lives->last;
}

// Buffers in the order in which they lie in the arena.
static int by_offset(const void *left, const void *right) {
    const struct buffer *a = *(const struct buffer *const *)left;
    const struct buffer *b = *(const struct buffer *const *)right;
    return (a->offset_bytes > b->offset_bytes) - (a->offset_bytes < b->offset_bytes);
}

// What the moments of all steps are found from.
struct plan {
    const struct program *program;
    const struct buffer **buffers; // by offset, without windows
    uint32_t n_buffers;
    int64_t *bytes; // of every buffer, by its number
};

static struct plan plan_of(const struct program *program, struct arena *arena) {
    struct plan plan = {.program = program,
                        .buffers =
                            ARENA_ARRAY(arena, const struct buffer *, program->n_buffers + 1),
                        .bytes = ARENA_ARRAY(arena, int64_t, program->n_buffers + 1)};
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        plan.bytes[i] = buffer_bytes(program, &program->buffers[i]);
        if (program->buffers[i].window_of == NO_ID)
            plan.buffers[plan.n_buffers++] = &program->buffers[i];
    }
    if (plan.n_buffers)
        qsort(plan.buffers, plan.n_buffers, sizeof *plan.buffers, by_offset);
    return plan;
}

// How many bytes of the arena hold something there of the states up to `last`. A byte that buffers
// share, as a person's plan may let those do whose items take turns, counts once.
static int64_t bytes_held(const struct plan *plan, const struct interval *lives, int64_t position,
                          enum state last) {
    int64_t held = 0, end = 0;
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct buffer *buffer = plan->buffers[i];
        ptrdiff_t id = buffer - plan->program->buffers;
        int64_t begin = buffer->offset_bytes, after = begin + plan->bytes[id];
        if (class_states[buffer->class] > last || !alive_at(&lives[id], position) || after <= end)
            continue;
        held += after - (begin > end ? begin : end);
        end = after;
    }
    return held;
}

// A loop has a position before its body and one behind it, as in lifetimes.h.
static const struct statement *statement_at(const struct block *block, int64_t position) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        if (statement->kind != STATEMENT_LOOP) {
            if (position-- == 0)
                return statement;
            continue;
        }
        int64_t length = 2 + count_positions(&statement->loop.body);
        if (position == 0 || position == length - 1)
            return statement;
        if (position < length)
            return statement_at(&statement->loop.body, position - 1);
        position -= length;
    }
    return NULL;
}

// Bytes by state at the moment, and those that are held whatever the moment. What two states share
// is of the first of them, and all that is of none is transient.
static void fill_states(const struct plan *plan, const struct interval *lives, int64_t position,
                        struct account *account) {
    const struct program *program = plan->program;
    int64_t counted = 0;
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        enum state state = class_states[program->buffers[i].class];
        if (state != N_STATES)
            account->held[state] += plan->bytes[i];
    }
    for (enum state state = 0; state < N_STATES; state++) {
        int64_t held = bytes_held(plan, lives, position, state);
        account->states[state] = held - counted;
        counted = held;
    }
    account->peak = program->arena_bytes;
    account->transient = program->arena_bytes - counted;
}

struct event { // at a position of a step: a buffer comes to life (by = 1) or is dead (by = -1)
    int64_t position;
    struct held_range bytes;
    int by;
};

static int by_position(const void *left, const void *right) {
    const struct event *a = left, *b = right;
    return (a->position > b->position) - (a->position < b->position);
}

struct events {
    struct event *list;
    uint32_t n;
    int64_t highest; // where the highest buffer ends
};

// Of the first n positions.
static struct events find_events(const struct plan *plan, const struct interval *lives, int64_t n,
                                 struct arena *arena) {
    struct events events = {.list = ARENA_ARRAY(arena, struct event, 2 * plan->n_buffers + 1)};
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        ptrdiff_t id = plan->buffers[i] - plan->program->buffers;
        int64_t first = lives[id].first < 0 ? 0 : lives[id].first, last = lives[id].last;
        int64_t begin = plan->buffers[i]->offset_bytes, end = begin + plan->bytes[id];
        if (first > last || first >= n)
            continue;
        events.list[events.n++] = (struct event){first, {begin, end}, 1};
        events.list[events.n++] = (struct event){last + 1, {begin, end}, -1};
        events.highest = end > events.highest ? end : events.highest;
    }
    if (events.n)
        qsort(events.list, events.n, sizeof *events.list, by_position);
    return events;
}

// The fullest moment of those that reach highest, or `best` if that one is better.
static struct moment best_moment(const struct events *events, enum step_kind step,
                                 struct arena *arena, struct moment best) {
    int64_t *borders = ARENA_ARRAY(arena, int64_t, 2 * events->n + 1);
    uint32_t n_borders = 0, n_highest = 0;
    for (uint32_t i = 0; i < events->n; i++) {
        borders[n_borders++] = events->list[i].bytes.begin;
        borders[n_borders++] = events->list[i].bytes.end;
    }
    struct held_bytes held = held_new(arena, borders, n_borders);
    for (uint32_t i = 0; i < events->n; i++) {
        const struct event *event = &events->list[i];
        held_change(&held, event->bytes, event->by);
        if (event->bytes.end == events->highest)
            n_highest += (uint32_t)event->by;
        bool more = i + 1 < events->n && event[1].position == event->position;
        struct moment now = {event->position, held_in_all(&held), events->highest, step};
        if (!more && n_highest > 0 &&
            (now.end_bytes > best.end_bytes ||
             (now.end_bytes == best.end_bytes && now.live_bytes > best.live_bytes)))
            best = now;
    }
    return best;
}

// All steps are looked through: an evaluation may need more than a step of training.
static void account_memory(const struct program *program, struct arena *arena,
                           struct account *account) {
    struct moment best = {.position = -1};
    struct interval *lives[N_STEPS] = {NULL};
    struct plan plan = plan_of(program, arena);
    for (int s = 0; s < N_STEPS; s++) {
        struct arena scratch = {0};
        lives[s] = step_lifetimes(program, s, arena);
        int64_t n = count_positions(&program->steps[s].body);
        struct events events = find_events(&plan, lives[s], n, &scratch);
        if (program->steps[s].present)
            account->alone[s] = memory_of_step(program, s, lives[s]);
        best = best_moment(&events, s, &scratch, best);
        arena_free(&scratch);
    }
    account->peak_step = best.step;
    fill_states(&plan, lives[best.step], best.position, account);
    const struct statement *statement =
        statement_at(&program->steps[best.step].body, best.position);
    if (statement) {
        account->peak_statement = statement->id;
        account->peak_span = statement->span;
    }
}

// ---- communication ----------------------------------------------------------------------------

struct counting {
    const struct program *program;
    struct arena *arena;
    struct account *account;
    enum phase phase; // of the last call
    enum step_kind step;
};

static enum role outermost_role(const uint8_t *roles, unsigned n) {
    return n ? roles[0] : ROLE_NONE;
}

static bool same_row(const struct account_transfer *a, const struct account_transfer *b) {
    return a->kind == b->kind && a->state == b->state && a->role == b->role && a->step == b->step &&
           a->phase == b->phase && a->dtype == b->dtype && axis_list_equal(&a->axes, &b->axes);
}

// Joined with what says the same. A group of one sends nothing and has no row.
static void add_transfer(struct counting *c, struct account_transfer transfer) {
    struct account *account = c->account;
    if (transfer.group <= 1)
        return;
    transfer.step = c->step;
    int64_t *sent = &account->sent[transfer.statement];
    account->total_bytes = size_plus(account->total_bytes, transfer.bytes);
    *sent = size_plus(*sent, transfer.bytes);
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        struct account_transfer *old = &account->transfers[i];
        if (same_row(old, &transfer)) {
            old->count = size_plus(old->count, transfer.count);
            old->bytes = size_plus(old->bytes, transfer.bytes);
            old->direct_bytes = size_plus(old->direct_bytes, transfer.direct_bytes);
            old->doubling_bytes = size_plus(old->doubling_bytes, transfer.doubling_bytes);
            old->n_rings = size_plus(old->n_rings, transfer.n_rings);
            old->n_direct = size_plus(old->n_direct, transfer.n_direct);
            old->n_doubling = size_plus(old->n_doubling, transfer.n_doubling);
            return;
        }
    }
    ARENA_PUSH(c->arena, account->transfers, account->n_transfers, account->cap_transfers,
               transfer);
}

// What is carried, of one role.
struct carried {
    enum state state;
    int64_t whole_bytes, unpadded_bytes;
};

enum state state_of_piece(const struct exchange *exchange, const struct buffer *from,
                          const struct buffer *to) {
    bool reduces =
        exchange->kind == COLLECTIVE_ALL_REDUCE || exchange->kind == COLLECTIVE_REDUCE_SCATTER;
    if (from->tensor == NO_ID)
        return from->rank ? STATE_ACTIVATIONS : N_STATES;
    if (class_states[from->class] != N_STATES)
        return class_states[from->class];
    if (class_states[to->class] != N_STATES)
        return class_states[to->class];
    bool codes = from->dtype == DTYPE_I32; // of gradients: no parameter is an integer
    return reduces || codes ? STATE_GRADIENTS : STATE_PARAMETERS;
}

static bool names_value(const struct unit *unit, const struct call *call, const struct op *op,
                        buffer_id id) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op->operands[i] < unit->n_parameters && call->operands[op->operands[i]].buffer == id)
            return true;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (call->results[i].buffer == id && unit_producer(unit, unit->results[i].value) == op)
            return true;
    return false;
}

// Of a value that calls hand on: that of the first op which makes or reads it.
static enum role role_of_value(const struct program *program, buffer_id id) {
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &program->units[call->unit];
        for (uint32_t i = 0; i < unit->n_ops; i++)
            if (names_value(unit, call, &unit->ops[i], id))
                return outermost_role(unit->ops[i].roles, unit->ops[i].n_roles);
    }
    return ROLE_NONE;
}

// Scalars belong to nothing.
static enum role role_of_piece(const struct program *program, const struct transfer_piece *piece) {
    const struct buffer *from = &program->buffers[piece->from.buffer];
    if (from->tensor == NO_ID)
        return from->rank ? role_of_value(program, piece->from.buffer) : ROLE_NONE;
    const struct tensor *tensor = &program->tensors[from->tensor];
    return outermost_role(tensor->roles, tensor->n_roles);
}

// With padding. Shards may be padded further than their own number asks for.
static int64_t whole_elements(const struct program *program, const struct transfer *start,
                              const struct transfer_piece *piece, int64_t elements, int64_t group) {
    bool gather = start->exchange.kind == COLLECTIVE_ALL_GATHER;
    if (!gather && start->exchange.kind != COLLECTIVE_REDUCE_SCATTER)
        return round_up(elements, group);
    const struct buffer *part = &program->buffers[gather ? piece->from.buffer : piece->to.buffer];
    struct tensor_type type = buffer_type(program, part);
    return size_times(type_elements(&type), group);
}

// A gather's whole is what arrives, a reduction's what is given. Padded to a multiple of the group,
// as it travels. Returns the bytes without padding.
static int64_t add_piece(const struct counting *c, const struct transfer *start, uint32_t piece,
                         int64_t group, struct carried *carried) {
    const struct program *program = c->program;
    bool gather = start->exchange.kind == COLLECTIVE_ALL_GATHER;
    const struct transfer_piece *p = &start->pieces[piece];
    const struct buffer *from = &program->buffers[p->from.buffer];
    struct tensor_type type = buffer_type(program, gather ? &program->buffers[p->to.buffer] : from);
    int64_t elements = type_elements(&type), bytes = dtype_bytes[type.dtype];
    struct carried *of = &carried[role_of_piece(program, p)];
    of->state = state_of_piece(&start->exchange, from, &program->buffers[p->to.buffer]);
    int64_t whole = size_times(whole_elements(program, start, p, elements, group), bytes);
    of->whole_bytes = size_plus(of->whole_bytes, whole);
    of->unpadded_bytes = size_plus(of->unpadded_bytes, type_bytes(&type));
    return type_bytes(&type);
}

int64_t account_piece(const struct program *program, const struct transfer *start, uint32_t piece) {
    const struct counting c = {.program = program};
    int64_t group = mesh_group_size(&program->mesh, &start->exchange.axes), unpadded = 0;
    struct carried all[N_ROLES] = {{0}}, one[N_ROLES] = {{0}};
    for (uint32_t i = 0; i < start->n_pieces; i++)
        unpadded = size_plus(unpadded, add_piece(&c, start, i, group, all));
    add_piece(&c, start, piece, group, one);
    const struct carried *of = &one[role_of_piece(program, &start->pieces[piece])];
    return exchange_sent_bytes(&start->exchange,
                               exchange_algorithm(&start->exchange, group, unpadded),
                               program->buffers[start->pieces[piece].from.buffer].dtype, group,
                               of->whole_bytes, of->unpadded_bytes);
}

// A row for each role that the collective carries.
static void account_start(struct counting *c, const struct statement *statement, int64_t trips,
                          enum phase phase) {
    const struct transfer *start = &statement->start;
    const struct program *program = c->program;
    int64_t group = mesh_group_size(&program->mesh, &start->exchange.axes), unpadded = 0;
    struct carried carried[N_ROLES] = {{0}};
    for (uint32_t i = 0; i < start->n_pieces; i++)
        unpadded = size_plus(unpadded, add_piece(c, start, i, group, carried));
    enum algorithm algorithm = exchange_algorithm(&start->exchange, group, unpadded);
    enum dtype dtype = program->buffers[start->pieces[0].from.buffer].dtype;
    bool first = true;
    for (int role = 0; role < N_ROLES; role++) {
        const struct carried *of = &carried[role];
        if (of->unpadded_bytes == 0)
            continue;
        int64_t bytes = exchange_sent_bytes(&start->exchange, algorithm, dtype, group,
                                            of->whole_bytes, of->unpadded_bytes);
        struct account_transfer transfer = {.axes = start->exchange.axes,
                                            .kind = start->exchange.kind,
                                            .state = of->state,
                                            .role = role,
                                            .phase = phase,
                                            .dtype = dtype,
                                            .group = group,
                                            .count = trips,
                                            .bytes = size_times(trips, bytes),
                                            .statement = statement->id,
                                            .span = statement->span};
        count_starts(&transfer, algorithm, first);
        first = false;
        add_transfer(c, transfer);
    }
}

// Collectives inside the unit, so many times as it is called.
static void account_unit(struct counting *c, const struct unit *unit, int64_t trips) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        struct exchange exchange;
        if (!op_exchange(op, &exchange))
            continue;
        bool gather = exchange.kind == COLLECTIVE_ALL_GATHER;
        const struct tensor_type *whole =
            &unit->values[gather ? op->results[0] : op->operands[0]].type;
        int64_t group = mesh_group_size(&c->program->mesh, &exchange.axes);
        int64_t unpadded = type_bytes(whole),
                padded =
                    size_times(round_up(type_elements(whole), group), dtype_bytes[whole->dtype]);
        enum algorithm algorithm = exchange_algorithm(&exchange, group, unpadded);
        int64_t bytes =
            exchange_sent_bytes(&exchange, algorithm, whole->dtype, group, padded, unpadded);
        struct account_transfer transfer = {.axes = exchange.axes,
                                            .kind = exchange.kind,
                                            .state = whole->rank ? STATE_ACTIVATIONS : N_STATES,
                                            .role = outermost_role(op->roles, op->n_roles),
                                            .phase = c->phase,
                                            .dtype = whole->dtype,
                                            .group = group,
                                            .count = trips,
                                            .bytes = size_times(trips, bytes),
                                            .statement = op->id,
                                            .span = op->span};
        count_starts(&transfer, algorithm, true);
        add_transfer(c, transfer);
    }
}

// A gather of gradients is the second half of a sum that is written out in two.
static bool brings_what_is_read_next(const struct program *program, const struct transfer *start) {
    return start->exchange.kind == COLLECTIVE_ALL_GATHER &&
           program->buffers[start->pieces[0].to.buffer].class != CLASS_GRADIENTS;
}

// The phase of the next call in the text is what a gather is for; behind the last call, that of it.
static enum phase phase_of_gather(const struct counting *c, struct statement_walk walk) {
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            return c->program->units[walk.statement->call.unit].phase;
    return c->phase;
}

// In the order of the text, so that a gather can look ahead for the call that it is for.
static void account_communication(struct counting *c, const struct block *block) {
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        if (statement->kind == STATEMENT_START) {
            bool ahead = brings_what_is_read_next(c->program, &statement->start);
            account_start(c, statement, walk_trips(&walk),
                          ahead ? phase_of_gather(c, walk) : c->phase);
        } else if (statement->kind == STATEMENT_CALL) {
            const struct unit *unit = &c->program->units[statement->call.unit];
            c->phase = unit->phase;
            account_unit(c, unit, walk_trips(&walk));
        }
    }
}

// Communication is that of `train` and of `average`; memory is of all steps.
struct account *account_followed(const struct program *program, const struct followed *followed,
                                 struct arena *arena) {
    CHECK(program->arena_bytes >= 0);
    struct account *result = ARENA_NEW(arena, struct account);
    result->sent = ARENA_ARRAY(arena, int64_t, program->n_ids + 1);
    struct counting counting = {program, arena, result, PHASE_FORWARD, STEP_TRAIN};
    account_memory(program, arena, result);
    result->live = account_most_alive(program, followed, &result->too_long);
    account_communication(&counting, &program->steps[STEP_TRAIN].body);
    counting.step = STEP_AVERAGE;
    account_communication(&counting, &program->steps[STEP_AVERAGE].body);
    return result;
}

struct account *account(const struct program *program, struct arena *arena) {
    return account_followed(program, NULL, arena);
}
