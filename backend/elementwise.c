// Elementwise chains. An op whose result has a place becomes one loop over the result's elements;
// each iteration computes the whole tree of inline values above it. The loop is a function of its
// own, `tile(slots, begin, end)`, which the team runs over ranges (place_parallel).
//
// Broadcast operands are suffixes of the full shape (a bias) or scalars, and what is taken out of a
// dimension, or put into one, moves whole suffixes. So the loop is split in rows and columns, as
// many columns as all of them have side by side, and the inner loop reads everything in sequence
// and LLVM can use vectors. Which row of an operand an iteration reads depends on its own row
// alone; so does whether an operand has one there, and the inner loop is made once for each answer.
// Scalars are computed once, before the loop, and what dropout draws for a row before the row's
// columns. Iterations touch only their own elements, also where the result lies over an operand
// that is read at the same ones; the loops say so in their metadata, else LLVM would test for
// overlap at run time and fall back to scalar code for every in-place update.
#include "backend/elementwise.h"

#include <string.h>

// Elements per range of the team: large against the cost of handing out a range, small enough that
// a range's operands stay in a core's cache and all threads get work.
enum { ELEMENTS_PER_RANGE = 16384 };

// Elements per block of a range, where there are no columns: what is asked for at a time, few
// enough that computing goes on meanwhile.
enum { ELEMENTS_PER_BLOCK = 128 };

// ---- what the tree reads ----------------------------------------------------------------------

// Adds each value once: the tile gets one pointer for it, however often the tree reads it.
static void add_leaf(struct tree *tree, value_id value) {
    for (unsigned i = 0; i < tree->n_leaves; i++)
        if (tree->leaves[i] == value)
            return;
    ARENA_PUSH(tree->e->arena, tree->leaves, tree->n_leaves, tree->cap_leaves, value);
}

static void add_count(struct tree *tree, value_id value) {
    for (unsigned i = 0; i < tree->n_counts; i++)
        if (tree->counts[i] == value)
            return;
    ARENA_PUSH(tree->e->arena, tree->counts, tree->n_counts, tree->cap_counts, value);
}

// Places of a dimension, or samples, positions and columns of a dropout, which are no suffixes: the
// op finds their elements itself.
static bool is_coordinate(const struct op *op, unsigned operand) {
    if (op_moves_elements(op->kind))
        return operand >= 1;
    return op->kind == OP_DROPOUT && operand >= 1 && operand <= 3;
}

// Places are always counted, also where the numbers have a place for others to read.
static void add_coordinate(struct tree *tree, const struct op *op, value_id value) {
    if (op_moves_elements(op->kind) || is_inline(tree->e, value))
        add_count(tree, value);
    else
        add_leaf(tree, value);
}

// Leaves as many columns as stand side by side for everything so far, and for so many elements.
static void narrow_columns(struct tree *tree, int64_t elements) {
    int64_t a = tree->columns, b = elements;
    while (a && b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    tree->columns = a ? a : b;
}

// What of the op's operand `i` stands side by side; 0: all of it, as in the result.
static int64_t side_by_side(const struct emitter *e, const struct op *op, unsigned i) {
    int64_t elements = operand_elements(e, op, i);
    if (op_moves_elements(op->kind))
        return i == 0 ? kept_elements(e, op) : 0;
    if (is_coordinate(op, i))
        return i == 3 ? elements : 0;
    bool alike = elements == type_elements(value_type(e, op->results[0]));
    return alike || elements == 1 ? 0 : elements;
}

// Walks through inline values down to those in memory, and finds how long rows are on the way.
static void collect_leaves(struct tree *tree, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id value = op->operands[i];
        narrow_columns(tree, side_by_side(tree->e, op, i));
        if (value == tree->absent)
            continue;
        if (is_coordinate(op, i))
            add_coordinate(tree, op, value);
        else if (is_inline(tree->e, value))
            collect_leaves(tree, producer_of(tree->e, value));
        else
            add_leaf(tree, value);
    }
}

// ---- one element ------------------------------------------------------------------------------

static LLVMValueRef value_of(struct tree *, value_id, struct spot);

static LLVMValueRef operand_at(struct tree *tree, const struct op *op, unsigned i, struct spot at) {
    return value_of(tree, op->operands[i], spot_of(tree, op->operands[i], at));
}

