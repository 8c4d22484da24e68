// Facts about ops. No pass reads them: the verifier shares no rule with those whose work it judges.
#ifndef PLACE_VERIFY_ALGEBRA_FACTS_H
#define PLACE_VERIFY_ALGEBRA_FACTS_H

#include "ir/ir.h"

// Does the result depend on the operand (reads.def)?
bool op_reads(enum op_kind, unsigned result, unsigned operand);
bool op_is_sum(enum op_kind);                      // the operands are its summands
bool op_is_linear(enum op_kind, unsigned operand); // in this one, the others given

#endif
