// The order of sums, for programs that are reproducible: the same bits on every mesh.
//
// Such a program is judged as any other first. Then the same engine runs over terms of another kind
// (terms.ordered), and this only adds refusals: every op makes a node of its own, of its operands
// as they stand, so that nothing commutes, no scale is pulled out, and equal terms are equal bits.
// Ops see the same shapes on every mesh, as only the batch and flat shards are cut, and only
// collectives over flat shards move anything. What remains are the sums whose operands are in no
// text:
//
//   microbatches  Those of all devices are numbered by the digits of the batch. What one gives is a
//                 leaf; it is made, and added to others' of the same microbatch, by the same ops on
//                 every mesh. Leaves are joined as a binary tree over their numbers: the least
//                 significant digit is summed first, an axis's by a collective (whose members are
//                 added as a tree), time's by `carry`.
//   squares       Sums of a tensor's squares are exact in bins, so that of a device's part is
//   whatever
//                 the part is, and collectives sum over the devices in any order.
//
// A judgement says which digits are still to be summed (struct leaves). What sums another one, or
// needs the sum before all are, is refused where it stands. A sum over all microbatches keeps its
// mark until an op reads it: two of them were to be added leaf by leaf.
#include <inttypes.h>
#include <string.h>

#include "verify/rule.h"

enum { TEXT_DEPTH = 2 };

// ---- leaves -----------------------------------------------------------------------------------

// Not of LEAVES_NONE.
static const struct leaves *leaves_get(const struct engine *e, leaves_id id) {
    return interned(&e->leaves, id - 1);
}

