// See flights.h: what the parts of a job give each other.
//
//   message   Devices of two parts that are alike along all axes but the parts'. From one number
//             along these to another, the first receive gets what the first send gives. A receive
//             can be waited for once the send is started, a send once the receive was waited for:
//             nothing is kept in between.
//   meeting   A collective over the parts' axes. Each part starts its own half; those over equal
//             axes are matched in the order of starts. It is over when all have started it, and those
//             with devices in a group wait for it.
//
// What is read at starts arrives as soon as both ends are there. If it could have been there before
// in another order of the parts, what was written into its place since the start would have been
// written over it: so such elements stay (AT_START). What is read at waits is read when nobody can
// do anything else (cluster.c), so that whatever may overwrite it has done so (AT_WAIT).
#include <string.h>

#include "ir/check.h"
#include "tests/oracle/flights.h"

struct message {
    int64_t from, to;              // numbers along the parts' axes
    struct flight *send, *receive; // NULL: not started yet; of no use when it is taken
    struct array **early;          // what was read AT_START, of every piece and device
    bool taken;                    // the receive was waited for
    struct span started;           // the first end
};
struct channel {
    struct message **list;
    uint32_t n, cap, n_sent, n_received;
};
struct meeting {
    struct axis_list axes;
    struct flight **flights; // of every part; NULL: it has not come
    struct array **early;    // as of a message
    bool *waits;             // of every part: it has come to its wait
    uint32_t n_started;
    bool read;
    struct array **late, **held; // what arrives AT_WAIT and IN_BETWEEN, by piece and device
};
struct between {
    struct arena *arena;
    int64_t n;                 // devices along the parts' axes
    struct channel *channels;  // [from * n + to]
    struct meeting **meetings; // all of the step
    uint32_t n_meetings, cap_meetings;
};

struct between *between_new(struct arena *arena, struct cluster *c) {
    struct between *b = ARENA_NEW(arena, struct between);
    int64_t n = mesh_group_size(&c->job->mesh, &c->parts[0].program->part.axes);
    *b = (struct between){
        .arena = arena, .n = n, .channels = ARENA_ARRAY(arena, struct channel, n * n)};
    return b;
}

bool devices_meet_others(const struct devices *d, const struct exchange *exchange) {
    return d->cluster->n_parts > 1 &&
           axis_list_mask(&exchange->axes) & axis_list_mask(&d->program->part.axes);
}

static struct devices *part_of(struct cluster *c, int64_t device) {
    struct devices *d = c->parts;
    while (!d->memory[AT_START][device])
        d++;
    return d;
}

static bool is_send(const struct flight *flight) {
    return flight->start->start.exchange.kind == COLLECTIVE_SEND;
}

static struct array **read_own(struct devices *d, struct arena *arena, int timing,
                               const struct flight *flight) {
    uint32_t n = flight->start->start.n_pieces;
    struct array **read = ARENA_ARRAY(arena, struct array *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        read[i] = ARENA_ARRAY(arena, struct array, d->n);
        for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
            read[i][device] = flight_load(d, arena, timing, device, flight->from[i]);
    }
    return read;
}

// What is read at the start, of which the observer is told.
static struct array **give(struct devices *d, const struct flight *flight) {
    const struct observer *observer = &d->cluster->observer;
    struct array **read = read_own(d, d->cluster->between->arena, AT_START, flight);
    for (uint32_t i = 0; i < flight->start->start.n_pieces && observer->departure; i++)
        for (int64_t device = devices_next(d, -1); device < d->n;
             device = devices_next(d, device)) {
            struct moment moment = flight_moment(flight, d, device, AT_START);
            observer->departure(observer->data, &moment, i, &read[i][device]);
        }
    return read;
}

static bool same_piece(const struct flight *a, struct reference of_a, const struct flight *b,
                       struct reference of_b) {
    struct tensor_type x = buffer_type(a->of->program, &a->of->program->buffers[of_a.buffer]);
    struct tensor_type y = buffer_type(b->of->program, &b->of->program->buffers[of_b.buffer]);
    return x.dtype == y.dtype && type_elements(&x) == type_elements(&y);
}

// ---- messages ---------------------------------------------------------------------------------

