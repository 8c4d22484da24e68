// Recompute: backward units compute again what the strategy does not keep.
//
// Input: the reference program and the residencies of activations (`activations.SELECTOR :
// recomputed`). Output: the same program, in which a value that forward left behind only for its
// backward unit, made by an op that a statement says to recompute, is no longer left: the backward
// unit has that op itself. It starts from the forward unit's own parameters (a block's input, its
// weights) and from what is kept: a value whose op no statement says to recompute is kept, and
// becomes so if backward did not read it before. (Attention's rotated queries are recomputed
// from queries, not from the norm before them.)
//
// This is done on logical units, before partition: collectives that a recomputed op needs come out
// of its types, as everywhere else. Where backward follows forward at once (the head), nothing is
// dropped: the value would be alive in between anyway.
#include <inttypes.h>
#include <stdlib.h>

#include "ir/check.h"
#include "ir/names.h"
#include "passes/layers/layer_groups.h"
#include "passes/layers/recompute.h"

// ---- what is dropped --------------------------------------------------------------------------

static bool is_call_of(const struct program *program, const struct statement *statement,
                       enum phase phase) {
    return statement->kind == STATEMENT_CALL &&
           program->job->units[statement->call.unit].phase == phase;
}

static void find_forward(struct recomputing *r) {
    struct statement_walk walk = walk_statements(&r->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (!is_call_of(r->program, walk.statement, PHASE_FORWARD))
            continue;
        struct layer_range around;
        const struct layer_range *layers = NULL;
        if (layers_around(&walk, &around))
            layers = arena_copy(r->program->arena, &around, sizeof around);
        struct access access;
        for (uint32_t i = 0; (access = statement_access(r->program, walk.statement, i)).at; i++)
            if (access.written) {
                r->writer[access.at->buffer] = walk.statement;
                r->layers[access.at->buffer] = layers;
            } else {
                r->feeds_forward[access.at->buffer] = true;
            }
    }
}

// The value of the writer's unit that a buffer holds.
static value_id left_value(const struct recomputing *r, buffer_id buffer) {
    const struct call *call = &r->writer[buffer]->call;
    const struct unit *unit = &r->program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (call->results[i].buffer == buffer)
            return unit->results[i].value;
    CHECK(false);
}

// `backward` reads the buffer; does the strategy let it do without?
static bool is_dropped(const struct recomputing *r, buffer_id buffer,
                       const struct statement *backward) {
    if (r->program->buffers[buffer].class != CLASS_ACTIVATIONS || !r->writer[buffer] ||
        r->feeds_forward[buffer] || r->writer[buffer] + 1 == backward)
        return false;
    const struct unit *unit = &r->program->job->units[r->writer[buffer]->call.unit];
    const struct op *op = unit_producer(unit, left_value(r, buffer));
    return op && is_recomputed(r, op, r->layers[buffer]);
}

// Marks what the backward call does without. Returns one of it, or NO_ID: nothing. A call reverses
// one forward call, so all of it was left by that one.
static buffer_id drop_operands(struct recomputing *r, const struct statement *backward) {
    buffer_id found = NO_ID;
    for (uint32_t i = 0; i < r->program->job->units[backward->call.unit].n_parameters; i++) {
        buffer_id buffer = backward->call.operands[i].buffer;
        if (!is_dropped(r, buffer, backward))
            continue;
        CHECK(found == NO_ID || r->writer[found] == r->writer[buffer]);
        r->dropped[buffer] = true;
        found = buffer;
    }
    return found;
}

// ---- forward leaves less ----------------------------------------------------------------------

// Whether results are dropped, of each unit; NULL: none of it is.
static bool **find_gone(const struct recomputing *r) {
    const struct program *program = r->program;
    bool **gone = ARENA_ARRAY(program->arena, bool *, program->job->n_units + 1);
    for (uint32_t b = 0; b < r->n_buffers; b++) {
        if (!r->dropped[b])
            continue;
        const struct call *call = &r->writer[b]->call;
        uint32_t n_results = program->job->units[call->unit].n_results;
        if (!gone[call->unit])
            gone[call->unit] = ARENA_ARRAY(program->arena, bool, n_results);
        for (uint32_t i = 0; i < n_results; i++)
            gone[call->unit][i] |= call->results[i].buffer == b;
    }
    return gone;
}

static void drop_of_call(const struct program *program, struct call *call, const bool *gone) {
    for (uint32_t i = 0, n = 0; i < program->job->units[call->unit].n_results; i++)
        if (!gone[i])
            call->results[n++] = call->results[i];
}

static void drop_of_unit(struct unit *unit, const bool *gone) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (!gone[i])
            unit->results[n++] = unit->results[i];
    unit->n_results = n;
}

