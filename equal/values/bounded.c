// Functions of elements that what is known of numbers decides: the larger and the smaller of two, clamps, and quotients
// and rests of integers.
#include "equal/values/make.h"
#include "equal/values/range.h"

static struct viewed as_it_is(struct calculus *c, enum primitive primitive, bool integers,
                              const struct viewed *values, uint32_t n,
                              const struct coordinates *all) {
    return value_pointwise(c, KIND_POINTWISE + (int)primitive, integers, values, n, all);
}

// Whether a is known to be at least b.
static bool is_at_least(struct calculus *c, struct viewed a, struct viewed b, bool integers) {
    int64_t n[2], d[2];
    if (value_number(c, a, &n[0], &d[0]) && value_number(c, b, &n[1], &d[1]))
        return (__int128)n[0] * d[1] >= (__int128)n[1] * d[0];
    if (!integers)
        return false;
    struct bounds x = value_bounds(c, a), y = value_bounds(c, b);
    return x.below && y.above && x.least >= y.largest;
}

struct viewed value_extreme(struct calculus *c, bool largest, bool integers, struct viewed a,
                            struct viewed b, const struct coordinates *all) {
    struct viewed both[] = {a, b};
    if (value_equal(a, b) || value_is_endless(c, b, largest))
        return a;
    if (value_is_endless(c, a, largest))
        return b;
    if (is_at_least(c, a, b, integers))
        return largest ? a : b;
    if (is_at_least(c, b, a, integers))
        return largest ? b : a;
    return as_it_is(c, largest ? PRIM_MAXIMUM : PRIM_MINIMUM, integers, both, 2, all);
}

struct viewed value_clamped(struct calculus *c, bool integers, struct viewed low,
                            struct viewed value, struct viewed high,
                            const struct coordinates *all) {
    struct viewed operands[] = {low, value, high};
    if (is_at_least(c, value, low, integers) && is_at_least(c, high, value, integers))
        return value;
    return as_it_is(c, PRIM_CLAMP, integers, operands, 3, all);
}

// The quotient, or the rest, of integers by a positive number: of a number, or of an index that is not negative.
static bool divided_index(struct calculus *c, bool rest, struct viewed a, struct viewed b,
                          struct viewed *made) {
    struct affine index, part;
    int64_t denominator, divisor, one_below;
    if (!value_as_index(c, a, &index, &denominator) || denominator != 1 ||
        !value_number(c, b, &divisor, &one_below) || one_below != 1 || divisor <= 0)
        return false;
    if (index.n == 0) { // as processors divide, towards zero
        *made = value_fraction(c, rest ? index.base % divisor : index.base / divisor, 1);
        return true;
    }
    if (affine_least(&index) < 0)
        return false;
    if (rest ? !affine_piece(&index, INT64_MAX, 1, divisor, &part) &&
                   !affine_turned(&index, divisor, &part)
             : !affine_piece(&index, INT64_MAX, divisor, INT64_MAX / divisor, &part))
        return false;
    *made = value_index(c, &part);
    return affine_normal(&part);
}

struct viewed value_quotient(struct calculus *c, struct viewed a, struct viewed b,
                             const struct coordinates *all) {
    struct viewed made, both[] = {a, b};
    if (divided_index(c, false, a, b, &made))
        return made;
    return as_it_is(c, PRIM_DIVIDE, true, both, 2, all);
}

struct viewed value_rest(struct calculus *c, bool integers, struct viewed a, struct viewed b,
                         const struct coordinates *all) {
    struct viewed made, both[] = {a, b};
    if (integers && divided_index(c, true, a, b, &made))
        return made;
    return as_it_is(c, PRIM_REMAINDER, integers, both, 2, all);
}