// The operand in the type that the op computes in.
static LLVMValueRef computed_operand(struct tree *tree, const struct op *op, unsigned i,
                                     struct spot at) {
    struct emitter *e = tree->e;
    return convert(e, operand_at(tree, op, i, at), op_computes_in(e->unit, op));
}

static bool is_erf(const struct op *op) {
    const struct attribute *approximate = op_attribute(op, ATTRIBUTE_APPROXIMATE);
    return approximate && strcmp(approximate->word, "erf") == 0;
}

// ---- ops --------------------------------------------------------------------------------------

// Nothing is computed for what is not there.
static LLVMValueRef compute_moved(struct tree *tree, const struct op *op, struct spot at) {
    const struct moved *found = find_moved(tree, op, at.row);
    struct moved here = found ? *found : move_spot(tree, op, at);
    LLVMValueRef value = value_of(tree, op->operands[0], here.from);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
    if (here.known == 0)
        return zero;
    return here.known == 1 ? value
                           : LLVMBuildSelect(tree->e->builder, here.inside, value, zero, "");
}

// One op on one element, not yet rounded to its type. No fast-math flag anywhere: LLVM may then neither fuse nor reorder, and a
// vector's lane computes what the scalar tail computes.
static LLVMValueRef compute(struct tree *tree, const struct op *op, struct spot at) {
    struct emitter *e = tree->e;
    if (op_moves_elements(op->kind))
        return compute_moved(tree, op, at);
    if (op->kind == OP_CAST)
        return operand_at(tree, op, 0, at);
    LLVMTypeRef type = element_type(e, op_computes_in(e->unit, op));
    LLVMValueRef a = computed_operand(tree, op, 0, at);
    bool has_second = op->n_operands == 2 || op->kind == OP_UNLESS_SKIPPED;
    LLVMValueRef b = has_second ? computed_operand(tree, op, 1, at) : NULL;
    switch (op->kind) {
    case OP_ADD:
    case OP_ACCUMULATE:
    case OP_ADD_BIAS:
        if (LLVMIsNull(a) || LLVMIsNull(b)) // what has not been moved here, or comes later
            return LLVMIsNull(a) ? b : a;
        return LLVMBuildFAdd(e->builder, a, b, "");
    case OP_MUL:
    case OP_SCALE:
        return LLVMBuildFMul(e->builder, a, b, "");
    case OP_WEIGHTED_SUM: {
        LLVMValueRef left = LLVMConstReal(type, op_real(op, ATTRIBUTE_WEIGHT_A, 0));
        LLVMValueRef right = LLVMConstReal(type, op_real(op, ATTRIBUTE_WEIGHT_B, 0));
        left = LLVMBuildFMul(e->builder, left, a, "");
        return LLVMBuildFAdd(e->builder, left, LLVMBuildFMul(e->builder, right, b, ""), "");
    }
    case OP_UNLESS_SKIPPED: {
        LLVMValueRef clip = computed_operand(tree, op, 2, at);
        LLVMValueRef skipped = LLVMBuildFCmp(e->builder, LLVMRealUNO, clip, clip, "");
        return LLVMBuildSelect(e->builder, skipped, a, b, "");
    }
    case OP_DIVIDE: {
        double divisor = (double)op_integer(op, ATTRIBUTE_DIVISOR, 1);
        return LLVMBuildFDiv(e->builder, a, LLVMConstReal(type, divisor), "");
    }
    case OP_OVER_ROOT: {
        LLVMValueRef minimum = LLVMConstReal(type, op_real(op, ATTRIBUTE_MINIMUM, 0));
        LLVMValueRef is_less = LLVMBuildFCmp(e->builder, LLVMRealOLT, b, minimum, "");
        b = LLVMBuildSelect(e->builder, is_less, minimum, b, "");
        return LLVMBuildFDiv(e->builder, a, emit_square_root_of(e, b), "");
    }
    case OP_GELU:
        return emit_math(e, is_erf(op) ? "gelu_erf" : "gelu_tanh", a);
    case OP_GELU_BACKWARD: {
        const char *name = is_erf(op) ? "gelu_erf_derivative" : "gelu_tanh_derivative";
        return LLVMBuildFMul(e->builder, emit_math(e, name, a), b, "");
    }
    case OP_SILU:
        return emit_math(e, "silu", a);
    case OP_SILU_BACKWARD:
        return LLVMBuildFMul(e->builder, emit_math(e, "silu_derivative", a), b, "");
    case OP_DROPOUT:
        return drop(tree, op, at, operand_at(tree, op, 5, at), a);
    default:
        CHECK(op->kind == OP_LOG_SHIFT);
        return LLVMBuildFAdd(e->builder, emit_math(e, "log", a), b, "");
    }
}

