// Partition, the schedule: from a step of the reference program to the step of one device.
//
// Statements stay in their order. Runs of calls that touch the batch become, where there is more
// than one microbatch, the body of a loop over `m`; what they accumulate is zeroed before it and
// summed over the devices after it. A scalar that is a summand is summed right before the first
// call that reads it. Around calls stand the conversions of partition/storage.c.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/partition.h"
#include "passes/reference/emit.h"

// ---- small helpers ----------------------------------------------------------------------------

// Inside the loop over microbatches, which is the outermost, other variables are one deeper.
struct index moved_index(const struct partitioner *p, struct index index) {
    if (p->in_microbatch && index.variable >= 0)
        index.variable++;
    return index;
}

void push_statement(struct partitioner *p, struct statement statement) {
    block_push(p->program, p->block, statement);
}

// An update is what writes parameters: it works on storage as it lies, all other calls on gathered
// wholes.
bool call_updates(const struct partitioner *p, const struct call *call) {
    const struct unit *unit = &p->reference->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (reference_buffer(p, call->results[i])->class == CLASS_PARAMETERS)
            return true;
    return false;
}

static bool touches_batch(const struct partitioner *p, const struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(p->reference, statement, i)).at; i++)
        if (has_batch(reference_buffer(p, *access.at)))
            return true;
    return false;
}

// A call belongs to one microbatch if anything it touches has a batch, a loop if any of its calls
// does. Norms and updates see sums over the batch only, and so run once.
bool is_per_microbatch(const struct partitioner *p, const struct statement *statement) {
    if (statement->kind != STATEMENT_LOOP)
        return touches_batch(p, statement);
    struct statement_walk walk = walk_statements(&statement->loop.body);
    while (walk_next(&walk))
        if (touches_batch(p, walk.statement))
            return true;
    return false;
}

// ---- who reads and writes what ----------------------------------------------------------------

// The update reads parameters as they are stored: that is no use to gather for, or to keep until.
static void reach_call(struct partitioner *p, const struct statement *statement) {
    const struct call *call = &statement->call;
    const struct unit *unit = &p->reference->units[call->unit];
    bool updates = call_updates(p, call);
    for (uint32_t i = 0; i < unit->n_parameters && !updates; i++) {
        buffer_id b = call->operands[i].buffer;
        if (!p->reach.first_reader[b])
            p->reach.first_reader[b] = statement;
        p->reach.last_reader[b] = statement;
    }
    for (uint32_t i = 0; i < unit->n_results; i++)
        p->reach.last_writer[call->results[i].buffer] = statement;
}

static void find_reach(struct partitioner *p, const struct block *body) {
    uint32_t n = p->reference->n_buffers + 1;
    p->reach = (struct reach){.first_reader = ARENA_ARRAY(p->arena, const struct statement *, n),
                              .last_reader = ARENA_ARRAY(p->arena, const struct statement *, n),
                              .last_writer = ARENA_ARRAY(p->arena, const struct statement *, n)};
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            reach_call(p, walk.statement);
}

// ---- accumulators -----------------------------------------------------------------------------

// The copy of an accumulator for summands on `partial`; the first has the accumulator's own name.
// Its `zero` goes to where the reference program zeroes, which by now lies behind us.
static struct reference variant_item(struct partitioner *p, buffer_id of, uint64_t partial) {
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
    block_insert(p->program, &p->step->body, state->zero_at++, zero);
    return zero.zero;
}

static void sum_over_devices(struct partitioner *p, buffer_id buffer, uint64_t mask) {
    if (mask == 0)
        return;
    CHECK(!(mask >> p->time & 1)); // read inside the loop that accumulates it
    struct reference scalar = {.buffer = buffer, .index = index_constant(0)};
    struct transfers transfers = {0};
    struct axis_list axes = axes_of_sum(p, mask);
    add_piece(p, &transfers, COLLECTIVE_ALL_REDUCE, &axes, scalar, scalar,
              split_span(p, axes.axes[0]), NO_BUCKET);
    emit_transfers(p, &transfers,
                   arena_format(p->arena, "sum.%s", p->program->buffers[buffer].name));
}

