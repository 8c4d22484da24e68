// Partition, sums: scalars and bins that devices, microbatches or several units add to. A scalar that
// is a summand is summed right before the first call that reads it. Where training is
// `reproducible`, the squares of the norm, in bins, are summed over what a tensor is cut by before
// they are added to others.
#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/partition.h"
#include "passes/reference/emit.h"

// ---- copies of accumulators -------------------------------------------------------------------

struct reference variant_item(struct partitioner *p, struct cursor at, buffer_id of,
                              uint64_t partial) {
    struct buffer_state *state = &p->states[of];
    for (uint32_t i = 0; i < state->n_variants; i++)
        if (state->variant_partial[i] == partial)
            return (struct reference){state->variants[i], index_constant(0)};
    CHECK(state->n_variants < MAX_VARIANTS);
    struct buffer buffer = p->reference->buffers[of];
    if (state->n_variants > 0)
        buffer.name = arena_format(p->arena, "%s.%u", buffer.name, state->n_variants + 1);
    buffer.host = state->n_variants > 0 ? HOST_NONE : buffer.host;
    buffer_id made = program_add_buffer(p->program, buffer);
    state->variants[state->n_variants] = made;
    state->variant_partial[state->n_variants++] = partial;
    struct statement zero = {.kind = STATEMENT_ZERO,
                             .span = state->zero_span,
                             .zero = {.buffer = made, .index = index_constant(0)}};
    block_insert(p->program, &at.step->body, state->zero_at++, zero);
    return zero.zero;
}

static void sum_over_devices(struct partitioner *p, struct cursor at, buffer_id buffer,
                             uint64_t mask) {
    if (mask == 0)
        return;
    CHECK(!(mask >> p->time & 1)); // read inside the loop that accumulates it
    struct reference scalar = {.buffer = buffer, .index = index_constant(0)};
    struct transfers transfers = {0};
    struct axis_list axes = axes_of_sum(p, mask);
    add_piece(p, &transfers, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar,
              split_span(p, axes.axes[0]), NO_BUCKET);
    emit_transfers(p, at, &transfers,
                   arena_format(p->arena, "sum.%s", p->program->buffers[buffer].name));
}

// Adds copy `i` of an accumulator to the first, once both are sums over all devices.
static void add_variant(struct partitioner *p, struct cursor at, buffer_id of, uint32_t i) {
    const struct buffer_state *state = &p->states[of];
    struct program *program = p->program;
    const char *added = arena_format(p->arena, "%s_%u", p->reference->buffers[of].name, i + 1);
    const char *name = name_of_unit(p->arena, "add", added);
    uint32_t id = names_find(&p->unit_names, name);
    if (id == NOT_NAMED) {
        id = add_local_unit(p, name, state->zero_span);
        struct unit *unit = &program->job->units[id];
        unit->phase = PHASE_UPDATE;
        struct tensor_type type = buffer_type(program, &program->buffers[state->variants[0]]);
        value_id pair[2];
        pair[0] = unit_add_parameter(program, unit, "sum", type, false);
        pair[1] = unit_add_parameter(program, unit, "term", type, false);
        struct op *op =
            unit_add_op(program, unit, OP_ACCUMULATE, "total", pair, 2, state->zero_span);
        unit->values[op->results[0]].type = type;
        unit_add_result(program, unit, op->results[0], 0);
    }
    struct reference operands[2] = {{state->variants[0], index_constant(0)},
                                    {state->variants[i], index_constant(0)}};
    push_unit_call(p, at, state->zero_span, id, arena_copy(p->arena, operands, sizeof operands),
                   arena_copy(p->arena, operands, sizeof operands[0]));
}

