// The structure of steps; see checker.h. One walk over the statements, with the ranges of the loops'
// variables around them.
#include <inttypes.h>

#include "ir/checker.h"

// Whether the index fits for all values of the loops' variables, whose ranges are known: it is a
// variable plus a constant, so its least and greatest value say it.
static bool index_fits(const struct checker *c, struct index index, int64_t count) {
    if (index.variable >= c->depth)
        return false;
    if (index.modulus)
        return index.modulus <= count;
    int64_t low = index.offset, high = index.offset;
    if (index.variable >= 0) {
        low += c->first[(int)index.variable];
        high += c->last[(int)index.variable];
    }
    return low > high || (low >= 0 && high < count); // low > high: the loop is empty
}

static const char *check_reference(struct checker *c, struct reference reference) {
    if (reference.buffer >= c->program->n_buffers)
        return "a statement refers to no buffer";
    const struct buffer *buffer = &c->program->buffers[reference.buffer];
    for (unsigned i = 0; i < MAX_STACKS; i++) {
        const struct stack *stack = i < buffer->stacks.n ? &buffer->stacks.list[i] : NULL;
        int64_t count = stack ? stack->count : 1;
        if (!index_fits(c, reference.indices[i], count))
            return arena_format(c->arena, "an index of buffer %s is outside its %" PRId64 " %s",
                                buffer->name, count,
                                buffer->stacks.n > 1 ? stack_names[stack->kind] : "items");
    }
    return NULL;
}

// What the step gives must be what the unit is compiled for, in type and every size.
static const char *check_argument(struct checker *c, const struct unit *unit, value_id value,
                                  struct reference reference) {
    const char *wrong = check_reference(c, reference);
    if (wrong)
        return wrong;
    const struct buffer *buffer = &c->program->buffers[reference.buffer];
    struct tensor_type type = buffer_type(c->program, buffer);
    const struct tensor_type *expected = &unit->values[value].type;
    if (type_equal(&type, expected) && other_label(&type, expected) < 0)
        return NULL;
    return arena_format(c->arena, "`%%%s` of unit %s is %s; `%s`, which the step gives it, is %s",
                        unit->values[value].name, unit->name, tensor_type_text(c->arena, expected),
                        buffer->name, tensor_type_text(c->arena, &type));
}

// What a call names is in one place, but for scalars; and the calls of a unit run in one, since its
// frame is there.
static const char *check_call_tier(struct checker *c, const struct statement *statement) {
    const struct call *call = &statement->call;
    enum tier runs_on = call_tier(c->program, call);
    const char *name = c->job->units[call->unit].name;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, statement, i)).at; i++) {
        const struct buffer *buffer = &c->program->buffers[access.at->buffer];
        if (buffer->tier == TIER_DISK)
            return arena_format(c->arena,
                                "unit %s is given `%s`, which is on disk: copy it to where the "
                                "unit runs",
                                name, buffer->name);
        if (buffer->rank > 0 && buffer->tier != runs_on)
            return arena_format(c->arena,
                                "unit %s is given `%s` on %s, and other buffers on %s: it runs "
                                "where all of them are",
                                name, buffer->name, tier_names[buffer->tier], tier_names[runs_on]);
    }
    buffer_id frame = program_frame(c->program, call->unit);
    if (frame != NO_ID && c->program->buffers[frame].tier != runs_on)
        return arena_format(c->arena, "unit %s runs on %s, and its frame is on %s", name,
                            tier_names[runs_on], tier_names[c->program->buffers[frame].tier]);
    c->runs_on[call->unit] |= (uint8_t)(1u << runs_on);
    return (c->runs_on[call->unit] & (c->runs_on[call->unit] - 1)) == 0
               ? NULL
               : arena_format(c->arena,
                              "unit %s runs on the device here and on the host there: give one "
                              "of them a unit of its own",
                              name);
}

// Operands and results alike: a result in a parameter's place is the operand's buffer again.
static const char *check_call(struct checker *c, const struct statement *statement) {
    const struct call *call = &statement->call;
    if (call->unit >= c->job->n_units)
        return "a call of no unit";
    const struct unit *unit = &c->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        const char *wrong = check_argument(c, unit, i, call->operands[i]);
        if (wrong)
            return wrong;
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const char *wrong = check_argument(c, unit, unit->results[i].value, call->results[i]);
        if (wrong)
            return wrong;
    }
    return check_call_tier(c, statement);
}

