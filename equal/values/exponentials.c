// Exponentials and logarithms. The exponential of a sum is the product of those of summands that lack dimensions, and
// of the rest: so what a softmax is shifted by, which is the same along the dimension that it sums over, is a factor
// that leaves the sum and meets its inverse.
//
//   exp(x - m) / sum(exp(x - m)) = exp(x) / sum(exp(x))        m + log(sum(exp(x - m))) = log(sum(exp(x)))
#include "equal/values/make.h"

enum { MOST_APART = 8, MOST_KEPT = 300 };

// ---- doubts -----------------------------------------------------------------------------------

// Doubts that exp(x) exp(-x) is one: of what has no rule it is not known, of an infinite number it is not so. A choice
// between an infinite number and others is one that masks: what is largest of these is finite.
enum {
    DOUBT_UNKNOWN = 1,
    DOUBT_INFINITE = 2,
    MASKED_INFINITE = 4,
    DOUBTS = DOUBT_UNKNOWN | DOUBT_INFINITE
};

static uint8_t doubt_of_scale(const struct calculus *c, scale_id id) {
    const struct scale *scale = scale_get(&c->terms, id);
    uint8_t doubt = scale->serial ? DOUBT_UNKNOWN : 0;
    for (uint32_t i = 0; i < scale->n_factors; i++)
        doubt |= c->doubts[scale->factors[i].of.node];
    return doubt;
}

static uint8_t doubt_of_node(const struct calculus *c, uint32_t node) {
    struct term term = {node, 0};
    int kind = term_kind(&c->terms, term);
    uint8_t doubt = value_is_infinite(c, term) ? DOUBT_INFINITE : 0;
    if (kind == KIND_UNKNOWN || kind == KIND_OPAQUE || kind == NODE_UNKNOWN)
        doubt |= DOUBT_UNKNOWN;
    for (uint32_t i = 0; i < term_node(&c->terms, term)->n_parts; i++) {
        struct scaled part = term_part(&c->terms, term, i);
        doubt |= c->doubts[part.of.node] | doubt_of_scale(c, part.scale);
    }
    if (kind == KIND_LARGEST || kind == KIND_LEAST) // something is not masked
        return doubt & ~MASKED_INFINITE;
    if ((kind == KIND_POINTWISE + PRIM_SELECT || kind == KIND_JOINED) && doubt & DOUBT_INFINITE)
        return (doubt & ~DOUBT_INFINITE) | MASKED_INFINITE;
    return doubt;
}

// Parts of a term were made before it.
static bool is_doubtful(struct calculus *c, const struct operand *part, uint8_t doubts) {
    while (c->n_doubts <= part->of.node) {
        uint8_t doubt = doubt_of_node(c, c->n_doubts);
        ARENA_PUSH(c->arena, c->doubts, c->n_doubts, c->cap_doubts, doubt);
    }
    const struct scale *scale = scale_get(&c->terms, part->scale);
    for (uint32_t i = 0; i < scale->n_factors; i++) {
        struct operand factor = {.of = scale->factors[i].of, .scale = SCALE_ONE};
        if (is_doubtful(c, &factor, doubts))
            return true;
    }
    return c->doubts[part->of.node] & doubts || scale->serial;
}

// ---- sums -------------------------------------------------------------------------------------

static struct viewed plain_exponential(struct calculus *c, struct viewed value,
                                       const struct coordinates *all) {
    if (value_is_zero(c, value))
        return value_fraction(c, 1, 1);
    return value_pointwise(c, KIND_EXPONENTIAL, 0, &value, 1, all);
}

static bool lacks_dimensions(const struct operand *part, const struct space *space) {
    for (uint32_t d = 0; d < space->n; d++)
        if (!operand_has(part, d))
            return true;
    return false;
}

// The view of a term's space by itself.
static struct view own_view(const struct space *space) {
    struct view view = {.n = space->n};
    for (uint32_t d = 0; d < space->n; d++)
        view.of[d] = affine_coordinate(d, space->sizes[d]);
    return view;
}

// Whether the exponential is the product of those of all summands: what masks stays with what it masks.
static bool can_spread(struct calculus *c, struct viewed sum, const struct view *view, uint32_t n) {
    for (uint32_t i = 0; i < n && n <= MOST_APART; i++) {
        struct operand part;
        if (!open_part(c, sum.of, view, i, &part) ||
            is_doubtful(c, &part, DOUBTS | MASKED_INFINITE))
            return false;
    }
    return n <= MOST_APART;
}

struct viewed normal_exponential(struct calculus *c, struct viewed value,
                                 const struct coordinates *all) {
    uint32_t n = term_node(&c->terms, value.of.of)->n_parts, n_kept = 0, n_factors = 0;
    if (term_kind(&c->terms, value.of.of) != NODE_SUM || n > MOST_KEPT)
        return plain_exponential(c, value, all);
    struct viewed factors[MOST_APART + 1];
    struct viewed *kept = ARENA_ARRAY(&c->scratch, struct viewed, n);
    struct space space = *value_space(c, value.of.of);
    struct view view, own = own_view(&space);
    view_get(&c->views, value.view, &view);
    bool spreads = can_spread(c, value, &view, n);
    for (uint32_t i = 0; i < n; i++) {
        struct operand inside, part;
        if (!open_part(c, value.of, &own, i, &inside) || !open_part(c, value.of, &view, i, &part))
            return value_unknown(c, all);
        part.scale = scale_product(&c->terms, part.scale, value.of.scale);
        bool shifts = lacks_dimensions(&inside, &space);
        if (shifts && is_doubtful(c, &part, DOUBTS))
            return plain_exponential(c, value, all);
        if (n_factors < MOST_APART && (shifts || spreads))
            factors[n_factors++] = plain_exponential(c, value_of_operand(c, &part), all);
        else
            kept[n_kept++] = value_of_operand(c, &part);
    }
    if (n_factors == 0)
        return plain_exponential(c, value, all);
    factors[n_factors++] = plain_exponential(c, value_sum(c, kept, n_kept, all), all);
    return value_product(c, factors, n_factors, 0, all);
}

// The logarithm of a product with exponentials among its factors is their exponents, and that of the rest.
static struct viewed log_of_product(struct calculus *c, struct viewed value,
                                    const struct coordinates *all) {
    struct split_product split;
    struct viewed summands[MOST_APART + 1];
    uint32_t n = 0;
    if (!split_product(c, value, true, MOST_APART, all, &split) || split.n == 0)
        return value_pointwise(c, KIND_POINTWISE + PRIM_LOG, 0, &value, 1, all);
    for (uint32_t i = 0; i < split.n; i++)
        if (!exponent_of(c, split.apart[i], &summands[n++]))
            return value_unknown(c, all);
    summands[n++] = value_log(c, split.rest, all);
    return value_sum(c, summands, n, all);
}

struct viewed value_log(struct calculus *c, struct viewed value, const struct coordinates *all) {
    struct viewed exponent;
    int64_t numerator, denominator;
    if (value_number(c, value, &numerator, &denominator) && numerator == denominator)
        return value_zero(c);
    if (value.of.scale == SCALE_ONE && exponent_of(c, value, &exponent))
        return exponent;
    if (term_kind(&c->terms, value.of.of) == KIND_PRODUCT)
        return log_of_product(c, value, all);
    return value_pointwise(c, KIND_POINTWISE + PRIM_LOG, 0, &value, 1, all);
}
