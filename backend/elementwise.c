// Elementwise chains. An op whose result has a place becomes one loop over the result's elements;
// each iteration computes the whole tree of inline values above it. The loop is a function of its
// own, `tile(slots, begin, end)`, which the team runs over ranges (place_parallel).
//
// Broadcast operands are suffixes of the full shape (a bias) or scalars. With a smallest suffix of
// C elements the loop is split in rows and C columns, so that the inner loop reads everything in
// sequence and LLVM can use vectors. Scalars are computed once, before the loop, and what dropout
// draws for a row before the row's columns. Iterations touch only their own elements, also where
// the result lies over an operand; the loops say so in their metadata, else LLVM would test for
// overlap at run time and fall back to scalar code for every in-place update.
#include "backend/emitter.h"

#include <string.h>

// Elements per range of the team: large against the cost of handing out a range, small enough that
// a range's operands stay in a core's cache and all threads get work.
enum { ELEMENTS_PER_RANGE = 16384 };

struct tree {
    struct emitter *e;
    value_id *leaves; // values with places that the tree reads, then the result
    unsigned n_leaves, cap_leaves;
    int64_t elements; // of the result
    int64_t columns;  // of the smallest suffix; 0: none
    value_id *counts; // positions that have no place: the tile is told where they begin
    unsigned n_counts, cap_counts;

    // while the tile is built
    LLVMValueRef *pointers;   // of the leaves
    LLVMValueRef *begins;     // of the counts, i64
    LLVMValueRef *done;       // by value: what the current iteration has computed
    LLVMValueRef (*words)[4]; // by value, of what dropout makes: drawn for the current row
    LLVMValueRef row_index, column_index, full_index;
};

// An inline value always has one: parameters have places.
static const struct op *producer_of(const struct emitter *e, value_id value) {
    CHECK(e->producers[value] != NO_ID);
    return &e->unit->ops[e->producers[value]];
}

// ---- what the tree reads ----------------------------------------------------------------------

// Once each: the tile gets one pointer for a value, however often the tree reads it.
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

static void note_suffix(struct tree *tree, int64_t elements) {
    if (tree->columns == 0 || elements < tree->columns)
        tree->columns = elements;
}

// Samples, positions and columns of a dropout, which are no suffixes: it finds their elements
// itself.
static bool is_coordinate(const struct op *op, unsigned operand) {
    return op->kind == OP_DROPOUT && operand >= 1 && operand <= 3;
}

static void collect_coordinates(struct tree *tree, const struct op *op) {
    for (unsigned i = 1; i <= 3; i++)
        if (is_inline(tree->e, op->operands[i]))
            add_count(tree, op->operands[i]);
        else
            add_leaf(tree, op->operands[i]);
    note_suffix(tree, type_elements(value_type(tree->e, op->operands[3])));
}

// Walks through inline values down to those in memory, and finds the narrowest row on the way.
static void collect_leaves(struct tree *tree, const struct op *op) {
    if (op->kind == OP_DROPOUT)
        collect_coordinates(tree, op);
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id value = op->operands[i];
        int64_t elements = type_elements(value_type(tree->e, value));
        if (is_coordinate(op, i))
            continue;
        if (elements != tree->elements && elements > 1)
            note_suffix(tree, elements);
        if (is_inline(tree->e, value))
            collect_leaves(tree, producer_of(tree->e, value));
        else
            add_leaf(tree, value);
    }
}

// ---- one element ------------------------------------------------------------------------------

static LLVMValueRef value_of(struct tree *, value_id);

// Index of the element of a value that the current iteration works on.
static LLVMValueRef index_for(struct tree *tree, value_id value) {
    struct emitter *e = tree->e;
    const struct tensor_type *type = value_type(e, value);
    int64_t elements = type_elements(type);
    if (type->rank == 0)
        return constant_i64(e, 0);
    if (elements == tree->elements)
        return tree->full_index;
    if (elements == 1)
        return constant_i64(e, 0);
    if (elements == tree->columns)
        return tree->column_index;
    CHECK(elements % tree->columns == 0);
    LLVMValueRef row =
        LLVMBuildURem(e->builder, tree->row_index, constant_i64(e, elements / tree->columns), "");
    row = LLVMBuildMul(e->builder, row, constant_i64(e, tree->columns), "");
    return LLVMBuildNSWAdd(e->builder, row, tree->column_index, "");
}

// Only a loop whose every load and store says so counts as parallel.
static void mark_access(struct tree *tree, LLVMValueRef access) {
    struct emitter *e = tree->e;
    unsigned kind =
        LLVMGetMDKindIDInContext(e->llvm, "llvm.access.group", strlen("llvm.access.group"));
    LLVMSetMetadata(access, kind, LLVMMetadataAsValue(e->llvm, e->access_group));
}

