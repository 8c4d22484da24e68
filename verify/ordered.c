// The order of sums, for programs that are reproducible: the same bits on every mesh.
//
// Such a program is judged as any other first. Then the same engine runs over terms of another kind
// (terms.ordered), and this only adds refusals: every op makes a node of its own, of its operands
// as they stand, so that nothing commutes, no scale is pulled out, and equal terms are equal bits.
// Ops see the same shapes on every mesh, or parts of them that are computed as if each stood alone:
// elements of flat shards, and where axes of the model cut, elements, rows, heads and blocks. What
// is moved between devices is judged where it is read. What remains are the sums whose operands are
// in no text:
//
//   microbatches  Those of all devices are numbered by the digits of the batch. What one gives is a
//                 leaf; it is made, and added to others' of the same microbatch, by the same ops on
//                 every mesh. Leaves are joined as a binary tree over their numbers: the least
//                 significant digit is summed first, an axis's by a collective (whose members are
//                 added as a tree), time's by `carry`.
//   blocks        A dimension that axes of the model cut is contracted in blocks, of one length on
//                 every mesh, which are joined as such a tree inside the leaf. A device with whole
//                 blocks makes a node of it, and collectives sum the digits that say which one.
//   exact sums    Of squares in bins, and of the one row or column that an id selects, which some
//                 device has. They have no order, nor have maxima.
//
// A judgement says which digits are still to be summed (struct leaves). What sums another one, or
// needs the sum before all are, is refused where it stands. A sum over all microbatches keeps its
// mark until an op reads it: two of them were to be added leaf by leaf.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "verify/rule.h"

enum { TEXT_DEPTH = 2 };

// ---- leaves -----------------------------------------------------------------------------------

// Not of LEAVES_NONE.
static const struct leaves *leaves_get(const struct engine *e, leaves_id id) {
    return interned(&e->leaves, id - 1);
}

static leaves_id leaves_intern(struct engine *e, const struct leaves *key) {
    if (key->n == 0 && !key->exact && key->summed == 1) // a value like any other
        return LEAVES_NONE;
    return intern(&e->leaves, key, sizeof *key, NULL) + 1;
}

static struct leaves no_leaves(void) {
    struct leaves none;
    memset(&none, 0, sizeof none);
    none.summed = none.microbatches = 1;
    return none;
}

static const struct digit *next_digit(const struct leaves *leaves) {
    return leaves->n ? &leaves->left[leaves->n - 1] : NULL;
}

// Is the digit one of a dimension that axes of the model cut?
static bool is_of_blocks(const struct engine *e, const struct digit *digit) {
    return digit->owner != OWNER_TIME && !(e->batch_axes >> (digit->owner - OWNER_AXIS) & 1);
}

// What is not yet what one microbatch gives.
static bool lacks_parts(const struct engine *e, const struct leaves *leaves) {
    return leaves->exact || (leaves->n && is_of_blocks(e, next_digit(leaves)));
}

// Half of what is left of the next digit, or all of it, has been summed.
static void sum_digit(const struct engine *e, struct leaves *leaves, int64_t by) {
    struct digit *next = &leaves->left[leaves->n - 1];
    leaves->summed *= is_of_blocks(e, next) ? 1 : by;
    next->size /= by;
    if (next->size == 1) {
        memset(next, 0, sizeof *next);
        leaves->n--;
    }
}

static bool is_part(const struct engine *e, const struct judgement *value) {
    return value->leaves && lacks_parts(e, leaves_get(e, value->leaves));
}

// What one microbatch gives, if the value is no part.
static bool is_leaf(const struct engine *e, const struct judgement *value) {
    const struct leaves *leaves = value->leaves ? leaves_get(e, value->leaves) : NULL;
    return leaves && leaves->summed == 1;
}

static bool is_incomplete(const struct engine *e, const struct judgement *value) {
    const struct leaves *leaves = value->leaves ? leaves_get(e, value->leaves) : NULL;
    return leaves && (leaves->n > 0 || leaves->exact);
}

bool leaves_of_time(const struct engine *e, const struct judgement *value) {
    const struct leaves *leaves = value->leaves ? leaves_get(e, value->leaves) : NULL;
    for (uint32_t i = 0; leaves && i < leaves->n; i++)
        if (leaves->left[i].owner == OWNER_TIME)
            return true;
    return false;
}

