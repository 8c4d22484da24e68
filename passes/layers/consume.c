// Consume: gradients that are not kept are taken by the update as soon as they are whole.
//
// Input: the reference program. Output: the same program, in which what is done with the gradients of
// a part of the model (their squares for the norm, the update) stands right behind the call of
// backward that is the last to write them, in its loop:
//
//   for l = 0 .. 4 descending { call block_backward(...) -> (w.gradient = block.w.gradient[l], ...) }
//   ...
//   call finish(norm2 = norm2, step = step) -> (clip = clip, learning_rate = learning_rate, ...)
//   for l = 0 .. 4 { call update_block(learning_rate = learning_rate, clip = clip, ...) }
// becomes
//   call rates(step = step) -> (clip = clip, learning_rate = learning_rate)
//   for l = 0 .. 4 descending {
//     call block_backward(...) -> (w.gradient = block.w.gradient[l], ...)
//     call update_block(learning_rate = learning_rate, clip = clip, ...)
//   }
//   call finish(norm2 = norm2) -> (...)
//
// So one layer's gradients are there at a time (Lv et al., "Full Parameter Fine-tuning for Large
// Language Models with Limited Resources", 2023). What a layer's update writes nobody reads again in
// this step: backward has come by. Placement has refused what needs all gradients at once
// (placement/residencies.c).
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/reference/writer.h"

struct consumer {
    struct program *program;
    struct placement placement;
    struct block *body; // of the training step
};

static bool is_consumed(const struct consumer *c, buffer_id id) {
    const struct buffer *buffer = &c->program->buffers[id];
    return buffer->class == CLASS_GRADIENTS &&
           consumes_gradients(storage_of(&c->placement, buffer));
}

// ---- what is moved ----------------------------------------------------------------------------

static bool is_update(const struct consumer *c, const struct statement *s) {
    struct statement_walk walk = walk_statements(&(struct block){(struct statement *)s, 1, 0});
    const struct call *call = walk_next_call(&walk);
    return call && c->program->job->units[call->unit].phase == PHASE_UPDATE;
}

// The first gradient that a statement of the update reads; NO_ID: it reads none that is consumed.
static buffer_id consumed_by(const struct consumer *c, const struct statement *s) {
    struct statement_walk walk = walk_statements(&(struct block){(struct statement *)s, 1, 0});
    const struct call *call;
    while (is_update(c, s) && (call = walk_next_call(&walk)))
        for (uint32_t i = 0; i < c->program->job->units[call->unit].n_parameters; i++)
            if (is_consumed(c, call->operands[i].buffer))
                return call->operands[i].buffer;
    return NO_ID;
}

// ---- where to ---------------------------------------------------------------------------------

static bool reads(const struct consumer *c, const struct call *call, buffer_id id) {
    for (uint32_t i = 0; i < c->program->job->units[call->unit].n_parameters; i++)
        if (call->operands[i].buffer == id)
            return true;
    return false;
}

static bool writes_gradient(const struct consumer *c, const struct statement *s,
                            const struct call *reader) {
    if (s->kind != STATEMENT_CALL || c->program->job->units[s->call.unit].phase != PHASE_BACKWARD)
        return false;
    for (uint32_t i = 0; i < c->program->job->units[s->call.unit].n_results; i++)
        if (c->program->buffers[s->call.results[i].buffer].class == CLASS_GRADIENTS &&
            reads(c, reader, s->call.results[i].buffer))
            return true;
    return false;
}

// Where a call comes to stand, behind the last statement that writes a gradient which it reads, and what
// already stands behind that. Where tensors are gathered one by one, a layer's backward is several calls.
struct place {
    struct block *block; // NULL: nowhere
    uint32_t at;
    int depth; // of the loops around
};

static void find_place(const struct consumer *c, struct block *block, const struct call *reader,
                       int depth, struct place *place) {
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP)
            find_place(c, &s->loop.body, reader, depth + 1, place);
        else if (writes_gradient(c, s, reader))
            *place = (struct place){block, i + 1, depth};
    }
    while (place->block == block && place->at < block->n &&
           block->statements[place->at].kind == STATEMENT_CALL &&
           consumed_by(c, &block->statements[place->at]) != NO_ID)
        place->at++;
}

// A call that is moved, and how many loops it stood in.
struct moved {
    struct statement call;
    int depth;
};

// A layer has the numbers of the innermost loops' variables, there as here.
static void number_layers(const struct consumer *c, struct statement *call, int deeper) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, call, i)).at; i++)
        for (unsigned k = 0; k < MAX_STACKS; k++)
            if (access.at->indices[k].variable >= 0)
                access.at->indices[k].variable += deeper;
}

