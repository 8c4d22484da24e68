// See devices.h: the statements of a step, and transfers between buffers.
#include "tests/oracle/devices.h"

#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "tests/oracle/calls.h"
#include "tests/oracle/collective.h"
#include "tests/oracle/memory.h"

// A transfer on its way: which, and the items that it is about.
struct flight {
    const struct statement *start; // NULL: the slot is free
    struct reference *from, *to;   // of every piece, with constant indices
    int64_t variables[LIMIT_LOOP_DEPTH];
    int depth; // when it was started
    struct arena arena;
    struct array **held; // IN_BETWEEN: what was read, of every piece and device
};

struct devices *devices_new(struct arena *arena, const struct program *program) {
    struct devices *d = ARENA_NEW(arena, struct devices);
    *d = (struct devices){
        .program = program, .arena = arena, .n = mesh_devices(&program->job->mesh)};
    CHECK(d->n <= MAX_DEVICES && !job_needs_plan(program->job));
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = 0; device < d->n; device++) {
            int64_t bytes = arena_begin(program, N_TIERS);
            d->memory[timing][device] = arena_alloc(arena, (size_t)bytes);
            memory_spoil(d->memory[timing][device], bytes);
        }
    return d;
}

static void forget(const struct program *program, unsigned char *memory) {
    struct arena scratch = {0};
    int64_t bytes = arena_begin(program, N_TIERS);
    unsigned char *before = arena_copy(&scratch, memory, (size_t)bytes);
    memory_spoil(memory, bytes);
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        int64_t at = arena_begin(program, buffer->tier) + buffer->offset_bytes;
        if (buffer_is_persistent(buffer) && buffer->window_of == NO_ID)
            memcpy(memory + at, before + at, (size_t)buffer_bytes(program, buffer));
    }
    arena_free(&scratch);
}

void devices_forget(struct devices *d) {
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = 0; device < d->n; device++)
            forget(d->program, d->memory[timing][device]);
}

// ---- transfers --------------------------------------------------------------------------------

// The place of an item, by what was fixed when its transfer started.
static unsigned char *place_of(const struct devices *d, int timing, int64_t device,
                               struct reference r) {
    return item_place(d, timing, device, r.buffer, reference_item(d->program, &r, NULL));
}

static struct array load_item(const struct devices *d, struct arena *scratch, int timing,
                              int64_t device, struct reference r) {
    const struct buffer *buffer = &d->program->buffers[r.buffer];
    struct array array = array_new(scratch, buffer_type(d->program, buffer));
    memory_load(place_of(d, timing, device, r), buffer->dtype, type_elements(&array.type),
                array.data);
    return array;
}

static bool has_item(const struct devices *d, int64_t device, struct reference r) {
    return layout_has_item(d->program, r.buffer, reference_item(d->program, &r, NULL), device);
}

// The exchange of a piece, with its owner's place as the shift.
static struct exchange exchange_of(const struct devices *d, const struct transfer *t,
                                   struct reference from, struct reference to) {
    struct exchange exchange = t->exchange;
    struct reference owned = exchange.kind == COLLECTIVE_REDUCE ? to : from;
    if (exchange_has_owner(&exchange))
        exchange.shift = reference_item(d->program, &owned, NULL) %
                         mesh_group_size(&d->program->job->mesh, &exchange.axes);
    return exchange;
}

// What one device receives of a piece, of which `sources` are all devices'.
static struct array receive_one(const struct devices *d, struct arena *scratch,
                                const struct exchange *exchange, const struct array *sources,
                                int64_t device, struct reference to) {
    const struct mesh *mesh = &d->program->job->mesh;
    struct array given[MAX_DEVICES];
    struct array received =
        array_new(scratch, buffer_type(d->program, &d->program->buffers[to.buffer]));
    int64_t members[MAX_DEVICES], n = group_members(mesh, device, &exchange->axes, members);
    for (int64_t i = 0; i < n; i++)
        given[i] = sources[members[i]];
    exchange_receive(exchange, given, n, mesh_part_of(mesh, device, &exchange->axes), &received);
    return received;
}

static void load_all(const struct devices *d, struct arena *scratch, int timing,
                     struct reference from, struct array sources[MAX_DEVICES]) {
    for (int64_t device = 0; device < d->n; device++)
        sources[device] = load_item(d, scratch, timing, device, from);
}

// What all devices receive of one piece.
static struct array *receive(const struct devices *d, struct arena *scratch, int timing,
                             const struct transfer *t, struct reference from, struct reference to) {
    struct array *received = ARENA_ARRAY(scratch, struct array, d->n), sources[MAX_DEVICES];
    struct exchange exchange = exchange_of(d, t, from, to);
    load_all(d, scratch, timing, from, sources);
    for (int64_t device = 0; device < d->n; device++)
        received[device] = receive_one(d, scratch, &exchange, sources, device, to);
    return received;
}

