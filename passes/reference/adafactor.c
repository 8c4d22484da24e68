// Adafactor (Shazeer and Stern 2018, with the arithmetic of torch.optim.Adafactor): the second moment of a
// matrix is the product of two vectors, means of squares over each row and over each column, divided by
// the mean of all. The step is as long as the parameter's scale says, and no longer than a threshold.
//
// Which side of a matrix is called rows does not matter: the mean of all is that of rows, and of columns.
#include "passes/reference/adafactor.h"

bool is_factored(const struct tensor *tensor) {
    return tensor->init == INIT_NORMAL; // what has fewer dimensions in PyTorch is gains and biases
}

// What one tensor's ops have in common.
struct writing {
    struct emitter *emitter;
    const char *name;
    const struct optimizer_config *optimizer;
    struct adafactor_state *state;
    enum dtype computed;
};

static value_id emit_named(const struct writing *w, enum op_kind kind, const char *suffix,
                           const value_id *operands, unsigned n_operands) {
    return emit_as(w->emitter, w->computed, kind, name_with(w->emitter->arena, w->name, suffix),
                   operands, n_operands);
}

// An op with one attribute, or two.
static value_id emit_of(const struct writing *w, enum dtype type, enum op_kind kind,
                        const char *suffix, const value_id *operands, unsigned n_operands,
                        const struct attribute *attributes, unsigned n_attributes) {
    return emit_typed(w->emitter, kind, name_with(w->emitter->arena, w->name, suffix), operands,
                      n_operands, attributes, n_attributes, &type)
        ->results[0];
}

static value_id emit_weighted(const struct writing *w, enum dtype type, const char *suffix,
                              value_id a, value_id b, double weight_a, double weight_b) {
    struct attribute weights[] = {{.name = ATTRIBUTE_WEIGHT_A, .real = weight_a},
                                  {.name = ATTRIBUTE_WEIGHT_B, .real = weight_b}};
    return emit_of(w, type, OP_WEIGHTED_SUM, suffix, OPERANDS(a, b), weights, 2);
}

static const struct tensor_type *type_of(const struct writing *w, value_id value) {
    return &w->emitter->unit->values[value].type;
}

static int64_t elements_of(const struct writing *w, value_id value) {
    return type_elements(type_of(w, value));
}

// ---- scalars ----------------------------------------------------------------------------------

static value_id emit_at_least(const struct writing *w, const char *suffix, value_id x,
                              double minimum) {
    struct attribute attribute = {.name = ATTRIBUTE_MINIMUM, .real = minimum};
    return emit_of(w, DTYPE_F64, OP_AT_LEAST, suffix, OPERANDS(x), &attribute, 1);
}

static value_id emit_scalar(const struct writing *w, enum op_kind kind, const char *suffix,
                            const value_id *operands, unsigned n_operands) {
    return emit(w->emitter, kind, name_with(w->emitter->arena, w->name, suffix), operands,
                n_operands);
}

static value_id emit_divided(const struct writing *w, const char *suffix, value_id x,
                             int64_t divisor) {
    struct attribute attribute = {.name = ATTRIBUTE_DIVISOR, .integer = divisor};
    return emit_of(w, DTYPE_F64, OP_DIVIDE, suffix, OPERANDS(x), &attribute, 1);
}

// The root of the mean square, or what is at least said.
static value_id emit_scale(const struct writing *w, value_id of, const char *suffix, double least) {
    const char *name = name_with(w->emitter->arena, w->name, suffix);
    value_id sum = w->state->ordered ? emit_exact_square_sum(w->emitter, name, of)
                                     : emit_scalar(w, OP_SQUARE_SUM, suffix, OPERANDS(of));
    sum = emit_divided(w, suffix, sum, elements_of(w, of));
    return emit_at_least(w, suffix, emit_scalar(w, OP_SQUARE_ROOT, suffix, OPERANDS(sum)), least);
}

