// Ops that are one call of a runtime kernel: their operands' shapes become the kernel's sizes,
// their attributes its constants. One function per op, in the order of ir/ops.def; arguments in the
// order of runtime/calls.def, which call_runtime checks by number and type.
#include "backend/emitter.h"

#include <math.h>
#include <string.h>

#include "ir/limits.h"
#include "runtime/place.h"
#include "runtime/workspace.h"

// ---- what calls are made of -------------------------------------------------------------------

static const struct tensor_type *operand_type(struct emitter *e, const struct op *op, unsigned i) {
    return value_type(e, op->operands[i]);
}

// Kernels are told the types of their tensors; one operand is named for all that are alike.
static LLVMValueRef dtype_of(struct emitter *e, const struct op *op, unsigned operand) {
    return place_dtype_constant(e, operand_type(e, op, operand)->dtype);
}

static LLVMValueRef result_dtype(struct emitter *e, const struct op *op, unsigned result) {
    return place_dtype_constant(e, value_type(e, op->results[result])->dtype);
}

static LLVMValueRef size_of(struct emitter *e, const struct op *op, unsigned operand,
                            unsigned dimension) {
    return constant_i64(e, operand_type(e, op, operand)->dims[dimension].size);
}

static LLVMValueRef elements_of(struct emitter *e, const struct op *op, unsigned operand) {
    return constant_i64(e, type_elements(operand_type(e, op, operand)));
}

static LLVMValueRef last_size(struct emitter *e, const struct op *op, unsigned operand) {
    return size_of(e, op, operand, operand_type(e, op, operand)->rank - 1u);
}

// Product of the sizes of dimensions begin .. end-1.
static LLVMValueRef sizes_between(struct emitter *e, const struct op *op, unsigned operand,
                                  unsigned begin, unsigned end) {
    int64_t product = 1;
    for (unsigned i = begin; i < end; i++)
        product *= operand_type(e, op, operand)->dims[i].size;
    return constant_i64(e, product);
}

// Rows are everything but the last dimension: kernels do not care what they were.
static LLVMValueRef row_count(struct emitter *e, const struct op *op, unsigned operand) {
    return sizes_between(e, op, operand, 0, operand_type(e, op, operand)->rank - 1u);
}

// A constant of the program, which it must have.
static LLVMValueRef real(struct emitter *e, const struct op *op, enum attribute_name name) {
    CHECK(op_attribute(op, name));
    return constant_f64(e, op_real(op, name, 0));
}

// The three arguments that say which rows are summed, and how they lie.
struct summed_rows {
    LLVMValueRef rows, parts, blocks;
};

static struct summed_rows summed_rows(struct emitter *e, const struct op *op) {
    struct cut cut;
    CHECK(cut_of_rows(e->unit, op, &cut));
    return (struct summed_rows){sizes_between(e, op, 0, 0, row_dimensions(e->unit, op)),
                                constant_i64(e, cut.parts), constant_i64(e, cut.blocks)};
}

static LLVMValueRef result_place(struct emitter *e, const struct op *op, unsigned i) {
    return place_of(e, op->results[i]);
}

static LLVMValueRef flag(struct emitter *e, bool value) {
    return constant_i32(e, value);
}

// A result that its kernel may be told not to compute.
static LLVMValueRef place_or_null(struct emitter *e, struct target target) {
    return target.place ? target.place : null_pointer(e);
}

// Two results of a kernel that has one flag for both: where only one of them adds to a sum, the
// other is zeroed, so that adding is right for it too.
static LLVMValueRef common_accumulate(struct emitter *e, const struct op *op,
                                      const struct target targets[2]) {
    LLVMValueRef zero = constant_i32(e, 0), flags[2];
    for (unsigned i = 0; i < 2; i++)
        flags[i] = targets[i].place ? targets[i].accumulate : zero;
    LLVMValueRef any = LLVMBuildOr(e->builder, flags[0], flags[1], "");
    for (unsigned i = 0; i < 2; i++) {
        if (!targets[i].place || flags[i] == any)
            continue;
        LLVMValueRef alike = LLVMBuildICmp(e->builder, LLVMIntEQ, flags[i], any, "");
        LLVMValueRef all = constant_i64(e, type_bytes(value_type(e, op->results[1 + i])));
        CALL_RUNTIME(e, fill_zero, op->id,
                     LLVMBuildSelect(e->builder, alike, constant_i64(e, 0), all, ""),
                     targets[i].place);
    }
    return any;
}

