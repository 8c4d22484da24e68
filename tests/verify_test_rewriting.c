// The laws of bounded rewriting against execution. Values are made of random inputs; each has a
// normal form (verify/rewriting/expand.c) and, by the interpreter, a number for every element. The
// normal form must have these numbers too; and what has one normal form must have the same numbers,
// whatever it was made by: of values that are made at random, and of two ways to one value for each
// law, beside which something slightly different must get another normal form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/verify_rule_bench.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/laws.h"
#include "verify/rewriting/expansion.h"

enum { VALUES = 160, INPUTS = 6, SIZE_OF_ALL = 2, ROUNDS = 200 };

struct pool {
    struct bench bench;
    struct unit unit;
    struct array arrays[VALUES];
    struct judgement judged[VALUES];
    struct scaled normal[VALUES];
    struct expansion expansion;
    struct tensor tensors[VALUES];
    unsigned n, met; // values; of them, with the normal form of another term
    unsigned held;   // normal forms of which the numbers were looked at
};

static unsigned pick(struct pool *p, unsigned n) {
    return (unsigned)(random_bits(&p->bench.random) % n);
}

static struct pool *pool_new(uint64_t seed) {
    struct pool *p = calloc(1, sizeof *p);
    assert_non_null(p);
    begin_bench(&p->bench, 2, 0);
    p->bench.random = seed;
    p->bench.program->job->tensors = p->tensors;
    p->unit = (struct unit){.name = "u", .n_values = VALUES};
    p->unit.values = ARENA_ARRAY(&p->bench.arena, struct value, VALUES);
    for (unsigned i = 0; i < VALUES; i++)
        p->unit.values[i].name = arena_format(&p->bench.arena, "v%u", i);
    expansion_init(&p->expansion, BUILDER(p->bench.world.terms), p->bench.program, &p->bench.arena);
    return p;
}

static void pool_free(struct pool *p) {
    arena_free(&p->bench.arena);
    free(p);
}

// ---- values -----------------------------------------------------------------------------------

// A parameter of the program, of numbers between -1 and 1.
static value_id input(struct pool *p, unsigned rank) {
    struct world *w = &p->bench.world;
    struct tensor_type type = {.dtype = DTYPE_F64, .rank = (uint8_t)rank};
    for (unsigned d = 0; d < rank; d++)
        type.dims[d] = (struct dim){DIM_PART, SIZE_OF_ALL};
    const char *name =
        arena_format(&p->bench.arena, "%c%s", 'A' + CLASS_PARAMETERS, p->unit.values[p->n].name);
    uint32_t key = intern(&w->terms->attributes, name, (uint32_t)strlen(name) + 1, NULL);
    p->tensors[p->bench.program->job->n_tensors++] =
        (struct tensor){.name = name + 1, .rank = (uint8_t)rank};
    p->arrays[p->n] = array_new(&p->bench.arena, type);
    for (int64_t i = 0; i < type_elements(&type); i++)
        p->arrays[p->n].data[i] = random_between(&p->bench, -1, 1);
    struct scaled value = {term_leaf(BUILDER(w->terms), NODE_STATE, key, false, 0), SCALE_ONE};
    form_id form = form_local(&w->digits, type.dims, rank);
    p->unit.values[p->n].type = type;
    p->normal[p->n] = value;
    p->judged[p->n] = judgement_of(w, value, form, DTYPE_F64);
    return p->n++;
}

// Runs the op, and asks what its results are. Returns the first; NO_ID: shapes do not fit.
static value_id apply(struct pool *p, struct op *op, const value_id *operands) {
    const char *why;
    struct array arrays[MAX_OPERANDS];
    struct judgement judged[MAX_OPERANDS];
    value_id first = p->n;
    op->n_operands = (uint8_t)op_operand_count(op->kind);
    op->n_results = (uint8_t)op_result_count(op->kind);
    op->span = span_nowhere();
    assert_true(p->n + op->n_results <= VALUES);
    for (unsigned i = 0; i < op->n_operands; i++) {
        op->operands[i] = operands[i];
        arrays[i] = p->arrays[operands[i]];
        judged[i] = p->judged[operands[i]];
    }
    for (unsigned i = 0; i < op->n_results; i++)
        op->results[i] = p->n + i;
    if (!op_infer_types(p->bench.program->arena, &p->unit, op, &why))
        return NO_ID;
    for (unsigned i = 0; i < op->n_results; i++)
        p->arrays[p->n + i] = array_new(&p->bench.arena, p->unit.values[p->n + i].type);
    interpret_op(op, arrays, &p->arrays[p->n]);
    op_apply(&p->bench.proof, BUILDER(p->bench.world.terms), &p->unit, op, judged,
             &p->judged[p->n]);
    for (unsigned i = 0; i < op->n_results; i++, p->n++) {
        if (p->judged[p->n].fault) { // of zeros
            p->n = first;
            return NO_ID;
        }
        assert_true(expand_value(&p->expansion, p->judged[p->n].value, &p->normal[p->n]));
    }
    return first;
}

