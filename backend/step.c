// A step: `int32_t place_train(context)`. Loops stay loops, whatever the number of layers or
// microbatches; a buffer's item is the arena plus a constant plus index times a constant.
#include "backend/emitter.h"
#include "backend/handles.h"
#include "backend/symbols.h"
#include "ir/limits.h"

struct step_emitter {
    struct emitter *e;
    enum step_kind kind;
    const struct step *step;
    LLVMValueRef variables[LIMIT_LOOP_DEPTH];
    LLVMValueRef arenas[N_TIERS];
    LLVMValueRef told; // the same in memory, for begin_statement
    unsigned depth;
};

// ---- addresses --------------------------------------------------------------------------------

// The value that index_at gives: modulo means the remainder that is not negative. A constant stays
// one.
static LLVMValueRef index_value(struct step_emitter *s, struct index index) {
    struct emitter *e = s->e;
    if (index.variable < 0)
        return constant_i64(e, index_at(index, NULL));
    CHECK((unsigned)index.variable < s->depth);
    // Loop variables are not negative; with an offset made so too, unsigned remainders are right.
    struct index constant = {.variable = -1, .offset = index.offset, .modulus = index.modulus};
    int64_t offset = index_at(constant, NULL);
    LLVMValueRef value =
        LLVMBuildAdd(e->builder, s->variables[index.variable], constant_i64(e, offset), "");
    if (index.modulus)
        value = LLVMBuildURem(e->builder, value, constant_i64(e, index.modulus), "");
    return value;
}

// The number of an item, row by row.
static LLVMValueRef item_value(struct step_emitter *s, const struct reference *reference) {
    struct emitter *e = s->e;
    const struct stacks *stacks = &e->program->buffers[reference->buffer].stacks;
    LLVMValueRef item = index_value(s, reference->indices[0]);
    for (unsigned i = 1; i < stacks->n; i++) {
        LLVMValueRef row =
            LLVMBuildMul(e->builder, item, constant_i64(e, stacks->list[i].count), "");
        item = LLVMBuildAdd(e->builder, row, index_value(s, reference->indices[i]), "");
    }
    return item;
}

// Items are padded to the stride, which ir computes for the plan and for the runtime alike.
static LLVMValueRef item_pointer(struct step_emitter *s, const struct buffer *buffer,
                                 LLVMValueRef item) {
    struct emitter *e = s->e;
    CHECK(buffer->offset_bytes >= 0);
    LLVMValueRef first = offset_pointer(e, s->arenas[buffer->tier], buffer->offset_bytes);
    LLVMValueRef stride = constant_i64(e, buffer_item_bytes(e->program, buffer));
    LLVMValueRef at = LLVMBuildMul(e->builder, item, stride, "");
    return element_pointer(e, e->i8, first, at);
}

static LLVMValueRef reference_pointer(struct step_emitter *s, struct reference reference) {
    struct emitter *e = s->e;
    const struct buffer *buffer = &e->program->buffers[reference.buffer];
    LLVMValueRef item = item_value(s, &reference);
    int64_t owners = mesh_group_size(&e->job->mesh, &buffer->layout.owners);
    if (buffer->window_of == NO_ID && owners > 1)
        item = LLVMBuildUDiv(e->builder, item, constant_i64(e, owners), "");
    if (buffer->window_of == NO_ID)
        return item_pointer(s, buffer, item);
    // A window: this device's flat shard inside the item of the whole buffer, or its owner's all.
    const struct buffer *whole = &e->program->buffers[buffer->window_of];
    struct tensor_type shard = buffer_type(e->program, buffer);
    struct axis_list axes = buffer_window_axes(e->program, buffer);
    LLVMValueRef at =
        LLVMBuildMul(e->builder, coordinate(e, &axes), constant_i64(e, type_bytes(&shard)), "");
    return element_pointer(e, e->i8, item_pointer(s, whole, item), at);
}

// ---- owners -----------------------------------------------------------------------------------

// The member that owns what a statement names, among those along the axes.
static LLVMValueRef owner_value(struct step_emitter *s, const struct ownership *owner) {
    struct emitter *e = s->e;
    int64_t members = mesh_group_size(&e->job->mesh, &owner->axes);
    return LLVMBuildURem(e->builder, index_value(s, owner->item), constant_i64(e, members), "");
}

// Whether this device is the owner; NULL: everybody has it.
static LLVMValueRef is_owner_value(struct step_emitter *s, const struct ownership *owner) {
    struct emitter *e = s->e;
    if (mesh_group_size(&e->job->mesh, &owner->axes) == 1)
        return NULL;
    return LLVMBuildICmp(e->builder, LLVMIntEQ, coordinate(e, &owner->axes), owner_value(s, owner),
                         "");
}

