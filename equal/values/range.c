// Ranges of integers, from those of indices and of what is assumed of inputs; signs, from what makes a value.
#include "equal/values/range.h"

#include "equal/values/make.h"

enum { MOST_PARTS = 64, MOST_DEPTH = 12, MOST_ASKED = 4096 };

static struct bounds add_bounds(struct bounds a, struct bounds b) {
    struct bounds sum = {.below = a.below && b.below, .above = a.above && b.above};
    if (sum.below)
        sum.below = !__builtin_add_overflow(a.least, b.least, &sum.least);
    if (sum.above)
        sum.above = !__builtin_add_overflow(a.largest, b.largest, &sum.largest);
    return sum;
}

static struct bounds times(struct bounds of, int64_t factor) {
    struct bounds made =
        factor < 0 ? (struct bounds){of.above, of.below, of.largest, of.least} : of;
    if (made.below)
        made.below = !__builtin_mul_overflow(made.least, factor, &made.least);
    if (made.above)
        made.above = !__builtin_mul_overflow(made.largest, factor, &made.largest);
    return made;
}

// The product of two that are bounded on both sides.
static struct bounds multiplied(struct bounds a, struct bounds b) {
    if (!a.below || !a.above || !b.below || !b.above)
        return (struct bounds){0};
    struct bounds low = times(b, a.least), high = times(b, a.largest);
    struct bounds made = {low.below && high.below, low.above && high.above,
                          low.least < high.least ? low.least : high.least,
                          low.largest > high.largest ? low.largest : high.largest};
    return made.below && made.above ? made : (struct bounds){0};
}

static struct bounds between(int64_t least, int64_t largest) {
    return (struct bounds){true, true, least, largest};
}

struct bounds value_bounds_of_type(enum element element) {
    struct bounds bounds = {0};
    if (element_rows[element].kind == NUMBER_TRUTH)
        return between(0, 1);
    if (!element_is_integer(element))
        return bounds;
    element_range(element, &bounds.least, &bounds.largest);
    bounds.above = element_rows[element].bits < 64;
    bounds.below = bounds.above || bounds.least == 0;
    return bounds;
}

// Either of two.
static struct bounds either(struct bounds a, struct bounds b) {
    return (struct bounds){a.below && b.below, a.above && b.above,
                           a.least < b.least ? a.least : b.least,
                           a.largest > b.largest ? a.largest : b.largest};
}

// The larger of two: it is at least what either is.
static struct bounds larger(struct bounds a, struct bounds b) {
    struct bounds made = {.below = a.below || b.below, .above = a.above && b.above};
    made.least = !b.below || (a.below && a.least > b.least) ? a.least : b.least;
    made.largest = a.largest > b.largest ? a.largest : b.largest;
    return made;
}

static struct bounds smaller(struct bounds a, struct bounds b) {
    return times(larger(times(a, -1), times(b, -1)), -1);
}

// The smaller of the largest and of the larger of the least and the number: where the least is above the largest, that.
static struct bounds clamped(struct bounds low, struct bounds of, struct bounds high) {
    return smaller(larger(of, low), high);
}

static struct bounds bounds_of(struct calculus *c, struct scaled of, int depth);

// Bounds of what a view is of, of an index those of the places that it says.
static struct bounds viewed_bounds(struct calculus *c, struct term view, int depth) {
    struct scaled inner = term_part(&c->terms, view, 0);
    if (term_kind(&c->terms, inner.of) != KIND_INDEX)
        return bounds_of(c, inner, depth + 1);
    const int64_t *words = value_attributes(c, view);
    return value_bounds(c, (struct viewed){inner, (view_id)words[1 + words[0]]});
}

static struct bounds part_bounds(struct calculus *c, struct term of, uint32_t i, int depth) {
    struct scaled part = term_part(&c->terms, of, i);
    if (term_kind(&c->terms, part.of) != KIND_VIEW)
        return bounds_of(c, part, depth + 1);
    struct scaled inner = term_part(&c->terms, part.of, 0);
    inner.scale = part.scale;
    if (term_kind(&c->terms, inner.of) != KIND_INDEX)
        return bounds_of(c, inner, depth + 1);
    const int64_t *words = value_attributes(c, part.of);
    return value_bounds(c, (struct viewed){inner, (view_id)words[1 + words[0]]});
}

// Whether a part of a product tests that another one is not negative.
static bool tests_part(struct calculus *c, struct scaled of, const struct view *own, uint32_t test,
                       uint32_t part) {
    struct operand outer, inner, other;
    return open_part(c, of, own, test, &outer) && term_kind(&c->terms, outer.of) == KIND_AT_LEAST &&
           open_part(c, (struct scaled){outer.of, SCALE_ONE}, &outer.view, 0, &inner) &&
           open_part(c, of, own, part, &other) &&
           value_equal(value_of_operand(c, &inner), value_of_operand(c, &other));
}

