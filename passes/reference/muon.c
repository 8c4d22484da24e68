// Muon (Jordan 2024, with the arithmetic of torch.optim.Muon): the momentum of a matrix, of which all
// directions are made equally long, by Newton-Schulz steps X <- a X + (b A + c A A) X, A = X X'.
//
// A tensor is a matrix of two sides: the hidden dimension, which stands first or last, and all others
// together. A is of the shorter side. The steps are products like any others, so kernels, memory and
// proof need not know of them; but they read whole matrices.
#include "passes/reference/muon.h"

#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"

bool is_muon_matrix(const struct tensor *tensor) {
    return tensor->init == INIT_NORMAL && tensor->roles[0] == ROLE_LAYERS;
}

// ---- sides ------------------------------------------------------------------------------------

struct matrix {
    const struct tensor_type *type;
    struct side hidden, others;
};

static struct matrix matrix_of(const struct tensor_type *type) {
    unsigned n = matrix_rows(type->dims, type->rank), rank = type->rank;
    struct side rows = {0, n}, columns = {n, rank};
    return type->dims[0].dimension == DIM_HIDDEN ? (struct matrix){type, rows, columns}
                                                 : (struct matrix){type, columns, rows};
}

static double length_of(const struct matrix *matrix, struct side side) {
    double length = 1;
    for (unsigned i = side.begin; i < side.end; i++)
        length *= (double)matrix->type->dims[i].size;
    return length;
}

static struct side shorter_side(const struct matrix *matrix) {
    return length_of(matrix, matrix->hidden) <= length_of(matrix, matrix->others) ? matrix->hidden
                                                                                  : matrix->others;
}

// PyTorch's, of a matrix that is [outputs, inputs] there. Ours have inputs first.
static double rate_factor(const struct matrix *matrix, enum muon_rate rate) {
    bool inputs_are_hidden = matrix->hidden.begin == 0;
    double hidden = length_of(matrix, matrix->hidden), others = length_of(matrix, matrix->others);
    double inputs = inputs_are_hidden ? hidden : others;
    double outputs = inputs_are_hidden ? others : hidden;
    switch (rate) {
    case MUON_MATCH_RMS_ADAMW:
        return 0.2 * sqrt(fmax(outputs, inputs));
    case MUON_SPECTRAL_UNCLAMPED:
        return sqrt(outputs / inputs);
    default:
        return sqrt(fmax(1, outputs / inputs));
    }
}

// ---- labels of products -----------------------------------------------------------------------

// Letters of dimensions: a tensor's own, and two further sets for a side.
enum { OWN = 'a', PRIMED = 'h', TWICE = 'n' };
_Static_assert(MAX_RANK <= PRIMED - OWN && MAX_RANK <= TWICE - PRIMED, "sets do not meet");

static const char *letters(struct arena *arena, struct side side, char from) {
    const char *text = "";
    for (unsigned i = side.begin; i < side.end; i++)
        text = arena_format(arena, "%s%c", text, from + (char)i);
    return text;
}

// The letters of all dimensions, those of the side from another set.
static const char *letters_with(struct arena *arena, unsigned rank, struct side side, char from) {
    const char *text = "";
    for (unsigned i = 0; i < rank; i++)
        text = arena_format(arena, "%s%c", text,
                            (i >= side.begin && i < side.end ? from : OWN) + (char)i);
    return text;
}

// ---- ops --------------------------------------------------------------------------------------

static value_id emit_weighted(struct emitter *e, const char *name, value_id a, value_id b,
                              double weight_a, double weight_b) {
    struct attribute weights[] = {{.name = ATTRIBUTE_WEIGHT_A, .real = weight_a},
                                  {.name = ATTRIBUTE_WEIGHT_B, .real = weight_b}};
    return emit_with(e, OP_WEIGHTED_SUM, name, OPERANDS(a, b), weights, 2)->results[0];
}

static value_id emit_square_sum(struct emitter *e, const char *name, value_id x, bool ordered) {
    return ordered ? emit_exact_square_sum(e, name, x)
                   : emit(e, OP_SQUARE_SUM, name_with(e->arena, name, ".square"), OPERANDS(x));
}