// "the microbatches of a device", "the devices of `dp`", which are to be summed next
static const char *next_text(const struct engine *e, const struct leaves *leaves) {
    const struct digit *next = next_digit(leaves);
    uint32_t axes = leaves->exact;
    if (!axes && next->owner == OWNER_TIME)
        return "the microbatches of a device";
    return arena_format(e->arena, "the devices of %s",
                        mask_text(e, axes ? axes : 1u << (next->owner - OWNER_AXIS)));
}

// "the sum of 2 of 8 microbatches"
static const char *leaves_text(const struct engine *e, const struct judgement *value) {
    if (!value->leaves)
        return "no sum over microbatches";
    const struct leaves *leaves = leaves_get(e, value->leaves);
    int64_t all = leaves->summed;
    if (lacks_parts(e, leaves))
        return "a device's part of a sum";
    for (uint32_t i = 0; i < leaves->n; i++)
        all *= leaves->left[i].size;
    return arena_format(e->arena, "the sum of %" PRId64 " of %" PRId64 " microbatches",
                        leaves->summed, all);
}

// ---- what is filled before the step -----------------------------------------------------------

static bool is_power_of_two(int64_t n) {
    return (n & (n - 1)) == 0;
}

static const struct fault *check_batch(struct engine *e, const struct buffer *buffer,
                                       const struct dim_info *dim) {
    int64_t microbatch = e->program->policy.microbatch, parts = dim->total / dim->local;
    if (dim->key->order.chunks)
        return fault_make(e, E416, buffer->span, NULL,
                          "`%s` is cut in zigzag, and what a microbatch is depends on the mesh",
                          buffer->name);
    if (dim->local != microbatch)
        return fault_make(e, E416, buffer->span, NULL,
                          "of `%s` a device has %" PRId64 " of %" PRId64 " sequences at a time, "
                          "where a microbatch has %" PRId64 ": products of other shapes add in "
                          "another order",
                          buffer->name, dim->local, dim->total, microbatch);
    if (!is_power_of_two(parts))
        return fault_make(e, E416, buffer->span, NULL,
                          "`%s` is of %" PRId64 " microbatches, which are no power of two: their "
                          "sum is no complete binary tree",
                          buffer->name, parts);
    return NULL;
}

// A part that a device has, of what the host or the initialisation filled, or of positions: in the
// order of the whole, and not over an axis that has a part of the batch.
static const struct fault *check_part(struct engine *e, const char *what,
                                      const struct dim_info *dim, struct span span) {
    uint32_t both = dim->owners & e->batch_axes;
    if (dim->key->order.chunks)
        return fault_make(e, E416, span, NULL,
                          "%s is cut in zigzag: what is summed over it has the mesh's own order",
                          what);
    return both ? fault_make(e, E416, span, NULL,
                             "%s is cut over %s, which cuts the batch, too: sums over both depend "
                             "on the mesh",
                             what, mask_text(e, both))
                : NULL;
}

const struct fault *ordered_check_filled(struct engine *e, const struct buffer *buffer,
                                         form_id form) {
    if (!e->terms->ordered || e->is_reference)
        return NULL;
    if (form_is_flat(&e->digits, form))
        form = dim_get(&e->digits, form_get(&e->digits, form)->key->dims[0])->key->whole;
    const struct form_key *key = form_get(&e->digits, form)->key;
    const struct fault *fault = NULL;
    for (unsigned i = 0; i < key->rank && !fault; i++) {
        const struct dim_info *dim = dim_get(&e->digits, key->dims[i]);
        const char *dimension = dimension_names[buffer->dims[i].dimension];
        if (buffer->dims[i].dimension == DIM_BATCH)
            fault = check_batch(e, buffer, dim);
        else
            fault = check_part(e, arena_format(e->arena, "`%s` of `%s`", dimension, buffer->name),
                               dim, buffer->span);
    }
    return fault;
}

// ---- values -----------------------------------------------------------------------------------

static bool is_joint_sum(enum op_kind kind) {
    return kind == OP_ADD || kind == OP_ACCUMULATE;
}

static bool is_scalar(const struct context *c) {
    return c->unit->values[c->op->results[0]].type.rank == 0;
}

// Which operand the result of a sum of scalars is; -1: neither. Of tensors zeros are added, as what
// they make of minus zero is another.
static int only_summand(const struct context *c) {
    if (!is_joint_sum(c->op->kind) || !is_scalar(c))
        return -1;
    return is_zero(c, 0) ? 1 : is_zero(c, 1) ? 0 : -1;
}