// What follows is executed by the owner alone, up to end_alone with the block that this returns; NULL:
// by everybody.
static LLVMBasicBlockRef begin_alone(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    struct ownership owner = statement_ownership(e->program, statement);
    LLVMValueRef is_owner = is_owner_value(s, &owner);
    if (!is_owner)
        return NULL;
    LLVMBasicBlockRef alone = LLVMAppendBasicBlockInContext(e->llvm, e->function.llvm, "alone");
    LLVMBasicBlockRef all = LLVMAppendBasicBlockInContext(e->llvm, e->function.llvm, "all");
    LLVMBuildCondBr(e->builder, is_owner, alone, all);
    LLVMPositionBuilderAtEnd(e->builder, alone);
    return all;
}

static void end_alone(struct step_emitter *s, LLVMBasicBlockRef all) {
    if (!all)
        return;
    LLVMBuildBr(s->e->builder, all);
    LLVMPositionBuilderAtEnd(s->e->builder, all);
}

// ---- statements -------------------------------------------------------------------------------

// The unit tests its own calls and returns the first bad status, under the op's id; the call's id
// is for people who read the schedule.
static void emit_call(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    const struct call *call = &statement->call;
    const struct unit *unit = &e->job->units[call->unit];
    unsigned n = 0, count = unit_pointer_count(unit);
    LLVMValueRef *arguments = ARENA_ARRAY(e->arena, LLVMValueRef, count + 1);
    arguments[n++] = e->function.context;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        arguments[n++] = reference_pointer(s, call->operands[i]);
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == NO_ID)
            arguments[n++] = reference_pointer(s, call->results[i]);
    if (unit->frame_bytes > 0) {
        const struct buffer *frame = &e->program->buffers[program_frame(e->program, call->unit)];
        arguments[n++] = offset_pointer(e, s->arenas[frame->tier], frame->offset_bytes);
    }
    CHECK(n == count + 1);
    LLVMValueRef callee = declare_unit(e, unit);
    test_status(e, LLVMBuildCall2(e->builder, function_type(e, count), callee, arguments, n, ""));
}

// A handle with slots is as many numbers in a row.
static LLVMValueRef handle_value(struct step_emitter *s, uint32_t handle, struct index index) {
    struct emitter *e = s->e;
    int64_t first = step_handle(e->job, s->kind, s->step->handles[handle].name);
    LLVMValueRef value =
        LLVMBuildAdd(e->builder, index_value(s, index), constant_i64(e, first), "");
    return LLVMBuildTrunc(e->builder, value, e->i32, "handle");
}

// Pieces of one transfer travel together, so that small tensors cost one synchronisation.
static void emit_start(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    const struct program *program = e->program;
    const struct transfer *transfer = &statement->start;
    struct piece *pieces = ARENA_ARRAY(e->arena, struct piece, transfer->n_pieces);
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        struct tensor_type from = buffer_type(program, &program->buffers[piece->from.buffer]);
        struct tensor_type to = buffer_type(program, &program->buffers[piece->to.buffer]);
        pieces[i] =
            (struct piece){reference_pointer(s, piece->from), reference_pointer(s, piece->to),
                           piece_shape_of(&transfer->exchange, &e->job->mesh, &from, &to)};
    }
    enum dtype dtype = program->buffers[transfer->pieces[0].from.buffer].dtype;
    if (exchange_is_message(&transfer->exchange)) {
        start_message(e, statement->id, handle_value(s, transfer->handle, transfer->handle_index),
                      &transfer->exchange, dtype, pieces, transfer->n_pieces);
        return;
    }
    struct ownership owner = statement_ownership(program, statement);
    start_collective(e, statement->id, handle_value(s, transfer->handle, transfer->handle_index),
                     &transfer->exchange,
                     exchange_has_owner(&transfer->exchange) ? owner_value(s, &owner) : NULL, dtype,
                     pieces, transfer->n_pieces);
}

// Elements, without the padding behind an item: none of what another owns.
static LLVMValueRef copied_bytes(struct step_emitter *s, const struct reference *from) {
    struct emitter *e = s->e;
    struct tensor_type type = buffer_type(e->program, &e->program->buffers[from->buffer]);
    struct ownership owner = reference_ownership(e->program, from);
    LLVMValueRef bytes = constant_i64(e, type_bytes(&type)), is_owner = is_owner_value(s, &owner);
    return is_owner ? LLVMBuildSelect(e->builder, is_owner, bytes, constant_i64(e, 0), "") : bytes;
}

static void emit_copy(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    const struct transfer *transfer = &statement->start;
    struct copy *copies = ARENA_ARRAY(e->arena, struct copy, transfer->n_pieces);
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        copies[i] = (struct copy){.from = reference_pointer(s, piece->from),
                                  .to = reference_pointer(s, piece->to),
                                  .bytes = copied_bytes(s, &piece->from),
                                  .from_tier = e->program->buffers[piece->from.buffer].tier,
                                  .to_tier = e->program->buffers[piece->to.buffer].tier};
    }
    start_copy(e, statement->id, handle_value(s, transfer->handle, transfer->handle_index), copies,
               transfer->n_pieces);
}

// A start of the handle; all of them begin the same kind of transfer.
static const struct transfer *start_of(const struct step *step, uint32_t handle) {
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START && walk.statement->start.handle == handle)
            return &walk.statement->start;
    return NULL;
}

