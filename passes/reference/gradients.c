// Reverse mode inside one unit, op by op, from the table gradients.def.
//
// The backward unit first gets every forward value as a parameter; the rules read what they need
// and what nobody read is removed at the end. So what forward has to save follows from the rules,
// and no list of saved values exists anywhere. Cheap elementwise values are computed again.
//
// Every op of the backward unit belongs to the part of the model, and to the text, of the forward
// op it comes from.
#include "passes/reference/gradients.h"

#include <string.h>

#include "ir/check.h"
#include "passes/reference/emit.h"

struct reverse {
    struct emitter emitter; // of the backward unit
    const struct unit *forward;
    bool *needed;        // of forward's values: does it depend on a wanted parameter?
    value_id *here;      // of forward's values: the parameter that it is, or NO_ID
    value_id *again;     // of forward's values: computed again, or NO_ID (not yet)
    value_id *cotangent; // of forward's values: the sum of the cotangents so far, or NO_ID (zero)
    enum dtype *types;   // of forward's values: the element type in which a cotangent of it is made
    struct backward_operand *operands;
    uint32_t n_operands, cap_operands;
};

typedef void (*gradient_rule)(struct reverse *, const struct op *);

static value_id read_value(struct reverse *r, value_id forward, const struct op *reader);

// ---- what rules are made of -------------------------------------------------------------------

// Forward's values, as the backward unit has them.
static value_id operand(struct reverse *r, const struct op *op, unsigned i) {
    return read_value(r, op->operands[i], op);
}

static value_id result(struct reverse *r, const struct op *op, unsigned i) {
    return read_value(r, op->results[i], op);
}

static bool needs(const struct reverse *r, const struct op *op, unsigned i) {
    return r->needed[op->operands[i]];
}

// The cotangent of the op's first result. Statistics beside it are not differentiated through.
static value_id cotangent(const struct reverse *r, const struct op *op) {
    for (unsigned i = 1; i < op->n_results; i++)
        CHECK(r->cotangent[op->results[i]] == NO_ID);
    return r->cotangent[op->results[0]];
}

// The same in the element type that a value of forward has, for rules whose op wants it so.
static value_id cotangent_like(struct reverse *r, const struct op *op, value_id forward) {
    return emit_to(&r->emitter, cotangent(r, op), r->forward->values[forward].type.dtype);
}

// The element type of the cotangent of operand `i`.
static enum dtype type_of(const struct reverse *r, const struct op *op, unsigned i) {
    return r->types[op->operands[i]];
}

// The parameter of the unit of which a value is the cast; the value itself, where it is none.
static value_id cast_parameter(const struct unit *unit, value_id value) {
    const struct op *op = unit_producer(unit, value);
    bool is_cast = op && op->kind == OP_CAST && op->operands[0] < unit->n_parameters;
    return is_cast ? op->operands[0] : value;
}

// The name of the cotangent of operand `i`.
static const char *gradient_name(struct reverse *r, const struct op *op, unsigned i) {
    value_id of = cast_parameter(r->forward, op->operands[i]);
    return name_with(r->emitter.arena, r->forward->values[of].name, ".gradient");
}

// The name that an op with several results was given: "attention.norm" of "attention.norm.y".
static const char *op_name(struct reverse *r, const struct op *op) {
    const char *name = r->forward->values[op->results[0]].name;
    size_t length = strlen(name);
    if (op->n_results > 1) {
        const char *dot = strrchr(name, '.');
        length = dot ? (size_t)(dot - name) : length;
    }
    return arena_string(r->emitter.arena, name, length);
}

// Adds `term` to the cotangent of the op's operand `i`.
static void contribute(struct reverse *r, const struct op *op, unsigned i, value_id term) {
    value_id *sum = &r->cotangent[op->operands[i]];
    if (!needs(r, op, i))
        return;
    *sum = *sum == NO_ID ? term

                         : emit_as(&r->emitter, type_of(r, op, i), OP_ADD, gradient_name(r, op, i),
                                   OPERANDS(*sum, term));
}

