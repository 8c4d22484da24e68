// Cut owned: updates of a layer of which some tensors have owners (`by tensor`), and others are cut
// flat, become two, and so do sums of squares: owners execute theirs alone.
//
// Input: the reference program. Output: the same program, in which such a call has become one of what
// it does with the tensors that are cut flat, and one of what it does with the others. What it makes of
// scalars alone each of them makes for itself; a sum to which both add is added to by one behind the
// other.
//
//   call update_block(step = step, gain = ..., weight = ...)
// becomes
//   call update_block_flat(step = step, gain = ...)
//   call update_block_owned(step = step, weight = ...)
#include <string.h>

#include "passes/passes.h"
#include "passes/reference/emit.h"

enum share { SHARE_FLAT, SHARE_OWNED, N_SHARES };
enum { OF_FLAT = 1 << SHARE_FLAT, OF_OWNED = 1 << SHARE_OWNED };
static const char *const share_names[N_SHARES] = {"flat", "owned"};

// A unit that was cut; ranges of layers that are placed differently may cut one differently.
struct cut {
    uint32_t unit;
    const uint8_t *shares; // of its values: OF_FLAT, OF_OWNED
    uint32_t made[N_SHARES];
};

struct cutter {
    struct program *program;
    struct placement placement;
    struct cut *cuts;
    uint32_t n_cuts, cap_cuts;
};

// ---- which values are whose -------------------------------------------------------------------

static uint8_t share_of(const struct cutter *c, struct reference at) {
    const struct buffer *buffer = &c->program->buffers[at.buffer];
    enum state state = class_states[buffer->class];
    if (buffer->tensor == NO_ID || state >= STATE_ACTIVATIONS)
        return 0;
    return storage_of(&c->placement, buffer)->by_tensor ? OF_OWNED : OF_FLAT;
}

// A sum is of whoever adds to it last; what is made of scalars is of nobody.
static const uint8_t *shares_of(const struct cutter *c, const struct call *call) {
    const struct unit *unit = &c->program->job->units[call->unit];
    uint8_t *shares = ARENA_ARRAY(c->program->arena, uint8_t, unit->n_values + 1);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        shares[i] = share_of(c, call->operands[i]);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        uint8_t of = 0;
        for (unsigned k = op->kind == OP_ACCUMULATE; k < op->n_operands; k++)
            of |= shares[op->operands[k]];
        for (unsigned k = 0; k < op->n_results; k++)
            shares[op->results[k]] = of;
    }
    return shares;
}

static bool has_both(const struct unit *unit, const uint8_t *shares) {
    uint8_t all = 0;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        all |= shares[i];
    return all == (OF_FLAT | OF_OWNED);
}

// ---- units ------------------------------------------------------------------------------------

// What one share has of a unit: its ops, and of those on scalars as many as they read.
struct part {
    const struct unit *whole;
    const uint8_t *shares;
    uint8_t share;
    bool *needed; // values
};

static bool passes_on(const struct part *p, const struct op *op) {
    uint8_t of = p->shares[op->results[0]];
    return op->kind == OP_ACCUMULATE && of && !(of & p->share);
}

static bool is_result_of(const struct part *p, uint32_t result) {
    value_id v = p->whole->results[result].value;
    return p->shares[v] & p->share || p->whole->results[result].in_parameter != NO_ID;
}

// Results that are the share's, or sums to which it may add; a sum to which it does not is left out.
static bool adds_to(const struct part *p, value_id v) {
    const struct op *op = unit_producer(p->whole, v);
    for (; op && op->kind == OP_ACCUMULATE; op = unit_producer(p->whole, op->operands[0]))
        if (p->shares[op->results[0]] & p->share)
            return true;
    return false;
}

static bool is_wanted(const struct part *p, uint32_t result) {
    value_id v = p->whole->results[result].value;
    return is_result_of(p, result) && (p->shares[v] & p->share || adds_to(p, v));
}

static void find_needed(struct part *p) {
    for (uint32_t i = 0; i < p->whole->n_results; i++)
        if (is_wanted(p, i))
            p->needed[p->whole->results[i].value] = true;
    for (uint32_t i = p->whole->n_ops; i-- > 0;) {
        const struct op *op = &p->whole->ops[i];
        bool needed = false;
        for (unsigned k = 0; k < op->n_results; k++)
            needed |= p->needed[op->results[k]];
        for (unsigned k = 0; needed && k < (passes_on(p, op) ? 1 : op->n_operands); k++)
            p->needed[op->operands[k]] = true;
    }
}

static struct part part_of(struct arena *arena, const struct unit *whole, const uint8_t *shares,
                           enum share share) {
    struct part p = {whole, shares, (uint8_t)(1u << share),
                     ARENA_ARRAY(arena, bool, whole->n_values + 1)};
    find_needed(&p);
    return p;
}

