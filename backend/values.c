// Values of the unit that is built: where they are in memory, which op makes them, and where a kernel
// leaves what it makes.
#include "backend/emitter.h"

const struct tensor_type *value_type(const struct emitter *e, value_id value) {
    return &e->unit->values[value].type;
}

bool is_inline(const struct emitter *e, value_id value) {
    return e->unit->values[value].storage == STORAGE_INLINE;
}

// Addresses are computed anew at every use: constants are free, and LLVM merges what is equal.
LLVMValueRef place_of(struct emitter *e, value_id id) {
    const struct value *value = &e->unit->values[id];
    switch (value->storage) {
    case STORAGE_PARAMETER:
    case STORAGE_RESULT:
        CHECK(e->places[id]);
        return e->places[id];
    case STORAGE_IN_PLACE:
        return place_of(e, value->base);
    case STORAGE_FRAME:
        CHECK(e->frame && value->offset_bytes >= 0);
        return offset_pointer(e, e->frame, value->offset_bytes);
    default:
        CHECK(!"a value that has a place");
        return NULL;
    }
}

LLVMValueRef operand_place(struct emitter *e, const struct op *op, unsigned i) {
    return place_of(e, op->operands[i]);
}

// Results of one parameter's place are one LLVM argument.
bool same_place(const struct emitter *e, value_id a, value_id b) {
    value_id x = value_root(e->unit, a), y = value_root(e->unit, b);
    return x == y || (e->places[x] && e->places[x] == e->places[y]);
}

bool share_bytes(const struct emitter *e, value_id a, value_id b) {
    const struct value *x = &e->unit->values[value_root(e->unit, a)];
    const struct value *y = &e->unit->values[value_root(e->unit, b)];
    if (x->storage != STORAGE_FRAME || y->storage != STORAGE_FRAME)
        return same_place(e, a, b);
    return x->offset_bytes < y->offset_bytes + type_bytes(&y->type) &&
           y->offset_bytes < x->offset_bytes + type_bytes(&x->type);
}

struct target result_target(struct emitter *e, const struct op *op, unsigned i) {
    value_id result = op->results[i];
    if (!is_inline(e, result))
        return (struct target){.place = place_of(e, result), .accumulate = constant_i32(e, 0)};
    uint32_t taker = e->accumulators[result];
    if (taker == NO_ID)
        return (struct target){0};
    // The kernel runs where its op stands, ahead of the one that takes the term. That is right
    // because the sum is a parameter that nothing else reads before (passes/schedule/fuse.c).
    const struct op *adds = &e->unit->ops[taker];
    value_id sum = adds->operands[0], total = adds->results[0];
    LLVMValueRef place = place_of(e, total);
    if (!same_place(e, sum, total))
        CALL_RUNTIME(e, copy, adds->id, constant_i64(e, type_bytes(value_type(e, sum))), place,
                     place_of(e, sum));
    return (struct target){place, adds_to_sum(e, adds), adds->kind == OP_ACCUMULATE_PAIR};
}

// Whether the term is added to the sum or begins it: of a pair of microbatches the odd one is
// added.
LLVMValueRef adds_to_sum(struct emitter *e, const struct op *sum) {
    if (sum->kind == OP_ACCUMULATE)
        return constant_i32(e, 1);
    LLVMValueRef microbatch = LLVMBuildLoad2(e->builder, e->f64, operand_place(e, sum, 2), "");
    microbatch = LLVMBuildFPToSI(e->builder, microbatch, e->i32, "microbatch");
    return LLVMBuildAnd(e->builder, microbatch, constant_i32(e, 1), "second");
}

// Inline terms are of two kinds: an elementwise chain, which the sum's own loop computes, and a
// kernel's result, which the kernel has added when it ran.
bool is_added_by_producer(const struct emitter *e, const struct op *sum) {
    value_id term = sum->operands[1];
    return is_inline(e, term) &&
           op_rows[e->unit->ops[e->producers[term]].kind].kernel != KERNEL_ELEMENTWISE;
}

LLVMValueRef iota_start(struct emitter *e, value_id value) {
    uint32_t producer = e->producers[value];
    CHECK(producer != NO_ID && e->unit->ops[producer].kind == OP_IOTA);
    // Slices are equal and in the order of coordinates; what is in zigzag has a place.
    struct axis_list axes = op_axes(&e->unit->ops[producer]);
    LLVMValueRef extent = constant_i64(e, type_elements(value_type(e, value)));
    return LLVMBuildMul(e->builder, coordinate(e, &axes), extent, "start");
}

// An inline value always has one: parameters have places.
const struct op *producer_of(const struct emitter *e, value_id value) {
    CHECK(e->producers[value] != NO_ID);
    return &e->unit->ops[e->producers[value]];
}

int64_t operand_elements(const struct emitter *e, const struct op *op, unsigned operand) {
    return type_elements(value_type(e, op->operands[operand]));
}
