// Cut owned: updates of a layer of which some tensors have owners (`by tensor`), and others are cut
// flat or have other owners, become several, and so do sums of squares: owners execute theirs alone.
//
// Input: the reference program. Output: the same program, in which such a call has become one of what
// it does with the tensors that are cut flat, and one for each list of axes over which others have
// owners. What it makes of scalars alone each of them makes for itself; a sum to which several add is
// added to by one behind the other.
//
//   call update_block(step = step, gain = ..., weight = ...)
// becomes
//   call update_block_flat(step = step, gain = ...)
//   call update_block_owned(step = step, weight = ...)
#include "ir/check.h"
#include "passes/layers/cut_unit.h"
#include "passes/passes.h"

// Shares of a call: that of tensors without an owner, and behind it one for each list of axes. A set of
// them is a mask.
enum { SHARE_FLAT, MOST_SHARES = 32 };

struct cutter {
    struct program *program;
    struct placement placement;
    struct unit_cuts cuts;
    // By share of the call at hand: the axes of its owners; of SHARE_FLAT none.
    struct axis_list owners[MOST_SHARES];
    unsigned n_shares;
};

// ---- which values are whose -------------------------------------------------------------------

// All states of a tensor that are at owners are at the same (placement/owners.c).
static uint32_t share_of(struct cutter *c, struct reference at) {
    const struct buffer *buffer = &c->program->buffers[at.buffer];
    enum state state = class_states[buffer->class];
    if (buffer->tensor == NO_ID || state >= STATE_ACTIVATIONS)
        return 0;
    const struct storage *storage = storage_of(&c->placement, buffer);
    struct axis_list owners = owner_axes(storage, &storage->shards[STATE_OPTIMIZER]);
    unsigned share = 0;
    while (share < c->n_shares && !axis_list_equal(&c->owners[share], &owners))
        share++;
    CHECK(share < MOST_SHARES); // a layer has some dozen tensors (reference/parameters.def)
    if (share == c->n_shares)
        c->owners[c->n_shares++] = owners;
    return UINT32_C(1) << share;
}

// Shares of the call's values, which the cutter then knows the owners of. A sum is of whoever adds to it
// last; what is made of scalars is of nobody.
static const uint32_t *find_shares(struct cutter *c, const struct call *call) {
    const struct unit *unit = &c->program->job->units[call->unit];
    c->n_shares = 1;
    uint32_t *shares = ARENA_ARRAY(c->program->arena, uint32_t, unit->n_values + 1);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        shares[i] = share_of(c, call->operands[i]);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        uint32_t of = 0;
        for (unsigned k = op->kind == OP_ACCUMULATE; k < op->n_operands; k++)
            of |= shares[op->operands[k]];
        for (unsigned k = 0; k < op->n_results; k++)
            shares[op->results[k]] = of;
    }
    return shares;
}

static uint32_t shares_in(const struct unit *unit, const uint32_t *shares) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        all |= shares[i];
    return all;
}

// An op is whose its results are; by this a unit that was cut so before is known again.
static const uint32_t *shares_of_ops(struct arena *arena, const struct unit *unit,
                                     const uint32_t *shares) {
    uint32_t *of = ARENA_ARRAY(arena, uint32_t, unit->n_ops + 1);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        of[i] = shares[unit->ops[i].results[0]];
    return of;
}

// ---- units ------------------------------------------------------------------------------------

// What one share has of a unit: its ops, and of those on scalars as many as they read.
struct part {
    const struct unit *whole;
    const uint32_t *shares;
    uint32_t share;
    bool *needed; // values
};

static bool passes_on(const struct part *p, const struct op *op) {
    uint32_t of = p->shares[op->results[0]];
    return op->kind == OP_ACCUMULATE && of && !(of & p->share);
}

static bool adds_to(const struct part *p, value_id v) {
    const struct op *op = unit_producer(p->whole, v);
    for (; op && op->kind == OP_ACCUMULATE; op = unit_producer(p->whole, op->operands[0]))
        if (p->shares[op->results[0]] & p->share)
            return true;
    return false;
}

// Results that are the share's, and sums to which it adds and another share behind it.
static bool is_wanted(const struct part *p, uint32_t result) {
    const struct unit_result *r = &p->whole->results[result];
    return p->shares[r->value] & p->share || (r->in_parameter != NO_ID && adds_to(p, r->value));
}

