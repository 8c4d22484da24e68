// einsum as one call of the product function. Labels of the two operands and the result fall into
// four groups: batch (in all three), rows (first operand and result), columns (second and result)
// and contracted (both operands). Where every group is contiguous and in one order wherever it
// stands, the operands are matrices as they lie, transposed or not. Results that have columns in
// front of rows are computed with the operands exchanged. Batch labels come first everywhere and
// become a loop. Whatever else a person may write is refused (backend_refusal).
#include "backend/emitter.h"

#include <string.h>

enum group { GROUP_BATCH, GROUP_ROWS, GROUP_COLUMNS, GROUP_CONTRACTED, N_GROUPS };

// How the einsum reads as c = op(a) op(b). Sizes are products over the labels of a group. Where a
// group has labels in blocks it lies as [parts][blocks][elements of one]; 0 blocks: it has none.
struct matrices {
    int64_t sizes[N_GROUPS], blocks[N_GROUPS], parts[N_GROUPS];
    bool transpose_a, transpose_b;
    bool exchange; // a is the einsum's second operand
};

// Which group a label belongs to, for operands in the order a, b.
static int group_of(char label, const char *a, const char *b, const char *c) {
    bool in_a = strchr(a, label), in_b = strchr(b, label), in_c = strchr(c, label);
    if (in_a && in_b)
        return in_c ? GROUP_BATCH : GROUP_CONTRACTED;
    if (!in_c)
        return -1; // summed in one operand alone
    return in_a ? GROUP_ROWS : GROUP_COLUMNS;
}

// The labels of a group as they stand in one tensor; false if others stand between them.
static bool extract(const char *labels, enum group group, const char *a, const char *b,
                    const char *c, char out[MAX_RANK + 1], int *position) {
    unsigned n = 0;
    bool ended = false;
    *position = -1;
    for (unsigned i = 0; labels[i]; i++) {
        if (group_of(labels[i], a, b, c) != (int)group) {
            ended = n > 0;
            continue;
        }
        if (ended)
            return false;
        if (n == 0)
            *position = (int)i;
        out[n++] = labels[i];
    }
    out[n] = 0;
    return true;
}

// Requires that a group reads the same in two tensors and tells whether it is in front of `other`.
static bool group_fits(const char *one, const char *two, enum group group, const char *a,
                       const char *b, const char *c) {
    char in_one[MAX_RANK + 1], in_two[MAX_RANK + 1];
    int position;
    return extract(one, group, a, b, c, in_one, &position) &&
           extract(two, group, a, b, c, in_two, &position) && strcmp(in_one, in_two) == 0;
}

// Where a group begins; -1: the tensor has none of it, which fits any order.
static int position_of(const char *labels, enum group group, const char *a, const char *b,
                       const char *c) {
    char out[MAX_RANK + 1];
    int position;
    extract(labels, group, a, b, c, out, &position);
    return position;
}

static bool is_before(const char *labels, enum group first, enum group second, const char *a,
                      const char *b, const char *c) {
    int one = position_of(labels, first, a, b, c), two = position_of(labels, second, a, b, c);
    return one < 0 || two < 0 || one < two;
}

static bool batch_leads(const char *labels, const char *a, const char *b, const char *c) {
    return position_of(labels, GROUP_BATCH, a, b, c) <= 0;
}

// Do the labels fit when a and b are the operands in this order? Batch labels lead everywhere, rows
// come before columns in the result; the operands may be transposed.
static bool match(const char *a, const char *b, const char *c, struct matrices *m) {
    for (const char *l = a; *l; l++)
        if (group_of(*l, a, b, c) < 0)
            return false;
    for (const char *l = b; *l; l++)
        if (group_of(*l, a, b, c) < 0)
            return false;
    if (!group_fits(a, c, GROUP_ROWS, a, b, c) || !group_fits(b, c, GROUP_COLUMNS, a, b, c) ||
        !group_fits(a, b, GROUP_CONTRACTED, a, b, c) || !group_fits(a, b, GROUP_BATCH, a, b, c) ||
        !group_fits(a, c, GROUP_BATCH, a, b, c))
        return false;
    if (!batch_leads(a, a, b, c) || !batch_leads(b, a, b, c) || !batch_leads(c, a, b, c) ||
        !is_before(c, GROUP_ROWS, GROUP_COLUMNS, a, b, c))
        return false;
    m->transpose_a = !is_before(a, GROUP_ROWS, GROUP_CONTRACTED, a, b, c);
    m->transpose_b = !is_before(b, GROUP_CONTRACTED, GROUP_COLUMNS, a, b, c);
    return true;
}

