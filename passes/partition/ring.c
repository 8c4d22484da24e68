// Partition, rings: attention where every device has a part of the keys (Liu et al.,
// arXiv 2310.01889). Keys and values go round the devices of an axis, one place a round, with the
// positions that they stand at; while they travel each device joins what the part that it has just
// now gives it to what it has. Backward the gradients of keys and values follow them, each device
// adding its own, and one place further home.
//
//   begin                                   positions of the device's own keys
//   start keys { k -> k'[1], v -> v'[1] }   first round: the call of the unit itself
//   start places { positions[0] -> positions[1] }
//   call UNIT(q, k, v) -> (o, lse)
//   wait keys, wait places
//   for r = 1 .. c-1 {                      all further ones but the last
//     start keys { k'[r] -> k'[r+1], ... }, start places
//     call UNIT_round(q, k'[r], v'[r], positions[r], o, lse)
//     wait keys, wait places
//   }
//   call UNIT_round(q, k'[c-1], ...)        last round: nothing is sent on
//
// The loop's text does not grow with the ring; two slots of what travels are enough, one that is
// read and sent, one that is filled. Rounds are alike on all devices and, as the sequence lies in
// zigzag, of equal work: of what a round pairs a causal mask leaves one half everywhere.
//
// What travels home is added in a call of its own: so a round computes while it is on its way.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"

// One thing that travels: where the device's own is, and the slots where others' arrive.
struct traveller {
    struct reference own;
    buffer_id slots;
};

struct rounds {
    const struct plan *plan;
    struct draft *draft;
    struct cursor at;
    struct making_call *own;
    const struct ring *ring;
    int64_t n;                        // devices
    uint32_t keys, places, gradients; // handles
    struct traveller operands[MAX_OPERANDS], positions, results[MAX_RESULTS];
    struct reference parts[MAX_RESULTS]; // of what travels home: what one round gives
    struct reference stays[MAX_RESULTS];
    const struct unit_use *round, *add;
};

// The round whose number a loop's variable is (`variable` -1: a constant) plus an offset.
static struct index slot(const struct rounds *r, buffer_id slots, struct index round) {
    return index_in_slots(round, buffer_items(&r->draft->program->buffers[slots]));
}

static struct reference in_slot(const struct rounds *r, buffer_id slots, struct index round) {
    return reference_at(slots, slot(r, slots, round));
}

// ---- buffers ----------------------------------------------------------------------------------

static const char *local_name(const struct rounds *r, const char *name) {
    return arena_format(r->draft->arena, "%s.%s",
                        r->draft->program->job->units[r->own->use->unit].name, name);
}

// The transient buffer of a name, or a new one that is like `like`. Both steps use the same.
static buffer_id transient(struct rounds *r, const char *name, struct buffer like, int64_t count) {
    name = local_name(r, name);
    buffer_id id = program_find_buffer(r->draft->program, name);
    if (id != NO_ID)
        return id;
    like.name = name;
    like.class = CLASS_TRANSIENT;
    like.host = HOST_NONE;
    like.stacks = stacked_in_slots(count);
    return program_add_buffer(r->draft->program, like);
}

static struct buffer buffer_of(const struct rounds *r, struct reference of) {
    return r->draft->program->buffers[of.buffer];
}

// Slots of the rounds after the first, which has its own place.
static struct traveller traveller_of(struct rounds *r, const char *name, struct reference own) {
    int64_t count = r->n > 2 ? 2 : 1;
    return (struct traveller){own, transient(r, name, buffer_of(r, own), count)};
}

// ---- statements -------------------------------------------------------------------------------

static void push_local_call(struct rounds *r, const struct unit_use *use,
                            const struct reference *operands, uint32_t n_operands,
                            const struct reference *results, uint32_t n_results) {
    struct arena *arena = r->draft->arena;
    CHECK(use->n_extras == 0);
    push_statement(
        r->draft, r->at,
        (struct statement){
            .kind = STATEMENT_CALL,
            .span = r->own->from->span,
            .call = {.unit = use->unit,
                     .operands = arena_copy(arena, operands, n_operands * sizeof *operands),
                     .results = arena_copy(arena, results, n_results * sizeof *results)}});
}

static void push_start(struct rounds *r, uint32_t handle, const struct transfer_piece *pieces,
                       uint32_t n) {
    struct exchange exchange = exchange_flat(COLLECTIVE_PERMUTE, &r->plan->placement.ring);
    exchange.shift = 1;
    push_statement(r->draft, r->at,
                   (struct statement){.kind = STATEMENT_START,
                                      .span = split_span(r->plan, r->plan->placement.ring.axes[0]),
                                      .start = {.exchange = exchange,
                                                .handle = handle,
                                                .handle_index = index_constant(0),
                                                .n_pieces = n,
                                                .pieces = arena_copy(r->draft->arena, pieces,
                                                                     n * sizeof *pieces)}});
}

