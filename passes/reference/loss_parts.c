// Loss parts: cross_entropy in a form that does not need the vocabulary whole. It becomes what it
// is made of: the greatest logit of every row, the sum of exponentials shifted by it, the target's
// logit. Each is a maximum or a sum over the vocabulary, so rows' statistics cross the wire, and
// logits never do.
#include "passes/reference/loss_parts.h"

#include <string.h>

struct rewriter {
    struct program *program;
    struct unit *unit; // a copy, whose ops are written anew
    const struct op *op;
};

// A statistic of every row: like the log of the sum of exponentials, which the op itself makes.
static value_id add_statistic(struct rewriter *w, const char *name) {
    const char *loss = w->unit->values[w->op->results[0]].name, *dot = strrchr(loss, '.');
    int length = (int)(dot ? (size_t)(dot - loss) : strlen(loss));
    struct value value = {.name = arena_format(w->program->arena, "%.*s.%s", length, loss, name),
                          .type = w->unit->values[w->op->results[1]].type,
                          .base = NO_ID};
    return unit_add_value(w->program->arena, w->unit, value);
}

static value_id add_part(struct rewriter *w, enum op_kind kind, value_id a, value_id b, value_id c,
                         value_id result) {
    struct op op = {.kind = kind,
                    .n_operands = (uint8_t)op_operand_count(kind),
                    .operands = {a, b, c},
                    .n_results = 1,
                    .results = {result},
                    .n_roles = w->op->n_roles,
                    .span = w->op->span};
    memcpy(op.roles, w->op->roles, sizeof op.roles);
    ARENA_PUSH(w->program->arena, w->unit->ops, w->unit->n_ops, w->unit->cap_ops, op);
    return result;
}

static void add_loss(struct rewriter *w) {
    value_id logits = w->op->operands[0], targets = w->op->operands[1], rows = w->op->operands[2];
    value_id max = add_part(w, OP_ROW_MAX, logits, 0, 0, add_statistic(w, "max"));
    value_id sum = add_part(w, OP_SUM_EXP, logits, max, 0, add_statistic(w, "sum"));
    value_id lse = add_part(w, OP_LOG_SHIFT, sum, max, 0, w->op->results[1]);
    value_id picked = add_part(w, OP_PICK, logits, targets, rows, add_statistic(w, "picked"));
    add_part(w, OP_TOKEN_LOSS, lse, picked, targets, w->op->results[0]);
}

const struct unit *unit_by_loss_parts(struct program *program, const struct unit *from,
                                      loss_chooser chooses, const void *chooser) {
    bool any = false;
    for (uint32_t i = 0; i < from->n_ops; i++)
        any |= from->ops[i].kind == OP_CROSS_ENTROPY && chooses(chooser, from, &from->ops[i]);
    if (!any)
        return from;
    struct unit *unit = arena_copy(program->arena, from, sizeof *from);
    unit->values = arena_copy(program->arena, from->values, from->n_values * sizeof *from->values);
    unit->cap_values = unit->n_values;
    unit->ops = NULL;
    unit->n_ops = unit->cap_ops = 0;
    for (uint32_t i = 0; i < from->n_ops; i++) {
        struct rewriter w = {program, unit, &from->ops[i]};
        if (w.op->kind == OP_CROSS_ENTROPY && chooses(chooser, from, w.op))
            add_loss(&w);
        else
            ARENA_PUSH(program->arena, unit->ops, unit->n_ops, unit->cap_ops, *w.op);
    }
    return unit;
}
