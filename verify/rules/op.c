// What an op of a unit makes, whichever it is: the digits of a counter of sums are carried on,
// which takes the rule of the op that adds; all else is a matter of the rule itself.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

void op_apply(struct engine *e, const struct unit *unit, const struct op *op,
              const struct judgement *operands, struct judgement *results) {
    if (!carry_apply(e, unit, op, operands, results)) // one of its operands may be nothing yet
        rule_apply(e, unit, op, operands, results);
}