// Adds copy `i` of an accumulator to the first, once both are sums over all devices.
static void add_variant(struct partitioner *p, buffer_id of, uint32_t i) {
    const struct buffer_state *state = &p->states[of];
    struct program *program = p->program;
    const char *added = arena_format(p->arena, "%s_%u", p->reference->buffers[of].name, i + 1);
    const char *name = name_of_unit(p->arena, "add", added);
    uint32_t id = names_find(&p->unit_names, name);
    if (id == NOT_NAMED) {
        id = add_local_unit(p, name, state->zero_span);
        struct unit *unit = &program->units[id];
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
    push_statement(p, (struct statement){
                          .kind = STATEMENT_CALL,
                          .span = state->zero_span,
                          .call = {.unit = id,
                                   .operands = arena_copy(p->arena, operands, sizeof operands),
                                   .results = arena_copy(p->arena, operands, sizeof operands[0])}});
}

// Before a call reads a value: what is still a summand, or in several copies, becomes one sum.
static void finish_sum(struct partitioner *p, buffer_id of) {
    struct buffer_state *state = &p->states[of];
    for (uint32_t i = 0; i < state->n_variants; i++) {
        sum_over_devices(p, state->variants[i], state->variant_partial[i]);
        if (i > 0)
            add_variant(p, of, i);
    }
    if (state->n_variants > 0) {
        state->buffer = state->variants[0];
        state->type = (struct sharding){0};
        state->n_variants = 0;
    }
    sum_over_devices(p, state->buffer, state->type.partial);
    state->type.partial = 0;
}

// ---- calls ------------------------------------------------------------------------------------

static buffer_id parameter_place(struct partitioner *p, const struct making_call *c,
                                 buffer_id parameter) {
    const struct buffer *buffer = &p->reference->buffers[parameter];
    const struct tensor_storage *storage = storage_of(p, buffer);
    if (c->updates)
        return storage->updated;
    return is_gathered(p, buffer) ? gathered_buffer(p, parameter, c->whole->call.unit)
                                  : storage->parameter;
}

static buffer_id gradient_place(const struct making_call *c, const struct tensor_storage *s) {
    return c->per_microbatch ? written_gradient(s) : s->own_gradient;
}

// The type of a tensor's buffer as it stands in the program: cuts and flat cut.
static struct sharding placed_sharding(const struct partitioner *p, buffer_id buffer) {
    struct sharding type = {0};
    memcpy(type.cuts, p->program->buffers[buffer].layout.cuts, sizeof type.cuts);
    type.flat = p->program->buffers[buffer].layout.flat;
    return type;
}

static struct reference tensor_operand(struct partitioner *p, const struct making_call *c,
                                       struct reference r, struct sharding *type) {
    const struct buffer *buffer = reference_buffer(p, r);
    bool gradient = buffer->class == CLASS_GRADIENTS;
    buffer_id place =
        gradient ? gradient_place(c, storage_of(p, buffer)) : parameter_place(p, c, r.buffer);
    *type = placed_sharding(p, place);
    // A gradient that backward adds to is a summand still; one that norms read has been reduced.
    // So is a parameter of which every island has its own, until they have been averaged.
    if (!gradient || c->per_microbatch)
        type->partial = p->states[r.buffer].type.partial;
    return tensor_item(p, place, r);
}

// Does the unit only add to this parameter, in its place?
static bool is_added_to(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// Finds an operand's place and type. What it reads must be a whole sum first, unless it is only
// added to: then the sum can wait for its last summand.
static void bind_operand(struct partitioner *p, struct making_call *c, uint32_t i) {
    struct reference r = c->from->call.operands[i];
    const struct buffer *buffer = reference_buffer(p, r);
    if (is_tensor_state(buffer)) {
        c->operands[i] = tensor_operand(p, c, r, &c->types[i]);
        return;
    }
    struct buffer_state *state = &p->states[r.buffer];
    if (state->type.zero && is_added_to(c->unit, i)) {
        c->types[i] = state->type;
        return; // which copy is known when the unit is made
    }
    if (!state->type.zero)
        ensure_buffer(p, r.buffer);
    if (!is_added_to(c->unit, i))
        finish_sum(p, r.buffer);
    c->types[i] = state->type;
    c->operands[i] = value_reference(p, r);
}

// A new value's buffer, or the one it has from an earlier call or step, whose type must be the
// same.
static struct reference bind_value_result(struct partitioner *p, struct reference r,
                                          const struct sharding *type) {
    struct buffer_state *state = &p->states[r.buffer];
    if (state->buffer == NO_ID)
        make_value_buffer(p, r.buffer, type);
    for (unsigned d = 0; d < MAX_RANK; d++)
        CHECK(axis_list_equal(&state->type.cuts[d], &type->cuts[d]));
    state->type = *type;
    return value_reference(p, r);
}

// Finds a result's place and notes its type, by which later calls and collectives go.
static struct reference bind_result(struct partitioner *p, struct making_call *c,
                                    const struct unit_use *use, uint32_t i) {
    struct reference r = c->from->call.results[i];
    const struct buffer *buffer = reference_buffer(p, r);
    uint32_t in_parameter = c->unit->results[i].in_parameter;
    if (in_parameter != NO_ID) {
        if (!is_tensor_state(buffer) || c->per_microbatch)
            p->states[r.buffer].type = use->results[i];
        if (c->types[in_parameter].zero) // stays open for summands of other types
            p->states[r.buffer].type = c->types[in_parameter];
        return c->operands[in_parameter];
    }
    if (buffer->class != CLASS_GRADIENTS)
        return bind_value_result(p, r, &use->results[i]);
    buffer_id place = written_gradient(storage_of(p, buffer));
    p->states[r.buffer].type = use->results[i];
    return tensor_item(p, place, r);
}

// A microbatch's gradient that goes through a transient, or is summed over devices where it is, is
// joined to others' behind that; where it is carried, behind its last contribution.
static enum over_time gradient_over_time(const struct partitioner *p, const struct making_call *c,
                                         struct reference gradient) {
    const struct tensor_storage *s = storage_of(p, reference_buffer(p, gradient));
    if (levels_of_counter(p) == 0)
        return s->unreduced == NO_ID ? OVER_TIME_ADDED : OVER_TIME_KEPT;
    bool is_summed = s->sums.reduce_each.n > 0 || written_gradient(s) != s->sum;
    bool is_whole = p->reach.last_writer[gradient.buffer] == c->whole;
    return is_whole && !is_summed ? OVER_TIME_PAIRED : OVER_TIME_KEPT;
}

// Gradients leave units cut as their tensors are, and as summands: storage finishes the sum. So do
// scalars, and bins, for the step. What is handed on is as its reader's work is divided.
static struct wanted_result wanted_of(const struct partitioner *p, const struct making_call *c,
                                      uint32_t i) {
    const struct reference r = c->from->call.results[i];
    const struct buffer *buffer = reference_buffer(p, r);
    bool carries = levels_of_counter(p) > 0;
    bool is_whole = buffer->rank == 0 || buffer->dims[0].dimension == DIM_FLAT;
    if (c->unit->results[i].in_parameter != NO_ID || is_whole)
        return (struct wanted_result){.as_made = true,
                                      .over_time = carries ? OVER_TIME_KEPT : OVER_TIME_ADDED};
    if (buffer->class != CLASS_GRADIENTS)
        return (struct wanted_result){.type = p->states[r.buffer].work};
    const struct tensor_storage *storage = storage_of(p, buffer);
    struct wanted_result wanted = {.over_time = gradient_over_time(p, c, r),
                                   .type.partial = UINT64_MAX,
                                   .summand = storage->summand};
    memcpy(wanted.type.cuts, placement_of(&p->placement, buffer)->cuts, sizeof wanted.type.cuts);
    return wanted;
}

// Scalars that a unit got an accumulating form for; tensors' gradients are zeroed by storage.
static void note_zeroed(struct partitioner *p, struct reference accumulator) {
    for (uint32_t i = 0; i < p->n_zeroes; i++)
        if (p->zeroes[i].buffer == accumulator.buffer)
            return;
    ARENA_PUSH(p->arena, p->zeroes, p->n_zeroes, p->cap_zeroes, accumulator);
}

// The call of the local unit: the reference's operands and results, then those of what was added.
void push_call(struct partitioner *p, struct making_call *c) {
    const struct unit_use *use = c->use;
    uint32_t n_parameters = c->unit->n_parameters, n_results = c->unit->n_results;
    struct call call = {
        .unit = use->unit,
        .operands = ARENA_ARRAY(p->arena, struct reference, n_parameters + use->n_extras + 1),
        .results = ARENA_ARRAY(p->arena, struct reference, n_results + use->n_extras + 1)};
    for (uint32_t i = 0; i < n_parameters; i++)
        if (c->types[i].zero)
            c->operands[i] =
                variant_item(p, c->from->call.operands[i].buffer, use->operands[i].partial);
    memcpy(call.operands, c->operands, n_parameters * sizeof *call.operands);
    for (uint32_t i = 0; i < n_results; i++)
        call.results[i] = bind_result(p, c, use, i);
    for (uint32_t i = 0; i < use->n_extras; i++) {
        const struct unit_extra *extra = &use->extras[i];
        struct reference *operand = &call.operands[n_parameters + i];
        switch (extra->kind) {
        case EXTRA_VARIANT:
            *operand =
                variant_item(p, c->from->call.operands[extra->of].buffer, extra->type.partial);
            call.results[n_results++] = *operand;
            break;
        case EXTRA_MICROBATCH:
            *operand = number_of_microbatch(p);
            break;
        case EXTRA_FIRST:
            *operand = call.results[extra->of];
            gradient_storage(p, c->from->call.results[extra->of])->paired = true;
            break;
        case EXTRA_SUM:
            *operand = call.results[extra->of];
            if (!is_tensor_state(reference_buffer(p, c->from->call.results[extra->of])))
                note_zeroed(p, *operand);
            break;
        }
    }
    push_statement(p,
                   (struct statement){.kind = STATEMENT_CALL, .span = c->from->span, .call = call});
}

static struct making_call begin_call(struct partitioner *p, const struct statement *from,
                                     const struct statement *whole) {
    struct making_call c = {.from = from,
                            .whole = whole,
                            .unit = &p->reference->units[from->call.unit],
                            .per_microbatch = is_per_microbatch(p, whole),
                            .updates = call_updates(p, &whole->call)};
    c.types = ARENA_ARRAY(p->scratch, struct sharding, c.unit->n_parameters + 1);
    c.operands = ARENA_ARRAY(p->scratch, struct reference, c.unit->n_parameters + 1);
    for (uint32_t i = 0; i < c.unit->n_parameters; i++)
        bind_operand(p, &c, i);
    struct wanted_result *wanted =
        ARENA_ARRAY(p->scratch, struct wanted_result, c.unit->n_results + 1);
    for (uint32_t i = 0; i < c.unit->n_results; i++)
        wanted[i] = wanted_of(p, &c, i);
    struct unit_use request = {
        .reference = from->call.unit, .operands = c.types, .wanted = wanted, .layer = p->layer};
    c.use = partition_unit(p, &request);
    return c;
}

// In pieces: storage asks around all of them for what it asks for around a whole call.
static void lower_pieces(struct partitioner *p, const struct cut_call *cut) {
    gather_before(p, cut->of);
    for (uint32_t i = 0; i < cut->n_pieces; i++) {
        struct making_call c = begin_call(p, &cut->pieces[i], cut->of);
        if (cut->rings[i])
            push_ring(p, &c, cut->rings[i]);
        else
            push_call(p, &c);
    }
}

static void lower_whole(struct partitioner *p, const struct statement *from) {
    struct making_call c = begin_call(p, from, from);
    gather_before(p, from);
    push_call(p, &c);
}

// One call and what its types ask for around it: gathers, the call, frees, reductions, gathers of
// what it updated.
static void lower_call(struct partitioner *p, const struct statement *from) {
    const struct cut_call *cut = find_cut_call(p, from);
    struct arena scratch = {0};
    p->scratch = &scratch;
    if (cut)
        lower_pieces(p, cut);
    else
        lower_whole(p, from);
    p->scratch = NULL;
    arena_free(&scratch);
    free_after(p, from);
    reduce_after(p, from);
    sum_averaged(p, from);
    if (p->program->policy.reproducible)
        sum_squares(p, from);
    gather_updated(p, from);
}

// ---- statements -------------------------------------------------------------------------------

static void lower_block(struct partitioner *p, const struct block *block);

static struct statement loop_like(const struct statement *from) {
    struct statement made = *from;
    made.loop.body = (struct block){0};
    return made;
}

// Runs `visit` for the calls of a run of statements, inside loops like theirs.
typedef void (*call_visitor)(struct partitioner *, const struct statement *call);

static void visit_calls(struct partitioner *p, const struct statement *statements, uint32_t n,
                        call_visitor visit) {
    for (uint32_t i = 0; i < n; i++) {
        if (statements[i].kind == STATEMENT_CALL)
            visit(p, &statements[i]);
        if (statements[i].kind != STATEMENT_LOOP)
            continue;
        struct statement made = loop_like(&statements[i]);
        struct block *outer = p->block;
        p->block = &made.loop.body;
        visit_calls(p, statements[i].loop.body.statements, statements[i].loop.body.n, visit);
        p->block = outer;
        if (made.loop.body.n)
            push_statement(p, made);
    }
}

// A loop over groups of layers: the outermost of those around a layer.
static bool begins_unit(const struct partitioner *p, const struct statement *from) {
    return !p->gather_unit && from->loop.body.statements[0].kind == STATEMENT_LOOP;
}

static void gather_unit(struct partitioner *p) {
    const struct block *body = &p->gather_unit->loop.body;
    visit_calls(p, body->statements, body->n, gather_unit_parts);
    visit_calls(p, body->statements, body->n, gather_unit_wholes);
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL && !call_updates(p, &walk.statement->call))
            gather_turn(p, walk.statement);
}

static void lower_loop(struct partitioner *p, const struct statement *from) {
    struct statement made = loop_like(from);
    struct block *outer = p->block;
    int64_t outer_layer = p->layer;
    const struct statement *outer_unit = p->gather_unit;
    p->block = &made.loop.body;
    p->layer = from->loop.begin;
    p->depth++;
    if (begins_unit(p, from)) {
        p->gather_unit = from;
        gather_unit(p);
    }
    lower_block(p, &from->loop.body);
    p->gather_unit = outer_unit;
    p->depth--;
    p->layer = outer_layer;
    p->block = outer;
    if (made.loop.body.n)
        push_statement(p, made);
}

// Zeroing waits until the types of what is added are known.
static void lower_zero(struct partitioner *p, const struct statement *from) {
    struct buffer_state *state = &p->states[from->zero.buffer];
    CHECK(p->block == &p->step->body && !is_tensor_state(reference_buffer(p, from->zero)));
    *state = (struct buffer_state){
        .buffer = NO_ID, .type = {.zero = true}, .zero_at = p->block->n, .zero_span = from->span};
}

static void lower_free(struct partitioner *p, const struct statement *from) {
    struct reference *items = ARENA_ARRAY(p->arena, struct reference, from->free.n_items);
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->free.n_items; i++) {
        struct reference freed = from->free.items[i];
        // Tensors' transients are freed where they were made.
        if (!is_tensor_state(reference_buffer(p, freed)) && p->states[freed.buffer].buffer != NO_ID)
            items[n++] = value_reference(p, freed);
    }
    struct statement made = *from;
    made.free.items = items;
    made.free.n_items = n;
    if (n > 0)
        push_statement(p, made);
}

