// Partition, joins: units of the step that add what one microbatch gives to a sum, and that keep this
// device's part.
//
// Where training is `reproducible`, sums over microbatches are a binary tree: calls behind a
// microbatch take what it gives through a binary counter, buffers that keep the sums of 1, 2, 4 ...
// microbatches until as many more have been summed. After the last microbatch the tree's root is
// where the microbatch's own sum was. The counter's first level needs no buffer where a unit alone
// makes a microbatch's gradient: it adds every second one to that before. Where the axes of
// placement.inner are summed over first, and where several units add to a gradient, the microbatch
// is treated as if it were the only one: what they make overwrites the sum of the one before.
#include "passes/partition/hops.h"

static void add_parameters(struct draft *draft, struct unit *unit, const struct reference *operands,
                           uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct buffer *buffer = &draft->program->buffers[operands[i].buffer];
        unit_add_parameter(draft->program->arena, unit, buffer->name,
                           buffer_type(draft->program, buffer), false);
    }
}

// Adds a unit that moves states of the reference's unit `of`, in its phase; NO_ID: in backward.
static struct unit *add_unit(struct draft *draft, uint32_t of, const char *name, struct span span,
                             uint32_t *id) {
    *id = add_local_unit(draft, name, span);
    draft->program->job->units[*id].phase =
        of == NO_ID ? PHASE_BACKWARD : draft->plan->reference->job->units[of].phase;
    return &draft->program->job->units[*id];
}

// ---- adding -----------------------------------------------------------------------------------

// The unit that adds every second operand to the one before it, in its place. Ranges of layers share
// it, if they lie alike.
static uint32_t adding_unit(struct draft *draft, const struct load *load,
                            const struct reference *operands) {
    const struct statement *call = load->call;
    uint32_t id = find_moving_unit(draft, call->call.unit, ACTION_ADD, 0, operands, 2 * load->n);
    if (id != NO_ID)
        return id;
    struct unit *unit =
        add_unit(draft, call->call.unit, load_name(draft->plan, load, '_'), call->span, &id);
    for (uint32_t i = 0; i < 2 * load->n; i++) {
        const struct buffer *buffer = &draft->program->buffers[operands[i].buffer];
        const char *of = draft->program->job->tensors[buffer->tensor].name;
        unit_add_parameter(draft->program->arena, unit,
                           arena_format(draft->arena, "%s.%s", of, i % 2 ? "term" : "sum"),
                           buffer_type(draft->program, buffer), false);
    }
    for (uint32_t i = 0; i < load->n; i++) {
        value_id pair[2] = {2 * i, 2 * i + 1};
        const char *total = arena_format(draft->arena, "%s.total", unit->values[2 * i].name);
        struct op *op =
            unit_add_op(draft->program->arena, unit, OP_ACCUMULATE, total, pair, 2, call->span);
        unit->values[op->results[0]].type = unit->values[2 * i].type;
        unit_add_result(draft->program->arena, unit, op->results[0], 2 * i);
    }
    note_moving_unit(draft, call->call.unit, ACTION_ADD, 0, operands, 2 * load->n, id);
    return id;
}

void emit_add(struct draft *draft, struct cursor at, const struct load *load) {
    struct reference *operands = ARENA_ARRAY(draft->arena, struct reference, 2 * load->n);
    struct reference *results = ARENA_ARRAY(draft->arena, struct reference, load->n);
    for (uint32_t i = 0; i < load->n; i++) {
        results[i] = operands[2 * i] = cargo_item(draft, at, load, i, load->items[i].hop->to);
        operands[2 * i + 1] = cargo_item(draft, at, load, i, load->items[i].hop->from);
    }
    push_unit_call(draft, at, load->call->span, adding_unit(draft, load, operands), operands,
                   results);
}

// ---- keeping ----------------------------------------------------------------------------------

// What a use has of the master copy is of the parameter, which is that rounded.
static value_id round_to_parameter(struct draft *draft, struct unit *unit,
                                   const struct cargo *cargo, value_id value, struct span span) {
    enum dtype parameters = cargo->way->reference->dtype;
    struct tensor_type type = unit->values[value].type;
    if (!cargo->way->route.stations[cargo->hop->from].is_master ||
        cargo->way->route.stations[cargo->hop->to].dtype == parameters)
        return value;
    const char *name = arena_format(draft->arena, "%s.rounded", unit->values[value].name);
    struct op *op = unit_add_op(draft->program->arena, unit, OP_CAST, name, &value, 1, span);
    type.dtype = parameters;
    unit->values[op->results[0]].type = type;
    return op->results[0];
}

