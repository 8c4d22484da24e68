// Partition, where training is `reproducible`: sums over microbatches as a binary tree.
//
// A microbatch is treated as if it were the only one: what units and the axes of placement.inner
// make of it overwrites the sum of the one before. A call behind that takes the sum through a
// binary counter: buffers that keep the sums of 1, 2, 4 ... microbatches until as many more have
// been summed. After the last microbatch the tree's root is where the microbatch's own sum was.
//
// Inside a microbatch gradients are first summed over axes of the model, where its devices had
// parts of the sequences.
//
// The squares of the norm, in bins, are summed over what a tensor is cut by before they are added
// to others.
#include "ir/check.h"
#include "passes/partition.h"

// ---- the counter ------------------------------------------------------------------------------

int levels_of_counter(const struct partitioner *p) {
    int levels = 0;
    while (p->program->policy.reproducible && INT64_C(1) << levels < p->placement.microbatches)
        levels++;
    return levels;
}

buffer_id *make_counter(struct partitioner *p, buffer_id sum) {
    int levels = levels_of_counter(p);
    buffer_id *counter = ARENA_ARRAY(p->arena, buffer_id, levels + 1);
    for (int level = 0; level < levels; level++) {
        struct buffer buffer = p->program->buffers[sum];
        buffer.name = arena_format(p->arena, "%s.carry.%d", buffer.name, level);
        buffer.class = CLASS_TRANSIENT;
        buffer.host = HOST_NONE;
        buffer.window_of = NO_ID;
        counter[level] = program_add_buffer(p->program, buffer);
    }
    return counter;
}

// The host's, in which the microbatches' numbers stand.
static struct reference number_of_microbatch(struct partitioner *p) {
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

// What is carried, each sum with its counter's buffers behind it; then the microbatch's number.
struct carried {
    struct reference *operands;
    uint32_t n; // sums
};

static void add_carried(struct partitioner *p, struct carried *carried, struct reference sum,
                        const buffer_id *counter) {
    int levels = levels_of_counter(p);
    struct reference *operands = carried->operands + carried->n++ * (uint32_t)(levels + 1);
    operands[0] = sum;
    for (int level = 0; level < levels; level++)
        operands[level + 1] = (struct reference){counter[level], sum.index};
}

static void add_parameters(struct partitioner *p, struct unit *unit,
                           const struct reference *operands, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct buffer *buffer = &p->program->buffers[operands[i].buffer];
        unit_add_parameter(p->program, unit, buffer->name, buffer_type(p->program, buffer), false);
    }
}

// Takes one sum, parameter `at`, through its counter, which is the parameters behind it.
static void carry_one(struct partitioner *p, struct unit *unit, value_id at, value_id number,
                      struct span span) {
    int levels = levels_of_counter(p);
    value_id sum = at;
    for (int level = 0; level < levels; level++) {
        value_id kept = at + 1 + (value_id)level;
        value_id operands[3] = {kept, sum, number};
        const char *name = arena_format(p->arena, "%s.%d", unit->values[at].name, level);
        struct op *op = unit_add_op(p->program, unit, OP_CARRY, name, operands, 3, span);
        op_set_integer(p->program, op, ATTRIBUTE_LEVEL, level);
        unit->values[op->results[0]].type = unit->values[op->results[1]].type =
            unit->values[at].type;
        unit_add_result(p->program, unit, op->results[0], kept);
        sum = op->results[1];
    }
    unit_add_result(p->program, unit, sum, at);
}

// Ranges of layers share the unit, if they lie alike.
static uint32_t carrying_unit(struct partitioner *p, uint32_t of, const char *name,
                              const struct carried *carried, uint32_t n_operands,
                              struct span span) {
    uint32_t found = find_accumulation(p, of, carried->operands, n_operands);
    if (found != NO_ID)
        return found;
    uint32_t id = program_add_unit(p->program, fresh_unit_name(p, name), span);
    struct unit *unit = &p->program->units[id];
    unit->phase = PHASE_BACKWARD;
    add_parameters(p, unit, carried->operands, n_operands);
    for (uint32_t i = 0; i < carried->n; i++)
        carry_one(p, unit, i * (uint32_t)(levels_of_counter(p) + 1), n_operands - 1, span);
    note_accumulation(p, of, id);
    return id;
}

// A result of the unit is in place of each of its operands but the last: of a sum, its counter's
// first.
static void push_carry(struct partitioner *p, uint32_t of, const char *name, struct carried carried,
                       struct span span) {
    uint32_t each = (uint32_t)levels_of_counter(p) + 1, n = carried.n * each;
    if (n == 0)
        return;
    carried.operands[n] = number_of_microbatch(p);
    uint32_t unit = carrying_unit(p, of, name, &carried, n + 1, span);
    struct reference *results = ARENA_ARRAY(p->arena, struct reference, n);
    for (uint32_t i = 0; i < n; i++)
        results[i] = carried.operands[p->program->units[unit].results[i].in_parameter];
    struct call call = {.unit = unit, .operands = carried.operands, .results = results};
    push_statement(p, (struct statement){.kind = STATEMENT_CALL, .span = span, .call = call});
}

static struct carried new_carried(struct partitioner *p, uint32_t n) {
    uint32_t each = (uint32_t)levels_of_counter(p) + 1;
    return (struct carried){.operands = ARENA_ARRAY(p->arena, struct reference, n * each + 1)};
}

void carry_gradients(struct partitioner *p, const struct statement *from,
                     const struct written *written) {
    struct carried carried = new_carried(p, written->n);
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written->results[i]);
        add_carried(p, &carried, tensor_item(p, s->sum, written->results[i]), s->counter);
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
            state->counter = make_counter(p, state->buffer);
        add_carried(p, &carried, scalar, state->counter);
    }
    emit_transfers(p, &sums, "sum.microbatch");
    push_carry(p, NO_ID, "carry_scalars", carried, span);
}

// ---- axes of the model -------------------------------------------------------------------------

// The unit that copies its operands.
static uint32_t keeping_unit(struct partitioner *p, const struct statement *from,
                             const struct reference *operands, uint32_t n) {
    uint32_t found = find_accumulation(p, from->call.unit, operands, n);
    if (found != NO_ID)
        return found;
    const char *name = arena_format(p->arena, "keep_%s", unit_name(p, from));
    uint32_t id = program_add_unit(p->program, fresh_unit_name(p, name), from->span);
    struct unit *unit = &p->program->units[id];
    unit->phase = PHASE_BACKWARD;
    for (uint32_t i = 0; i < n; i++) {
        const struct buffer *buffer = &p->program->buffers[operands[i].buffer];
        unit_add_parameter(p->program, unit, buffer->name, buffer_type(p->program, buffer), false);
    }
    for (value_id i = 0; i < n; i++) {
        const char *kept = arena_format(p->arena, "%s.kept", unit->values[i].name);
        struct op *op = unit_add_op(p->program, unit, OP_CAST, kept, &i, 1, from->span);
        unit->values[op->results[0]].type = unit->values[i].type;
        unit_add_result(p->program, unit, op->results[0], NO_ID);
    }
    note_accumulation(p, from->call.unit, id);
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
            summed = without(&summed, kept);
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