// A kernel that adds to a tensor adds piece by piece of what it makes. Of the reference it is said
// where a kernel could.
static bool is_added_by_kernel(const struct context *c) {
    value_id term = c->op->operands[1];
    const struct op *made = NULL;
    unsigned n_uses = 0;
    for (uint32_t i = 0; i < c->unit->n_ops; i++) {
        const struct op *op = &c->unit->ops[i];
        for (unsigned k = 0; k < op->n_results; k++)
            made = op->results[k] == term ? op : made;
        for (unsigned k = 0; k < op->n_operands; k++)
            n_uses += op->operands[k] == term;
    }
    if (is_scalar(c) || !made || op_rows[made->kind].kernel == KERNEL_ELEMENTWISE)
        return false;
    return c->engine->is_reference ? n_uses == 1 : c->unit->values[term].storage == STORAGE_INLINE;
}

struct scaled ordered_value(struct context *c, unsigned result) {
    struct terms *terms = c->engine->terms;
    struct part parts[MAX_OPERANDS];
    uint32_t n = 0;
    int only = only_summand(c);
    if (only >= 0)
        return c->operands[only].value;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (op_reads(c->op->kind, result, i))
            parts[n++] = part_of(term_with_scale(terms, c->operands[i].value));
    enum op_kind kind = c->op->kind;
    if (kind == OP_ACCUMULATE && !is_added_by_kernel(c))
        kind = OP_ADD;
    if (kind == OP_ADD && parts[0].node > parts[1].node) { // a + b is b + a to the last bit
        struct part left = parts[0];
        parts[0] = parts[1];
        parts[1] = left;
    }
    struct term made = term_make(terms, kind, result, attributes_of(c->engine, c->op), parts, n);
    return (struct scaled){made, SCALE_ONE};
}

// ---- leaves of results ------------------------------------------------------------------------

static const struct fault *early_fault(const struct context *c, unsigned i) {
    const struct engine *e = c->engine;
    const struct judgement *value = &c->operands[i];
    return fault_make(c->engine, E416, c->op->span, NULL,
                      "`%s` reads `%s`, which is %s here: %s come first", c->row->text,
                      operand_name(c, i), leaves_text(e, value),
                      next_text(e, leaves_get(e, value->leaves)));
}

static const struct fault *late_fault(const struct context *c, unsigned i) {
    return fault_make(c->engine, E416, c->op->span, NULL,
                      "`%s` reads `%s`, which is %s here: it works on what one microbatch gives, "
                      "before any are summed",
                      c->row->text, operand_name(c, i), leaves_text(c->engine, &c->operands[i]));
}

// Of two sums over microbatches each one's two summands are added first, then the microbatches.
static void add_leaves(struct context *c, struct judgement *made) {
    const struct judgement *a = &c->operands[0], *b = &c->operands[1];
    struct engine *e = c->engine;
    int only = only_summand(c);
    if (only < 0 && (is_part(e, a) || is_part(e, b))) {
        c->fault = early_fault(c, is_part(e, a) ? 0 : 1);
    } else if (only >= 0 ||
               (is_leaf(e, a) && a->leaves == b->leaves && a->microbatch == b->microbatch)) {
        made->leaves = c->operands[only < 0 ? 0 : only].leaves;
        made->microbatch = c->operands[only < 0 ? 0 : only].microbatch;
    } else if ((a->leaves && b->leaves) || is_incomplete(e, a) || is_incomplete(e, b)) {
        unsigned i = a->leaves ? 0 : 1;
        c->fault = fault_make(
            e, E416, c->op->span, NULL,
            "`%s` adds `%s` to `%s`, of which one is %s: only what one microbatch "
            "gives is added before microbatches are summed, and then by the tree",
            c->row->text, operand_name(c, 1), operand_name(c, 0), leaves_text(e, &c->operands[i]));
    }
}

// Is what a device contracts exact, and what devices have together? Squares are, in bins, and sums
// of which at most one summand is not zero: the row, or the column, that an id selects.
static bool is_exact(enum op_kind kind) {
    return kind == OP_SQUARE_BINS || kind == OP_EMBEDDING || kind == OP_PICK;
}

static bool cuts_batch(const struct engine *e, const struct dim_info *dim) {
    return !dim->flat && (dim->time || dim->owners & e->batch_axes);
}

static enum dimension dimension_of(const struct context *c, char label) {
    unsigned operand = c->first[(unsigned char)label];
    const char *labels = c->labels.operands[operand];
    const struct tensor_type *type = &c->unit->values[c->op->operands[operand]].type;
    return type->dims[strchr(labels, label) - labels].dimension;
}