// This device's part of what lies whole, along the dimension that only the result is cut by.
static value_id slice_part(struct draft *draft, struct unit *unit, const struct buffer *from,
                           const struct buffer *to, value_id value, struct span span) {
    int dim = dimension_between(from, to);
    if (dim < 0)
        return value;
    struct arena *arena = draft->program->arena;
    struct tensor_type type = buffer_type(draft->program, to);
    const char *name = arena_format(draft->arena, "%s.part", unit->values[value].name);
    struct op *op = unit_add_op(arena, unit, OP_SLICE, name, &value, 1, span);
    op_set_axes(arena, op, ATTRIBUTE_AXES,
                axis_list_without(&to->layout.cuts[dim], &from->layout.cuts[dim]));
    op_set_integer(arena, op, ATTRIBUTE_DIM, dim);
    type.dtype = from->dtype;
    unit->values[op->results[0]].type = type;
    return op->results[0];
}

static bool slices_any(const struct draft *draft, const struct reference *operands,
                       const struct reference *results, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (dimension_between(&draft->program->buffers[operands[i].buffer],
                              &draft->program->buffers[results[i].buffer]) >= 0)
            return true;
    return false;
}

// The unit that copies its operands, each into elements of the type that its result has. Those that slice
// are not shared: their operands do not say along what, and over which axes.
static uint32_t keeping_unit(struct draft *draft, const struct load *load,
                             const struct reference *operands, const struct reference *results) {
    const struct statement *call = load->call;
    uint32_t id =
        slices_any(draft, operands, results, load->n)
            ? NO_ID
            : find_moving_unit(draft, call->call.unit, ACTION_KEEP, load->kind, operands, load->n);
    if (id != NO_ID)
        return id;
    struct unit *unit =
        add_unit(draft, call->call.unit, load_name(draft->plan, load, '_'), call->span, &id);
    add_parameters(draft, unit, operands, load->n);
    for (value_id i = 0; i < load->n; i++) {
        const struct cargo *cargo = &load->items[i];
        bool casts = load->kind == HOP_CAST || load->kind == HOP_CAST_PART;
        const char *kept =
            arena_format(draft->arena, "%s.%s", unit->values[i].name, casts ? "cast" : "kept");
        struct span span = casts ? state_span(draft->plan, cargo->way->reference,
                                              hop_rows[load->kind].cause, &cargo->hop->axes)
                                 : call->span;
        const struct buffer *made = &draft->program->buffers[results[i].buffer];
        value_id part =
            slice_part(draft, unit, &draft->program->buffers[operands[i].buffer], made, i, span);
        value_id from = round_to_parameter(draft, unit, cargo, part, span);
        if (part != i && from == part && unit->values[part].type.dtype == made->dtype) {
            unit_add_result(draft->program->arena, unit, part, NO_ID);
            continue;
        }
        struct op *op = unit_add_op(draft->program->arena, unit, OP_CAST, kept, &from, 1, span);
        unit->values[op->results[0]].type = buffer_type(draft->program, made);
        unit_add_result(draft->program->arena, unit, op->results[0], NO_ID);
    }
    if (!slices_any(draft, operands, results, load->n))
        note_moving_unit(draft, call->call.unit, ACTION_KEEP, load->kind, operands, load->n, id);
    return id;
}

void emit_keep(struct draft *draft, struct cursor at, const struct load *load) {
    struct reference *operands = ARENA_ARRAY(draft->arena, struct reference, load->n);
    struct reference *results = ARENA_ARRAY(draft->arena, struct reference, load->n);
    for (uint32_t i = 0; i < load->n; i++) {
        operands[i] = cargo_item(draft, at, load, i, load->items[i].hop->from);
        results[i] = cargo_item(draft, at, load, i, load->items[i].hop->to);
    }
    push_unit_call(draft, at, load->call->span, keeping_unit(draft, load, operands, results),
                   operands, results);
}

// ---- the counter ------------------------------------------------------------------------------

int levels_of_microbatches(bool reproducible, int64_t microbatches) {
    int levels = 0;
    while (reproducible && INT64_C(1) << levels < microbatches)
        levels++;
    return levels;
}

int levels_of_counter(const struct plan *plan) {
    return levels_of_microbatches(plan->reference->job->policy.reproducible,
                                  plan->placement.microbatches);
}

