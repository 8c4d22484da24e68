// Values: what arrays are, as views of terms in normal form. Terms are those of the verifier's algebra, made by rules
// of this folder: two arrays are equal if their terms, scales and views are.
//
// A term ranges over dimensions of its own, its space. What makes it knows of its operands where they lie in that
// space, as terms KIND_VIEW, and of nothing outside: how an array reads a term is the array's view. So the same
// function of the same values is one term, whatever the arrays look like and however they are cut, since the
// dimensions of a space are as few as they can be: pieces of coordinates that follow each other in all operands are
// one dimension (join.h).
//
// A value that a device has a summand of is no case of its own. The number of the device is a coordinate like others,
// of which a partial product is a function; a collective sums over its digits, and the sum over all of a contracted
// dimension is the term that one device has made.
//
// What is done here holds over the reals: sums and products commute, casts are nothing, and x - x is zero.
#ifndef PLACE_EQUAL_VALUES_VALUE_H
#define PLACE_EQUAL_VALUES_VALUE_H

#include "equal/graph/graph.h"
#include "equal/values/view.h"
#include "verify/algebra/term.h"

enum { // coordinates: an array's dimensions, the device's number, and those of what is being made
    COORDINATE_DEVICE = MAX_GRAPH_RANK,
    COORDINATE_FREE,
};

enum value_kind {                  // of terms, beside those of the algebra
    KIND_INPUT = NODE_UNKNOWN + 1, // a parameter; attributes: its number
    KIND_UNKNOWN,                  // equal to nothing but itself; attributes: a serial number
    KIND_INDEX,                    // the whole number at the place; one dimension without an end
    KIND_NUMBER,                   // a constant that is no small fraction; attributes: its bits
    KIND_ARRAY,                    // a constant array; attributes: its numbers
    KIND_VIEW,                     // of one term; attributes: the space and the view
    KIND_PRODUCT,                  // of its parts, summed over dimensions; attributes: of which
    KIND_LARGEST,                  // the same of the largest
    KIND_LEAST,
    KIND_ALL, // of truths
    KIND_ANY,
    KIND_JOINED, // parts one behind the other along the first dimension; attributes: their sizes
    KIND_FLAT,   // along whole coordinates what it reads by digits; attributes: those of KIND_VIEW
    KIND_POWER,  // attributes: numerator and denominator of the exponent
    KIND_AT_LEAST, // one where the operand is not negative, else zero
    KIND_ABOVE,    // one where it is positive
    KIND_IS_ZERO,
    KIND_OPAQUE,    // attributes: what
    KIND_POINTWISE, // and a primitive
};
enum { KIND_EXPONENTIAL = KIND_POINTWISE + PRIM_EXPONENTIAL };
static inline bool is_test_kind(int kind) {
    return kind == KIND_AT_LEAST || kind == KIND_ABOVE || kind == KIND_IS_ZERO;
}
bool value_commutes(int kind); // a function of elements in its operands

struct coordinates {
    int64_t sizes[MAX_COORDINATES]; // 0: there is no such coordinate
};
struct space {
    uint32_t n;
    int64_t sizes[MAX_DIMENSIONS]; // of KIND_INDEX 0
    // Dimensions along which inputs lie that are read in turns: the number of their digits there (turns.h).
    uint8_t turns[MAX_DIMENSIONS];
};

struct viewed {
    struct scaled of;
    view_id view;
};

struct turn_list; // turns.h

// Normal forms are made of each other: the exponential of a sum is a product, whose factors may be sums, and what is read
// of a term may be made anew of what is read of its parts. Who makes one of these calls it here.
struct calculus;
struct normal_forms {
    bool (*move)(struct calculus *, struct viewed, const struct substitution *, struct viewed *);
    struct viewed (*read)(struct calculus *, struct scaled, const struct view *);
    struct viewed (*sum)(struct calculus *, const struct viewed *, uint32_t n,
                         const struct coordinates *);
    struct viewed (*product)(struct calculus *, const struct viewed *, uint32_t n, uint64_t summed,
                             const struct coordinates *);
    // A kind that is a function of its operands' elements.
    struct viewed (*of_kind)(struct calculus *, int kind, uint32_t attributes,
                             const struct viewed *, uint32_t n, const struct coordinates *);
    struct viewed (*exponential)(struct calculus *, struct viewed, const struct coordinates *);
};

// What the numbers of a KIND_ARRAY are: the first of its attributes.
enum array_numbers {
    ARRAY_WHOLE,
    ARRAY_REAL,
    ARRAY_INFINITE, // or none: of reals, of which at least one is
};

struct operand; // join.h
struct opened;  // join.c

// Bounds of what is followed. Beyond them a value is unknown.
enum bound {
    BOUND_NONE,
    BOUND_FACTORS,  // of a product
    BOUND_SUMMANDS, // of a sum
    BOUND_PARTS,    // that stand one behind the other
    BOUND_OPERANDS, // of an op that has no rule
};
enum { MAX_PRODUCT = 24, MOST_SUMMANDS = 4000 };