static void deliver_one(struct devices *d, int timing, const struct flight *flight,
                        const struct statement *at, uint32_t piece, int64_t device,
                        const struct array *data) {
    struct reference to = flight->to[piece];
    if (!has_item(d, device, to))
        return;
    struct moment moment = {.statement = flight->start,
                            .variables = flight->variables,
                            .depth = flight->depth,
                            .device = device,
                            .timing = timing};
    if (d->observer.arrival)
        d->observer.arrival(d->observer.data, &moment, at, piece, data);
    memory_store(place_of(d, timing, device, to), data->type.dtype, type_elements(&data->type),
                 data->data);
}

static void deliver(struct devices *d, int timing, const struct flight *flight,
                    const struct statement *at, uint32_t piece, const struct array *data) {
    for (int64_t device = 0; device < d->n; device++)
        deliver_one(d, timing, flight, at, piece, device, &data[device]);
}

// Whether some device fills what it, or others, still read: but an all_reduce in place, or what goes to
// or from an owner, in which every element has its place from the beginning.
static bool fills_sources(const struct devices *d, const struct flight *flight, uint32_t piece) {
    struct reference from = flight->from[piece], to = flight->to[piece];
    struct tensor_type source = buffer_type(d->program, &d->program->buffers[from.buffer]);
    struct tensor_type target = buffer_type(d->program, &d->program->buffers[to.buffer]);
    int64_t read = type_bytes(&source), filled = type_bytes(&target);
    for (int64_t device = 0; device < d->n; device++) {
        unsigned char *a = place_of(d, AT_WAIT, device, from);
        unsigned char *b = place_of(d, AT_WAIT, device, to);
        const struct exchange *exchange = &flight->start->start.exchange;
        bool in_place =
            a == b && (exchange->kind == COLLECTIVE_ALL_REDUCE || exchange_has_owner(exchange));
        if (!in_place && a < b + filled && b < a + read)
            return true;
    }
    return false;
}

// One device after the other, the last first, reads what those before it have left.
static void exchange_in_turn(struct devices *d, struct arena *scratch, const struct flight *flight,
                             const struct statement *at, uint32_t piece) {
    struct array sources[MAX_DEVICES];
    for (int64_t device = d->n; device-- > 0;) {
        load_all(d, scratch, AT_WAIT, flight->from[piece], sources);
        struct exchange exchange =
            exchange_of(d, &flight->start->start, flight->from[piece], flight->to[piece]);
        struct array received =
            receive_one(d, scratch, &exchange, sources, device, flight->to[piece]);
        deliver_one(d, AT_WAIT, flight, at, piece, device, &received);
    }
}

// Pieces travel in no order, nor are devices in step: once all is read before any arrives, once one
// piece after the other, and one device after the other, the last first. Where that makes a
// difference, the program depends on what it may not.
static void perform(struct devices *d, const struct flight *flight, const struct statement *at,
                    int timing) {
    const struct transfer *t = &flight->start->start;
    struct arena scratch = {0};
    struct array **data = ARENA_ARRAY(&scratch, struct array *, t->n_pieces + 1);
    for (uint32_t i = t->n_pieces; i-- > 0;) {
        if (timing == AT_WAIT && fills_sources(d, flight, i)) {
            exchange_in_turn(d, &scratch, flight, at, i);
            continue;
        }
        data[i] = receive(d, &scratch, timing, t, flight->from[i], flight->to[i]);
        if (timing == AT_WAIT)
            deliver(d, timing, flight, at, i, data[i]);
    }
    for (uint32_t i = 0; i < t->n_pieces && timing == AT_START; i++)
        deliver(d, timing, flight, at, i, data[i]);
    arena_free(&scratch);
}

static void hold(struct devices *d, struct flight *flight) {
    const struct transfer *t = &flight->start->start;
    flight->held = ARENA_ARRAY(&flight->arena, struct array *, t->n_pieces + 1);
    for (uint32_t i = 0; i < t->n_pieces; i++)
        flight->held[i] = receive(d, &flight->arena, IN_BETWEEN, t, flight->from[i], flight->to[i]);
}

// Padding behind the elements is nobody's to touch: a collective in place leaves it.
static void spoil_elements(struct devices *d, int timing, struct reference r) {
    struct tensor_type type = buffer_type(d->program, &d->program->buffers[r.buffer]);
    for (int64_t device = 0; device < d->n; device++)
        if (has_item(d, device, r))
            memory_spoil(place_of(d, timing, device, r), type_bytes(&type));
}

static void deliver_held(struct devices *d, struct flight *flight, const struct statement *at) {
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++)
        deliver(d, IN_BETWEEN, flight, at, i, flight->held[i]);
    arena_free(&flight->arena);
}

static void spoil_item(struct devices *d, int timing, struct reference r) {
    for (int64_t device = 0; device < d->n; device++)
        if (has_item(d, device, r))
            memory_spoil(place_of(d, timing, device, r),
                         buffer_item_bytes(d->program, &d->program->buffers[r.buffer]));
}

// Bytes that the transfer will still read are left alone.
static bool is_source(const struct devices *d, const struct flight *flight, uint32_t piece,
                      int64_t device) {
    struct reference to = flight->to[piece];
    unsigned char *begin = place_of(d, AT_WAIT, device, to);
    unsigned char *end = begin + buffer_item_bytes(d->program, &d->program->buffers[to.buffer]);
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++) {
        struct reference from = flight->from[i];
        unsigned char *place = place_of(d, AT_WAIT, device, from);
        int64_t bytes = buffer_item_bytes(d->program, &d->program->buffers[from.buffer]);
        if (place < end && begin < place + bytes)
            return true;
    }
    return false;
}

