// Stages, tied: a table that stands at both ends of the model. Each of the two ranks has what its own tasks have given
// to the gradient; they tell each other, and both add it up in one order. Where only one of them has any, as where the
// other end gives nothing, it gives the other all.
#include "ir/check.h"
#include "passes/reference/emit.h"
#include "passes/stages/stages.h"

struct tie { // a gradient and the ranks that have it
    buffer_id gradient;
    uint32_t ranks[2];
    bool gives[2]; // has something of it
};

// Whether tasks of the rank have begun gradients of the tensor to which others would have added.
static bool keeps_own(const struct splitter *s, uint32_t tensor, uint32_t rank) {
    const struct task_loop *loop = &s->loops[STEP_TRAIN];
    for (uint32_t i = 0; i < loop->n_aparts; i++)
        if (s->whole->buffers[loop->aparts[i].item.buffer].tensor == tensor &&
            rank_of_stage(s, loop->tasks[loop->aparts[i].maker].stage) == rank)
            return true;
    return false;
}

// Whether both ranks begin one in tasks, since only one of them would have begun it and the other added to it.
static bool is_begun_apart(const struct splitter *s, buffer_id id) {
    const struct task_loop *loop = &s->loops[STEP_TRAIN];
    for (uint32_t i = 0; i < loop->n_aparts; i++)
        if (loop->aparts[i].item.buffer == id)
            return true;
    return false;
}

// Whether something of a tensor's gradient is still there behind all tasks: what is kept of it, or the whole that is made
// to be coded there, of which shards are kept. A window is there where statements around the tasks touch it, or as long as
// what it is of.
static bool holds_gradient(const struct splitter *s, buffer_id id) {
    const struct buffer *buffer = &s->whole->buffers[id];
    const struct split_buffer *whole = &s->buffers[buffer_whole(s->whole, id)];
    bool stays = s->buffers[id].is_outside || !whole->is_made || whole->is_outside;
    return buffer->tensor != NO_ID && stays &&
           (buffer->class == CLASS_GRADIENTS ||
            (buffer->class == CLASS_TRANSIENT && is_begun_apart(s, id)));
}

// What tasks never add to, as a whole of which they add to the device's own part alone, is not told. False: the buffer
// is none.
static bool find_tie(struct splitter *s, buffer_id id, struct tie *tie) {
    const struct buffer *buffer = &s->whole->buffers[id];
    const struct split_buffer *split = &s->buffers[id];
    if (!holds_gradient(s, id) || buffer_stack(buffer, STACK_LAYERS) ||
        s->of_tensors[buffer->tensor].n < 2)
        return false;
    CHECK(s->of_tensors[buffer->tensor].n == 2);
    *tie = (struct tie){.gradient = id};
    bool any = false;
    for (const struct stage_use *use = split->uses; use; use = use->next)
        any |= use->written;
    for (unsigned i = 0; i < 2; i++) {
        tie->ranks[i] = s->of_tensors[buffer->tensor].ranks[i];
        tie->gives[i] = keeps_own(s, buffer->tensor, tie->ranks[i]);
        for (const struct stage_use *use = split->uses; use; use = use->next)
            tie->gives[i] |= use->written && rank_of_stage(s, use->stage) == tie->ranks[i];
    }
    return any;
}

static uint32_t adding_unit(struct making_part *m, buffer_id gradient) {
    const struct buffer *buffer = &m->part->buffers[gradient];
    const char *name = name_of_unit(m->s->arena, "tie", buffer->name);
    uint32_t found = job_find_unit(m->part->job, name);
    if (found != NO_ID)
        return found;
    struct tensor_type type = buffer_type(m->part, buffer);
    found = job_add_unit(m->part->job, name, m->s->span);
    struct unit *unit = &m->part->job->units[found];
    unit->phase = PHASE_BACKWARD;
    value_id sum = unit_add_parameter(m->s->arena, unit, "sum", type, false);
    value_id other = unit_add_parameter(m->s->arena, unit, "other", type, false);
    struct op *op = unit_add_op(m->s->arena, unit, OP_ACCUMULATE, "total", (value_id[]){sum, other},
                                2, m->s->span);
    unit->values[op->results[0]].type = type;
    unit_add_result(m->s->arena, unit, op->results[0], 0);
    return found;
}

static void push_sum(struct making_part *m, buffer_id gradient, buffer_id other) {
    struct reference operands[2] = {reference_to(gradient), reference_to(other)};
    struct statement call = {.kind = STATEMENT_CALL, .span = m->s->span};
    call.call.unit = adding_unit(m, gradient);
    call.call.operands = arena_copy(m->s->arena, operands, sizeof operands);
    call.call.results = arena_copy(m->s->arena, operands, sizeof *operands);
    block_push(m->s->arena, &m->step->body, call);
}

static buffer_id add_room(struct making_part *m, buffer_id like, const char *suffix) {
    struct buffer room = m->part->buffers[like];
    room.name = name_with(m->s->arena, room.name, suffix);
    room.class = CLASS_TRANSIENT;
    room.window_of = NO_ID;
    room.tier = TIER_DEVICE;
    return program_add_buffer(m->part, room);
}

static void push_copy(struct making_part *m, const char *name, buffer_id from, buffer_id to) {
    const struct transfer_piece piece = {reference_to(from), reference_to(to)};
    struct statement start = {.kind = STATEMENT_START, .span = m->s->span};
    start.start =
        (struct transfer){.exchange = exchange_flat(COLLECTIVE_COPY, &(struct axis_list){0}),
                          .handle = handle_in_part(m, name, 1),
                          .handle_index = index_constant(0),
                          .pieces = arena_copy(m->s->arena, &piece, sizeof piece),
                          .n_pieces = 1};
    block_push(m->s->arena, &m->step->body, start);
    push_message_wait(m, name);
}

// What is kept elsewhere is exchanged on the device.
static void exchange_on(struct splitter *s, const struct tie *tie, unsigned end) {
    uint32_t rank = tie->ranks[end], peer = tie->ranks[!end];
    struct making_part m = part_of_rank(s, rank, STEP_TRAIN);
    const char *name = s->whole->buffers[tie->gradient].name;
    const char *sent = name_with(s->arena, name, ".give"), *got = name_with(s->arena, name, ".get");
    buffer_id kept = copy_on_rank(&m, tie->gradient), gradient = kept;
    bool away = m.part->buffers[kept].tier != TIER_DEVICE;
    if (away)
        gradient = add_room(&m, kept, ".here");
    if (away && tie->gives[end])
        push_copy(&m, name_with(s->arena, name, ".in"), kept, gradient);
    buffer_id other = tie->gives[end] && tie->gives[!end] ? add_room(&m, kept, ".other") : gradient;
    if (tie->gives[end])
        push_message(&m, COLLECTIVE_SEND, sent, peer, gradient);
    if (tie->gives[!end]) {
        push_message(&m, COLLECTIVE_RECEIVE, got, peer, other);
        push_message_wait(&m, got);
    }
    if (tie->gives[end])
        push_message_wait(&m, sent);
    if (other != gradient)
        push_sum(&m, gradient, other);
    if (away)
        push_copy(&m, name_with(s->arena, name, ".out"), gradient, kept);
}

void exchange_tied(struct splitter *s) {
    for (buffer_id i = 0; i < s->whole->n_buffers; i++) {
        struct tie tie;
        if (!find_tie(s, i, &tie))
            continue;
        exchange_on(s, &tie, 0);
        exchange_on(s, &tie, 1);
    }
}