static value_id make(struct pool *p, enum op_kind kind, const value_id *operands) {
    struct op op = {.kind = kind};
    if (kind == OP_GELU || kind == OP_GELU_BACKWARD)
        op_set_word(p->bench.program->arena, &op, ATTRIBUTE_APPROXIMATE, "tanh");
    if (kind == OP_LAYER_NORM || kind == OP_RMS_NORM)
        op_set_real(p->bench.program->arena, &op, ATTRIBUTE_EPS, 0.125);
    if (kind == OP_SUM_ROWS)
        op_set_integer(p->bench.program->arena, &op, ATTRIBUTE_KEEP, 1);
    return apply(p, &op, operands);
}

static value_id make_1(struct pool *p, enum op_kind kind, value_id a) {
    return make(p, kind, (value_id[]){a});
}

static value_id make_2(struct pool *p, enum op_kind kind, value_id a, value_id b) {
    return make(p, kind, (value_id[]){a, b});
}

static value_id product(struct pool *p, const char *labels, value_id a, value_id b) {
    struct op op = {.kind = OP_EINSUM};
    op_set_word(p->bench.program->arena, &op, ATTRIBUTE_LABELS, labels);
    return apply(p, &op, (value_id[]){a, b});
}

static value_id weighted(struct pool *p, value_id a, value_id b, double x, double y) {
    struct op op = {.kind = OP_WEIGHTED_SUM};
    op_set_real(p->bench.program->arena, &op, ATTRIBUTE_WEIGHT_A, x);
    op_set_real(p->bench.program->arena, &op, ATTRIBUTE_WEIGHT_B, y);
    return apply(p, &op, (value_id[]){a, b});
}

static value_id divided(struct pool *p, value_id a, int64_t divisor) {
    struct op op = {.kind = OP_DIVIDE};
    op_set_integer(p->bench.program->arena, &op, ATTRIBUTE_DIVISOR, divisor);
    return apply(p, &op, (value_id[]){a});
}

static value_id count(struct pool *p) {
    struct op op = {.kind = OP_IOTA};
    op_set(p->bench.program->arena, &op,
           (struct attribute){.name = ATTRIBUTE_DIMENSION, .integer = DIM_PART});
    p->unit.values[p->n].type =
        (struct tensor_type){.dtype = DTYPE_I32, .rank = 1, .dims = {{DIM_PART, SIZE_OF_ALL}}};
    return apply(p, &op, NULL);
}

static value_id heads(struct pool *p, enum op_kind kind, double scale, const value_id *operands) {
    struct op op = {.kind = kind};
    op_set_real(p->bench.program->arena, &op, ATTRIBUTE_SCALE, scale);
    return apply(p, &op, operands);
}

// ---- the numbers of normal forms ----------------------------------------------------------------

enum { MAX_SUMMED = 12 };

static bool numbers_of(struct pool *p, struct term term, struct array *number);

// Attributes as verify/algebra/attributes.c writes them.
static void read_attributes(struct pool *p, uint32_t attributes, struct op *op) {
    const struct intern *all = &p->bench.world.terms->attributes;
    const char *at = attributes ? interned(all, attributes - 1) : "";
    const char *end = attributes ? at + all->entries[attributes - 1].size : at;
    if (op->kind == OP_EINSUM) { // "ab,bc,ac" is "ab,bc->ac"
        const char *last = strrchr(at, ',');
        op_set_word(p->bench.program->arena, op, ATTRIBUTE_LABELS,
                    arena_format(&p->bench.arena, "%.*s->%s", (int)(last - at), at, last + 1));
        return;
    }
    while (at < end) {
        struct attribute attribute = {.name = (enum attribute_name) * at++};
        bool word = attribute_kinds[attribute.name] == KIND_WORD;
        if (word)
            attribute.word = at;
        else if (attribute_kinds[attribute.name] == KIND_REAL)
            memcpy(&attribute.real, at, sizeof attribute.real);
        else
            memcpy(&attribute.integer, at, sizeof attribute.integer);
        at += word ? strlen(at) + 1 : sizeof attribute.integer;
        op_set(p->bench.program->arena, op, attribute);
    }
}

