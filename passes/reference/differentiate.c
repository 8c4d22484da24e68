// Differentiate: appends to the train step, in reverse order, a call of a backward unit for every
// call before it that the loss and some trainable parameter meet in.
//
// Units are differentiated in gradients.c. Here is what belongs to the step: which buffers need a
// gradient at all, where gradients lie, and what forward has to leave behind.
//   parameters   `X.gradient`, like X. The first call that reaches one writes it; a later one (the
//                embedding of a tied table) adds to it in place. Loops over different layers reach
//                different items of it.
//   activations  `dX`; of one stacked by layers two items, `dX[(l + 1) mod 2] -> dX[l mod 2]`
//   saved values `saved.X`, new results of the forward unit, stacked as its calls are
// `evaluate` calls the same forward units and so also writes what they save; nothing there reads
// it, and its memory is the train step's.
//
// The loss's own gradient is the buffer `inverse_count`: 1 / tokens enters here and nowhere else. With
// a loss scale it is `loss_gradient`, their product.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "passes/reference/gradients.h"
#include "passes/reference/saved.h"

struct tape {
    struct program *program;
    bool *active;         // of buffers: does it depend on a trainable parameter?
    buffer_id *cotangent; // of buffers: where its gradient is; NO_ID: none has reached it yet
    uint32_t n_buffers;   // of the forward program; cotangents have none themselves
};

// ---- which buffers need a gradient -------------------------------------------------------------

static bool is_trainable(const struct program *program, buffer_id buffer) {
    uint32_t tensor = program->buffers[buffer].tensor;
    return tensor != NO_ID && program->job->tensors[tensor].trainable;
}

// One active operand makes all results active. Returns whether that was news.
static bool mark_call(struct tape *tape, const struct call *call) {
    const struct unit *unit = &tape->program->job->units[call->unit];
    bool active = false, changed = false;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        active |= tape->active[call->operands[i].buffer];
    for (uint32_t i = 0; i < unit->n_results && active; i++) {
        bool *result = &tape->active[call->results[i].buffer];
        changed |= !*result;
        *result = true;
    }
    return changed;
}

// Marks once through the text; the caller repeats it until nothing is news.
static bool mark_block(struct tape *tape, const struct block *block) {
    bool changed = false;
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            changed |= mark_call(tape, &walk.statement->call);
    return changed;
}

static void mark_active(struct tape *tape, const struct block *block) {
    for (uint32_t i = 0; i < tape->n_buffers; i++)
        tape->active[i] = is_trainable(tape->program, i);
    while (mark_block(tape, block)) // again: a loop's result feeds its next iteration
        ;
}

// ---- where gradients lie -----------------------------------------------------------------------

static enum dtype gradient_type(const struct program *program, buffer_id of) {
    const struct buffer *buffer = &program->buffers[of];
    return buffer->tensor == NO_ID
               ? buffer->dtype
               : tensor_gradients(program->job, &program->job->tensors[buffer->tensor]);
}

// A tensor's gradient is a state of its own. What layers hand on needs its cotangent for two layers
// at a time only: the one that is read and the one that is made.
static buffer_id add_cotangent(struct tape *tape, buffer_id of) {
    struct program *program = tape->program;
    struct buffer buffer = program->buffers[of];
    buffer.offset_bytes = -1;
    if (buffer.tensor != NO_ID) {
        buffer.name = arena_format(program->arena, "%s.gradient", buffer.name);
        buffer.class = CLASS_GRADIENTS;
        buffer.dtype = gradient_type(program, of);
    } else {
        buffer.name = arena_format(program->arena, "d%s", buffer.name);
        buffer.host = HOST_NONE;
        int layers = buffer_find_stack(&buffer, STACK_LAYERS);
        if (layers >= 0)
            buffer.stacks.list[layers] = (struct stack){.kind = STACK_SLOTS, .count = 2};
    }
    return program_add_buffer(program, buffer);
}

// The cotangent at the place that the value has, modulo the two that are kept.
static struct reference cotangent_of(struct tape *tape, struct reference of) {
    buffer_id *to = &tape->cotangent[of.buffer];
    if (*to == NO_ID)
        *to = add_cotangent(tape, of.buffer);
    const struct buffer *buffers = tape->program->buffers;
    int layers = buffer_find_stack(&buffers[of.buffer], STACK_LAYERS);
    if (layers >= 0 && !buffer_stack(&buffers[*to], STACK_LAYERS)) {
        of.indices[layers] = index_in_slots(of.indices[layers], 2);
    }
    of.buffer = *to;
    return of;
}

