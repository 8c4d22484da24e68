// What is between parts is between their steps. A unit that goes over their axes, or counts by them, is
// refused: parts call it where others are somewhere else.
#include "verify/obligations/obligations.h"

static bool names_parts(const struct abstract_machine *m, const struct op *op) {
    uint64_t parts = axis_list_mask(&m->program->part.axes);
    for (unsigned i = 0; i < op->n_attributes; i++)
        if (attribute_kinds[op->attributes[i].name] == KIND_AXES &&
            axis_list_mask(&op->attributes[i].axes) & parts)
            return true;
    return false;
}

static void check_unit(struct abstract_machine *m, const struct unit *unit) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (names_parts(m, &unit->ops[i]))
            fault_insist(m->proof,
                         fault_make(m->proof, E518, unit->ops[i].span, NULL,
                                    "`%s` goes over the axes of parts, which only a collective "
                                    "of their steps may",
                                    op_rows[unit->ops[i].kind].text));
}

static bool relaxes_parts(const struct program *program) {
    const struct policy *policy = &program->job->policy;
    return (axis_list_mask(&policy->islands) | axis_list_mask(&policy->wire_axes)) &
           axis_list_mask(&program->part.axes);
}

void units_check(struct check *c) {
    if (relaxes_parts(c->job->programs[0]))
        check_add_fault(c, fault_make(c->final->proof, E518, c->job->policy_span, NULL,
                                      "what is relaxed is relaxed over the axes of parts, too"));
    for (uint32_t i = 0; c->sides->n > 1 && check_look_at(c, i); i++) {
        const bool *called = program_called_units(c->final->program, c->final->world->arena);
        for (uint32_t unit = 0; unit < c->job->n_units; unit++)
            if (called[unit])
                check_unit(c->final, &c->job->units[unit]);
    }
}