// Computed, and rounded to its type, once per iteration and row, however many users it has: to each
// it is what it would be in memory.
static LLVMValueRef value_of(struct tree *tree, value_id value, struct spot at) {
    enum dtype dtype = value_type(tree->e, value)->dtype;
    if (value == tree->absent)
        return LLVMConstNull(register_type(tree->e, dtype));
    for (uint32_t i = 0; i < tree->n_done; i++)
        if (tree->done[i].value == value && tree->done[i].row == at.row)
            return tree->done[i].result;
    LLVMValueRef result =
        is_inline(tree->e, value)
            ? round_to(tree->e, compute(tree, producer_of(tree->e, value), at), dtype)
            : load_leaf(tree, value, element_at(tree, value, at));
    struct computed done = {value, at.row, result};
    ARENA_PUSH(tree->e->arena, tree->done, tree->n_done, tree->cap_done, done);
    return result;
}

static void compute_element(struct tree *tree, const struct op *op, struct spot at) {
    value_id to = op->results[0];
    LLVMValueRef result = compute(tree, op, at);
    store_leaf(tree, to, element_at(tree, to, at), result);
}

// Scalars that the tree reads: known before the loop, in the block where it begins.
static void compute_scalars(struct tree *tree, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id value = op->operands[i];
        if (is_coordinate(op, i))
            continue;
        if (value_type(tree->e, value)->rank == 0)
            value_of(tree, value, (struct spot){NULL, 1});
        else if (is_inline(tree->e, value))
            compute_scalars(tree, producer_of(tree->e, value));
    }
    tree->n_scalars = tree->n_done;
}

// Computes, before the inner loop, all that depends on the row alone.
static void find_rows(struct tree *tree, const struct op *op, struct spot at) {
    if (op->kind == OP_DROPOUT)
        draw_row(tree, op, at, operand_at(tree, op, 4, at), operand_at(tree, op, 5, at));
    if (op_moves_elements(op->kind)) {
        if (find_moved(tree, op, at.row))
            return;
        struct moved moved = move_spot(tree, op, at);
        ARENA_PUSH(tree->e->arena, tree->moved, tree->n_moved, tree->cap_moved, moved);
        at = moved.from;
    }
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id value = op->operands[i];
        if (!is_coordinate(op, i) && is_inline(tree->e, value) &&
            value_type(tree->e, value)->rank > 0)
            find_rows(tree, producer_of(tree->e, value), spot_of(tree, value, at));
    }
}

// ---- the tile ---------------------------------------------------------------------------------

// The inner loop has a constant count, so that LLVM needs no tail where the columns are a multiple
// of the vector's width.
static void tile_columns(struct tree *tree, const struct op *op, struct spot at) {
    struct emitter *e = tree->e;
    struct counted_loop loop =
        loop_begin(e, constant_i64(e, 0), constant_i64(e, tree->columns), false);
    tree->column_index = loop.counter;
    tree->n_done = tree->n_scalars;
    compute_element(tree, op, at);
    loop_end(e, &loop, true);
}

