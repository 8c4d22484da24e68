// Partition, reach: what the reference program says of its calls. Which of them update, which belong to
// a microbatch, which read a parameter first and last, and from where to where one use of a
// parameter goes.
#include "passes/partition/plan.h"

const struct buffer *reference_buffer(const struct plan *plan, struct reference r) {
    return &plan->reference->buffers[r.buffer];
}

bool is_tensor_state(const struct buffer *buffer) {
    return buffer->class == CLASS_PARAMETERS || buffer->class == CLASS_GRADIENTS;
}

bool has_way(const struct buffer *buffer) {
    return is_tensor_state(buffer) || class_states[buffer->class] == STATE_OPTIMIZER;
}

bool has_batch(const struct buffer *buffer) {
    for (unsigned d = 0; d < buffer->rank; d++)
        if (buffer->dims[d].dimension == DIM_BATCH)
            return true;
    return false;
}

bool call_updates(const struct plan *plan, const struct call *call) {
    const struct unit *unit = &plan->reference->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (reference_buffer(plan, call->results[i])->class == CLASS_PARAMETERS)
            return true;
    return false;
}

static bool touches_batch(const struct plan *plan, const struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(plan->reference, statement, i)).at; i++)
        if (has_batch(reference_buffer(plan, *access.at)))
            return true;
    return false;
}

// A call belongs to one microbatch if anything it touches has a batch, a loop if any of its calls
// does. Norms and updates see sums over the batch only, and so run once.
bool is_per_microbatch(const struct plan *plan, const struct statement *statement) {
    if (statement->kind != STATEMENT_LOOP)
        return touches_batch(plan, statement);
    struct statement_walk walk = walk_statements(&statement->loop.body);
    while (walk_next(&walk))
        if (touches_batch(plan, walk.statement))
            return true;
    return false;
}

// ---- first and last ---------------------------------------------------------------------------

// Only the pieces of one loop call a unit more than once in a step.
bool is_same_call(const struct statement *a, const struct statement *b) {
    return a && b && a->call.unit == b->call.unit;
}

enum pipeline_end end_of_call(const struct plan *plan, const struct call *call) {
    const struct placed_pipeline *pipeline = &plan->placement.pipeline;
    if (!plan->pipeline_axes ||
        pipeline->schedule->rank_of[0] == pipeline->schedule->rank_of[pipeline->n_stages - 1])
        return END_EMBEDDING;
    const struct unit *unit = &plan->reference->job->units[call->unit];
    return unit_has_role(unit, ROLE_HEAD) ? END_HEAD : END_EMBEDDING;
}

// The update reads parameters as they are stored: that is no use to gather for, or to keep until.
static void reach_call(const struct plan *plan, const struct statement *statement,
                       struct reach *reach) {
    const struct call *call = &statement->call;
    const struct unit *unit = &plan->reference->job->units[call->unit];
    bool updates = call_updates(plan, call);
    enum pipeline_end end = end_of_call(plan, call);
    for (uint32_t i = 0; i < unit->n_parameters && !updates; i++) {
        buffer_id b = call->operands[i].buffer;
        if (!reach->first_reader[b])
            reach->first_reader[b] = statement;
        if (!reach->first_reader_at[end][b])
            reach->first_reader_at[end][b] = statement;
        reach->last_reader[b] = reach->last_reader_at[end][b] = statement;
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        buffer_id b = call->results[i].buffer;
        if (!reach->first_writer[b])
            reach->first_writer[b] = statement;
        reach->last_writer[b] = statement;
    }
}

bool reads_parameter(const struct plan *plan, const struct statement *s, buffer_id buffer) {
    if (s->kind != STATEMENT_CALL || call_updates(plan, &s->call))
        return false;
    for (uint32_t i = 0; i < plan->reference->job->units[s->call.unit].n_parameters; i++)
        if (s->call.operands[i].buffer == buffer)
            return true;
    return false;
}

// The same item, in a call that stands beside this one.
static bool is_read_beside(const struct plan *plan, const struct statement *beside,
                           struct reference parameter) {
    if (!beside || !reads_parameter(plan, beside, parameter.buffer))
        return false;
    for (uint32_t i = 0; i < plan->reference->job->units[beside->call.unit].n_parameters; i++)
        if (reference_equal(&beside->call.operands[i], &parameter))
            return true;
    return false;
}

// A use goes over calls side by side; with the next that begins, what is read is read again.
// `counted`: of buffers: the call that began the last use.
static void count_uses(const struct plan *plan, const struct block *block, struct reach *reach,
                       const struct statement **counted) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        struct cursor at = at_statement((struct cursor){0}, block->statements, block->n, i);
        if (s->kind == STATEMENT_LOOP)
            count_uses(plan, &s->loop.body, reach, counted);
        if (s->kind != STATEMENT_CALL || call_updates(plan, &s->call))
            continue;
        for (uint32_t k = 0; k < plan->reference->job->units[s->call.unit].n_parameters; k++) {
            buffer_id b = s->call.operands[k].buffer;
            if (is_read_beside(plan, at.before, s->call.operands[k]) || is_same_call(counted[b], s))
                continue;
            reach->uses[b]++;
            counted[b] = s;
        }
    }
}