// Kernels that update a state where it is: the state is copied first when its result has another
// place than the operand.
static LLVMValueRef updated_place(struct emitter *e, const struct op *op, unsigned operand,
                                  unsigned result) {
    LLVMValueRef from = operand_place(e, op, operand), to = result_place(e, op, result);
    int64_t bytes = type_bytes(operand_type(e, op, operand));
    if (!same_place(e, op->operands[operand], op->results[result]))
        CALL_RUNTIME(e, copy, op->id, constant_i64(e, bytes), to, from);
    return to;
}

// ---- sums, normalisation ----------------------------------------------------------------------

// `keep` trailing dimensions are the columns.
static void emit_sum_rows(struct emitter *e, const struct op *op) {
    unsigned rank = operand_type(e, op, 0)->rank;
    struct summed_rows summed = summed_rows(e, op);
    struct target y = result_target(e, op, 0);
    if (y.place)
        CALL_RUNTIME(e, sum_rows, op->id, dtype_of(e, op, 0), result_dtype(e, op, 0), summed.rows,
                     summed.parts, summed.blocks,
                     sizes_between(e, op, 0, row_dimensions(e->unit, op), rank),
                     operand_place(e, op, 0), y.place, y.accumulate);
}

static void emit_sum_columns(struct emitter *e, const struct op *op) {
    unsigned rank = operand_type(e, op, 0)->rank, rows = value_type(e, op->results[0])->rank;
    struct cut cut;
    CHECK(cut_of_rows(e->unit, op, &cut));
    CALL_RUNTIME(e, sum_columns, op->id, dtype_of(e, op, 0), sizes_between(e, op, 0, 0, rows),
                 sizes_between(e, op, 0, rows, rank), constant_i64(e, cut.parts),
                 constant_i64(e, cut.blocks), operand_place(e, op, 0), result_place(e, op, 0));
}

static void emit_layer_norm(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, layer_norm, op->id, dtype_of(e, op, 0), row_count(e, op, 0),
                 last_size(e, op, 0), operand_place(e, op, 0), operand_place(e, op, 1),
                 operand_place(e, op, 2), real(e, op, ATTRIBUTE_EPS), result_place(e, op, 0),
                 result_place(e, op, 1), result_place(e, op, 2));
}

static void emit_layer_norm_backward(struct emitter *e, const struct op *op) {
    struct target gain_bias[] = {result_target(e, op, 1), result_target(e, op, 2)};
    struct summed_rows summed = summed_rows(e, op);
    LLVMValueRef accumulate = common_accumulate(e, op, gain_bias);
    CALL_RUNTIME(e, layer_norm_backward, op->id, dtype_of(e, op, 0), result_dtype(e, op, 1),
                 result_dtype(e, op, 2), summed.rows, summed.parts, summed.blocks,
                 last_size(e, op, 0), operand_place(e, op, 0), operand_place(e, op, 1),
                 operand_place(e, op, 2), operand_place(e, op, 3), operand_place(e, op, 4),
                 result_place(e, op, 0), place_or_null(e, gain_bias[0]),
                 place_or_null(e, gain_bias[1]), accumulate);
}

static void emit_rms_norm(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, rms_norm, op->id, dtype_of(e, op, 0), row_count(e, op, 0), last_size(e, op, 0),
                 operand_place(e, op, 0), operand_place(e, op, 1), real(e, op, ATTRIBUTE_EPS),
                 result_place(e, op, 0), result_place(e, op, 1));
}

static void emit_rms_norm_backward(struct emitter *e, const struct op *op) {
    struct target gain = result_target(e, op, 1);
    struct summed_rows summed = summed_rows(e, op);
    CALL_RUNTIME(e, rms_norm_backward, op->id, dtype_of(e, op, 0), result_dtype(e, op, 1),
                 summed.rows, summed.parts, summed.blocks, last_size(e, op, 0),
                 operand_place(e, op, 0), operand_place(e, op, 1), operand_place(e, op, 2),
                 operand_place(e, op, 3), result_place(e, op, 0), place_or_null(e, gain),
                 gain.place ? gain.accumulate : constant_i32(e, 0));
}

// ---- positions and attention ------------------------------------------------------------------

// Positions in memory, or null and the first of them where an iota of this unit counts on.
static LLVMValueRef positions(struct emitter *e, const struct op *op, unsigned i) {
    return is_inline(e, op->operands[i]) ? null_pointer(e) : operand_place(e, op, i);
}

static LLVMValueRef first_position(struct emitter *e, const struct op *op, unsigned i) {
    return is_inline(e, op->operands[i]) ? iota_start(e, op->operands[i]) : constant_i64(e, 0);
}

