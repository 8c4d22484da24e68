// `carry` and `accumulate_pair`: the digits of a binary counter of sums. Which of the two it is
// given such an op passes on, or whether it adds them, depends on the microbatch's number. So it
// has a meaning where that is known, and loops over microbatches have no invariant: their
// iterations are executed one by one.
#include <string.h>

#include "verify/rules/rule.h"

// The number that the host gave; -1: it is not one.
static int64_t number_given(struct world *w, const struct judgement *value) {
    bool given = is_given_by_host(w->terms, value->value.of, HOST_MICROBATCH) &&
                 value->value.scale == SCALE_ONE && !number_is_symbolic(value->value.of.at);
    return given ? value->value.of.at : -1;
}

static enum dtype total_type(const struct unit *unit, const struct op *op) {
    return unit->values[op->results[op->n_results - 1]].type.dtype;
}

// kept + sum, as the op that accumulates would have it.
static struct judgement sum_of(struct proof *p, struct builder *builder, const struct unit *unit,
                               const struct op *op, const struct judgement *kept,
                               const struct judgement *sum) {
    struct judgement both[] = {*kept, *sum}, made = *sum;
    if (p->ordered && !kept->fault && !sum->fault) {
        const struct fault *fault = ordered_join(p, op_rows[op->kind].text, kept, &made, op->span);
        if (fault)
            return judgement_fault(fault);
        made.width = made.fills = width_of(op_computes_in(unit, op));
        return precision_passed(p, builder, op, total_type(unit, op), &made);
    }
    struct op adds = *op;
    adds.kind = OP_ACCUMULATE;
    adds.n_operands = 2;
    adds.n_results = 1;
    adds.results[0] = op->results[op->n_results - 1];
    rule_apply(p, builder, unit, &adds, both, &made);
    return made;
}

static void carry(struct proof *p, struct builder *builder, const struct unit *unit,
                  const struct op *op, int64_t j, const struct judgement *operands,
                  struct judgement *results) {
    int64_t level = op_integer(op, ATTRIBUTE_LEVEL, 0), below = (INT64_C(1) << level) - 1;
    results[0] = operands[0];
    results[1] = operands[1];
    if ((j & below) == below && j >> level & 1)
        results[1] = sum_of(p, builder, unit, op, &operands[0], &operands[1]);
    else if ((j & below) == below)
        results[0] = operands[1];
}

bool carry_apply(struct proof *p, struct builder *builder, const struct unit *unit,
                 const struct op *op, const struct judgement *operands, struct judgement *results) {
    if (op->kind != OP_CARRY && op->kind != OP_ACCUMULATE_PAIR)
        return false;
    const struct judgement *added = &operands[1], *number = &operands[2];
    int64_t j = number->fault ? -1 : number_given(p->world, number);
    if (j < 0) {
        const struct fault *fault = fault_first(added->fault, number->fault);
        if (!fault)
            fault = fault_make(p, E490, op->span, NULL,
                               "`%s` needs the number of the microbatch, as the host gives it "
                               "(`host %s`)",
                               op_rows[op->kind].text, host_role_names[HOST_MICROBATCH]);
        for (unsigned i = 0; i < op->n_results; i++)
            results[i] = judgement_fault(fault);
    } else if (op->kind == OP_CARRY) {
        carry(p, builder, unit, op, j, operands, results);
    } else {
        results[0] = j % 2 ? sum_of(p, builder, unit, op, &operands[0], added)
                           : precision_passed(p, builder, op, total_type(unit, op), added);
    }
    return true;
}
