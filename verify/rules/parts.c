// What ops make of parts of contractions, and of which they make them; see coverage.c. An axis that
// owns digits of two labels leaves a device pairs of parts i and i: of the attention of its queries
// to its keys an o over those keys alone, of its backward half a dq over them and a dk over those
// queries. Sums join disjoint parts of one term, and attention_merge those of an attention.
#include "verify/rules/rule.h"

#include <string.h>

#include "verify/algebra/laws.h"

static const struct fault *pairs_fault(const struct context *c, uint32_t axes) {
    return fault_make(c->proof, E510, c->op->span, NULL,
                      "`%s` pairs parts of one dimension with parts of another over %s",
                      c->row->text, mask_text(c->proof->world, axes));
}

// Two labels on one axis: a device has pairs of parts i and i only. What is made of them may still
// be a part of a contraction (coverage_of_result); in einsum letters say nothing, so there it is
// not.
void pair_labels(struct context *c, unsigned axis, unsigned char label) {
    const struct digits *digits = &c->proof->world->digits;
    if (c->paired >> axis & 1 || c->op->kind == OP_EINSUM) {
        c->fault = pairs_fault(c, 1u << axis);
        return;
    }
    c->paired |= 1u << axis;
    c->pair[axis][0] = label;
    for (unsigned i = 0; i < c->n_bound && c->bound[i] != label; i++)
        if (dim_get(digits, c->dims[c->bound[i]])->owners >> axis & 1)
            c->pair[axis][1] = c->bound[i];
}

// The contracted one of two labels that an axis cuts. 0: the axis makes no part of a contraction.
static unsigned char contracted_of_pair(struct context *c, unsigned result, unsigned axis) {
    const unsigned char *pair = c->pair[axis];
    bool first = strchr(c->labels.results[result], pair[0]) != NULL;
    bool second = strchr(c->labels.results[result], pair[1]) != NULL;
    if (first == second) {
        c->fault = pairs_fault(c, 1u << axis);
        return 0;
    }
    return first ? pair[1] : pair[0];
}

// The contracted label that an axis owns digits of.
static unsigned char contracted_label(const struct context *c, unsigned result, unsigned axis) {
    for (unsigned i = 0; i < c->n_bound; i++)
        if (dim_get(&c->proof->world->digits, c->dims[c->bound[i]])->owners >> axis & 1 &&
            !strchr(c->labels.results[result], c->bound[i]))
            return c->bound[i];
    return 0;
}

// The result is of these parts of a contraction on a device, on one axis at most. An attention over
// a part of the keys is one even where the axis cuts nothing else: no collective merges them.
coverage_id coverage_of_result(struct context *c, unsigned result, uint32_t contracted) {
    coverage_id made = COVERAGE_COMPLETE;
    for (unsigned axis = 0; axis < c->proof->program->job->mesh.n_axes && !c->fault; axis++) {
        unsigned char label = 0;
        if (c->paired >> axis & 1)
            label = contracted_of_pair(c, result, axis);
        else if (c->row->combine == MONOID_ATTENTION && contracted >> axis & 1)
            label = contracted_label(c, result, axis);
        if (!label || c->fault)
            continue;
        if (made != COVERAGE_COMPLETE)
            c->fault = pairs_fault(c, 1u << axis | coverage_axes(c->proof->world, made));
        made = coverage_of(c->proof->world, c->row->combine, axis, label, c->dims[label]);
    }
    return made;
}

void check_complete(struct context *c, unsigned result) {
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++) {
        coverage_id coverage = c->operands[i].coverage;
        if (coverage == COVERAGE_COMPLETE || !op_reads(c->op->kind, result, i) ||
            op_has(c->op->kind, JOINS_PARTS))
            continue;
        struct fault *fault = fault_make(
            c->proof, E412, c->op->span, "here all is needed", "`%s` lacks %s where `%s` needs all",
            operand_name(c, i), coverage_missing_text(c->proof->world, coverage), c->row->text);
        c->fault = with_reader(c, fault, i);
    }
}

static const struct fault *strangers_fault(const struct context *c, unsigned a, unsigned b) {
    return fault_make(c->proof, E412, c->op->span, NULL,
                      "`%s` joins `%s` and `%s`, which are no parts of one %s: %s and %s",
                      c->row->text, operand_name(c, a), operand_name(c, b),
                      c->op->kind == OP_ATTENTION_MERGE ? "attention" : "sum",
                      term_text(c->proof->world, c->operands[a].value, 1),
                      term_text(c->proof->world, c->operands[b].value, 1));
}

// Operands a and b hold parts of the same: what both have, together.
static void join_two(struct context *c, enum monoid monoid, unsigned a, unsigned b,
                     struct judgement *made) {
    const struct judgement *left = &c->operands[a], *right = &c->operands[b];
    struct coverage_join join;
    if (!scaled_same(c->builder->terms, left->value, right->value) ||
        left->partial != right->partial ||
        !coverage_join(c->proof->world, monoid, left->coverage, right->coverage, &join)) {
        c->fault = strangers_fault(c, a, b);
        return;
    }
    if (join.twice >= 0)
        c->fault = fault_make(c->proof, E412, c->op->span, NULL,
                              "`%s` takes %s twice: both `%s` and `%s` have them", c->row->text,
                              coverage_part_text(c->proof->world, left->coverage, join.twice),
                              operand_name(c, a), operand_name(c, b));
    made->value = left->value;
    made->coverage = join.both;
}

// Both results of an attention over the same keys go together.
static void join_attention(struct context *c, unsigned result, struct judgement *made) {
    for (unsigned i = 0; i < 4 && result == 0; i += 2)
        if (c->operands[i].coverage != c->operands[i + 1].coverage ||
            !law_is_statistic(c->builder, c->operands[i].value, c->operands[i + 1].value)) {
            c->fault = strangers_fault(c, i, i + 1);
            return;
        }
    join_two(c, MONOID_ATTENTION, result, result + 2, made);
}

bool has_parts(const struct context *c, unsigned result) {
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (c->operands[i].coverage != COVERAGE_COMPLETE && op_reads(c->op->kind, result, i))
            return true;
    return false;
}

// A sum may begin with zeros.
static void join_sum(struct context *c, struct judgement *made) {
    if (!is_zero(c, 0) && !is_zero(c, 1)) {
        join_two(c, MONOID_SUM, 0, 1, made);
        return;
    }
    const struct judgement *only = &c->operands[is_zero(c, 0)];
    made->value = only->value;
    made->coverage = only->coverage;
}

void join_parts(struct context *c, unsigned result, struct judgement *made) {
    if (c->op->kind == OP_ATTENTION_MERGE)
        join_attention(c, result, made);
    else
        join_sum(c, made);
}