static uint32_t make_unit(struct cutter *c, const struct cut *cut, enum share share,
                          const char *name) {
    struct arena *arena = c->program->arena;
    const struct unit whole = c->program->job->units[cut->unit]; // a copy: units move
    struct part p = part_of(arena, &whole, cut->shares, share);
    uint32_t id = job_add_unit(c->program->job,
                               arena_format(arena, "%s_%s", name, share_names[share]), whole.span);
    struct emitter to = {.arena = arena, .unit = &c->program->job->units[id]};
    value_id *here = ARENA_ARRAY(arena, value_id, whole.n_values + 1);
    to.unit->phase = whole.phase;
    for (uint32_t i = 0; i < whole.n_parameters; i++)
        if (p.needed[i])
            here[i] = unit_add_parameter(arena, to.unit, whole.values[i].name, whole.values[i].type,
                                         whole.consumed[i]);
    for (uint32_t i = 0; i < whole.n_ops; i++) {
        const struct op *op = &whole.ops[i];
        value_id operands[MAX_OPERANDS];
        bool needed = false;
        for (unsigned k = 0; k < op->n_results; k++)
            needed |= p.needed[op->results[k]];
        if (needed && passes_on(&p, op))
            here[op->results[0]] = here[op->operands[0]];
        if (!needed || passes_on(&p, op))
            continue;
        for (unsigned k = 0; k < op->n_operands; k++)
            operands[k] = here[op->operands[k]];
        const struct op *copy = emit_copy(&to, &whole, op, operands);
        for (unsigned k = 0; k < op->n_results; k++)
            here[op->results[k]] = copy->results[k];
    }
    for (uint32_t i = 0; i < whole.n_results; i++) {
        uint32_t in = whole.results[i].in_parameter;
        if (is_wanted(&p, i))
            unit_add_result(arena, to.unit, here[whole.results[i].value],
                            in == NO_ID ? NO_ID : here[in]);
    }
    return id;
}

static const struct cut *cut_unit(struct cutter *c, uint32_t unit, const uint8_t *shares) {
    const struct unit *whole = &c->program->job->units[unit];
    const char *name = whole->name;
    for (uint32_t i = 0; i < c->n_cuts; i++) {
        if (c->cuts[i].unit != unit)
            continue;
        if (memcmp(c->cuts[i].shares, shares, whole->n_values) == 0)
            return &c->cuts[i];
        name = arena_format(c->program->arena, "%s_%u", whole->name, c->n_cuts);
    }
    struct cut cut = {.unit = unit, .shares = shares};
    for (int share = 0; share < N_SHARES; share++)
        cut.made[share] = make_unit(c, &cut, (enum share)share, name);
    ARENA_PUSH(c->program->arena, c->cuts, c->n_cuts, c->cap_cuts, cut);
    return &c->cuts[c->n_cuts - 1];
}

// ---- statements -------------------------------------------------------------------------------

static struct statement call_of(const struct cutter *c, const struct statement *s,
                                const struct cut *cut, enum share share) {
    struct arena *arena = c->program->arena;
    const struct unit *whole = &c->program->job->units[cut->unit];
    struct part p = part_of(arena, whole, cut->shares, share);
    struct statement made = *s;
    uint32_t n = 0, m = 0;
    made.call =
        (struct call){.unit = cut->made[share],
                      .operands = ARENA_ARRAY(arena, struct reference, whole->n_parameters + 1),
                      .results = ARENA_ARRAY(arena, struct reference, whole->n_results + 1)};
    for (uint32_t i = 0; i < whole->n_parameters; i++)
        if (p.needed[i])
            made.call.operands[n++] = s->call.operands[i];
    for (uint32_t i = 0; i < whole->n_results; i++)
        if (is_wanted(&p, i))
            made.call.results[m++] = s->call.results[i];
    return made;
}

static void cut_block(struct cutter *c, struct block *block) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        const uint8_t *shares = NULL;
        if (s.kind == STATEMENT_LOOP)
            cut_block(c, &s.loop.body);
        if (s.kind == STATEMENT_CALL && c->program->job->units[s.call.unit].phase == PHASE_UPDATE)
            shares = shares_of(c, &s.call);
        if (!shares || !has_both(&c->program->job->units[s.call.unit], shares)) {
            block_push(c->program->arena, &made, s);
            continue;
        }
        const struct cut *cut = cut_unit(c, s.call.unit, shares);
        for (int share = 0; share < N_SHARES; share++)
            block_push(c->program->arena, &made, call_of(c, &s, cut, (enum share)share));
    }
    *block = made;
}

bool cut_owned(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct cutter c = {.program = program};
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_block(&c, &program->steps[kind].body);
    job_number(program->job);
    return true;
}
