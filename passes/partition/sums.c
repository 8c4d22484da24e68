// Partition, sums: scalars and bins that devices, microbatches or several units add to. A scalar that
// is a summand is summed right before the first call that reads it. Where training is
// `reproducible`, the squares of the norm, in bins, are summed over what a tensor is cut by before
// they are added to others; those that an owner has made he gives to all, who add them up in the
// model's order.
#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/partition.h"
#include "passes/reference/emit.h"

// ---- copies of accumulators -------------------------------------------------------------------

struct reference variant_item(struct draft *draft, struct cursor at, buffer_id of,
                              uint64_t partial) {
    struct buffer_state *state = &draft->states[of];
    for (uint32_t i = 0; i < state->n_variants; i++)
        if (state->variant_partial[i] == partial)
            return reference_to(state->variants[i]);
    CHECK(state->n_variants < MAX_VARIANTS);
    struct buffer buffer = draft->plan->reference->buffers[of];
    if (state->n_variants > 0)
        buffer.name = arena_format(draft->arena, "%s.%u", buffer.name, state->n_variants + 1);
    buffer.host = state->n_variants > 0 ? HOST_NONE : buffer.host;
    buffer_id made = program_add_buffer(draft->program, buffer);
    state->variants[state->n_variants] = made;
    state->variant_partial[state->n_variants++] = partial;
    struct statement zero = {
        .kind = STATEMENT_ZERO, .span = state->zero_span, .zero = reference_to(made)};
    block_insert(draft->program->arena, &at.step->body, state->zero_at++, zero);
    return zero.zero;
}

static void sum_over_devices(struct draft *draft, struct cursor at, buffer_id buffer,
                             uint64_t mask) {
    const struct plan *plan = draft->plan;
    if (mask == 0)
        return;
    CHECK(!(mask >> plan->time & 1)); // read inside the loop that accumulates it
    struct reference scalar = reference_to(buffer);
    struct transfers transfers = {0};
    struct axis_list axes = axes_of_sum(plan, mask);
    add_piece(draft, &transfers, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar,
              split_span(plan, axes.axes[0]), NO_BUCKET);
    emit_transfers(draft, at, &transfers,
                   arena_format(draft->arena, "sum.%s", draft->program->buffers[buffer].name));
}

// Adds copy `i` of an accumulator to the first, once both are sums over all devices.
static void add_variant(struct draft *draft, struct cursor at, buffer_id of, uint32_t i) {
    const struct buffer_state *state = &draft->states[of];
    struct program *program = draft->program;
    const char *added =
        arena_format(draft->arena, "%s_%u", draft->plan->reference->buffers[of].name, i + 1);
    const char *name = name_of_unit(draft->arena, "add", added);
    uint32_t id = names_find(&draft->units.names, name);
    if (id == NOT_NAMED) {
        id = add_local_unit(draft, name, state->zero_span);
        struct unit *unit = &program->job->units[id];
        unit->phase = PHASE_UPDATE;
        struct tensor_type type = buffer_type(program, &program->buffers[state->variants[0]]);
        value_id pair[2];
        pair[0] = unit_add_parameter(program->arena, unit, "sum", type, false);
        pair[1] = unit_add_parameter(program->arena, unit, "term", type, false);
        struct op *op =
            unit_add_op(program->arena, unit, OP_ACCUMULATE, "total", pair, 2, state->zero_span);
        unit->values[op->results[0]].type = type;
        unit_add_result(program->arena, unit, op->results[0], 0);
    }
    struct reference operands[2] = {reference_to(state->variants[0]),
                                    reference_to(state->variants[i])};
    push_unit_call(draft, at, state->zero_span, id,
                   arena_copy(draft->arena, operands, sizeof operands),
                   arena_copy(draft->arena, operands, sizeof operands[0]));
}

// What calls add up outside of the loop over microbatches they do for the layers that they are of.
void finish_sum(struct draft *draft, struct cursor at, buffer_id of) {
    struct buffer_state *state = &draft->states[of];
    for (uint32_t i = 0; i < state->n_variants; i++) {
        note_sum(draft, state->variants[i]);
        sum_over_devices(draft, at, state->variants[i],
                         state->variant_partial[i] | draft->plan->pipeline_axes);
        if (i > 0)
            add_variant(draft, at, of, i);
    }
    if (state->n_variants > 0) {
        state->buffer = state->variants[0];
        state->type = (struct sharding){0};
        state->n_variants = 0;
    }
    sum_over_devices(draft, at, state->buffer, state->type.partial);
    state->type.partial = 0;
}

// ---- microbatches -----------------------------------------------------------------------------

void note_zeroed(struct draft *draft, struct reference accumulator) {
    for (uint32_t i = 0; i < draft->n_zeroes; i++)
        if (draft->zeroes[i].buffer == accumulator.buffer)
            return;
    ARENA_PUSH(draft->arena, draft->zeroes, draft->n_zeroes, draft->cap_zeroes, accumulator);
}

