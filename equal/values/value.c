// What values are made of: their spaces, numbers, indices, parameters and constants; see value.h.
#include "equal/values/value.h"

#include <math.h>
#include <string.h>

#include "equal/values/make.h"
#include "equal/values/turns.h"
#include "ir/check.h"

// ---- spaces -----------------------------------------------------------------------------------

static const struct space no_space;

const struct space *value_space(const struct calculus *c, struct term term) {
    return term.node < c->n_spaces && c->spaces[term.node] ? c->spaces[term.node] : &no_space;
}

void value_set_space(struct calculus *c, struct term term, const struct space *space) {
    while (c->n_spaces <= term.node)
        ARENA_PUSH(c->arena, c->spaces, c->n_spaces, c->cap_spaces, NULL);
    if (!c->spaces[term.node] && space->n)
        c->spaces[term.node] = arena_copy(c->arena, space, sizeof *space);
}

bool value_equal(struct viewed a, struct viewed b) {
    return scaled_equal(a.of, b.of) && a.view == b.view;
}

uint32_t value_words(struct calculus *c, const int64_t *words, uint32_t n) {
    return intern(&c->terms.attributes, words, n * (uint32_t)sizeof *words, NULL) + 1;
}

const int64_t *value_words_at(const struct calculus *c, uint32_t attributes) {
    return interned(&c->terms.attributes, attributes - 1);
}

const int64_t *value_attributes(const struct calculus *c, struct term term) {
    return value_words_at(c, term_node(&c->terms, term)->key->attributes);
}

// ---- numbers ----------------------------------------------------------------------------------

struct viewed value_zero(struct calculus *c) {
    return (struct viewed){{term_constant(&c->builder, NODE_ZERO), SCALE_ONE}, VIEW_SCALAR};
}

bool value_is_zero(const struct calculus *c, struct viewed value) {
    return term_kind(&c->terms, value.of.of) == NODE_ZERO;
}

static struct viewed odd_number(struct calculus *c, double number) {
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    struct term term = term_leaf(&c->builder, KIND_NUMBER, value_words(c, &bits, 1), false, 0);
    return (struct viewed){{term, SCALE_ONE}, VIEW_SCALAR};
}

struct viewed value_fraction(struct calculus *c, int64_t numerator, int64_t denominator) {
    if (numerator == 0)
        return value_zero(c);
    if (numerator == INT64_MIN) // whose opposite is no such integer
        return value_scaled(c, odd_number(c, 0x1p63), -1, denominator);
    struct term one = term_constant(&c->builder, NODE_ONE);
    return (struct viewed){{one, scale_rational(&c->terms, numerator, denominator)}, VIEW_SCALAR};
}

bool value_number(const struct calculus *c, struct viewed value, int64_t *numerator,
                  int64_t *denominator) {
    const struct scale *scale = scale_get(&c->terms, value.of.scale);
    int kind = term_kind(&c->terms, value.of.of);
    *numerator = kind == NODE_ZERO ? 0 : scale->numerator;
    *denominator = kind == NODE_ZERO ? 1 : scale->denominator;
    return kind == NODE_ZERO || (kind == NODE_ONE && scale_is_fraction(scale));
}

struct fraction {
    int64_t numerator, denominator;
};
enum { MOST_OF_FRACTION = 1 << 24 };

// The fraction with the least denominator between two positive numbers, from their continued fractions. False: it is
// not a small one.
static bool simplest(long double low, long double high, struct fraction *of) {
    int64_t n[2] = {1, 0}, d[2] = {0, 1}; // the last two convergents
    for (int step = 0; step < 40; step++) {
        long double whole = floorl(low);
        bool last = whole == low || whole + 1 <= high;
        if (whole != low && last)
            whole += 1;
        if (whole > MOST_OF_FRACTION)
            return false;
        int64_t next_n = (int64_t)whole * n[0] + n[1], next_d = (int64_t)whole * d[0] + d[1];
        n[1] = n[0], d[1] = d[0], n[0] = next_n, d[0] = next_d;
        if (n[0] > INT64_C(1) << 40 || d[0] > MOST_OF_FRACTION)
            return false;
        if (last) {
            *of = (struct fraction){n[0], d[0]};
            return true;
        }
        long double next = 1 / (high - whole);
        high = 1 / (low - whole);
        low = next;
    }
    return false;
}

