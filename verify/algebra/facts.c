// What ops are to the algebra of values: facts that follow from an op's row (ops.def), or stand in
// a table of their own here. See facts.h.
#include "verify/algebra/facts.h"

#include <string.h>

bool op_reads(enum op_kind kind, unsigned result, unsigned operand) {
    static const char *const operands[N_OPS][MAX_RESULTS] = {
#define READS(op, result, operands) [OP_##op][result] = operands,
#include "verify/algebra/reads.def"
#undef READS
    };
    const char *read = operands[kind][result];
    return !read || strchr(read, (char)('0' + operand));
}

bool op_is_sum(enum op_kind kind) {
    return strchr(op_rows[kind].linear, '+') != NULL;
}

bool op_is_linear(enum op_kind kind, unsigned operand) {
    return strchr(op_rows[kind].linear, (char)('0' + operand)) != NULL;
}