static struct term operand_term(const struct pool *p, struct term of, uint32_t i) {
    const struct part *part = &p->bench.world.terms->nodes[of.node].key->parts[i];
    return (struct term){part->node, 0};
}

static struct array ones(struct pool *p, struct tensor_type type) {
    struct array array = array_new(&p->bench.arena, type);
    for (int64_t i = 0; i < type_elements(&type); i++)
        array.data[i] = 1;
    return array;
}

// An op all of whose operands its result reads; a 1 has the shape of the first, or is a scalar.
static bool op_number(struct pool *p, struct term term, struct array *number) {
    const struct node_key *key = p->bench.world.terms->nodes[term.node].key;
    struct op op = {.kind = (enum op_kind)key->kind};
    struct array operands[MAX_OPERANDS], results[MAX_RESULTS];
    struct unit unit = {.name = "", .n_values = MAX_OPERANDS + MAX_RESULTS};
    const char *why;
    op.n_operands = (uint8_t)op_operand_count(op.kind);
    op.n_results = (uint8_t)op_result_count(op.kind);
    read_attributes(p, key->attributes, &op);
    unit.values = ARENA_ARRAY(&p->bench.arena, struct value, unit.n_values);
    for (unsigned i = 0; i < op.n_operands; i++) {
        if (!op_reads(op.kind, key->result, i))
            return false;
        struct term of = operand_term(p, term, i);
        struct tensor_type shape = {.dtype = DTYPE_F64};
        if (op.kind != OP_CROSS_ENTROPY_BACKWARD && i > 0)
            shape = operands[0].type;
        if (term_kind(p->bench.world.terms, of) == NODE_ONE)
            operands[i] = ones(p, shape);
        else if (!numbers_of(p, of, &operands[i]))
            return false;
        op.operands[i] = i;
        unit.values[i].type = operands[i].type;
    }
    for (unsigned i = 0; i < op.n_results; i++)
        op.results[i] = MAX_OPERANDS + i;
    assert_true(op_infer_types(p->bench.program->arena, &unit, &op, &why));
    for (unsigned i = 0; i < op.n_results; i++)
        results[i] = array_new(&p->bench.arena, unit.values[op.results[i]].type);
    interpret_op(&op, operands, results);
    *number = results[key->result];
    return true;
}

// Every dimension has two elements, so an index is a bit of a number for each label.
static int64_t element(const char *labels, uint32_t indices) {
    int64_t at = 0;
    for (; *labels; labels++)
        at = 2 * at + (indices >> (*labels - 1) & 1);
    return at;
}

static bool product_number(struct pool *p, struct term term, struct array *number) {
    struct flat flat;
    struct array factors[MAX_FLAT];
    struct tensor_type type = {.dtype = DTYPE_F64};
    flat_open(p->bench.world.terms, term, 0, &flat);
    type.rank = (uint8_t)strlen(flat.result);
    for (unsigned d = 0; d < type.rank; d++)
        type.dims[d] = (struct dim){DIM_PART, SIZE_OF_ALL};
    for (unsigned i = 0; i < flat.n; i++)
        if (flat.last > MAX_SUMMED || !numbers_of(p, flat.factors[i], &factors[i]))
            return false;
    *number = array_new(&p->bench.arena, type);
    for (uint32_t indices = 0; indices < 1u << flat.last; indices++) {
        double value = 1;
        for (unsigned i = 0; i < flat.n; i++)
            value *= factors[i].data[element(flat.labels[i], indices)];
        number->data[element(flat.result, indices)] += value;
    }
    return true;
}

static double value_of_scale(const struct pool *p, scale_id id);

static bool sum_number(struct pool *p, struct term term, struct array *number) {
    const struct node *node = &p->bench.world.terms->nodes[term.node];
    for (uint32_t i = 0; i < node->n_parts; i++) {
        struct array part;
        double scale = value_of_scale(p, node->key->parts[i].scale);
        if (!numbers_of(p, operand_term(p, term, i), &part))
            return false;
        if (i == 0)
            *number = array_new(&p->bench.arena, part.type);
        assert_true(type_equal(&number->type, &part.type));
        for (int64_t e = 0; e < type_elements(&part.type); e++)
            number->data[e] += scale * part.data[e];
    }
    return true;
}