static void emit_wait(struct step_emitter *s, const struct statement *statement) {
    LLVMValueRef handle = handle_value(s, statement->wait.handle, statement->wait.index);
    const struct transfer *start = start_of(s->step, statement->wait.handle);
    if (start && is_copy(start))
        CALL_RUNTIME(s->e, copy_wait, statement->id, handle);
    else if (start && exchange_is_message(&start->exchange))
        CALL_RUNTIME(s->e, message_wait, statement->id, handle);
    else
        CALL_RUNTIME(s->e, collective_wait, statement->id, handle);
}

// Padding too: what is gathered or reduced with it must be zero.
static void emit_zero(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    const struct buffer *buffer = &e->program->buffers[statement->zero.buffer];
    int64_t bytes = buffer_item_bytes(e->program, buffer);
    CALL_RUNTIME(e, fill_zero, statement->id, constant_i64(e, bytes),
                 reference_pointer(s, statement->zero));
}

// The text's letters are the runtime's.
static void emit_task(struct step_emitter *s, const struct statement *statement) {
    struct emitter *e = s->e;
    const struct task_label *task = &statement->task;
    char letter = task->kind == N_TASK_KINDS ? 0 : task_letters[task->kind];
    CALL_RUNTIME(e, begin_task, statement->id, constant_i32(e, letter),
                 constant_i32(e, (int32_t)task->stage), index_value(s, task->microbatch));
}

static void emit_block(struct step_emitter *, const struct block *);

static LLVMValueRef loop_bound(struct step_emitter *s, const struct loop *loop, int64_t bound) {
    struct emitter *e = s->e;
    if (!loop->stride)
        return constant_i64(e, bound);
    LLVMValueRef base =
        LLVMBuildMul(e->builder, s->variables[s->depth - 1], constant_i64(e, loop->stride), "");
    return LLVMBuildAdd(e->builder, base, constant_i64(e, bound), "");
}

// Rolled: the code does not grow with layers. The body is emitted once, its variable is a register.
static void emit_loop(struct step_emitter *s, const struct loop *loop) {
    struct emitter *e = s->e;
    CHECK(s->depth < LIMIT_LOOP_DEPTH && loop->begin >= 0);
    struct counted_loop counted = loop_begin(e, loop_bound(s, loop, loop->begin),
                                             loop_bound(s, loop, loop->end), loop->descending);
    LLVMBuildStore(e->builder, counted.counter,
                   element_pointer(e, e->i64, s->told, constant_i64(e, s->depth)));
    s->variables[s->depth++] = counted.counter;
    emit_block(s, &loop->body);
    s->depth--;
    loop_end(e, &counted, false);
}

static void emit_statement(struct step_emitter *s, const struct statement *statement) {
    if (statement->kind != STATEMENT_LOOP)
        CALL_RUNTIME(s->e, begin_statement, statement->id, s->depth ? s->told : null_pointer(s->e));
    LLVMBasicBlockRef all = NULL;
    if (statement->kind == STATEMENT_CALL || statement->kind == STATEMENT_ZERO)
        all = begin_alone(s, statement);
    switch (statement->kind) {
    case STATEMENT_LOOP:
        emit_loop(s, &statement->loop);
        break;
    case STATEMENT_CALL:
        emit_call(s, statement);
        break;
    case STATEMENT_START:
        if (is_copy(&statement->start))
            emit_copy(s, statement);
        else
            emit_start(s, statement);
        break;
    case STATEMENT_WAIT:
        emit_wait(s, statement);
        break;
    case STATEMENT_ZERO:
        emit_zero(s, statement);
        break;
    case STATEMENT_TASK:
        emit_task(s, statement);
        break;
    case STATEMENT_FREE: // what is no longer alive is counted, not given back
        break;
    }
    end_alone(s, all);
}

static void emit_block(struct step_emitter *s, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        emit_statement(s, &block->statements[i]);
}

// Arenas are loaded once; everything behind them is constant offsets.
static void load_arenas(struct step_emitter *s) {
    struct emitter *e = s->e;
    for (int tier = 0; tier < N_TIERS; tier++) {
        LLVMValueRef at =
            element_pointer(e, e->pointer, e->function.context, constant_i64(e, tier));
        s->arenas[tier] = LLVMBuildLoad2(e->builder, e->pointer, at, tier_names[tier]);
    }
}

static void emit_step(struct emitter *e, enum step_kind kind, const char *name) {
    struct step_emitter schedule = {.e = e, .kind = kind, .step = &e->program->steps[kind]};
    function_begin(e, LLVMAddFunction(e->module, name, function_type(e, 0)));
    load_arenas(&schedule);
    schedule.told = stack_array(e, e->i64, LIMIT_LOOP_DEPTH);
    emit_block(&schedule, &schedule.step->body);
    function_end(e);
}

// All that the program of this number has.
void emit_steps(struct emitter *e, uint32_t program) {
    e->program = e->job->programs[program];
    for (int s = 0; s < N_STEPS; s++)
        if (e->program->steps[s].present)
            emit_step(e, s, step_symbol(e->arena, e->job, program, s));
}
