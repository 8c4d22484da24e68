// What is between parts; see sides.h.
#include "verify/machine/sides.h"

#include <inttypes.h>
#include <string.h>

#include "ir/check.h"

#include "verify/rules/rules.h"

static const struct mesh_part *part_of_side(const struct abstract_machine *m) {
    return &m->program->part;
}

static int64_t n_devices(const struct sides *sides) {
    return mesh_group_size(&sides->machines[0].program->job->mesh,
                           &part_of_side(&sides->machines[0])->axes);
}

struct sides *sides_new(struct arena *arena, struct abstract_machine *machines, uint32_t n) {
    struct sides *sides = ARENA_NEW(arena, struct sides);
    *sides = (struct sides){.arena = arena,
                            .machines = machines,
                            .n = n,
                            .contents = contents_new(arena),
                            .memo.keys.arena = arena};
    for (uint32_t i = 0; i < n; i++) {
        machines[i].sides = sides;
        machines[i].side = i;
    }
    sides_begin(sides);
    return sides;
}

void sides_forget(struct sides *sides) {
    for (uint32_t i = 0; i < sides->n; i++)
        sides->machines[i].passing = (struct memo){0};
    sides->passing = (struct memo){0};
    arena_reuse(&sides->passing_memory);
}

void sides_free(struct sides *sides) {
    sides_forget(sides);
    arena_free(&sides->passing_memory);
    for (int i = 0; i < 2; i++)
        arena_free(&sides->states[i]);
}

// The most handles that any of its steps has.
static uint32_t most_handles(const struct program *program) {
    uint32_t n = 0;
    for (int s = 0; s < N_STEPS; s++)
        n = program->steps[s].n_handles > n ? program->steps[s].n_handles : n;
    return n;
}

void sides_begin(struct sides *sides) {
    if (sides->n > 1) {
        sides_free(sides);
        sides->machines[0].world->states = &sides->states[0];
        sides->in_use = 0;
    }
    sides->channels = ARENA_ARRAY(sides->arena, struct channels, n_devices(sides) + 1);
    sides->ends = ARENA_ARRAY(sides->arena, struct ends *, sides->n);
    for (uint32_t i = 0; i < sides->n; i++)
        sides->ends[i] =
            ARENA_ARRAY(sides->arena, struct ends, most_handles(sides->machines[i].program) + 1);
    sides->n_open = sides->n_groups = 0;
    sides->lenient = false;
}

bool sides_exchange(const struct abstract_machine *m, const struct exchange *exchange) {
    return m->sides && axis_list_mask(&exchange->axes) & axis_list_mask(&part_of_side(m)->axes);
}

struct exchange sides_own_exchange(const struct abstract_machine *m,
                                   const struct exchange *exchange) {
    struct exchange own = *exchange;
    own.axes = axis_list_without(&exchange->axes, &part_of_side(m)->axes);
    return own;
}

static uint32_t side_of_device(const struct sides *sides, int64_t device) {
    uint32_t i = 0;
    while (device >= part_of_side(&sides->machines[i])->end)
        i++;
    return i;
}

// ---- messages ---------------------------------------------------------------------------------

static struct channel *channel_between(struct sides *sides, int64_t from, int64_t to) {
    struct channels *all = &sides->channels[from];
    for (uint32_t i = 0; i < all->n; i++)
        if (all->list[i]->to == to)
            return all->list[i];
    struct channel *made = ARENA_NEW(sides->arena, struct channel);
    made->to = (uint32_t)to;
    ARENA_PUSH(sides->arena, all->list, all->n, all->cap, made);
    return made;
}

static struct message *message_of(struct sides *sides, struct channel *channel, uint32_t number) {
    while (channel->n_ended + channel->n <= number)
        ARENA_PUSH(sides->arena, channel->list, channel->n, channel->cap, (struct message){0});
    return &channel->list[number - channel->n_ended];
}

enum { MOST_ENDED = 64 }; // what a task has just received may still be asked for (repeat.c)

static bool is_over(const struct message *message) {
    return message->taken && message->left;
}

static void drop_ended(struct channel *channel) {
    while (channel->n_over < channel->n && is_over(&channel->list[channel->n_over]))
        channel->n_over++;
    if (channel->n_over <= MOST_ENDED ||
        channel->n_over <= channel->n / 2) // what is not over is moved seldom
        return;
    uint32_t n = channel->n_over - MOST_ENDED / 2;
    channel->n_over -= n;
    channel->n_ended += n;
    channel->n -= n;
    memmove(channel->list, channel->list + n, channel->n * sizeof *channel->list);
}