bool value_is_infinite(const struct calculus *c, struct term term) {
    double number;
    if (term_kind(&c->terms, term) == KIND_ARRAY)
        return value_attributes(c, term)[0] == ARRAY_INFINITE;
    if (term_kind(&c->terms, term) != KIND_NUMBER)
        return false;
    memcpy(&number, value_attributes(c, term), sizeof number);
    return !isfinite(number);
}

bool value_is_endless(const struct calculus *c, struct viewed value, bool below) {
    double number;
    if (term_kind(&c->terms, value.of.of) != KIND_NUMBER)
        return false;
    memcpy(&number, value_attributes(c, value.of.of), sizeof number);
    return isinf(number) && (scale_get(&c->terms, value.of.scale)->numerator < 0) == below;
}

struct viewed value_real(struct calculus *c, double number, unsigned significand) {
    struct fraction fraction;
    double magnitude = fabs(number);
    if (number == 0)
        return value_zero(c);
    if (isnan(number))
        return odd_number(c, NAN);
    struct viewed value;
    long double half = ldexpl(magnitude, -(int)significand) / 2;
    if (magnitude == floor(magnitude) && magnitude < 1e15)
        value = value_fraction(c, (int64_t)magnitude, 1);
    else if (isfinite(number) && magnitude < 1e9 &&
             simplest(magnitude - half, magnitude + half, &fraction))
        value = value_fraction(c, fraction.numerator, fraction.denominator);
    else
        value = odd_number(c, magnitude);
    return number < 0 ? value_scaled(c, value, -1, 1) : value;
}

struct viewed value_scaled(struct calculus *c, struct viewed value, int64_t numerator,
                           int64_t denominator) {
    if (value_is_zero(c, value) || numerator == 0)
        return value_zero(c);
    scale_id by = scale_rational(&c->terms, numerator, denominator);
    value.of.scale = scale_multiply(&c->terms, value.of.scale, by);
    return value;
}

// ---- indices ----------------------------------------------------------------------------------

struct viewed value_index(struct calculus *c, const struct affine *index) {
    if (!index->n)
        return value_fraction(c, index->base, 1);
    struct view view; // most of it stays unset
    struct affine *of = &view.of[0];
    view.n = 1;
    *of = *index;
    int64_t divisor = of->base;
    for (uint32_t i = 0; i < of->n; i++)
        divisor = greatest_divisor(divisor, of->pieces[i].coefficient);
    if (of->pieces[0].coefficient < 0)
        divisor = -divisor;
    of->base /= divisor;
    for (uint32_t i = 0; i < of->n; i++)
        of->pieces[i].coefficient /= divisor;
    bool normal = affine_normal(of);
    CHECK(normal);
    struct term term = term_leaf(&c->builder, KIND_INDEX, 0, false, 0);
    value_set_space(c, term, &(struct space){.n = 1});
    return (struct viewed){{term, scale_rational(&c->terms, divisor, 1)},
                           view_intern(&c->views, &view)};
}

bool value_as_index(const struct calculus *c, struct viewed value, struct affine *index,
                    int64_t *denominator) {
    const struct scale *scale = scale_get(&c->terms, value.of.scale);
    int64_t numerator;
    if (value_number(c, value, &numerator, denominator)) {
        *index = affine_constant(numerator);
        return true;
    }
    if (term_kind(&c->terms, value.of.of) != KIND_INDEX || !scale_is_fraction(scale))
        return false;
    struct view view;
    view_get(&c->views, value.view, &view);
    *index = affine_constant(0);
    *denominator = scale->denominator;
    return affine_add(index, &view.of[0], scale->numerator) && affine_normal(index);
}

// ---- arrays -----------------------------------------------------------------------------------