static void move_to_gradient(struct consumer *c, struct moved *moved) {
    struct place place = {0};
    find_place(c, c->body, &moved->call.call, 0, &place);
    CHECK(place.block);
    number_layers(c, &moved->call, place.depth - moved->depth);
    block_insert(c->program->arena, place.block, place.at, moved->call);
}

// ---- what stays -------------------------------------------------------------------------------

static const struct op *producer_of_result(const struct unit *unit, uint32_t result) {
    return unit_producer(unit, unit->results[result].value);
}

static void take_out(struct block *block, uint32_t at) {
    memmove(&block->statements[at], &block->statements[at + 1],
            (block->n - at - 1) * sizeof *block->statements);
    block->n--;
}

// Like a result, with a place for every layer that the gradient has.
static buffer_id add_kept(struct program *program, buffer_id result, buffer_id gradient) {
    struct buffer kept = program->buffers[result];
    kept.name = name_with(program->arena, program->buffers[gradient].name, ".made");
    kept.stacks = program->buffers[gradient].stacks;
    return program_add_buffer(program, kept);
}

// What a call makes of a gradient, and a call beside it that stays reads, is kept of every layer.
static void keep_result(const struct consumer *c, const struct block *block,
                        struct reference *result, const struct reference *gradient) {
    struct reference kept = *gradient;
    kept.buffer = NO_ID;
    for (uint32_t i = 0; i < block->n; i++) {
        const struct call *call = &block->statements[i].call;
        bool stays = block->statements[i].kind == STATEMENT_CALL &&
                     consumed_by(c, &block->statements[i]) == NO_ID;
        for (uint32_t k = 0; stays && k < c->program->job->units[call->unit].n_parameters; k++) {
            if (call->operands[k].buffer != result->buffer)
                continue;
            if (kept.buffer == NO_ID)
                kept.buffer = add_kept(c->program, result->buffer, gradient->buffer);
            call->operands[k] = kept;
        }
    }
    if (kept.buffer != NO_ID)
        *result = kept;
}

// The operand of a call of which, rounded or not, a result is made by one op; NULL: by more.
static const struct reference *made_of(const struct unit *unit, const struct call *call,
                                       uint32_t result) {
    const struct op *op = producer_of_result(unit, result);
    uint32_t parameter = op ? unit_cast_parameter(unit, op->operands[0]) : NO_ID;
    return parameter != NO_ID ? &call->operands[parameter] : NULL;
}

// Where sums have an order, squares are added up in that of the model behind backward, by a call that
// reads no gradient. Of a part of a layer that is taken so, the rest of it is taken along.
static void keep_results(const struct consumer *c, struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP)
            keep_results(c, &block->statements[i].loop.body);
        if (s->kind != STATEMENT_CALL || consumed_by(c, s) == NO_ID)
            continue;
        const struct unit *unit = &c->program->job->units[s->call.unit];
        for (uint32_t r = 0; r < unit->n_results; r++) {
            const struct reference *of = made_of(unit, &s->call, r);
            if (of && c->program->buffers[of->buffer].class == CLASS_GRADIENTS)
                keep_result(c, block, &s->call.results[r], of);
        }
    }
}

// Takes the calls out that are moved; whether others are left, or what stands there is none.
static bool leave_rest(const struct consumer *c, struct block *block) {
    for (uint32_t i = block->n; i-- > 0;) {
        struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP ? !leave_rest(c, &s->loop.body) : consumed_by(c, s) != NO_ID)
            take_out(block, i);
    }
    return block->n > 0;
}

// ---- what must be there before ----------------------------------------------------------------

static uint32_t first_backward(const struct consumer *c) {
    uint32_t i = 0;
    while (i < c->body->n &&
           !statement_calls(c->program->job, &c->body->statements[i], PHASE_BACKWARD))
        i++;
    return i;
}

// Does the op make a scalar of the step's number alone? So do rates, and a factor without a limit.
static bool is_known_before(const struct op *op) {
    return op->kind == OP_LEARNING_RATE ||
           (op->kind == OP_CLIP_FACTOR && !op_attribute(op, ATTRIBUTE_MAX_NORM));
}

