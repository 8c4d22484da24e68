// Recompute, units: what forward computed, in a unit of the backward pass; see recompute.h.
//
// A recomputed op stands right before its first reader, so that what is not needed yet takes no
// memory.
#include <string.h>

#include "ir/check.h"
#include "passes/layers/recompute.h"
#include "passes/reference/emit.h"
#include "passes/reference/gradients.h"
#include "passes/reference/saved.h"

// ---- values ------------------------------------------------------------------------------------

struct segment {
    struct recomputing *r;
    struct program *program;
    const struct call *call;          // of forward
    const struct layer_range *layers; // over which it goes
    const struct unit *forward;
    struct unit old;   // the backward unit as it was
    struct unit *unit; // as it will be
    value_id *here;    // of forward's values, in the new unit; NO_ID: not (yet)
    value_id *source;  // of old's parameters: the value of forward that it is; NO_ID: none
    bool *again;       // of old's parameters: it is recomputed
    value_id *map;     // of old's values, in the new unit
    // What the call gives to the parameters that the old unit lacks.
    struct reference *added;
    uint32_t n_added, cap_added;
};

// A copy of `op`, which is of unit `from`, on operands of the new unit.
static const struct op *append_copy(struct segment *s, const struct unit *from, const struct op *op,
                                    const value_id *operands) {
    struct emitter to = {.arena = s->program->arena, .unit = s->unit};
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
    return save_value(s->program, s->call, v, s->layers);
}

// Cheap in any case; a part only where what it is taken from is kept anyway.
static bool is_cheap(const struct segment *s, const struct op *op) {
    return is_computed_again(s->forward, op) &&
           (!op_moves_elements(op->kind) || s->here[op->operands[0]] != NO_ID);
}

// What a recomputed value is computed from becomes parameters, where it is not yet: forward's own
// parameters, and what is kept.
static void add_sources(struct segment *s, value_id v, bool *visited) {
    if (s->here[v] != NO_ID || visited[v])
        return;
    visited[v] = true;
    const struct op *op = unit_producer(s->forward, v);
    if (op && (is_recomputed(s->r, op, s->layers) || is_cheap(s, op))) {
        for (unsigned i = 0; i < op->n_operands; i++)
            add_sources(s, op->operands[i], visited);
        return;
    }
    const struct value *value = &s->forward->values[v];
    const char *name = unit_fresh_name(s->program->arena, s->unit, value->name);
    s->here[v] = unit_add_parameter(s->program->arena, s->unit, name, value->type, false);
    ARENA_PUSH(s->program->arena, s->added, s->n_added, s->cap_added, forward_value(s, v));
}

// ---- a backward unit made anew ----------------------------------------------------------------

static void copy_parameters(struct segment *s) {
    struct arena *arena = s->program->arena;
    bool *visited = ARENA_ARRAY(arena, bool, s->forward->n_values);
    for (uint32_t i = 0; i < s->old.n_parameters; i++) {
        const struct value *value = &s->old.values[i];
        if (s->again[i])
            continue;
        s->map[i] = unit_add_parameter(s->program->arena, s->unit, value->name, value->type,
                                       s->old.consumed[i]);
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
        unit_add_result(s->program->arena, s->unit, value_here(s, result.value), in_parameter);
    }
}

// Which values of forward the old unit's parameters are: what forward read, or what it left.
static void match_parameters(struct segment *s, const struct call *backward) {
    for (uint32_t i = 0; i < s->old.n_parameters; i++) {
        struct reference at = backward->operands[i];
        s->source[i] = NO_ID;
        for (uint32_t k = 0; k < s->forward->n_parameters; k++)
            if (reference_equal(&s->call->operands[k], &at))
                s->source[i] = k;
        for (uint32_t k = 0; k < s->forward->n_results; k++)
            if (reference_equal(&s->call->results[k], &at))
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

static struct segment segment_of(struct recomputing *r, const struct call *forward,
                                 const struct layer_range *layers, uint32_t unit) {
    struct arena *arena = r->program->arena;
    struct segment s = {
        .r = r,
        .program = r->program,
        .call = forward,
        .layers = layers,
        .forward = &r->program->job->units[forward->unit],
        .old = r->program->job->units[unit],
        .unit = &r->program->job->units[unit],
    };
    s.here = ARENA_ARRAY(arena, value_id, s.forward->n_values);
    s.source = ARENA_ARRAY(arena, value_id, s.old.n_parameters + 1);
    s.again = ARENA_ARRAY(arena, bool, s.old.n_parameters + 1);
    s.map = ARENA_ARRAY(arena, value_id, s.old.n_values + 1);
    for (value_id v = 0; v < s.forward->n_values; v++)
        s.here[v] = NO_ID;
    return s;
}

void remake_backward(struct recomputing *r, buffer_id left, struct call *call) {
    struct segment s = segment_of(r, &r->writer[left]->call, r->layers[left], call->unit);
    *s.unit = (struct unit){.name = s.old.name,
                            .phase = s.old.phase,
                            .frame_bytes = s.old.frame_bytes,
                            .span = s.old.span};
    match_parameters(&s, call);
    copy_parameters(&s);
    for (uint32_t i = 0; i < s.old.n_ops; i++)
        copy_op(&s, &s.old.ops[i]);
    copy_results(&s);
    follow_parameters(&s, call);
}

// ---- a unit of its own ------------------------------------------------------------------------

// `block_forward_4` has `block_recompute_4`, and with a suffix `block_recompute_last_4`.
static const char *recomputing_name(struct program *program, const char *forward,
                                    const char *suffix) {
    static const char verb[] = "_forward";
    const char *at = strstr(forward, verb);
    CHECK(at);
    return arena_format(program->arena, "%.*s_recompute%s%s", (int)(at - forward), forward, suffix,
                        at + sizeof verb - 1);
}

struct call make_recomputing(struct recomputing *r, const struct call *forward,
                             const struct layer_range *layers, const char *suffix,
                             const value_id *wanted, uint32_t n) {
    struct program *program = r->program;
    const struct unit *from = &program->job->units[forward->unit];
    uint32_t made =
        job_add_unit(program->job, recomputing_name(program, from->name, suffix), from->span);
    program->job->units[made].phase = PHASE_BACKWARD;
    struct segment s = segment_of(r, forward, layers, made);
    bool *visited = ARENA_ARRAY(program->arena, bool, s.forward->n_values);
    for (uint32_t i = 0; i < n; i++)
        add_sources(&s, wanted[i], visited);
    for (uint32_t i = 0; i < n; i++)
        unit_add_result(program->arena, s.unit, recomputed_value(&s, wanted[i]), NO_ID);
    return (struct call){.unit = made,
                         .operands = s.added,
                         .results = ARENA_ARRAY(program->arena, struct reference, n + 1)};
}
