// What a device computes of its part of a dimension, where training is reproducible (ordered.c):
//
//   kept        A dimension that the result has, too. Elements, rows and heads are computed each by
//               itself, whatever stands beside them. A product may add in another order for every
//               shape, and attention goes through the queries in tiles: these must be in blocks.
//   keys        Attention needs them whole: parts of them would be merged in the mesh's own order.
//   contracted  In blocks, which are joined as a tree, so that a device's are a node of it; other
//               devices' are digits that are still to be summed. Or exactly, in whatever order.
//               Over an axis that cuts the batch too, as a part of a state may lie, only exactly.
//   batch       What is worked on has one microbatch, whole.
//
// Blocks are what an op says of dimensions, so the labels of its signature tell all this.
#include <string.h>

#include "ir/check.h"
#include "verify/rules/rule.h"

static bool is_of_batch(const struct dim_info *dim) {
    return dim->key->of_batch;
}

static enum dimension dimension_of(const struct context *c, char label) {
    unsigned operand = c->first[(unsigned char)label];
    const char *labels = c->labels.operands[operand];
    const struct tensor_type *type = &c->unit->values[c->op->operands[operand]].type;
    return type->dims[strchr(labels, label) - labels].dimension;
}

// Length of the blocks in which the op works on it; 0: it has none.
static int64_t block_of(const struct context *c, char label) {
    return op_has_blocks(c->op->kind, label) ? op_block(c->op, dimension_of(c, label)) : 0;
}

static const struct fault *part_fault(const struct context *c, char label, const char *why) {
    return fault_make(c->proof, E416, c->op->span, NULL,
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
    if (!block_of(c, label))
        c->fault = part_fault(c, label, "not in blocks: the order of its sums depends on the mesh");
    else if (!is_one_run(dim->key))
        c->fault = part_fault(c, label, "which is no single run of the whole");
}

static void check_kept(struct context *c, char label, const struct dim_info *dim) {
    if (!dim->owners || is_of_batch(dim))
        return;
    if (op_goes_in_blocks(c->op->kind, label))
        check_blocks(c, label, dim);
}

static void check_keys(struct context *c, char label, const struct dim_info *dim) {
    if (op_needs_all(c->op->kind, label) && dim->owners)
        c->fault = part_fault(c, label, "of which every query looks at all");
}

static void add_digits(struct leaves *leaves, const struct dim_info *dim) {
    for (uint32_t i = 0; i < dim->key->n_digits; i++)
        if (dim->key->digits[i].owner != OWNER_LOCAL) {
            CHECK(leaves->n < MAX_DIGITS); // every axis, and time, is contracted once
            leaves->left[leaves->n++] = dim->key->digits[i];
        }
}

static const char *over_batch_text(const struct context *c, const struct dim_info *dim) {
    const struct world *w = c->proof->world;
    return arena_format(w->arena, "cut over %s, which cuts the batch, too: the sum is not exact",
                        mask_text(w, dim->owners & w->batch_axes));
}

static void contract_part(struct context *c, char label, const struct dim_info *dim,
                          struct contraction *sum) {
    if (dim->flat) {
        c->fault = fault_make(c->proof, E416, c->op->span, NULL,
                              "`%s` sums over parts of a tensor, which differ from mesh to mesh",
                              c->row->text);
    } else if (!is_of_batch(dim) && dim->owners & c->proof->world->batch_axes) {
        c->fault = part_fault(c, label, over_batch_text(c, dim));
    } else if (!is_of_batch(dim)) {
        check_blocks(c, label, dim);
        if (!c->fault && sum->several)
            c->fault = part_fault(c, label,
                                  "of which other devices' blocks come before those that this one "
                                  "has of the dimension in front");
    }
    if (!c->fault)
        add_digits(&sum->leaves, dim);
}

// Devices' microbatches are numbered by the axes that cut the batch, and what is made of more or less than one is
// added in another order.
static void check_microbatch(struct context *c, char label, const struct dim_info *dim) {
    const struct proof *p = c->proof;
    if (dim->local != p->program->job->policy.microbatch || dim->owners & ~p->world->batch_axes)
        c->fault = part_fault(c, label, "which is not one microbatch as a device is given it");
}

static void contract_label(struct context *c, char label, struct contraction *sum) {
    const struct dim_info *dim = dim_get(&c->proof->world->digits, c->dims[(unsigned char)label]);
    int64_t block = block_of(c, label);
    if (op_has(c->op->kind, IS_EXACT) && !is_of_batch(dim))
        sum->leaves.exact |= dim->owners;
    else if (c->row->combine != MONOID_MAX && (dim->owners || dim->time || dim->flat))
        contract_part(c, label, dim, sum);
    sum->several |= block && dim->local > block;
}

// Labels in the order of the operands; those of the batch first, as what blocks give is inside what
// a microbatch gives.
static void contract_labels(struct context *c, unsigned result, bool of_batch,
                            struct contraction *sum) {
    bool seen[N_LABELS] = {false};
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (!op_reads(c->op->kind, result, i) || c->operands[i].form == FORM_ANY)
            continue;
        for (const char *label = c->labels.operands[i]; *label && !c->fault; label++) {
            const struct dim_info *dim =
                dim_get(&c->proof->world->digits, c->dims[(unsigned char)*label]);
            if (seen[(unsigned char)*label] || is_of_batch(dim) != of_batch)
                continue;
            seen[(unsigned char)*label] = true;
            if (of_batch)
                check_microbatch(c, *label, dim);
            check_keys(c, *label, dim);
            if (c->fault)
                return;
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

void contract(struct context *c, unsigned result, struct contraction *sum) {
    contract_labels(c, result, true, sum);
    contract_labels(c, result, false, sum);
}
