// The normal form of bounded rewriting: a term becomes a sum of flattened products (flat.c) of what
// has no structure. Nothing here is about one program; the laws are
//
//   a (b + c) = a b + a c          and so of every op, in an operand in which it is linear
//   f(x, y) = y f(x, 1)            of what is linear in y and mixes no label that y has (the
//                                  derivatives of activations, dropout)
//   sum_rows(x)                  = the product of x alone, summed over the rows
//   norm(x, gain, bias)          = (x - mean(x)) rstd(x) gain + bias; the gradients of gain and
//                                  bias are such products too
//   weighted_sum(x, y)           = a x + b y, where the weights a and b are fractions
//   attention of a q and b k     = attention of q and k with a b times the scale
//
// Each makes an op into sums and products of its operands, which are smaller, so this ends; how
// much of it there may be is bounded. None may lose how often something is repeated: a product
// repeats along a label that none of its factors has, and of how many elements it is only another
// summand says.
#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "verify/rewriting/expansion.h"

#define NO_SCALE UINT32_MAX // of a term whose normal form is not known

// An op that made a term, with what it reads in normal form.
struct made {
    struct term term;
    enum op_kind kind;
    unsigned result, n_operands;
    uint32_t attributes;
    scale_id outer;                       // of the whole
    struct scaled operands[MAX_OPERANDS]; // of those that are read
    struct shape shape;                   // what is not known has no labels
};

static struct scaled expand(struct expansion *, struct scaled);
static struct scaled expand_sized(struct expansion *, struct scaled);
static struct scaled expand_term(struct expansion *, struct term);

void expansion_init(struct expansion *x, const struct builder *builder,
                    const struct program *program, struct arena *arena) {
    x->builder = *builder;
    x->builder.names = NAMES_LEFT;
    x->program = program;
    x->arena = x->keys.arena = x->known_keys.arena = arena;
}

// ---- numbers of attributes ----------------------------------------------------------------------

// A number as the fraction that it is. False: its numerator or denominator is too large, or it is
// zero, which would leave nothing that says of how many elements what it multiplies is.
static bool scale_of_attribute(struct expansion *x, struct term term, enum attribute_name name,
                               scale_id *scale) {
    int exponent;
    struct attribute attribute;
    CHECK(term_attribute(x->builder.terms, term, name, &attribute));
    double mantissa = frexp(attribute.real, &exponent);
    int64_t numerator = (int64_t)ldexp(mantissa, 53);
    int shift = 53 - exponent; // the number is numerator / 2^shift
    for (; numerator && numerator % 2 == 0; shift--)
        numerator /= 2;
    if (numerator == 0 || shift < -8 || shift > 62)
        return false;
    for (; shift < 0; shift++)
        numerator *= 2;
    *scale = scale_rational(x->builder.terms, numerator, INT64_C(1) << shift);
    return true;
}

// ---- products of sums -------------------------------------------------------------------------

struct operand {
    struct scaled value;
    const char *labels;
};

// False: too many factors, or the op's labels are not those of the factor, which is of another
// rank, or of none that is known.
static bool append(struct expansion *x, struct flat *flat, struct term factor, const char *labels) {
    struct flat own;
    if (expansion_known(x, factor).rank != (int)strlen(labels))
        return false;
    flat_open(x->builder.terms, factor, (unsigned)strlen(labels), &own);
    return flat_append(flat, &own, labels);
}

// The product of one summand of each, as `chosen` counts them.
static bool multiply_chosen(struct expansion *x, const struct operand *operands,
                            const struct sum *sums, unsigned n, uint32_t chosen, const char *result,
                            struct scaled *product) {
    struct terms *terms = x->builder.terms;
    struct flat flat = {.last = 27 + 3 * MAX_RANK}; // behind all labels of a signature
    scale_id scale = SCALE_ONE;
    strcpy(flat.result, result);
    for (unsigned i = 0; i < n; i++, chosen /= sums[i - 1].n) {
        const struct summand *one = &sums[i].items[chosen % sums[i].n];
        scale = scale_product(terms, scale, one->scale);
        if (!append(x, &flat, (struct term){one->node, one->at}, operands[i].labels))
            return false;
    }
    for (unsigned i = 0; i < n; i++)
        if (!flat_has(&flat, operands[i].labels))
            return false;
    *product = flat_finish(&x->builder, &flat);
    product->scale = scale_product(terms, product->scale, scale);
    return true;
}

