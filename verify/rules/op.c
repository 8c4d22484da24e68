// What an op of a unit makes, whichever it is: the digits of a counter of sums are carried on,
// which takes the rule of the op that adds; all else is a matter of the rule itself.
#include "verify/rules/rule.h"

void op_apply(struct proof *p, struct builder *builder, const struct unit *unit,
              const struct op *op, const struct judgement *operands, struct judgement *results) {
    // An op of a counter may be given what is nothing yet.
    if (!carry_apply(p, builder, unit, op, operands, results))
        rule_apply(p, builder, unit, op, operands, results);
}
