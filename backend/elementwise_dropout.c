// Dropout inside an elementwise loop: numbers are drawn by counters (ir/interpreter/draws.h), most
// of the way once for a row, the rest for each of its elements.
#include "backend/elementwise.h"

// Number `index` of samples, positions or columns, as an i32: what stands there, or counted on from
// where they begin.
static LLVMValueRef coordinate_at(struct tree *tree, value_id value, LLVMValueRef index) {
    struct emitter *e = tree->e;
    if (!is_inline(e, value))
        return load_leaf(tree, value, index);
    LLVMValueRef at = LLVMBuildNSWAdd(e->builder, start_of(tree, value), index, "");
    return LLVMBuildTrunc(e->builder, at, e->i32, "");
}

static const struct drawn *find_drawn(const struct tree *tree, const struct op *op,
                                      LLVMValueRef row) {
    for (uint32_t i = 0; i < tree->n_drawn; i++)
        if (tree->drawn[i].op == op && tree->drawn[i].row == row)
            return &tree->drawn[i];
    return NULL;
}

// A row of the loop is one of the tensor's, or a part of it.
void draw_row(struct tree *tree, const struct op *op, struct spot at, LLVMValueRef layer,
              LLVMValueRef key) {
    struct emitter *e = tree->e;
    if (find_drawn(tree, op, at.row))
        return;
    LLVMValueRef row =
        LLVMBuildUDiv(e->builder, at.row, rows_of(tree, operand_elements(e, op, 3)), "");
    LLVMValueRef sequence = constant_i64(e, operand_elements(e, op, 2));
    LLVMValueRef sample = LLVMBuildUDiv(e->builder, row, sequence, "");
    LLVMValueRef position = LLVMBuildURem(e->builder, row, sequence, "");
    struct drawn drawn = {.op = op, .row = at.row};
    drawn.words[0] = coordinate_at(tree, op->operands[1], sample);
    drawn.words[1] = coordinate_at(tree, op->operands[2], position);
    drawn.words[2] = LLVMBuildFPToUI(e->builder, layer, e->i32, "");
    drawn.words[3] = constant_i32(e, op_integer(op, ATTRIBUTE_SITE, 0));
    emit_row_words(e, key, drawn.words);
    ARENA_PUSH(e->arena, tree->drawn, tree->n_drawn, tree->cap_drawn, drawn);
}

static LLVMValueRef column_of(struct tree *tree, const struct op *op, struct spot at) {
    struct emitter *e = tree->e;
    LLVMValueRef part =
        LLVMBuildURem(e->builder, at.row, rows_of(tree, operand_elements(e, op, 3)), "");
    part = LLVMBuildMul(e->builder, part, constant_i64(e, tree->columns), "");
    return LLVMBuildNSWAdd(e->builder, part, tree->column_index, "");
}

// With key 0 all numbers pass, and what passes is not made larger.
LLVMValueRef drop(struct tree *tree, const struct op *op, struct spot at, LLVMValueRef key,
                  LLVMValueRef x) {
    struct emitter *e = tree->e;
    double probability = op_real(op, ATTRIBUTE_PROBABILITY, 0);
    CHECK(probability >= 0 && probability < 1); // the reference's, which the frontend has checked
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef zero = LLVMConstNull(type);
    LLVMValueRef draws = LLVMBuildFCmp(e->builder, LLVMRealONE, key, constant_f64(e, 0), "draws");
    LLVMValueRef limit = LLVMConstInt(e->i32, (uint32_t)(probability * 0x1p32), false);
    limit = LLVMBuildSelect(e->builder, draws, limit, constant_i32(e, 0), "");
    LLVMValueRef factor = LLVMBuildSelect(
        e->builder, draws, LLVMConstReal(type, 1 / (1 - probability)), LLVMConstReal(type, 1), "");
    struct drawn drawn = *find_drawn(tree, op, at.row);
    LLVMValueRef number = emit_element_number(
        e, drawn.words, coordinate_at(tree, op->operands[3], column_of(tree, op, at)));
    LLVMValueRef passes = LLVMBuildICmp(e->builder, LLVMIntUGE, number, limit, "");
    return LLVMBuildSelect(e->builder, passes, LLVMBuildFMul(e->builder, x, factor, ""), zero, "");
}
