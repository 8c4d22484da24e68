// See flights.h: transfers between buffers of one part.
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "tests/oracle/flights.h"

// The place of an item, by what was fixed when its transfer started.
unsigned char *flight_place(const struct devices *d, int timing, int64_t device,
                            struct reference r) {
    return item_place(d, timing, device, r.buffer, reference_item(d->program, &r, NULL));
}

struct array flight_load(const struct devices *d, struct arena *scratch, int timing, int64_t device,
                         struct reference r) {
    const struct buffer *buffer = &d->program->buffers[r.buffer];
    struct array array = array_new(scratch, buffer_type(d->program, buffer));
    memory_load(flight_place(d, timing, device, r), buffer->dtype, type_elements(&array.type),
                array.data);
    return array;
}

bool flight_has_item(const struct devices *d, int64_t device, struct reference r) {
    return layout_has_item(d->program, r.buffer, reference_item(d->program, &r, NULL), device);
}

struct exchange flight_exchange(const struct devices *d, const struct transfer *t,
                                struct reference from, struct reference to) {
    struct exchange exchange = t->exchange;
    struct reference owned = exchange.kind == COLLECTIVE_REDUCE ? to : from;
    if (exchange_has_owner(&exchange))
        exchange.shift = reference_item(d->program, &owned, NULL) %
                         mesh_group_size(&d->program->job->mesh, &exchange.axes);
    return exchange;
}

struct array flight_receive(const struct devices *d, struct arena *scratch,
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
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        sources[device] = flight_load(d, scratch, timing, device, from);
}

// What all devices receive of one piece.
static struct array *receive(const struct devices *d, struct arena *scratch, int timing,
                             const struct transfer *t, struct reference from, struct reference to) {
    struct array *received = ARENA_ARRAY(scratch, struct array, d->n), sources[MAX_DEVICES];
    struct exchange exchange = flight_exchange(d, t, from, to);
    load_all(d, scratch, timing, from, sources);
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        received[device] = flight_receive(d, scratch, &exchange, sources, device, to);
    return received;
}

struct moment flight_moment(const struct flight *flight, const struct devices *d, int64_t device,
                            enum timing timing) {
    return (struct moment){.program = d->program,
                           .statement = flight->start,
                           .variables = flight->variables,
                           .depth = flight->depth,
                           .device = device,
                           .timing = timing};
}

void flight_deliver(struct devices *d, int timing, const struct flight *flight,
                    const struct statement *at, uint32_t piece, int64_t device,
                    const struct array *data, bool keeps) {
    const struct observer *observer = &d->cluster->observer;
    struct reference to = flight->to[piece];
    if (!flight_has_item(d, device, to))
        return;
    struct moment moment = flight_moment(flight, d, device, (enum timing)timing);
    if (observer->arrival)
        observer->arrival(observer->data, &moment, at, piece, data);
    (keeps ? memory_store_over_spoilt : memory_store)(flight_place(d, timing, device, to),
                                                      data->type.dtype, type_elements(&data->type),
                                                      data->data);
}

static void deliver(struct devices *d, int timing, const struct flight *flight,
                    const struct statement *at, uint32_t piece, const struct array *data) {
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        flight_deliver(d, timing, flight, at, piece, device, &data[device], false);
}

// Whether some device fills what it, or others, still read: but an all_reduce in place, or what goes to
// or from an owner, in which every element has its place from the beginning.
static bool fills_sources(const struct devices *d, const struct flight *flight, uint32_t piece) {
    struct reference from = flight->from[piece], to = flight->to[piece];
    struct tensor_type source = buffer_type(d->program, &d->program->buffers[from.buffer]);
    struct tensor_type target = buffer_type(d->program, &d->program->buffers[to.buffer]);
    int64_t read = type_bytes(&source), filled = type_bytes(&target);
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device)) {
        unsigned char *a = flight_place(d, AT_WAIT, device, from);
        unsigned char *b = flight_place(d, AT_WAIT, device, to);
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
        if (!d->memory[AT_WAIT][device])
            continue;
        load_all(d, scratch, AT_WAIT, flight->from[piece], sources);
        struct exchange exchange =
            flight_exchange(d, &flight->start->start, flight->from[piece], flight->to[piece]);
        struct array received =
            flight_receive(d, scratch, &exchange, sources, device, flight->to[piece]);
        flight_deliver(d, AT_WAIT, flight, at, piece, device, &received, false);
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
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        if (flight_has_item(d, device, r))
            memory_spoil(flight_place(d, timing, device, r), type_bytes(&type));
}