static void lower_statement(struct partitioner *p, const struct statement *from) {
    switch (from->kind) {
    case STATEMENT_LOOP:
        lower_loop(p, from);
        break;
    case STATEMENT_CALL:
        lower_call(p, from);
        break;
    case STATEMENT_ZERO:
        lower_zero(p, from);
        break;
    case STATEMENT_FREE:
        lower_free(p, from);
        break;
    default:
        CHECK(false); // the reference program has no collectives
    }
}

static void lower_block(struct partitioner *p, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        lower_statement(p, &block->statements[i]);
}

// ---- microbatches -----------------------------------------------------------------------------

static void push_zeroes(struct partitioner *p, struct span span) {
    for (uint32_t i = 0; i < p->n_zeroes; i++)
        push_statement(
            p, (struct statement){.kind = STATEMENT_ZERO, .span = span, .zero = p->zeroes[i]});
    p->n_zeroes = 0;
}

// What was accumulated is whole once the loop has ended.
static void discharge_time(struct partitioner *p) {
    for (uint32_t i = 0; i < p->reference->n_buffers; i++)
        p->states[i].type.partial &= ~(UINT64_C(1) << p->time);
}

// The body is made first, because it shows what has to be zeroed and gathered before it.
static void lower_microbatches(struct partitioner *p, const struct statement *statements,
                               uint32_t n) {
    struct span span = p->config->train.microbatch_origin.span;
    struct statement made = {.kind = STATEMENT_LOOP,
                             .span = span,
                             .loop = {.name = "m", .end = p->placement.microbatches}};
    struct block *outer = p->block;
    p->block = &made.loop.body;
    p->in_microbatch = true;
    p->depth++;
    for (uint32_t i = 0; i < n; i++)
        lower_statement(p, &statements[i]);
    if (levels_of_counter(p))
        carry_scalars(p, span);
    p->depth--;
    p->block = outer;
    p->in_microbatch = false;
    push_zeroes(p, span);
    if (!levels_of_counter(p))
        visit_calls(p, statements, n, zero_gradients);
    visit_calls(p, statements, n, gather_kept);
    push_statement(p, made);
    discharge_time(p);
    visit_calls(p, statements, n, free_kept);
    visit_calls(p, statements, n, reduce_last);
}

// ---- the step ---------------------------------------------------------------------------------

// Results that the host reads are sums over all devices, even if no call has read them.
static void finish_outputs(struct partitioner *p) {
    for (uint32_t i = 0; i < p->reference->n_buffers; i++)
        if (p->reference->buffers[i].class == CLASS_OUTPUT && p->states[i].type.partial)
            finish_sum(p, i);
}

void partition_step(struct partitioner *p, enum step_kind kind) {
    const struct step *from = &p->reference->steps[kind];
    p->step = &p->program->steps[kind];
    *p->step = (struct step){.present = true, .span = from->span};
    p->block = &p->step->body;
    find_reach(p, &from->body);
    if (kind == STEP_AVERAGE)
        begin_average(p);
    const struct statement *statements = from->body.statements;
    for (uint32_t i = 0; i < from->body.n;) {
        uint32_t end = i;
        while (end < from->body.n && is_per_microbatch(p, &statements[end]))
            end++;
        bool many = end > i && p->placement.microbatches > 1;
        end = many ? end : i + 1;
        if (many)
            lower_microbatches(p, &statements[i], end - i);
        else
            lower_statement(p, &statements[i]);
        i = end;
    }
    finish_outputs(p);
}