// All groups of a; of b only what a has not.
static void add_sizes(const char *labels, const struct tensor_type *type, const char *a,
                      const char *b, const char *c, bool all, struct matrices *m) {
    for (unsigned i = 0; i < type->rank; i++) {
        int group = group_of(labels[i], a, b, c);
        if (all || group == GROUP_COLUMNS)
            m->sizes[group] *= type->dims[i].size;
    }
}

// From the innermost label out: what is in no blocks inside those that are belongs to each block,
// what is outside them says of which part a block is. A block of more than one element cannot have
// others inside it.
static bool add_blocks(const struct op *op, const char *labels, const struct tensor_type *type,
                       const char *a, const char *b, const char *c, struct matrices *m) {
    for (unsigned i = type->rank; i-- > 0;) {
        int group = group_of(labels[i], a, b, c);
        int64_t length = op_block(op, type->dims[i].dimension), size = type->dims[i].size;
        if (!length && m->blocks[group])
            m->parts[group] *= size;
        if (!length)
            continue;
        if (m->blocks[group] && (length > 1 || m->parts[group] > 1))
            return false;
        m->blocks[group] = (m->blocks[group] ? m->blocks[group] : 1) * (size / length);
    }
    return true;
}

// Rows and contracted labels as they stand in a, columns as in b.
static bool find_blocks(const struct unit *unit, const struct op *op,
                        const struct op_labels *labels, struct matrices *m) {
    const char *a = labels->operands[m->exchange], *b = labels->operands[!m->exchange];
    const char *c = labels->results[0];
    struct matrices of_b = *m;
    bool fits = add_blocks(op, a, &unit->values[op->operands[m->exchange]].type, a, b, c, m) &&
                add_blocks(op, b, &unit->values[op->operands[!m->exchange]].type, a, b, c, &of_b);
    m->blocks[GROUP_COLUMNS] = of_b.blocks[GROUP_COLUMNS];
    m->parts[GROUP_COLUMNS] = of_b.parts[GROUP_COLUMNS];
    return fits;
}

// Both orders are tried: c = a b, and the transposed c = b a where columns lead in the result.
static bool matrices_of(const struct unit *unit, const struct op *op, struct matrices *m) {
    struct op_labels labels;
    CHECK(op_labels_of(unit, op, &labels));
    *m = (struct matrices){.sizes = {1, 1, 1, 1}, .parts = {1, 1, 1, 1}};
    for (int exchange = 0; exchange < 2; exchange++) {
        const char *a = labels.operands[exchange], *b = labels.operands[!exchange];
        const char *c = labels.results[0];
        if (!match(a, b, c, m))
            continue;
        m->exchange = exchange;
        add_sizes(a, &unit->values[op->operands[exchange]].type, a, b, c, true, m);
        add_sizes(b, &unit->values[op->operands[!exchange]].type, a, b, c, false, m);
        return find_blocks(unit, op, &labels, m);
    }
    return false;
}

bool product_is_supported(const struct unit *unit, const struct op *op) {
    struct matrices m;
    return matrices_of(unit, op, &m);
}

struct product {
    LLVMValueRef a, b;
    struct target c;
    enum dtype dtype;
};

// Each block of rows and columns is a product by itself, whichever part it is of.
static int64_t calls_along(const struct matrices *m, enum group group) {
    return m->blocks[group] ? m->blocks[group] * m->parts[group] : 1;
}