// False: it takes too long, or reads operands that no term names.
static bool numbers_of(struct pool *p, struct term term, struct array *number) {
    int kind = term_kind(p->bench.world.terms, term);
    for (unsigned k = 0; k < p->n; k++)
        if (term_equal(p->judged[k].value.of, term) && p->judged[k].value.scale == SCALE_ONE) {
            *number = p->arrays[k];
            return true;
        }
    if (kind == NODE_PRODUCT)
        return product_number(p, term, number);
    if (kind == NODE_SUM || kind == NODE_SCALED)
        return sum_number(p, term, number);
    return kind < N_OPS && kind != OP_IOTA && op_number(p, term, number);
}

// A value is what its normal form says.
static unsigned check_normal(struct pool *p, unsigned i) {
    struct array number;
    double scale = value_of_scale(p, p->normal[i].scale);
    bool own = term_equal(p->normal[i].of, p->judged[i].value.of);
    if (own || !numbers_of(p, p->normal[i].of, &number))
        return 0;
    assert_int_equal(type_elements(&number.type), type_elements(&p->arrays[i].type));
    for (int64_t e = 0; e < type_elements(&number.type); e++)
        if (!(fabs(scale * number.data[e] - p->arrays[i].data[e]) <=
              1e-9 * (1 + fabs(p->arrays[i].data[e]))))
            fail_msg("a normal form is %.15g where the value is %.15g", scale * number.data[e],
                     p->arrays[i].data[e]);
    return 1;
}

// ---- what must be alike -----------------------------------------------------------------------

static double term_number(const struct pool *p, struct term scalar) {
    for (unsigned k = 0; k < p->n; k++)
        if (term_equal(p->judged[k].value.of, scalar) && p->judged[k].value.scale == SCALE_ONE)
            return p->arrays[k].data[0];
    fail_msg("no value is the scalar of a scale");
    return 0;
}

static double value_of_scale(const struct pool *p, scale_id id) {
    const struct scale *scale = scale_get(p->bench.world.terms, id);
    double value = scale_number_value(p->bench.world.terms, scale);
    assert_int_equal(scale->serial, 0);
    for (uint32_t i = 0; i < scale->n_factors; i++)
        value *= pow(term_number(p, scale->factors[i].of), scale->factors[i].power);
    return value;
}

static bool same_numbers(struct pool *p, unsigned a, unsigned b) {
    double x = value_of_scale(p, p->normal[a].scale), y = value_of_scale(p, p->normal[b].scale);
    if (!type_equal(&p->arrays[a].type, &p->arrays[b].type))
        return false;
    for (int64_t i = 0; i < type_elements(&p->arrays[a].type); i++) {
        double mine = p->arrays[a].data[i] / x, theirs = p->arrays[b].data[i] / y;
        if (!(fabs(mine - theirs) <= 1e-9 * (1 + fabs(mine))))
            return false;
    }
    return true;
}

// ---- laws, one by one ---------------------------------------------------------------------------

// Two ways to a value, and one to something else.
struct ways {
    value_id one, other, wrong;
};

static struct ways association(struct pool *p) {
    value_id x = input(p, 2), a = input(p, 2), b = input(p, 2);
    value_id first = product(p, "sh,hf->sf", product(p, "sh,hf->sf", x, a), b);
    value_id folded = product(p, "sh,hf->sf", a, b);
    return (struct ways){first, product(p, "sh,hf->sf", x, folded),
                         product(p, "sh,hf->sf", x, product(p, "sh,hf->sf", b, a))};
}

static struct ways distribution(struct pool *p) {
    value_id x = input(p, 2), y = input(p, 2), w = input(p, 2);
    value_id xw = product(p, "sh,hf->sf", x, w), yw = product(p, "sh,hf->sf", y, w);
    return (struct ways){product(p, "sh,hf->sf", make_2(p, OP_ADD, x, y), w),
                         make_2(p, OP_ADD, xw, yw), make_2(p, OP_ADD, xw, xw)};
}

static struct ways independence(struct pool *p) {
    value_id x = input(p, 1), y = input(p, 2), z = input(p, 2);
    value_id inside = product(p, "b,bsh->bh", x, product(p, "bs,sh->bsh", z, y));
    value_id outside = product(p, "b,bh->bh", x, product(p, "bs,sh->bh", z, y));
    return (struct ways){inside, outside, product(p, "b,bh->bh", x, product(p, "sb,sh->bh", z, y))};
}