static const struct buffer *buffer_at(const struct checker *c, const struct reference *at) {
    return &c->program->buffers[at->buffer];
}

// A copy goes from one tier to another, a collective from device to device.
static const char *check_ways(struct checker *c, const struct transfer *start,
                              const struct transfer_piece *piece) {
    const struct buffer *from = buffer_at(c, &piece->from), *to = buffer_at(c, &piece->to);
    if (is_copy(start))
        return from->tier != to->tier
                   ? NULL
                   : arena_format(c->arena, "a copy of %s to %s, which are both on %s", from->name,
                                  to->name, tier_names[from->tier]);
    const struct buffer *away = from->tier != TIER_DEVICE ? from : to;
    return away->tier == TIER_DEVICE
               ? NULL
               : arena_format(c->arena, "a collective of %s, which is on %s: copy it to the device",
                              away->name, tier_names[away->tier]);
}

static const char *check_piece(struct checker *c, const struct transfer *start,
                               const struct transfer_piece *piece) {
    const char *wrong = check_reference(c, piece->from);
    wrong = wrong ? wrong : check_reference(c, piece->to);
    if (wrong)
        return wrong;
    const struct program *program = c->program;
    const struct buffer *from = buffer_at(c, &piece->from), *to = buffer_at(c, &piece->to);
    struct tensor_type from_type = buffer_type(program, from), to_type = buffer_type(program, to);
    wrong = exchange_check(&start->exchange, from->dtype);
    wrong = wrong ? wrong : check_ways(c, start, piece);
    if (wrong)
        return wrong;
    if (exchange_is_message(&start->exchange))
        return reference_equal(&piece->from, &piece->to) ? NULL : "a message with two ends here";
    // What arrives flat may be padded further than the number of parts asks for: it must have room.
    int64_t parts = mesh_group_size(&c->job->mesh, &start->exchange.axes);
    bool room = start->exchange.kind != COLLECTIVE_ALL_GATHER ||
                size_times(parts, type_bytes(&from_type)) <= buffer_item_bytes(program, to);
    return room && exchange_fits(&start->exchange, &c->job->mesh, &from_type, &to_type) ? NULL
           : is_copy(start)
               ? arena_format(c->arena, "a copy of %s to %s, which are of different types",
                              from->name, to->name)
               : arena_format(c->arena, "the sizes of %s and %s do not fit the axes of this %s",
                              from->name, to->name, collective_names[start->exchange.kind]);
}

// A wait does not say what it waits for, so a handle is of one or the other; of messages in one direction.
static const char *check_handle(struct checker *c, const struct transfer *start) {
    static const char *const names[] = {"collectives", "copies", "sends", "receives"};
    enum collective_kind kind = start->exchange.kind;
    unsigned here = kind == COLLECTIVE_COPY      ? 1
                    : kind == COLLECTIVE_SEND    ? 2
                    : kind == COLLECTIVE_RECEIVE ? 3
                                                 : 0;
    unsigned other = 0;
    c->carries[start->handle] |= (uint8_t)(1u << here);
    while (other < 4 && (other == here || !(c->carries[start->handle] >> other & 1)))
        other++;
    return other == 4 ? NULL
                      : arena_format(c->arena, "`%s` is of %s and of %s",
                                     c->step->handles[start->handle].name,
                                     names[here > other ? here : other],
                                     names[here > other ? other : here]);
}

// Pieces travel side by side in one collective, so they have one element type; in a copy each goes by
// itself.
static const char *check_start(struct checker *c, const struct transfer *start) {
    if ((start->exchange.axes.n == 0) != is_copy(start) || start->handle >= c->step->n_handles ||
        !index_fits(c, start->handle_index, c->step->handles[start->handle].slots))
        return "a collective without axes, or with a slot that its handle does not have";
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const char *wrong = check_piece(c, start, &start->pieces[i]);
        if (wrong)
            return wrong;
        if (!is_copy(start) && buffer_at(c, &start->pieces[i].from)->dtype !=
                                   buffer_at(c, &start->pieces[0].from)->dtype)
            return "a collective of pieces of different types";
    }
    return check_handle(c, start);
}