// The product distributed over all sums. False: it cannot be flattened.
static bool multiply(struct expansion *x, const struct operand *operands, unsigned n,
                     const char *result, struct scaled *product) {
    struct sum sums[4] = {{0}}, all = {0};
    uint32_t total = 1;
    CHECK(n <= 4);
    for (unsigned i = 0; i < n; i++) {
        if (!sum_plain(&x->builder, &sums[i], operands[i].value))
            return false;
        if (__builtin_mul_overflow(total, sums[i].n, &total))
            total = UINT32_MAX;
    }
    x->budget -= total;
    x->spent = x->spent || x->budget < 0;
    for (uint32_t chosen = 0; chosen < total && !x->spent; chosen++) {
        struct scaled one;
        if (!multiply_chosen(x, operands, sums, n, chosen, result, &one))
            return false;
        sum_add(&x->builder, &all, one, SCALE_ONE);
    }
    *product = sum_finish(&x->builder, &all);
    return true;
}

static struct scaled sum_of(struct expansion *x, struct scaled a, scale_id weight_a,
                            struct scaled b, scale_id weight_b) {
    struct sum sum = {0};
    sum_add(&x->builder, &sum, a, weight_a);
    sum_add(&x->builder, &sum, b, weight_b);
    return sum_finish(&x->builder, &sum);
}

// ---- ops --------------------------------------------------------------------------------------

// The op itself on operands in normal form.
static struct scaled rebuild(struct expansion *x, const struct made *m,
                             const struct scaled *operands) {
    struct terms *terms = x->builder.terms;
    struct part parts[MAX_OPERANDS];
    scale_id scale = SCALE_ONE;
    uint32_t n = 0;
    for (unsigned i = 0; i < m->n_operands; i++) {
        if (!op_reads(m->kind, m->result, i))
            continue;
        bool linear = op_is_linear(m->kind, i);
        if (linear)
            scale = scale_product(terms, scale, operands[i].scale);
        parts[n++] = part_of(linear ? operands[i].of : term_with_scale(&x->builder, operands[i]));
    }
    return (struct scaled){term_make(&x->builder, m->kind, m->result, m->attributes, parts, n),
                           scale};
}

// Another result of the same op, which reads operand 0 alone.
static struct scaled statistic(struct expansion *x, const struct made *m, unsigned result) {
    struct part part = part_of(term_with_scale(&x->builder, m->operands[0]));
    return (struct scaled){term_make(&x->builder, m->kind, result, m->attributes, &part, 1),
                           SCALE_ONE};
}

// (x - mean) rstd y, where there is a mean and where there is a y.
static bool normalised(struct expansion *x, const struct made *m, struct scaled rstd,
                       const struct scaled *mean, struct operand y, const char *result,
                       struct scaled *made) {
    bool forward = m->kind == OP_LAYER_NORM || m->kind == OP_RMS_NORM;
    const char *of_x = m->shape.operands[0];
    const char *of_row =
        forward ? m->shape.results[1] : m->shape.operands[m->kind == OP_RMS_NORM_BACKWARD ? 2 : 3];
    struct operand whole[3] = {{m->operands[0], of_x}, {rstd, of_row}, y};
    struct scaled first, second;
    if (!multiply(x, whole, 3, result, &first))
        return false;
    *made = first;
    if (!mean)
        return true;
    whole[0] = (struct operand){*mean, of_row};
    if (!multiply(x, whole, 3, result, &second))
        return false;
    scale_id minus = scale_rational(x->builder.terms, -1, 1);
    *made = sum_of(x, first, SCALE_ONE, second, minus);
    return true;
}

