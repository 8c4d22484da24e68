// Recompute: backward units compute again what the strategy does not keep.
//
// Input: the reference program and the residencies of activations (`activations.SELECTOR :
// recomputed`, LANGUAGE.md 2). Output: the same program, in which a value that forward left behind
// only for its backward unit, made by an op that a statement says to recompute, is no longer left:
// the backward unit has that op itself. It starts from the forward unit's own parameters (a block's
// input, its weights) and from what is kept: a value whose op no statement says to recompute is,
// and becomes so if backward did not read it before. (Attention's rotated queries are recomputed
// from queries, not from the norm before them.)
//
// This is done on logical units, before partition: collectives that a recomputed op needs come out
// of its types, as everywhere else.
//
// A recomputed op stands right before its first reader, so that what backward does not need yet
// takes no memory. Where backward follows forward at once (the head), nothing is dropped: the value
// would be alive in between anyway.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "passes/emit.h"
#include "passes/gradients.h"
#include "passes/passes.h"
#include "passes/saved.h"
#include "passes/select.h"

// ---- what is dropped --------------------------------------------------------------------------

struct recomputing {
    struct program *program;
    const struct strategy_config *strategy;
    const struct statement **writer; // of buffers: the forward call that leaves it; NULL: none
    const struct loop **loop;        // of buffers: around their writer; NULL: none
    bool *feeds_forward;             // of buffers: a forward call reads it
    bool *dropped;                   // of buffers
};

static bool is_call_of(const struct program *program, const struct statement *statement,
                       enum phase phase) {
    return statement->kind == STATEMENT_CALL && program->units[statement->call.unit].phase == phase;
}

static void find_forward(struct recomputing *r) {
    struct statement_walk walk = walk_statements(&r->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (!is_call_of(r->program, walk.statement, PHASE_FORWARD))
            continue;
        struct access access;
        for (uint32_t i = 0; (access = statement_access(r->program, walk.statement, i)).at; i++)
            if (access.written) {
                r->writer[access.at->buffer] = walk.statement;
                r->loop[access.at->buffer] = walk_loop(&walk, walk.depth - 1);
            } else {
                r->feeds_forward[access.at->buffer] = true;
            }
    }
}

// The value of the writer's unit that a buffer holds.
static value_id left_value(const struct recomputing *r, buffer_id buffer) {
    const struct call *call = &r->writer[buffer]->call;
    const struct unit *unit = &r->program->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (call->results[i].buffer == buffer)
            return unit->results[i].value;
    CHECK(false);
}

static bool is_recomputed(const struct recomputing *r, const struct op *op,
                          const struct loop *loop) {
    const struct mode_statement *mode = residency_of(r->strategy, STATE_ACTIVATIONS, op->roles,
                                                     op->n_roles, loop ? loop->begin : 0);
    return mode && mode->residency == RESIDENCY_MATERIALIZED;
}

// `backward` reads the buffer; does the strategy let it do without?
static bool is_dropped(const struct recomputing *r, buffer_id buffer,
                       const struct statement *backward) {
    if (r->program->buffers[buffer].class != CLASS_ACTIVATIONS || !r->writer[buffer] ||
        r->feeds_forward[buffer] || r->writer[buffer] + 1 == backward)
        return false;
    const struct unit *unit = &r->program->units[r->writer[buffer]->call.unit];
    const struct op *op = unit_producer(unit, left_value(r, buffer));
    return op && is_recomputed(r, op, r->loop[buffer]);
}

// ---- a backward unit made anew ----------------------------------------------------------------

struct segment {
    struct recomputing *r;
    struct program *program;
    const struct call *call; // of forward
    const struct loop *loop; // around it
    const struct unit *forward;
    struct unit old;   // the backward unit as it was
    struct unit *unit; // as it will be
    value_id *here;    // of forward's values, in the new unit; NO_ID: not (yet)
    value_id *source;  // of old's parameters: the value of forward that it is; NO_ID: none
    bool *again;       // of old's parameters: it is recomputed
    value_id *map;     // of old's values, in the new unit
    // Of the parameters that the old unit lacks: what the call gives them.
    struct reference *added;
    uint32_t n_added, cap_added;
};

