// Functions of elements: of any primitive, powers, tests and choices; and folds.
#include <string.h>

#include "equal/values/exponentials.h"
#include "equal/values/laws.h"
#include "equal/values/make.h"
#include "equal/values/range.h"
#include "ir/check.h"

enum { MAX_POINTWISE = 8 };

// ---- operands ---------------------------------------------------------------------------------

struct operand operand_of(const struct calculus *c, struct viewed value) {
    struct operand operand = {.of = value.of.of, .scale = value.of.scale};
    view_get(&c->views, value.view, &operand.view);
    return operand;
}

struct viewed value_of_operand(struct calculus *c, const struct operand *operand) {
    return (struct viewed){{operand->of, operand->scale}, view_intern(&c->views, &operand->view)};
}

uint32_t add_coordinate(struct coordinates *all, int64_t size) {
    for (uint32_t k = COORDINATE_FREE; k < MAX_COORDINATES; k++)
        if (all->sizes[k] == 0) {
            all->sizes[k] = size;
            return k;
        }
    return MAX_COORDINATES;
}

bool unfold_view(const int64_t *flags, const int64_t *sizes, uint32_t n, const struct view *view,
                 struct coordinates *all, uint64_t *folded, struct view *whole) {
    uint32_t at = 0;
    whole->n = n;
    for (uint32_t d = 0; d < n; d++) {
        if (!flags[d]) {
            whole->of[d] = view->of[at++];
            continue;
        }
        uint32_t k = add_coordinate(all, sizes[d]);
        if (k == MAX_COORDINATES)
            return false;
        *folded |= UINT64_C(1) << k;
        whole->of[d] = affine_coordinate(k, sizes[d]);
    }
    return true;
}

// Attributes of what folds: the number of dimensions, for each whether it is folded, and their sizes.
static uint32_t fold_attributes(struct calculus *c, const struct joined *joined) {
    int64_t words[2 * MAX_DIMENSIONS + 1] = {joined->space.n};
    for (uint32_t d = 0; d < joined->space.n; d++) {
        words[1 + d] = joined->folded[d];
        words[1 + joined->space.n + d] = joined->space.sizes[d];
    }
    return value_words(c, words, 1 + 2 * joined->space.n);
}

static struct viewed make(struct calculus *c, int kind, uint32_t attributes,
                          const struct operand *operands, uint32_t n, const struct joined *joined) {
    struct part *parts = ARENA_ARRAY(&c->scratch, struct part, n + 1);
    struct space space = {0};
    struct view view = {0};
    for (uint32_t i = 0; i < n; i++)
        parts[i] = joined_part(c, &operands[i], &joined->space);
    struct term term = term_make(&c->builder, kind, 0, attributes, parts, n);
    for (uint32_t d = 0; d < joined->space.n; d++) {
        if (joined->folded[d])
            continue;
        space.turns[space.n] = joined->space.turns[d];
        space.sizes[space.n++] = joined->space.sizes[d];
        view.of[view.n++] = joined->from[d];
    }
    value_set_space(c, term, &space);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, &view)};
}

struct viewed value_of_joined(struct calculus *c, int kind, const struct operand *operands,
                              uint32_t n, const struct joined *joined) {
    return make(c, kind, fold_attributes(c, joined), operands, n, joined);
}

// A scalar among others is a factor of their product; alone, once, it is that scalar.
struct viewed value_normal_scalar(struct calculus *c, struct viewed value) {
    const struct scale *scale = scale_get(&c->terms, value.of.scale);
    int kind = term_kind(&c->terms, value.of.of);
    if (scale->serial || scale->n_factors == 0 || kind == NODE_ZERO ||
        value_space(c, value.of.of)->n > 0 || is_exponential(c, value))
        return value;
    if (kind != NODE_ONE) {
        scale_id own = scale_of_term(&c->terms, value.of.of);
        value.of.scale = scale_product(&c->terms, value.of.scale, own);
        value.of.of = term_constant(&c->builder, NODE_ONE);
        scale = scale_get(&c->terms, value.of.scale);
    }
    if (scale->n_factors != 1 || scale->factors[0].power != 1 || scale->serial)
        return value;
    struct term of = scale->factors[0].of;
    scale_id number = scale_rational(&c->terms, scale->numerator, scale->denominator);
    return (struct viewed){{of, number}, VIEW_SCALAR};
}