static bool expand_norm(struct expansion *x, const struct made *m, struct scaled *made) {
    bool centred = m->kind == OP_LAYER_NORM;
    const char *result = m->shape.results[0];
    if (m->result != 0)
        return false;
    struct scaled rstd = statistic(x, m, centred ? 2 : 1), mean = {{0, 0}, SCALE_ONE}, bias;
    if (centred)
        mean = statistic(x, m, 1);
    struct operand gain = {m->operands[1], m->shape.operands[1]};
    if (!normalised(x, m, rstd, centred ? &mean : NULL, gain, result, made))
        return false;
    if (!centred)
        return true;
    struct operand added = {m->operands[2], m->shape.operands[2]};
    if (!multiply(x, &added, 1, result, &bias))
        return false;
    *made = sum_of(x, *made, SCALE_ONE, bias, SCALE_ONE);
    return true;
}

// Gradients of gain and bias; that of x is no product of what is known here.
static bool expand_norm_backward(struct expansion *x, const struct made *m, struct scaled *made) {
    bool centred = m->kind == OP_LAYER_NORM_BACKWARD;
    unsigned last = m->n_operands - 1;
    const char *result = m->shape.results[m->result];
    struct operand dy = {m->operands[last], m->shape.operands[last]};
    if (m->result == 2)
        return multiply(x, &dy, 1, result, made);
    return m->result == 1 && normalised(x, m, m->operands[last - 1],
                                        centred ? &m->operands[2] : NULL, dy, result, made);
}

static bool expand_weighted(struct expansion *x, const struct made *m, struct scaled *made) {
    scale_id weight_a, weight_b;
    if (!scale_of_attribute(x, m->term, ATTRIBUTE_WEIGHT_A, &weight_a) ||
        !scale_of_attribute(x, m->term, ATTRIBUTE_WEIGHT_B, &weight_b))
        return false;
    *made = sum_of(x, m->operands[0], weight_a, m->operands[1], weight_b);
    return true;
}

// All that scales scores goes to the queries. With c the scale and S = c (a q) (b k): dq is c b dS
// k and dk is c a dS q, so outside stand c b and, where the queries have c a b already, 1 / b.
static void fold_scales(struct expansion *x, struct made *m) {
    struct terms *terms = x->builder.terms;
    scale_id given, of_k = m->operands[1].scale;
    if (!scale_of_attribute(x, m->term, ATTRIBUTE_SCALE, &given))
        return;
    scale_id outside = scale_product(terms, given, of_k);
    scale_id all = scale_product(terms, outside, m->operands[0].scale);
    if (scale_get(terms, all)->serial)
        return;
    if (m->kind == OP_ATTENTION_BACKWARD && m->result < 2)
        m->outer = m->result == 0 ? outside : scale_invert(terms, of_k);
    m->operands[0].scale = all;
    m->operands[1].scale = SCALE_ONE;
    struct attribute one = {.name = ATTRIBUTE_SCALE, .real = 1};
    m->attributes = attributes_pack(terms, &one, 1);
}

// f(x, y) = y f(x, 1): every element of the result is made of the elements of y that its labels
// say.
static bool expand_pointwise(struct expansion *x, const struct made *m, unsigned i,
                             struct scaled *made) {
    const char *labels = m->shape.operands[i], *result = m->shape.results[m->result];
    struct scaled operands[MAX_OPERANDS];
    const char *whole = op_rows[m->kind].whole;
    for (const char *label = labels; *label; label++)
        if (!strchr(result, *label) || (*label <= 26 && strchr(whole, (char)('a' + *label - 1))))
            return false;
    memcpy(operands, m->operands, sizeof operands);
    operands[i] = (struct scaled){term_constant(&x->builder, NODE_ONE), SCALE_ONE};
    struct operand factors[2] = {{m->operands[i], labels}, {rebuild(x, m, operands), result}};
    return multiply(x, factors, 2, result, made);
}