buffer_id *make_counter(struct draft *draft, buffer_id sum, int first) {
    int levels = levels_of_counter(draft->plan);
    buffer_id *counter = ARENA_ARRAY(draft->arena, buffer_id, levels + 1);
    for (int level = first; level < levels; level++) {
        struct buffer buffer = draft->program->buffers[sum];
        buffer.name = arena_format(draft->arena, "%s.carry.%d", buffer.name, level);
        buffer.class = CLASS_TRANSIENT;
        buffer.host = HOST_NONE;
        buffer.window_of = NO_ID;
        counter[level] = program_add_buffer(draft->program, buffer);
    }
    return counter;
}

struct reference number_of_microbatch(struct draft *draft) {
    buffer_id id = program_host_buffer(draft->program, HOST_MICROBATCH);
    if (id == NO_ID)
        id = program_add_buffer(
            draft->program, (struct buffer){.name = host_role_names[HOST_MICROBATCH],
                                            .class = CLASS_INPUT,
                                            .host = HOST_MICROBATCH,
                                            .tensor = NO_ID,
                                            .dtype = DTYPE_F64,
                                            .stacks = stacked(STACK_MICROBATCHES,
                                                              draft->plan->placement.microbatches),
                                            .window_of = NO_ID,
                                            .offset_bytes = -1,
                                            .span = draft->plan->config->train.origin.span});
    return reference_at(id, index_variable(0, 0, 0));
}

// One level of counters. Parameters are pairs of what is kept and the sum, each with a result in
// its place, and the microbatch's number. Ranges of layers share the unit, if they lie alike.
static uint32_t carrying_unit(struct draft *draft, uint32_t of, const char *name, int level,
                              const struct reference *operands, uint32_t n, struct span span) {
    uint32_t id = find_moving_unit(draft, of, ACTION_CARRY, level, operands, n);
    if (id != NO_ID)
        return id;
    struct unit *unit =
        add_unit(draft, of, arena_format(draft->arena, "%s_%d", name, level), span, &id);
    add_parameters(draft, unit, operands, n);
    for (value_id kept = 0; kept + 1 < n; kept += 2) {
        value_id taken[3] = {kept, kept + 1, n - 1};
        name = unit->values[kept + 1].name;
        struct op *op = unit_add_op(draft->program->arena, unit, OP_CARRY, name, taken, 3, span);
        op_set_integer(draft->program->arena, op, ATTRIBUTE_LEVEL, level);
        for (unsigned i = 0; i < 2; i++) {
            unit->values[op->results[i]].type = unit->values[taken[i]].type;
            unit_add_result(draft->program->arena, unit, op->results[i], taken[i]);
        }
    }
    note_moving_unit(draft, of, ACTION_CARRY, level, operands, n, id);
    return id;
}

// What a level leaves in the place of the sum the next one takes.
void push_carry(struct draft *draft, struct cursor at, uint32_t of, const char *name,
                const struct carried *sums, uint32_t n_sums, struct span span) {
    for (int level = 0; level < levels_of_counter(draft->plan); level++) {
        struct reference *operands = ARENA_ARRAY(draft->arena, struct reference, 2 * n_sums + 1);
        uint32_t n = 0;
        for (uint32_t i = 0; i < n_sums; i++) {
            if (level < sums[i].first)
                continue;
            operands[n++] = reference_at(sums[i].counter[level], sums[i].sum.indices[0]);
            operands[n++] = sums[i].sum;
        }
        if (n == 0)
            continue;
        operands[n] = number_of_microbatch(draft);
        uint32_t unit = carrying_unit(draft, of, name, level, operands, n + 1, span);
        push_unit_call(draft, at, span, unit, operands,
                       arena_copy(draft->arena, operands, n * sizeof *operands));
    }
}

void emit_carry(struct draft *draft, struct cursor at, const struct load *load) {
    struct carried *sums = ARENA_ARRAY(draft->arena, struct carried, load->n);
    for (uint32_t i = 0; i < load->n; i++) {
        struct way *way = load->items[i].way;
        struct reference sum = cargo_item(draft, at, load, i, load->items[i].hop->to);
        if (!way->counter)
            way->counter = make_counter(draft, sum.buffer, way->paired);
        sums[i] = (struct carried){sum, way->counter, way->paired};
    }
    push_carry(draft, at, load->call->call.unit, load_name(draft->plan, load, '_'), sums, load->n,
               load->call->span);
}
