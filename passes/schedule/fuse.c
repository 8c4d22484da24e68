// fuse: which values need no memory.
//
// Input: a unit's ops in order. Output: values marked STORAGE_INLINE, which the backend computes
// inside the op that uses them: an elementwise op of which each element is read once, by another
// elementwise op or by several that take different parts; a gradient read once, by the op that adds
// it to a sum, which its kernel can do itself; and an iota that is only ever an index, of which a
// kernel wants to know no more than where it starts.
//
// Invariant for the passes behind: an inline value's operands are read where its user is, so they
// live that long (memory plan) and may not be overwritten before (verifier).
#include "passes/passes.h"

#include <string.h>

#include "ir/check.h"

struct uses {
    uint32_t *count; // of each value, as operand or result of the unit
    uint32_t *user;  // the op of the only use
    uint8_t *operand;
};

// A value that is used once can be computed at its use. Results of the unit count as used twice
// over: they need their bytes whoever else reads them.
static struct uses count_uses(struct arena *arena, const struct unit *unit) {
    struct uses uses = {ARENA_ARRAY(arena, uint32_t, unit->n_values + 1),
                        ARENA_ARRAY(arena, uint32_t, unit->n_values + 1),
                        ARENA_ARRAY(arena, uint8_t, unit->n_values + 1)};
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++) {
            value_id value = unit->ops[i].operands[k];
            uses.count[value]++;
            uses.user[value] = i;
            uses.operand[value] = (uint8_t)k;
        }
    for (uint32_t i = 0; i < unit->n_results; i++)
        uses.count[unit->results[i].value] += 2; // a result needs its bytes
    return uses;
}

// Does the user read each element at most once? Not where it is broadcast.
static bool read_element_by_element(const struct unit *unit, const struct op *user,
                                    unsigned operand) {
    if (op_moves_elements(user->kind))
        return operand == 0;
    return type_elements(&unit->values[user->operands[operand]].type) ==
           type_elements(&unit->values[user->results[0]].type);
}

// Between the op and its user, does another op overwrite what the op reads? Only results that take
// a parameter's place can, before the memory plan; the plan itself keeps inline operands alive.
static bool operands_stay(const struct unit *unit, uint32_t from, uint32_t to) {
    const struct op *op = &unit->ops[from];
    for (uint32_t i = 0; i < unit->n_results; i++) {
        uint32_t parameter = unit->results[i].in_parameter;
        bool read = false;
        for (unsigned k = 0; k < op->n_operands; k++)
            read |= op->operands[k] == parameter;
        for (uint32_t at = from + 1; read && at < to; at++)
            for (unsigned k = 0; k < unit->ops[at].n_results; k++)
                if (unit->ops[at].results[k] == unit->results[i].value)
                    return false;
    }
    return true;
}

// Do all users together read each element at most once, as those do that take different parts?
static bool taken_apart(const struct unit *unit, const struct uses *uses, value_id value) {
    int64_t left = type_elements(&unit->values[value].type);
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_ops && left >= 0; i++) {
        const struct op *user = &unit->ops[i];
        if (!op_moves_elements(user->kind) || user->operands[0] != value)
            continue;
        left -= type_elements(&unit->values[user->results[0]].type);
        n++;
    }
    return left >= 0 && n == uses->count[value];
}

// Does every user read it in a loop that may as well read what it is taken from, where that is in
// memory anyway?
static bool only_a_view(const struct unit *unit, const struct uses *uses, const struct op *op) {
    value_id value = op->results[0];
    const struct value *from = &unit->values[op->operands[0]];
    if (!op_moves_elements(op->kind) || from->storage == STORAGE_INLINE ||
        type_elements(&from->type) < type_elements(&unit->values[value].type))
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            n += unit->ops[i].operands[k] == value &&
                 op_rows[unit->ops[i].kind].kernel == KERNEL_ELEMENTWISE &&
                 read_element_by_element(unit, &unit->ops[i], k);
    return n == uses->count[value];
}

static const struct op *producer_of(const struct unit *unit, value_id value) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (unit->ops[i].results[k] == value)
                return &unit->ops[i];
    return NULL;
}

// Such a sum is written where its kernel's op stands, so it has a place.
static bool is_added_by_kernel(const struct unit *unit, const struct op *op) {
    const struct op *from = op_adds_term(op->kind) ? producer_of(unit, op->operands[1]) : NULL;
    return from && unit->values[op->operands[1]].storage == STORAGE_INLINE &&
           op_rows[from->kind].kernel != KERNEL_ELEMENTWISE;
}