bool value_commutes(int kind) {
    switch (kind) {
    case KIND_POINTWISE + PRIM_MAXIMUM:
    case KIND_POINTWISE + PRIM_MINIMUM:
    case KIND_POINTWISE + PRIM_AND:
    case KIND_POINTWISE + PRIM_OR:
    case KIND_POINTWISE + PRIM_XOR:
        return true;
    default:
        return false;
    }
}

// ---- any function -----------------------------------------------------------------------------

struct viewed value_pointwise(struct calculus *c, int kind, uint32_t attributes,
                              const struct viewed *values, uint32_t n,
                              const struct coordinates *all) {
    struct operand operands[MAX_POINTWISE];
    struct joined joined;
    CHECK(n <= MAX_POINTWISE);
    for (uint32_t i = 0; i < n; i++)
        operands[i] = operand_of(c, values[i]);
    if (!join_operands(c, operands, n, 0, value_commutes(kind), &joined))
        return value_unknown(c, all);
    return make(c, kind, attributes, operands, n, &joined);
}

// ---- powers -----------------------------------------------------------------------------------

static bool raised_scalar(struct calculus *c, struct viewed value, int64_t power,
                          struct viewed *made) {
    if (value_space(c, value.of.of)->n != 0 || value_is_zero(c, value) || power < -8 || power > 8)
        return false;
    scale_id scale =
        scale_multiply(&c->terms, scale_of_term(&c->terms, value.of.of), value.of.scale);
    if (power < 0) {
        scale = scale_invert(&c->terms, scale);
        power = -power;
    }
    *made = value_fraction(c, 1, 1);
    for (; power > 0; power--)
        made->of.scale = scale_multiply(&c->terms, made->of.scale, scale);
    *made = value_normal_scalar(c, *made);
    return true;
}

// One over a product is the product of one over each factor that is not summed over, and over the rest.
static bool inverted_product(struct calculus *c, struct viewed value, const struct coordinates *all,
                             struct viewed *made) {
    struct split_product split;
    struct viewed factors[MAX_SPLIT + 1];
    if (term_kind(&c->terms, value.of.of) != KIND_PRODUCT ||
        !split_product(c, value, false, MAX_SPLIT, all, &split) || split.n == 0)
        return false;
    for (uint32_t i = 0; i < split.n; i++)
        factors[i] = value_power(c, split.apart[i], -1, 1, all);
    factors[split.n] = value_power(c, split.rest, -1, 1, all);
    *made = value_product(c, factors, split.n + 1, 0, all);
    return true;
}

// A power of an exponential is one of a multiple.
static bool raised_exponential(struct calculus *c, struct viewed value, int64_t numerator,
                               int64_t denominator, const struct coordinates *all,
                               struct viewed *made) {
    struct viewed exponent;
    if (value.of.scale != SCALE_ONE || !exponent_of(c, value, &exponent))
        return false;
    *made = value_exponential(c, value_scaled(c, exponent, numerator, denominator), all);
    return true;
}

// A power of a power, where that is one power of what is not negative, or inverts.
static bool nested_power(struct calculus *c, struct viewed value, int64_t *numerator,
                         int64_t *denominator, struct viewed *inner) {
    if (term_kind(&c->terms, value.of.of) != KIND_POWER || value.of.scale != SCALE_ONE)
        return false;
    const int64_t *exponent = value_attributes(c, value.of.of);
    if (exponent[0] != 1 && exponent[0] != -1 && *denominator != 1)
        return false;
    struct view view;
    struct operand part;
    view_get(&c->views, value.view, &view);
    if (!open_part(c, value.of, &view, 0, &part))
        return false;
    *numerator *= exponent[0];
    *denominator *= exponent[1];
    *inner = value_of_operand(c, &part);
    return true;
}