// Bounds of all factors but the tests, of which it gives the number and the last.
static struct bounds factor_bounds(struct calculus *c, struct term of, int depth, uint32_t *n,
                                   uint32_t *last) {
    struct bounds made = between(1, 1);
    *n = 0;
    for (uint32_t i = 0; i < term_node(&c->terms, of)->n_parts; i++) {
        struct scaled part = term_part(&c->terms, of, i);
        if (term_kind(&c->terms, part.of) == KIND_VIEW)
            part = term_part(&c->terms, part.of, 0);
        if (is_test_kind(term_kind(&c->terms, part.of)))
            continue;
        struct bounds factor = part_bounds(c, of, i, depth);
        made = *n ? multiplied(made, factor) : factor;
        *last = i;
        ++*n;
        if (*n > 1 && !made.below && !made.above)
            break;
    }
    return made;
}

// How many places are added up at each place of the product. 0: it is not known.
static int64_t folded_places(struct calculus *c, struct term of) {
    const int64_t *flags = value_attributes(c, of), *sizes = NULL;
    int64_t places = 1;
    for (uint32_t i = 0; i < term_node(&c->terms, of)->n_parts && !sizes; i++) {
        struct term part = term_part(&c->terms, of, i).of;
        if (term_kind(&c->terms, part) == KIND_VIEW && value_attributes(c, part)[0] == flags[0])
            sizes = value_attributes(c, part) + 1;
        else if (value_space(c, part)->n == flags[0])
            sizes = value_space(c, part)->sizes;
    }
    for (int64_t d = 0; d < flags[0]; d++)
        if (flags[1 + d] && (!sizes || __builtin_mul_overflow(places, sizes[d], &places)))
            return 0;
    return places;
}

// A product where tests hold, and elsewhere zero; a factor that is alone may be tested not to be negative.
static struct bounds product_bounds(struct calculus *c, struct term of, int depth) {
    uint32_t n_factors, factor = 0;
    struct view own = {.n = value_space(c, of)->n};
    struct bounds made = factor_bounds(c, of, depth, &n_factors, &factor);
    const int64_t *flags = value_attributes(c, of);
    if (own.n != flags[0]) { // some are folded
        int64_t places = folded_places(c, of);
        return places ? times(either(made, between(0, 0)), places) : (struct bounds){0};
    }
    for (uint32_t d = 0; d < own.n; d++)
        own.of[d] = affine_coordinate(d, value_space(c, of)->sizes[d]);
    for (uint32_t i = 0; i < term_node(&c->terms, of)->n_parts && n_factors == 1; i++)
        if (i != factor && tests_part(c, (struct scaled){of, SCALE_ONE}, &own, i, factor)) {
            made.least = made.below && made.least > 0 ? made.least : 0;
            made.below = true;
        }
    return either(made, between(0, 0));
}

static struct bounds sum_bounds(struct calculus *c, struct term of, int depth) {
    struct bounds made = between(0, 0);
    uint32_t n = term_node(&c->terms, of)->n_parts;
    for (uint32_t i = 0; i < n && (made.below || made.above) && n < MOST_PARTS; i++)
        made = add_bounds(made, part_bounds(c, of, i, depth));
    return n < MOST_PARTS ? made : (struct bounds){0};
}

static struct bounds kind_bounds(struct calculus *c, struct term of, int depth) {
    const struct node_key *key = term_node(&c->terms, of)->key;
    struct bounds made = {0};
    switch ((int)key->kind) {
    case NODE_ONE:
        return between(1, 1);
    case NODE_ZERO:
        return between(0, 0);
    case KIND_INPUT:
        return c->bounds ? c->bounds[key->attributes - 1] : made;
    case KIND_AT_LEAST:
    case KIND_ABOVE:
    case KIND_IS_ZERO:
    case KIND_ALL:
    case KIND_ANY:
        return between(0, 1);
    case NODE_SUM:
        return sum_bounds(c, of, depth);
    case KIND_PRODUCT:
        return product_bounds(c, of, depth);
    case KIND_POINTWISE + PRIM_SELECT:
        return either(part_bounds(c, of, 1, depth), part_bounds(c, of, 2, depth));
    case KIND_POINTWISE + PRIM_CLAMP:
        return clamped(part_bounds(c, of, 0, depth), part_bounds(c, of, 1, depth),
                       part_bounds(c, of, 2, depth));
    case KIND_POINTWISE + PRIM_MAXIMUM:
        return larger(part_bounds(c, of, 0, depth), part_bounds(c, of, 1, depth));
    case KIND_POINTWISE + PRIM_MINIMUM:
        return smaller(part_bounds(c, of, 0, depth), part_bounds(c, of, 1, depth));
    case KIND_POINTWISE + PRIM_CONVERT: // 1 and the type, or behind these of reals
        return key->attributes ? value_bounds_of_type((key->attributes - 1) % N_ELEMENT_TYPES)
                               : made;
    case KIND_FLAT:
        return viewed_bounds(c, of, depth);
    default:
        return made;
    }
}

