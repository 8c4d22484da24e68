// Update tiers: a layer of which a part is updated on the host, and the rest on the device.
//
// Input: the reference program. Output: the same program, in which a call of such an update, or of what
// averages islands, has become one for each place. What other ranges of layers update in another place is a unit of its
// own, too: a unit's values lie where it runs.
//
//   call update_block(...)  becomes  call update_block_device(...)
//                                    call update_block_host(...)
#include "ir/check.h"
#include "passes/layers/cut_unit.h"
#include "passes/passes.h"

struct update_cutter {
    struct program *program;
    struct placement placement;
    struct unit_cuts cuts;
    unsigned *tiers; // by unit: where calls of it update, by their bits
};

// ---- where ------------------------------------------------------------------------------------

// Where the state of a tensor is updated that a call is given; N_TIERS: it is given something else.
static enum tier updated_on(const struct update_cutter *c, struct reference at) {
    const struct buffer *buffer = &c->program->buffers[at.buffer];
    enum state state = class_states[buffer->class];
    return state < STATE_ACTIVATIONS && buffer->tensor != NO_ID
               ? update_tier(storage_of(&c->placement, buffer))
               : N_TIERS;
}

static unsigned tiers_of(const struct update_cutter *c, const struct call *call) {
    const struct unit *unit = &c->program->job->units[call->unit];
    unsigned tiers = 0;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        enum tier tier = updated_on(c, call->results[i]);
        tiers |= tier < N_TIERS ? 1u << tier : 0;
    }
    return tiers;
}

// Where each op of an update runs: with the states that it is made of, scalars in the first place.
static uint32_t *divide_ops(const struct update_cutter *c, const struct call *call,
                            enum tier first) {
    const struct unit *unit = &c->program->job->units[call->unit];
    uint32_t *piece_of = ARENA_ARRAY(c->program->arena, uint32_t, unit->n_ops + 1);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        piece_of[i] = first;
        for (unsigned k = 0; k < op->n_operands; k++) {
            value_id v = op->operands[k];
            const struct op *from = unit_producer(unit, v);
            enum tier tier = v < unit->n_parameters ? updated_on(c, call->operands[v])
                                                    : piece_of[from - unit->ops];
            if (tier < N_TIERS && tier != first)
                piece_of[i] = tier;
        }
    }
    return piece_of;
}

// ---- pieces -----------------------------------------------------------------------------------

// NULL: all calls of the unit update in one place.
static const struct unit_cut *cut_update(void *data, const struct call *call) {
    struct update_cutter *c = data;
    unsigned all = c->tiers[call->unit], tiers = tiers_of(c, call);
    enum tier first = 0;
    if (!(all & (all - 1)))
        return NULL;
    while (!(tiers >> first & 1))
        first++;
    struct unit_cut *cut =
        unit_cut_by(&c->cuts, c->program, call->unit, divide_ops(c, call, first), N_TIERS);
    if (cut->n_pieces == 0)
        for (enum tier tier = first; tier < N_TIERS; tier++)
            if (tiers >> tier & 1)
                cut->pieces[cut->n_pieces++] = make_piece(&cut->cutter, tier, tier_names[tier]);
    return cut;
}

static void cut_step(struct update_cutter *c, struct block *body) {
    struct statement_walk walk = walk_statements(body);
    for (const struct call *call; (call = walk_next_call(&walk));)
        if (c->program->job->units[call->unit].phase == PHASE_UPDATE)
            c->tiers[call->unit] |= tiers_of(c, call);
    cut_calls(c->program, &c->placement, body, cut_update, c);
}

bool cut_updates(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct update_cutter c = {.program = program};
    c.tiers = ARENA_ARRAY(program->arena, unsigned, job->n_units + 1);
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_step(&c, &program->steps[kind].body);
    job_number(job);
    return true;
}
