// Between the files that make values.
//
//   value.c        numbers, indices, parameters
//   digits.c       numbers as digits of a coordinate
//   operands.c     terms of operands; exponentials and scalars as such
//   opaque.c       ops without rules
//   range.c        what is known of integers, and of signs
//   together.c     arrays that stand one behind the other
//   apart.c        functions of elements; of arrays that stand so, part by part
//   bounded.c      extremes, clamps, quotients and rests
//   tests.c        tests
//   laws.c         products with tests among their factors
//   places.c       tests of places that are numbers
//   standing.c     sums of what is there at places each
//   product.c      products, summed over dimensions
//   exponentials.c exponentials and logarithms
//   sum.c          linear combinations
//   pointwise.c    powers and choices; folds
//   push.c         what is read of a term
//   flat.c         moves; values of which a range falls on no digits
//   turns.c        inputs that are read in turns
//   calculus.c     the table of normal forms
#ifndef PLACE_EQUAL_VALUES_MAKE_H
#define PLACE_EQUAL_VALUES_MAKE_H

#include "equal/values/join.h"

void value_set_space(struct calculus *, struct term, const struct space *);
uint32_t value_words(struct calculus *, const int64_t *words, uint32_t n); // as attributes
const int64_t *value_words_at(const struct calculus *, uint32_t attributes);
// What the view says of a term (push.c).
static inline struct viewed value_of_term(struct calculus *c, struct scaled of,
                                          const struct view *view) {
    return c->forms->read(c, of, view);
}
// The part of what stands together that the view says (together.c). False: it lies in no part alone.
bool read_standing(struct calculus *, struct scaled, const struct view *, struct viewed *);
// The same of what is along whole coordinates (flat.c). False: it is read on no digits of what it is of.
bool read_flat(struct calculus *, struct scaled, const struct view *, struct viewed *);
// What such a term is of, as a view over its dimensions, and these as the view says them; and whether that has all places
// of a dimension by more digits than one (flat.c).
struct scaled open_flat(const struct calculus *, struct term, const struct view *,
                        struct view *inner, struct substitution *);
bool is_told_by_digits(const struct calculus *, struct term);
// Whether it says all elements of the term, each once (push.c).
bool is_whole_view(const struct calculus *, struct term, const struct view *);
// Coordinates, as large as the view needs them.
struct coordinates coordinates_of_view(const struct view *);
struct operand operand_of(const struct calculus *, struct viewed);
// The same in place, where there are many.
void operand_set(const struct calculus *, struct viewed, struct operand *);
struct viewed value_of_operand(struct calculus *, const struct operand *);
// The view of what a term with folded dimensions ranges over, from that of the term: folded dimensions are new
// coordinates, added to the mask. `flags`: by dimension, whether it is. False: there are too many.
bool unfold_view(const int64_t *flags, const int64_t *sizes, uint32_t n, const struct view *,
                 struct coordinates *, uint64_t *folded, struct view *);
// A term of the operands, which are joined.
struct viewed value_of_operands(struct calculus *, int kind, uint32_t attributes,
                                const struct operand *, uint32_t n, const struct joined *);
// The same with its dimensions that are not folded.
struct viewed value_of_joined(struct calculus *, int kind, const struct operand *, uint32_t n,
                              const struct joined *);
// What makes a value of operands over the same coordinates, and reads of them, but along those in the mask, the elements
// at its place alone.
struct element_function {
    struct viewed (*make)(struct calculus *, const struct element_function *, const struct viewed *,
                          uint32_t n, const struct coordinates *);
    int kind;
    uint32_t attributes;
    uint64_t folded; // of the coordinates
};

// The same as join_operands; where operands read coordinates by digits that do not fall on each other's, they are read along
// whole ones.
bool join_flat(struct calculus *, struct operand *, uint32_t n, uint64_t folded, bool order,
               struct joined *);
// What the function makes of operands that are joined, where some of them are read on digits of what they are of (flat.c).
// False: none is.
bool made_of_dissolved(struct calculus *, const struct element_function *, const struct operand *,
                       uint32_t n, const struct joined *, struct viewed *);
// A scalar with others as its scale in normal form.
struct viewed value_normal_scalar(struct calculus *, struct viewed);

// The term of part i, however it is read there.
struct term bare_part(const struct calculus *, struct term of, uint32_t i);
// Whether it is of the kind, or a product of which a factor is.
bool has_factor(const struct calculus *, struct viewed, int kind);
bool is_exponential(const struct calculus *, struct term);
// What an exponential is of, its scale aside. False: it is none.
bool exponent_of(struct calculus *, struct viewed, struct viewed *exponent);

enum { MAX_SPLIT = 24 };
// A product as factors that have no dimension over which it is summed, and the rest.
struct split_product {
    struct viewed apart[MAX_SPLIT]; // each with the scale one
    uint32_t n;
    struct viewed rest; // with the product's scale
};
// Takes a KIND_PRODUCT apart. `exponentials`: only these are apart; at most so many. False: it cannot be said.
bool split_product(struct calculus *, struct viewed, bool exponentials, uint32_t most,
                   const struct coordinates *, struct split_product *);

// What value_move, value_of_term, value_sum, value_product and value_exponential call, and functions of elements.
bool normal_move(struct calculus *, struct viewed, const struct substitution *, struct viewed *);
struct viewed normal_read(struct calculus *, struct scaled, const struct view *);
struct viewed normal_sum(struct calculus *, const struct viewed *, uint32_t n,
                         const struct coordinates *);
struct viewed normal_product(struct calculus *, const struct viewed *, uint32_t n, uint64_t summed,
                             const struct coordinates *);
struct viewed normal_of_kind(struct calculus *, int kind, uint32_t attributes,
                             const struct viewed *, uint32_t n, const struct coordinates *);
struct viewed normal_exponential(struct calculus *, struct viewed, const struct coordinates *);

#endif