static struct flight *flight_of(struct devices *d, uint32_t handle, struct index index,
                                const int64_t *variables) {
    int64_t at = index_at(index, variables);
    for (uint32_t i = 0; i < handle; i++)
        at += d->step->handles[i].slots;
    return &d->flights[at];
}

static struct reference fixed(struct reference reference, const int64_t *variables) {
    for (unsigned i = 0; i < MAX_STACKS; i++)
        reference.indices[i] = index_constant(index_at(reference.indices[i], variables));
    return reference;
}

static bool start(struct devices *d, const struct statement *statement, const int64_t *variables,
                  int depth) {
    const struct transfer *t = &statement->start;
    struct flight *flight = flight_of(d, t->handle, t->handle_index, variables);
    if (flight->start)
        return devices_stuck(d, statement->span, "a start whose handle is still on its way");
    *flight =
        (struct flight){statement, ARENA_ARRAY(d->arena, struct reference, t->n_pieces + 1),
                        ARENA_ARRAY(d->arena, struct reference, t->n_pieces + 1), .depth = depth};
    memcpy(flight->variables, variables, sizeof flight->variables);
    for (uint32_t i = 0; i < t->n_pieces; i++) {
        flight->from[i] = fixed(t->pieces[i].from, variables);
        flight->to[i] = fixed(t->pieces[i].to, variables);
    }
    perform(d, flight, statement, AT_START);
    hold(d, flight);
    for (uint32_t i = 0; i < t->n_pieces; i++) {
        spoil_elements(d, IN_BETWEEN, flight->to[i]);
        if (!is_source(d, flight, i, 0))
            spoil_item(d, AT_WAIT, flight->to[i]);
    }
    return true;
}

static bool wait(struct devices *d, const struct statement *statement, const int64_t *variables) {
    struct flight *flight = flight_of(d, statement->wait.handle, statement->wait.index, variables);
    if (!flight->start)
        return devices_stuck(d, statement->span, "a wait for what was not started");
    perform(d, flight, statement, AT_WAIT);
    deliver_held(d, flight, statement);
    flight->start = NULL;
    return true;
}

// ---- steps ------------------------------------------------------------------------------------

// With the padding: what is gathered or reduced with it must be zero.
static void zero(struct devices *d, struct reference r) {
    int64_t bytes = buffer_item_bytes(d->program, &d->program->buffers[r.buffer]);
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = 0; device < d->n; device++)
            if (has_item(d, device, r))
                memset(place_of(d, timing, device, r), 0, (size_t)bytes);
}

static bool run_block(struct devices *d, const struct block *block, int64_t *variables, int depth);

static bool run_loop(struct devices *d, const struct loop *loop, int64_t *variables, int depth) {
    CHECK(depth < LIMIT_LOOP_DEPTH);
    for (int64_t k = 0; k < loop->end - loop->begin; k++) {
        variables[depth] = loop_variable(loop, depth, k, variables);
        if (!run_block(d, &loop->body, variables, depth + 1))
            return false;
    }
    return true;
}

static bool run_statement(struct devices *d, const struct statement *s, int64_t *variables,
                          int depth) {
    switch (s->kind) {
    case STATEMENT_CALL:
        return call_execute(d, s, variables, depth);
    case STATEMENT_START:
        return start(d, s, variables, depth);
    case STATEMENT_WAIT:
        return wait(d, s, variables);
    case STATEMENT_ZERO:
        zero(d, fixed(s->zero, variables));
        return true;
    case STATEMENT_FREE:
        for (int timing = 0; timing < N_TIMINGS; timing++)
            for (uint32_t i = 0; i < s->free.n_items; i++)
                spoil_item(d, timing, fixed(s->free.items[i], variables));
        return true;
    case STATEMENT_TASK:
        return true;
    default:
        CHECK(!"a statement that is no loop");
        return false;
    }
}

static bool run_block(struct devices *d, const struct block *block, int64_t *variables, int depth) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP ? !run_loop(d, &s->loop, variables, depth)
                                      : !run_statement(d, s, variables, depth))
            return false;
    }
    return true;
}

bool devices_run(struct devices *d, enum step_kind kind) {
    int64_t variables[LIMIT_LOOP_DEPTH] = {0}, slots = 0;
    d->step = &d->program->steps[kind];
    CHECK(d->step->present && !d->stuck);
    for (uint32_t i = 0; i < d->step->n_handles; i++)
        slots += d->step->handles[i].slots;
    d->flights = ARENA_ARRAY(d->arena, struct flight, slots + 1);
    run_block(d, &d->step->body, variables, 0);
    for (int64_t i = 0; i < slots; i++)
        if (d->flights[i].start) {
            devices_stuck(d, d->flights[i].start->span, "nothing waits for this transfer");
            arena_free(&d->flights[i].arena);
        }
    return !d->stuck;
}