static void deliver_held(struct devices *d, struct flight *flight, const struct statement *at) {
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++)
        deliver(d, IN_BETWEEN, flight, at, i, flight->held[i]);
    arena_free(&flight->arena);
}

void item_spoil(struct devices *d, int timing, struct reference r) {
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        if (flight_has_item(d, device, r))
            memory_spoil(flight_place(d, timing, device, r),
                         buffer_item_bytes(d->program, &d->program->buffers[r.buffer]));
}

// Bytes that the transfer will still read are left alone.
static bool is_source(const struct devices *d, const struct flight *flight, uint32_t piece,
                      int64_t device) {
    struct reference to = flight->to[piece];
    unsigned char *begin = flight_place(d, AT_WAIT, device, to);
    unsigned char *end = begin + buffer_item_bytes(d->program, &d->program->buffers[to.buffer]);
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++) {
        struct reference from = flight->from[i];
        unsigned char *place = flight_place(d, AT_WAIT, device, from);
        int64_t bytes = buffer_item_bytes(d->program, &d->program->buffers[from.buffer]);
        if (place < end && begin < place + bytes)
            return true;
    }
    return false;
}

struct flight *flight_in(struct devices *d, uint32_t handle, struct index index,
                         const int64_t *variables) {
    int64_t at = index_at(index, variables);
    for (uint32_t i = 0; i < handle; i++)
        at += d->step->handles[i].slots;
    return &d->flights[at];
}

struct reference reference_fixed(struct reference reference, const int64_t *variables) {
    for (unsigned i = 0; i < MAX_STACKS; i++)
        reference.indices[i] = index_constant(index_at(reference.indices[i], variables));
    return reference;
}

// What is read at the start and arrives at the wait is spoilt in place, too; what is read at the
// wait is not, where it is a source.
void flight_spoil_targets(struct devices *d, const struct flight *flight) {
    bool receives = flight->start->start.exchange.kind == COLLECTIVE_RECEIVE;
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++) {
        spoil_elements(d, IN_BETWEEN, flight->to[i]);
        if (receives || !is_source(d, flight, i, devices_next(d, -1)))
            item_spoil(d, AT_WAIT, flight->to[i]);
        if (flight->of) // it may arrive at once, or later
            spoil_elements(d, AT_START, flight->to[i]);
    }
}

bool transfer_start(struct devices *d, const struct statement *statement, const int64_t *variables,
                    int depth) {
    const struct transfer *t = &statement->start;
    struct flight *flight = flight_in(d, t->handle, t->handle_index, variables);
    if (flight->start)
        return devices_stuck(d, statement->span, "a start whose handle is still on its way");
    *flight =
        (struct flight){statement, ARENA_ARRAY(d->arena, struct reference, t->n_pieces + 1),
                        ARENA_ARRAY(d->arena, struct reference, t->n_pieces + 1), .depth = depth};
    memcpy(flight->variables, variables, sizeof flight->variables);
    for (uint32_t i = 0; i < t->n_pieces; i++) {
        flight->from[i] = reference_fixed(t->pieces[i].from, variables);
        flight->to[i] = reference_fixed(t->pieces[i].to, variables);
    }
    if (devices_meet_others(d, &t->exchange))
        return between_start(d, flight);
    perform(d, flight, statement, AT_START);
    hold(d, flight);
    flight_spoil_targets(d, flight);
    return true;
}

bool transfer_wait(struct devices *d, const struct statement *statement, const int64_t *variables) {
    struct flight *flight = flight_in(d, statement->wait.handle, statement->wait.index, variables);
    if (!flight->start)
        return devices_stuck(d, statement->span, "a wait for what was not started");
    if (flight->of) {
        between_end(flight, statement);
    } else {
        perform(d, flight, statement, AT_WAIT);
        deliver_held(d, flight, statement);
    }
    flight->start = NULL;
    return true;
}