// An inner loop for each answer to what is there in this row.
static void tile_row(struct tree *tree, const struct op *op, struct spot at, int branches) {
    struct emitter *e = tree->e;
    struct moved *open = NULL;
    for (uint32_t i = 0; i < tree->n_moved && !open; i++)
        open = tree->moved[i].known < 0 ? &tree->moved[i] : NULL;
    if (!open || branches == 0) {
        tile_columns(tree, op, at);
        return;
    }
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder));
    LLVMBasicBlockRef answers[2], after;
    for (int k = 0; k < 2; k++)
        answers[k] = LLVMAppendBasicBlockInContext(e->llvm, function, k ? "there" : "not_there");
    after = LLVMAppendBasicBlockInContext(e->llvm, function, "row_done");
    LLVMBuildCondBr(e->builder, open->inside, answers[1], answers[0]);
    for (int k = 0; k < 2; k++) {
        LLVMPositionBuilderAtEnd(e->builder, answers[k]);
        open->known = k;
        tile_row(tree, op, at, branches - 1);
        LLVMBuildBr(e->builder, after);
    }
    open->known = -1;
    LLVMPositionBuilderAtEnd(e->builder, after);
}

// Where the tile's argument has an address, or, behind all addresses, the number where counting
// begins. Both have eight bytes.
static LLVMValueRef slot_at(struct emitter *e, LLVMValueRef slots, unsigned i) {
    return element_pointer(e, e->i64, slots, constant_i64(e, i));
}

static void read_slots(struct tree *tree, LLVMValueRef slots) {
    struct emitter *e = tree->e;
    unsigned n = tree->n_leaves;
    tree->pointers = ARENA_ARRAY(e->arena, LLVMValueRef, n);
    tree->begins = ARENA_ARRAY(e->arena, LLVMValueRef, tree->n_counts + 1);
    for (unsigned i = 0; i < n; i++)
        tree->pointers[i] = LLVMBuildLoad2(e->builder, e->pointer, slot_at(e, slots, i), "");
    for (unsigned i = 0; i < tree->n_counts; i++)
        tree->begins[i] = LLVMBuildLoad2(e->builder, e->i64, slot_at(e, slots, n + i), "");
}

static void tile_rows(struct tree *tree, const struct op *op, LLVMValueRef begin,
                      LLVMValueRef end) {
    struct emitter *e = tree->e;
    struct counted_loop loop = loop_begin(e, begin, end, false);
    struct spot at = {loop.counter, tree->elements};
    LLVMValueRef columns = constant_i64(e, tree->columns);
    prefetch_leaves(tree, LLVMBuildMul(e->builder, at.row, columns, ""), tree->columns);
    find_rows(tree, op, at);
    tile_row(tree, op, at, MAX_BRANCHES);
    loop_end(e, &loop, false);
}

// Ranges begin at multiples of a block.
static void tile_blocks(struct tree *tree, const struct op *op, LLVMValueRef begin,
                        LLVMValueRef end) {
    struct emitter *e = tree->e;
    LLVMValueRef length = constant_i64(e, ELEMENTS_PER_BLOCK);
    LLVMValueRef round = constant_i64(e, ELEMENTS_PER_BLOCK - 1);
    LLVMValueRef blocks =
        LLVMBuildUDiv(e->builder, LLVMBuildAdd(e->builder, end, round, ""), length, "");
    struct counted_loop block =
        loop_begin(e, LLVMBuildUDiv(e->builder, begin, length, ""), blocks, false);
    LLVMValueRef first = LLVMBuildMul(e->builder, block.counter, length, "");
    LLVMValueRef last = LLVMBuildAdd(e->builder, first, length, "");
    LLVMValueRef within = LLVMBuildICmp(e->builder, LLVMIntSLT, last, end, "");
    prefetch_leaves(tree, first, ELEMENTS_PER_BLOCK);
    struct counted_loop loop =
        loop_begin(e, first, LLVMBuildSelect(e->builder, within, last, end, ""), false);
    tree->n_done = tree->n_scalars;
    compute_element(tree, op, (struct spot){loop.counter, tree->elements});
    loop_end(e, &loop, true);
    loop_end(e, &block, false);
}

// begin and end count rows if there are columns, else elements.
static void tile_body(struct tree *tree, const struct op *op, LLVMValueRef tile) {
    struct emitter *e = tree->e;
    read_slots(tree, LLVMGetParam(tile, 0));
    compute_scalars(tree, op);
    LLVMValueRef begin = LLVMGetParam(tile, 1), end = LLVMGetParam(tile, 2);
    if (tree->columns)
        tile_rows(tree, op, begin, end);
    else
        tile_blocks(tree, op, begin, end);
    LLVMBuildRetVoid(e->builder);
}

