// einsum as calls of the product function. Labels of the two operands and the result fall into four
// groups: batch (in all three), rows (first operand and result), columns (second and result) and
// contracted (not in the result). Labels that stand side by side in one order, wherever they stand,
// are a *run* and count as one. A run of rows, one of columns and one that is contracted are a
// product of matrices, transposed or not, if in each matrix one of its two is innermost; where rows
// are innermost in the result, with the operands exchanged. Loops around it go over all other runs.
// Products that models need have no others; what a person writes may have.
#include "backend/emitter.h"
#include "backend/products.h"

#include <string.h>

enum group { GROUP_BATCH, GROUP_ROWS, GROUP_COLUMNS, GROUP_CONTRACTED, N_GROUPS };

// The einsum's operands as it names them, and its result.
enum { RESULT = 2, N_TENSORS = 3, MAX_RUNS = 2 * MAX_RANK };
struct run {
    char label; // one of it
    int64_t size;
    int64_t strides[N_TENSORS]; // elements from one to the next; 0: the tensor has none of it
    bool innermost[N_TENSORS];
};

// How the einsum reads as c = op(a) op(b), inside loops. Sizes are products over the labels of a
// group that are in the product.
struct matrices {
    bool exchange; // a is the einsum's second operand
    int64_t sizes[N_GROUPS];
    struct cut contracted; // of an op in blocks
    bool transpose_a, transpose_b;
    int64_t lda, ldb, ldc; // elements between the stored rows, as of the call
    struct run loops[MAX_RUNS];
    unsigned n_loops;
};

// Which group a label belongs to, for operands in the order a, b.
static enum group group_of(char label, const char *a, const char *b, const char *c) {
    bool in_a = strchr(a, label), in_b = strchr(b, label);
    if (!strchr(c, label))
        return GROUP_CONTRACTED;
    return in_a && in_b ? GROUP_BATCH : in_a ? GROUP_ROWS : GROUP_COLUMNS;
}

// ---- runs -------------------------------------------------------------------------------------

struct labelled {
    const char *labels;
    const struct tensor_type *type;
};

// Does `next` stand right behind the label, wherever one of the two is?
static bool follows(const struct labelled tensors[N_TENSORS], char label, char next) {
    for (int t = 0; t < N_TENSORS; t++) {
        const char *at = strchr(tensors[t].labels, label);
        if (at ? at[1] != next : strchr(tensors[t].labels, next) != NULL)
            return false;
    }
    return true;
}

// Makes a run longer by the label that follows it, or begins it.
static void extend(struct run *run, const struct labelled tensors[N_TENSORS], char label) {
    int64_t size = 0;
    for (int t = 0; t < N_TENSORS; t++) {
        const struct tensor_type *type = tensors[t].type;
        const char *at = strchr(tensors[t].labels, label);
        if (!at)
            continue;
        unsigned place = (unsigned)(at - tensors[t].labels);
        size = type->dims[place].size;
        run->innermost[t] = place + 1 == type->rank;
        run->strides[t] = 1;
        for (unsigned i = place + 1; i < type->rank; i++)
            run->strides[t] *= type->dims[i].size;
    }
    run->label = label;
    run->size *= size;
}

static unsigned find_runs(const struct labelled tensors[N_TENSORS], struct run runs[MAX_RUNS]) {
    unsigned n = 0;
    for (int t = 0; t < RESULT; t++)
        for (const char *at = tensors[t].labels; *at; at++) {
            if (t == 1 && strchr(tensors[0].labels, *at))
                continue;
            if (at == tensors[t].labels || !follows(tensors, at[-1], *at))
                runs[n++] = (struct run){.size = 1};
            extend(&runs[n - 1], tensors, *at);
        }
    return n;
}

// ---- the product inside -----------------------------------------------------------------------

// The run for what a product has none of: one row, one column, a sum of one.
static const struct run no_run = {.size = 1, .innermost = {true, true, true}};

struct choice {
    const struct run *rows, *columns, *contracted;
};

static int64_t stored_row(const struct run *run, int tensor, const struct run *inside) {
    return run->strides[tensor] ? run->strides[tensor] : inside->size;
}

// Are the chosen runs matrices as they lie? If they are, says how.
static bool read_matrices(struct choice of, bool exchange, struct matrices *m) {
    int a = exchange, b = !exchange;
    bool transpose_a = !of.contracted->innermost[a], transpose_b = !of.columns->innermost[b];
    if ((transpose_a && !of.rows->innermost[a]) || (transpose_b && !of.contracted->innermost[b]) ||
        !of.columns->innermost[RESULT])
        return false;
    m->exchange = exchange;
    m->transpose_a = transpose_a;
    m->transpose_b = transpose_b;
    m->lda = transpose_a ? of.contracted->strides[a] : stored_row(of.rows, a, of.contracted);
    m->ldb = transpose_b ? of.columns->strides[b] : stored_row(of.contracted, b, of.columns);
    m->ldc = stored_row(of.rows, RESULT, of.columns);
    m->sizes[GROUP_ROWS] = of.rows->size;
    m->sizes[GROUP_COLUMNS] = of.columns->size;
    m->sizes[GROUP_CONTRACTED] = of.contracted->size;
    return true;
}