// A factor twice: its labels tell the two apart, whatever order they come in.
static struct ways repetition(struct pool *p) {
    value_id x = input(p, 2), w = input(p, 2);
    value_id left = product(p, "ab,bc->ac", product(p, "ab,bc->ac", x, w), w);
    value_id right = product(p, "ab,bc->ac", x, product(p, "ab,bc->ac", w, w));
    value_id wrong = product(p, "ab,bc->ac", x, product(p, "ab,cb->ac", w, w));
    return (struct ways){left, right, wrong};
}

static struct ways bias(struct pool *p) {
    value_id x = input(p, 3), b = input(p, 1), w = input(p, 2);
    value_id whole = product(p, "bsh,hf->bsf", make_2(p, OP_ADD_BIAS, x, b), w);
    value_id apart = product(p, "bsh,hf->bsf", x, w);
    return (struct ways){whole, make_2(p, OP_ADD_BIAS, apart, product(p, "h,hf->f", b, w)),
                         make_2(p, OP_ADD_BIAS, apart, b)};
}

static struct ways derivative(struct pool *p) {
    enum op_kind kind = pick(p, 2) ? OP_SILU_BACKWARD : OP_GELU_BACKWARD;
    value_id x = input(p, 2), a = input(p, 2), b = input(p, 2);
    value_id inside = make_2(p, kind, x, make_2(p, OP_MUL, a, b));
    return (struct ways){inside, make_2(p, OP_MUL, b, make_2(p, kind, x, a)),
                         make_2(p, OP_MUL, b, make_2(p, kind, a, x))};
}

static struct ways rows(struct pool *p) {
    value_id x = input(p, 3), y = input(p, 3);
    value_id sum = make_1(p, OP_SUM_ROWS, make_2(p, OP_MUL, x, y));
    return (struct ways){sum, product(p, "bsh,bsh->h", x, y), product(p, "bsh,sbh->h", x, y)};
}

static struct ways difference(struct pool *p) {
    value_id x = input(p, 2), y = input(p, 2), w = input(p, 2);
    value_id apart =
        weighted(p, product(p, "sh,hf->sf", x, w), product(p, "sh,hf->sf", y, w), 0.5, -2);
    value_id whole = product(p, "sh,hf->sf", weighted(p, x, y, 0.25, -1), w);
    return (struct ways){apart, weighted(p, whole, whole, 1.5, 0.5),
                         weighted(p, whole, whole, 1.5, 1)};
}

static struct ways gain_into_weight(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), w = input(p, 2);
    value_id y = make_2(p, OP_RMS_NORM, x, g);
    value_id plain = product(p, "bsh,bs->bsh", x, y + 1);
    return (struct ways){product(p, "bsh,hf->bsf", y, w),
                         product(p, "bsh,hf->bsf", plain, product(p, "h,hf->hf", g, w)),
                         product(p, "bsh,hf->bsf", plain, product(p, "f,hf->hf", g, w))};
}

static struct ways centred(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), b = input(p, 1);
    value_id y = make(p, OP_LAYER_NORM, (value_id[]){x, g, b});
    value_id scaled = product(p, "bs,h->bsh", y + 2, g);
    value_id first = make_2(p, OP_MUL, x, scaled),
             second = product(p, "bs,bsh->bsh", y + 1, scaled);
    return (struct ways){y, make_2(p, OP_ADD_BIAS, weighted(p, first, second, 1, -1), b),
                         make_2(p, OP_ADD_BIAS, weighted(p, first, second, 1, 1), b)};
}

static struct ways gain_gradient(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), r = input(p, 2), dy = input(p, 3);
    value_id dx = make(p, OP_RMS_NORM_BACKWARD, (value_id[]){x, g, r, dy});
    value_id plain = product(p, "bsh,bs->bsh", x, r);
    return (struct ways){dx + 1, product(p, "bsh,bsh->h", plain, dy),
                         product(p, "bsh,bsh->h", x, dy)};
}

static struct ways centred_gradient(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), m = input(p, 2), r = input(p, 2), dy = input(p, 3);
    value_id dx = make(p, OP_LAYER_NORM_BACKWARD, (value_id[]){x, g, m, r, dy});
    value_id scaled = product(p, "bs,bsh->bsh", r, dy);
    value_id of_x = product(p, "bsh,bsh->h", x, scaled);
    value_id of_mean = product(p, "bs,bsh->h", m, scaled);
    return (struct ways){dx + 1, weighted(p, of_x, of_mean, 1, -1),
                         weighted(p, of_x, of_mean, 1, -0.5)};
}