// ---- what forward leaves behind ----------------------------------------------------------------

// Where a forward value is after the call: it came from there, is left there, or now will be.
static struct reference forward_value(struct tape *tape, const struct call *call, value_id value,
                                      const struct loop *loop) {
    const struct unit *unit = &tape->program->job->units[call->unit];
    if (value < unit->n_parameters)
        return call->operands[value];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].value == value)
            return call->results[i];
    if (!loop)
        return save_value(tape->program, call, value, NULL);
    struct layer_range layers = {loop->begin, loop->end, 1};
    return save_value(tape->program, call, value, &layers);
}

// ---- the calls ---------------------------------------------------------------------------------

// `block_forward` has `block_backward`; another name keeps what it is and gets the ending.
static const char *backward_name(struct program *program, const char *forward) {
    static const char suffix[] = "_forward";
    size_t length = strlen(forward), tail = sizeof suffix - 1;
    if (length > tail && strcmp(forward + length - tail, suffix) == 0)
        length -= tail;
    return arena_format(program->arena, "%.*s_backward", (int)length, forward);
}

// Where the backward unit's parameter `i` comes from.
static struct reference operand_of(struct tape *tape, const struct call *call,
                                   struct backward_operand operand, const struct loop *loop) {
    switch (operand.source) {
    case BACKWARD_FORWARD:
        return forward_value(tape, call, operand.of, loop);
    case BACKWARD_COTANGENT:
        return cotangent_of(tape, call->results[operand.of]);
    case BACKWARD_SUM:
        return cotangent_of(tape, call->operands[operand.of]);
    }
    CHECK(false);
}

static bool loops_meet(const struct loop *a, const struct loop *b) {
    return a->begin < b->end && b->begin < a->end;
}

// Whether calls of a block have made the buffer's gradient, in any of the loop's layers.
static bool is_written(const struct tape *tape, const struct block *block, buffer_id of,
                       const struct loop *loop) {
    struct statement_walk walk = walk_statements(block);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct loop *around = walk_loop(&walk, 0);
        for (uint32_t i = 0; i < tape->program->job->units[call->unit].n_results; i++)
            if (call->results[i].buffer == tape->cotangent[of] &&
                (!around || !loop || loops_meet(around, loop)))
                return true;
    }
    return false;
}

// Appends to `block` the backward call of `call`, which stands in `loop` (NULL: in none).
static void reverse_call(struct tape *tape, const struct call *call, const struct loop *loop,
                         struct block *block) {
    struct program *program = tape->program;
    struct arena *arena = program->arena;
    const struct unit *unit = &program->job->units[call->unit];
    uint32_t n_results = unit->n_results, n_parameters = unit->n_parameters;
    const struct block *step = &program->steps[STEP_TRAIN].body;
    bool *given = ARENA_ARRAY(arena, bool, n_results);
    bool *wanted = ARENA_ARRAY(arena, bool, n_parameters);
    bool *added = ARENA_ARRAY(arena, bool, n_parameters);
    enum dtype *types = ARENA_ARRAY(arena, enum dtype, n_parameters);
    bool reached = false;
    for (uint32_t i = 0; i < n_results; i++) {
        given[i] = tape->cotangent[call->results[i].buffer] != NO_ID;
        reached |= given[i];
    }
    for (uint32_t i = 0; i < n_parameters; i++) {
        buffer_id buffer = call->operands[i].buffer;
        wanted[i] = tape->active[buffer];
        types[i] = gradient_type(program, buffer);
        // Activations have one reader, so their gradients have one summand.
        added[i] = wanted[i] && program->buffers[buffer].tensor != NO_ID &&
                   (is_written(tape, step, buffer, loop) || is_written(tape, block, buffer, loop));
    }
    if (!reached)
        return;
    struct backward backward = derive_backward(
        program, call->unit, backward_name(program, unit->name), given, wanted, added, types);
    if (backward.unit == NO_ID)
        return;
    uint32_t n_in = program->job->units[backward.unit].n_parameters;
    uint32_t n_out = program->job->units[backward.unit].n_results;
    struct statement made = {.kind = STATEMENT_CALL,
                             .span = program->job->units[backward.unit].span,
                             .call = {.unit = backward.unit,
                                      .operands = ARENA_ARRAY(arena, struct reference, n_in),
                                      .results = ARENA_ARRAY(arena, struct reference, n_out)}};
    for (uint32_t i = 0; i < n_in; i++)
        made.call.operands[i] = operand_of(tape, call, backward.operands[i], loop);
    for (uint32_t i = 0; i < n_out; i++)
        made.call.results[i] = cotangent_of(tape, call->operands[backward.results[i]]);
    block_push(program->arena, block, made);
}