// Results of the calls in all steps, then those of the units themselves.
static void forward_leaves_less(struct recomputing *r) {
    struct program *program = r->program;
    bool **gone = find_gone(r);
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct statement_walk walk = walk_statements(&program->steps[kind].body);
        while (walk_next(&walk))
            if (walk.statement->kind == STATEMENT_CALL && gone[walk.statement->call.unit])
                drop_of_call(program, &walk.statement->call, gone[walk.statement->call.unit]);
    }
    for (uint32_t u = 0; u < program->job->n_units; u++)
        if (gone[u])
            drop_of_unit(&program->job->units[u], gone[u]);
}

// Buffers that nothing is left of: those of groups have become slots.
static void remove_dropped(struct recomputing *r) {
    struct program *program = r->program;
    bool *removed = ARENA_ARRAY(program->arena, bool, program->n_buffers + 1);
    for (uint32_t b = 0; b < r->n_buffers; b++)
        removed[b] = r->dropped[b] && !buffer_stack(&program->buffers[b], STACK_SLOTS);
    program_remove_buffers(program, removed);
}

// ---- ranges of layers -------------------------------------------------------------------------

// A call in a loop: between two ranges nothing is recomputed.
struct ranged_call {
    struct call *call;
    uint32_t unit, order; // the unit that it had, and where it stands among all
    int64_t layer;        // where its loop begins
    bool trains;
};

static int by_unit(const void *left, const void *right) {
    const struct ranged_call *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

// Calls are sorted by their units, those of each in the order of the text.
static struct ranged_call *list_calls(struct program *program, struct arena *arena, uint32_t *n) {
    struct ranged_call *calls = NULL;
    uint32_t found = 0, cap = 0;
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct statement_walk walk = walk_statements(&program->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, walk.depth - 1);
            if (walk.statement->kind != STATEMENT_CALL || !loop)
                continue;
            struct call *call = &walk.statement->call;
            struct ranged_call ranged = {call, call->unit, found, loop->begin, kind == STEP_TRAIN};
            ARENA_PUSH(arena, calls, found, cap, ranged);
        }
    }
    if (found)
        qsort(calls, found, sizeof *calls, by_unit);
    *n = found;
    return calls;
}

static const char *own_name(const struct program *program, struct arena *arena,
                            const struct ranged_call *at) {
    return arena_format(arena, "%s_%" PRId64, program->job->units[at->unit].name, at->layer);
}

// Ranges of layers share their units until here, but what one recomputes another may keep: where
// there are several ranges, all behind the first get units of their own, in all steps.
static void separate_ranges(struct program *program) {
    struct arena scratch = {0};
    struct names own = {.arena = &scratch}; // units of ranges
    uint32_t n;
    struct ranged_call *calls = list_calls(program, &scratch, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool behind = i > 0 && calls[i - 1].unit == calls[i].unit && calls[i - 1].trains;
        if (!calls[i].trains || !behind || program->job->units[calls[i].unit].phase == PHASE_UPDATE)
            continue;
        const char *name = own_name(program, program->arena, &calls[i]);
        if (names_find(&own, name) == NOT_NAMED)
            names_add(&own, name, job_clone_unit(program->job, calls[i].unit, name));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t unit = names_find(&own, own_name(program, &scratch, &calls[i]));
        if (unit != NOT_NAMED)
            calls[i].call->unit = unit;
    }
    arena_free(&scratch);
}

// ---- the pass ---------------------------------------------------------------------------------

bool recompute(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    uint32_t n = program->n_buffers;
    if (!recomputes_anything(&context->config->strategy))
        return true;
    separate_ranges(program);
    struct recomputing r = {
        .program = program,
        .modes = modes_by_layer(program->arena, &context->config->strategy),
        .n_buffers = n,
        .writer = ARENA_ARRAY(program->arena, const struct statement *, n + 1),
        .layers = ARENA_ARRAY(program->arena, const struct layer_range *, n + 1),
        .feeds_forward = ARENA_ARRAY(program->arena, bool, n + 1),
        .dropped = ARENA_ARRAY(program->arena, bool, n + 1),
        .heard = ARENA_ARRAY(program->arena, bool, context->config->strategy.n_modes + 1)};
    if (!placement_for(program, context, &r.placement))
        return false;
    find_forward(&r);
    find_groups(&r);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (!is_call_of(program, walk.statement, PHASE_BACKWARD))
            continue;
        buffer_id dropped = drop_operands(&r, walk.statement);
        if (dropped != NO_ID && !layer_group_of(&r, &r.writer[dropped]->call))
            remake_backward(&r, dropped, &walk.statement->call);
    }
    recompute_in_groups(&r);
    forward_leaves_less(&r);
    cut_groups(&r);
    remove_dropped(&r);
    report_recomputes_nothing(&r, context->diagnostics);
    job_number(program->job);
    return true;
}