static void call_product_blocks(struct emitter *e, const struct op *op, const struct matrices *m,
                                const struct product *p) {
    int64_t rows = m->sizes[GROUP_ROWS], columns = m->sizes[GROUP_COLUMNS];
    int64_t contracted = m->sizes[GROUP_CONTRACTED];
    CALL_RUNTIME(e, product_blocks, op->id, place_dtype_constant(e, p->dtype),
                 constant_i32(e, m->transpose_a), constant_i32(e, m->transpose_b),
                 constant_i64(e, rows), constant_i64(e, calls_along(m, GROUP_ROWS)),
                 constant_i64(e, columns), constant_i64(e, calls_along(m, GROUP_COLUMNS)),
                 constant_i64(e, contracted), constant_i64(e, m->blocks[GROUP_CONTRACTED]),
                 constant_i64(e, m->parts[GROUP_CONTRACTED]), p->a,
                 constant_i64(e, m->transpose_a ? rows : contracted), p->b,
                 constant_i64(e, m->transpose_b ? contracted : columns),
                 constant_i32(e, p->c.accumulate), p->c.place, constant_i64(e, columns));
}

// Leading dimensions are those of contiguous matrices: tensors are contiguous, groups are too.
static void call_product(struct emitter *e, const struct op *op, const struct matrices *m,
                         const struct product *p) {
    int64_t rows = m->sizes[GROUP_ROWS], columns = m->sizes[GROUP_COLUMNS];
    int64_t contracted = m->sizes[GROUP_CONTRACTED];
    if (op_attribute(op, ATTRIBUTE_BLOCKS)) {
        call_product_blocks(e, op, m, p);
        return;
    }
    CALL_RUNTIME(e, product, op->id, place_dtype_constant(e, p->dtype),
                 constant_i32(e, m->transpose_a), constant_i32(e, m->transpose_b),
                 constant_i64(e, rows), constant_i64(e, columns), constant_i64(e, contracted), p->a,
                 constant_i64(e, m->transpose_a ? rows : contracted), p->b,
                 constant_i64(e, m->transpose_b ? contracted : columns),
                 constant_i32(e, p->c.accumulate), p->c.place, constant_i64(e, columns));
}

// The item of a batch: `elements` each.
static LLVMValueRef item(struct emitter *e, enum dtype dtype, LLVMValueRef place,
                         LLVMValueRef index, int64_t elements) {
    LLVMValueRef offset = LLVMBuildMul(e->builder, index, constant_i64(e, elements), "");
    return element_pointer(e, element_type(e, dtype), place, offset);
}

// Tokens are the rows of every activation, so that b, s, ... are one group of one product. A batch
// that is left is rare (none of the built models has one), so that a loop of calls will do.
void emit_product(struct emitter *e, const struct op *op) {
    struct matrices m;
    CHECK(matrices_of(e->unit, op, &m));
    const struct op *sum = sum_around(e, op);
    struct product whole = {.a = operand_place(e, op, m.exchange),
                            .b = operand_place(e, op, !m.exchange),
                            .c = sum ? begin_sum(e, sum, op->results[0]) : result_target(e, op, 0),
                            .dtype = value_type(e, op->results[0])->dtype};
    if (!whole.c.place)
        return;
    if (m.sizes[GROUP_BATCH] == 1) {
        call_product(e, op, &m, &whole);
        return;
    }
    int64_t rows = m.sizes[GROUP_ROWS], columns = m.sizes[GROUP_COLUMNS];
    int64_t contracted = m.sizes[GROUP_CONTRACTED];
    struct counted_loop loop =
        loop_begin(e, constant_i64(e, 0), constant_i64(e, m.sizes[GROUP_BATCH]), false);
    struct product one = whole;
    one.a = item(e, whole.dtype, whole.a, loop.counter, rows * contracted);
    one.b = item(e, whole.dtype, whole.b, loop.counter, contracted * columns);
    one.c.place = item(e, whole.dtype, whole.c.place, loop.counter, rows * columns);
    call_product(e, op, &m, &one);
    loop_end(e, &loop, false);
}