struct reach find_reach(const struct plan *plan, enum step_kind kind) {
    const struct block *body = &plan->reference->steps[kind].body;
    uint32_t n = plan->reference->n_buffers + 1;
    struct reach reach = {.first_reader = ARENA_ARRAY(plan->arena, const struct statement *, n),
                          .last_reader = ARENA_ARRAY(plan->arena, const struct statement *, n),
                          .first_writer = ARENA_ARRAY(plan->arena, const struct statement *, n),
                          .last_writer = ARENA_ARRAY(plan->arena, const struct statement *, n),
                          .uses = ARENA_ARRAY(plan->arena, uint32_t, n)};
    for (enum pipeline_end end = 0; end < N_ENDS; end++) {
        reach.first_reader_at[end] = ARENA_ARRAY(plan->arena, const struct statement *, n);
        reach.last_reader_at[end] = ARENA_ARRAY(plan->arena, const struct statement *, n);
    }
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            reach_call(plan, walk.statement, &reach);
    count_uses(plan, body, &reach, ARENA_ARRAY(plan->arena, const struct statement *, n));
    return reach;
}

// ---- uses of a parameter ----------------------------------------------------------------------

static int64_t layers_at_once(const struct plan *plan, buffer_id buffer) {
    return storage_of(&plan->placement, &plan->reference->buffers[buffer])->gather_layers;
}

// How many layers of a group the loops around a call, and around the same call, go through.
static int64_t layers_called_in(const struct block *group, const struct statement *call) {
    int64_t layers = 0;
    struct statement_walk walk = walk_statements(group);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL && is_same_call(walk.statement, call))
            layers = size_plus(layers, walk_trips(&walk));
    return layers;
}

// Forward or backward goes through all of them.
static int64_t layers_of_group(const struct block *group) {
    int64_t most = 1;
    struct statement_walk walk = walk_statements(group);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        int64_t layers = layers_called_in(group, walk.statement);
        most = layers > most ? layers : most;
    }
    return most;
}

// The calls in a group that read a parameter in every layer of it; NULL: none does.
struct group_readers {
    const struct statement *first, *last;
};

static struct group_readers readers_of_all(const struct plan *plan, struct cursor at,
                                           buffer_id buffer) {
    int64_t layers = layers_of_group(at.group);
    struct group_readers readers = {0};
    struct statement_walk walk = walk_statements(at.group);
    while (walk_next(&walk))
        if (reads_parameter(plan, walk.statement, buffer) &&
            layers_called_in(at.group, walk.statement) == layers) {
            readers.first = readers.first ? readers.first : walk.statement;
            readers.last = walk.statement;
        }
    return readers;
}

// What some layers of a group do without (a bias that only recomputing reads, of all layers but the
// last) is gathered layer by layer. Of layers that take turns, what starts ahead of its use does so
// by turns, so it is gathered in front of the loops over a turn's layers, too.
enum use use_of(const struct plan *plan, struct cursor at, struct reference parameter) {
    if (!at.group)
        return USE_CALL;
    if (layers_at_once(plan, parameter.buffer) > 1 &&
        readers_of_all(plan, at, parameter.buffer).first)
        return USE_GROUP;
    bool ahead = storage_of(&plan->placement, reference_buffer(plan, parameter))->prefetch > 0;
    return ahead && parameter.indices[0].variable == 0 ? USE_TURN : USE_CALL;
}

enum use update_use_of(const struct plan *plan, struct cursor at, struct reference state) {
    const struct buffer *buffer = reference_buffer(plan, state);
    const struct storage *storage = storage_of(&plan->placement, buffer);
    return at.group && storage->copied_layers[class_states[buffer->class]] > 1 ? USE_GROUP
                                                                               : USE_CALL;
}

int64_t layers_of_use(const struct plan *plan, struct cursor at, enum use use) {
    return use == USE_GROUP ? layers_of_group(at.group) : 1;
}

bool continues_use(const struct plan *plan, struct cursor at, struct reference parameter) {
    return is_read_beside(plan, at.before, parameter) && use_of(plan, at, parameter) == USE_CALL;
}

bool begins_use(const struct plan *plan, struct cursor at, const struct statement *call,
                struct reference parameter, enum use use) {
    if (use_of(plan, at, parameter) != use)
        return false;
    if (use == USE_GROUP)
        return is_same_call(readers_of_all(plan, at, parameter.buffer).first, call);
    return use != USE_CALL || !is_read_beside(plan, at.before, parameter);
}

bool ends_use(const struct plan *plan, struct cursor at, const struct statement *call,
              struct reference parameter) {
    enum use use = use_of(plan, at, parameter);
    if (use == USE_GROUP)
        return is_same_call(readers_of_all(plan, at, parameter.buffer).last, call);
    return use != USE_CALL || !is_read_beside(plan, at.behind, parameter);
}