static struct ways bias_gradient(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), m = input(p, 2), r = input(p, 2), dy = input(p, 3);
    value_id dx = make(p, OP_LAYER_NORM_BACKWARD, (value_id[]){x, g, m, r, dy});
    return (struct ways){dx + 2, make_1(p, OP_SUM_ROWS, dy), make_1(p, OP_SUM_ROWS, x)};
}

static struct ways norm_of_sum(struct pool *p) {
    value_id x = input(p, 3), g = input(p, 1), r = input(p, 2), a = input(p, 3), b = input(p, 3);
    enum op_kind kind = OP_RMS_NORM_BACKWARD;
    value_id both = make(p, kind, (value_id[]){x, g, r, make_2(p, OP_ADD, a, b)});
    value_id first = make(p, kind, (value_id[]){x, g, r, a});
    value_id second = make(p, kind, (value_id[]){x, g, r, b});
    return (struct ways){both, make_2(p, OP_ADD, first, second), make_2(p, OP_ADD, first, first)};
}

// The loss's gradient is linear in the scalar that scales it.
static struct ways loss_scale(struct pool *p) {
    value_id x = input(p, 2), lse = input(p, 1), s = input(p, 0), t = input(p, 0), ids = count(p);
    enum op_kind kind = OP_CROSS_ENTROPY_BACKWARD;
    value_id by_s = make(p, kind, (value_id[]){x, ids, lse, ids, s});
    value_id by_t = make(p, kind, (value_id[]){x, ids, lse, ids, t});
    return (struct ways){make_2(p, OP_SCALE, by_s, t), make_2(p, OP_SCALE, by_t, s),
                         make_2(p, OP_SCALE, by_t, t)};
}

static struct ways scalar(struct pool *p) {
    value_id x = input(p, 2), w = input(p, 2), s = input(p, 0), t = input(p, 0);
    value_id inside = product(p, "ab,bc->ac", product(p, "ab,->ab", x, s), w);
    value_id plain = product(p, "ab,bc->ac", x, w);
    return (struct ways){inside, make_2(p, OP_SCALE, plain, s), make_2(p, OP_SCALE, plain, t)};
}

// Linear, but not element by element: the labels of what is picked from are summed over.
static struct ways picked(struct pool *p) {
    value_id x = input(p, 2), y = input(p, 2), ids = count(p);
    value_id of_x = make(p, OP_PICK, (value_id[]){x, ids, ids});
    value_id of_y = make(p, OP_PICK, (value_id[]){y, ids, ids});
    value_id both = make(p, OP_PICK, (value_id[]){make_2(p, OP_ADD, x, y), ids, ids});
    return (struct ways){both, make_2(p, OP_ADD, of_x, of_y), make_2(p, OP_ADD, of_x, of_x)};
}

static struct ways queries_scaled(struct pool *p) {
    value_id q = input(p, 5), k = input(p, 4), v = input(p, 4), at = count(p);
    value_id half = divided(p, q, 2), third = divided(p, k, 3);
    value_id one = heads(p, OP_ATTENTION, 0.75, (value_id[]){q, k, v, at, at});
    value_id other = heads(p, OP_ATTENTION, 4.5, (value_id[]){half, third, v, at, at});
    unsigned result = pick(p, 2);
    value_id wrong = heads(p, OP_ATTENTION, 1.5, (value_id[]){half, third, v, at, at});
    return (struct ways){one + result, other + result, wrong + result};
}

// dq of queries that are halved is twice that of the queries; dk has the scale of keys likewise.
static struct ways scaled_backward(struct pool *p) {
    value_id q = input(p, 5), k = input(p, 4), v = input(p, 4), at = count(p), d_o = input(p, 5);
    value_id half = divided(p, q, 2), third = divided(p, k, 3);
    value_id o = heads(p, OP_ATTENTION, 0.75, (value_id[]){q, k, v, at, at});
    enum op_kind kind = OP_ATTENTION_BACKWARD;
    value_id one = heads(p, kind, 0.75, (value_id[]){q, k, v, o, o + 1, d_o, at, at});
    value_id other = heads(p, kind, 4.5, (value_id[]){half, third, v, o, o + 1, d_o, at, at});
    unsigned result = pick(p, 3);
    value_id same = result == 2 ? other + 2 : divided(p, other + result, result ? 3 : 2);
    return (struct ways){one + result, same, divided(p, other + result, 6)};
}