bool kernel_reads_positions(enum op_kind kind) {
    return kind == OP_ROPE || kind == OP_ROPE_BACKWARD || kind == OP_ATTENTION ||
           kind == OP_ATTENTION_BACKWARD || kind == OP_DROPOUT;
}

// Llama 3.1's other factors matter only where rope_factor is given.
static void emit_rope(struct emitter *e, const struct op *op) {
    unsigned rank = operand_type(e, op, 0)->rank;
    double original = (double)op_integer(op, ATTRIBUTE_ROPE_ORIGINAL, 1);
    CALL_RUNTIME(e, rope, op->id, dtype_of(e, op, 0), size_of(e, op, 0, 0), size_of(e, op, 0, 1),
                 sizes_between(e, op, 0, 2, rank - 1), last_size(e, op, 0), operand_place(e, op, 0),
                 positions(e, op, 1), first_position(e, op, 1), real(e, op, ATTRIBUTE_THETA),
                 constant_f64(e, op_real(op, ATTRIBUTE_ROPE_FACTOR, 1)),
                 constant_f64(e, op_real(op, ATTRIBUTE_ROPE_LOW, 1)),
                 constant_f64(e, op_real(op, ATTRIBUTE_ROPE_HIGH, 4)), constant_f64(e, original),
                 flag(e, op->kind == OP_ROPE_BACKWARD), result_place(e, op, 0));
}

// What the frontend lets through, the kernels take.
_Static_assert((int)LIMIT_HEAD_DIM == PLACE_HEAD_DIM_LIMIT, "limits.def and workspace.h agree");

static void emit_attention(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, attention, op->id, dtype_of(e, op, 0), result_dtype(e, op, 0),
                 size_of(e, op, 0, 0), size_of(e, op, 0, 1), size_of(e, op, 1, 1),
                 size_of(e, op, 0, 2), size_of(e, op, 0, 3), size_of(e, op, 0, 4),
                 operand_place(e, op, 0), operand_place(e, op, 1), operand_place(e, op, 2),
                 positions(e, op, 3), first_position(e, op, 3), positions(e, op, 4),
                 first_position(e, op, 4), real(e, op, ATTRIBUTE_SCALE), result_place(e, op, 0),
                 result_place(e, op, 1));
}

static void emit_attention_merge(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, attention_merge, op->id, dtype_of(e, op, 0), row_count(e, op, 0),
                 last_size(e, op, 0), operand_place(e, op, 0), operand_place(e, op, 1),
                 operand_place(e, op, 2), operand_place(e, op, 3), result_place(e, op, 0),
                 result_place(e, op, 1));
}

static void emit_attention_backward(struct emitter *e, const struct op *op) {
    const struct dim *queries = &operand_type(e, op, 0)->dims[1];
    int64_t block = op_block(op, queries->dimension);
    CALL_RUNTIME(e, attention_backward, op->id, dtype_of(e, op, 0), dtype_of(e, op, 3),
                 dtype_of(e, op, 5), result_dtype(e, op, 0), result_dtype(e, op, 1),
                 result_dtype(e, op, 2), size_of(e, op, 0, 0), size_of(e, op, 0, 1),
                 constant_i64(e, block ? queries->size / block : 0), size_of(e, op, 1, 1),
                 size_of(e, op, 0, 2), size_of(e, op, 0, 3), size_of(e, op, 0, 4),
                 operand_place(e, op, 0), operand_place(e, op, 1), operand_place(e, op, 2),
                 operand_place(e, op, 3), operand_place(e, op, 4), operand_place(e, op, 5),
                 positions(e, op, 6), first_position(e, op, 6), positions(e, op, 7),
                 first_position(e, op, 7), real(e, op, ATTRIBUTE_SCALE), result_place(e, op, 0),
                 result_place(e, op, 1), result_place(e, op, 2));
}

// ---- ends of the model ------------------------------------------------------------------------

// A table that is cut by rows has another first token on every rank; rows it has not give zero.
static void emit_embedding(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, embedding, op->id, dtype_of(e, op, 1), elements_of(e, op, 0),
                 last_size(e, op, 1), operand_place(e, op, 0), iota_start(e, op->operands[2]),
                 size_of(e, op, 1, 0), operand_place(e, op, 1), result_place(e, op, 0));
}