// The device that has another number along these axes, and otherwise the same.
static int64_t other_end(const struct mesh *mesh, const struct axis_list *axes, int64_t device,
                         int64_t number) {
    struct axis_list others = {0};
    for (unsigned i = 0; i < mesh->n_axes; i++)
        if (!axis_list_has(axes, i))
            axis_list_add(&others, i);
    int64_t other = 0;
    while (mesh_part_of(mesh, other, axes) != number ||
           mesh_part_of(mesh, other, &others) != mesh_part_of(mesh, device, &others))
        other++;
    return other;
}

// The first device of a part from `device` on that has the number along the parts' axes.
static int64_t next_of(const struct devices *d, int64_t device, int64_t number) {
    do
        device = devices_next(d, device);
    while (device < d->n &&
           mesh_part_of(&d->program->job->mesh, device, &d->program->part.axes) != number);
    return device;
}

static bool ends_agree(const struct message *message) {
    const struct flight *send = message->send, *receive = message->receive;
    if (send->start->start.n_pieces != receive->start->start.n_pieces)
        return false;
    for (uint32_t i = 0; i < send->start->start.n_pieces; i++)
        if (!same_piece(send, send->from[i], receive, receive->to[i]))
            return false;
    return true;
}

static void arrive(const struct message *message, int timing, struct array **read,
                   const struct statement *at, bool keeps) {
    const struct flight *receive = message->receive;
    struct devices *to = receive->of;
    const struct axis_list *axes = &to->program->part.axes;
    for (int64_t device = next_of(to, -1, message->to); device < to->n;
         device = next_of(to, device, message->to)) {
        int64_t from = other_end(&to->program->job->mesh, axes, device, message->from);
        for (uint32_t i = 0; i < receive->start->start.n_pieces; i++)
            flight_deliver(to, timing, receive, at, i, device, &read[i][from], keeps);
    }
}

static struct message *next_message(struct between *b, bool sends, int64_t from, int64_t to) {
    struct channel *channel = &b->channels[from * b->n + to];
    uint32_t number = sends ? channel->n_sent++ : channel->n_received++;
    if (number == channel->n) {
        struct message *made = ARENA_NEW(b->arena, struct message);
        *made = (struct message){.from = from, .to = to};
        ARENA_PUSH(b->arena, channel->list, channel->n, channel->cap, made);
    }
    return channel->list[number];
}

static bool join_message(struct devices *d, struct flight *flight, struct message *message,
                         struct array **early) {
    if (is_send(flight)) {
        message->send = flight;
        message->early = early;
    } else {
        message->receive = flight;
    }
    if (!message->send || !message->receive) {
        message->started = flight->start->span;
        return true;
    }
    if (!ends_agree(message)) {
        devices_stuck(d, flight->start->span, "the ends of a message do not agree");
        return devices_stuck(d, message->started, d->cluster->stuck);
    }
    arrive(message, AT_START, message->early, message->receive->start, true);
    return true;
}

static bool start_message(struct devices *d, struct flight *flight) {
    const struct mesh_part *part = &d->program->part;
    struct between *b = d->cluster->between;
    int64_t peer = flight->start->start.exchange.peer;
    struct array **early = NULL;
    bool sends = is_send(flight), agree = true;
    flight->messages = ARENA_ARRAY(b->arena, struct message *, part->end - part->begin);
    if (sends) {
        early = give(d, flight);
        flight->held = read_own(d, &flight->arena, IN_BETWEEN, flight);
    } else {
        flight_spoil_targets(d, flight);
    }
    for (int64_t own = part->begin; own < part->end && agree; own++) {
        struct message *message = next_message(b, sends, sends ? own : peer, sends ? peer : own);
        flight->messages[own - part->begin] = message;
        agree = join_message(d, flight, message, early);
    }
    return agree;
}

static void take_message(struct message *message, const struct statement *wait) {
    struct arena scratch = {0};
    struct flight *send = message->send;
    arrive(message, AT_WAIT, read_own(send->of, &scratch, AT_WAIT, send), wait, false);
    arrive(message, IN_BETWEEN, send->held, wait, false);
    message->taken = true;
    arena_free(&scratch);
}

// ---- meetings ---------------------------------------------------------------------------------

