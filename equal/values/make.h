// Between the files that make values.
//
//   value.c     numbers, indices, parameters, moves
//   sum.c       linear combinations
//   product.c   products, summed over dimensions
//   pointwise.c functions of elements, tests, folds
//   together.c  arrays that stand one behind the other
//   exponentials.c exponentials and logarithms
//   push.c      what is read of a term
//   turns.c     inputs that are read in turns
//   range.c     what is known of integers
//   laws.c      products with tests among their factors
#ifndef PLACE_EQUAL_VALUES_MAKE_H
#define PLACE_EQUAL_VALUES_MAKE_H

#include "equal/values/join.h"

void value_set_space(struct calculus *, struct term, const struct space *);
uint32_t value_words(struct calculus *, const int64_t *words, uint32_t n); // as attributes
// What the view says of a term (push.c).
struct viewed value_of_term(struct calculus *, struct scaled, const struct view *);
// The part of what stands together that the view says (together.c). False: it lies in no part alone.
bool read_standing(struct calculus *, struct scaled, const struct view *, struct viewed *);
bool value_commutes(int kind); // a function of elements in its operands
struct operand operand_of(const struct calculus *, struct viewed);
struct viewed value_of_operand(struct calculus *, const struct operand *);
// The view of what a term with folded dimensions ranges over, from that of the term: folded dimensions are new
// coordinates, added to the mask. `flags`: by dimension, whether it is. False: there are too many.
bool unfold_view(const int64_t *flags, const int64_t *sizes, uint32_t n, const struct view *,
                 struct coordinates *, uint64_t *folded, struct view *);
// A term of the operands, which are joined, and its dimensions that are not folded.
struct viewed value_of_joined(struct calculus *, int kind, const struct operand *, uint32_t n,
                              const struct joined *);
// A scalar with others as its scale in normal form.
struct viewed value_normal_scalar(struct calculus *, struct viewed);

#endif