static void emit_embedding_backward(struct emitter *e, const struct op *op) {
    struct summed_rows summed = summed_rows(e, op);
    struct target table = result_target(e, op, 0);
    // In blocks, if only one, the kernel has summed an entry before it adds it. Others always have.
    if (table.as_one && LLVMIsNull(summed.blocks))
        summed.blocks = constant_i64(e, 1);
    if (table.place)
        CALL_RUNTIME(e, embedding_backward, op->id, dtype_of(e, op, 1), result_dtype(e, op, 0),
                     summed.rows, summed.parts, summed.blocks, last_size(e, op, 1),
                     operand_place(e, op, 0), iota_start(e, op->operands[2]), elements_of(e, op, 2),
                     operand_place(e, op, 1), table.place, table.accumulate);
}

// `rows` is an index operand that is always whole here, so that it is not passed.
static void emit_cross_entropy(struct emitter *e, const struct op *op) {
    struct target loss = result_target(e, op, 0);
    CHECK(loss.place);
    CALL_RUNTIME(e, cross_entropy, op->id, dtype_of(e, op, 0), row_count(e, op, 0),
                 last_size(e, op, 0), operand_place(e, op, 0), operand_place(e, op, 1), loss.place,
                 loss.accumulate, result_place(e, op, 1));
}

static void emit_cross_entropy_backward(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, cross_entropy_backward, op->id, dtype_of(e, op, 0), row_count(e, op, 0),
                 last_size(e, op, 0), iota_start(e, op->operands[3]), operand_place(e, op, 0),
                 operand_place(e, op, 1), operand_place(e, op, 2), operand_place(e, op, 4),
                 result_place(e, op, 0));
}

static void emit_row_max(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, row_max, op->id, dtype_of(e, op, 0), row_count(e, op, 0), last_size(e, op, 0),
                 operand_place(e, op, 0), result_place(e, op, 0));
}

_Static_assert((int)LIMIT_BLOCKS == PLACE_BLOCKS_LIMIT, "limits.def and place.h agree");

static void emit_sum_exp(struct emitter *e, const struct op *op) {
    const struct tensor_type *x = operand_type(e, op, 0);
    int64_t block = op_block(op, x->dims[x->rank - 1].dimension);
    CALL_RUNTIME(e, sum_exp, op->id, dtype_of(e, op, 0), row_count(e, op, 0), last_size(e, op, 0),
                 block ? constant_i64(e, block) : last_size(e, op, 0), operand_place(e, op, 0),
                 operand_place(e, op, 1), result_place(e, op, 0));
}

static void emit_pick(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, pick, op->id, dtype_of(e, op, 0), row_count(e, op, 0), last_size(e, op, 0),
                 iota_start(e, op->operands[2]), operand_place(e, op, 0), operand_place(e, op, 1),
                 result_place(e, op, 0));
}

static void emit_token_loss(struct emitter *e, const struct op *op) {
    struct summed_rows summed = summed_rows(e, op);
    struct target loss = result_target(e, op, 0);
    if (loss.place)
        CALL_RUNTIME(e, token_loss, op->id, dtype_of(e, op, 0), summed.rows, summed.parts,
                     summed.blocks, operand_place(e, op, 0), operand_place(e, op, 1),
                     operand_place(e, op, 2), loss.place, loss.accumulate);
}

static void emit_count_tokens(struct emitter *e, const struct op *op) {
    struct target count = result_target(e, op, 0);
    if (count.place)
        CALL_RUNTIME(e, count_tokens, op->id, elements_of(e, op, 0), operand_place(e, op, 0),
                     count.place, count.accumulate);
}

// ---- scalars of the step ----------------------------------------------------------------------

static void emit_square_sum(struct emitter *e, const struct op *op) {
    struct target sum = result_target(e, op, 0);
    if (sum.place)
        CALL_RUNTIME(e, square_sum, op->id, dtype_of(e, op, 0), elements_of(e, op, 0),
                     operand_place(e, op, 0), sum.place, sum.accumulate);
}

_Static_assert((int)LIMIT_SQUARE_BINS == PLACE_SQUARE_BINS, "limits.def and place.h agree");

// All bins, counted from the first.
static void emit_square_bins(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, square_bins, op->id, dtype_of(e, op, 0), elements_of(e, op, 0),
                 operand_place(e, op, 0), result_place(e, op, 0));
}

static void emit_bin_sum(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, bin_sum, op->id, operand_place(e, op, 0), result_place(e, op, 0));
}

