// The order of sums, for programs that are reproducible: the same bits on every mesh.
//
// Such a program is judged as any other first. Then it is judged over terms of another kind (a
// proof that is `ordered`), and this only adds refusals: every op makes a node of its own, of its
// operands as they stand, so that nothing commutes but the two summands of an addition and the two
// factors of a product of elements, no scale is pulled out, and equal terms are equal bits. Ops see
// the same shapes on every mesh, or parts of them that are computed as if each stood alone:
// elements of flat shards, and where axes of the model cut (those of sequences, too: all that do
// not cut the batch), elements, rows, heads and blocks. What is moved between devices is judged
// where it is read. What remains are the sums whose operands are in no text:
//
//   microbatches  Those of all devices are numbered by the digits of the batch. What one gives is a
//                 leaf; it is made, and added to others' of the same microbatch, by the same ops on
//                 every mesh. Leaves are joined as a binary tree over their numbers: the least
//                 significant digit is summed first, an axis's by a collective (whose members are
//                 added as a tree), time's by `carry`.
//   blocks        A dimension that axes of the model cut is contracted in blocks, of one length on
//                 every mesh, which are joined as such a tree inside the leaf. A device with whole
//                 blocks makes a node of it, and collectives sum the digits that say which one.
//   exact sums    Of squares in bins, of numbers of tokens, and of the one row or column that an id
//                 selects, which some device has. They have no order, nor have maxima.
//
// A judgement says which digits are still to be summed (struct leaves). What sums another one, or
// needs the sum before all are, is refused where it stands. A sum over all microbatches keeps its
// mark until an op reads it: two of them were to be added leaf by leaf.
#include <string.h>

#include "ir/check.h"
#include "verify/rules/rule.h"

// ---- values -----------------------------------------------------------------------------------

static bool is_scalar(const struct context *c) {
    return c->unit->values[c->op->results[0]].type.rank == 0;
}

// Which operand the result of a sum of scalars is; -1: neither. Of tensors zeros are added, as what
// they make of minus zero is another.
static int only_summand(const struct context *c) {
    if (!op_has(c->op->kind, IS_JOINT_SUM) || !is_scalar(c))
        return -1;
    return is_zero(c, 0) ? 1 : is_zero(c, 1) ? 0 : -1;
}

// Does it join blocks of what the result is a sum over?
static bool joins_blocks(const struct unit *unit, const struct op *op, unsigned result) {
    struct op_labels labels;
    if (!op_attribute(op, ATTRIBUTE_BLOCKS))
        return false;
    CHECK(op_labels_of(unit, op, &labels));
    for (unsigned i = 0; i < op->n_operands; i++)
        for (unsigned d = 0; labels.operands[i][d]; d++) {
            const struct dim *dim = &unit->values[op->operands[i]].type.dims[d];
            int64_t block = op_block(op, dim->dimension);
            if (block && dim->size > block &&
                !strchr(labels.results[result], labels.operands[i][d]))
                return true;
        }
    return false;
}

// A kernel that adds to a tensor adds piece by piece of what it makes, but blocks it joins before.
// For the reference this says where a kernel could.
static bool is_added_by_kernel(const struct context *c) {
    value_id term = c->op->operands[1];
    const struct op *made = NULL;
    unsigned n_uses = 0, result = 0;
    for (uint32_t i = 0; i < c->unit->n_ops; i++) {
        const struct op *op = &c->unit->ops[i];
        for (unsigned k = 0; k < op->n_results; k++)
            if (op->results[k] == term) {
                made = op;
                result = k;
            }
        for (unsigned k = 0; k < op->n_operands; k++)
            n_uses += op->operands[k] == term;
    }
    if (is_scalar(c) || !made || op_rows[made->kind].kernel == KERNEL_ELEMENTWISE)
        return false;
    if (joins_blocks(c->unit, made, result))
        return false;
    return c->proof->is_reference ? n_uses == 1 : c->unit->values[term].storage == STORAGE_INLINE;
}

// Attributes of ordered terms have the type that is computed in, which casts that take no digits
// hide, and the lengths of blocks, of every dimension of the operands: what these are called is the
// unit's choice.
static uint32_t ordered_attributes(const struct context *c) {
    enum dtype computed = op_computes_in(c->unit, c->op);
    int64_t key[2 + MAX_OPERANDS * MAX_RANK] = {attributes_of(c->builder->terms, c->op), computed};
    uint32_t n = 2;
    bool blocks = op_attribute(c->op, ATTRIBUTE_BLOCKS) != NULL;
    for (unsigned i = 0; blocks && i < c->op->n_operands; i++) {
        const struct tensor_type *type = &c->unit->values[c->op->operands[i]].type;
        for (unsigned d = 0; d < type->rank; d++)
            key[n++] = op_block(c->op, type->dims[d].dimension);
    }
    return intern(&c->builder->terms->attributes, key, n * sizeof *key, NULL) + 1;
}

