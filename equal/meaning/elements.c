// Functions of elements. Many are others: what is left divided, subtracted, negated or a logistic function is made of
// sums, products and powers, so that it has one normal form however it is written.
#include <math.h>
#include <string.h>

#include "equal/meaning/read.h"
#include "equal/values/range.h"
#include "ir/check.h"

static struct viewed one(const struct at *at) {
    return value_fraction(at->r->c, 1, 1);
}

static struct viewed negated(const struct at *at, struct viewed value) {
    return value_scaled(at->r->c, value, -1, 1);
}

static struct viewed plus(const struct at *at, struct viewed a, struct viewed b) {
    struct viewed both[] = {a, b};
    return value_sum(at->r->c, both, 2, &at->all);
}

static struct viewed times(const struct at *at, struct viewed a, struct viewed b) {
    struct viewed both[] = {a, b};
    return value_product(at->r->c, both, 2, 0, &at->all);
}

static struct viewed power(const struct at *at, struct viewed value, int64_t n, int64_t d) {
    return value_power(at->r->c, value, n, d, &at->all);
}

static bool is_whole(const struct at *at) {
    return shape_kind(operand_shape(at, 0)) != NUMBER_REAL;
}

// A function of reals, or of integers of one type: what it makes of bits depends on that.
static struct viewed function(const struct at *at, enum primitive primitive,
                              const struct viewed *values, uint32_t n) {
    uint32_t type = is_whole(at) ? 1 + at->by->shape->element : 0;
    return value_pointwise(at->r->c, KIND_POINTWISE + (int)primitive, type, values, n, &at->all);
}

// A function of which nothing is known but which it is.
static struct viewed unknown_function(const struct at *at) {
    struct viewed operands[3];
    CHECK(at->by->n_operands <= 3);
    for (uint32_t i = 0; i < at->by->n_operands; i++)
        operands[i] = operand_value(at, i);
    uint32_t which = (uint32_t)at->by->primitive << 8 | (uint32_t)at->by->attributes->direction;
    return value_pointwise(at->r->c, KIND_POINTWISE + PRIM_OPAQUE, which, operands,
                           at->by->n_operands, &at->all);
}

// By zero: of integers with a sign all bits are set; of those without one that is the largest, and is left as it is; what
// reals are is no number.
static struct viewed divided(const struct at *at, struct viewed a, struct viewed b) {
    if (!is_whole(at) && value_is_zero(at->r->c, b))
        return unknown_function(at);
    if (!is_whole(at))
        return times(at, a, power(at, b, -1, 1));
    if (value_is_zero(at->r->c, b) && shape_kind(at->by->shape) == NUMBER_INTEGER)
        return value_fraction(at->r->c, -1, 1);
    return value_quotient(at->r->c, a, b, &at->all);
}

// By zero: of integers what was divided.
static struct viewed rest_of(const struct at *at, struct viewed a, struct viewed b) {
    if (is_whole(at) && value_is_zero(at->r->c, b))
        return a;
    return value_rest(at->r->c, is_whole(at), a, b, &at->all);
}

// What is made of integers without a sign, which are never negative: a difference that might be wraps around, and is no
// difference.
static struct viewed without_wrapping(const struct at *at, struct viewed made,
                                      const struct viewed *operands, uint32_t n) {
    if (shape_kind(at->by->shape) != NUMBER_UNSIGNED)
        return made;
    struct bounds bounds = value_bounds(at->r->c, made);
    return bounds.below && bounds.least >= 0 ? made : function(at, at->by->primitive, operands, n);
}

static struct viewed subtracted(const struct at *at, struct viewed a, struct viewed b) {
    struct viewed both[] = {a, b};
    return without_wrapping(at, plus(at, a, negated(at, b)), both, 2);
}

// ---- comparisons ------------------------------------------------------------------------------

static struct viewed compared(const struct at *at, struct viewed a, struct viewed b) {
    struct calculus *c = at->r->c;
    bool integers = is_whole(at);
    struct viewed more = plus(at, a, negated(at, b)), less = negated(at, more);
    switch (at->by->attributes->direction) {
    case DIRECTION_GE:
        return value_test(c, KIND_AT_LEAST, more, integers, &at->all);
    case DIRECTION_GT:
        return value_test(c, KIND_ABOVE, more, integers, &at->all);
    case DIRECTION_LE:
        return value_test(c, KIND_AT_LEAST, less, integers, &at->all);
    case DIRECTION_LT:
        return value_test(c, KIND_ABOVE, less, integers, &at->all);
    case DIRECTION_EQ:
        return value_test(c, KIND_IS_ZERO, more, integers, &at->all);
    default:
        return value_not(c, value_test(c, KIND_IS_ZERO, more, integers, &at->all), &at->all);
    }
}

static struct viewed converted(const struct at *at, struct viewed value) {
    enum number_kind from = shape_kind(operand_shape(at, 0)), to = shape_kind(at->by->shape);
    if (to == NUMBER_TRUTH && from != NUMBER_TRUTH) {
        struct viewed zero =
            value_test(at->r->c, KIND_IS_ZERO, value, from != NUMBER_REAL, &at->all);
        return value_not(at->r->c, zero, &at->all);
    }
    if (from == NUMBER_REAL && to != NUMBER_REAL)
        return cast_real(at, value);
    return to == NUMBER_INTEGER || to == NUMBER_UNSIGNED ? cast_integer(at, value) : value;
}

// ---- truths and bits --------------------------------------------------------------------------

static struct viewed either(const struct at *at, struct viewed a, struct viewed b) {
    struct calculus *c = at->r->c;
    struct viewed neither = times(at, value_not(c, a, &at->all), value_not(c, b, &at->all));
    return value_not(c, neither, &at->all);
}