static struct ways values_added(struct pool *p) {
    value_id q = input(p, 5), k = input(p, 4), v = input(p, 4), w = input(p, 4), at = count(p);
    value_id sum = make_2(p, OP_ADD, v, w);
    value_id one = heads(p, OP_ATTENTION, 0.5, (value_id[]){q, k, sum, at, at});
    value_id of_v = heads(p, OP_ATTENTION, 0.5, (value_id[]){q, k, v, at, at});
    value_id of_w = heads(p, OP_ATTENTION, 0.5, (value_id[]){q, k, w, at, at});
    return (struct ways){one, make_2(p, OP_ADD, of_v, of_w), make_2(p, OP_ADD, of_v, of_v)};
}

static struct ways nested(struct pool *p) { // inside of what has no structure
    value_id x = input(p, 2), a = input(p, 2), b = input(p, 2);
    value_id left = product(p, "sh,hf->sf", product(p, "sh,hf->sf", x, a), b);
    value_id right = product(p, "sh,hf->sf", x, product(p, "sh,hf->sf", a, b));
    return (struct ways){make_1(p, OP_SILU, left), make_1(p, OP_SILU, right),
                         make_1(p, OP_SILU, product(p, "sh,hf->sf", b, a))};
}

static const struct {
    const char *name;
    struct ways (*of)(struct pool *);
} laws[] = {
    {"association", association},
    {"distribution", distribution},
    {"independence", independence},
    {"repetition", repetition},
    {"bias", bias},
    {"derivative", derivative},
    {"rows", rows},
    {"difference", difference},
    {"gain_into_weight", gain_into_weight},
    {"centred", centred},
    {"gain_gradient", gain_gradient},
    {"centred_gradient", centred_gradient},
    {"bias_gradient", bias_gradient},
    {"norm_of_sum", norm_of_sum},
    {"loss_scale", loss_scale},
    {"scalar", scalar},
    {"picked", picked},
    {"queries_scaled", queries_scaled},
    {"scaled_backward", scaled_backward},
    {"values_added", values_added},
    {"nested", nested},
};

static void each_law_holds(void **state) {
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct pool *p = pool_new(seed);
            struct ways ways = laws[i].of(p);
            if (scaled_equal(p->judged[ways.one].value, p->judged[ways.other].value))
                fail_msg("%s: the terms are equal without it", laws[i].name);
            if (!scaled_equal(p->normal[ways.one], p->normal[ways.other]))
                fail_msg("%s: two normal forms", laws[i].name);
            for (unsigned k = 0; k < p->n; k++)
                check_normal(p, k);
            if (!same_numbers(p, ways.one, ways.other))
                fail_msg("%s: two values", laws[i].name);
            if (scaled_equal(p->normal[ways.one], p->normal[ways.wrong]))
                fail_msg("%s: something else has the normal form, too", laws[i].name);
            pool_free(p);
        }
}

// ---- at random ----------------------------------------------------------------------------------

static void add_product(struct pool *p, value_id a, value_id b) {
    char labels[32] = "", result[8] = "";
    unsigned n = 0, n_result = 0, of_a = p->unit.values[a].type.rank;
    for (unsigned d = 0; d < of_a; d++)
        labels[n++] = (char)('a' + d);
    labels[n++] = ',';
    for (unsigned d = 0; d < p->unit.values[b].type.rank; d++) {
        char like = (char)('a' + pick(p, 3));
        bool same = like < (char)('a' + of_a) && !memchr(labels + of_a, like, n - of_a);
        labels[n++] = same ? like : (char)('p' + d);
    }
    for (unsigned i = 0, end = n; i < end && n_result < 3; i++)
        if (labels[i] != ',' && !strchr(result, labels[i]) && pick(p, 2))
            result[n_result++] = labels[i];
    if (n_result > 0)
        product(p, arena_format(&p->bench.arena, "%s->%s", labels, result), a, b);
}

static void add_random(struct pool *p) {
    static const enum op_kind kinds[] = {
        OP_ADD,           OP_ADD,           OP_ADD_BIAS, OP_MUL,
        OP_SUM_ROWS,      OP_SILU,          OP_RMS_NORM, OP_LAYER_NORM,
        OP_SILU_BACKWARD, OP_GELU_BACKWARD, OP_EINSUM,   OP_RMS_NORM_BACKWARD,
        OP_EINSUM,        OP_EINSUM,        OP_EINSUM,   OP_LAYER_NORM_BACKWARD,
        OP_WEIGHTED_SUM,  OP_DIVIDE};
    enum op_kind kind = kinds[pick(p, sizeof kinds / sizeof *kinds)];
    value_id operands[MAX_OPERANDS], before = p->n;
    for (unsigned i = 0; i < MAX_OPERANDS; i++)
        operands[i] = pick(p, p->n < 24 ? p->n : 24); // of a few, so that ways meet
    if (kind == OP_EINSUM)
        add_product(p, operands[0], operands[1]);
    else if (kind == OP_WEIGHTED_SUM)
        weighted(p, operands[0], operands[1], 0.5, pick(p, 2) ? -1 : 2);
    else if (kind == OP_DIVIDE)
        divided(p, operands[0], 2);
    else
        make(p, kind, operands);
    for (value_id i = before; i < p->n; i++) // a scalar may be in scales, of which none is a value
        if (p->unit.values[i].type.rank == 0)
            p->n = before;
}