// A power of the update's number, which the unit has already where another tensor needs it.
static value_id emit_power(const struct writing *w, const char *name, double exponent) {
    const struct unit *unit = w->emitter->unit;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_POWER &&
            op_real(&unit->ops[i], ATTRIBUTE_EXPONENT, 0) == exponent)
            return unit->ops[i].results[0];
    struct attribute attribute = {.name = ATTRIBUTE_EXPONENT, .real = exponent};
    return emit_with(w->emitter, OP_POWER, name, OPERANDS(w->state->step), &attribute, 1)
        ->results[0];
}

static value_id emit_relative_rate(const struct writing *w) {
    const struct unit *unit = w->emitter->unit;
    value_id rate = w->state->rate;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_LESSER && unit->ops[i].operands[0] == rate)
            return unit->ops[i].results[0];
    const char *name = name_with(w->emitter->arena, unit->values[rate].name, ".relative");
    return emit(w->emitter, OP_LESSER, name, OPERANDS(rate, emit_power(w, "relative_step", -0.5)));
}

// ---- moments ----------------------------------------------------------------------------------

// Takes a moment towards the mean of `n` squares, of which `sum` is the sum. Returns the moment before it is
// rounded to be kept.
static value_id emit_moment(const struct writing *w, const char *suffix, value_id *moment,
                            value_id sum, int64_t n) {
    struct emitter *e = w->emitter;
    value_id old = *moment, weight = emit_power(w, "moment_weight", w->optimizer->beta2_decay);
    value_id made = emit_weighted(w, w->computed, suffix, sum, old, 1 / (double)n, -1);
    made = emit_named(w, OP_SCALE, suffix, OPERANDS(made, weight));
    made = emit_named(w, OP_ADD, suffix, OPERANDS(old, made));
    const char *name = name_with(e->arena, name_with(e->arena, w->name, suffix), ".kept");
    *moment = w->state->may_skip
                  ? emit(e, OP_UNLESS_SKIPPED, name, OPERANDS(old, made, w->state->clip))
                  : emit_to(e, made, type_of(w, old)->dtype);
    return made;
}

static const char *letters(struct arena *arena, struct side side) {
    const char *text = "";
    for (unsigned i = side.begin; i < side.end; i++)
        text = arena_format(arena, "%s%c", text, 'a' + (char)i);
    return text;
}

// The product of a matrix's two moments over the mean of all: what its elements' own would be.
static value_id emit_joined(const struct writing *w, struct side rows, struct side columns,
                            value_id of_rows, value_id of_columns, double eps) {
    struct emitter *e = w->emitter;
    const char *a = letters(e->arena, rows), *b = letters(e->arena, columns);
    value_id mean = emit_sum_rows(e, name_with(e->arena, w->name, ".mean"),
                                  emit_to(e, of_rows, DTYPE_F64), 0, DTYPE_F64);
    mean = emit_divided(w, ".mean", mean, elements_of(w, of_rows));
    mean = emit_at_least(w, ".mean", mean, eps);
    value_id inverse = emit_scalar(w, OP_RECIPROCAL, ".mean.inverse", OPERANDS(mean));
    value_id product = emit_einsum(e, name_with(e->arena, w->name, ".product"),
                                   arena_format(e->arena, "%s,%s->%s%s", a, b, a, b), of_rows,
                                   of_columns, w->computed);
    return emit_named(w, OP_SCALE, ".moment", OPERANDS(product, inverse));
}

static value_id emit_factored(const struct writing *w, const struct tensor *tensor, value_id square,
                              double eps) {
    struct emitter *e = w->emitter;
    unsigned n_rows = matrix_rows(tensor->dims, tensor->rank);
    struct side rows = {0, n_rows}, columns = {n_rows, tensor->rank};
    value_id *moments = w->state->moments;
    int64_t n_of_rows = elements_of(w, moments[0]), n_of_columns = elements_of(w, moments[1]);
    struct attribute summed = {.name = ATTRIBUTE_KEEP, .integer = columns.end - columns.begin};
    value_id over_rows =
        emit_of(w, w->computed, OP_SUM_COLUMNS, ".row_sums", OPERANDS(square), &summed, 1);
    value_id over_columns = emit_sum_rows(e, name_with(e->arena, w->name, ".column_sums"), square,
                                          (int)(columns.end - columns.begin), w->computed);
    value_id of_rows = emit_moment(w, ".rows", &moments[0], over_rows, n_of_columns);
    value_id of_columns = emit_moment(w, ".columns", &moments[1], over_columns, n_of_rows);
    return emit_joined(w, rows, columns, of_rows, of_columns, eps);
}