// ---- rules ------------------------------------------------------------------------------------

// c = a b over labels A,B->C gives da = dc b over C,B->A and db = a dc over A,C->B: every label of
// an operand is in the other or in the result.
static void einsum(struct reverse *r, const struct op *op) {
    const char *labels = op_attribute(op, ATTRIBUTE_LABELS)->word;
    const char *comma = strchr(labels, ','), *arrow = strstr(labels, "->");
    int a = (int)(comma - labels), b = (int)(arrow - comma - 1);
    struct arena *arena = r->emitter.arena;
    value_id dc = cotangent_like(r, op, op->operands[0]);
    if (needs(r, op, 0)) {
        const char *to_a = arena_format(arena, "%s,%.*s->%.*s", arrow + 2, b, comma + 1, a, labels);
        contribute(r, op, 0,
                   emit_einsum(&r->emitter, gradient_name(r, op, 0), to_a, dc, operand(r, op, 1),
                               type_of(r, op, 0)));
    }
    if (needs(r, op, 1)) {
        const char *to_b = arena_format(arena, "%.*s,%s->%.*s", a, labels, arrow + 2, b, comma + 1);
        contribute(r, op, 1,
                   emit_einsum(&r->emitter, gradient_name(r, op, 1), to_b, operand(r, op, 0), dc,
                               type_of(r, op, 1)));
    }
}

static void add(struct reverse *r, const struct op *op) {
    contribute(r, op, 0, cotangent(r, op));
    contribute(r, op, 1, cotangent(r, op));
}

// This is right for a square, too, where both operands are one value: it gets both contributions.
static void mul(struct reverse *r, const struct op *op) {
    for (unsigned i = 0; i < 2; i++)
        if (needs(r, op, i))
            contribute(r, op, i,
                       emit_as(&r->emitter, type_of(r, op, i), OP_MUL, gradient_name(r, op, i),
                               OPERANDS(cotangent(r, op), operand(r, op, 1 - i))));
}

// The bias was repeated over the leading dimensions, so its cotangent is summed over them.
static void add_bias(struct reverse *r, const struct op *op) {
    int keep = r->forward->values[op->operands[1]].type.rank;
    contribute(r, op, 0, cotangent(r, op));
    if (needs(r, op, 1))
        contribute(r, op, 1,
                   emit_sum_rows(&r->emitter, gradient_name(r, op, 1), cotangent(r, op), keep,
                                 type_of(r, op, 1)));
}

// An op with forward's attributes that makes the cotangent of the first operand.
static value_id like_forward(struct reverse *r, const struct op *op, enum op_kind kind,
                             const value_id *operands, unsigned n) {
    enum dtype type = type_of(r, op, 0);
    return emit_typed(&r->emitter, kind, gradient_name(r, op, 0), operands, n, op->attributes,
                      op->n_attributes, &type)
        ->results[0];
}

// Rounded or not, it is the same value: whoever needs the cotangent in a type casts it.
static void cast(struct reverse *r, const struct op *op) {
    contribute(r, op, 0, cotangent(r, op));
}

// What was taken is put back where it was.
static void take(struct reverse *r, const struct op *op) {
    value_id operands[] = {cotangent(r, op), operand(r, op, 1)};
    contribute(r, op, 0, like_forward(r, op, OP_PUT, operands, 2));
}

static void move(struct reverse *r, const struct op *op) {
    value_id operands[] = {cotangent(r, op), operand(r, op, 2), operand(r, op, 1)};
    enum dtype type = type_of(r, op, 0);
    struct op *made = emit_typed(&r->emitter, OP_MOVE, gradient_name(r, op, 0), operands, 3,
                                 op->attributes, op->n_attributes, &type);
    op_set_integer(r->emitter.arena, made, ATTRIBUTE_SHIFT, -op_integer(op, ATTRIBUTE_SHIFT, 0));
    contribute(r, op, 0, made->results[0]);
}