static void check_met(struct pool *p) {
    for (unsigned i = 0; i < p->n; i++) {
        p->held += check_normal(p, i);
        int kind = term_kind(p->bench.world.terms, p->normal[i].of);
        for (int64_t e = 0; kind == NODE_ZERO && e < type_elements(&p->arrays[i].type); e++)
            assert_true(fabs(p->arrays[i].data[e]) <= 1e-9);
        for (unsigned k = 0; kind != NODE_ZERO && k < i; k++) {
            if (!term_equal(p->normal[i].of, p->normal[k].of))
                continue;
            if (!same_numbers(p, k, i))
                fail_msg("two values of one normal form differ");
            p->met += !term_equal(p->judged[i].value.of, p->judged[k].value.of);
        }
    }
}

static void what_meets_is_equal(void **state) {
    unsigned met = 0, held = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pool *p = pool_new(100 + round);
        for (unsigned i = 0; i < INPUTS; i++)
            input(p, 1 + i % 3);
        while (p->n < VALUES - MAX_RESULTS)
            add_random(p);
        check_met(p);
        met += p->met;
        held += p->held;
        pool_free(p);
    }
    print_message("%u normal forms held, %u pairs of values met by the laws only\n", held, met);
    assert_true(met > ROUNDS && held > 10 * ROUNDS);
}

// What would take more terms than the budget has no normal form, and the next question is answered.
static void a_long_product_is_given_up(void **state) {
    struct pool *p = pool_new(7);
    struct terms *terms = p->bench.world.terms;
    value_id sums[5], w = input(p, 2), v = input(p, 2);
    for (int i = 0; i < 5; i++) {
        sums[i] = input(p, 2);
        for (int k = 0; k < 7; k++)
            sums[i] = make_2(p, OP_ADD, sums[i], input(p, 2));
    }
    struct scaled product_of_all = p->judged[sums[0]].value, normal;
    for (int i = 1; i < 5; i++) {
        struct op_labels labels = {.operands = {"ab", "bc"}, .results = {"ac"}};
        product_of_all =
            law_product(BUILDER(terms), &labels, product_of_all, p->judged[sums[i]].value);
    }
    assert_false(expand_value(&p->expansion, product_of_all, &normal));
    value_id x = product(p, "sh,hf->sf", make_2(p, OP_ADD, w, v), w);
    value_id y = make_2(p, OP_ADD, product(p, "sh,hf->sf", w, w), product(p, "sh,hf->sf", v, w));
    assert_true(scaled_equal(p->normal[x], p->normal[y]));
    pool_free(p);
}

// A number that is no fraction of small numbers stays in its op, and so does zero, and one by which others cannot be
// multiplied.
static void odd_numbers_stay_in_their_ops(void **state) {
    static const double odd[] = {0, 0x1p-70, 0x1p70};
    static const int64_t large_prime = INT64_MAX - 24;
    for (unsigned i = 0; i < 3; i++) {
        struct pool *p = pool_new(9);
        value_id x = input(p, 2), y = input(p, 2), at = count(p);
        value_id q = input(p, 5), k = input(p, 4), v = input(p, 4);
        value_id values[] = {
            weighted(p, x, y, odd[i], 1), weighted(p, x, y, 1, odd[i]),
            heads(p, OP_ATTENTION, odd[i], (value_id[]){q, k, v, at, at}),
            heads(p, OP_ATTENTION, 0.75, (value_id[]){divided(p, q, large_prime), k, v, at, at})};
        for (unsigned n = 0; n < 4; n++)
            assert_true(scaled_equal(p->normal[values[n]], p->judged[values[n]].value));
        pool_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_law_holds),
        cmocka_unit_test(what_meets_is_equal),
        cmocka_unit_test(a_long_product_is_given_up),
        cmocka_unit_test(odd_numbers_stay_in_their_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
