// Partition, where training is `reproducible`: sums over microbatches as a binary tree.
//
// Calls behind a microbatch take what it gives through a binary counter: buffers that keep the sums
// of 1, 2, 4 ... microbatches until as many more have been summed. After the last microbatch the
// tree's root is where the microbatch's own sum was. The counter's first level needs no buffer
// where a unit alone makes a microbatch's gradient: it adds every second one to that before. Where
// the axes of placement.inner are summed over first, and where several units add to a gradient, the
// microbatch is treated as if it were the only one: what they make overwrites the sum of the one
// before.
//
// Inside a microbatch gradients are first summed over axes of the model, where its devices had
// parts of the sequences.
//
// The squares of the norm, in bins, are summed over what a tensor is cut by before they are added
// to others.
#include "ir/check.h"
#include "passes/partition/partition.h"

// ---- the counter ------------------------------------------------------------------------------

int levels_of_counter(const struct partitioner *p) {
    int levels = 0;
    while (p->program->policy.reproducible && INT64_C(1) << levels < p->placement.microbatches)
        levels++;
    return levels;
}

// Of `sum`, from level `first` on.
static buffer_id *make_counter(struct partitioner *p, buffer_id sum, int first) {
    int levels = levels_of_counter(p);
    buffer_id *counter = ARENA_ARRAY(p->arena, buffer_id, levels + 1);
    for (int level = first; level < levels; level++) {
        struct buffer buffer = p->program->buffers[sum];
        buffer.name = arena_format(p->arena, "%s.carry.%d", buffer.name, level);
        buffer.class = CLASS_TRANSIENT;
        buffer.host = HOST_NONE;
        buffer.window_of = NO_ID;
        counter[level] = program_add_buffer(p->program, buffer);
    }
    return counter;
}

struct reference number_of_microbatch(struct partitioner *p) {
    buffer_id id = program_host_buffer(p->program, HOST_MICROBATCH);
    if (id == NO_ID)
        id =
            program_add_buffer(p->program, (struct buffer){.name = host_role_names[HOST_MICROBATCH],
                                                           .class = CLASS_INPUT,
                                                           .host = HOST_MICROBATCH,
                                                           .tensor = NO_ID,
                                                           .dtype = DTYPE_F64,
                                                           .stack = STACK_MICROBATCHES,
                                                           .count = p->placement.microbatches,
                                                           .window_of = NO_ID,
                                                           .offset_bytes = -1,
                                                           .span = p->config->train.origin.span});
    return (struct reference){id, index_variable(0, 0, 0)};
}

// Sums that are carried, and the buffers of each one's counter, from its first level on.
struct carried {
    struct {
        struct reference sum;
        const buffer_id *counter;
        int first;
    } * sums;
    uint32_t n;
};

static struct carried new_carried(struct partitioner *p, uint32_t n) {
    struct carried carried = {0};
    carried.sums = arena_alloc(p->arena, (n + 1) * sizeof *carried.sums);
    return carried;
}

static void add_carried(struct carried *carried, struct reference sum, const buffer_id *counter,
                        int first) {
    carried->sums[carried->n].sum = sum;
    carried->sums[carried->n].counter = counter;
    carried->sums[carried->n++].first = first;
}

static void add_parameters(struct partitioner *p, struct unit *unit,
                           const struct reference *operands, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct buffer *buffer = &p->program->buffers[operands[i].buffer];
        unit_add_parameter(p->program, unit, buffer->name, buffer_type(p->program, buffer), false);
    }
}