// For most CPUs that have vectors of 512 bits LLVM prefers those of 256, in fear of a lower clock.
// The products beside these loops use 512 anyway. CPUs without them take what they have.
static void prefer_widest_vectors(struct emitter *e, LLVMValueRef function) {
    const char *name = "prefer-vector-width", *bits = "512";
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->llvm, name, (unsigned)strlen(name), bits,
                                                      (unsigned)strlen(bits)));
}

// A function beside the unit's, built while the unit's is unfinished: the builder comes back to
// where it was.
static LLVMValueRef build_tile(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    const char *name =
        arena_format(e->arena, "tile_%s_%s", e->unit->name, e->unit->values[op->results[0]].name);
    LLVMValueRef tile = LLVMAddFunction(e->module, name, e->tile_type);
    LLVMSetLinkage(tile, LLVMInternalLinkage);
    set_attribute(e, tile, "sspstrong");
    prefer_widest_vectors(e, tile);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->llvm, tile, "entry"));
    tile_body(tree, op, tile);
    LLVMPositionBuilderAtEnd(e->builder, here);
    return tile;
}

// The tile's argument, on the caller's stack, which outlives the parallel call.
static LLVMValueRef store_slots(struct tree *tree) {
    struct emitter *e = tree->e;
    unsigned n = tree->n_leaves;
    LLVMValueRef slots = stack_array(e, e->i64, n + tree->n_counts);
    for (unsigned i = 0; i < n; i++)
        LLVMBuildStore(e->builder, place_of(e, tree->leaves[i]), slot_at(e, slots, i));
    for (unsigned i = 0; i < tree->n_counts; i++)
        LLVMBuildStore(e->builder, iota_start(e, tree->counts[i]), slot_at(e, slots, n + i));
    return slots;
}

// Scalars of the step (sums of norms, of losses): a few instructions in the unit itself.
static void emit_scalar(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    tree->pointers = ARENA_ARRAY(e->arena, LLVMValueRef, tree->n_leaves);
    for (unsigned i = 0; i < tree->n_leaves; i++)
        tree->pointers[i] = place_of(e, tree->leaves[i]);
    compute_element(tree, op, (struct spot){NULL, 1});
}

// Nothing is left to do where the only other term lies in the sum's place.
static bool is_there_already(const struct tree *tree, const struct op *sum) {
    if (tree->absent == NO_ID || sum->n_operands != 2)
        return false;
    value_id other = sum->operands[sum->operands[0] == tree->absent];
    return sum->operands[sum->operands[0] != tree->absent] == tree->absent &&
           !is_inline(tree->e, other) &&
           type_elements(value_type(tree->e, other)) == tree->elements &&
           same_place(tree->e, other, sum->results[0]);
}

static void emit_loop(struct emitter *e, const struct op *op, value_id absent) {
    struct tree tree = {
        .e = e, .absent = absent, .elements = type_elements(value_type(e, op->results[0]))};
    collect_leaves(&tree, op);
    if (is_there_already(&tree, op))
        return;
    add_leaf(&tree, op->results[0]);
    if (value_type(e, op->results[0])->rank == 0) {
        emit_scalar(&tree, op);
        return;
    }
    if (tree.elements == 0)
        return;
    int64_t columns = tree.columns ? tree.columns : 1;
    int64_t grain = columns < ELEMENTS_PER_RANGE ? ELEMENTS_PER_RANGE / columns : 1;
    LLVMValueRef tile = build_tile(&tree, op);
    CALL_RUNTIME(e, parallel, op->id, tile, store_slots(&tree),
                 constant_i64(e, tree.elements / columns), constant_i64(e, grain));
}

void emit_elementwise(struct emitter *e, const struct op *op) {
    if (is_inline(e, op->results[0]) || e->made[op - e->unit->ops])
        return;
    if (op->kind == OP_ACCUMULATE && is_added_by_producer(e, op))
        return;
    emit_loop(e, op, NO_ID);
}

struct target begin_sum(struct emitter *e, const struct op *sum, value_id term) {
    emit_loop(e, sum, term);
    e->made[sum - e->unit->ops] = true;
    return (struct target){.place = place_of(e, sum->results[0]), .accumulate = constant_i32(e, 1)};
}