static struct bounds bounds_of(struct calculus *c, struct scaled of, int depth) {
    const struct scale *scale = scale_get(&c->terms, of.scale);
    if (!scale_is_fraction(scale) || scale->denominator != 1 || depth > MOST_DEPTH ||
        c->bounds_asked++ > MOST_ASKED)
        return (struct bounds){0};
    return times(kind_bounds(c, of.of, depth), scale->numerator);
}

struct bounds value_bounds(struct calculus *c, struct viewed value) {
    struct affine index;
    int64_t denominator;
    if (value_as_index(c, value, &index, &denominator))
        return denominator == 1 ? between(affine_least(&index), affine_largest(&index))
                                : (struct bounds){0};
    c->bounds_asked = 0;
    return bounds_of(c, value.of, 0);
}

bool value_is_never_zero(struct calculus *c, struct viewed value) {
    struct affine index;
    int64_t denominator;
    struct bounds bounds = value_bounds(c, value);
    if ((bounds.below && bounds.least > 0) || (bounds.above && bounds.largest < 0))
        return true;
    if (!value_as_index(c, value, &index, &denominator) || index.n != 2 || index.base != 0)
        return false;
    const struct piece *a = &index.pieces[0], *b = &index.pieces[1];
    return a->coordinate == b->coordinate && a->stride == b->stride && a->extent == b->extent &&
           a->coefficient == -b->coefficient && a->shift != b->shift;
}

// ---- signs ------------------------------------------------------------------------------------

static bool is_not_negative(const struct calculus *c, struct scaled of, int depth);

static bool scale_is_not_negative(const struct calculus *c, const struct scale *scale, int depth) {
    if (scale->serial || scale->numerator < 0)
        return false;
    for (uint32_t i = 0; i < scale->n_factors; i++)
        if (scale->factors[i].power % 2 != 0 &&
            !is_not_negative(c, (struct scaled){scale->factors[i].of, SCALE_ONE}, depth + 1))
            return false;
    return true;
}

static bool parts_are_not_negative(const struct calculus *c, struct term of, uint32_t first,
                                   int depth) {
    for (uint32_t i = first; i < term_node(&c->terms, of)->n_parts; i++)
        if (!is_not_negative(c, term_part(&c->terms, of, i), depth + 1))
            return false;
    return true;
}

static bool term_is_not_negative(const struct calculus *c, struct term of, int depth) {
    int kind = term_kind(&c->terms, of);
    switch (kind) {
    case NODE_ZERO:
    case NODE_ONE:
    case KIND_AT_LEAST:
    case KIND_ABOVE:
    case KIND_IS_ZERO:
    case KIND_EXPONENTIAL:
    case KIND_POINTWISE + PRIM_ABS:
    case KIND_POINTWISE + PRIM_LOGISTIC:
        return true;
    case KIND_POWER:
        return value_attributes(c, of)[0] % 2 == 0 || value_attributes(c, of)[1] % 2 == 0 ||
               parts_are_not_negative(c, of, 0, depth);
    case KIND_POINTWISE + PRIM_SELECT:
        return parts_are_not_negative(c, of, 1, depth);
    case NODE_SUM:
    case KIND_PRODUCT:
    case KIND_VIEW:
    case KIND_LARGEST:
    case KIND_LEAST:
    case KIND_JOINED:
    case KIND_FLAT:
        return parts_are_not_negative(c, of, 0, depth);
    default:
        return false;
    }
}

static bool is_not_negative(const struct calculus *c, struct scaled of, int depth) {
    return depth < MOST_DEPTH && scale_is_not_negative(c, scale_get(&c->terms, of.scale), depth) &&
           term_is_not_negative(c, of.of, depth);
}

bool value_is_not_negative(struct calculus *c, struct viewed value) {
    struct bounds bounds = value_bounds(c, value);
    return (bounds.below && bounds.least >= 0) || is_not_negative(c, value.of, 0);
}
