// Tests of elements, which are one or zero, and their opposites.
#include "equal/values/make.h"
#include "equal/values/range.h"

static bool decided(struct calculus *c, enum value_kind kind, struct viewed value, bool integers,
                    bool *is) {
    int64_t numerator, denominator;
    if (value_number(c, value, &numerator, &denominator)) {
        *is = kind == KIND_AT_LEAST ? numerator >= 0
              : kind == KIND_ABOVE  ? numerator > 0
                                    : numerator == 0;
        return true;
    }
    if (kind == KIND_IS_ZERO) {
        *is = false;
        return integers && value_is_never_zero(c, value);
    }
    struct bounds bounds = integers ? value_bounds(c, value) : (struct bounds){0};
    int64_t least = kind == KIND_ABOVE;
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

// ---- choices ----------------------------------------------------------------------------------

static bool open_summand(struct calculus *c, struct viewed sum, uint32_t i, struct viewed *part) {
    struct view view;
    struct operand of;
    view_get(&c->views, sum.view, &view);
    if (!open_part(c, sum.of, &view, i, &of))
        return false;
    *part = value_of_operand(c, &of);
    return true;
}

// The sum where summand i, a choice, is its operand `which`.
static bool sum_chosen(struct calculus *c, struct viewed sum, uint32_t i, uint32_t which,
                       const struct coordinates *all, struct viewed *made) {
    uint32_t n = term_node(&c->terms, sum.of.of)->n_parts;
    struct viewed *parts = ARENA_ARRAY(&c->scratch, struct viewed, n);
    for (uint32_t k = 0; k < n; k++) {
        struct viewed choice;
        if (!open_summand(c, sum, k, &parts[k]))
            return false;
        if (k != i)
            continue;
        choice = parts[k];
        if (!open_summand(c, choice, which, &parts[k]))
            return false;
        parts[k].of.scale = scale_product(&c->terms, parts[k].of.scale, choice.of.scale);
    }
    *made = value_sum(c, parts, n, all);
    return true;
}

// Whether the test, of a sum with the choice `i` among its summands, is the condition and one test without the choice.
static bool test_without_choice(struct calculus *c, struct viewed sum, uint32_t i,
                                const struct coordinates *all, struct viewed *made) {
    struct viewed choice, condition, chosen[2];
    if (!open_summand(c, sum, i, &choice) ||
        term_kind(&c->terms, choice.of.of) != KIND_POINTWISE + PRIM_SELECT ||
        !open_summand(c, choice, 0, &condition) || !sum_chosen(c, sum, i, 1, all, &chosen[0]) ||
        !sum_chosen(c, sum, i, 2, all, &chosen[1]))
        return false;
    for (int no = 0; no < 2; no++) {
        bool is;
        if (!decided(c, KIND_IS_ZERO, chosen[!no], true, &is) || is)
            continue;
        struct viewed factors[] = {no ? value_not(c, condition, all) : condition,
                                   value_test(c, KIND_IS_ZERO, chosen[no], true, all)};
        *made = value_product(c, factors, 2, 0, all);
        return true;
    }
    return false;
}

// A sum of integers that is not zero with one operand of a choice, as an index that stands behind the end where it is
// not in the part:
//
//   is_zero(x + select(p, a, b)) = p is_zero(x + a)         where x + b is never zero
static bool test_choice(struct calculus *c, struct viewed value, const struct coordinates *all,
                        struct viewed *made) {
    if (term_kind(&c->terms, value.of.of) != NODE_SUM)
        return false;
    uint32_t n = term_node(&c->terms, value.of.of)->n_parts;
    for (uint32_t i = 0; i < n; i++)
        if (test_without_choice(c, value, i, all, made))
            return true;
    return false;
}

// ---- tests ------------------------------------------------------------------------------------

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
    struct viewed chosen;
    if (kind == KIND_IS_ZERO && integers && test_choice(c, value, all, &chosen))
        return chosen;
    struct affine index;
    int64_t denominator;
    if (value_as_index(c, value, &index, &denominator) && denominator == 1)
        value = value_index(c, &index); // with its sign inside of it
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