static bool is_needed(const struct part *p, const struct op *op) {
    bool needed = false;
    for (unsigned k = 0; k < op->n_results; k++)
        needed |= p->needed[op->results[k]];
    return needed;
}

static void find_needed(struct part *p) {
    for (uint32_t i = 0; i < p->whole->n_results; i++)
        if (is_wanted(p, i))
            p->needed[p->whole->results[i].value] = true;
    for (uint32_t i = p->whole->n_ops; i-- > 0;) {
        const struct op *op = &p->whole->ops[i];
        bool needed = is_needed(p, op);
        for (unsigned k = 0; needed && k < (passes_on(p, op) ? 1 : op->n_operands); k++)
            p->needed[op->operands[k]] = true;
    }
}

static void add_parameters(struct unit_cutter *c, struct unit_piece *piece, const struct part *p) {
    piece->parameters = ARENA_ARRAY(c->program->arena, value_id, c->whole.n_parameters + 1);
    for (uint32_t i = 0; i < c->whole.n_parameters; i++) {
        if (!p->needed[i])
            continue;
        c->here[i] = add_piece_parameter(c, i, c->whole.values[i].name, c->whole.consumed[i]);
        piece->parameters[piece->n_parameters++] = i;
    }
}

static void add_results(struct unit_cutter *c, struct unit_piece *piece, const struct part *p) {
    piece->results = ARENA_ARRAY(c->program->arena, value_id, c->whole.n_results + 1);
    for (uint32_t i = 0; i < c->whole.n_results; i++) {
        uint32_t in = c->whole.results[i].in_parameter;
        if (is_wanted(p, i))
            add_piece_result(c, piece, c->whole.results[i].value,
                             in == NO_ID ? NO_ID : c->here[in]);
    }
}

// `update_block_flat`, `update_block_owned`, and of more owners `update_block_owned_2`.
static const char *share_name(const struct unit_cutter *c, unsigned share) {
    struct arena *arena = c->program->arena;
    if (share == SHARE_FLAT)
        return arena_format(arena, "%s_flat", c->whole.name);
    return share == 1 ? arena_format(arena, "%s_owned", c->whole.name)
                      : arena_format(arena, "%s_owned_%u", c->whole.name, share);
}

static struct unit_piece make_share(struct unit_cutter *c, const uint32_t *shares, unsigned share) {
    struct arena *arena = c->program->arena;
    struct unit_piece piece = {0};
    struct part p = {&c->whole, shares, UINT32_C(1) << share,
                     ARENA_ARRAY(arena, bool, c->whole.n_values + 1)};
    find_needed(&p);
    begin_piece(c, share_name(c, share));
    piece.unit = piece_unit(c);
    add_parameters(c, &piece, &p);
    for (uint32_t i = 0; i < c->whole.n_ops; i++) {
        const struct op *op = &c->whole.ops[i];
        if (is_needed(&p, op) && passes_on(&p, op))
            c->here[op->results[0]] = c->here[op->operands[0]];
        else if (is_needed(&p, op))
            copy_to_piece(c, op);
    }
    add_results(c, &piece, &p);
    return piece;
}

// ---- calls ------------------------------------------------------------------------------------

static const struct unit_cut *cut_update(void *data, const struct call *call) {
    struct cutter *c = data;
    const struct unit *unit = &c->program->job->units[call->unit];
    if (unit->phase != PHASE_UPDATE)
        return NULL;
    const uint32_t *shares = find_shares(c, call);
    uint32_t all = shares_in(unit, shares);
    if ((all & (all - 1)) == 0) // one at most
        return NULL;
    const uint32_t *of_ops = shares_of_ops(c->program->arena, unit, shares);
    struct unit_cut *cut = unit_cut_by(&c->cuts, c->program, call->unit, of_ops, c->n_shares);
    bool is_new = cut->n_pieces == 0;
    for (unsigned share = 0; is_new && share < c->n_shares; share++)
        if (all >> share & 1)
            cut->pieces[cut->n_pieces++] = make_share(&cut->cutter, shares, share);
    return cut;
}

bool cut_owned(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct cutter c = {.program = program};
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_calls(program, &c.placement, &program->steps[kind].body, cut_update, &c);
    job_number(program->job);
    return true;
}