// Iterations in the opposite order; inside each, calls in the opposite order.
static void reverse_loop(struct tape *tape, const struct statement *statement,
                         struct block *block) {
    const struct loop *loop = &statement->loop;
    struct statement made = {.kind = STATEMENT_LOOP,
                             .span = statement->span,
                             .loop = {.name = loop->name,
                                      .begin = loop->begin,
                                      .end = loop->end,
                                      .descending = !loop->descending}};
    for (uint32_t i = loop->body.n; i-- > 0;) {
        CHECK(loop->body.statements[i].kind == STATEMENT_CALL);
        reverse_call(tape, &loop->body.statements[i].call, loop, &made.loop.body);
    }
    if (made.loop.body.n > 0)
        block_push(tape->program->arena, block, made);
}

// ---- the pass ----------------------------------------------------------------------------------

// Whether something is trained, else the backward would be empty, and a step would do nothing.
// `build` has said so of a file that is wrong (optimizer_rules.c); a text may say it, too.
static bool something_to_train(const struct program *program, const struct pass_context *context) {
    for (uint32_t i = 0; i < program->job->n_tensors; i++)
        if (program->job->tensors[i].trainable)
            return true;
    report(context->diagnostics, E121, program->steps[STEP_TRAIN].span,
           "every parameter is frozen: there is nothing to train");
    return false;
}

// Calls, and loops of calls: what build makes, and what can be run backwards without a proof.
static bool holds_calls_only(const struct block *block, bool loops) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        if (statement->kind == STATEMENT_LOOP
                ? !loops || !holds_calls_only(&statement->loop.body, false)
                : statement->kind != STATEMENT_CALL)
            return false;
    }
    return true;
}

// A gradient has as many summands in all layers of a loop: loops are over the same layers, or over
// others.
static bool loops_are_apart(const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct statement *a = &block->statements[i], *b = &block->statements[k];
            bool alike = a->loop.begin == b->loop.begin && a->loop.end == b->loop.end;
            if (a->kind == STATEMENT_LOOP && b->kind == STATEMENT_LOOP && !alike &&
                loops_meet(&a->loop, &b->loop))
                return false;
        }
    return true;
}

// A text may hold any program; what `build` makes is forward alone, on one device.
static bool is_forward(const struct program *program, const struct pass_context *context) {
    const struct step *train = &program->steps[STEP_TRAIN];
    bool forward = program->job->mesh.n_axes == 0 && holds_calls_only(&train->body, true) &&
                   loops_are_apart(&train->body) &&
                   program_find_buffer(program, "loss_sum") != NO_ID &&
                   program_find_buffer(program, "inverse_count") != NO_ID;
    for (uint32_t i = 0; i < program->job->n_units; i++)
        forward = forward && program->job->units[i].phase == PHASE_FORWARD;
    if (!forward)
        report(context->diagnostics, E600, train->span,
               "this is not the forward program of one device, which `build` makes: only that has "
               "a backward to be appended");
    return forward;
}

// Goes from the last statement of forward to the first, each followed by what it asks for.
bool differentiate(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    if (!is_forward(program, context) || !something_to_train(program, context))
        return false;
    struct arena *arena = program->arena;
    struct tape tape = {.program = program,
                        .n_buffers = program->n_buffers,
                        .active = ARENA_ARRAY(arena, bool, program->n_buffers),
                        .cotangent = ARENA_ARRAY(arena, buffer_id, program->n_buffers)};
    struct block *body = &program->steps[STEP_TRAIN].body;
    mark_active(&tape, body);
    for (uint32_t i = 0; i < tape.n_buffers; i++)
        tape.cotangent[i] = NO_ID;
    buffer_id loss = program_find_buffer(program, "loss_sum");
    CHECK(loss != NO_ID);
    buffer_id scaled = program_find_buffer(program, "loss_gradient");
    tape.cotangent[loss] = scaled != NO_ID ? scaled : program_find_buffer(program, "inverse_count");

    for (uint32_t i = body->n; i-- > 0;) {
        struct statement statement = body->statements[i]; // pushing moves the statements
        if (statement.kind == STATEMENT_LOOP)
            reverse_loop(&tape, &statement, body);
        else if (statement.kind == STATEMENT_CALL)
            reverse_call(&tape, &statement.call, NULL, body);
    }
    job_number(program->job);
    return true;
}