static struct meeting *meeting_to_join(struct devices *d, const struct axis_list *axes) {
    struct between *b = d->cluster->between;
    for (uint32_t i = 0; i < b->n_meetings; i++)
        if (axis_list_equal(&b->meetings[i]->axes, axes) && !b->meetings[i]->flights[d->side])
            return b->meetings[i];
    struct meeting *made = ARENA_NEW(b->arena, struct meeting);
    *made = (struct meeting){.axes = *axes};
    made->flights = ARENA_ARRAY(b->arena, struct flight *, d->cluster->n_parts);
    made->waits = ARENA_ARRAY(b->arena, bool, d->cluster->n_parts);
    ARENA_PUSH(b->arena, b->meetings, b->n_meetings, b->cap_meetings, made);
    return made;
}

static bool same_exchange(const struct exchange *a, const struct exchange *b) {
    return a->kind == b->kind && axis_list_equal(&a->axes, &b->axes) && a->dim == b->dim &&
           a->concat_dim == b->concat_dim && a->shift == b->shift && a->operation == b->operation;
}

// Ranks find each other by the handle and its slot.
static bool halves_agree(const struct flight *a, const struct flight *b) {
    const struct transfer *x = &a->start->start, *y = &b->start->start;
    if (strcmp(a->of->step->handles[x->handle].name, b->of->step->handles[y->handle].name) != 0 ||
        index_at(x->handle_index, a->variables) != index_at(y->handle_index, b->variables) ||
        !same_exchange(&x->exchange, &y->exchange) || x->n_pieces != y->n_pieces)
        return false;
    for (uint32_t i = 0; i < x->n_pieces; i++)
        if (!same_piece(a, a->from[i], b, b->from[i]) || !same_piece(a, a->to[i], b, b->to[i]))
            return false;
    return true;
}

// What each device gets of what all hold, or held, by piece and device.
static struct array **exchange_all(struct cluster *c, const struct meeting *meeting,
                                   struct array **sources) {
    struct arena *arena = c->between->arena;
    uint32_t n = meeting->flights[0]->start->start.n_pieces;
    struct array **received = ARENA_ARRAY(arena, struct array *, n + 1);
    int64_t devices = mesh_devices(&c->job->mesh);
    for (uint32_t i = 0; i < n; i++) {
        received[i] = ARENA_ARRAY(arena, struct array, devices);
        for (int64_t device = 0; device < devices; device++) {
            struct devices *d = part_of(c, device);
            const struct flight *flight = meeting->flights[d->side];
            struct exchange exchange =
                flight_exchange(d, &flight->start->start, flight->from[i], flight->to[i]);
            received[i][device] =
                flight_receive(d, arena, &exchange, sources[i], device, flight->to[i]);
        }
    }
    return received;
}

static void gather_sources(struct array **all, const struct devices *d, uint32_t n_pieces,
                           struct array **own) {
    for (uint32_t i = 0; i < n_pieces; i++)
        for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
            all[i][device] = own[i][device];
}

static struct array **new_sources(struct between *b, int64_t devices, uint32_t n_pieces) {
    struct array **all = ARENA_ARRAY(b->arena, struct array *, n_pieces + 1);
    for (uint32_t i = 0; i < n_pieces; i++)
        all[i] = ARENA_ARRAY(b->arena, struct array, devices);
    return all;
}

static void deliver_to(const struct flight *flight, int timing, struct array **received,
                       const struct statement *at, bool keeps) {
    struct devices *d = flight->of;
    for (uint32_t i = 0; i < flight->start->start.n_pieces; i++)
        for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
            flight_deliver(d, timing, flight, at, i, device, &received[i][device], keeps);
}

static bool start_meeting(struct devices *d, struct flight *flight) {
    struct cluster *c = d->cluster;
    struct between *b = c->between;
    struct meeting *meeting = meeting_to_join(d, &flight->start->start.exchange.axes);
    uint32_t n = flight->start->start.n_pieces;
    flight->meeting = meeting;
    meeting->flights[d->side] = flight;
    for (uint32_t i = 0; i < c->n_parts; i++)
        if (meeting->flights[i] && !halves_agree(flight, meeting->flights[i])) {
            devices_stuck(d, flight->start->span, "parts come to different collectives");
            return devices_stuck(d, meeting->flights[i]->start->span, c->stuck);
        }
    if (!meeting->early)
        meeting->early = new_sources(b, d->n, n);
    gather_sources(meeting->early, d, n, give(d, flight));
    flight->held = read_own(d, b->arena, IN_BETWEEN, flight);
    flight_spoil_targets(d, flight);
    if (++meeting->n_started < c->n_parts)
        return true;
    struct array **received = exchange_all(c, meeting, meeting->early);
    for (uint32_t i = 0; i < c->n_parts; i++)
        deliver_to(meeting->flights[i], AT_START, received, meeting->flights[i]->start, true);
    return true;
}