// The kernel that made the term adds it, or this does: the term in even microbatches, a sum in odd
// ones.
static void emit_accumulate_pair(struct emitter *e, const struct op *op) {
    if (is_added_by_producer(e, op))
        return;
    LLVMValueRef total = updated_place(e, op, 0, 0), term = operand_place(e, op, 1);
    LLVMValueRef none = constant_i64(e, 0), elements = elements_of(e, op, 0);
    LLVMValueRef adds = LLVMBuildTrunc(e->builder, adds_to_sum(e, op), e->i1, "");
    CALL_RUNTIME(e, cast, op->id, dtype_of(e, op, 1), dtype_of(e, op, 0),
                 LLVMBuildSelect(e->builder, adds, none, elements, ""), total, term);
    CALL_RUNTIME(e, accumulate, op->id, dtype_of(e, op, 0), dtype_of(e, op, 1),
                 LLVMBuildSelect(e->builder, adds, elements, none, ""), total, term);
}

static void emit_carry(struct emitter *e, const struct op *op) {
    LLVMValueRef kept = updated_place(e, op, 0, 0), sum = updated_place(e, op, 1, 1);
    CALL_RUNTIME(e, carry, op->id, dtype_of(e, op, 0), elements_of(e, op, 0),
                 constant_i32(e, (int)op_integer(op, ATTRIBUTE_LEVEL, 0)), kept, sum,
                 operand_place(e, op, 2));
}

// The reciprocal of zero is zero, as when every token of a step is masked.
static void emit_reciprocal(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, scalar_divide, op->id, constant_f64(e, 1), operand_place(e, op, 0),
                 result_place(e, op, 0));
}

static void emit_at_least(struct emitter *e, const struct op *op) {
    LLVMValueRef x = LLVMBuildLoad2(e->builder, e->f64, operand_place(e, op, 0), "");
    LLVMValueRef minimum = real(e, op, ATTRIBUTE_MINIMUM);
    LLVMValueRef is_less = LLVMBuildFCmp(e->builder, LLVMRealOLT, x, minimum, "");
    LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, is_less, minimum, x, ""),
                   result_place(e, op, 0));
}

static void emit_square_root(struct emitter *e, const struct op *op) {
    LLVMValueRef x = LLVMBuildLoad2(e->builder, e->f64, operand_place(e, op, 0), "");
    LLVMBuildStore(e->builder, emit_square_root_of(e, x), result_place(e, op, 0));
}

static LLVMValueRef scalar_operand(struct emitter *e, const struct op *op, unsigned i) {
    return LLVMBuildLoad2(e->builder, e->f64, operand_place(e, op, i), "");
}

static void emit_lesser(struct emitter *e, const struct op *op) {
    LLVMValueRef x = scalar_operand(e, op, 0), y = scalar_operand(e, op, 1);
    LLVMValueRef is_less = LLVMBuildFCmp(e->builder, LLVMRealOLT, x, y, "");
    LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, is_less, x, y, ""),
                   result_place(e, op, 0));
}

static void emit_power(struct emitter *e, const struct op *op) {
    LLVMValueRef log = emit_math(e, "log", scalar_operand(e, op, 0));
    LLVMValueRef x = LLVMBuildFMul(e->builder, log, real(e, op, ATTRIBUTE_EXPONENT), "");
    LLVMBuildStore(e->builder, emit_math(e, "exp", x), result_place(e, op, 0));
}

// What is not finite differs from itself by something that is not zero.
static LLVMValueRef is_finite(struct emitter *e, LLVMValueRef x) {
    return LLVMBuildFCmp(e->builder, LLVMRealOEQ, LLVMBuildFSub(e->builder, x, x, ""),
                         constant_f64(e, 0), "");
}

static void emit_loss_scale(struct emitter *e, const struct op *op) {
    LLVMValueRef left = scalar_operand(e, op, 0);
    LLVMValueRef none = LLVMBuildFCmp(e->builder, LLVMRealOEQ, left, constant_f64(e, 0), "");
    LLVMValueRef scale =
        LLVMBuildSelect(e->builder, none, real(e, op, ATTRIBUTE_INITIAL), left, "");
    LLVMBuildStore(e->builder, scale, result_place(e, op, 0));
}

static void emit_is_finite(struct emitter *e, const struct op *op) {
    LLVMValueRef finite = is_finite(e, scalar_operand(e, op, 0));
    LLVMBuildStore(e->builder,
                   LLVMBuildSelect(e->builder, finite, constant_f64(e, 1), constant_f64(e, 0), ""),
                   result_place(e, op, 0));
}

static void emit_update_factor(struct emitter *e, const struct op *op) {
    LLVMValueRef finite = is_finite(e, scalar_operand(e, op, 1));
    LLVMBuildStore(
        e->builder,
        LLVMBuildSelect(e->builder, finite, scalar_operand(e, op, 0), constant_f64(e, NAN), ""),
        result_place(e, op, 0));
}

