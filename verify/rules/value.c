// The term of what an op makes of terms: sums in normal form (sum.c), products (product.c), scales
// pulled out of what is linear, the laws of single ops (laws.c); of anything else the op itself, on
// its operands, with its attributes.
#include "verify/rules/rule.h"

#include <string.h>

#include "verify/algebra/laws.h"

// Repeated along the leading dimensions of an operand. A term says how often, since a sum over
// these dimensions counts it.
static struct term repeated_term(struct context *c, struct term of, unsigned operand,
                                 size_t leading) {
    struct proof *p = c->proof;
    int64_t sizes[MAX_RANK];
    for (size_t i = 0; i < leading; i++) {
        dim_id dim = c->dims[(unsigned char)c->labels.operands[operand][i]];
        sizes[i] = dim == NO_DIM ? c->unit->values[c->op->operands[operand]].type.dims[i].size
                                 : dim_get(&p->world->digits, dim)->total;
    }
    uint32_t all =
        intern(&p->world->terms->attributes, sizes, (uint32_t)(leading * sizeof *sizes), NULL);
    struct part part = part_of(of);
    return term_make(c->builder, NODE_BROADCAST, 0, all, &part, 1);
}

static struct scaled sum_term(struct context *c) {
    struct proof *p = c->proof;
    struct sum sum = {0};
    uint32_t all = c->operands[0].partial | c->operands[1].partial;
    for (unsigned i = 0; i < 2; i++) {
        struct scaled value = c->operands[i].value;
        if (c->op->kind == OP_ADD_BIAS && i == 1 &&
            term_kind(p->world->terms, value.of) != NODE_ZERO)
            value.of = repeated_term(c, value.of, 0,
                                     strlen(c->labels.operands[0]) - strlen(c->labels.operands[1]));
        int64_t copies = 1; // every device adds its copy to its summand
        for (unsigned axis = 0; axis < p->program->job->mesh.n_axes; axis++)
            if ((all & ~c->operands[i].partial) >> axis & 1)
                copies *= p->program->job->mesh.axes[axis].size;
        sum_add(c->builder, &sum, value, scale_rational(p->world->terms, copies, 1));
    }
    return sum_finish(c->builder, &sum);
}

// An op that goes element by element sees one dimension of flat shards; their term has the whole's.
static struct op_labels labels_of_term(const struct context *c) {
    const struct digits *digits = &c->proof->world->digits;
    struct op_labels labels = c->labels;
    char *a = labels.operands[0], *b = labels.operands[1], *both = labels.results[0];
    if (!*both)
        return labels;
    const struct dim_info *dim = dim_get(digits, c->dims[(unsigned char)*both]);
    unsigned rank = dim->flat ? form_get(digits, dim->key->whole)->key->rank : 0;
    for (unsigned i = 0; dim->flat && i <= rank; i++)
        a[i] = b[i] = both[i] = (char)(i < rank ? 'a' + i : 0);
    return labels;
}

static bool goes_by_elements(const struct op_labels *labels) {
    return strcmp(labels->operands[0], labels->results[0]) == 0 &&
           strcmp(labels->operands[1], labels->results[0]) == 0;
}

static struct scaled product_term(struct context *c) {
    struct terms *terms = c->builder->terms;
    bool by_elements = goes_by_elements(&c->labels);
    struct op_labels labels = by_elements ? labels_of_term(c) : c->labels;
    struct scaled a = c->operands[0].value, b = c->operands[1].value;
    for (int i = 0; by_elements && i < 2; i++) {
        struct scaled one = i ? b : a, other = i ? a : b;
        if (term_kind(terms, one.of) == NODE_ONE)
            return (struct scaled){other.of, scale_product(terms, a.scale, b.scale)};
    }
    return law_product(c->builder, &labels, a, b);
}

static struct scaled moved_term(struct context *c) {
    struct term from = c->operands[1].value.of;
    struct term to = c->op->kind == OP_MOVE ? c->operands[2].value.of : from;
    int rank = (int)strlen(c->labels.operands[0]);
    return law_moved(c->builder, c->op, rank, c->operands[0].value, from, to);
}

static struct scaled scale_term(struct context *c) {
    struct terms *terms = c->builder->terms;
    struct scaled x = c->operands[0].value, factor = c->operands[1].value;
    scale_id scale = scale_product(terms, factor.scale, scale_of_term(terms, factor.of));
    return (struct scaled){x.of, scale_product(terms, x.scale, scale)};
}

static struct scaled quotient_term(struct context *c) {
    struct terms *terms = c->builder->terms;
    struct scaled x = c->operands[0].value;
    scale_id scale = scale_rational(terms, 1, op_integer(c->op, ATTRIBUTE_DIVISOR, 1));
    return (struct scaled){x.of, scale_product(terms, x.scale, scale)};
}

