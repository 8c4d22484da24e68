// Update tiers: a layer of which a part is updated on the host, and the rest on the device.
//
// Input: the reference program. Output: the same program, in which a call of such an update has become
// one for each place. What other ranges of layers update in another place is a unit of its own, too: a
// unit's values lie where it runs.
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

static const struct unit_cut *cut_update(struct update_cutter *c, const struct call *call,
                                         unsigned tiers) {
    enum tier first = 0;
    while (!(tiers >> first & 1))
        first++;
    const uint32_t *piece_of = divide_ops(c, call, first);
    bool another;
    const struct unit_cut *known =
        find_unit_cut(&c->cuts, c->program, call->unit, piece_of, &another);
    if (known)
        return known;
    struct arena *arena = c->program->arena;
    struct unit_cut cut = {.unit = call->unit,
                           .cutter = begin_cutting(c->program, call->unit, piece_of),
                           .pieces = ARENA_ARRAY(arena, struct unit_piece, N_TIERS)};
    if (another)
        cut.cutter.whole.name = arena_format(arena, "%s_%u", cut.cutter.whole.name, c->cuts.n);
    for (enum tier tier = first; tier < N_TIERS; tier++)
        if (tiers >> tier & 1)
            cut.pieces[cut.n_pieces++] = make_piece(&cut.cutter, tier, tier_names[tier]);
    ARENA_PUSH(arena, c->cuts.items, c->cuts.n, c->cuts.cap, cut);
    return &c->cuts.items[c->cuts.n - 1];
}

// ---- statements -------------------------------------------------------------------------------

static void push_updates(struct update_cutter *c, struct block *to, const struct statement *s,
                         const struct loop *loop) {
    unsigned all = c->tiers[s->call.unit];
    if (!(all & (all - 1))) { // everywhere in one place
        block_push(c->program->arena, to, *s);
        return;
    }
    const struct placement *placement = &c->placement;
    uint32_t range = placement_range(placement, loop ? loop->begin : 0);
    const struct unit_cut *cut = cut_update(c, &s->call, tiers_of(c, &s->call));
    for (uint32_t i = 0; i < cut->n_pieces; i++)
        block_push(c->program->arena, to,
                   call_of_piece(&cut->cutter, s, &cut->pieces[i],
                                 placement->n_ranges > 1 ? &placement->ranges[range] : NULL));
}

static void cut_block(struct update_cutter *c, struct block *block, const struct loop *loop) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            cut_block(c, &s.loop.body, &s.loop);
        if (s.kind == STATEMENT_CALL)
            push_updates(c, &made, &s, loop);
        else
            block_push(c->program->arena, &made, s);
    }
    *block = made;
}

bool cut_updates(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct block *body = &program->steps[STEP_TRAIN].body;
    struct update_cutter c = {.program = program};
    c.tiers = ARENA_ARRAY(program->arena, unsigned, job->n_units + 1);
    if (!placement_for(program, context, &c.placement))
        return false;
    struct statement_walk walk = walk_statements(body);
    for (const struct call *call; (call = walk_next_call(&walk));)
        if (job->units[call->unit].phase == PHASE_UPDATE)
            c.tiers[call->unit] |= tiers_of(&c, call);
    uint32_t n_units = job->n_units;
    for (uint32_t u = 0; u < n_units; u++)
        if (c.tiers[u] & (c.tiers[u] - 1)) {
            cut_block(&c, body, NULL);
            job_number(job);
            break;
        }
    return true;
}
