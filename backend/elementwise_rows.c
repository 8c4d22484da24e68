// Which row of an operand an iteration of an elementwise loop reads; see elementwise.h. It is a
// matter of the iteration's own row alone, so all of this is computed before the inner loop.
#include "backend/elementwise.h"

// Elements behind the dimension that has the places.
int64_t kept_elements(const struct emitter *e, const struct op *op) {
    const struct tensor_type *type = value_type(e, op->results[0]);
    int64_t elements = 1;
    for (int64_t i = 0; i < op_integer(op, ATTRIBUTE_KEEP, 0); i++)
        elements *= type->dims[type->rank - 1 - i].size;
    return elements;
}

// ---- which element ----------------------------------------------------------------------------

LLVMValueRef rows_of(const struct tree *tree, int64_t elements) {
    return constant_i64(tree->e, elements / (tree->columns ? tree->columns : 1));
}

// Where an operand that has as many elements as its reader, or a suffix of them, or one, is read.
struct spot spot_of(const struct tree *tree, value_id value, struct spot reader) {
    struct emitter *e = tree->e;
    int64_t elements = type_elements(value_type(e, value));
    if (value_type(e, value)->rank == 0)
        return (struct spot){NULL, 1};
    if (elements == reader.elements)
        return reader;
    LLVMValueRef row = constant_i64(e, 0);
    if (elements > tree->columns)
        row = LLVMBuildURem(e->builder, reader.row, rows_of(tree, elements), "");
    return (struct spot){row, elements};
}

// Index of the element of a value that the current iteration works on.
LLVMValueRef element_at(const struct tree *tree, value_id value, struct spot at) {
    struct emitter *e = tree->e;
    if (type_elements(value_type(e, value)) == 1)
        return constant_i64(e, 0);
    if (!tree->columns)
        return at.row;
    LLVMValueRef start = LLVMBuildMul(e->builder, at.row, constant_i64(e, tree->columns), "");
    return LLVMBuildNSWAdd(e->builder, start, tree->column_index, "");
}

// ---- what is moved ----------------------------------------------------------------------------

// The first of the numbers that an iota counts on this device.
LLVMValueRef start_of(const struct tree *tree, value_id iota) {
    if (op_axes(producer_of(tree->e, iota)).n == 0)
        return constant_i64(tree->e, 0);
    unsigned i = 0;
    while (tree->counts[i] != iota)
        CHECK(++i < tree->n_counts);
    return tree->begins[i];
}

// Result place `to` reads place `to + offset` of the operand. The single element that is taken, or
// put, is place 0 of one.
static LLVMValueRef offset_of(const struct tree *tree, const struct op *op) {
    LLVMBuilderRef b = tree->e->builder;
    LLVMValueRef start = start_of(tree, op->operands[1]);
    LLVMValueRef number = constant_i64(
        tree->e, op_integer(op, op->kind == OP_MOVE ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX, 0));
    if (op->kind == OP_PUT)
        return LLVMBuildSub(b, start, number, "");
    if (op->kind == OP_MOVE)
        number = LLVMBuildAdd(b, number, start_of(tree, op->operands[2]), "");
    return LLVMBuildSub(b, number, start, "");
}

// Whether all of `to` places, or none, have one among `from`; -1: some, or it depends on the
// device.
static int always_inside(LLVMValueRef offset, int64_t to, int64_t from) {
    if (!LLVMIsConstant(offset))
        return -1;
    int64_t first = LLVMConstIntGetSExtValue(offset);
    return first >= 0 && first + to <= from ? 1 : first + to <= 0 || first >= from ? 0 : -1;
}

// Tensors are planes [outer, places, kept]: the row of the operand's plane, if it has that place.
struct moved move_spot(const struct tree *tree, const struct op *op, struct spot at) {
    struct emitter *e = tree->e;
    LLVMBuilderRef b = e->builder;
    int64_t kept = kept_elements(e, op);
    int64_t from = op->kind == OP_PUT ? 1 : operand_elements(e, op, 1);
    int64_t to = op->kind == OP_TAKE ? 1 : operand_elements(e, op, op->kind == OP_PUT ? 1 : 2);
    LLVMValueRef kept_rows = rows_of(tree, kept), offset = offset_of(tree, op);
    LLVMValueRef outer = LLVMBuildUDiv(b, at.row, rows_of(tree, to * kept), "");
    LLVMValueRef inner = LLVMBuildURem(b, at.row, kept_rows, "");
    LLVMValueRef place =
        LLVMBuildURem(b, LLVMBuildUDiv(b, at.row, kept_rows, ""), constant_i64(e, to), "");
    place = LLVMBuildAdd(b, place, offset, "");
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, place, constant_i64(e, from), "inside");
    place = LLVMBuildSelect(b, inside, place, constant_i64(e, 0), "");
    LLVMValueRef row = LLVMBuildMul(b, outer, rows_of(tree, from * kept), "");
    row = LLVMBuildAdd(b, row, LLVMBuildMul(b, place, kept_rows, ""), "");
    row = LLVMBuildAdd(b, row, inner, "");
    return (struct moved){.op = op,
                          .row = at.row,
                          .from = {row, type_elements(value_type(e, op->operands[0]))},
                          .inside = inside,
                          .known = always_inside(offset, to, from)};
}

struct moved *find_moved(const struct tree *tree, const struct op *op, LLVMValueRef row) {
    for (uint32_t i = 0; i < tree->n_moved; i++)
        if (tree->moved[i].op == op && tree->moved[i].row == row)
            return &tree->moved[i];
    return NULL;
}