// The factor is a scalar of the step, no parameter.
static void scale(struct reverse *r, const struct op *op) {
    CHECK(!needs(r, op, 1));
    contribute(r, op, 0,
               emit_as(&r->emitter, type_of(r, op, 0), OP_SCALE, gradient_name(r, op, 0),
                       OPERANDS(cotangent(r, op), operand(r, op, 1))));
}

// Activation functions: their backward op takes the input and the cotangent.
static void elementwise(struct reverse *r, const struct op *op, enum op_kind backward) {
    value_id operands[] = {operand(r, op, 0), cotangent(r, op)};
    contribute(r, op, 0, like_forward(r, op, backward, operands, 2));
}

static void gelu(struct reverse *r, const struct op *op) {
    elementwise(r, op, OP_GELU_BACKWARD);
}

static void silu(struct reverse *r, const struct op *op) {
    elementwise(r, op, OP_SILU_BACKWARD);
}

// A diagonal matrix: the same elements are dropped from the cotangent, drawn once more. That costs
// an instruction or two an element and row, less than reading a stored mask back would.
static void dropout(struct reverse *r, const struct op *op) {
    value_id operands[MAX_OPERANDS] = {cotangent(r, op)};
    for (unsigned i = 1; i < op->n_operands; i++)
        operands[i] = operand(r, op, i);
    contribute(r, op, 0, like_forward(r, op, OP_DROPOUT, operands, op->n_operands));
}

// Results of a backward op are the cotangents of the forward op's first operands, in their order.
static void contribute_results(struct reverse *r, const struct op *op, enum op_kind kind,
                               const char *name, const value_id *operands, unsigned n,
                               bool with_attributes) {
    enum dtype types[MAX_RESULTS];
    for (unsigned i = 0; i < op_result_count(kind); i++)
        types[i] = type_of(r, op, i);
    struct op copy = // adding ops moves them
        *emit_typed(&r->emitter, kind, name, operands, n, op->attributes,
                    with_attributes ? op->n_attributes : 0, types);
    for (unsigned i = 0; i < copy.n_results; i++)
        contribute(r, op, i, copy.results[i]);
}

// The norms' backward ops take no eps: it is in rstd.
static void layer_norm(struct reverse *r, const struct op *op) {
    value_id operands[] = {operand(r, op, 0), operand(r, op, 1), result(r, op, 1), result(r, op, 2),
                           cotangent_like(r, op, op->results[0])};
    contribute_results(r, op, OP_LAYER_NORM_BACKWARD, op_name(r, op), operands, 5, false);
}

static void rms_norm(struct reverse *r, const struct op *op) {
    value_id operands[] = {operand(r, op, 0), operand(r, op, 1), result(r, op, 1),
                           cotangent_like(r, op, op->results[0])};
    contribute_results(r, op, OP_RMS_NORM_BACKWARD, op_name(r, op), operands, 4, false);
}

// A rotation is undone by the rotation back; its cotangent needs no value of forward.
static void rope(struct reverse *r, const struct op *op) {
    value_id operands[] = {cotangent(r, op), operand(r, op, 1)};
    contribute_results(r, op, OP_ROPE_BACKWARD, gradient_name(r, op, 0), operands, 2, true);
}

// The scores are computed again from the output and the log-sum-exp of each row, tile by tile:
// sequence x sequence is never stored (Dao et al. 2022).
static void attention(struct reverse *r, const struct op *op) {
    value_id operands[] = {operand(r, op, 0), operand(r, op, 1), operand(r, op, 2),
                           result(r, op, 0),  result(r, op, 1),  cotangent(r, op),
                           operand(r, op, 3), operand(r, op, 4)};
    contribute_results(r, op, OP_ATTENTION_BACKWARD, op_name(r, op), operands, 8, true);
}