// PyTorch's GradScaler.update, without a branch.
static void emit_next_loss_scale(struct emitter *e, const struct op *op) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef scale = scalar_operand(e, op, 0), zero = constant_f64(e, 0);
    LLVMValueRef good = LLVMBuildFAdd(b, scalar_operand(e, op, 1), constant_f64(e, 1), "");
    LLVMValueRef bad = LLVMBuildFCmp(b, LLVMRealOEQ, scalar_operand(e, op, 2), zero, "");
    LLVMValueRef interval = constant_f64(e, (double)op_integer(op, ATTRIBUTE_INTERVAL, 0));
    LLVMValueRef grows = LLVMBuildFCmp(b, LLVMRealOGE, good, interval, "");
    LLVMValueRef grown = LLVMBuildFMul(b, scale, real(e, op, ATTRIBUTE_GROWTH), "");
    LLVMValueRef shrunk = LLVMBuildFMul(b, scale, real(e, op, ATTRIBUTE_BACKOFF), "");
    LLVMValueRef larger = LLVMBuildAnd(b, grows, is_finite(e, grown), "");
    LLVMValueRef kept = LLVMBuildSelect(b, larger, grown, scale, "");
    LLVMValueRef counted = LLVMBuildSelect(b, grows, zero, good, "");
    LLVMValueRef next = LLVMBuildSelect(b, bad, shrunk, kept, "");
    LLVMBuildStore(b, next, result_place(e, op, 0));
    LLVMBuildStore(b, LLVMBuildSelect(b, bad, zero, counted, ""), result_place(e, op, 1));
}

static void emit_clip_factor(struct emitter *e, const struct op *op) {
    if (!op_attribute(op, ATTRIBUTE_MAX_NORM)) { // no clipping: the factor is one
        LLVMBuildStore(e->builder, constant_f64(e, 1), result_place(e, op, 0));
        return;
    }
    CALL_RUNTIME(e, clip_factor, op->id, real(e, op, ATTRIBUTE_MAX_NORM), operand_place(e, op, 0),
                 result_place(e, op, 0));
}

_Static_assert((int)RATE_CONSTANT == (int)PLACE_CONSTANT && (int)RATE_LINEAR == (int)PLACE_LINEAR &&
                   (int)RATE_COSINE == (int)PLACE_COSINE && (int)RATE_SQRT == (int)PLACE_SQRT &&
                   (int)N_RATES == (int)PLACE_SQRT + 1,
               "the runtime's curves are those of rates.def");

static void emit_learning_rate(struct emitter *e, const struct op *op) {
    CALL_RUNTIME(e, learning_rate, op->id, constant_i32(e, (int)op_rate(op)),
                 real(e, op, ATTRIBUTE_BASE),
                 constant_f64(e, (double)op_integer(op, ATTRIBUTE_WARMUP, 0)),
                 constant_f64(e, (double)op_integer(op, ATTRIBUTE_STEPS, 0)),
                 constant_f64(e, (double)op_rate_decay(op)),
                 constant_f64(e, op_real(op, ATTRIBUTE_MINIMUM, 0)), operand_place(e, op, 0),
                 result_place(e, op, 0));
}

// ---- updates ----------------------------------------------------------------------------------

// Whether an op touches the bytes of a value, or reads elsewhere than it stands.
static bool meets(const struct emitter *e, const struct op *op, value_id value) {
    for (unsigned i = 0; i < op->n_operands + op->n_results; i++) {
        value_id other = i < op->n_operands ? op->operands[i] : op->results[i - op->n_operands];
        if (is_inline(e, other) || share_bytes(e, other, value))
            return true;
    }
    return false;
}

// The cast of the parameters that an update has made, where the update's kernel may write it, too:
// nothing on the way meets its place. Parameters that are rounded themselves are rounded first.
static const struct op *cast_of_update(const struct emitter *e, const struct op *update) {
    if (value_type(e, update->results[0])->dtype != op_computes_in(e->unit, update))
        return NULL;
    const struct op *end = e->unit->ops + e->unit->n_ops, *cast = update + 1;
    while (cast < end && (cast->kind != OP_CAST || cast->operands[0] != update->results[0]))
        cast++;
    if (cast == end || is_inline(e, cast->results[0]) ||
        !dtype_is_floating(value_type(e, cast->results[0])->dtype))
        return NULL;
    for (const struct op *op = update; op < cast; op++)
        if (meets(e, op, cast->results[0]))
            return NULL;
    return cast;
}

// Parameters that an update writes a second time, in another type.
struct rounded {
    LLVMValueRef dtype, place;
};