struct viewed value_power(struct calculus *c, struct viewed value, int64_t numerator,
                          int64_t denominator, const struct coordinates *all) {
    struct viewed made;
    if (nested_power(c, value, &numerator, &denominator, &made))
        value = made;
    if (denominator < 0)
        numerator = -numerator, denominator = -denominator;
    for (int64_t d = 2; d <= denominator; d++)
        while (numerator % d == 0 && denominator % d == 0)
            numerator /= d, denominator /= d;
    if (numerator == 0)
        return value_fraction(c, 1, 1);
    if (denominator == 1 && numerator > 0 && numerator <= 4) {
        struct viewed factors[4];
        for (int64_t i = 0; i < numerator; i++)
            factors[i] = value;
        return value_product(c, factors, (uint32_t)numerator, 0, all);
    }
    if (raised_exponential(c, value, numerator, denominator, all, &made))
        return made;
    if (denominator == 1 && raised_scalar(c, value, numerator, &made))
        return made;
    if (denominator == 1 && numerator == -1 && inverted_product(c, value, all, &made))
        return made;
    scale_id outside = SCALE_ONE;
    if (denominator == 1 && numerator == -1) {
        outside = scale_invert(&c->terms, value.of.scale);
        value.of.scale = SCALE_ONE;
    }
    int64_t words[2] = {numerator, denominator};
    made = value_pointwise(c, KIND_POWER, value_words(c, words, 2), &value, 1, all);
    made.of.scale = outside;
    return made;
}

// ---- tests ------------------------------------------------------------------------------------

static bool decided(struct calculus *c, enum value_kind kind, struct viewed value, bool integers,
                    bool *is) {
    int64_t numerator, denominator;
    if (value_number(c, value, &numerator, &denominator)) {
        *is = kind == KIND_AT_LEAST ? numerator >= 0
              : kind == KIND_ABOVE  ? numerator > 0
                                    : numerator == 0;
        return true;
    }
    struct bounds bounds = integers ? value_bounds(c, value) : (struct bounds){0};
    int64_t least = kind == KIND_ABOVE;
    if (kind == KIND_IS_ZERO) {
        *is = false;
        return (bounds.below && bounds.least > 0) || (bounds.above && bounds.largest < 0);
    }
    *is = bounds.below && bounds.least >= least;
    return *is || (bounds.above && bounds.largest < least);
}

// Whether the piece of the least coordinate is taken away; then both are turned round.
static bool is_turned(struct affine *index) {
    const struct piece *least = index->pieces;
    for (uint32_t i = 1; i < index->n; i++)
        if (index->pieces[i].coordinate < least->coordinate ||
            (index->pieces[i].coordinate == least->coordinate &&
             index->pieces[i].stride < least->stride))
            least = &index->pieces[i];
    bool turned = index->n && least->coefficient < 0;
    struct affine opposite = affine_constant(0);
    return turned && affine_add(&opposite, index, -1) && affine_normal(&opposite) &&
           (*index = opposite, true);
}

// A test does not depend on a positive number that all is multiplied with.
static void leave_out_number(struct calculus *c, enum value_kind kind, struct viewed *value) {
    const struct scale *scale = scale_get(&c->terms, value->of.scale);
    if (scale->n_factors || scale->serial)
        return;
    bool negative = scale->numerator < 0 && kind != KIND_IS_ZERO;
    struct affine index;
    int64_t denominator;
    if (kind == KIND_IS_ZERO && value_as_index(c, *value, &index, &denominator) &&
        is_turned(&index))
        *value = value_index(c, &index);
    value->of.scale = scale_rational(&c->terms, negative ? -1 : 1, 1);
}

struct viewed value_test(struct calculus *c, enum value_kind kind, struct viewed value,
                         bool integers, const struct coordinates *all) {
    bool is;
    if (decided(c, kind, value, integers, &is))
        return is ? value_fraction(c, 1, 1) : value_zero(c);
    if (kind == KIND_ABOVE && integers) { // one kind of test is enough for integers
        struct viewed both[] = {value, value_fraction(c, -1, 1)};
        value = value_sum(c, both, 2, all);
        kind = KIND_AT_LEAST;
    }
    if (!integers || kind == KIND_IS_ZERO)
        leave_out_number(c, kind, &value);
    return value_pointwise(c, kind, integers, &value, 1, all);
}