void push_zeroes(struct draft *draft, struct cursor at, struct span span) {
    for (uint32_t i = 0; i < draft->n_zeroes; i++)
        push_statement(
            draft, at,
            (struct statement){.kind = STATEMENT_ZERO, .span = span, .zero = draft->zeroes[i]});
    draft->n_zeroes = 0;
}

static bool is_summed_over_time(const struct draft *draft, buffer_id of) {
    return !is_tensor_state(&draft->plan->reference->buffers[of]) &&
           draft->states[of].type.partial >> draft->plan->time & 1;
}

void carry_scalars(struct draft *draft, struct cursor at, struct span span) {
    const struct plan *plan = draft->plan;
    uint64_t inner = axis_list_mask(&plan->placement.inner) | ~plan->token_axes;
    struct transfers transfers = {0};
    struct carried *sums =
        ARENA_ARRAY(draft->arena, struct carried, plan->reference->n_buffers + 1);
    uint32_t n = 0;
    for (buffer_id i = 0; i < plan->reference->n_buffers; i++) {
        struct buffer_state *state = &draft->states[i];
        if (!is_summed_over_time(draft, i))
            continue;
        struct reference scalar = reference_to(state->buffer);
        struct axis_list axes = axes_of_sum(plan, state->type.partial & inner);
        add_piece(draft, &transfers, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar, span, NO_BUCKET);
        state->type.partial &= ~inner;
        if (!state->counter)
            state->counter = make_counter(draft, state->buffer, 0);
        sums[n++] = (struct carried){scalar, state->counter, 0};
    }
    emit_transfers(draft, at, &transfers, "sum.microbatch");
    push_carry(draft, at, NO_ID, "carry_scalars", sums, n, span);
}

// ---- squares ----------------------------------------------------------------------------------

// The parameter of the unit of whose squares, rounded or not, a result is made; NO_ID: of none.
static uint32_t squared_parameter(const struct unit *unit, uint32_t result) {
    const struct op *op = unit_producer(unit, unit->results[result].value);
    return op && op->kind == OP_SQUARE_BINS ? unit_cast_parameter(unit, op->operands[0]) : NO_ID;
}

struct reference owned_squares(struct draft *draft, const struct making_call *c, uint32_t result) {
    uint32_t squared = squared_parameter(c->unit, result);
    CHECK(squared != NO_ID); // owners make nothing else that others read
    const struct reference *operand = &c->from->call.operands[squared];
    struct way *way = way_of(draft, reference_buffer(draft->plan, *operand));
    if (way->squares == NO_ID) {
        const struct buffer *gradient = &draft->program->buffers[c->operands[squared].buffer];
        struct buffer bins =
            draft->program->buffers[draft->states[c->from->call.results[result].buffer].buffer];
        bins.name = name_with(draft->arena, way->reference->name, ".square");
        bins.tensor = gradient->tensor;
        bins.stacks = gradient->stacks;
        bins.layout.owners = gradient->layout.owners;
        way->squares = program_add_buffer(draft->program, bins);
    }
    return item_at(draft, c->at, way->squares, *operand);
}

// What the owner has made becomes that of all devices along these axes.
static void give_squares(struct draft *draft, struct cursor at, const struct way *way,
                         struct reference of, struct reference to, struct transfers *given) {
    if (way->squares == NO_ID)
        return;
    const struct axis_list *owners = &draft->program->buffers[way->squares].layout.owners;
    add_piece(draft, given, COLLECTIVE_BROADCAST, owners, item_at(draft, at, way->squares, of), to,
              state_span(draft->plan, way->reference, STATE_OPTIMIZER, owners), NO_BUCKET);
}

void sum_squares(struct draft *draft, struct cursor at, const struct statement *call) {
    const struct plan *plan = draft->plan;
    const struct unit *unit = &plan->reference->job->units[call->call.unit];
    struct transfers given = {0}, sums = {0};
    note_moment(draft, at, 0, true);
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct buffer_state *state = &draft->states[call->call.results[i].buffer];
        uint32_t squared = squared_parameter(unit, i);
        if (squared == NO_ID)
            continue;
        struct reference gradient = call->call.operands[squared];
        const struct buffer *of = reference_buffer(plan, gradient);
        struct reference bins = item_at(draft, at, state->buffer, call->call.results[i]);
        note_chance(
            draft, way_of(draft, of),
            (struct chance){.unit = call->call.unit, .item = moved_index(at, gradient.indices[0])});
        note_sum(draft, state->buffer);
        give_squares(draft, at, way_of(draft, of), gradient, bins, &given);
        if (!state->type.partial)
            continue;
        struct axis_list axes = axes_of_sum(plan, state->type.partial);
        add_piece(draft, &sums, COLLECTIVE_ALL_REDUCE, &axes, bins, bins,
                  state_span(plan, of, STATE_OPTIMIZER, &axes), NO_BUCKET);
        state->type.partial = 0;
    }
    emit_transfers(draft, at, &given, arena_format(draft->arena, "give.%s", unit->name));
    emit_transfers(draft, at, &sums, arena_format(draft->arena, "sum.%s", unit->name));
}