struct viewed value_input(struct calculus *c, uint32_t number, const struct space *space,
                          const struct view *view) {
    struct term term = term_leaf(&c->builder, KIND_INPUT, number + 1, false, 0);
    struct space marked = *space;
    for (uint32_t i = 0; c->turns && i < c->turns->n; i++)
        if (c->turns->of[i].input == number)
            marked.turns[c->turns->of[i].dimension] = c->turns->of[i].digits;
    value_set_space(c, term, &marked);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, view)};
}

// All coordinates, each whole.
static void view_all(const struct coordinates *all, struct space *space, struct view *view) {
    space->n = view->n = 0;
    for (uint32_t i = 0; i < MAX_COORDINATES; i++) {
        if (all->sizes[i] <= 1)
            continue;
        if (space->n == MAX_DIMENSIONS) { // the last dimension counts the rest
            struct affine *last = &view->of[MAX_DIMENSIONS - 1];
            bool fits = affine_push(
                last, (struct piece){space->sizes[MAX_DIMENSIONS - 1], 1, all->sizes[i], 0, i});
            CHECK(fits && !__builtin_mul_overflow(space->sizes[MAX_DIMENSIONS - 1], all->sizes[i],
                                                  &space->sizes[MAX_DIMENSIONS - 1]));
            continue;
        }
        space->sizes[space->n++] = all->sizes[i];
        view->of[view->n++] = affine_coordinate(i, all->sizes[i]);
    }
    bool normal = space->n == 0 || affine_normal(&view->of[space->n - 1]);
    CHECK(normal);
}

struct viewed value_unknown(struct calculus *c, const struct coordinates *all) {
    struct space space = {0};
    struct view view;
    view_all(all, &space, &view);
    struct term term = term_leaf(&c->builder, KIND_UNKNOWN, ++c->serial, false, 0);
    value_set_space(c, term, &space);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, &view)};
}

// Its base is the first number; what it adds along each dimension is found by itself.
static bool is_affine(const struct literal *literal, const struct coordinates *all,
                      struct affine *index) {
    int64_t stride = 1, at[MAX_COORDINATES] = {0};
    if (!literal->integers)
        return false;
    for (int64_t i = 0; i < literal->n; i++)
        if (literal->integers[i] == INT64_MIN)
            return false;
    *index = affine_constant(literal->integers[0]);
    for (uint32_t k = COORDINATE_DEVICE; k-- > 0; stride *= all->sizes[k] > 1 ? all->sizes[k] : 1)
        if (all->sizes[k] > 1 &&
            !affine_add_numbers(index, literal->integers, stride, all->sizes[k], k))
            return false;
    for (int64_t i = 0; i < literal->n; i++) {
        int64_t place = i;
        for (uint32_t k = COORDINATE_DEVICE; k-- > 0;)
            if (all->sizes[k] > 1) {
                at[k] = place % all->sizes[k];
                place /= all->sizes[k];
            }
        if (affine_at(index, at) != literal->integers[i])
            return false;
    }
    return affine_normal(index);
}

static enum array_numbers numbers_of(const struct literal *literal) {
    for (int64_t i = 0; literal->reals && i < literal->n; i++)
        if (!isfinite(literal->reals[i]))
            return ARRAY_INFINITE;
    return literal->reals ? ARRAY_REAL : ARRAY_WHOLE;
}

struct viewed value_array(struct calculus *c, const struct literal *literal,
                          const struct coordinates *all) {
    struct affine index;
    if (is_affine(literal, all, &index))
        return value_index(c, &index);
    struct space space = {0};
    struct view view;
    struct coordinates own = *all;
    own.sizes[COORDINATE_DEVICE] = 0; // it has the same numbers on each
    view_all(&own, &space, &view);
    const void *bytes = literal->reals ? (const void *)literal->reals : literal->integers;
    uint32_t numbers = intern(&c->terms.attributes, bytes, (uint32_t)literal->n * 8, NULL);
    int64_t words[MAX_DIMENSIONS + 2] = {numbers_of(literal), numbers};
    memcpy(&words[2], space.sizes, space.n * sizeof *words);
    struct term term =
        term_leaf(&c->builder, KIND_ARRAY, value_words(c, words, space.n + 2), false, 0);
    value_set_space(c, term, &space);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, &view)};
}