static LLVMValueRef leaf_pointer(struct tree *tree, value_id value, LLVMValueRef index) {
    unsigned i = 0;
    while (tree->leaves[i] != value)
        CHECK(++i < tree->n_leaves);
    LLVMTypeRef type = element_type(tree->e, value_type(tree->e, value)->dtype);
    return element_pointer(tree->e, type, tree->pointers[i], index);
}

// Alignment is that of an element: rows begin anywhere. Unaligned vector loads cost nothing here.
static LLVMValueRef load_leaf(struct tree *tree, value_id value, LLVMValueRef index) {
    struct emitter *e = tree->e;
    LLVMTypeRef type = element_type(e, value_type(e, value)->dtype);
    LLVMValueRef load = LLVMBuildLoad2(e->builder, type, leaf_pointer(tree, value, index), "");
    LLVMSetAlignment(load, dtype_bytes[value_type(e, value)->dtype]);
    mark_access(tree, load);
    return load;
}

// Scalars are f64 and meet tensors of any type; `cast` is this and nothing more.
static LLVMValueRef convert(struct emitter *e, LLVMValueRef x, LLVMTypeRef to) {
    LLVMTypeRef from = LLVMTypeOf(x);
    if (from == to)
        return x;
    if (from == e->i32)
        return LLVMBuildSIToFP(e->builder, x, to, "");
    return to == e->f32 ? LLVMBuildFPTrunc(e->builder, x, to, "")
                        : LLVMBuildFPExt(e->builder, x, to, "");
}

static bool is_erf(const struct op *op) {
    const struct attribute *approximate = op_attribute(op, ATTRIBUTE_APPROXIMATE);
    return approximate && strcmp(approximate->word, "erf") == 0;
}

// ---- dropout ----------------------------------------------------------------------------------

// Number `index` of samples, positions or columns, as an i32: what stands there, or counted on from
// where they begin.
static LLVMValueRef coordinate_at(struct tree *tree, value_id value, LLVMValueRef index) {
    struct emitter *e = tree->e;
    if (!is_inline(e, value))
        return load_leaf(tree, value, index);
    unsigned i = 0;
    while (tree->counts[i] != value)
        CHECK(++i < tree->n_counts);
    LLVMValueRef at = LLVMBuildNSWAdd(e->builder, tree->begins[i], index, "");
    return LLVMBuildTrunc(e->builder, at, e->i32, "");
}

// What the dropouts of the tree draw for the row that begins.
static void draw_rows(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    for (unsigned i = 0; i < op->n_operands; i++)
        if (!is_coordinate(op, i) && is_inline(e, op->operands[i]))
            draw_rows(tree, producer_of(e, op->operands[i]));
    if (op->kind != OP_DROPOUT)
        return;
    LLVMValueRef sequence = constant_i64(e, type_elements(value_type(e, op->operands[2])));
    LLVMValueRef sample = LLVMBuildUDiv(e->builder, tree->row_index, sequence, "");
    LLVMValueRef position = LLVMBuildURem(e->builder, tree->row_index, sequence, "");
    LLVMValueRef *words = tree->words[op->results[0]];
    words[0] = coordinate_at(tree, op->operands[1], sample);
    words[1] = coordinate_at(tree, op->operands[2], position);
    words[2] = LLVMBuildFPToUI(e->builder, value_of(tree, op->operands[4]), e->i32, "");
    words[3] = constant_i32(e, op_integer(op, ATTRIBUTE_SITE, 0));
    emit_row_words(e, value_of(tree, op->operands[5]), words);
}

// With key 0 all numbers pass, and what passes is not made larger.
static LLVMValueRef drop(struct tree *tree, const struct op *op, LLVMValueRef x) {
    struct emitter *e = tree->e;
    double probability = op_real(op, ATTRIBUTE_PROBABILITY, 0);
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef zero = LLVMConstNull(type), key = value_of(tree, op->operands[5]);
    LLVMValueRef draws = LLVMBuildFCmp(e->builder, LLVMRealONE, key, constant_f64(e, 0), "draws");
    LLVMValueRef limit = LLVMConstInt(e->i32, (uint32_t)(probability * 0x1p32), false);
    limit = LLVMBuildSelect(e->builder, draws, limit, constant_i32(e, 0), "");
    LLVMValueRef factor = LLVMBuildSelect(
        e->builder, draws, LLVMConstReal(type, 1 / (1 - probability)), LLVMConstReal(type, 1), "");
    LLVMValueRef number = emit_element_number(
        e, tree->words[op->results[0]], coordinate_at(tree, op->operands[3], tree->column_index));
    LLVMValueRef passes = LLVMBuildICmp(e->builder, LLVMIntUGE, number, limit, "");
    return LLVMBuildSelect(e->builder, passes, LLVMBuildFMul(e->builder, x, factor, ""), zero, "");
}