static const struct fault *part_fault(const struct context *c, char label, const char *why) {
    return fault_make(c->engine, E416, c->op->span, NULL,
                      "`%s` works on a part of `%s` along `%s`, %s", c->row->text,
                      operand_name(c, c->first[(unsigned char)label]),
                      dimension_names[dimension_of(c, label)], why);
}

// Has a device one run of the whole, in which blocks stand as there?
static bool is_one_run(const struct dim_key *key) {
    bool local = false;
    for (uint32_t i = 0; i < key->n_digits; i++) {
        if (local && key->digits[i].owner != OWNER_LOCAL)
            return false;
        local |= key->digits[i].owner == OWNER_LOCAL;
    }
    return true;
}

// A part that a device has of a dimension is computed block by block, as the whole is.
static void check_blocks(struct context *c, char label, const struct dim_info *dim) {
    if (!op_block(c->op, dimension_of(c, label)))
        c->fault = part_fault(c, label, "not in blocks: the order of its sums depends on the mesh");
    else if (!is_one_run(dim->key))
        c->fault = part_fault(c, label, "which is no single run of the whole");
}

// A dimension of the result that axes of the model cut. Elements, rows and heads are computed each
// by itself; products and attentions of a part are others than the whole's.
static void check_kept(struct context *c, char label, const struct dim_info *dim) {
    bool tiled = c->op->kind == OP_ATTENTION || c->op->kind == OP_ATTENTION_BACKWARD;
    if (!dim->owners || dim->flat || cuts_batch(c->engine, dim))
        return;
    if (c->op->kind == OP_EINSUM)
        check_blocks(c, label, dim);
    else if (tiled && (label == 's' || label == 't'))
        c->fault = part_fault(c, label, "in tiles of the part's own");
}

struct contraction {
    struct leaves leaves;
    int32_t microbatch;
    bool several; // blocks of a label that a device has: what is behind it must be whole
};

static void add_digits(struct leaves *leaves, const struct dim_info *dim) {
    for (uint32_t i = 0; i < dim->key->n_digits; i++)
        if (dim->key->digits[i].owner != OWNER_LOCAL) {
            CHECK(leaves->n < MAX_DIGITS); // every axis, and time, is contracted once
            leaves->left[leaves->n++] = dim->key->digits[i];
        }
}

static void contract_part(struct context *c, char label, const struct dim_info *dim,
                          struct contraction *sum) {
    if (dim->flat) {
        c->fault = fault_make(c->engine, E416, c->op->span, NULL,
                              "`%s` sums over parts of a tensor, which differ from mesh to mesh",
                              c->row->text);
    } else if (!cuts_batch(c->engine, dim)) {
        check_blocks(c, label, dim);
        if (!c->fault && sum->several)
            c->fault = part_fault(c, label,
                                  "of which other devices' blocks come before those that this one "
                                  "has of the dimension in front");
    }
    if (!c->fault)
        add_digits(&sum->leaves, dim);
}

static void contract_label(struct context *c, char label, struct contraction *sum) {
    const struct dim_info *dim = dim_get(&c->engine->digits, c->dims[(unsigned char)label]);
    int64_t block = op_block(c->op, dimension_of(c, label));
    if (is_exact(c->op->kind))
        sum->leaves.exact |= dim->owners;
    else if (c->row->combine != MONOID_MAX && (dim->owners || dim->time || dim->flat))
        contract_part(c, label, dim, sum);
    sum->several |= block && dim->local > block;
}

// Labels in the order of the operands; those of the batch first, as what blocks give is inside what
// a microbatch gives.
static void contract(struct context *c, unsigned result, bool of_batch, struct contraction *sum) {
    bool seen[N_LABELS] = {false};
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (!op_reads(c->op->kind, result, i) || c->operands[i].form == FORM_ANY)
            continue;
        for (const char *label = c->labels.operands[i]; *label && !c->fault; label++) {
            const struct dim_info *dim =
                dim_get(&c->engine->digits, c->dims[(unsigned char)*label]);
            if (seen[(unsigned char)*label] || cuts_batch(c->engine, dim) != of_batch)
                continue;
            seen[(unsigned char)*label] = true;
            if (of_batch && dim->owners & ~c->engine->batch_axes) {
                c->fault = part_fault(c, *label, "of which a microbatch is the least part");
                return;
            }
            if (strchr(c->labels.results[result], *label)) {
                check_kept(c, *label, dim);
                continue;
            }
            contract_label(c, *label, sum);
            if (dim->time)
                sum->microbatch = c->operands[i].microbatch;
        }
    }
}