static const char *check_block(struct checker *c, const struct block *block);

static const char *check_loop(struct checker *c, const struct loop *loop) {
    if (c->depth == LIMIT_LOOP_DEPTH || loop->begin < 0 || loop->end < loop->begin)
        return "a loop that ends before it begins, or is nested too deeply";
    if (loop->end > LIMIT_COUNTED)
        return arena_format(c->arena, "a loop up to %" PRId64 "; they are followed up to %d",
                            loop->end, LIMIT_COUNTED);
    c->first[c->depth] = loop->begin;
    c->last[c->depth] = loop->end - 1;
    if (loop->stride) {
        int64_t outer = c->depth ? c->last[c->depth - 1] : -1;
        int64_t further = size_times(loop->stride, outer > 0 ? outer : 0);
        if (c->depth == 0 || loop->stride < 0 || size_plus(further, loop->end) > LIMIT_COUNTED)
            return "a loop that goes with another further than can be counted, or with none";
        c->first[c->depth] += loop->stride * c->first[c->depth - 1];
        c->last[c->depth] += loop->stride * outer;
    }
    c->depth++;
    const char *wrong = check_block(c, &loop->body);
    c->depth--;
    return wrong;
}

static const char *check_free(struct checker *c, const struct statement *statement) {
    const char *wrong = statement->free.n_items ? NULL : "a free of nothing";
    for (uint32_t i = 0; i < statement->free.n_items && !wrong; i++)
        wrong = check_reference(c, statement->free.items[i]);
    return wrong;
}

static const char *check_zero(struct checker *c, struct reference at) {
    const char *wrong = check_reference(c, at);
    if (wrong || buffer_at(c, &at)->tier != TIER_DISK)
        return wrong;
    return arena_format(c->arena, "%s is on disk, where only copies write",
                        buffer_at(c, &at)->name);
}

static const char *check_task(struct checker *c, const struct task_label *task) {
    int64_t count = c->job->sizes.microbatches;
    return (unsigned)task->kind <= N_TASK_KINDS && index_fits(c, task->microbatch, count)
               ? NULL
               : arena_format(c->arena, "a task of a microbatch outside the %" PRId64 " of a step",
                              count);
}

static const char *check_kind(struct checker *c, const struct statement *statement) {
    switch (statement->kind) {
    case STATEMENT_LOOP:
        return check_loop(c, &statement->loop);
    case STATEMENT_CALL:
        return check_call(c, statement);
    case STATEMENT_START:
        return check_start(c, &statement->start);
    case STATEMENT_WAIT:
        if (statement->wait.handle >= c->step->n_handles ||
            !index_fits(c, statement->wait.index, c->step->handles[statement->wait.handle].slots))
            return "a wait for a slot that its handle does not have";
        return NULL;
    case STATEMENT_ZERO:
        return check_zero(c, statement->zero);
    case STATEMENT_FREE:
        return check_free(c, statement);
    case STATEMENT_TASK:
        return check_task(c, &statement->task);
    }
    return "a statement of no kind";
}

// `at` follows along, so that whatever is wrong is shown at its statement.
static const char *check_statement(struct checker *c, const struct statement *statement) {
    c->at = statement->span;
    const char *wrong = check_kind(c, statement);
    return wrong || statement->kind == STATEMENT_LOOP ? wrong : check_ownership(c, statement);
}

static const char *check_block(struct checker *c, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const char *wrong = check_statement(c, &block->statements[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *check_steps(struct checker *c) {
    const char *wrong = NULL;
    c->runs_on = ARENA_ARRAY(c->arena, uint8_t, c->job->n_units + 1);
    for (int s = 0; s < N_STEPS && !wrong; s++) {
        c->step = &c->program->steps[s];
        c->carries = ARENA_ARRAY(c->arena, uint8_t, c->step->n_handles + 1);
        wrong = check_block(c, &c->step->body);
    }
    return wrong;
}
