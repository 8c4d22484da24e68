// Integers of few bits, of which a sum or a product may be another number than the exact one: it wraps around. Integers of as
// many bits as programs count with are taken to hold what they count.
#include "equal/meaning/read.h"
#include "equal/values/range.h"

enum { COUNTING_BITS = 32 };

bool may_wrap(struct calculus *c, struct viewed value, enum element element) {
    const struct element_row *of = &element_rows[element];
    if ((of->kind != NUMBER_INTEGER && of->kind != NUMBER_UNSIGNED) || of->bits >= COUNTING_BITS)
        return false;
    struct bounds bounds = value_bounds(c, value);
    int64_t half = INT64_C(1) << (of->bits - 1);
    int64_t least = of->kind == NUMBER_UNSIGNED ? 0 : -half;
    return !bounds.below || !bounds.above || bounds.least < least ||
           bounds.largest > least + 2 * half - 1;
}

struct viewed value_in_type(struct calculus *c, struct viewed value, enum element element,
                            const struct coordinates *all) {
    return value_pointwise(c, KIND_POINTWISE + PRIM_CONVERT, 1 + element, &value, 1, all);
}

// Whether what it makes of numbers of a type may be none of the type.
static bool counts(enum primitive primitive) {
    switch (primitive) {
    case PRIM_ADD:
    case PRIM_SUBTRACT:
    case PRIM_MULTIPLY:
    case PRIM_DIVIDE:
    case PRIM_NEGATE:
    case PRIM_ABS:
    case PRIM_POWER:
    case PRIM_IOTA:
    case PRIM_CONVOLUTION:
    case PRIM_DOT:
    case PRIM_REDUCE:
    case PRIM_REDUCE_WINDOW:
    case PRIM_SCATTER:
    case PRIM_ALL_REDUCE:
    case PRIM_REDUCE_SCATTER:
        return true;
    default:
        return false;
    }
}

struct viewed wrapped_around(const struct at *at, const struct array_shape *shape,
                             struct viewed value) {
    if (!counts(at->by->primitive) || !may_wrap(at->r->c, value, shape->element))
        return value;
    return value_in_type(at->r->c, value, shape->element, &at->all);
}