// Ids are integers; only the table has a gradient.
static void embedding(struct reverse *r, const struct op *op) {
    if (!needs(r, op, 1))
        return;
    value_id operands[] = {operand(r, op, 0), cotangent(r, op), operand(r, op, 2)};
    contribute(r, op, 1,
               emit_as(&r->emitter, type_of(r, op, 1), OP_EMBEDDING_BACKWARD,
                       gradient_name(r, op, 1), operands, 3));
}

// The cotangent of the summed loss is the scale, 1 / tokens: the one place where it is applied.
static void cross_entropy(struct reverse *r, const struct op *op) {
    value_id operands[] = {operand(r, op, 0), operand(r, op, 1), result(r, op, 1),
                           operand(r, op, 2), cotangent(r, op)};
    contribute(r, op, 0,
               emit(&r->emitter, OP_CROSS_ENTROPY_BACKWARD, gradient_name(r, op, 0), operands, 5));
}

static void none(struct reverse *r, const struct op *op) {
}

// ---- the table --------------------------------------------------------------------------------

static const gradient_rule rules[N_OPS] = {
#define GRADIENT(OP, function, recomputed) [OP_##OP] = function,
#include "passes/reference/gradients.def"
#undef GRADIENT
};
static const bool computed_again[N_OPS] = {
#define GRADIENT(OP, function, again) [OP_##OP] = again,
#include "passes/reference/gradients.def"
#undef GRADIENT
};

static void inherit(struct reverse *r, const struct op *op) {
    r->emitter.n_roles = op->n_roles;
    memcpy(r->emitter.roles, op->roles, sizeof r->emitter.roles);
    r->emitter.span = op->span;
}

// A cast that narrows what only forward has is cheaper to keep, in fewer bytes, than what it is of.
static bool is_kept_cast(const struct unit *unit, const struct op *op) {
    return op->kind == OP_CAST && op->operands[0] >= unit->n_parameters &&
           dtype_holds(unit->values[op->operands[0]].type.dtype,
                       unit->values[op->results[0]].type.dtype);
}

bool is_computed_again(const struct unit *unit, const struct op *op) {
    return computed_again[op->kind] && !is_kept_cast(unit, op);
}

// A part is a value of its own for a kernel only: another elementwise loop takes it where it is.
static bool is_taken_by(const struct op *op, const struct op *reader) {
    return op_moves_elements(op->kind) && op_rows[reader->kind].kernel == KERNEL_ELEMENTWISE;
}

