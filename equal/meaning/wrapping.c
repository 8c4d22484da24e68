// Integers of few bits, of which a sum or a product may be another number than the exact one: it wraps around. So do casts to
// types that lack a number. Integers of as many bits as programs count with are taken to hold what they count.
#include "equal/meaning/read.h"
#include "equal/values/range.h"

enum { MOST_LOOKED_AT = 256 };

bool element_holds(enum element element, enum element of) {
    const struct element_row *to = &element_rows[element], *from = &element_rows[of];
    if (to->kind == from->kind)
        return to->kind == NUMBER_REAL || to->bits >= from->bits;
    return from->kind == NUMBER_TRUTH || (from->kind == NUMBER_UNSIGNED && to->bits > from->bits);
}

// ---- what is counted --------------------------------------------------------------------------

static bool counts_parts(struct calculus *c, struct term of, uint32_t *n_looked_at);

// Whether a value is counted: of inputs and indices, by sums, products and choices. What is made of bits is not, nor what has
// wrapped around.
static bool is_counted(struct calculus *c, struct term of, uint32_t *n_looked_at) {
    if (++*n_looked_at > MOST_LOOKED_AT)
        return false;
    switch (term_kind(&c->terms, of)) {
    case NODE_ZERO:
    case NODE_ONE:
    case KIND_INPUT:
    case KIND_INDEX:
    case KIND_NUMBER:
    case KIND_ARRAY:
    case KIND_AT_LEAST:
    case KIND_ABOVE:
    case KIND_IS_ZERO:
        return true;
    case NODE_SUM:
    case KIND_PRODUCT:
    case KIND_VIEW:
    case KIND_FLAT:
    case KIND_JOINED:
    case KIND_LARGEST:
    case KIND_LEAST:
    case KIND_POINTWISE + PRIM_SELECT:
    case KIND_POINTWISE + PRIM_CLAMP:
    case KIND_POINTWISE + PRIM_MAXIMUM:
    case KIND_POINTWISE + PRIM_MINIMUM:
    case KIND_POINTWISE + PRIM_DIVIDE:
    case KIND_POINTWISE + PRIM_REMAINDER:
        return counts_parts(c, of, n_looked_at);
    default:
        return false;
    }
}

static bool counts_parts(struct calculus *c, struct term of, uint32_t *n_looked_at) {
    for (uint32_t i = 0; i < term_node(&c->terms, of)->n_parts; i++)
        if (!is_counted(c, term_part(&c->terms, of, i).of, n_looked_at))
            return false;
    return true;
}

// ---- what fits --------------------------------------------------------------------------------

// Where numbers of the value lie, beside those of the type.
struct fit {
    bool always; // all are of the type
    bool surely; // some are not: what is known is known of numbers that there are
};

static struct fit fit_of(struct calculus *c, struct viewed value, enum element element) {
    struct bounds bounds = value_bounds(c, value), type = value_bounds_of_type(element);
    struct affine index;
    int64_t denominator;
    bool below = bounds.below && type.below && bounds.least < type.least;
    bool above = bounds.above && type.above && bounds.largest > type.largest;
    bool apart = (bounds.above && type.below && bounds.largest < type.least) ||
                 (bounds.below && type.above && bounds.least > type.largest);
    bool is_met = value_as_index(c, value, &index, &denominator);
    return (struct fit){(bounds.below || !type.below) && (bounds.above || !type.above) && !below &&
                            !above,
                        apart || (is_met && (below || above))};
}

// Whether the exact value may be no integer of that type, so that it wraps around. Of many bits: whether it is known to be
// none.
static bool may_wrap(struct calculus *c, struct viewed value, enum element element) {
    if (!element_is_integer(element))
        return false;
    struct fit fit = fit_of(c, value, element);
    return element_rows[element].bits < COUNTING_BITS ? !fit.always : fit.surely;
}

// What an exact value is in that type.
static struct viewed value_in_type(struct calculus *c, struct viewed value, enum element element,
                                   const struct coordinates *all) {
    return value_pointwise(c, KIND_POINTWISE + PRIM_CONVERT, 1 + element, &value, 1, all);
}

// ---- casts ------------------------------------------------------------------------------------

struct viewed cast_integer(const struct at *at, struct viewed value) {
    struct calculus *c = at->r->c;
    enum element element = at->by->shape->element;
    uint32_t n_looked_at = 0;
    if (element_holds(element, operand_shape(at, 0)->element))
        return value;
    struct fit fit = fit_of(c, value, element);
    bool is_count = element_rows[element].kind == NUMBER_INTEGER && !may_wrap(c, value, element) &&
                    is_counted(c, value.of.of, &n_looked_at);
    return fit.always || is_count ? value : value_in_type(c, value, element, &at->all);
}

struct viewed cast_real(const struct at *at, struct viewed value) {
    struct calculus *c = at->r->c;
    enum element element = at->by->shape->element;
    struct affine index;
    int64_t denominator;
    bool whole = value_as_index(c, value, &index, &denominator) && denominator == 1;
    if (whole && element_is_integer(element) && fit_of(c, value, element).always)
        return value;
    return value_pointwise(c, KIND_POINTWISE + PRIM_CONVERT, 1 + N_ELEMENT_TYPES + element, &value,
                           1, &at->all);
}

// ---- what is made of numbers ------------------------------------------------------------------

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
    case PRIM_SELECT_AND_SCATTER:
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