// A copy of `op`, which is of unit `from`, on operands of the new unit.
static const struct op *append_copy(struct segment *s, const struct unit *from, const struct op *op,
                                    const value_id *operands) {
    struct emitter to = {.program = s->program, .unit = s->unit};
    return emit_copy(&to, from, op, operands);
}

// A value of forward, computed at its first use.
static value_id recomputed_value(struct segment *s, value_id v) {
    if (s->here[v] != NO_ID)
        return s->here[v];
    const struct op *op = unit_producer(s->forward, v);
    value_id operands[MAX_OPERANDS];
    CHECK(op);
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = recomputed_value(s, op->operands[i]);
    const struct op *made = append_copy(s, s->forward, op, operands);
    for (unsigned i = 0; i < op->n_results; i++)
        if (s->here[op->results[i]] == NO_ID) // one that is kept is read as it was kept
            s->here[op->results[i]] = made->results[i];
    return s->here[v];
}

static value_id value_here(struct segment *s, value_id old) {
    if (old < s->old.n_parameters && s->again[old])
        return recomputed_value(s, s->source[old]);
    return s->map[old];
}

// What `differentiate` computes again of its own accord (positions, cheap functions) may have been
// recomputed by now. The length of an iota is its type's.
static const struct op *find_same(const struct segment *s, const struct op *like,
                                  const value_id *operands) {
    const struct unit *unit = s->unit;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        if (op->kind == like->kind && op_attributes_equal(op, like) &&
            type_equal(&unit->values[op->results[0]].type, &s->old.values[like->results[0]].type) &&
            memcmp(op->operands, operands, like->n_operands * sizeof *operands) == 0)
            return op;
    }
    return NULL;
}

static void copy_op(struct segment *s, const struct op *old) {
    value_id operands[MAX_OPERANDS];
    for (unsigned i = 0; i < old->n_operands; i++)
        operands[i] = value_here(s, old->operands[i]);
    const struct op *made = find_same(s, old, operands);
    if (!made)
        made = append_copy(s, &s->old, old, operands);
    for (unsigned i = 0; i < old->n_results; i++)
        s->map[old->results[i]] = made->results[i];
}

static struct reference forward_value(struct segment *s, value_id v) {
    if (v < s->forward->n_parameters)
        return s->call->operands[v];
    for (uint32_t i = 0; i < s->forward->n_results; i++)
        if (s->forward->results[i].value == v)
            return s->call->results[i];
    return save_value(s->program, s->call, v, s->loop);
}

// Cheap in any case; a part only where what it is taken from is kept anyway.
static bool is_cheap(const struct segment *s, const struct op *op) {
    return is_computed_again(op->kind) &&
           (!op_moves_elements(op->kind) || s->here[op->operands[0]] != NO_ID);
}

// What a recomputed value is computed from becomes parameters, where it is not yet: forward's own
// parameters, and what is kept.
static void add_sources(struct segment *s, value_id v, bool *visited) {
    if (s->here[v] != NO_ID || visited[v])
        return;
    visited[v] = true;
    const struct op *op = unit_producer(s->forward, v);
    if (op && (is_recomputed(s->r, op, s->loop) || is_cheap(s, op))) {
        for (unsigned i = 0; i < op->n_operands; i++)
            add_sources(s, op->operands[i], visited);
        return;
    }
    const struct value *value = &s->forward->values[v];
    const char *name = unit_fresh_name(s->program, s->unit, value->name);
    s->here[v] = unit_add_parameter(s->program, s->unit, name, value->type, false);
    ARENA_PUSH(s->program->arena, s->added, s->n_added, s->cap_added, forward_value(s, v));
}

