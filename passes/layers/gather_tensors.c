// Gather tensors: units whose parameters are gathered tensor by tensor (`gathered(unit = tensor)`)
// are computed in pieces, so that a device holds one of them whole at a time.
//
// Input: the reference program. Output: the same program, in which a call of such a unit has become
// calls of its pieces. A piece goes from an op that reads a gathered tensor to before the next op
// that reads another one, and `partition` gathers in front of the piece and frees behind it, as with
// every call. A tensor that is cast is read by who reads the cast, which each piece makes for itself.
// In backward the gradient of a tensor is made in the piece that reads it, so what is whole of
// gradients before their reduction is one tensor, too.
//
//   call block_backward(...)  becomes  call block_backward_mlp_down_weight(...)
//                                      call block_backward_mlp_up_weight(...), ...
//
// Nothing is cut where the whole is kept between forward and backward: it is there all the time.
#include <string.h>

#include "ir/check.h"
#include "passes/layers/cut_unit.h"
#include "passes/passes.h"
#include "passes/routes/routes.h"

struct tensor_cutter {
    struct program *program;
    struct placement placement;
    struct unit_cuts cuts;
};

// ---- where ------------------------------------------------------------------------------------

static bool reads_alone(const struct tensor_cutter *c, struct reference at) {
    const struct buffer *buffer = &c->program->buffers[at.buffer];
    return buffer->class == CLASS_PARAMETERS &&
           is_gathered_alone(storage_of(&c->placement, buffer));
}

static bool is_cast_of_gathered(const struct tensor_cutter *c, const struct call *call,
                                const struct op *op) {
    return op->kind == OP_CAST &&
           op->operands[0] < c->program->job->units[call->unit].n_parameters &&
           reads_alone(c, call->operands[op->operands[0]]);
}

// The first of an op's operands that is gathered for it, cast or not; NO_ID: none is.
static value_id gathered_operand(const struct tensor_cutter *c, const struct call *call,
                                 const struct op *op) {
    const struct unit *unit = &c->program->job->units[call->unit];
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id v = unit_cast_parameter(unit, op->operands[i]);
        if (v != NO_ID && reads_alone(c, call->operands[v]))
            return v;
    }
    return NO_ID;
}

// How the ops of a unit are divided.
struct division {
    uint32_t *piece_of; // by op
    value_id *first;    // of the pieces, what the first of their gathered tensors is
    uint32_t n;
};

static struct division divide_ops(const struct tensor_cutter *c, const struct call *call) {
    struct arena *arena = c->program->arena;
    const struct unit *unit = &c->program->job->units[call->unit];
    struct division d = {.piece_of = ARENA_ARRAY(arena, uint32_t, unit->n_ops + 1),
                         .first = ARENA_ARRAY(arena, value_id, unit->n_ops + 1)};
    uint32_t n = 0;
    d.first[0] = NO_ID;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        bool casts = is_cast_of_gathered(c, call, op);
        value_id tensor = casts ? NO_ID : gathered_operand(c, call, op);
        if (tensor != NO_ID && d.first[n] != NO_ID && d.first[n] != tensor)
            d.first[++n] = tensor;
        else if (tensor != NO_ID)
            d.first[n] = tensor;
        d.piece_of[i] = n;
    }
    d.n = n + 1;
    return d;
}

// ---- pieces -----------------------------------------------------------------------------------

// A piece is named by the tensor that it reads; what is read a second time, as in recomputing, has
// a number behind.
static const char *piece_name(const struct tensor_cutter *c, const struct unit *whole,
                              const value_id *first, uint32_t piece) {
    const char *name = whole->values[first[piece]].name;
    uint32_t times = 1;
    char *word = arena_format(c->program->arena, "%s", name);
    for (char *dot = word; (dot = strchr(dot, '.')); dot++)
        *dot = '_';
    for (uint32_t i = 0; i < piece; i++)
        times += first[i] == first[piece];
    return times == 1 ? word : arena_format(c->program->arena, "%s_%u", word, times);
}

static const struct unit_cut *cut_unit(struct tensor_cutter *c, uint32_t unit,
                                       const struct division *d) {
    bool another;
    const struct unit_cut *known = find_unit_cut(&c->cuts, c->program, unit, d->piece_of, &another);
    if (known)
        return known;
    struct arena *arena = c->program->arena;
    struct unit_cut cut = {.unit = unit,
                           .cutter = begin_cutting(c->program, unit, d->piece_of),
                           .n_pieces = d->n,
                           .pieces = ARENA_ARRAY(arena, struct unit_piece, d->n)};
    if (another)
        cut.cutter.whole.name = arena_format(arena, "%s_%u", cut.cutter.whole.name, c->cuts.n);
    for (uint32_t i = 0; i < d->n; i++)
        cut.pieces[i] = make_piece(&cut.cutter, i, piece_name(c, &cut.cutter.whole, d->first, i));
    ARENA_PUSH(arena, c->cuts.items, c->cuts.n, c->cuts.cap, cut);
    return &c->cuts.items[c->cuts.n - 1];
}

// ---- statements -------------------------------------------------------------------------------

// Updates work on what is stored.
static void push_pieces(struct tensor_cutter *c, struct block *to, const struct statement *s,
                        const struct loop *loop) {
    const struct unit *unit = &c->program->job->units[s->call.unit];
    struct division d = {.n = 1};
    if (unit->phase != PHASE_UPDATE)
        d = divide_ops(c, &s->call);
    if (d.n == 1) {
        block_push(c->program->arena, to, *s);
        return;
    }
    const struct placement *placement = &c->placement;
    uint32_t range = placement_range(placement, loop ? loop->begin : 0);
    const struct unit_cut *cut = cut_unit(c, s->call.unit, &d);
    for (uint32_t i = 0; i < d.n; i++)
        block_push(c->program->arena, to,
                   call_of_piece(&cut->cutter, s, &cut->pieces[i],
                                 placement->n_ranges > 1 ? &placement->ranges[range] : NULL));
}

static void cut_block(struct tensor_cutter *c, struct block *block, const struct loop *loop) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            cut_block(c, &s.loop.body, &s.loop);
        if (s.kind == STATEMENT_CALL)
            push_pieces(c, &made, &s, loop);
        else
            block_push(c->program->arena, &made, s);
    }
    *block = made;
}

bool cut_at_gathers(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct tensor_cutter c = {.program = program};
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_block(&c, &program->steps[kind].body, NULL);
    job_number(program->job);
    return true;
}