static bool is_send(const struct statement *start) {
    return start->start.exchange.kind == COLLECTIVE_SEND;
}

// The channel of a message between the device of the part and its peer.
static struct channel *channel_of(const struct abstract_machine *m, const struct statement *start,
                                  int64_t device) {
    int64_t peer = start->start.exchange.peer;
    return is_send(start) ? channel_between(m->sides, device, peer)
                          : channel_between(m->sides, peer, device);
}

static const struct tensor_type *piece_type(const struct abstract_machine *m,
                                            const struct statement *start, uint32_t i, bool gives) {
    const struct transfer_piece *piece = &start->start.pieces[i];
    return &m->types[gives ? piece->from.buffer : piece->to.buffer];
}

static const struct fault *unlike_fault(struct abstract_machine *m, const struct statement *here,
                                        const struct statement *there, const char *what) {
    struct fault *fault = fault_make(m->proof, E518, here->span, NULL, "%s", what);
    fault_also(fault, there->span, "the other is started here");
    fault_insist(m->proof, fault);
    return fault;
}

// What the two ends differ in; NULL: nothing.
static const char *message_difference(struct abstract_machine *m, const struct message *message) {
    const struct transfer *send = &message->send->start, *receive = &message->receive->start;
    struct arena *arena = m->world->arena;
    if (send->n_pieces != receive->n_pieces)
        return arena_format(arena, "this message has %u pieces at its other end, and %u here",
                            m == message->to ? send->n_pieces : receive->n_pieces,
                            m == message->to ? receive->n_pieces : send->n_pieces);
    for (uint32_t i = 0; i < send->n_pieces; i++) {
        const struct tensor_type *sent = piece_type(message->from, message->send, i, true);
        const struct tensor_type *received = piece_type(message->to, message->receive, i, false);
        if (!type_equal(sent, received))
            return arena_format(arena, "%s is sent where %s is received",
                                tensor_type_text(arena, sent), tensor_type_text(arena, received));
    }
    return NULL;
}

static void start_message(struct abstract_machine *m, const struct statement *start,
                          const struct judgement *given, struct token token, struct end *end) {
    const struct mesh_part *part = part_of_side(m);
    for (int64_t device = part->begin; device < part->end; device++) {
        struct channel *channel = channel_of(m, start, device);
        if (device == part->begin)
            end->channel = channel;
        end->number = is_send(start) ? channel->n_sent++ : channel->n_received++;
        struct message *message = message_of(m->sides, channel, end->number);
        if (is_send(start)) {
            message->send = start;
            message->from = m;
            message->values = given;
            message->token = token;
        } else {
            message->receive = start;
            message->to = m;
        }
        const char *why = message->send && message->receive ? message_difference(m, message) : NULL;
        if (why)
            message->wrong =
                unlike_fault(m, start, is_send(start) ? message->receive : message->send, why);
    }
}

static struct channel *channel_at(const struct abstract_machine *m, const struct end *end,
                                  int64_t device) {
    return device == part_of_side(m)->begin ? end->channel : channel_of(m, end->start, device);
}

static struct message *message_at(const struct abstract_machine *m, const struct end *end,
                                  int64_t device) {
    return message_of(m->sides, channel_at(m, end, device), end->number);
}

static struct judgement message_value(const struct abstract_machine *m,
                                      const struct message *message, uint32_t i) {
    if (message->wrong)
        return judgement_fault(message->wrong);
    return message->values ? message->values[i]
                           : contents_value(m->sides->contents, m->world, message->token, i);
}

struct message *sides_message(const struct abstract_machine *m, const struct statement *receive,
                              int32_t ahead) {
    CHECK(part_of_side(m)->end - part_of_side(m)->begin == 1);
    const struct channel *channel = channel_of(m, receive, part_of_side(m)->begin);
    uint32_t number = channel->n_received + (uint32_t)ahead - channel->n_ended;
    return number < channel->n ? &channel->list[number] : NULL;
}

struct message *sides_sent(const struct abstract_machine *m, const struct end *end) {
    return message_at(m, end, part_of_side(m)->begin);
}

struct token sides_token(const struct abstract_machine *m, struct message *message) {
    if (message->wrong)
        return (struct token){0};
    if (message->token.content == NO_CONTENT)
        message->token = contents_of_values(m->sides->contents, m->world, message->values,
                                            message->send->start.n_pieces);
    return message->token;
}

