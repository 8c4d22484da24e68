// Powers and choices of elements; and folds.
#include "equal/values/laws.h"
#include "equal/values/make.h"
#include "ir/check.h"

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
    int64_t of_both[2];
    if (__builtin_mul_overflow(*numerator, exponent[0], &of_both[0]) ||
        __builtin_mul_overflow(*denominator, exponent[1], &of_both[1]))
        return false;
    struct view view;
    struct operand part;
    view_get(&c->views, value.view, &view);
    if (!open_part(c, value.of, &view, 0, &part))
        return false;
    *numerator = of_both[0];
    *denominator = of_both[1];
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
    if (numerator == 0)
        return value_fraction(c, 1, 1);
    int64_t divisor = greatest_divisor(numerator, denominator);
    numerator /= divisor, denominator /= divisor;
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

// ---- choices ----------------------------------------------------------------------------------

// A choice by the device's place, as a sum: so what devices write to one array in turn is added up.
static struct viewed chosen_by_place(struct calculus *c, struct viewed which, struct viewed yes,
                                     struct viewed no, const struct coordinates *all) {
    struct viewed a[] = {which, yes}, b[] = {which, no};
    struct viewed parts[] = {value_product(c, a, 2, 0, all), no,
                             value_scaled(c, value_product(c, b, 2, 0, all), -1, 1)};
    return value_sum(c, parts, 3, all);
}

// A choice that is made where another one has been, as of what stands for places that are not in an array.
static struct viewed chosen_where(struct calculus *c, struct viewed which, struct viewed value,
                                  const struct coordinates *all) {
    struct split_product split = {.n = 1, .apart = {which}};
    if (term_kind(&c->terms, value.of.of) != KIND_POINTWISE + PRIM_SELECT)
        return value;
    if (term_kind(&c->terms, which.of.of) == KIND_PRODUCT &&
        !split_product(c, which, false, MAX_SPLIT, all, &split))
        return value;
    return decided_where(c, split.apart, split.n, value, all);
}

struct viewed value_select(struct calculus *c, struct viewed which, struct viewed yes,
                           struct viewed no, const struct coordinates *all) {
    int64_t numerator, denominator;
    if (value_number(c, which, &numerator, &denominator))
        return numerator ? yes : no;
    if (value_equal(yes, no))
        return yes;
    struct viewed otherwise = value_not(c, which, all);
    yes = chosen_where(c, which, yes, all);
    no = chosen_where(c, otherwise, no, all);
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

static struct viewed fold_again(struct calculus *c, const struct element_function *function,
                                const struct viewed *values, uint32_t n,
                                const struct coordinates *all) {
    CHECK(n == 1);
    return value_fold(c, (enum value_kind)function->kind, values[0], function->folded, all);
}

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
    struct joined_space space;
    struct viewed made;
    joined_coordinates(&joined, &space);
    struct element_function fold = {.make = fold_again, .kind = kind, .folded = space.folded};
    if (made_of_dissolved(c, &fold, &operand, 1, &joined, &made))
        return made;
    bool folds = false;
    for (uint32_t d = 0; d < joined.space.n; d++)
        folds |= joined.folded[d];
    return folds ? value_of_joined(c, kind, &operand, 1, &joined) : value;
}