// The call of the unit that has all scalars of the step.
static uint32_t find_finish(const struct consumer *c) {
    for (uint32_t i = 0; i < c->body->n; i++) {
        const struct statement *s = &c->body->statements[i];
        if (s->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &c->program->job->units[s->call.unit];
        for (uint32_t k = 0; k < unit->n_ops; k++)
            if (unit->ops[k].kind == OP_CLIP_FACTOR)
                return i;
    }
    CHECK(false);
}

// Writes the scalars that are known before: they are made of the step's number, whatever the ops are
// given in `finish`.
static struct statement write_rates(struct consumer *c, const struct statement *finish) {
    struct program *program = c->program;
    const struct unit from = program->job->units[finish->call.unit]; // a copy: units move
    struct reference step = reference_to(program_host_buffer(program, HOST_STEP));
    struct writer writer = writer_in(program, finish->span);
    begin_unit(&writer, "rates", PHASE_UPDATE);
    value_id number = bind_operand(&writer, "step", step);
    for (uint32_t i = 0; i < from.n_results; i++) {
        const struct op *op = producer_of_result(&from, i);
        if (!op || !is_known_before(op))
            continue;
        const struct op *made =
            emit_with(&writer.emitter, op->kind, from.values[op->results[0]].name, OPERANDS(number),
                      op->attributes, op->n_attributes);
        bind_result(&writer, made->results[0], finish->call.results[i]);
    }
    return writer.call;
}

// `finish` keeps what is known behind backward only.
static void write_finish_anew(struct consumer *c, struct statement *finish) {
    const struct unit from = c->program->job->units[finish->call.unit];
    struct writer writer = writer_in(c->program, finish->span);
    begin_unit(&writer, arena_format(c->program->arena, "%s_later", from.name), PHASE_UPDATE);
    value_id *here = ARENA_ARRAY(c->program->arena, value_id, from.n_values);
    for (uint32_t i = 0; i < from.n_parameters; i++)
        here[i] = bind_operand(&writer, from.values[i].name, finish->call.operands[i]);
    for (uint32_t i = 0; i < from.n_ops; i++) {
        const struct op *op = &from.ops[i];
        value_id operands[MAX_OPERANDS];
        for (unsigned k = 0; k < op->n_operands; k++)
            operands[k] = here[op->operands[k]];
        if (is_known_before(op))
            continue;
        const struct op *made = emit_copy(&writer.emitter, &from, op, operands);
        for (unsigned k = 0; k < op->n_results; k++)
            here[op->results[k]] = made->results[k];
    }
    for (uint32_t i = 0; i < from.n_results; i++)
        if (!is_known_before(producer_of_result(&from, i)))
            bind_result(&writer, here[from.results[i].value], finish->call.results[i]);
    *finish = writer.call;
}

// ---- the pass ---------------------------------------------------------------------------------

// What rates and sums of squares need stands at the front, before all that is done with layers.
static void prepare(struct consumer *c) {
    uint32_t finish = find_finish(c), front = 0;
    struct statement rates = write_rates(c, &c->body->statements[finish]);
    write_finish_anew(c, &c->body->statements[finish]);
    for (uint32_t i = 0; i < c->body->n; i++) {
        struct statement zero = c->body->statements[i];
        if (zero.kind != STATEMENT_ZERO || i < first_backward(c))
            continue;
        take_out(c->body, i);
        block_insert(c->program->arena, c->body, front++, zero);
    }
    block_insert(c->program->arena, c->body, front, rates);
}

bool consume(struct job *job, const struct pass_context *context) {
    struct consumer c = {.program = job_only(job)};
    c.body = &c.program->steps[STEP_TRAIN].body;
    if (!placement_for(c.program, context, &c.placement))
        return false;
    bool any = false;
    for (buffer_id b = 0; b < c.program->n_buffers; b++)
        any |= is_consumed(&c, b);
    if (!any || !c.program->steps[STEP_TRAIN].present)
        return true;
    prepare(&c);
    keep_results(&c, c.body);
    struct moved *moved = NULL;
    uint32_t n_moved = 0, cap_moved = 0;
    struct statement_walk walk = walk_statements(c.body);
    while (walk_next(&walk)) {
        struct statement *s = walk.statement;
        if (s->kind != STATEMENT_CALL || consumed_by(&c, s) == NO_ID)
            continue;
        struct moved of = {statement_clone(c.program->arena, c.program, s), (int)walk.depth};
        ARENA_PUSH(c.program->arena, moved, n_moved, cap_moved, of);
    }
    leave_rest(&c, c.body);
    for (uint32_t i = 0; i < n_moved; i++)
        move_to_gradient(&c, &moved[i]);
    job_number(job);
    return true;
}