// The runs of each group that a product may have, and behind them that it has none. What is summed
// in one operand alone is contracted, but by no product.
struct candidates {
    const struct run *runs[N_GROUPS][MAX_RUNS + 1];
    unsigned n[N_GROUPS];
};

static void find_candidates(const struct run *runs, unsigned n, const char *a, const char *b,
                            const char *c, struct candidates *found) {
    memset(found->n, 0, sizeof found->n);
    for (unsigned i = 0; i < n; i++) {
        enum group group = group_of(runs[i].label, a, b, c);
        if (group != GROUP_CONTRACTED || (runs[i].strides[0] && runs[i].strides[1]))
            found->runs[group][found->n[group]++] = &runs[i];
    }
    for (int g = 0; g < N_GROUPS; g++)
        found->runs[g][found->n[g]++] = &no_run;
}

static bool is_chosen(struct choice of, const struct run *run) {
    return of.rows == run || of.columns == run || of.contracted == run;
}

// Does a product leave less to loops than the other?
static bool is_greater(struct choice of, struct choice than) {
    double size = (double)of.rows->size * (double)of.columns->size * (double)of.contracted->size;
    double other =
        (double)than.rows->size * (double)than.columns->size * (double)than.contracted->size;
    return size > other || (size == other && is_chosen(than, &no_run) && !is_chosen(of, &no_run));
}

// Improves on a choice among these.
static void choose(const struct candidates *found, bool exchange, struct choice *best,
                   struct matrices *m) {
    for (unsigned r = 0; r < found->n[GROUP_ROWS]; r++)
        for (unsigned c = 0; c < found->n[GROUP_COLUMNS]; c++)
            for (unsigned k = 0; k < found->n[GROUP_CONTRACTED]; k++) {
                struct choice of = {found->runs[GROUP_ROWS][r], found->runs[GROUP_COLUMNS][c],
                                    found->runs[GROUP_CONTRACTED][k]};
                if (is_greater(of, *best) && read_matrices(of, exchange, m))
                    *best = of;
            }
}

// ---- blocks -----------------------------------------------------------------------------------

// Rows and columns may lie as they like: an element is the same beside any others.
static bool find_blocks(const struct op *op, const struct labelled *a, const char *b, const char *c,
                        struct matrices *m) {
    for (unsigned i = a->type->rank; i-- > 0;)
        if (group_of(a->labels[i], a->labels, b, c) == GROUP_CONTRACTED &&
            !add_to_cut(&m->contracted, op, &a->type->dims[i]))
            return false;
    return true;
}

// Is it added to another microbatch's, by its own kernel?
static bool is_second_of_pair(const struct unit *unit, const struct op *op) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_ACCUMULATE_PAIR && unit->ops[i].operands[1] == op->results[0])
            return unit->values[op->results[0]].storage == STORAGE_INLINE;
    return false;
}

static bool sums_in_loops(const struct matrices *m, const struct labelled *a, const char *b,
                          const char *c) {
    for (unsigned i = 0; i < m->n_loops; i++)
        if (group_of(m->loops[i].label, a->labels, b, c) == GROUP_CONTRACTED)
            return true;
    return false;
}

// ---- the whole --------------------------------------------------------------------------------

static void find_product(const struct labelled tensors[N_TENSORS], struct matrices *m) {
    struct run runs[MAX_RUNS];
    struct choice best = {&no_run, &no_run, &no_run};
    unsigned n = find_runs(tensors, runs);
    CHECK(read_matrices(best, false, m));
    for (int exchange = 0; exchange < 2; exchange++) {
        struct candidates found;
        find_candidates(runs, n, tensors[exchange].labels, tensors[!exchange].labels,
                        tensors[RESULT].labels, &found);
        choose(&found, exchange, &best, m);
    }
    for (unsigned i = 0; i < n; i++)
        if (!is_chosen(best, &runs[i]) && runs[i].size > 1)
            m->loops[m->n_loops++] = runs[i];
}