static struct rounded round_update(struct emitter *e, const struct op *update) {
    const struct op *cast = cast_of_update(e, update);
    if (!cast)
        return (struct rounded){dtype_of(e, update, 0), null_pointer(e)};
    e->made[cast - e->unit->ops] = true;
    return (struct rounded){result_dtype(e, cast, 0), result_place(e, cast, 0)};
}

// States are updated in place; the learning rate, the clip factor and the step are scalars in
// memory.
static void emit_two_moments(struct emitter *e, const struct op *op, enum runtime_call call) {
    LLVMValueRef p = updated_place(e, op, 0, 0), m = updated_place(e, op, 1, 1),
                 v = updated_place(e, op, 2, 2);
    struct rounded rounded = round_update(e, op);
    const LLVMValueRef arguments[] = {dtype_of(e, op, 0),
                                      dtype_of(e, op, 1),
                                      dtype_of(e, op, 2),
                                      dtype_of(e, op, 3),
                                      rounded.dtype,
                                      elements_of(e, op, 0),
                                      p,
                                      m,
                                      v,
                                      operand_place(e, op, 3),
                                      rounded.place,
                                      operand_place(e, op, 4),
                                      operand_place(e, op, 5),
                                      operand_place(e, op, 6),
                                      real(e, op, ATTRIBUTE_BETA1),
                                      real(e, op, ATTRIBUTE_BETA2),
                                      real(e, op, ATTRIBUTE_EPS),
                                      real(e, op, ATTRIBUTE_WEIGHT_DECAY)};
    call_runtime(e, call, op->id, arguments, sizeof arguments / sizeof *arguments);
}

static void emit_adamw(struct emitter *e, const struct op *op) {
    emit_two_moments(e, op, CALL_adamw);
}

static void emit_adam(struct emitter *e, const struct op *op) {
    emit_two_moments(e, op, CALL_adam);
}

static void emit_lion(struct emitter *e, const struct op *op) {
    LLVMValueRef p = updated_place(e, op, 0, 0), m = updated_place(e, op, 1, 1);
    struct rounded rounded = round_update(e, op);
    CALL_RUNTIME(e, lion, op->id, dtype_of(e, op, 0), dtype_of(e, op, 1), dtype_of(e, op, 2),
                 rounded.dtype, elements_of(e, op, 0), p, m, operand_place(e, op, 2), rounded.place,
                 operand_place(e, op, 3), operand_place(e, op, 4), real(e, op, ATTRIBUTE_BETA1),
                 real(e, op, ATTRIBUTE_BETA2), real(e, op, ATTRIBUTE_WEIGHT_DECAY));
}

static void emit_sgd(struct emitter *e, const struct op *op) {
    LLVMValueRef p = updated_place(e, op, 0, 0);
    struct rounded rounded = round_update(e, op);
    CALL_RUNTIME(e, sgd, op->id, dtype_of(e, op, 0), dtype_of(e, op, 1), rounded.dtype,
                 elements_of(e, op, 0), p, operand_place(e, op, 1), rounded.place,
                 operand_place(e, op, 2), operand_place(e, op, 3),
                 real(e, op, ATTRIBUTE_WEIGHT_DECAY));
}

static void emit_sgd_momentum(struct emitter *e, const struct op *op) {
    LLVMValueRef p = updated_place(e, op, 0, 0), m = updated_place(e, op, 1, 1);
    struct rounded rounded = round_update(e, op);
    CALL_RUNTIME(
        e, sgd_momentum, op->id, dtype_of(e, op, 0), dtype_of(e, op, 1), dtype_of(e, op, 2),
        rounded.dtype, elements_of(e, op, 0), p, m, operand_place(e, op, 2), rounded.place,
        operand_place(e, op, 3), operand_place(e, op, 4), real(e, op, ATTRIBUTE_MOMENTUM),
        real(e, op, ATTRIBUTE_WEIGHT_DECAY), flag(e, op_integer(op, ATTRIBUTE_NESTEROV, 0)));
}

// ---- compressed gradients ---------------------------------------------------------------------

_Static_assert((int)WIRE_BLOCK == PLACE_WIRE_BLOCK && (int)WIRE_SIGN == (int)PLACE_SIGN &&
                   (int)WIRE_INT8 == (int)PLACE_INT8 && (int)WIRE_TOPK == (int)PLACE_TOPK,
               "the runtime codes what wire.c measures");