static leaves_id leaves_intern(struct engine *e, const struct leaves *key) {
    if (key->exact && key->n == 0) // bins like any others
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

// Half of what is left of the next digit, or all of it, has been summed.
static void sum_digit(struct leaves *leaves, int64_t by) {
    struct digit *next = &leaves->left[leaves->n - 1];
    leaves->summed *= by;
    next->size /= by;
    if (next->size == 1) {
        memset(next, 0, sizeof *next);
        leaves->n--;
    }
}

// Where any digit may be the next, this one, if it is left.
static void choose_next(struct leaves *leaves, int32_t owner) {
    for (uint32_t i = 0; i + 1 < leaves->n && leaves->exact; i++)
        if (leaves->left[i].owner == owner) {
            struct digit chosen = leaves->left[i];
            memmove(&leaves->left[i], &leaves->left[i + 1],
                    (leaves->n - i - 1) * sizeof leaves->left[0]);
            leaves->left[leaves->n - 1] = chosen;
        }
}

// What one microbatch gives.
static bool is_leaf(const struct engine *e, const struct judgement *value) {
    const struct leaves *leaves = value->leaves ? leaves_get(e, value->leaves) : NULL;
    return leaves && leaves->summed == 1 && !leaves->exact;
}

static bool is_incomplete(const struct engine *e, const struct judgement *value) {
    return value->leaves != LEAVES_NONE && leaves_get(e, value->leaves)->n > 0;
}

bool leaves_of_time(const struct engine *e, const struct judgement *value) {
    const struct leaves *leaves = value->leaves ? leaves_get(e, value->leaves) : NULL;
    for (uint32_t i = 0; leaves && i < leaves->n; i++)
        if (leaves->left[i].owner == OWNER_TIME)
            return true;
    return false;
}

// "the microbatches of a device", "the devices of `dp`"
static const char *digit_text(const struct engine *e, const struct digit *digit) {
    if (digit->owner == OWNER_TIME)
        return "the microbatches of a device";
    return arena_format(e->arena, "the devices of `%s`",
                        e->program->mesh.axes[digit->owner - OWNER_AXIS].name);
}

// "the sum of 2 of 8 microbatches"
static const char *leaves_text(const struct engine *e, const struct judgement *value) {
    if (!value->leaves)
        return "no sum over microbatches";
    const struct leaves *leaves = leaves_get(e, value->leaves);
    int64_t all = leaves->summed;
    for (uint32_t i = 0; i < leaves->n; i++)
        all *= leaves->left[i].size;
    return arena_format(e->arena, "the sum of %" PRId64 " of %" PRId64 " %s", leaves->summed, all,
                        leaves->exact ? "parts" : "microbatches");
}

// ---- what is filled before the step -----------------------------------------------------------

static bool is_power_of_two(int64_t n) {
    return (n & (n - 1)) == 0;
}

static const struct fault *check_batch(struct engine *e, const struct buffer *buffer,
                                       const struct dim_info *dim) {
    int64_t microbatch = e->program->policy.microbatch, parts = dim->total / dim->local;
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
    if (dim->key->order.chunks)
        return fault_make(e, E416, buffer->span, NULL,
                          "`%s` is cut in zigzag, and what a microbatch is depends on the mesh",
                          buffer->name);
    return NULL;
}

const struct fault *ordered_check_filled(struct engine *e, const struct buffer *buffer,
                                         form_id form) {
    const struct form_key *key = form_get(&e->digits, form)->key;
    const struct fault *fault = NULL;
    if (!e->terms->ordered || e->is_reference || form_is_flat(&e->digits, form))
        return NULL;
    for (unsigned i = 0; i < key->rank && !fault; i++) {
        const struct dim_info *dim = dim_get(&e->digits, key->dims[i]);
        if (buffer->dims[i].dimension == DIM_BATCH)
            fault = check_batch(e, buffer, dim);
        else if (dim->owners)
            fault = fault_make(e, E416, buffer->span, NULL,
                               "`%s` is cut along `%s`, and ops on a part of it are other ops than "
                               "on the whole: the order of their sums depends on the mesh",
                               buffer->name, dimension_names[buffer->dims[i].dimension]);
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
                      digit_text(e, next_digit(leaves_get(e, value->leaves))));
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
    if (only >= 0 || (is_leaf(e, a) && a->leaves == b->leaves && a->microbatch == b->microbatch)) {
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

static void sum_batch(struct context *c, const struct dim_info *dim, struct judgement *made,
                      int32_t microbatch) {
    struct leaves leaves = no_leaves();
    for (uint32_t i = 0; i < dim->key->n_digits; i++)
        if (dim->key->digits[i].owner != OWNER_LOCAL)
            leaves.left[leaves.n++] = dim->key->digits[i];
    made->leaves = leaves_intern(c->engine, &leaves);
    made->microbatch = microbatch;
}

// Every device has the sum over its part of the first operand.
static void sum_parts(struct context *c, struct judgement *made) {
    struct engine *e = c->engine;
    uint32_t owners = form_get(&e->digits, c->operands[0].form)->owners;
    struct leaves leaves = no_leaves();
    leaves.exact = 1;
    for (unsigned axis = 0; axis < e->program->mesh.n_axes; axis++)
        if (owners >> axis & 1)
            leaves.left[leaves.n++] =
                (struct digit){e->program->mesh.axes[axis].size, OWNER_AXIS + (int32_t)axis, 0};
    made->leaves = leaves_intern(e, &leaves);
}

static void contract(struct context *c, unsigned result, struct judgement *made) {
    const struct dim_info *cut = NULL;
    int32_t microbatch = 0;
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++) {
        if (!op_reads(c->op->kind, result, i) || c->operands[i].form == FORM_ANY)
            continue;
        for (const char *label = c->labels.operands[i]; *label; label++) {
            const struct dim_info *dim =
                dim_get(&c->engine->digits, c->dims[(unsigned char)*label]);
            if (strchr(c->labels.results[result], *label) ||
                (!dim->owners && !dim->time && !dim->flat))
                continue;
            cut = dim;
            microbatch = c->operands[i].microbatch;
        }
    }
    if (c->op->kind == OP_SQUARE_BINS && !(cut && cut->time))
        sum_parts(c, made);
    else if (cut && cut->flat)
        c->fault = fault_make(c->engine, E416, c->op->span, NULL,
                              "`%s` sums over parts of a tensor, which differ from mesh to mesh",
                              c->row->text);
    else if (cut)
        sum_batch(c, cut, made, microbatch);
}

// What is linear in a tensor works on what one microbatch gives, and on scalars when all are
// summed.
static void read_leaves(struct context *c, unsigned i, struct judgement *made) {
    const struct judgement *value = &c->operands[i];
    const struct leaves *leaves = leaves_get(c->engine, value->leaves);
    bool by_leaf = op_is_linear(c->op->kind, i) && c->labels.operands[i][0] && !leaves->exact;
    if (by_leaf && leaves->summed == 1 && !made->leaves) {
        made->leaves = value->leaves;
        made->microbatch = value->microbatch;
    } else if (by_leaf) {
        c->fault = late_fault(c, i);
    } else if (leaves->n) {
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
    if (!c->fault && !made->leaves)
        contract(c, result, made);
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
    choose_next(&leaves, OWNER_AXIS + (int32_t)axis);
    const struct digit *next = next_digit(&leaves);
    if (next->owner != OWNER_AXIS + (int32_t)axis)
        return fault_make(e, E416, span, NULL,
                          "%s over `%s` sums in another order: what it is given is %s, and next "
                          "come %s",
                          what, name, leaves_text(e, value), digit_text(e, next));
    sum_digit(&leaves, next->size);
    value->leaves = leaves_intern(e, &leaves);
    return NULL;
}

const struct fault *ordered_sum_over(struct engine *e, const struct exchange *exchange,
                                     struct judgement *value, struct span span) {
    const struct fault *fault = NULL;
    if (!e->terms->ordered || term_kind(e->terms, value->value.of) == NODE_ZERO)
        return NULL;
    for (unsigned i = exchange->axes.n; i-- > 0 && !fault;)
        if (e->program->mesh.axes[exchange->axes.axes[i]].size > 1)
            fault =
                sum_axis(e, collective_names[exchange->kind], exchange->axes.axes[i], value, span);
    return fault;
}

static const struct fault *shape_fault(struct engine *e, const char *what, struct span span) {
    return fault_make(e, E416, span, NULL,
                      "%s along a dimension gives ops other shapes than on another mesh, and so "
                      "another order of sums",
                      what);
}

const struct fault *ordered_check_collective(struct engine *e, const struct exchange *exchange,
                                             struct span span) {
    if (!e->terms->ordered || exchange->kind == COLLECTIVE_ALL_REDUCE)
        return NULL;
    if (exchange->kind == COLLECTIVE_PERMUTE)
        return fault_make(e, E416, span, NULL,
                          "a permute makes the order of summands depend on the mesh");
    return exchange->dim < 0 ? NULL : shape_fault(e, collective_names[exchange->kind], span);
}

const struct fault *ordered_check_slice(struct engine *e, int dim, struct span span) {
    if (!e->terms->ordered || dim < 0)
        return NULL;
    return shape_fault(e, "a slice", span);
}

const struct fault *ordered_check_positions(struct engine *e, dim_id dim, struct span span) {
    if (!e->terms->ordered || !dim_get(&e->digits, dim)->owners)
        return NULL;
    return shape_fault(e, "an `iota` of the positions of a part", span);
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
    if (!next || next->owner != OWNER_TIME || !are_siblings(kept, sum, &leaves))
        return fault_make(e, E416, span, NULL,
                          "`carry` adds what are not the two halves of a block of microbatches: %s "
                          "to %s",
                          leaves_text(e, sum), leaves_text(e, kept));
    sum_digit(&leaves, 2);
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