bool sides_can_receive(struct abstract_machine *m, const struct message *message,
                       const struct statement *receive) {
    struct message both = *message;
    both.receive = receive;
    both.to = m;
    return !message_difference(m, &both);
}

// Whether two devices of a part are given the same.
static bool given_alike(const struct judgement *a, const struct judgement *b) {
    return judgement_alike(a, b) &&
           (a->fault || (scaled_equal(a->value, b->value) && a->microbatch == b->microbatch));
}

static struct judgement received(struct abstract_machine *m, const struct end *end, uint32_t i) {
    const struct mesh_part *part = part_of_side(m);
    struct judgement first = message_value(m, message_at(m, end, part->begin), i);
    for (int64_t device = part->begin + 1; device < part->end; device++) {
        struct judgement other = message_value(m, message_at(m, end, device), i);
        if (!given_alike(&first, &other))
            return judgement_fault(fault_make(m->proof, E518, end->start->span, NULL,
                                              "devices of part `%s` receive different values",
                                              part->name));
    }
    return first;
}

// ---- meetings ---------------------------------------------------------------------------------

static struct group *group_of(struct sides *sides, const struct axis_list *axes) {
    for (uint32_t i = 0; i < sides->n_groups; i++)
        if (axis_list_equal(&sides->groups[i]->axes, axes))
            return sides->groups[i];
    struct group *made = ARENA_NEW(sides->arena, struct group);
    *made = (struct group){*axes, ARENA_ARRAY(sides->arena, uint32_t, sides->n)};
    ARENA_PUSH(sides->arena, sides->groups, sides->n_groups, sides->cap_groups, made);
    return made;
}

static struct meeting *meeting_to_join(const struct abstract_machine *m,
                                       const struct axis_list *axes) {
    struct sides *sides = m->sides;
    struct group *group = group_of(sides, axes);
    uint32_t number = group->n_started[m->side]++;
    for (uint32_t i = 0; i < sides->n_open; i++)
        if (sides->open[i]->group == group && sides->open[i]->number == number)
            return sides->open[i];
    struct meeting *made = ARENA_NEW(sides->arena, struct meeting);
    *made = (struct meeting){
        .group = group,
        .number = number,
        .starts = ARENA_ARRAY(sides->arena, const struct statement *, sides->n),
        .slots = ARENA_ARRAY(sides->arena, int32_t, sides->n),
        .members = ARENA_ARRAY(sides->arena, const bool *, sides->n),
        .waits = ARENA_ARRAY(sides->arena, bool, sides->n),
        .given = ARENA_ARRAY(sides->arena, const struct judgement *, sides->n),
    };
    ARENA_PUSH(sides->arena, sides->open, sides->n_open, sides->cap_open, made);
    return made;
}

static const char *handle_name(const struct abstract_machine *m, const struct statement *start) {
    return m->cursor->step->handles[start->start.handle].name;
}

// The axes are those of their group, and what is not an all_reduce is refused by itself.
static bool same_exchange(const struct exchange *a, const struct exchange *b) {
    return a->kind == b->kind && a->operation == b->operation;
}

static const char *meeting_difference(struct abstract_machine *m, const struct meeting *meeting,
                                      const struct abstract_machine *other) {
    const struct statement *start = meeting->starts[m->side],
                           *theirs = meeting->starts[other->side];
    const struct transfer *here = &start->start, *there = &theirs->start;
    struct arena *arena = m->world->arena;
    const char *name = part_of_side(other)->name;
    if (strcmp(handle_name(m, start), handle_name(other, theirs)) != 0 ||
        meeting->slots[m->side] != meeting->slots[other->side])
        return arena_format(arena,
                            "part `%s` comes to another collective, `%s[%d]`, before or instead of "
                            "this",
                            name, handle_name(other, theirs), meeting->slots[other->side]);
    if (!same_exchange(&here->exchange, &there->exchange))
        return arena_format(arena, "part `%s` comes to this with another collective", name);
    if (here->n_pieces != there->n_pieces)
        return arena_format(arena, "part `%s` comes to this with %u pieces, and this has %u", name,
                            there->n_pieces, here->n_pieces);
    for (uint32_t i = 0; i < here->n_pieces; i++)
        if (!type_equal(piece_type(m, start, i, true), piece_type(other, theirs, i, true)))
            return arena_format(arena, "part `%s` comes to this with %s, and this has %s", name,
                                tensor_type_text(arena, piece_type(other, theirs, i, true)),
                                tensor_type_text(arena, piece_type(m, start, i, true)));
    return NULL;
}