static void emit_compress(struct emitter *e, const struct op *op) {
    LLVMValueRef residual = updated_place(e, op, 1, 1);
    struct wire wire = op_wire(op);
    CALL_RUNTIME(e, compress, op->id, dtype_of(e, op, 0), constant_i32(e, (int)wire.way),
                 constant_i64(e, wire.kept), elements_of(e, op, 0), operand_place(e, op, 0),
                 residual, result_place(e, op, 0));
}

static void emit_decompress(struct emitter *e, const struct op *op) {
    struct wire wire = op_wire(op);
    int64_t elements = type_elements(operand_type(e, op, 1));
    int64_t codes = type_elements(operand_type(e, op, 0)) / wire_words(wire, elements);
    CALL_RUNTIME(e, decompress, op->id, dtype_of(e, op, 1), constant_i32(e, (int)wire.way),
                 constant_i64(e, wire.kept), constant_i64(e, elements), constant_i64(e, codes),
                 operand_place(e, op, 0), result_place(e, op, 0));
}

// ---- all of them ------------------------------------------------------------------------------

static void (*const emitters[N_OPS])(struct emitter *, const struct op *) = {
    [OP_SUM_ROWS] = emit_sum_rows,
    [OP_SUM_COLUMNS] = emit_sum_columns,
    [OP_LAYER_NORM] = emit_layer_norm,
    [OP_LAYER_NORM_BACKWARD] = emit_layer_norm_backward,
    [OP_RMS_NORM] = emit_rms_norm,
    [OP_RMS_NORM_BACKWARD] = emit_rms_norm_backward,
    [OP_ROPE] = emit_rope,
    [OP_ROPE_BACKWARD] = emit_rope,
    [OP_ATTENTION] = emit_attention,
    [OP_ATTENTION_MERGE] = emit_attention_merge,
    [OP_ATTENTION_BACKWARD] = emit_attention_backward,
    [OP_EMBEDDING] = emit_embedding,
    [OP_EMBEDDING_BACKWARD] = emit_embedding_backward,
    [OP_CROSS_ENTROPY] = emit_cross_entropy,
    [OP_CROSS_ENTROPY_BACKWARD] = emit_cross_entropy_backward,
    [OP_ROW_MAX] = emit_row_max,
    [OP_SUM_EXP] = emit_sum_exp,
    [OP_PICK] = emit_pick,
    [OP_TOKEN_LOSS] = emit_token_loss,
    [OP_COUNT_TOKENS] = emit_count_tokens,
    [OP_SQUARE_SUM] = emit_square_sum,
    [OP_SQUARE_BINS] = emit_square_bins,
    [OP_BIN_SUM] = emit_bin_sum,
    [OP_ACCUMULATE_PAIR] = emit_accumulate_pair,
    [OP_CARRY] = emit_carry,
    [OP_RECIPROCAL] = emit_reciprocal,
    [OP_AT_LEAST] = emit_at_least,
    [OP_LESSER] = emit_lesser,
    [OP_POWER] = emit_power,
    [OP_SQUARE_ROOT] = emit_square_root,
    [OP_CLIP_FACTOR] = emit_clip_factor,
    [OP_LOSS_SCALE] = emit_loss_scale,
    [OP_IS_FINITE] = emit_is_finite,
    [OP_UPDATE_FACTOR] = emit_update_factor,
    [OP_NEXT_LOSS_SCALE] = emit_next_loss_scale,
    [OP_LEARNING_RATE] = emit_learning_rate,
    [OP_ADAMW] = emit_adamw,
    [OP_ADAM] = emit_adam,
    [OP_LION] = emit_lion,
    [OP_SGD] = emit_sgd,
    [OP_SGD_MOMENTUM] = emit_sgd_momentum,
    [OP_COMPRESS] = emit_compress,
    [OP_DECOMPRESS] = emit_decompress,
};

// Kernels of bins know how many there are.
static bool has_all_bins(const struct unit *unit, const struct op *op) {
    value_id bins = op->operands[op->kind == OP_SQUARE_BINS ? 1 : 0];
    bool of_bins = op->kind == OP_SQUARE_BINS || op->kind == OP_BIN_SUM;
    return !of_bins || unit->values[bins].type.dims[0].size == LIMIT_SQUARE_BINS;
}

// SLICE is CALL in the table but not a kernel: it is copies (collectives.c).
bool kernel_is_supported(const struct unit *unit, const struct op *op) {
    struct cut cut;
    return emitters[op->kind] && has_all_bins(unit, op) && cut_of_rows(unit, op, &cut);
}

void emit_kernel(struct emitter *e, const struct op *op) {
    CHECK(emitters[op->kind]);
    emitters[op->kind](e, op);
}