// The first that waits reads for all: who comes later may find that others have gone on.
static void read_meeting(struct cluster *c, struct meeting *meeting) {
    uint32_t n = meeting->flights[0]->start->start.n_pieces;
    struct array **late = new_sources(c->between, mesh_devices(&c->job->mesh), n);
    struct array **held = new_sources(c->between, mesh_devices(&c->job->mesh), n);
    for (uint32_t i = 0; i < c->n_parts; i++) {
        struct flight *flight = meeting->flights[i];
        gather_sources(late, flight->of, n,
                       read_own(flight->of, c->between->arena, AT_WAIT, flight));
        gather_sources(held, flight->of, n, flight->held);
    }
    meeting->late = exchange_all(c, meeting, late);
    meeting->held = exchange_all(c, meeting, held);
    meeting->read = true;
}

// ---- both -------------------------------------------------------------------------------------

bool between_start(struct devices *d, struct flight *flight) {
    flight->of = d;
    return exchange_is_message(&flight->start->start.exchange) ? start_message(d, flight)
                                                               : start_meeting(d, flight);
}

// Whether some device of one part is in a group with one of another's.
static bool are_in_a_group(const struct devices *a, const struct devices *b,
                           const struct axis_list *axes) {
    const struct mesh *mesh = &a->program->job->mesh;
    struct axis_list others = {0};
    for (unsigned i = 0; i < mesh->n_axes; i++)
        if (!axis_list_has(axes, i))
            axis_list_add(&others, i);
    for (int64_t i = devices_next(a, -1); i < a->n; i = devices_next(a, i))
        for (int64_t k = devices_next(b, -1); k < b->n; k = devices_next(b, k))
            if (mesh_part_of(mesh, i, &others) == mesh_part_of(mesh, k, &others))
                return true;
    return false;
}

static bool all_wait(const struct devices *d, const struct meeting *meeting) {
    const struct cluster *c = d->cluster;
    bool all = meeting->n_started == c->n_parts;
    for (uint32_t i = 0; i < c->n_parts && all; i++)
        all = meeting->waits[i] || !are_in_a_group(d, &c->parts[i], &meeting->axes);
    return all;
}

bool between_is_ready(const struct flight *flight, bool *takes) {
    const struct mesh_part *part = &flight->of->program->part;
    bool ready = true;
    if (flight->meeting) {
        *takes = !flight->meeting->read;
        flight->meeting->waits[flight->of->side] = true;
        return all_wait(flight->of, flight->meeting);
    }
    *takes = !is_send(flight);
    for (int64_t i = 0; i < part->end - part->begin; i++)
        ready &= *takes ? flight->messages[i]->send != NULL : flight->messages[i]->taken;
    return ready;
}

void between_end(struct flight *flight, const struct statement *wait) {
    const struct mesh_part *part = &flight->of->program->part;
    struct meeting *meeting = flight->meeting;
    if (meeting) {
        if (!meeting->read)
            read_meeting(flight->of->cluster, meeting);
        deliver_to(flight, AT_WAIT, meeting->late, wait, false);
        deliver_to(flight, IN_BETWEEN, meeting->held, wait, false);
        return;
    }
    for (int64_t i = 0; i < part->end - part->begin && !is_send(flight); i++)
        take_message(flight->messages[i], wait);
    arena_free(&flight->arena);
}

bool between_is_over(struct cluster *c) {
    struct between *b = c->between;
    for (int64_t i = 0; i < b->n * b->n; i++) {
        const struct channel *channel = &b->channels[i];
        if (channel->n_sent != channel->n_received) // the first that has one end alone
            return devices_stuck(
                &c->parts[0],
                channel
                    ->list[channel->n_sent < channel->n_received ? channel->n_sent
                                                                 : channel->n_received]
                    ->started,
                "a message that has one end");
    }
    for (uint32_t i = 0; i < b->n_meetings; i++)
        for (uint32_t k = 0; k < c->n_parts; k++)
            if (b->meetings[i]->flights[k] && b->meetings[i]->n_started < c->n_parts)
                return devices_stuck(&c->parts[k], b->meetings[i]->flights[k]->start->span,
                                     "a collective to which not all parts come");
    return true;
}
