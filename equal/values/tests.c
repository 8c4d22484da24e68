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
