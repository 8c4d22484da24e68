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

// Updates work on what is stored.
static const struct unit_cut *cut_call_at_gathers(void *data, const struct call *call) {
    struct tensor_cutter *c = data;
    if (c->program->job->units[call->unit].phase == PHASE_UPDATE)
        return NULL;
    struct division d = divide_ops(c, call);
    if (d.n == 1)
        return NULL;
    struct unit_cut *cut = unit_cut_by(&c->cuts, c->program, call->unit, d.piece_of, d.n);
    for (; cut->n_pieces < d.n; cut->n_pieces++)
        cut->pieces[cut->n_pieces] = make_piece(
            &cut->cutter, cut->n_pieces, piece_name(c, &cut->cutter.whole, d.first, cut->n_pieces));
    return cut;
}

bool cut_at_gathers(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct tensor_cutter c = {.program = program};
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_calls(program, &c.placement, &program->steps[kind].body, cut_call_at_gathers, &c);
    job_number(program->job);
    return true;
}