// The first part that has not started it, or else, of those with which this one has groups, has not come to its wait;
// behind the last: none.
static uint32_t first_absent(const struct abstract_machine *m, const struct meeting *meeting) {
    const struct sides *sides = m->sides;
    bool started = meeting->n_started == sides->n;
    uint32_t i = 0;
    while (i < sides->n &&
           (!started ? meeting->starts[i] != NULL
                     : sides->lenient || meeting->waits[i] || !meeting->members[m->side][i]))
        i++;
    return i;
}

static void close_meeting(struct sides *sides, const struct meeting *meeting) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < sides->n_open; i++)
        if (sides->open[i] != meeting)
            sides->open[n++] = sides->open[i];
    sides->n_open = n;
}

// How many devices of each part are in the group of this device: those that have its numbers along
// the parts' axes over which the collective is not.
static void count_members(const struct abstract_machine *m, const struct exchange *exchange,
                          int64_t device, int64_t *members) {
    const struct sides *sides = m->sides;
    const struct axis_list *axes = &part_of_side(m)->axes;
    const struct mesh *mesh = &m->program->job->mesh;
    memset(members, 0, sides->n * sizeof *members);
    for (int64_t other = 0, n = n_devices(sides); other < n; other++) {
        int64_t a = device, b = other;
        bool member = true;
        for (unsigned i = axes->n; i-- > 0;) {
            int64_t size = mesh->axes[axes->axes[i]].size;
            member =
                member && (axis_list_has(&exchange->axes, axes->axes[i]) || a % size == b % size);
            a /= size;
            b /= size;
        }
        members[side_of_device(sides, other)] += member;
    }
}

static const bool *members_of(const struct abstract_machine *m, const struct exchange *exchange) {
    const struct mesh_part *part = part_of_side(m);
    uint32_t n = m->sides->n;
    bool *members = ARENA_ARRAY(m->sides->arena, bool, n);
    int64_t *devices = ARENA_ARRAY(m->sides->arena, int64_t, n);
    for (int64_t device = part->begin; device < part->end; device++) {
        count_members(m, exchange, device, devices);
        for (uint32_t i = 0; i < n; i++)
            members[i] |= devices[i] > 0;
    }
    return members;
}

static void start_meeting(struct abstract_machine *m, const struct statement *start, int32_t slot,
                          const struct judgement *given, struct end *end) {
    struct meeting *meeting = meeting_to_join(m, &start->start.exchange.axes);
    struct sides *sides = m->sides;
    meeting->starts[m->side] = start;
    meeting->slots[m->side] = slot;
    meeting->given[m->side] = given;
    if (!meeting->brought)
        meeting->brought = ARENA_ARRAY(sides->arena, struct brought, start->start.n_pieces);
    meeting->members[m->side] = members_of(m, &start->start.exchange);
    for (uint32_t i = 0; i < sides->n && !meeting->wrong; i++) {
        const struct statement *theirs = meeting->starts[i];
        const char *why =
            theirs && i != m->side ? meeting_difference(m, meeting, &sides->machines[i]) : NULL;
        if (why)
            meeting->wrong = unlike_fault(m, start, theirs, why);
    }
    if (++meeting->n_started == sides->n)
        close_meeting(sides, meeting);
    end->meeting = meeting;
}

// What one part gets of a piece is what all do that have the same members. A fault is told at each part's own start.
static struct judgement meet(struct abstract_machine *m, const struct end *end, uint32_t i,
                             struct given given, const int64_t *members) {
    const struct exchange *exchange = &end->start->start.exchange;
    struct brought *brought = &end->meeting->brought[i];
    if (brought->members && !brought->value.fault && !m->proof->history &&
        memcmp(brought->members, members, given.n * sizeof *members) == 0)
        return brought->value;
    struct builder builder = statement_builder(m);
    uint32_t axes = (uint32_t)axis_list_mask(&part_of_side(m)->axes); // all parts are over these
    struct judgement value = meeting_apply(m->proof, &builder, exchange, axes, given.list, members,
                                           given.n, end->start->span);
    *brought = (struct brought){members, value};
    return value;
}

