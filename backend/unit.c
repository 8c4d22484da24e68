// One unit: `int32_t place_unit_NAME(context, parameters..., results..., frame)`. Its values are places in
// memory (the plan says where); its ops are emitted in order, each by the file of its kernel kind.
// Results that take a parameter's place have no pointer of their own.
#include "backend/emitter.h"

// Results in a parameter's place arrive through the parameter. Where the frame lies is the
// program's to say, so it arrives, too.
unsigned unit_pointer_count(const struct unit *unit) {
    unsigned n = unit->n_parameters + (unit->frame_bytes > 0);
    for (uint32_t i = 0; i < unit->n_results; i++)
        n += unit->results[i].in_parameter == NO_ID;
    return n;
}

LLVMValueRef declare_unit(struct emitter *e, const struct unit *unit) {
    const char *name = arena_format(e->arena, "place_unit_%s", unit->name);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(e->module, name, function_type(e, unit_pointer_count(unit)));
    set_attribute(e, function, "noinline"); // the step's function stays small
    return function;
}

static uint32_t *id_array(struct emitter *e, uint32_t n) {
    uint32_t *ids = ARENA_ARRAY(e->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = NO_ID;
    return ids;
}

// Who makes each value, and which op adds an inline value that is no elementwise chain to a sum.
static void index_ops(struct emitter *e, const struct unit *unit) {
    e->producers = id_array(e, unit->n_values);
    e->accumulators = id_array(e, unit->n_values);
    e->made = ARENA_ARRAY(e->arena, bool, unit->n_ops + 1);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        for (unsigned k = 0; k < op->n_results; k++)
            e->producers[op->results[k]] = i;
        if (op_adds_term(op->kind) && is_added_by_producer(e, op)) {
            CHECK(e->accumulators[op->operands[1]] == NO_ID);
            e->accumulators[op->operands[1]] = i;
        }
    }
}

// The order of arguments is that of the call in step.c: parameters, results with own places, frame.
// A result may be another value's storage (a wait lies over its start): the root has the pointer.
static void bind_places(struct emitter *e, const struct unit *unit) {
    unsigned argument = 1;
    e->places = ARENA_ARRAY(e->arena, LLVMValueRef, unit->n_values);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        e->places[i] = LLVMGetParam(e->function.llvm, argument++);
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        bool own = result->in_parameter == NO_ID;
        LLVMValueRef place =
            own ? LLVMGetParam(e->function.llvm, argument++) : e->places[result->in_parameter];
        value_id root = value_root(unit, result->value);
        if (unit->values[root].storage == STORAGE_RESULT)
            e->places[root] = place;
        else
            CHECK(!own && root == result->in_parameter);
    }
    e->frame = unit->frame_bytes > 0 ? LLVMGetParam(e->function.llvm, argument) : NULL;
}

// An iota that is only an index operand has no place: its users are given its first number.
static void emit_iota(struct emitter *e, const struct op *op) {
    value_id result = op->results[0];
    enum value_storage storage = e->unit->values[result].storage;
    if (storage == STORAGE_INLINE || storage == STORAGE_UNPLANNED)
        return;
    struct axis_list axes = op_axes(op);
    const struct mesh *mesh = &e->job->mesh;
    struct order order = order_of_cuts(mesh, &axes, op_zigzag(op));
    int64_t count = type_elements(value_type(e, result)), chunk = 0;
    if (order.chunks)
        chunk = count * mesh_group_size(mesh, &axes) / (order.outer * order.chunks);
    CALL_RUNTIME(e, position_ids, op->id, constant_i64(e, count), iota_start(e, result),
                 constant_i64(e, order.chunks), constant_i64(e, chunk), place_of(e, result));
}

// The kernel column of ir/ops.def decides who emits an op.
static void emit_op(struct emitter *e, const struct op *op) {
    switch (op_rows[op->kind].kernel) {
    case KERNEL_ELEMENTWISE:
        emit_elementwise(e, op);
        break;
    case KERNEL_PRODUCT:
        emit_product(e, op);
        break;
    case KERNEL_CALL:
    case KERNEL_SCALAR:
        if (op->kind == OP_SLICE)
            emit_slice(e, op);
        else
            emit_kernel(e, op);
        break;
    case KERNEL_COLLECTIVE:
        emit_collective(e, op);
        break;
    case KERNEL_NONE:
        emit_iota(e, op);
        break;
    }
}

void emit_unit(struct emitter *e, const struct unit *unit) {
    e->unit = unit;
    function_begin(e, declare_unit(e, unit));
    index_ops(e, unit);
    bind_places(e, unit);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        emit_op(e, &unit->ops[i]);
    function_end(e);
}