struct scaled ordered_value(struct context *c, unsigned result) {
    struct part parts[MAX_OPERANDS];
    uint32_t n = 0;
    int only = only_summand(c);
    if (only >= 0)
        return c->operands[only].value;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (op_reads(c->op->kind, result, i))
            parts[n++] = part_of(term_with_scale(c->builder, c->operands[i].value));
    enum op_kind kind = c->op->kind;
    if (kind == OP_ACCUMULATE && !is_added_by_kernel(c))
        kind = OP_ADD;
    if (op_has(kind, COMMUTES) && parts[0].node > parts[1].node) {
        struct part left = parts[0];
        parts[0] = parts[1];
        parts[1] = left;
    }
    struct term made = term_make(c->builder, kind, result, ordered_attributes(c), parts, n);
    return (struct scaled){made, SCALE_ONE};
}

// ---- leaves of results ------------------------------------------------------------------------

static const struct fault *early_fault(const struct context *c, unsigned i) {
    const struct proof *p = c->proof;
    const struct judgement *value = &c->operands[i];
    return fault_make(c->proof, E416, c->op->span, NULL,
                      "`%s` reads `%s`, which is %s here: %s come first", c->row->text,
                      operand_name(c, i), leaves_text(p->world, value->leaves),
                      leaves_next_text(p->world, leaves_get(p->world, value->leaves)));
}

static const struct fault *late_fault(const struct context *c, unsigned i) {
    return fault_make(c->proof, E416, c->op->span, NULL,
                      "`%s` reads `%s`, which is %s here: it works on what one microbatch gives, "
                      "before any are summed",
                      c->row->text, operand_name(c, i),
                      leaves_text(c->proof->world, c->operands[i].leaves));
}

// Each of two sums over microbatches has its own two summands added first, then the microbatches.
static void add_leaves(struct context *c, struct judgement *made) {
    const struct judgement *a = &c->operands[0], *b = &c->operands[1];
    struct proof *p = c->proof;
    const struct world *w = p->world;
    int only = only_summand(c);
    if (only < 0 && (leaves_is_part(w, a->leaves) || leaves_is_part(w, b->leaves))) {
        c->fault = early_fault(c, leaves_is_part(w, a->leaves) ? 0 : 1);
    } else if (only >= 0 || (leaves_is_leaf(w, a->leaves) && a->leaves == b->leaves &&
                             a->microbatch == b->microbatch)) {
        made->leaves = c->operands[only < 0 ? 0 : only].leaves;
        made->microbatch = c->operands[only < 0 ? 0 : only].microbatch;
    } else if ((a->leaves && b->leaves) || leaves_is_incomplete(w, a->leaves) ||
               leaves_is_incomplete(w, b->leaves)) {
        unsigned i = a->leaves ? 0 : 1;
        c->fault =
            fault_make(p, E416, c->op->span, NULL,
                       "`%s` adds `%s` to `%s`, of which one is %s: only what one microbatch "
                       "gives is added before microbatches are summed, and then by the tree",
                       c->row->text, operand_name(c, 1), operand_name(c, 0),
                       leaves_text(w, c->operands[i].leaves));
    }
}

// Whether the op works on what one microbatch gives, or on the sum, must be the same of it in every
// program. What is linear in a tensor works on what one gives; but factors, as those by which
// gradients are clipped, are of the sum.
static bool works_by_leaf(const struct context *c, unsigned i) {
    return op_is_linear(c->op->kind, i) && c->labels.operands[i][0] && !op_has(c->op->kind, SCALES);
}

// Scalars are read when all are summed.
static void read_leaves(struct context *c, unsigned i, struct judgement *made) {
    const struct judgement *value = &c->operands[i];
    const struct leaves *leaves = leaves_get(c->proof->world, value->leaves);
    bool by_leaf = works_by_leaf(c, i) && !leaves_lack_parts(c->proof->world, leaves);
    if (by_leaf && leaves->summed == 1 && !made->leaves) {
        made->leaves = value->leaves;
        made->microbatch = value->microbatch;
    } else if (by_leaf) {
        c->fault = late_fault(c, i);
    } else if (leaves_is_incomplete(c->proof->world, value->leaves)) {
        c->fault = early_fault(c, i);
    }
}

void ordered_leaves(struct context *c, unsigned result, struct judgement *made) {
    if (op_has(c->op->kind, IS_JOINT_SUM)) {
        add_leaves(c, made);
        return;
    }
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++)
        if (op_reads(c->op->kind, result, i) && c->operands[i].leaves)
            read_leaves(c, i, made);
    struct contraction sum = {made->leaves ? *leaves_get(c->proof->world, made->leaves)
                                           : leaves_none(),
                              made->microbatch, false};
    contract(c, result, &sum);
    made->leaves = leaves_intern(c->proof->world, &sum.leaves);
    made->microbatch = sum.microbatch;
}
