// What all rules ask of the op that is applied: its operands' names, and what is known of them.
#include "verify/rules/rule.h"

const char *operand_name(const struct context *c, unsigned i) {
    return c->unit->values[c->op->operands[i]].name;
}

bool is_collected(const struct context *c, unsigned i) {
    return term_is_collected(c->builder->terms, c->operands[i].value.of);
}

bool is_zero(const struct context *c, unsigned i) {
    return term_kind(c->builder->terms, c->operands[i].value.of) == NODE_ZERO;
}

// The operands of a fault in a loop are those of the first of the iterations that are looked at.
const struct fault *with_reader(const struct context *c, struct fault *fault, unsigned i) {
    struct scaled *operands = ARENA_ARRAY(c->proof->world->arena, struct scaled, MAX_OPERANDS);
    for (unsigned k = 0; k < c->op->n_operands; k++)
        operands[k] = sum_first(c->builder, c->operands[k].value);
    fault->reader = c->op;
    fault->operands = operands;
    fault->share = i;
    return fault;
}