static void copy_parameters(struct segment *s) {
    struct arena *arena = s->program->arena;
    bool *visited = ARENA_ARRAY(arena, bool, s->forward->n_values);
    for (uint32_t i = 0; i < s->old.n_parameters; i++) {
        const struct value *value = &s->old.values[i];
        if (s->again[i])
            continue;
        s->map[i] =
            unit_add_parameter(s->program, s->unit, value->name, value->type, s->old.consumed[i]);
        if (s->source[i] != NO_ID)
            s->here[s->source[i]] = s->map[i];
    }
    for (uint32_t i = 0; i < s->old.n_parameters; i++)
        if (s->again[i])
            add_sources(s, s->source[i], visited);
}

static void copy_results(struct segment *s) {
    for (uint32_t i = 0; i < s->old.n_results; i++) {
        struct unit_result result = s->old.results[i];
        uint32_t in_parameter = result.in_parameter == NO_ID ? NO_ID : s->map[result.in_parameter];
        unit_add_result(s->program, s->unit, value_here(s, result.value), in_parameter);
    }
}

static bool same_reference(struct reference a, struct reference b) {
    return a.buffer == b.buffer && index_equal(a.index, b.index);
}

// Which values of forward the old unit's parameters are: what forward read, or what it left.
static void match_parameters(struct segment *s, const struct call *backward) {
    for (uint32_t i = 0; i < s->old.n_parameters; i++) {
        struct reference at = backward->operands[i];
        s->source[i] = NO_ID;
        for (uint32_t k = 0; k < s->forward->n_parameters; k++)
            if (same_reference(s->call->operands[k], at))
                s->source[i] = k;
        for (uint32_t k = 0; k < s->forward->n_results; k++)
            if (same_reference(s->call->results[k], at))
                s->source[i] = s->forward->results[k].value;
        s->again[i] = s->r->dropped[at.buffer];
        CHECK(s->source[i] != NO_ID || !s->again[i]);
    }
}

// The call's operands follow the unit's parameters: without what is recomputed, with what is added.
static void follow_parameters(const struct segment *s, struct call *call) {
    struct reference *operands =
        ARENA_ARRAY(s->program->arena, struct reference, s->unit->n_parameters);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->old.n_parameters; i++)
        if (!s->again[i])
            operands[n++] = call->operands[i];
    for (uint32_t i = 0; i < s->n_added; i++)
        operands[n++] = s->added[i];
    CHECK(n == s->unit->n_parameters);
    call->operands = operands;
}

static void remake(struct recomputing *r, buffer_id left, struct call *call) {
    struct arena *arena = r->program->arena;
    const struct call *forward = &r->writer[left]->call;
    struct unit *unit = &r->program->units[call->unit];
    const struct unit *from = &r->program->units[forward->unit];
    struct segment s = {
        .r = r,
        .program = r->program,
        .call = forward,
        .loop = r->loop[left],
        .forward = from,
        .old = *unit,
        .unit = unit,
        .here = ARENA_ARRAY(arena, value_id, from->n_values),
        .source = ARENA_ARRAY(arena, value_id, unit->n_parameters + 1),
        .again = ARENA_ARRAY(arena, bool, unit->n_parameters + 1),
        .map = ARENA_ARRAY(arena, value_id, unit->n_values + 1),
    };
    for (value_id v = 0; v < from->n_values; v++)
        s.here[v] = NO_ID;
    *unit = (struct unit){.name = s.old.name,
                          .phase = s.old.phase,
                          .frame_bytes = s.old.frame_bytes,
                          .frame = s.old.frame,
                          .span = s.old.span};
    match_parameters(&s, call);
    copy_parameters(&s);
    for (uint32_t i = 0; i < s.old.n_ops; i++)
        copy_op(&s, &s.old.ops[i]);
    copy_results(&s);
    follow_parameters(&s, call);
}

