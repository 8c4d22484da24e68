// Calls that one device executes alone, the owner of what they name, and what others then have. Who is
// no owner has nothing of an item with owners, so no more is asked of its value than that the owner
// has it: it is judged as a copy on the owners' axes, of which there is one.
//
//   what has owners    is written by the owner, for itself
//   a sum              is added to by the owner, and by nobody else: it is a summand on the axes
//   anything else      would be new on the owner alone
//
// A sum that every device has begun to add up is a summand already, or zero; the owner's is read as
// it is, and whatever else is made of it than a sum is refused.
#include "verify/machine/owned.h"

#include "verify/rules/rules.h"

// That the value is the same on all devices along these axes, each of which has all of it: nothing is
// lost where one of them keeps it. NULL, or what is lost.
static const struct fault *alone_fault(struct abstract_machine *m, uint32_t axes, buffer_id to,
                                       const struct judgement *value, struct span span) {
    uint32_t summed = (value->partial | value->partial_max) & axes;
    uint32_t cut =
        value->form == FORM_ANY ? 0 : form_get(&m->world->digits, value->form)->owners & axes;
    cut |= coverage_axes(m->world, value->coverage) & axes;
    if (!summed && !cut)
        return NULL;
    return fault_make(
        m->proof, summed ? E410 : E510, span, NULL,
        "the owner of `%s` keeps what is %s of every device of %s, and the others' is "
        "lost",
        m->program->buffers[to].name, summed ? "a summand" : "a part",
        mask_text(m->world, summed ? summed : cut));
}

uint32_t owners_of(const struct abstract_machine *m, buffer_id id) {
    return (uint32_t)axis_list_mask(&m->program->buffers[id].layout.owners);
}

static bool is_read(const struct unit *unit, value_id value, const struct op *but) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            if (unit->ops[i].operands[k] == value && (&unit->ops[i] != but || k > 0))
                return true;
    return false;
}

// Whether the unit does nothing with this parameter but add to it, in its place.
static bool only_adds(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++) {
        value_id sum = unit->results[i].value;
        if (unit->results[i].in_parameter != parameter)
            continue;
        const struct op *op = NULL;
        while (sum >= unit->n_parameters) {
            if (is_read(unit, sum, op))
                return false;
            op = unit_producer(unit, sum);
            if (op->kind != OP_ACCUMULATE)
                return false;
            sum = op->operands[0];
        }
        return sum == parameter && !is_read(unit, sum, op);
    }
    return false;
}

static struct judgement new_alone(struct abstract_machine *m, const struct unit *unit,
                                  uint32_t axes, buffer_id to, struct span span) {
    return judgement_fault(fault_make(
        m->proof, E511, span, NULL,
        "`%s` is new on one device of %s alone, the owner of what else unit `%s` is given: nothing "
        "brings it to the others",
        m->program->buffers[to].name, mask_text(m->world, axes), unit->name));
}

static bool is_written(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

struct judgement owned_operand(struct abstract_machine *m, const struct call *call, uint32_t axes,
                               uint32_t parameter, struct judgement value, struct span span) {
    const struct unit *unit = &m->program->job->units[call->unit];
    buffer_id at = call->operands[parameter].buffer;
    if (value.fault || owners_of(m, at) || !is_written(unit, parameter))
        return value;
    bool zero = term_kind(m->world->terms, value.value.of) == NODE_ZERO;
    if (!only_adds(unit, parameter) || (!zero && (value.partial & axes) != axes))
        return new_alone(m, unit, axes, at, span);
    value.partial &= ~axes;
    value.bits |= axes;
    return value;
}

struct judgement owned_result(struct abstract_machine *m, const struct call *call, uint32_t axes,
                              uint32_t result, const struct judgement *before,
                              struct judgement value, struct span span) {
    const struct unit *unit = &m->program->job->units[call->unit];
    buffer_id to = call->results[result].buffer;
    uint32_t parameter = unit->results[result].in_parameter;
    const struct fault *lost = value.fault ? NULL : alone_fault(m, axes, to, &value, span);
    if (value.fault || owners_of(m, to))
        return lost ? judgement_fault(lost) : value;
    if (parameter == NO_ID || before[parameter].fault)
        return new_alone(m, unit, axes, to, span);
    if (lost)
        return judgement_fault(lost);
    value.partial |= axes;
    value.bits &= ~axes;
    return value;
}