// A forward value in the backward unit; computed again at its first use if its op is cheap.
static value_id read_value(struct reverse *r, value_id forward, const struct op *reader) {
    const struct op *op = unit_producer(r->forward, forward);
    if (r->here[forward] != NO_ID && !(op && is_taken_by(op, reader)))
        return r->here[forward];
    if (r->again[forward] != NO_ID)
        return r->again[forward];
    CHECK(op && is_computed_again(r->forward, op));
    value_id operands[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = read_value(r, op->operands[i], op);
    struct emitter at = r->emitter; // the reader's roles come back afterwards
    inherit(r, op);
    const struct value *value_there = &r->forward->values[forward];
    const struct op *made =
        emit_typed(&r->emitter, op->kind, value_there->name, operands, op->n_operands,
                   op->attributes, op->n_attributes, &value_there->type.dtype);
    value_id value = made->results[0];
    r->emitter.unit->values[value].type = value_there->type;
    r->emitter = at;
    return r->again[forward] = value;
}

// ---- parameters of the backward unit ----------------------------------------------------------

// What a parameter of the unit is stands at the same place in `operands`.
static value_id add_operand(struct reverse *r, struct backward_operand operand, const char *name,
                            struct tensor_type type, bool consumed) {
    ARENA_PUSH(r->emitter.arena, r->operands, r->n_operands, r->cap_operands, operand);
    return unit_add_parameter(r->emitter.arena, r->emitter.unit, name, type, consumed);
}

static bool is_always_recomputed(const struct unit *unit, value_id value) {
    const struct op *op = unit_producer(unit, value);
    return op && is_computed_again(unit, op) && !op_moves_elements(op->kind);
}

// Forward's values that nobody reads after backward, and cotangents, may be overwritten; forward's
// own parameters, and scalars, have other readers.
static void add_operands(struct reverse *r, const bool *given, const bool *added) {
    const struct unit *forward = r->forward;
    struct arena *arena = r->emitter.arena;
    for (value_id v = 0; v < forward->n_values; v++) {
        const struct value *value = &forward->values[v];
        bool consumed = v >= forward->n_parameters && value->type.rank > 0;
        r->here[v] = r->again[v] = r->cotangent[v] = NO_ID;
        if (!is_always_recomputed(forward, v))
            r->here[v] = add_operand(r, (struct backward_operand){BACKWARD_FORWARD, v}, value->name,
                                     value->type, consumed);
    }
    for (uint32_t i = 0; i < forward->n_results; i++) {
        value_id v = forward->results[i].value;
        const struct value *value = &forward->values[v];
        if (given[i])
            r->cotangent[v] = add_operand(r, (struct backward_operand){BACKWARD_COTANGENT, i},
                                          arena_format(arena, "%s.gradient", value->name),
                                          value->type, value->type.rank > 0);
    }
    for (uint32_t i = 0; i < forward->n_parameters; i++) {
        struct tensor_type type = forward->values[i].type;
        type.dtype = r->types[i];
        if (added[i])
            add_operand(r, (struct backward_operand){BACKWARD_SUM, i},
                        arena_format(arena, "%s.sum", forward->values[i].name), type, false);
    }
}

static uint32_t find_sum(const struct reverse *r, uint32_t parameter) {
    for (uint32_t i = 0; i < r->n_operands; i++)
        if (r->operands[i].source == BACKWARD_SUM && r->operands[i].of == parameter)
            return i;
    return NO_ID;
}

// The gradients of the wanted parameters become results. Returns which parameter each is of.
static uint32_t *add_results(struct reverse *r, const bool *wanted) {
    struct arena *arena = r->emitter.arena;
    struct unit *unit = r->emitter.unit;
    uint32_t *results = ARENA_ARRAY(arena, uint32_t, r->forward->n_parameters);
    for (uint32_t i = 0; i < r->forward->n_parameters; i++) {
        value_id gradient = r->cotangent[i];
        if (!wanted[i] || gradient == NO_ID)
            continue;
        uint32_t sum = find_sum(r, i);
        if (sum != NO_ID) {
            const char *name = arena_format(arena, "%s.total", r->forward->values[i].name);
            gradient = emit(&r->emitter, OP_ACCUMULATE, name, OPERANDS(sum, gradient));
        }
        gradient = emit_to(&r->emitter, gradient, r->types[i]);
        results[unit->n_results] = i;
        unit_add_result(arena, unit, gradient, sum);
    }
    return results;
}

// Removes the parameters that no op reads and no result is.
static void drop_unread(struct reverse *r) {
    struct unit *unit = r->emitter.unit;
    struct arena scratch = {0};
    bool *read = ARENA_ARRAY(&scratch, bool, unit->n_values);
    value_id *renamed = ARENA_ARRAY(&scratch, value_id, unit->n_values);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            read[unit->ops[i].operands[k]] = true;
    for (uint32_t i = 0; i < unit->n_results; i++)
        read[unit->results[i].value] = true;

    uint32_t n = 0, n_parameters = 0;
    for (value_id v = 0; v < unit->n_values; v++) {
        bool is_parameter = v < unit->n_parameters;
        if (is_parameter && !read[v])
            continue;
        if (is_parameter) {
            r->operands[n_parameters] = r->operands[v];
            unit->consumed[n_parameters++] = unit->consumed[v];
        }
        unit->values[n] = unit->values[v];
        renamed[v] = n++;
    }
    unit->n_values = n;
    unit->n_parameters = r->n_operands = n_parameters;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        struct op *op = &unit->ops[i];
        for (unsigned k = 0; k < op->n_operands; k++)
            op->operands[k] = renamed[op->operands[k]];
        for (unsigned k = 0; k < op->n_results; k++)
            op->results[k] = renamed[op->results[k]];
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct unit_result *result = &unit->results[i];
        result->value = renamed[result->value];
        if (result->in_parameter != NO_ID)
            result->in_parameter = renamed[result->in_parameter];
    }
    arena_free(&scratch);
}