static struct judgement met(struct abstract_machine *m, const struct end *end, uint32_t i,
                            struct given given) {
    const struct meeting *meeting = end->meeting;
    const struct exchange *exchange = &end->start->start.exchange;
    const struct mesh_part *part = part_of_side(m);
    uint32_t n = m->sides->n;
    struct arena *arena = m->world->arena;
    int64_t *members = ARENA_ARRAY(arena, int64_t, n), *others = ARENA_ARRAY(arena, int64_t, n);
    if (meeting->wrong)
        return judgement_fault(meeting->wrong);
    count_members(m, exchange, part->begin, members);
    for (int64_t device = part->begin + 1; device < part->end; device++) {
        count_members(m, exchange, device, others);
        if (memcmp(members, others, n * sizeof *members) != 0)
            return judgement_fault(fault_make(m->proof, E518, end->start->span, NULL,
                                              "devices of part `%s` are in groups of other parts",
                                              part->name));
    }
    return meet(m, end, i, given, members);
}

// ---- ends -------------------------------------------------------------------------------------

void sides_start(struct abstract_machine *m, const struct statement *start, int32_t slot,
                 const struct judgement *given, struct token token) {
    struct ends *ends = &m->sides->ends[m->side][start->start.handle];
    struct end end = {.handle = start->start.handle, .slot = slot, .start = start};
    struct end *left = sides_end(m, end.handle, slot);
    if (left) // in vain, as was told
        *left = ends->list[--ends->n];
    if (exchange_is_message(&start->start.exchange))
        start_message(m, start, given, token, &end);
    else
        start_meeting(m, start, slot, given, &end);
    ARENA_PUSH(m->sides->arena, ends->list, ends->n, ends->cap, end);
}

void sides_take(struct abstract_machine *m, const struct statement *receive) {
    CHECK(part_of_side(m)->end - part_of_side(m)->begin == 1);
    struct channel *channel = channel_of(m, receive, part_of_side(m)->begin);
    struct message *message = message_of(m->sides, channel, channel->n_received++);
    message->receive = receive;
    message->to = m;
    message->taken = true;
}

struct end *sides_end(const struct abstract_machine *m, uint32_t handle, int32_t slot) {
    const struct ends *ends = m->sides ? &m->sides->ends[m->side][handle] : NULL;
    for (uint32_t i = 0; ends && i < ends->n; i++)
        if (ends->list[i].slot == slot)
            return &ends->list[i];
    return NULL;
}

bool sides_are_there(const struct abstract_machine *m, const struct end *end) {
    const struct mesh_part *part = part_of_side(m);
    bool there = true;
    if (end->meeting)
        return first_absent(m, end->meeting) == m->sides->n;
    for (int64_t device = part->begin; there && device < part->end; device++) {
        const struct message *message = message_at(m, end, device);
        bool taken = message->taken || (m->sides->lenient && message->receive);
        there = is_send(end->start) ? taken : message->send != NULL;
    }
    return there;
}

bool sides_come(struct abstract_machine *m, const struct end *end) {
    if (end->meeting)
        end->meeting->waits[m->side] = true;
    return sides_are_there(m, end);
}

struct given sides_given(const struct abstract_machine *m, const struct end *end, uint32_t i) {
    const struct message *message =
        end->meeting ? NULL : message_at(m, end, part_of_side(m)->begin);
    // What is repeated has no history.
    if (message ? message->wrong || !message->values : end->meeting->wrong != NULL)
        return (struct given){NULL, 0};
    if (message)
        return (struct given){&message->values[i], 1};
    uint32_t n = m->sides->n;
    struct judgement *given = ARENA_ARRAY(m->world->arena, struct judgement, n);
    for (uint32_t side = 0; side < n; side++)
        given[side] = end->meeting->given[side][i];
    return (struct given){given, n};
}

struct judgement sides_arrived(struct abstract_machine *m, const struct end *end, uint32_t i,
                               struct given given) {
    return end->meeting ? met(m, end, i, given) : received(m, end, i);
}

void sides_close(struct abstract_machine *m, struct end *end) {
    const struct mesh_part *part = part_of_side(m);
    struct ends *ends = &m->sides->ends[m->side][end->handle];
    for (int64_t device = part->begin; !end->meeting && device < part->end; device++) {
        struct message *message = message_at(m, end, device);
        bool sends = is_send(end->start);
        message->taken = message->taken || !sends;
        message->left = message->left || sends;
        if (sends)
            drop_ended(channel_at(m, end, device));
    }
    *end = ends->list[--ends->n];
}

uint32_t sides_awaited(const struct abstract_machine *m, const struct end *end) {
    if (!end->meeting)
        return side_of_device(m->sides, end->start->start.exchange.peer);
    return first_absent(m, end->meeting);
}