struct viewed value_not(struct calculus *c, struct viewed value, const struct coordinates *all) {
    int kind = term_kind(&c->terms, value.of.of);
    struct view view;
    struct operand part;
    if ((kind == KIND_AT_LEAST || kind == KIND_ABOVE) && value.of.scale == SCALE_ONE) {
        bool integers = term_node(&c->terms, value.of.of)->key->attributes;
        view_get(&c->views, value.view, &view);
        if (open_part(c, value.of, &view, 0, &part)) {
            struct viewed inner = value_scaled(c, value_of_operand(c, &part), -1, 1);
            return value_test(c, kind == KIND_AT_LEAST ? KIND_ABOVE : KIND_AT_LEAST, inner,
                              integers, all);
        }
    }
    struct viewed both[] = {value_fraction(c, 1, 1), value_scaled(c, value, -1, 1)};
    return value_sum(c, both, 2, all);
}

// A choice by the device's place, as a sum: so what devices write to one array in turn is added up.
static struct viewed chosen_by_place(struct calculus *c, struct viewed which, struct viewed yes,
                                     struct viewed no, const struct coordinates *all) {
    struct viewed a[] = {which, yes}, b[] = {which, no};
    struct viewed parts[] = {value_product(c, a, 2, 0, all), no,
                             value_scaled(c, value_product(c, b, 2, 0, all), -1, 1)};
    return value_sum(c, parts, 3, all);
}

struct viewed value_select(struct calculus *c, struct viewed which, struct viewed yes,
                           struct viewed no, const struct coordinates *all) {
    int64_t numerator, denominator;
    if (value_number(c, which, &numerator, &denominator))
        return numerator ? yes : no;
    if (value_equal(yes, no))
        return yes;
    struct viewed otherwise = value_not(c, which, all);
    if (value_is_zero(c, no) || value_is_zero(c, yes)) {
        struct viewed factors[] = {value_is_zero(c, no) ? which : otherwise,
                                   value_is_zero(c, no) ? yes : no};
        return value_product(c, factors, 2, 0, all);
    }
    struct place_test place;
    struct operand test = operand_of(c, which);
    if (which.of.scale == SCALE_ONE && read_place_test(c, &test, &place))
        return chosen_by_place(c, which, yes, no, all);
    bool turned = otherwise.of.of.node < which.of.of.node; // of a test and its opposite one
    struct viewed operands[] = {turned ? otherwise : which, turned ? no : yes, turned ? yes : no};
    scale_id outer = scale_common(&c->terms, operands[1].of.scale, operands[2].of.scale);
    scale_id inverse = scale_invert(&c->terms, outer);
    for (int i = 1; i < 3; i++)
        operands[i].of.scale = scale_multiply(&c->terms, operands[i].of.scale, inverse);
    struct viewed made = value_pointwise(c, KIND_POINTWISE + PRIM_SELECT, 0, operands, 3, all);
    made.of.scale = outer;
    return made;
}

// ---- folds ------------------------------------------------------------------------------------

struct viewed value_fold(struct calculus *c, enum value_kind kind, struct viewed value,
                         uint64_t folded, const struct coordinates *all) {
    struct coordinates inner = *all;
    struct operand operand = operand_of(c, value);
    struct joined joined;
    if (term_kind(&c->terms, value.of.of) == (int)kind && value.of.scale == SCALE_ONE) {
        const int64_t *flags = value_attributes(c, value.of.of);
        uint32_t n = (uint32_t)*flags++;
        struct view whole;
        if (!unfold_view(flags, flags + n, n, &operand.view, &inner, &folded, &whole) ||
            !open_part(c, value.of, &whole, 0, &operand))
            return value_unknown(c, all);
    }
    if (!join_operands(c, &operand, 1, folded, false, &joined))
        return value_unknown(c, all);
    bool folds = false;
    for (uint32_t d = 0; d < joined.space.n; d++)
        folds |= joined.folded[d];
    return folds ? value_of_joined(c, kind, &operand, 1, &joined) : value;
}