// One of the norm, which is at least `eps`.
static value_id emit_unit_norm(struct emitter *e, const char *name, value_id x, double eps,
                               bool ordered) {
    struct attribute minimum = {.name = ATTRIBUTE_MINIMUM, .real = eps};
    value_id norm = emit(e, OP_SQUARE_ROOT, name_with(e->arena, name, ".norm"),
                         OPERANDS(emit_square_sum(e, name, x, ordered)));
    norm =
        emit_with(e, OP_AT_LEAST, name_with(e->arena, name, ".norm"), OPERANDS(norm), &minimum, 1)
            ->results[0];
    value_id inverse =
        emit(e, OP_RECIPROCAL, name_with(e->arena, name, ".inverse"), OPERANDS(norm));
    return emit(e, OP_SCALE, name_with(e->arena, name, ".direction"), OPERANDS(x, inverse));
}

struct labels { // of the three products of a step
    const char *gram, *square, *product;
};

static struct labels labels_of(struct arena *arena, unsigned rank, struct side side) {
    const char *own = letters(arena, side, OWN), *primed = letters(arena, side, PRIMED);
    const char *twice = letters(arena, side, TWICE);
    const char *all = letters_with(arena, rank, side, OWN);
    const char *all_primed = letters_with(arena, rank, side, PRIMED);
    return (struct labels){
        .gram = arena_format(arena, "%s,%s->%s%s", all, all_primed, own, primed),
        .square = arena_format(arena, "%s%s,%s%s->%s%s", own, primed, primed, twice, own, twice),
        .product = side.begin == 0
                       ? arena_format(arena, "%s%s,%s->%s", own, primed, all_primed, all)
                       : arena_format(arena, "%s,%s%s->%s", all_primed, own, primed, all)};
}

static value_id emit_newton_schulz(struct emitter *e, const char *name, value_id x,
                                   const struct optimizer_config *o) {
    struct tensor_type type = e->unit->values[x].type;
    struct matrix matrix = matrix_of(&type);
    struct side side = shorter_side(&matrix);
    struct labels labels = labels_of(e->arena, type.rank, side);
    const double *c = o->ns_coefficients;
    const char *gram_name = name_with(e->arena, name, ".gram");
    const char *direction = name_with(e->arena, name, ".direction");
    for (int64_t i = 0; i < o->ns_steps; i++) {
        value_id gram = emit_einsum(e, gram_name, labels.gram, x, x, type.dtype);
        value_id square = emit_einsum(e, gram_name, labels.square, gram, gram, type.dtype);
        value_id factor = emit_weighted(e, gram_name, gram, square, c[1], c[2]);
        value_id a = side.begin == 0 ? factor : x, b = side.begin == 0 ? x : factor;
        value_id product = emit_einsum(e, direction, labels.product, a, b, type.dtype);
        x = emit_weighted(e, direction, x, product, c[0], 1);
    }
    return x;
}

// p (1 - rate decay) - rate factor direction
static value_id emit_descent(struct emitter *e, const char *name, const struct muon_state *state,
                             value_id direction, double factor, double decay) {
    value_id step = emit_weighted(e, name_with(e->arena, name, ".step"), state->parameter,
                                  direction, decay, factor);
    step = emit(e, OP_SCALE, name_with(e->arena, name, ".step"), OPERANDS(step, state->rate));
    return emit_weighted(e, name_with(e->arena, name, ".updated"), state->parameter, step, 1, -1);
}

// A step that is skipped has computed what it made in vain.
static value_id emit_kept(struct emitter *e, const char *name, const struct muon_state *state,
                          value_id old, value_id made) {
    return state->may_skip ? emit(e, OP_UNLESS_SKIPPED, name, OPERANDS(old, made, state->clip))
                           : made;
}

void emit_muon(struct emitter *e, const char *name, const struct optimizer_config *o,
               double weight_decay, struct muon_state *state) {
    struct tensor_type type = e->unit->values[state->parameter].type;
    struct matrix matrix = matrix_of(&type);
    value_id clipped = emit(e, OP_SCALE, name_with(e->arena, name, ".clipped"),
                            OPERANDS(state->gradient, state->clip));
    value_id x = emit_weighted(e, name_with(e->arena, name, ".averaged"), state->momentum, clipped,
                               o->momentum, 1 - o->momentum);
    state->momentum =
        emit_kept(e, name_with(e->arena, name, ".momentum.kept"), state, state->momentum, x);
    if (o->nesterov)
        x = emit_weighted(e, name_with(e->arena, name, ".ahead"), clipped, x, 1 - o->momentum,
                          o->momentum);
    x = emit_unit_norm(e, name, x, o->eps, state->ordered);
    x = emit_newton_schulz(e, name, x, o);
    x = emit_descent(e, name, state, x, rate_factor(&matrix, o->muon_rate), weight_decay);
    state->parameter = emit_kept(e, name_with(e->arena, name, ".kept"), state, state->parameter, x);
}