// ---- the step ---------------------------------------------------------------------------------

// p (1 - rate decay) - factor direction
static value_id emit_descent(const struct writing *w, value_id direction, value_id factor,
                             double weight_decay) {
    value_id p = w->state->parameter;
    enum dtype type = type_of(w, p)->dtype;
    double threshold = w->optimizer->threshold;
    value_id step = emit_named(w, OP_SCALE, ".step", OPERANDS(direction, factor));
    if (weight_decay == 0)
        return emit_weighted(w, type, ".updated", p, step, 1, -threshold);
    value_id decay = emit_named(w, OP_SCALE, ".decay", OPERANDS(p, w->state->rate));
    step = emit_weighted(w, w->computed, ".step", decay, step, weight_decay, threshold);
    return emit_weighted(w, type, ".updated", p, step, 1, -1);
}

// The update is divided by its scale over the threshold, where that is above one: by the greater of scale and
// threshold, times the threshold (emit_descent).
static value_id emit_factor(const struct writing *w, value_id direction) {
    value_id scale = emit_scale(w, w->state->parameter, ".scale", w->optimizer->least_scale);
    value_id length = emit_scale(w, direction, ".length", w->optimizer->threshold);
    value_id inverse = emit_scalar(w, OP_RECIPROCAL, ".length.inverse", OPERANDS(length));
    value_id factor = emit_scalar(w, OP_MUL, ".factor", OPERANDS(emit_relative_rate(w), scale));
    return emit_scalar(w, OP_MUL, ".factor", OPERANDS(factor, inverse));
}

static enum dtype computed_in(const struct emitter *e, const struct adafactor_state *state) {
    const value_id values[] = {state->parameter, state->moments[0], state->gradient};
    for (unsigned i = 0; i < 3; i++)
        if (e->unit->values[values[i]].type.dtype == DTYPE_F64)
            return DTYPE_F64;
    return DTYPE_F32;
}

// PyTorch's, where none is said: the distance from one to the next number of the parameter's type.
static double least_root(const struct writing *w) {
    enum dtype type = type_of(w, w->state->parameter)->dtype;
    return w->optimizer->eps > 0 ? w->optimizer->eps : dtype_epsilon(type);
}

void emit_adafactor(struct emitter *e, const char *name, const struct tensor *tensor,
                    const struct optimizer_config *o, double weight_decay,
                    struct adafactor_state *state) {
    struct writing w = {e, name, o, state, computed_in(e, state)};
    double eps = least_root(&w);
    value_id clipped = emit_named(&w, OP_SCALE, ".clipped", OPERANDS(state->gradient, state->clip));
    value_id square = emit_named(&w, OP_MUL, ".square", OPERANDS(clipped, clipped));
    value_id moment = is_factored(tensor)
                          ? emit_factored(&w, tensor, square, eps)
                          : emit_moment(&w, ".moment", &state->moments[0], square, 1);
    struct attribute minimum = {.name = ATTRIBUTE_MINIMUM, .real = eps * eps};
    value_id direction =
        emit_of(&w, w.computed, OP_OVER_ROOT, ".direction", OPERANDS(clipped, moment), &minimum, 1);
    value_id updated = emit_descent(&w, direction, emit_factor(&w, direction), weight_decay);
    if (state->may_skip)
        updated = emit(e, OP_UNLESS_SKIPPED, name_with(e->arena, name, ".kept"),
                       OPERANDS(state->parameter, updated, state->clip));
    state->parameter = updated;
}
