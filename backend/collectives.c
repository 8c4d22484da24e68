// Collectives, of units and of steps: a start hands the runtime an array of pieces, a wait names
// the start by its handle. A unit's collectives are over when it returns, so all units use the same
// handles, behind those of the steps.
#include "backend/emitter.h"
#include "backend/handles.h"

#include "runtime/place.h"

// ---- pieces -----------------------------------------------------------------------------------

enum { N_PIECE_MEMBERS = 6 };

// struct place_piece, member by member.
static LLVMTypeRef piece_type(struct emitter *e) {
    LLVMTypeRef members[] = {e->pointer, e->pointer, e->i64, e->i64, e->i64, e->i64};
    return LLVMStructTypeInContext(e->llvm, members, N_PIECE_MEMBERS, false);
}

// The runtime copies the array in start, so that it may be overwritten by the next one.
static LLVMValueRef store_pieces(struct emitter *e, const struct piece *pieces, uint32_t n) {
    LLVMTypeRef type = piece_type(e);
    LLVMValueRef array = stack_array(e, type, n);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef members[] = {pieces[i].from,
                                  pieces[i].to,
                                  constant_i64(e, pieces[i].shape.outer),
                                  constant_i64(e, pieces[i].shape.chunk),
                                  constant_i64(e, pieces[i].shape.valid),
                                  constant_i64(e, pieces[i].shape.dst_outer)};
        LLVMValueRef slot = element_pointer(e, type, array, constant_i64(e, i));
        for (unsigned k = 0; k < N_PIECE_MEMBERS; k++)
            LLVMBuildStore(e->builder, members[k],
                           LLVMBuildStructGEP2(e->builder, type, slot, k, ""));
    }
    return array;
}

// The runtime numbers kinds and operations as the compiler does.
_Static_assert((int)PLACE_ALL_REDUCE == (int)COLLECTIVE_ALL_REDUCE &&
                   (int)PLACE_REDUCE_SCATTER == (int)COLLECTIVE_REDUCE_SCATTER &&
                   (int)PLACE_ALL_GATHER == (int)COLLECTIVE_ALL_GATHER &&
                   (int)PLACE_ALL_TO_ALL == (int)COLLECTIVE_ALL_TO_ALL &&
                   (int)PLACE_PERMUTE == (int)COLLECTIVE_PERMUTE &&
                   (int)PLACE_REDUCE == (int)COLLECTIVE_REDUCE &&
                   (int)PLACE_BROADCAST == (int)COLLECTIVE_BROADCAST &&
                   (int)PLACE_SEND == (int)COLLECTIVE_SEND &&
                   (int)PLACE_RECEIVE == (int)COLLECTIVE_RECEIVE,
               "enum place_collective follows ir/collectives.def");
_Static_assert((int)PLACE_SUM == (int)OPERATION_SUM && (int)PLACE_MAX == (int)OPERATION_MAX,
               "enum place_operation is operation");

// The runtime has the same list in its descriptor.
static int64_t group_index(const struct emitter *e, const struct axis_list *axes) {
    uint32_t i = 0;
    while (i < e->n_groups && !axis_list_equal(&e->groups[i], axes))
        i++;
    CHECK(i < e->n_groups);
    return i;
}

void start_collective(struct emitter *e, uint32_t statement, LLVMValueRef handle,
                      const struct exchange *exchange, LLVMValueRef owner, enum dtype dtype,
                      const struct piece *pieces, uint32_t n) {
    int64_t members = mesh_group_size(&e->job->mesh, &exchange->axes);
    int64_t shift = (exchange->shift % members + members) % members;
    LLVMValueRef place =
        owner ? LLVMBuildTrunc(e->builder, owner, e->i32, "owner") : constant_i32(e, shift);
    CALL_RUNTIME(e, collective_start, statement, handle, constant_i32(e, exchange->kind),
                 constant_i32(e, group_index(e, &exchange->axes)), place_dtype_constant(e, dtype),
                 constant_i32(e, exchange->operation), place, constant_i32(e, n),
                 store_pieces(e, pieces, n));
}

void start_message(struct emitter *e, uint32_t statement, LLVMValueRef handle,
                   const struct exchange *exchange, enum dtype dtype, const struct piece *pieces,
                   uint32_t n) {
    CALL_RUNTIME(e, message_start, statement, handle, constant_i32(e, exchange->kind),
                 constant_i32(e, group_index(e, &exchange->axes)), place_dtype_constant(e, dtype),
                 constant_i32(e, exchange->peer), constant_i32(e, n), store_pieces(e, pieces, n));
}