// What is linear in a tensor works on what one microbatch gives, and on scalars when all are
// summed.
static void read_leaves(struct context *c, unsigned i, struct judgement *made) {
    const struct judgement *value = &c->operands[i];
    const struct leaves *leaves = leaves_get(c->engine, value->leaves);
    bool by_leaf =
        op_is_linear(c->op->kind, i) && c->labels.operands[i][0] && !lacks_parts(c->engine, leaves);
    if (by_leaf && leaves->summed == 1 && !made->leaves) {
        made->leaves = value->leaves;
        made->microbatch = value->microbatch;
    } else if (by_leaf) {
        c->fault = late_fault(c, i);
    } else if (is_incomplete(c->engine, value)) {
        c->fault = early_fault(c, i);
    }
}

void ordered_leaves(struct context *c, unsigned result, struct judgement *made) {
    if (is_joint_sum(c->op->kind)) {
        add_leaves(c, made);
        return;
    }
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++)
        if (op_reads(c->op->kind, result, i) && c->operands[i].leaves)
            read_leaves(c, i, made);
    struct contraction sum = {made->leaves ? *leaves_get(c->engine, made->leaves) : no_leaves(),
                              made->microbatch, false};
    contract(c, result, true, &sum);
    contract(c, result, false, &sum);
    made->leaves = leaves_intern(c->engine, &sum.leaves);
    made->microbatch = sum.microbatch;
}

// ---- collectives and carries ------------------------------------------------------------------

static const struct fault *sum_axis(struct engine *e, const char *what, unsigned axis,
                                    struct judgement *value, struct span span) {
    const char *name = e->program->mesh.axes[axis].name;
    if (!is_incomplete(e, value))
        return fault_make(e, E416, span, NULL,
                          "%s over `%s` adds what is no sum over microbatches, nor over parts of "
                          "a tensor: how many are added depends on the mesh",
                          what, name);
    struct leaves leaves = *leaves_get(e, value->leaves);
    const struct digit *next = next_digit(&leaves);
    if (leaves.exact ? !(leaves.exact >> axis & 1) : next->owner != OWNER_AXIS + (int32_t)axis)
        return fault_make(e, E416, span, NULL,
                          "%s over `%s` sums in another order: what it is given is %s, and next "
                          "come %s",
                          what, name, leaves_text(e, value), next_text(e, &leaves));
    if (leaves.exact)
        leaves.exact &= ~(1u << axis);
    else
        sum_digit(e, &leaves, next->size);
    value->leaves = leaves_intern(e, &leaves);
    return NULL;
}

const struct fault *ordered_sum_over(struct engine *e, const struct exchange *exchange,
                                     struct judgement *value, struct span span) {
    const struct fault *fault = NULL;
    if (!e->terms->ordered || term_kind(e->terms, value->value.of) == NODE_ZERO ||
        exchange->operation == OPERATION_MAX)
        return NULL;
    for (unsigned i = exchange->axes.n; i-- > 0 && !fault;)
        if (e->program->mesh.axes[exchange->axes.axes[i]].size > 1)
            fault =
                sum_axis(e, collective_names[exchange->kind], exchange->axes.axes[i], value, span);
    return fault;
}

// Along a dimension parts are given and taken as they are; what reads them is judged itself. Only
// microbatches have no parts.
static const struct fault *check_along(struct engine *e, const char *what,
                                       const struct axis_list *axes, struct span span) {
    uint32_t both = (uint32_t)axis_list_mask(axes) & e->batch_axes;
    return both ? fault_make(e, E416, span, NULL,
                             "%s along a dimension over %s, which cuts the batch, too: sums over "
                             "both depend on the mesh",
                             what, mask_text(e, both))
                : NULL;
}

const struct fault *ordered_check_collective(struct engine *e, const struct exchange *exchange,
                                             struct span span) {
    if (!e->terms->ordered || exchange->kind == COLLECTIVE_ALL_REDUCE)
        return NULL;
    if (exchange->kind == COLLECTIVE_PERMUTE)
        return fault_make(e, E416, span, NULL,
                          "a permute makes the order of summands depend on the mesh");
    return exchange->dim < 0
               ? NULL
               : check_along(e, collective_names[exchange->kind], &exchange->axes, span);
}

