// Facts about ops. No pass reads them: the verifier shares no rule with those whose work it judges.
#ifndef PLACE_VERIFY_ALGEBRA_FACTS_H
#define PLACE_VERIFY_ALGEBRA_FACTS_H

#include "ir/ir.h"

// Does the result depend on the operand (reads.def)?
bool op_reads(enum op_kind, unsigned result, unsigned operand);

// What follows from the column `linear` of ops.def.
bool op_is_sum(enum op_kind);                      // the operands are its summands
bool op_is_linear(enum op_kind, unsigned operand); // in this one, the others given

// The columns of facts.def; an op that has no row there has none of this.
enum op_fact {
    IS_JOINT_SUM = 1 << 0,
    JOINS_PARTS = 1 << 1,
    COMMUTES = 1 << 2,
    KEEPS_ZEROS = 1 << 3,
    IS_EXACT = 1 << 4,
    LEAVES_PADDING = 1 << 5,
    HANDS_ON = 1 << 6,
    SCALES = 1 << 7,
    SELECTS = 1 << 8,
    AGREES = 1 << 9,
};
bool op_has(enum op_kind, enum op_fact); // N_OPS, which is no op, has none
// Whether zeros among the operand's elements add nothing to a result. The exponential of zero is
// one, and a target that is zero counts.
bool op_is_silent(enum op_kind, unsigned operand);
// Whether a part that a device has along the label is computed block by block only; whether there
// are blocks along it at all; whether the op needs all of it where sums do not commute.
bool op_goes_in_blocks(enum op_kind, char label);
bool op_has_blocks(enum op_kind, char label);
bool op_needs_all(enum op_kind, char label);

#endif