static void push_wait(struct rounds *r, uint32_t handle) {
    push_statement(r->draft, r->at,
                   (struct statement){.kind = STATEMENT_WAIT,
                                      .span = split_span(r->plan, r->plan->placement.ring.axes[0]),
                                      .wait = {handle, index_constant(0)}});
}

static uint32_t handle_of(struct rounds *r, const char *name) {
    name = local_name(r, name);
    uint32_t handle = step_find_handle(r->at.step, name);
    return handle != NO_ID ? handle
                           : step_add_handle(r->draft->program->arena, r->at.step, name, 1);
}

// What one round has to the next: out of the device's own places in round 0.
static void start_keys(struct rounds *r, struct index round, struct index next) {
    struct transfer_piece pieces[MAX_OPERANDS];
    bool first = round.variable < 0 && round.offset == 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->own->unit->n_parameters; i++) {
        if (!r->ring->operand_travels[i])
            continue;
        const struct traveller *t = &r->operands[i];
        pieces[n++] = (struct transfer_piece){first ? t->own : in_slot(r, t->slots, round),
                                              in_slot(r, t->slots, next)};
    }
    push_start(r, r->keys, pieces, n);
    buffer_id positions = r->positions.slots;
    pieces[0] = (struct transfer_piece){in_slot(r, positions, round), in_slot(r, positions, next)};
    push_start(r, r->places, pieces, 1);
}

static void wait_for_keys(struct rounds *r) {
    push_wait(r, r->keys);
    push_wait(r, r->places);
}

// The same of what travels home: in the first round it leaves the place to which in the last it
// comes back.
static void start_gradients(struct rounds *r, struct index round, bool last) {
    struct transfer_piece pieces[MAX_RESULTS];
    struct index next = round;
    bool first = round.variable < 0 && round.offset == 0;
    uint32_t n = 0;
    next.offset++;
    for (uint32_t i = 0; i < r->own->unit->n_results; i++) {
        if (!r->ring->result_travels[i])
            continue;
        const struct traveller *t = &r->results[i];
        pieces[n++] = (struct transfer_piece){first ? t->own : in_slot(r, t->slots, round),
                                              last ? t->own : in_slot(r, t->slots, next)};
    }
    push_start(r, r->gradients, pieces, n);
}

// ---- the units of a round ---------------------------------------------------------------------

static const struct unit_use *local_unit(struct rounds *r, uint32_t reference,
                                         struct sharding *operands, struct wanted_result *wanted) {
    struct unit_use request = {
        .reference = reference, .operands = operands, .wanted = wanted, .layer = r->at.layer};
    return partition_unit(r->draft, r->own->scratch, &request);
}

// Counted along, cut by the ring alone.
static struct sharding positions_type(const struct rounds *r) {
    struct sharding type = {0};
    type.cuts[0] = r->plan->placement.ring;
    return type;
}

static void push_begin(struct rounds *r) {
    struct sharding type = positions_type(r);
    struct wanted_result wanted = {.type = type};
    const struct unit *unit = &r->plan->reference->job->units[r->ring->begin];
    const struct value *value = &unit->values[unit->results[0].value];
    struct buffer buffer = {.tensor = NO_ID,
                            .dtype = value->type.dtype,
                            .rank = 1,
                            .dims = {value->type.dims[0]},
                            .window_of = NO_ID,
                            .offset_bytes = -1,
                            .span = r->own->from->span};
    lay_out(r->plan, &buffer, type.cuts);
    r->positions.slots = transient(r, "key_positions", buffer, 2);
    r->positions.own = in_slot(r, r->positions.slots, index_constant(0));
    push_local_call(r, local_unit(r, r->ring->begin, NULL, &wanted), NULL, 0, &r->positions.own, 1);
}

// Where the results of the first round are, and the types of what is joined to them.
static void find_results(struct rounds *r) {
    const struct making_call *own = r->own;
    for (uint32_t i = 0; i < own->unit->n_results; i++) {
        const char *name = own->unit->values[own->unit->results[i].value].name;
        struct reference place = value_reference(r->draft, r->at, own->from->call.results[i]);
        r->stays[i] = place;
        if (!r->ring->result_travels[i])
            continue;
        const char *part = arena_format(r->draft->arena, "%s.part", name);
        r->results[i] = traveller_of(r, name, place);
        r->parts[i] = reference_to(transient(r, part, buffer_of(r, place), 1));
    }
}