static bool read_once(const struct unit *unit, const struct uses *uses, value_id value) {
    const struct op *user = &unit->ops[uses->user[value]];
    return uses->count[value] == 1 && op_rows[user->kind].kernel == KERNEL_ELEMENTWISE &&
           read_element_by_element(unit, user, uses->operand[value]);
}

// Computes the op in the loop of its only user, which reads it where it writes, or in several where
// that costs nothing.
static bool inline_elementwise(const struct unit *unit, const struct uses *uses, uint32_t at) {
    const struct op *op = &unit->ops[at];
    value_id value = op->results[0];
    if (op_rows[op->kind].kernel != KERNEL_ELEMENTWISE || uses->count[value] == 0 ||
        is_added_by_kernel(unit, op))
        return false;
    return (read_once(unit, uses, value) || taken_apart(unit, uses, value) ||
            only_a_view(unit, uses, op)) &&
           operands_stay(unit, at, uses->user[value]);
}

static bool takes_place_of(const struct unit *unit, value_id value, value_id parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].value == value && unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// Would a sum be the same without the rounding of its term to the type that it has in memory?
static bool added_as_computed(const struct unit *unit, value_id term, const struct op *sum) {
    enum dtype dtype = unit->values[term].type.dtype;
    return dtype == unit->values[sum->results[0]].type.dtype && !dtype_is_narrow(dtype);
}

// A product that is only added to a sum can be added by its kernel, without memory in between.
static bool inline_accumulated(const struct unit *unit, const struct uses *uses, uint32_t at,
                               unsigned result) {
    const struct op *op = &unit->ops[at];
    value_id value = op->results[result];
    if (!op_result_accumulates(op->kind, result) || uses->count[value] != 1)
        return false;
    const struct op *user = &unit->ops[uses->user[value]];
    // The kernel runs where its op stands, so the sum must be there by then, and its place nobody
    // else's until the sum is made: a parameter whose place it takes.
    return op_adds_term(user->kind) && uses->operand[value] == 1 &&
           added_as_computed(unit, value, user) && user->operands[0] < unit->n_parameters &&
           uses->count[user->operands[0]] == 1 &&
           takes_place_of(unit, user->results[0], user->operands[0]);
}

// A kernel adds to all the sums that it can add to, or to none.
static bool inline_accumulated_all(const struct unit *unit, const struct uses *uses, uint32_t at) {
    const struct op *op = &unit->ops[at];
    bool any = false;
    for (unsigned k = 0; k < op->n_results; k++) {
        if (!op_result_accumulates(op->kind, k) || uses->count[op->results[k]] == 0)
            continue;
        if (!inline_accumulated(unit, uses, at, k))
            return false;
        any = true;
    }
    return any;
}

static bool operand_is_index(const struct op *op, unsigned operand) {
    for (const char *at = op_rows[op->kind].index; *at; at++)
        if (at[1] == ':' && at[0] == (char)('0' + operand))
            return true;
    return false;
}

// Positions that are only counted along: whoever reads them is told where they begin. In zigzag
// they jump, and are read.
static bool inline_index(const struct unit *unit, const struct uses *uses, uint32_t at) {
    value_id value = unit->ops[at].results[0];
    if (unit->ops[at].kind != OP_IOTA || op_zigzag(&unit->ops[at]) >= 0)
        return false;
    uint32_t as_index = 0;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            as_index += unit->ops[i].operands[k] == value && operand_is_index(&unit->ops[i], k);
    return as_index == uses->count[value];
}

// Only marks: the ops stay where they are, and generated code follows the marks.
bool fuse(struct job *job, const struct pass_context *context) {
    for (uint32_t u = 0; u < job->n_units; u++) {
        struct unit *unit = &job->units[u];
        struct uses uses = count_uses(job->arena, unit);
        for (uint32_t i = 0; i < unit->n_ops; i++)
            for (unsigned k = 0; k < unit->ops[i].n_results; k++)
                if (inline_elementwise(unit, &uses, i) ||
                    (op_result_accumulates(unit->ops[i].kind, k) &&
                     inline_accumulated_all(unit, &uses, i)) ||
                    inline_index(unit, &uses, i))
                    unit->values[unit->ops[i].results[k]].storage = STORAGE_INLINE;
    }
    return true;
}