// ---- the unit ---------------------------------------------------------------------------------

// A value is needed if some wanted parameter leads to it. The others get no cotangent, so a frozen
// tensor costs nothing.
static void find_needed(struct reverse *r, const bool *wanted) {
    for (uint32_t i = 0; i < r->forward->n_parameters; i++)
        r->needed[i] = wanted[i];
    for (uint32_t i = 0; i < r->forward->n_ops; i++) {
        const struct op *op = &r->forward->ops[i];
        for (unsigned k = 0; k < op->n_operands; k++)
            for (unsigned j = 0; j < op->n_results; j++)
                r->needed[op->results[j]] |= r->needed[op->operands[k]];
    }
}

// What is a parameter in another type, or rows of it, has its cotangent made in the type of the
// parameter's gradient, if that is wanted.
static void find_types(struct reverse *r, const bool *wanted, const enum dtype *gradients) {
    const struct unit *forward = r->forward;
    for (value_id v = 0; v < forward->n_values; v++) {
        value_id of = cast_parameter(forward, v);
        bool is_made = of < forward->n_parameters && wanted[of];
        r->types[v] = is_made ? gradients[of] : forward->values[v].type.dtype;
    }
    for (uint32_t i = 0; i < forward->n_ops; i++)
        if (forward->ops[i].kind == OP_EMBEDDING)
            r->types[forward->ops[i].results[0]] = r->types[forward->ops[i].operands[1]];
}

struct backward derive_backward(struct program *program, uint32_t forward, const char *name,
                                const bool *given, const bool *wanted, const bool *added,
                                const enum dtype *gradients) {
    struct arena *arena = program->arena;
    uint32_t id = job_add_unit(program->job, name, program->job->units[forward].span);
    const struct unit *from = &program->job->units[forward];
    program->job->units[id].phase = PHASE_BACKWARD;
    struct reverse r = {.emitter = {.arena = arena, .unit = &program->job->units[id]},
                        .forward = from,
                        .needed = ARENA_ARRAY(arena, bool, from->n_values),
                        .here = ARENA_ARRAY(arena, value_id, from->n_values),
                        .again = ARENA_ARRAY(arena, value_id, from->n_values),
                        .cotangent = ARENA_ARRAY(arena, value_id, from->n_values),
                        .types = ARENA_ARRAY(arena, enum dtype, from->n_values)};
    find_needed(&r, wanted);
    find_types(&r, wanted, gradients);
    add_operands(&r, given, added);
    for (uint32_t i = from->n_ops; i-- > 0;) {
        const struct op *op = &from->ops[i];
        if (!r.needed[op->results[0]] || r.cotangent[op->results[0]] == NO_ID)
            continue;
        CHECK(rules[op->kind]);
        inherit(&r, op);
        rules[op->kind](&r, op);
    }
    uint32_t *results = add_results(&r, wanted);
    drop_unread(&r);
    if (r.emitter.unit->n_results == 0) {
        program->job->n_units--; // the unit just added
        return (struct backward){.unit = NO_ID};
    }
    return (struct backward){.unit = id, .operands = r.operands, .results = results};
}
