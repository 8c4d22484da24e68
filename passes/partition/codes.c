// Partition, codes: gradients that travel compressed (`wire` in the language). Where a summand is
// to be summed over the axes of the wire, each device compresses what it has, with what the last
// step's code lacked; the codes of all are gathered, and each device decodes and adds them in the
// order of the group, so that all have the same bits:
//
//   call compress_U(g, residual) -> (code, residual)
//   start all_gather over dp { code -> codes }
//   call decompress_U(codes, g) -> (g)
//
// Nothing is reduced on the way, so that a device sends its code to all others: the bytes grow with
// their number, where those of an all_reduce hardly do.
#include "passes/partition/hops.h"

#include "ir/diagnostic.h"

// ---- units ------------------------------------------------------------------------------------

// Adds a unit with two operands for every gradient, by the parts of their names.
static struct unit *add_unit(struct draft *draft, const struct load *load,
                             const char *const parts[2], const struct reference *operands,
                             uint32_t *id) {
    *id = add_local_unit(draft, load_name(draft->plan, load, '_'), load->call->span);
    struct unit *unit = &draft->program->job->units[*id];
    unit->phase = PHASE_BACKWARD;
    for (uint32_t i = 0; i < 2 * load->n; i++) {
        const struct buffer *buffer = &draft->program->buffers[operands[i].buffer];
        const char *tensor = draft->program->job->tensors[buffer->tensor].name;
        unit_add_parameter(draft->program->arena, unit,
                           arena_format(draft->arena, "%s.%s", tensor, parts[i % 2]),
                           buffer_type(draft->program, buffer), false);
    }
    return unit;
}

static struct op *add_op(struct draft *draft, struct unit *unit, enum op_kind kind,
                         const char *suffix, const value_id *operands, struct reference place,
                         struct span span) {
    const struct plan *plan = draft->plan;
    const struct tensor *tensor =
        &draft->program->job->tensors[draft->program->buffers[place.buffer].tensor];
    struct op *op =
        unit_add_op(draft->program->arena, unit, kind,
                    arena_format(draft->arena, "%s.%s", tensor->name, suffix), operands, 2, span);
    op->n_roles = tensor->n_roles;
    for (unsigned i = 0; i < tensor->n_roles; i++)
        op->roles[i] = tensor->roles[i];
    op_set_word(draft->program->arena, op, ATTRIBUTE_WAY, wire_way_names[plan->placement.wire.way]);
    if (plan->placement.wire.way == WIRE_TOPK)
        op_set_integer(draft->program->arena, op, ATTRIBUTE_KEPT, plan->placement.wire.kept);
    const char *why;
    op_infer_types(draft->program->arena, unit, op, &why);
    return op;
}

// The two ends of the way: of every gradient itself and its residual is made a code and a new residual
// in its place; of the codes of all devices, and the gradient in whose place it is, their sum.
struct end {
    enum action action;
    const char *operands[2];
    enum op_kind op;
    const char *made;
    uint32_t places[2]; // of the results: the operand in whose place they are; NO_ID: none
    unsigned n_results;
};
static const struct end compressing = {
    ACTION_ENCODE, {"gradient", "residual"}, OP_COMPRESS, "sent", {NO_ID, 1}, 2};
static const struct end decompressing = {
    ACTION_DECODE, {"codes", "gradient"}, OP_DECOMPRESS, "total", {1}, 1};

// Ranges of layers share the unit, if they lie alike.
static uint32_t coding_unit(struct draft *draft, const struct load *load, const struct end *end,
                            const struct reference *operands) {
    const struct statement *call = load->call;
    uint32_t id = find_moving_unit(draft, call->call.unit, end->action, 0, operands, 2 * load->n);
    if (id != NO_ID)
        return id;
    struct unit *unit = add_unit(draft, load, end->operands, operands, &id);
    for (uint32_t i = 0; i < load->n; i++) {
        value_id pair[2] = {2 * i, 2 * i + 1};
        struct op *op = add_op(draft, unit, end->op, end->made, pair, operands[2 * i], call->span);
        for (unsigned k = 0; k < end->n_results; k++)
            unit_add_result(draft->program->arena, unit, op->results[k],
                            end->places[k] == NO_ID ? NO_ID : pair[end->places[k]]);
    }
    note_moving_unit(draft, call->call.unit, end->action, 0, operands, 2 * load->n, id);
    return id;
}

// ---- calls ------------------------------------------------------------------------------------

void emit_encode(struct draft *draft, struct cursor at, const struct load *load) {
    struct reference *operands = ARENA_ARRAY(draft->arena, struct reference, 2 * load->n);
    struct reference *results = ARENA_ARRAY(draft->arena, struct reference, 2 * load->n);
    for (uint32_t i = 0; i < load->n; i++) {
        const struct hop *hop = load->items[i].hop;
        operands[2 * i] = cargo_item(draft, at, load, i, hop->from);
        operands[2 * i + 1] = results[2 * i + 1] =
            cargo_item(draft, at, load, i, load->items[i].way->route.residual);
        results[2 * i] = cargo_item(draft, at, load, i, hop->to);
    }
    push_unit_call(draft, at, load->call->span, coding_unit(draft, load, &compressing, operands),
                   operands, results);
}

void emit_decode(struct draft *draft, struct cursor at, const struct load *load) {
    struct reference *operands = ARENA_ARRAY(draft->arena, struct reference, 2 * load->n);
    struct reference *results = ARENA_ARRAY(draft->arena, struct reference, load->n);
    for (uint32_t i = 0; i < load->n; i++) {
        operands[2 * i] = cargo_item(draft, at, load, i, load->items[i].hop->from);
        operands[2 * i + 1] = results[i] = cargo_item(draft, at, load, i, load->items[i].hop->to);
    }
    push_unit_call(draft, at, load->call->span, coding_unit(draft, load, &decompressing, operands),
                   operands, results);
}