struct calculus {
    const struct normal_forms *forms;
    struct arena *arena;
    struct arena scratch; // of one operation
    struct terms terms;
    struct builder builder;
    struct views views;
    const struct space **spaces; // by node
    uint32_t n_spaces, cap_spaces;
    const struct bounds *bounds; // that are assumed of them; NULL: none
    uint8_t *doubts;             // by node, as far as they were asked for (exponentials.c)
    uint32_t n_doubts, cap_doubts;
    struct turn_list *turns; // of inputs; NULL: none is read so
    bool distributes;        // products over the one sum among their factors
    bool devices_apart;      // sums over devices are those of each
    bool outside_of_turns;   // factors that lack what is summed over in turns stay outside
    int64_t products_left;   // that may be made; behind them all is unknown
    uint32_t depth;          // of those that are being made inside of each other
    uint32_t dissolving;     // of these made of what was dissolved (flat.c)
    uint32_t serial;
    enum bound reached;        // last, since it was forgotten
    struct intern pushed_keys; // terms with views that do not stand outside of them, and
    struct viewed *pushed;     // what they are
    uint32_t n_pushed, cap_pushed;
    uint32_t bounds_asked; // in one question for bounds (range.c)
    struct opened *opened; // what part_value answered last
    struct operand *room;  // of operand_room (join.c)
    uint32_t cap_room;
};
struct bounds {
    bool below, above;
    int64_t least, largest;
};

void calculus_init(struct calculus *, struct arena *);
void calculus_free(struct calculus *);

const struct space *value_space(const struct calculus *, struct term);
bool value_equal(struct viewed, struct viewed);
bool value_is_zero(const struct calculus *, struct viewed);
// Whether it is a number, the same everywhere.
bool value_number(const struct calculus *, struct viewed, int64_t *numerator, int64_t *denominator);

// Whether it is index / denominator.
bool value_as_index(const struct calculus *, struct viewed, struct affine *index,
                    int64_t *denominator);
const int64_t *value_attributes(const struct calculus *, struct term);
// A coordinate that there is not yet, of so many places; MAX_COORDINATES: none is left.
uint32_t add_coordinate(struct coordinates *, int64_t size);

struct viewed value_zero(struct calculus *);
struct viewed value_fraction(struct calculus *, int64_t numerator, int64_t denominator);
// The simplest fraction that rounds to the number as floats of so many significant bits do, or KIND_NUMBER.
struct viewed value_real(struct calculus *, double, unsigned significand);
// Whether a term is an infinite number, or none: of them x - x is not zero, and nothing is shifted by them.
bool value_is_infinite(const struct calculus *, struct term);
// Whether it is minus infinity, or plus infinity.
bool value_is_endless(const struct calculus *, struct viewed, bool below);
struct viewed value_index(struct calculus *, const struct affine *);
// The array that is the parameter, or part of it that the view says.
struct viewed value_input(struct calculus *, uint32_t number, const struct space *,
                          const struct view *);
// Equal to nothing but itself, at every place of all coordinates.
struct viewed value_unknown(struct calculus *, const struct coordinates *);
// A constant array: an index, where its numbers are one.
struct viewed value_array(struct calculus *, const struct literal *, const struct coordinates *);

// The value with coordinates replaced (view.h). False: it cannot be said.
static inline bool value_move(struct calculus *c, struct viewed value,
                              const struct substitution *by, struct viewed *moved) {
    return c->forms->move(c, value, by, moved);
}

// In all that follows operands are values over the same coordinates, and so is the result.
static inline struct viewed value_sum(struct calculus *c, const struct viewed *values, uint32_t n,
                                      const struct coordinates *all) {
    return c->forms->sum(c, values, n, all);
}
struct viewed value_scaled(struct calculus *, struct viewed, int64_t numerator,
                           int64_t denominator);
// The product, summed over the places of coordinates in the mask.
static inline struct viewed value_product(struct calculus *c, const struct viewed *values,
                                          uint32_t n, uint64_t summed,
                                          const struct coordinates *all) {
    return c->forms->product(c, values, n, summed, all);
}
static inline struct viewed value_exponential(struct calculus *c, struct viewed value,
                                              const struct coordinates *all) {
    return c->forms->exponential(c, value, all);
}
struct viewed value_log(struct calculus *, struct viewed, const struct coordinates *);
// KIND_LARGEST and what follows it, over the coordinates in the mask.
struct viewed value_fold(struct calculus *, enum value_kind, struct viewed, uint64_t folded,
                         const struct coordinates *);
struct viewed value_power(struct calculus *, struct viewed, int64_t numerator, int64_t denominator,
                          const struct coordinates *);
// KIND_AT_LEAST, KIND_ABOVE or KIND_IS_ZERO of integers or reals.
struct viewed value_test(struct calculus *, enum value_kind, struct viewed, bool integers,
                         const struct coordinates *);
struct viewed value_not(struct calculus *, struct viewed, const struct coordinates *);
struct viewed value_select(struct calculus *, struct viewed which, struct viewed yes,
                           struct viewed no, const struct coordinates *);
// The larger or the smaller of two, and the value where it is between the two others.
struct viewed value_extreme(struct calculus *, bool largest, bool integers, struct viewed,
                            struct viewed, const struct coordinates *);
struct viewed value_clamped(struct calculus *, bool integers, struct viewed low, struct viewed,
                            struct viewed high, const struct coordinates *);
// The quotient of integers, towards zero, and the rest of integers or reals.
struct viewed value_quotient(struct calculus *, struct viewed, struct viewed,
                             const struct coordinates *);
struct viewed value_rest(struct calculus *, bool integers, struct viewed, struct viewed,
                         const struct coordinates *);
// Any function of the operands' elements at the place; `attributes` 0, or what else it depends on.
struct viewed value_pointwise(struct calculus *, int kind, uint32_t attributes,
                              const struct viewed *, uint32_t n, const struct coordinates *);

#endif