// Marks what the backward call does without. Returns one of it, or NO_ID: nothing. A call reverses
// one forward call, so all of it was left by that one.
static buffer_id drop_operands(struct recomputing *r, const struct statement *backward) {
    buffer_id found = NO_ID;
    for (uint32_t i = 0; i < r->program->units[backward->call.unit].n_parameters; i++) {
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

// Results of the calls in both steps, then those of the unit itself.
static void drop_results(struct recomputing *r, uint32_t unit_id, const bool *gone) {
    struct unit *unit = &r->program->units[unit_id];
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct statement_walk walk = walk_statements(&r->program->steps[kind].body);
        while (walk_next(&walk)) {
            struct call *call = &walk.statement->call;
            if (walk.statement->kind != STATEMENT_CALL || call->unit != unit_id)
                continue;
            for (uint32_t i = 0, n = 0; i < unit->n_results; i++)
                if (!gone[i])
                    call->results[n++] = call->results[i];
        }
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (!gone[i])
            unit->results[n++] = unit->results[i];
    unit->n_results = n;
}

// `n`: the buffers that there were before some were added for what is kept now.
static void forward_leaves_less(struct recomputing *r, uint32_t n) {
    struct program *program = r->program;
    bool *removed = ARENA_ARRAY(program->arena, bool, program->n_buffers + 1);
    for (uint32_t b = 0; b < n; b++) {
        if (!r->dropped[b])
            continue;
        const struct call *call = &r->writer[b]->call;
        uint32_t n_results = program->units[call->unit].n_results;
        bool *gone = ARENA_ARRAY(program->arena, bool, n_results);
        for (uint32_t i = 0; i < n_results; i++)
            gone[i] = call->results[i].buffer == b;
        drop_results(r, call->unit, gone);
        removed[b] = true;
    }
    program_remove_buffers(program, removed);
}

// ---- ranges of layers -------------------------------------------------------------------------

// A copy of unit `id` for the loops that begin at `layer`, in both steps.
static void give_own_unit(struct program *program, uint32_t id, int64_t layer) {
    const char *name = arena_format(program->arena, "%s.%" PRId64, program->units[id].name, layer);
    uint32_t made = program_clone_unit(program, id, name);
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct statement_walk walk = walk_statements(&program->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, 0);
            if (walk.statement->kind == STATEMENT_CALL && walk.statement->call.unit == id && loop &&
                loop->begin == layer)
                walk.statement->call.unit = made;
        }
    }
}

// Ranges of layers share their units until here, but what one recomputes another may keep: where
// there are several ranges, all behind the first get units of their own.
static void separate_ranges(struct program *program) {
    uint32_t n = program->n_units;
    for (uint32_t id = 0; id < n; id++) {
        if (program->units[id].phase == PHASE_UPDATE)
            continue;
        struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
        bool seen = false;
        while (walk_next(&walk)) {
            if (walk.statement->kind != STATEMENT_CALL || walk.statement->call.unit != id)
                continue;
            if (seen)
                give_own_unit(program, id, walk_loop(&walk, 0)->begin);
            seen = true;
        }
    }
}

static bool recomputes_anything(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].state == STATE_ACTIVATIONS && strategy->modes[m].sets_residency &&
            strategy->modes[m].residency == RESIDENCY_MATERIALIZED)
            return true;
    return false;
}

// ---- the pass ---------------------------------------------------------------------------------

bool recompute(struct program *program, const struct pass_context *context) {
    uint32_t n = program->n_buffers;
    if (!recomputes_anything(&context->config->strategy))
        return true;
    separate_ranges(program);
    struct recomputing r = {.program = program,
                            .strategy = &context->config->strategy,
                            .writer = ARENA_ARRAY(program->arena, const struct statement *, n + 1),
                            .loop = ARENA_ARRAY(program->arena, const struct loop *, n + 1),
                            .feeds_forward = ARENA_ARRAY(program->arena, bool, n + 1),
                            .dropped = ARENA_ARRAY(program->arena, bool, n + 1)};
    find_forward(&r);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (!is_call_of(program, walk.statement, PHASE_BACKWARD))
            continue;
        buffer_id dropped = drop_operands(&r, walk.statement);
        if (dropped != NO_ID)
            remake(&r, dropped, &walk.statement->call);
    }
    forward_leaves_less(&r, n);
    program_number(program);
    return true;
}