static struct scaled reciprocal_term(struct context *c) {
    struct terms *terms = c->builder->terms;
    struct scaled x = c->operands[0].value;
    scale_id scale = scale_product(terms, x.scale, scale_of_term(terms, x.of));
    return (struct scaled){term_constant(c->builder, NODE_ONE), scale_invert(terms, scale)};
}

static struct scaled general_term(struct context *c, unsigned result) {
    struct terms *terms = c->builder->terms;
    struct part parts[MAX_OPERANDS];
    uint32_t n = 0;
    scale_id scale = SCALE_ONE;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (!op_reads(c->op->kind, result, i))
            continue;
        struct scaled value = c->operands[i].value;
        if (op_is_linear(c->op->kind, i)) {
            scale = scale_product(terms, scale, value.scale);
            parts[n++] = part_of(value.of);
        } else {
            parts[n++] = part_of(term_with_scale(c->builder, value));
        }
    }
    uint32_t attributes = attributes_of(c->builder->terms, c->op);
    return (struct scaled){term_make(c->builder, c->op->kind, result, attributes, parts, n), scale};
}

static struct scaled result_term(struct context *c, unsigned result) {
    switch (c->op->kind) {
    case OP_ADD:
    case OP_ADD_BIAS:
    case OP_ACCUMULATE:
        return sum_term(c);
    case OP_TAKE:
    case OP_PUT:
    case OP_MOVE:
        return moved_term(c);
    case OP_SCALE:
        return scale_term(c);
    case OP_DIVIDE:
        return quotient_term(c);
    case OP_RECIPROCAL:
        return reciprocal_term(c);
    case OP_LOG_SHIFT:
        return law_log_shift(c->builder, c->operands[0].value, c->operands[1].value);
    case OP_CROSS_ENTROPY:
        return result == 0 ? law_cross_entropy(c->builder, c->operands[0].value,
                                               c->operands[1].value.of, c->operands[2].value.of)
                           : general_term(c, result);
    default: // a product, if it is linear in each of two operands
        return strchr(c->row->linear, '*') ? product_term(c) : general_term(c, result);
    }
}

// f(sum over some microbatches of e) = sum over them of f(e), for f linear in operand i.
static struct scaled collected_term(struct context *c, unsigned result, unsigned i) {
    struct terms *terms = c->builder->terms;
    struct judgement operands[MAX_OPERANDS];
    const struct judgement *all = c->operands;
    struct sum parts = {0}, made = {0};
    memcpy(operands, all, c->op->n_operands * sizeof *operands);
    sum_add(c->builder, &parts, all[i].value, SCALE_ONE);
    c->operands = operands;
    for (uint32_t k = 0; k < parts.n; k++) {
        struct summand *part = &parts.items[k];
        if (number_before(&terms->symbols, part->at + 1, part->end)) { // over layers: kept whole
            made.n = 0;
            sum_add(c->builder, &made,
                    (struct scaled){term_fresh(c->builder, NODE_UNKNOWN), SCALE_ONE}, SCALE_ONE);
            break;
        }
        operands[i].value = (struct scaled){{part->node, part->at}, part->scale};
        sum_add_collected(c->builder, &made, result_term(c, result), part->m_begin, part->m_end);
    }
    c->operands = all;
    return sum_finish(c->builder, &made);
}

static struct scaled term_of_result(struct context *c, unsigned result) {
    if (!op_is_sum(c->op->kind) && c->op->kind != OP_SCALE)
        for (unsigned i = 0; i < c->op->n_operands; i++)
            if (op_reads(c->op->kind, result, i) && is_collected(c, i))
                return collected_term(c, result, i);
    return result_term(c, result);
}

// A norm without a limit scales nothing, whatever it is.
static bool is_one(const struct op *op) {
    return op->kind == OP_CLIP_FACTOR && !op_attribute(op, ATTRIBUTE_MAX_NORM);
}

// What is not linear in zeros makes something of them, and more of more.
struct scaled value_of_result(struct context *c, unsigned result) {
    if (is_one(c->op))
        return (struct scaled){term_constant(c->builder, NODE_ONE), SCALE_ONE};
    if (c->proof->ordered)
        return ordered_value(c, result);
    const struct judgement *given = c->operands;
    struct judgement counted[MAX_OPERANDS];
    memcpy(counted, given, c->op->n_operands * sizeof *counted);
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        size_t rank = strlen(c->labels.operands[i]);
        if (rank > 0 && is_zero(c, i) && !op_is_linear(c->op->kind, i))
            counted[i].value.of = repeated_term(c, given[i].value.of, i, rank);
    }
    c->operands = counted;
    struct scaled value = term_of_result(c, result);
    c->operands = given;
    return value;
}