const struct fault *ordered_check_slice(struct engine *e, const struct axis_list *axes, int dim,
                                        struct span span) {
    return e->terms->ordered && dim >= 0 ? check_along(e, "a slice", axes, span) : NULL;
}

const struct fault *ordered_check_positions(struct engine *e, dim_id dim, struct span span) {
    return e->terms->ordered ? check_part(e, "what `iota` counts", dim_get(&e->digits, dim), span)
                             : NULL;
}

// Blocks of as many microbatches side by side. Where a tree is complete, and only then has it all
// digits of time, each begins at a multiple of its size, as the first one does.
static bool are_siblings(const struct judgement *left, const struct judgement *right,
                         const struct leaves *leaves) {
    int64_t n = leaves->microbatches;
    return term_equal(left->value.of, right->value.of) && left->leaves == right->leaves &&
           left->microbatch + n == right->microbatch;
}

const struct fault *ordered_join(struct engine *e, const struct judgement *kept,
                                 struct judgement *sum, struct span span) {
    struct leaves leaves = sum->leaves ? *leaves_get(e, sum->leaves) : no_leaves();
    const struct digit *next = next_digit(&leaves);
    if (leaves.exact || !next || next->owner != OWNER_TIME || !are_siblings(kept, sum, &leaves))
        return fault_make(e, E416, span, NULL,
                          "`carry` adds what are not the two halves of a block of microbatches: %s "
                          "to %s",
                          leaves_text(e, sum), leaves_text(e, kept));
    sum_digit(e, &leaves, 2);
    leaves.microbatches *= 2;
    sum->leaves = leaves_intern(e, &leaves);
    sum->microbatch = kept->microbatch;
    return NULL;
}

// ---- differences ------------------------------------------------------------------------------

// Of what the term is made of, in the order in which it was made, the first that the reference has
// not, made of what it has.
struct search {
    const struct engine *engine;
    bool *seen;
    struct term first;
};

static void search_term(struct search *search, struct term term) {
    const struct engine *e = search->engine;
    if (term.node < e->first_own_node || search->seen[term.node])
        return;
    search->seen[term.node] = true;
    bool known = true;
    for (uint32_t i = 0; i < term_node(e->terms, term)->n_parts; i++) {
        struct term part = term_part(e->terms, term, i).of;
        known = known && part.node < e->first_own_node;
        search_term(search, part);
    }
    if (known && term.node < search->first.node)
        search->first = term;
}

// What the reference makes by such an op of one of these operands; the term itself: nothing.
static struct term counterpart(const struct engine *e, struct term term) {
    const struct node *made = term_node(e->terms, term);
    for (uint32_t i = 0; i < e->first_own_node; i++) {
        const struct node *other = &e->terms->nodes[i];
        bool alike = other->key->kind == made->key->kind && other->n_parts == made->n_parts;
        for (uint32_t k = 0; alike && k < made->n_parts; k++)
            for (uint32_t p = 0; p < made->n_parts; p++)
                if (other->key->parts[k].node == made->key->parts[p].node)
                    return (struct term){i, term.at};
    }
    return term;
}

const struct fault *ordered_difference(struct engine *e, const struct expectation *expectation,
                                       const struct judgement *found) {
    if (scaled_equal(found->value, expectation->value))
        return NULL;
    struct search search = {e, ARENA_ARRAY(e->arena, bool, e->terms->n_nodes), {UINT32_MAX, 0}};
    memset(search.seen, 0, e->terms->n_nodes * sizeof *search.seen);
    search_term(&search, found->value.of);
    struct scaled made = {search.first, SCALE_ONE}, theirs = expectation->value;
    if (made.of.node == UINT32_MAX)
        made = found->value;
    else
        theirs.of = counterpart(e, made.of);
    bool own = made.of.node >= e->first_own_node;
    struct fault *fault =
        fault_make(e, E416, own ? *term_node(e->terms, made.of)->origin : expectation->span, NULL,
                   "this is %s, which one device does not compute", term_text(e, made, TEXT_DEPTH));
    fault->effect =
        arena_format(e->arena, "so the bits of %s depend on the mesh", expectation->what);
    if (!term_equal(theirs.of, made.of))
        fault->message =
            arena_format(e->arena, "this is %s, where one device has %s",
                         term_text(e, made, TEXT_DEPTH), term_text(e, theirs, TEXT_DEPTH));
    return fault;
}
