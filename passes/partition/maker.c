// Partition, inside units: the unit being made; see unit.h.
#include "passes/partition/unit.h"

value_id add_op(struct maker *m, enum op_kind kind, const char *name, const value_id *operands,
                uint32_t n, struct span span) {
    struct op *op = unit_add_op(m->draft->program->arena, m->to, kind, name, operands, n, span);
    return op->results[0];
}

struct op *last_op(struct maker *m) {
    return &m->to->ops[m->to->n_ops - 1];
}

// Most values have one form, of 150 bytes.
void add_form(struct maker *m, value_id v, struct form form) {
    struct forms *forms = &m->forms[v];
    if (forms->cap == 0) {
        forms->items = ARENA_NEW(m->scratch, struct form);
        forms->cap = 1;
    }
    ARENA_PUSH(m->scratch, forms->items, forms->n, forms->cap, form);
}