// False: it is not one call, as it must be where blocks are joined as a tree, the whole is added to
// a sum as one, or is rounded once; or its blocks do not lie as that wants them.
static bool matrices_of(const struct unit *unit, const struct op *op, struct matrices *m) {
    struct op_labels labels;
    CHECK(op_labels_of(unit, op, &labels));
    struct labelled tensors[N_TENSORS] = {
        {labels.operands[0], &unit->values[op->operands[0]].type},
        {labels.operands[1], &unit->values[op->operands[1]].type},
        {labels.results[0], &unit->values[op->results[0]].type},
    };
    *m = (struct matrices){.sizes = {1, 1, 1, 1}, .contracted = {.parts = 1}};
    find_product(tensors, m);
    const struct labelled *a = &tensors[m->exchange];
    const char *b = tensors[!m->exchange].labels, *c = tensors[RESULT].labels;
    bool in_blocks = op_attribute(op, ATTRIBUTE_BLOCKS);
    bool rounded = op_computes_in(unit, op) != tensors[RESULT].type->dtype;
    if ((in_blocks || rounded || is_second_of_pair(unit, op)) && sums_in_loops(m, a, b, c))
        return false;
    return !in_blocks || find_blocks(op, a, b, c, m);
}

bool product_is_supported(const struct unit *unit, const struct op *op) {
    struct matrices m;
    return matrices_of(unit, op, &m);
}

// ---- code -------------------------------------------------------------------------------------

struct product {
    LLVMValueRef places[N_TENSORS];
    LLVMValueRef accumulate; // i32
    enum dtype dtypes[N_TENSORS];
};

static void call_product(struct emitter *e, const struct op *op, const struct matrices *m,
                         const struct product *p) {
    LLVMValueRef dtype = place_dtype_constant(e, p->dtypes[0]);
    LLVMValueRef result = place_dtype_constant(e, p->dtypes[RESULT]);
    LLVMValueRef transpose_a = constant_i32(e, m->transpose_a);
    LLVMValueRef transpose_b = constant_i32(e, m->transpose_b);
    LLVMValueRef rows = constant_i64(e, m->sizes[GROUP_ROWS]);
    LLVMValueRef columns = constant_i64(e, m->sizes[GROUP_COLUMNS]);
    LLVMValueRef contracted = constant_i64(e, m->sizes[GROUP_CONTRACTED]);
    LLVMValueRef a = p->places[m->exchange], lda = constant_i64(e, m->lda);
    LLVMValueRef b = p->places[!m->exchange], ldb = constant_i64(e, m->ldb);
    LLVMValueRef c = p->places[RESULT], ldc = constant_i64(e, m->ldc);
    if (is_unordered_product(e->job, op))
        CALL_RUNTIME(e, product, op->id, dtype, result, transpose_a, transpose_b, rows, columns,
                     contracted, a, lda, b, ldb, p->accumulate, c, ldc);
    else
        CALL_RUNTIME(e, product_blocks, op->id, dtype, result, transpose_a, transpose_b, rows,
                     columns, contracted, constant_i64(e, m->contracted.parts),
                     constant_i64(e, m->contracted.blocks), a, lda, b, ldb, p->accumulate, c, ldc);
}

// The product of one iteration. What is contracted by a loop is added to what there is from its
// second iteration on.
static struct product item(struct emitter *e, const struct product *p, const struct run *run,
                           LLVMValueRef counter) {
    struct product one = *p;
    for (int t = 0; t < N_TENSORS; t++) {
        int64_t bytes = run->strides[t] * dtype_bytes[p->dtypes[t]];
        LLVMValueRef offset = LLVMBuildMul(e->builder, counter, constant_i64(e, bytes), "");
        one.places[t] = element_pointer(e, e->i8, p->places[t], offset);
    }
    if (!run->strides[RESULT]) {
        LLVMValueRef later = LLVMBuildICmp(e->builder, LLVMIntNE, counter, constant_i64(e, 0), "");
        later = LLVMBuildZExt(e->builder, later, e->i32, "");
        one.accumulate = LLVMBuildOr(e->builder, p->accumulate, later, "");
    }
    return one;
}

static void emit_loops(struct emitter *e, const struct op *op, const struct matrices *m,
                       unsigned depth, const struct product *p) {
    if (depth == m->n_loops) {
        call_product(e, op, m, p);
        return;
    }
    const struct run *run = &m->loops[depth];
    struct counted_loop loop = loop_begin(e, constant_i64(e, 0), constant_i64(e, run->size), false);
    struct product one = item(e, p, run, loop.counter);
    emit_loops(e, op, m, depth + 1, &one);
    loop_end(e, &loop, false);
}

void emit_product(struct emitter *e, const struct op *op) {
    struct matrices m;
    CHECK(matrices_of(e->unit, op, &m));
    const struct op *sum = sum_around(e, op);
    struct target c = sum ? begin_sum(e, sum, op->results[0]) : result_target(e, op, 0);
    if (!c.place)
        return;
    struct product whole = {.places = {operand_place(e, op, 0), operand_place(e, op, 1), c.place},
                            .accumulate = c.accumulate};
    for (unsigned t = 0; t < N_TENSORS; t++)
        whole.dtypes[t] = value_type(e, t == RESULT ? op->results[0] : op->operands[t])->dtype;
    emit_loops(e, op, &m, 0, &whole);
}