// One level of counters. Parameters are pairs of what is kept and the sum, each with a result in
// its place, and the microbatch's number. Ranges of layers share the unit, if they lie alike.
static uint32_t carrying_unit(struct partitioner *p, uint32_t of, const char *name, int level,
                              const struct reference *operands, uint32_t n, struct span span) {
    uint32_t found = find_accumulation(p, of, level, operands, n);
    if (found != NO_ID)
        return found;
    uint32_t id = add_local_unit(p, arena_format(p->arena, "%s_%d", name, level), span);
    struct unit *unit = &p->program->units[id];
    unit->phase = PHASE_BACKWARD;
    add_parameters(p, unit, operands, n);
    for (value_id kept = 0; kept + 1 < n; kept += 2) {
        value_id taken[3] = {kept, kept + 1, n - 1};
        name = unit->values[kept + 1].name;
        struct op *op = unit_add_op(p->program, unit, OP_CARRY, name, taken, 3, span);
        op_set_integer(p->program, op, ATTRIBUTE_LEVEL, level);
        for (unsigned i = 0; i < 2; i++) {
            unit->values[op->results[i]].type = unit->values[taken[i]].type;
            unit_add_result(p->program, unit, op->results[i], taken[i]);
        }
    }
    note_accumulation(p, of, level, id);
    return id;
}

// What a level leaves in the place of the sum the next one takes.
static void push_carry(struct partitioner *p, uint32_t of, const char *name, struct carried carried,
                       struct span span) {
    for (int level = 0; level < levels_of_counter(p); level++) {
        struct reference *operands = ARENA_ARRAY(p->arena, struct reference, 2 * carried.n + 1);
        uint32_t n = 0;
        for (uint32_t i = 0; i < carried.n; i++) {
            if (level < carried.sums[i].first)
                continue;
            struct reference sum = carried.sums[i].sum;
            operands[n++] = (struct reference){carried.sums[i].counter[level], sum.index};
            operands[n++] = sum;
        }
        if (n == 0)
            continue;
        operands[n] = number_of_microbatch(p);
        struct call call = {.unit = carrying_unit(p, of, name, level, operands, n + 1, span),
                            .operands = operands,
                            .results = arena_copy(p->arena, operands, n * sizeof *operands)};
        push_statement(p, (struct statement){.kind = STATEMENT_CALL, .span = span, .call = call});
    }
}

void carry_gradients(struct partitioner *p, const struct statement *from,
                     const struct written *written) {
    struct carried carried = new_carried(p, written->n);
    for (uint32_t i = 0; i < written->n; i++) {
        struct tensor_storage *s = gradient_storage(p, written->results[i]);
        if (!s->counter)
            s->counter = make_counter(p, s->sum, s->paired);
        add_carried(&carried, tensor_item(p, s->sum, written->results[i]), s->counter, s->paired);
    }
    push_carry(p, from->call.unit, arena_format(p->arena, "carry_%s", unit_name(p, from)), carried,
               from->span);
}

// ---- scalars ----------------------------------------------------------------------------------

static bool is_summed_over_time(const struct partitioner *p, buffer_id of) {
    return !is_tensor_state(&p->reference->buffers[of]) &&
           p->states[of].type.partial >> p->time & 1;
}

void carry_scalars(struct partitioner *p, struct span span) {
    uint64_t inner = axis_list_mask(&p->placement.inner) | ~p->token_axes;
    struct transfers sums = {0};
    struct carried carried = new_carried(p, p->reference->n_buffers);
    for (buffer_id i = 0; i < p->reference->n_buffers; i++) {
        struct buffer_state *state = &p->states[i];
        if (!is_summed_over_time(p, i))
            continue;
        struct reference scalar = {state->buffer, index_constant(0)};
        struct axis_list axes = axes_of_sum(p, state->type.partial & inner);
        add_piece(p, &sums, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar, span, NO_BUCKET);
        state->type.partial &= ~inner;
        if (!state->counter)
            state->counter = make_counter(p, state->buffer, 0);
        add_carried(&carried, scalar, state->counter, 0);
    }
    emit_transfers(p, &sums, "sum.microbatch");
    push_carry(p, NO_ID, "carry_scalars", carried, span);
}

// ---- axes of the model -------------------------------------------------------------------------