// Whether it says of how many elements each of its dimensions is; so does a sum if a summand does.
static bool is_sized(const struct terms *terms, struct term term) {
    const struct node *node = term_node(terms, term);
    bool sized = false;
    switch (node->key->kind) {
    case NODE_SUM:
        for (uint32_t i = 0; i < node->n_parts && !sized; i++)
            sized = is_sized(terms, term_part(terms, term, i).of);
        return sized;
    case NODE_PRODUCT:
        return flat_is_sized(terms, term);
    default:
        return node->key->kind != NODE_ZERO;
    }
}

// f(a + b) = f(a) + f(b), if each says of how many elements it is.
static struct scaled expand_linear(struct expansion *x, const struct made *m, unsigned i) {
    struct terms *terms = x->builder.terms;
    struct sum parts = {0}, all = {0};
    struct scaled operands[MAX_OPERANDS], made;
    memcpy(operands, m->operands, sizeof operands);
    if (expand_pointwise(x, m, i, &made))
        return made;
    bool apart = sum_plain(&x->builder, &parts, m->operands[i]);
    for (uint32_t k = 0; k < parts.n; k++)
        apart = apart && is_sized(terms, (struct term){parts.items[k].node, parts.items[k].at});
    if (!apart)
        return rebuild(x, m, operands);
    for (uint32_t k = 0; k < parts.n; k++) {
        const struct summand *part = &parts.items[k];
        operands[i] = (struct scaled){{part->node, part->at}, part->scale};
        sum_add(&x->builder, &all, rebuild(x, m, operands), SCALE_ONE);
    }
    x->budget -= parts.n;
    return sum_finish(&x->builder, &all);
}

static bool expand_by_law(struct expansion *x, const struct made *m, struct scaled *made) {
    struct operand operands[2] = {{m->operands[0], m->shape.operands[0]},
                                  {m->operands[1], m->shape.operands[1]}};
    if (m->kind == OP_WEIGHTED_SUM)
        return expand_weighted(x, m, made);
    switch (m->kind) {
    case OP_EINSUM:
    case OP_SUM_ROWS:
        return multiply(x, operands, m->n_operands, m->shape.results[0], made);
    case OP_LAYER_NORM:
    case OP_RMS_NORM:
        return expand_norm(x, m, made);
    case OP_LAYER_NORM_BACKWARD:
    case OP_RMS_NORM_BACKWARD:
        return expand_norm_backward(x, m, made);
    default:
        return false;
    }
}

static struct scaled expand_op(struct expansion *x, struct term term) {
    const struct node_key *key = term_node(x->builder.terms, term)->key;
    struct made m = {.term = term,
                     .kind = (enum op_kind)key->kind,
                     .result = key->result,
                     .n_operands = op_operand_count(key->kind),
                     .attributes = key->attributes,
                     .outer = SCALE_ONE};
    int ranks[MAX_OPERANDS], linear = -1; // the operand in which it is; of a product, none of two
    uint32_t next = 0;
    for (unsigned i = 0; i < m.n_operands; i++) {
        ranks[i] = -1;
        if (!op_reads(m.kind, m.result, i))
            continue;
        if (op_is_linear(m.kind, i) && m.kind != OP_EINSUM)
            linear = (int)i;
        struct scaled part = term_part(x->builder.terms, term, next++);
        ranks[i] = operand_rank(x, part.of);
        m.operands[i] = expand_sized(x, part);
    }
    shape_read(x, term, ranks, m.n_operands, &m.shape);
    if (m.kind == OP_ATTENTION || m.kind == OP_ATTENTION_BACKWARD)
        fold_scales(x, &m);
    struct scaled made;
    if (!expand_by_law(x, &m, &made))
        made = linear >= 0 ? expand_linear(x, &m, (unsigned)linear) : rebuild(x, &m, m.operands);
    made.scale = scale_product(x->builder.terms, made.scale, m.outer);
    return made;
}

// ---- terms ------------------------------------------------------------------------------------

static struct scaled expand_sum(struct expansion *x, struct term term) {
    struct scaled value = {term, SCALE_ONE};
    struct sum parts = {0}, all = {0};
    if (!sum_plain(&x->builder, &parts, value))
        return value;
    for (uint32_t i = 0; i < parts.n; i++) {
        const struct summand *part = &parts.items[i];
        sum_add(&x->builder, &all, expand_term(x, (struct term){part->node, part->at}),
                part->scale);
    }
    return sum_finish(&x->builder, &all);
}

