// What ops are to the algebra of values: facts that follow from an op's row (ops.def), or stand in
// tables of their own here. See facts.h.
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

// ---- facts.def --------------------------------------------------------------------------------

struct facts {
    unsigned facts;
    const char *silent, *blocked, *needed; // NULL: ""
};

static const struct facts facts[N_OPS + 1] = {
#define FACTS(op, ...) [OP_##op] = {__VA_ARGS__},
#include "verify/algebra/facts.def"
#undef FACTS
};

static bool has(const char *list, char one) {
    return list && strchr(list, one);
}

bool op_has(enum op_kind kind, enum op_fact fact) {
    return facts[kind].facts & fact;
}

bool op_is_silent(enum op_kind kind, unsigned operand) {
    return op_is_linear(kind, operand) || has(facts[kind].silent, (char)('0' + operand));
}

bool op_goes_in_blocks(enum op_kind kind, char label) {
    return has(facts[kind].blocked, '*') || has(facts[kind].blocked, label);
}

bool op_has_blocks(enum op_kind kind, char label) {
    const char *blocked = facts[kind].blocked;
    return !blocked || !*blocked || op_goes_in_blocks(kind, label);
}

bool op_needs_all(enum op_kind kind, char label) {
    return has(facts[kind].needed, label);
}