// ---- handles ----------------------------------------------------------------------------------

static LLVMValueRef unit_handle(struct emitter *e, const struct op *start) {
    return constant_i32(e, step_handle_count(e->job) +
                               unit_handle_count(e->unit, (uint32_t)(start - e->unit->ops)));
}

// A wait finds its start through its operand: the value in flight.
void emit_collective(struct emitter *e, const struct op *op) {
    if (op->kind == OP_WAIT) {
        uint32_t start = e->producers[op->operands[0]];
        CHECK(start != NO_ID);
        CALL_RUNTIME(e, collective_wait, op->id, unit_handle(e, &e->unit->ops[start]));
        return;
    }
    struct exchange exchange;
    CHECK(op_exchange(op, &exchange));
    const struct tensor_type *from = value_type(e, op->operands[0]);
    const struct tensor_type *to = value_type(e, op->results[0]);
    struct piece piece = {operand_place(e, op, 0), place_of(e, op->results[0]),
                          piece_shape_of(&exchange, &e->job->mesh, from, to)};
    start_collective(e, op->id, unit_handle(e, op), &exchange, NULL, from->dtype, &piece, 1);
}

// ---- slices -----------------------------------------------------------------------------------

static LLVMValueRef smaller(struct emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef is_less = LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
    return LLVMBuildSelect(e->builder, is_less, a, b, "");
}

// A flat part that is padded has what the whole has left, and zeros behind it.
static void emit_padded_slice(struct emitter *e, const struct op *op) {
    struct axis_list axes = op_axes(op);
    LLVMValueRef all = constant_i64(e, type_bytes(value_type(e, op->operands[0])));
    LLVMValueRef run = constant_i64(e, type_bytes(value_type(e, op->results[0])));
    LLVMValueRef begin = smaller(e, LLVMBuildMul(e->builder, coordinate(e, &axes), run, ""), all);
    LLVMValueRef count = smaller(e, LLVMBuildSub(e->builder, all, begin, ""), run);
    LLVMValueRef to = place_of(e, op->results[0]);
    CALL_RUNTIME(e, copy, op->id, count, to,
                 element_pointer(e, e->i8, operand_place(e, op, 0), begin));
    CALL_RUNTIME(e, fill_zero, op->id, LLVMBuildSub(e->builder, run, count, ""),
                 element_pointer(e, e->i8, to, count));
}

static bool is_padded_slice(const struct emitter *e, const struct op *op) {
    struct axis_list axes = op_axes(op);
    int64_t part = type_elements(value_type(e, op->results[0]));
    return op_integer(op, ATTRIBUTE_DIM, -1) < 0 &&
           part * mesh_group_size(&e->job->mesh, &axes) !=
               type_elements(value_type(e, op->operands[0]));
}

// One run of bytes for every index of the dimensions before the one that is cut.
static void emit_whole_slice(struct emitter *e, const struct op *op) {
    const struct tensor_type *x = value_type(e, op->operands[0]);
    struct axis_list axes = op_axes(op);
    int64_t outer = elements_before(x, (int)op_integer(op, ATTRIBUTE_DIM, -1));
    LLVMValueRef whole = constant_i64(e, type_bytes(x) / outer);
    LLVMValueRef run = constant_i64(e, type_bytes(value_type(e, op->results[0])) / outer);
    LLVMValueRef begin = LLVMBuildMul(e->builder, coordinate(e, &axes), run, "");
    LLVMValueRef from = element_pointer(e, e->i8, operand_place(e, op, 0), begin);
    struct counted_loop loop = loop_begin(e, constant_i64(e, 0), constant_i64(e, outer), false);
    LLVMValueRef to_at = LLVMBuildMul(e->builder, loop.counter, run, "");
    LLVMValueRef from_at = LLVMBuildMul(e->builder, loop.counter, whole, "");
    CALL_RUNTIME(e, copy, op->id, run,
                 element_pointer(e, e->i8, place_of(e, op->results[0]), to_at),
                 element_pointer(e, e->i8, from, from_at));
    loop_end(e, &loop, false);
}

void emit_slice(struct emitter *e, const struct op *op) {
    if (is_padded_slice(e, op))
        emit_padded_slice(e, op);
    else
        emit_whole_slice(e, op);
}