// ---- ops --------------------------------------------------------------------------------------

// One op on one element. No fast-math flag anywhere: LLVM may then neither fuse nor reorder, and a
// vector's lane computes what the scalar tail computes.
static LLVMValueRef compute(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    LLVMTypeRef type = element_type(e, value_type(e, op->results[0])->dtype);
    LLVMValueRef a = value_of(tree, op->operands[0]);
    LLVMValueRef b = op->n_operands == 2 ? value_of(tree, op->operands[1]) : NULL;
    switch (op->kind) {
    case OP_ADD:
    case OP_ACCUMULATE:
    case OP_ADD_BIAS:
        return LLVMBuildFAdd(e->builder, a, convert(e, b, type), "");
    case OP_MUL:
    case OP_SCALE:
        return LLVMBuildFMul(e->builder, a, convert(e, b, type), "");
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
        return drop(tree, op, a);
    case OP_LOG_SHIFT:
        return LLVMBuildFAdd(e->builder, emit_math(e, "log", a), b, "");
    default:
        CHECK(op->kind == OP_CAST);
        return convert(e, a, type);
    }
}

// Computed once per iteration, however many users it has.
static LLVMValueRef value_of(struct tree *tree, value_id value) {
    if (!tree->done[value])
        tree->done[value] = is_inline(tree->e, value)
                                ? compute(tree, producer_of(tree->e, value))
                                : load_leaf(tree, value, index_for(tree, value));
    return tree->done[value];
}

static void compute_element(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    LLVMValueRef result = compute(tree, op);
    value_id to = op->results[0];
    LLVMValueRef store =
        LLVMBuildStore(e->builder, result, leaf_pointer(tree, to, index_for(tree, to)));
    LLVMSetAlignment(store, dtype_bytes[value_type(e, op->results[0])->dtype]);
    mark_access(tree, store);
}

// Scalars that the tree reads: known before the loop, in the block where it begins.
static void compute_scalars(struct tree *tree, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id value = op->operands[i];
        if (is_coordinate(op, i))
            continue;
        if (value_type(tree->e, value)->rank == 0)
            value_of(tree, value);
        else if (is_inline(tree->e, value))
            compute_scalars(tree, producer_of(tree->e, value));
    }
}

// ---- the tile ---------------------------------------------------------------------------------

// The inner loop has a constant count, so that LLVM needs no tail where the columns are a multiple
// of the vector's width.
static void tile_rows(struct tree *tree, const struct op *op) {
    struct emitter *e = tree->e;
    LLVMValueRef columns = constant_i64(e, tree->columns);
    LLVMValueRef start = LLVMBuildMul(e->builder, tree->row_index, columns, "");
    draw_rows(tree, op);
    struct counted_loop loop = loop_begin(e, constant_i64(e, 0), columns, false);
    tree->column_index = loop.counter;
    tree->full_index = LLVMBuildNSWAdd(e->builder, start, loop.counter, "");
    compute_element(tree, op);
    loop_end(e, &loop, true);
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

// begin and end count rows if there are columns, else elements.
static void tile_body(struct tree *tree, const struct op *op, LLVMValueRef tile) {
    struct emitter *e = tree->e;
    tree->done = ARENA_ARRAY(e->arena, LLVMValueRef, e->unit->n_values);
    tree->words = arena_alloc(e->arena, e->unit->n_values * sizeof *tree->words);
    read_slots(tree, LLVMGetParam(tile, 0));
    compute_scalars(tree, op);
    struct counted_loop loop = loop_begin(e, LLVMGetParam(tile, 1), LLVMGetParam(tile, 2), false);
    tree->row_index = tree->full_index = loop.counter;
    if (tree->columns)
        tile_rows(tree, op);
    else
        compute_element(tree, op);
    loop_end(e, &loop, !tree->columns);
    LLVMBuildRetVoid(e->builder);
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
    tree->done = ARENA_ARRAY(e->arena, LLVMValueRef, e->unit->n_values);
    for (unsigned i = 0; i < tree->n_leaves; i++)
        tree->pointers[i] = place_of(e, tree->leaves[i]);
    tree->full_index = tree->column_index = constant_i64(e, 0);
    compute_element(tree, op);
}

void emit_elementwise(struct emitter *e, const struct op *op) {
    if (is_inline(e, op->results[0]))
        return;
    if (op->kind == OP_ACCUMULATE && is_added_by_producer(e, op))
        return;
    struct tree tree = {.e = e, .elements = type_elements(value_type(e, op->results[0]))};
    collect_leaves(&tree, op);
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