static struct viewed bits(const struct at *at, struct viewed a, struct viewed b) {
    enum primitive primitive = at->by->primitive;
    struct viewed both[] = {a, b};
    bool truths = shape_kind(at->by->shape) == NUMBER_TRUTH;
    if (truths && primitive == PRIM_AND)
        return value_equal(a, b) ? a : times(at, a, b);
    if (truths && primitive == PRIM_OR)
        return value_equal(a, b) ? a : either(at, a, b);
    return function(at, primitive, both, 2);
}

// ---- powers -----------------------------------------------------------------------------------

static struct viewed raised(const struct at *at, struct viewed base, struct viewed exponent) {
    int64_t n, d;
    struct viewed both[] = {base, exponent};
    bool is_known = value_number(at->r->c, exponent, &n, &d) && n >= -8 && n <= 8 && d <= 4;
    if (is_known && (!is_whole(at) || (n >= 0 && d == 1)))
        return power(at, base, n, d);
    return function(at, PRIM_POWER, both, 2);
}

// Zero times what is infinite is no number, so that is no product of which factors may be left out.
static struct viewed multiplied(const struct at *at, struct viewed a, struct viewed b) {
    struct viewed both[] = {a, b};
    bool infinite = value_is_infinite(at->r->c, a.of.of) || value_is_infinite(at->r->c, b.of.of);
    return infinite ? function(at, PRIM_MULTIPLY, both, 2) : times(at, a, b);
}

static struct viewed read_one(const struct at *at, struct viewed a) {
    switch (at->by->primitive) {
    case PRIM_COPY:
    case PRIM_REDUCE_PRECISION:
        return a;
    case PRIM_CONVERT:
        return converted(at, a);
    case PRIM_NEGATE:
        return without_wrapping(at, negated(at, a), &a, 1);
    case PRIM_ABS:
        return value_is_not_negative(at->r->c, a) ? a : function(at, PRIM_ABS, &a, 1);
    case PRIM_EXPONENTIAL:
        return value_exponential(at->r->c, a, &at->all);
    case PRIM_EXPONENTIAL_MINUS_ONE:
        return plus(at, value_exponential(at->r->c, a, &at->all), negated(at, one(at)));
    case PRIM_LOG:
        return value_log(at->r->c, a, &at->all);
    case PRIM_LOG_PLUS_ONE:
        return value_log(at->r->c, plus(at, a, one(at)), &at->all);
    case PRIM_LOGISTIC:
        return power(at, plus(at, one(at), value_exponential(at->r->c, negated(at, a), &at->all)),
                     -1, 1);
    case PRIM_SQRT:
        return power(at, a, 1, 2);
    case PRIM_RSQRT:
        return power(at, a, -1, 2);
    case PRIM_CBRT:
        return power(at, a, 1, 3);
    case PRIM_NOT:
        if (shape_kind(at->by->shape) == NUMBER_TRUTH)
            return value_not(at->r->c, a, &at->all);
        return function(at, PRIM_NOT, &a, 1);
    default:
        return function(at, at->by->primitive, &a, 1);
    }
}

static struct viewed read_two(const struct at *at, struct viewed a, struct viewed b) {
    bool truths = shape_kind(at->by->shape) == NUMBER_TRUTH;
    switch (at->by->primitive) {
    case PRIM_ADD:
        return truths ? either(at, a, b) : plus(at, a, b);
    case PRIM_SUBTRACT:
        return subtracted(at, a, b);
    case PRIM_MULTIPLY:
        return multiplied(at, a, b);
    case PRIM_DIVIDE:
        return divided(at, a, b);
    case PRIM_REMAINDER:
        return rest_of(at, a, b);
    case PRIM_POWER:
        return raised(at, a, b);
    case PRIM_MAXIMUM:
        return value_extreme(at->r->c, true, is_whole(at), a, b, &at->all);
    case PRIM_MINIMUM:
        return value_extreme(at->r->c, false, is_whole(at), a, b, &at->all);
    case PRIM_COMPARE:
        return compared(at, a, b);
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_XOR:
        return bits(at, a, b);
    default: {
        struct viewed both[] = {a, b};
        return function(at, at->by->primitive, both, 2);
    }
    }
}

// ---- complex numbers --------------------------------------------------------------------------

static bool is_complex(const struct at *at) {
    return shape_kind(at->by->shape) == NUMBER_OTHER ||
           shape_kind(operand_shape(at, 0)) == NUMBER_OTHER;
}

// Whether what holds of reals holds of complex numbers, too. Of quotients, roots, logarithms and signs not all does.
static bool is_of_a_ring(enum primitive primitive) {
    switch (primitive) {
    case PRIM_ADD:
    case PRIM_SUBTRACT:
    case PRIM_MULTIPLY:
    case PRIM_NEGATE:
    case PRIM_COPY:
    case PRIM_CONVERT:
    case PRIM_SELECT:
        return true;
    default:
        return false;
    }
}

bool read_elements(const struct at *at, struct viewed *made) {
    struct viewed a = operand_value(at, 0);
    if (is_complex(at) && !is_of_a_ring(at->by->primitive)) {
        *made = unknown_function(at);
        return true;
    }
    if (at->by->n_operands == 1)
        *made = read_one(at, a);
    else if (at->by->n_operands == 2)
        *made = read_two(at, a, operand_value(at, 1));
    else if (at->by->primitive == PRIM_SELECT)
        *made = value_select(at->r->c, a, operand_value(at, 1), operand_value(at, 2), &at->all);
    else
        *made = value_clamped(at->r->c, is_whole(at), a, operand_value(at, 1), operand_value(at, 2),
                              &at->all);
    return true;
}