static struct scaled expand_broadcast(struct expansion *x, struct term term) {
    static const char labels[] = "\1\2\3\4\5\6"; // as many as MAX_RANK
    struct terms *terms = x->builder.terms;
    uint32_t sizes = term_node(terms, term)->key->attributes;
    struct scaled inner = expand_sized(x, term_part(terms, term, 0)), made;
    int rank = expansion_known(x, term).rank;
    char result[MAX_RANK + 1] = {0};
    memcpy(result, labels, rank >= 0 ? (size_t)rank : 0);
    struct operand operand = {inner, result + term_leading(terms, term)};
    if (multiply(x, &operand, 1, result, &made))
        return made;
    struct part part = part_of(inner.of);
    return (struct scaled){term_make(&x->builder, NODE_BROADCAST, 0, sizes, &part, 1), inner.scale};
}

static struct scaled expand_node(struct expansion *x, struct term term) {
    struct terms *terms = x->builder.terms;
    struct scaled plain = {term, SCALE_ONE};
    switch (term_kind(terms, term)) {
    case NODE_RESULT: {
        struct term named = expansion_opened(x, term);
        return term_equal(named, term) ? plain : expand_term(x, named);
    }
    case NODE_SUM:
        return expand_sum(x, term);
    case NODE_SCALED:
        return expand(x, term_part(x->builder.terms, term, 0));
    case NODE_BROADCAST:
        return expand_broadcast(x, term);
    case OP_IOTA:
        return plain;
    default:
        return term_kind(terms, term) < N_OPS ? expand_op(x, term) : plain;
    }
}

static struct scaled expand_term(struct expansion *x, struct term term) {
    struct scaled plain = {term, SCALE_ONE};
    bool added;
    uint32_t id = intern(&x->keys, &term, sizeof term, &added);
    if (!added && x->values[id].scale != NO_SCALE)
        return x->values[id];
    struct scaled unknown = {term, NO_SCALE};
    if (added)
        ARENA_PUSH(x->arena, x->values, x->n_values, x->cap_values, unknown);
    x->spent = x->spent || --x->budget < 0 || x->depth > MAX_DEPTH;
    x->depth++;
    struct scaled value = x->spent ? plain : expand_node(x, term);
    x->depth--;
    if (!x->spent)
        x->values[id] = value;
    return value;
}

// The scalars of a scale are terms as others.
static scale_id expand_scale(struct expansion *x, scale_id id) {
    struct terms *terms = x->builder.terms;
    struct scale scale = *scale_get(terms, id);
    scale_id all = scale_number(terms, id);
    if (scale.serial)
        return id;
    for (uint32_t i = 0; i < scale.n_factors; i++) {
        struct scaled factor = expand_term(x, scale.factors[i].of);
        scale_id one = scale_product(terms, factor.scale, scale_of_term(terms, factor.of));
        bool inverse = scale.factors[i].power < 0;
        for (int32_t k = 0; k != scale.factors[i].power; k += inverse ? -1 : 1)
            all = scale_product(terms, all, inverse ? scale_invert(terms, one) : one);
    }
    return all;
}

static struct scaled expand(struct expansion *x, struct scaled value) {
    struct scaled made = expand_term(x, value.of);
    made.scale = scale_product(x->builder.terms, made.scale, expand_scale(x, value.scale));
    return made;
}

// The value in normal form, but for what does not say its sizes in that.
static struct scaled expand_sized(struct expansion *x, struct scaled value) {
    struct scaled made = expand(x, value);
    return is_sized(x->builder.terms, made.of) ? made : value;
}

bool expand_value(struct expansion *x, struct scaled value, struct scaled *normal) {
    x->budget = MAX_REWRITTEN;
    x->spent = false;
    *normal = expand_sized(x, value);
    return !x->spent;
}