// The unit that copies its operands.
static uint32_t keeping_unit(struct partitioner *p, const struct statement *from,
                             const struct reference *operands, uint32_t n) {
    uint32_t found = find_accumulation(p, from->call.unit, 0, operands, n);
    if (found != NO_ID)
        return found;
    const char *name = arena_format(p->arena, "keep_%s", unit_name(p, from));
    uint32_t id = add_local_unit(p, name, from->span);
    struct unit *unit = &p->program->units[id];
    unit->phase = PHASE_BACKWARD;
    add_parameters(p, unit, operands, n);
    for (value_id i = 0; i < n; i++) {
        const char *kept = arena_format(p->arena, "%s.kept", unit->values[i].name);
        struct op *op = unit_add_op(p->program, unit, OP_CAST, kept, &i, 1, from->span);
        unit->values[op->results[0]].type = unit->values[i].type;
        unit_add_result(p->program, unit, op->results[0], NO_ID);
    }
    note_accumulation(p, from->call.unit, 0, id);
    return id;
}

// Of gradients that have been summed over axes of the model this device's parts go where nothing
// else would bring them.
static void keep_parts(struct partitioner *p, const struct statement *from,
                       const struct written *written) {
    struct reference *operands = ARENA_ARRAY(p->arena, struct reference, written->n + 1);
    struct reference *results = ARENA_ARRAY(p->arena, struct reference, written->n + 1);
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written->results[i]);
        operands[i] = tensor_item(p, s->part, written->results[i]);
        results[i] = tensor_item(p, s->kept_first, written->results[i]);
    }
    if (written->n == 0)
        return;
    uint32_t unit = keeping_unit(p, from, operands, written->n);
    push_statement(
        p, (struct statement){.kind = STATEMENT_CALL,
                              .span = from->span,
                              .call = {.unit = unit, .operands = operands, .results = results}});
}

void reduce_first(struct partitioner *p, const struct statement *from,
                  const struct written *written) {
    const char *name = arena_format(p->arena, "reduce.%s", unit_name(p, from));
    struct transfers sums = {0}, scatters = {0};
    struct written whole = {.results = ARENA_ARRAY(p->arena, struct reference, written->n + 1)};
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written->results[i]);
        struct axis_list summed = axes_of_sum(p, model_summands(p, written->results[i]));
        const struct axis_list *kept = &s->sums.keep_first;
        buffer_id place = written_gradient(s);
        if (axis_list_begins(&summed, kept)) {
            add_reduction(p, &scatters, COLLECTIVE_REDUCE_SCATTER, kept, written->results[i], place,
                          s->kept_first);
            summed = axis_list_without(&summed, kept);
        } else if (s->part != s->kept_first) {
            whole.results[whole.n++] = written->results[i];
        }
        add_reduction(p, &sums, COLLECTIVE_ALL_REDUCE, &summed, written->results[i], place, place);
    }
    emit_transfers(p, &sums, name);
    emit_transfers(p, &scatters, name);
    keep_parts(p, from, &whole);
}

// ---- squares ----------------------------------------------------------------------------------

// The parameter of the unit of whose squares a result is made; NO_ID: of none.
static uint32_t squared_parameter(const struct unit *unit, uint32_t result) {
    const struct op *op = unit_producer(unit, unit->results[result].value);
    bool squares = op && op->kind == OP_SQUARE_BINS && op->operands[0] < unit->n_parameters;
    return squares ? op->operands[0] : NO_ID;
}

void sum_squares(struct partitioner *p, const struct statement *from) {
    const struct unit *unit = &p->reference->units[from->call.unit];
    struct transfers sums = {0};
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct buffer_state *state = &p->states[from->call.results[i].buffer];
        uint32_t squared = squared_parameter(unit, i);
        if (squared == NO_ID || !state->type.partial)
            continue;
        const struct buffer *of = reference_buffer(p, from->call.operands[squared]);
        struct axis_list axes = axes_of_sum(p, state->type.partial);
        struct reference bins = {state->buffer, index_constant(0)};
        add_piece(p, &sums, COLLECTIVE_ALL_REDUCE, &axes, bins, bins,
                  state_span(p, of, STATE_OPTIMIZER, &axes), NO_BUCKET);
        state->type.partial = 0;
    }
    emit_transfers(p, &sums, arena_format(p->arena, "sum.%s", unit_name(p, from)));
}