void finish_sum(struct partitioner *p, struct cursor at, buffer_id of) {
    struct buffer_state *state = &p->states[of];
    for (uint32_t i = 0; i < state->n_variants; i++) {
        note_sum(p, state->variants[i]);
        sum_over_devices(p, at, state->variants[i], state->variant_partial[i]);
        if (i > 0)
            add_variant(p, at, of, i);
    }
    if (state->n_variants > 0) {
        state->buffer = state->variants[0];
        state->type = (struct sharding){0};
        state->n_variants = 0;
    }
    sum_over_devices(p, at, state->buffer, state->type.partial);
    state->type.partial = 0;
}

// ---- microbatches -----------------------------------------------------------------------------

void note_zeroed(struct partitioner *p, struct reference accumulator) {
    for (uint32_t i = 0; i < p->n_zeroes; i++)
        if (p->zeroes[i].buffer == accumulator.buffer)
            return;
    ARENA_PUSH(p->arena, p->zeroes, p->n_zeroes, p->cap_zeroes, accumulator);
}

void push_zeroes(struct partitioner *p, struct cursor at, struct span span) {
    for (uint32_t i = 0; i < p->n_zeroes; i++)
        push_statement(
            p, at, (struct statement){.kind = STATEMENT_ZERO, .span = span, .zero = p->zeroes[i]});
    p->n_zeroes = 0;
}

static bool is_summed_over_time(const struct partitioner *p, buffer_id of) {
    return !is_tensor_state(&p->reference->buffers[of]) &&
           p->states[of].type.partial >> p->time & 1;
}

void carry_scalars(struct partitioner *p, struct cursor at, struct span span) {
    uint64_t inner = axis_list_mask(&p->placement.inner) | ~p->token_axes;
    struct transfers transfers = {0};
    struct carried *sums = ARENA_ARRAY(p->arena, struct carried, p->reference->n_buffers + 1);
    uint32_t n = 0;
    for (buffer_id i = 0; i < p->reference->n_buffers; i++) {
        struct buffer_state *state = &p->states[i];
        if (!is_summed_over_time(p, i))
            continue;
        struct reference scalar = {state->buffer, index_constant(0)};
        struct axis_list axes = axes_of_sum(p, state->type.partial & inner);
        add_piece(p, &transfers, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar, span, NO_BUCKET);
        state->type.partial &= ~inner;
        if (!state->counter)
            state->counter = make_counter(p, state->buffer, 0);
        sums[n++] = (struct carried){scalar, state->counter, 0};
    }
    emit_transfers(p, at, &transfers, "sum.microbatch");
    push_carry(p, at, NO_ID, "carry_scalars", sums, n, span);
}

// ---- squares ----------------------------------------------------------------------------------

// The parameter of the unit of whose squares a result is made; NO_ID: of none.
static uint32_t squared_parameter(const struct unit *unit, uint32_t result) {
    const struct op *op = unit_producer(unit, unit->results[result].value);
    bool squares = op && op->kind == OP_SQUARE_BINS && op->operands[0] < unit->n_parameters;
    return squares ? op->operands[0] : NO_ID;
}

void sum_squares(struct partitioner *p, struct cursor at, const struct statement *call) {
    const struct unit *unit = &p->reference->job->units[call->call.unit];
    struct transfers sums = {0};
    note_moment(p, at, 0, true);
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct buffer_state *state = &p->states[call->call.results[i].buffer];
        uint32_t squared = squared_parameter(unit, i);
        if (squared == NO_ID)
            continue;
        const struct buffer *of = reference_buffer(p, call->call.operands[squared]);
        note_chance(p, way_of(p, of), (struct chance){.unit = call->call.unit});
        note_sum(p, state->buffer);
        if (!state->type.partial)
            continue;
        struct axis_list axes = axes_of_sum(p, state->type.partial);
        struct reference bins = {state->buffer, index_constant(0)};
        add_piece(p, &sums, COLLECTIVE_ALL_REDUCE, &axes, bins, bins,
                  state_span(p, of, STATE_OPTIMIZER, &axes), NO_BUCKET);
        state->type.partial = 0;
    }
    emit_transfers(p, at, &sums, arena_format(p->arena, "sum.%s", unit->name));
}
