// Laws by which terms that are made in different ways are one: laws of log-sum-exp and of attention
// (laws.c), of products and of parts of a dimension (product.c).
#ifndef PLACE_VERIFY_ALGEBRA_LAWS_H
#define PLACE_VERIFY_ALGEBRA_LAWS_H

#include "verify/algebra/term.h"

// Operand `i` of the op that made the term, with the scale that it has there.
struct scaled term_operand(const struct terms *, struct term term, unsigned i);
// Terms of log-sum-exp, so that the loss over all of the vocabulary and the same over its parts
// have one term.
struct scaled law_log_shift(struct builder *, struct scaled sum, struct scaled shift);
struct scaled law_cross_entropy(struct builder *, struct scaled logits, struct term targets,
                                struct term rows);
// Are these o and lse of one attention?
bool law_is_statistic(struct builder *, struct scaled o, struct scaled lse);

// Products, of which parts of operands may be put together by others or taken apart.
struct scaled law_product(struct builder *, const struct op_labels *, struct scaled a,
                          struct scaled b);
// What `take`, `put` or `move` makes of x, which has so many dimensions, between these iotas.
struct scaled law_moved(struct builder *, const struct op *, int rank, struct scaled x,
                        struct term from, struct term to);

#endif
