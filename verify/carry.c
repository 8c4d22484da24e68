// `carry`: the digits of a binary counter of sums. Which of the two it is given it passes on, or
// whether it adds them, depends on the microbatch's number. So it has a meaning where that is
// known, and loops over microbatches have no invariant: their iterations are executed one by one.
#include <string.h>

#include "verify/engine.h"

// The number that the host gave; -1: it is not one.
static int64_t number_given(struct engine *e, const struct judgement *value) {
    bool given = store_is_host(e, value->value.of, HOST_MICROBATCH) &&
                 value->value.scale == SCALE_ONE && !number_is_symbolic(value->value.of.at);
    return given ? value->value.of.at : -1;
}

// kept + sum, as the op that accumulates would have it.
static struct judgement sum_of(struct engine *e, const struct unit *unit, const struct op *carry,
                               const struct judgement *kept, const struct judgement *sum) {
    struct judgement both[] = {*kept, *sum}, made = *sum;
    if (e->terms->ordered && !kept->fault && !sum->fault) {
        const struct fault *fault = ordered_join(e, kept, &made, carry->span);
        return fault ? judgement_fault(fault) : made;
    }
    struct op op = *carry;
    op.kind = OP_ACCUMULATE;
    op.n_operands = 2;
    op.n_results = 1;
    op.results[0] = carry->results[1];
    rule_apply(e, unit, &op, both, &made);
    return made;
}

bool carry_apply(struct engine *e, const struct unit *unit, const struct op *op,
                 const struct judgement *operands, struct judgement *results) {
    if (op->kind != OP_CARRY)
        return false;
    const struct judgement *kept = &operands[0], *sum = &operands[1], *number = &operands[2];
    e->terms->fixed = true; // it holds for this microbatch
    results[0] = *kept;
    results[1] = *sum;
    int64_t j = number->fault ? -1 : number_given(e, number);
    int64_t level = op_integer(op, ATTRIBUTE_LEVEL, 0), below = (INT64_C(1) << level) - 1;
    if (j < 0) {
        const struct fault *fault = fault_first(sum->fault, number->fault);
        results[0] = results[1] = judgement_fault(
            fault ? fault
                  : fault_make(e, E490, op->span, NULL,
                               "`carry` needs the number of the microbatch, as the host gives it "
                               "(`host %s`)",
                               host_role_names[HOST_MICROBATCH]));
    } else if ((j & below) == below && j >> level & 1) {
        results[1] = sum_of(e, unit, op, kept, sum);
    } else if ((j & below) == below) {
        results[0] = *sum;
    }
    return true;
}