// What stays is made in the type in which it is kept, whatever the round computes in; what travels,
// in that in which it does.
static void make_round(struct rounds *r) {
    const struct making_call *own = r->own;
    struct sharding types[MAX_OPERANDS + 1 + MAX_RESULTS];
    struct wanted_result wanted[MAX_RESULTS];
    uint32_t n = 0, stays = 0, travels = 0;
    for (uint32_t i = 0; i < own->unit->n_parameters; i++)
        types[n++] = own->types[i];
    types[n++] = positions_type(r);
    for (uint32_t i = 0; i < own->unit->n_results; i++)
        if (!r->ring->result_travels[i]) {
            types[n++] = own->use->results[i];
            wanted[stays++] = (struct wanted_result){.type = own->use->results[i]};
        }
    for (uint32_t i = 0; i < own->unit->n_results; i++)
        if (r->ring->result_travels[i])
            wanted[stays + travels++] = (struct wanted_result){.type = own->use->results[i]};
    r->round = local_unit(r, r->ring->round, types, wanted);
    for (uint32_t i = 0; i < stays; i++) // they are in the place of these parameters
        CHECK(sharding_equal(&r->round->results[i], &types[n - stays + i], MAX_RANK));
}

static void make_add(struct rounds *r) {
    struct sharding types[2 * MAX_RESULTS];
    struct wanted_result wanted[MAX_RESULTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->own->unit->n_results; i++) {
        wanted[i] = (struct wanted_result){.as_made = true};
        if (!r->ring->result_travels[i])
            continue;
        types[n++] = r->own->use->results[i];
        types[n++] = r->own->use->results[i];
    }
    r->add = local_unit(r, r->ring->add, types, wanted);
}

// ---- rounds -----------------------------------------------------------------------------------

static void push_round(struct rounds *r, struct index round) {
    const struct making_call *own = r->own;
    struct reference operands[MAX_OPERANDS + 1 + MAX_RESULTS], results[MAX_RESULTS];
    uint32_t n = 0, n_results = 0;
    for (uint32_t i = 0; i < own->unit->n_parameters; i++)
        operands[n++] = r->ring->operand_travels[i] ? in_slot(r, r->operands[i].slots, round)
                                                    : own->operands[i];
    operands[n++] = in_slot(r, r->positions.slots, round);
    for (uint32_t i = 0; i < own->unit->n_results; i++)
        if (!r->ring->result_travels[i])
            operands[n++] = results[n_results++] = r->stays[i];
    for (uint32_t i = 0; i < own->unit->n_results; i++)
        if (r->ring->result_travels[i])
            results[n_results++] = r->parts[i];
    push_local_call(r, r->round, operands, n, results, n_results);
}

static void push_add(struct rounds *r, struct index round) {
    struct reference operands[2 * MAX_RESULTS], results[MAX_RESULTS];
    uint32_t n = 0;
    push_wait(r, r->gradients);
    for (uint32_t i = 0; i < r->own->unit->n_results; i++) {
        if (!r->ring->result_travels[i])
            continue;
        results[n] = operands[2 * n] = in_slot(r, r->results[i].slots, round);
        operands[2 * n + 1] = r->parts[i];
        n++;
    }
    push_local_call(r, r->add, operands, 2 * n, results, n);
}

static void push_one_round(struct rounds *r, struct index round, bool last) {
    struct index next = round;
    next.offset++;
    if (!last)
        start_keys(r, round, next);
    push_round(r, round);
    if (!last)
        wait_for_keys(r);
    if (!r->ring->any_result_travels)
        return;
    push_add(r, round);
    start_gradients(r, round, last);
}

static void push_middle_rounds(const struct rounds *r) {
    struct rounds inside = *r;
    struct statement made = {.kind = STATEMENT_LOOP,
                             .span = r->own->from->span,
                             .loop = {.name = "r", .begin = 1, .end = r->n - 1}};
    if (r->n == 2)
        return;
    inside.at = inside_loop(r->at, &made);
    push_one_round(&inside, index_variable(r->at.depth, 0, 0), false);
    push_statement(r->draft, r->at, made);
}

void push_ring(struct draft *draft, struct making_call *own, const struct ring *ring) {
    struct rounds r = {
        .plan = draft->plan,
        .draft = draft,
        .at = own->at,
        .own = own,
        .ring = ring,
        .n = mesh_group_size(&draft->program->job->mesh, &draft->plan->placement.ring)};
    r.keys = handle_of(&r, "keys");
    r.places = handle_of(&r, "places");
    push_begin(&r);
    for (uint32_t i = 0; i < own->unit->n_parameters; i++)
        if (ring->operand_travels[i])
            r.operands[i] = traveller_of(&r, own->unit->values[i].name, own->operands[i]);
    start_keys(&r, index_constant(0), index_constant(1));
    push_call(draft, own);
    wait_for_keys(&r);
    find_results(&r);
    make_round(&r);
    if (ring->any_result_travels) {
        r.gradients = handle_of(&r, "gradients");
        make_add(&r);
        start_gradients(&r, index_constant(0), false);
    }
    push_middle_rounds(&r);
    push_one_round(&r, index_constant(r.n - 1), true);
    if (ring->any_result_travels)
        push_wait(&r, r.gradients);
}
