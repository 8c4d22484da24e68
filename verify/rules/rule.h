// What the files of the transfer rule share: one application of an op's row (rule.c), the term of
// what it makes (value.c), and what is made of parts of a contraction (parts.c).
#ifndef PLACE_VERIFY_RULES_RULE_H
#define PLACE_VERIFY_RULES_RULE_H

#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/rules/rules.h"

struct context {
    struct proof *proof;
    struct builder *builder;
    const struct unit *unit;
    const struct op *op;
    const struct op_row *row;
    const struct judgement *operands;
    struct op_labels labels;
    dim_id dims[N_LABELS];         // of each label
    uint8_t first[N_LABELS];       // the operand that said so
    unsigned char bound[N_LABELS]; // the labels that have digits
    unsigned n_bound;
    uint32_t paired;                 // axes that own digits of two labels
    unsigned char pair[MAX_AXES][2]; // which
    const struct fault *fault;
};

const char *operand_name(const struct context *, unsigned operand);
bool is_zero(const struct context *, unsigned operand);
bool is_collected(const struct context *, unsigned operand); // a sum over some microbatches only
// For a witness: the op, and what it was given.
const struct fault *with_reader(const struct context *, struct fault *, unsigned operand);

// carry.c: the digits of a binary counter of sums. Whether the op is of one.
bool carry_apply(struct proof *, struct builder *, const struct unit *, const struct op *,
                 const struct judgement *operands, struct judgement *results);
// rule.c: all other ops.
void rule_apply(struct proof *, struct builder *, const struct unit *, const struct op *,
                const struct judgement *operands, struct judgement *results);

// codes.c: whether the op is one of these two; codes are operands of nothing else.
bool codes_apply(struct proof *, struct builder *, const struct unit *, const struct op *,
                 const struct judgement *operands, struct judgement *results);
const struct fault *codes_check_operands(struct proof *, const struct op *,
                                         const struct judgement *operands);
// The codes of all members of a group; `value` is what one gives. NULL: done.
const struct fault *codes_gather(struct proof *, const struct exchange *, struct judgement *value,
                                 struct span span);
const struct fault *codes_cut(struct proof *, struct span span); // a part of one is nothing

// cuts.c: whether a collective leaves what is summed in an order that is the same on every mesh. NULL: it does.
const struct fault *ordered_check_collective(struct proof *, const struct exchange *,
                                             struct span span);
// The same of what counts positions along a dimension that is cut so. NULL: it does.
const struct fault *ordered_check_positions(struct proof *, dim_id, struct span span);
// tree.c: the sum over the axes of a collective. NULL: done.
const struct fault *ordered_sum_over(struct proof *, const struct exchange *, struct judgement *,
                                     struct span span);
// `sum` becomes kept + sum, which are siblings. NULL: done.
const struct fault *ordered_join(struct proof *, const char *what, const struct judgement *kept,
                                 struct judgement *sum, struct span span);

// precision.c. What an op that makes the value of a result must be given; where that is the
// reference's, it is noted.
void precision_read(struct context *, unsigned result, struct scaled made);
void precision_made(struct context *, unsigned result, struct judgement *made); // digits left
struct judgement precision_cast(struct proof *, struct builder *, const struct unit *,
                                const struct op *, const struct judgement *from);
// What an op passes on as it is, in the type of its result.
struct judgement precision_passed(struct proof *, struct builder *, const struct op *, enum dtype,
                                  const struct judgement *from);
// The value is sent: in a type in which it may be, or it is insisted that it is not.
void precision_sent(struct proof *, const struct exchange *, struct judgement *value, struct span);
void ordered_round(struct context *, unsigned result, struct judgement *made); // to its type

// value.c
struct scaled value_of_result(struct context *, unsigned result);

// ordered.c: the same where terms are ordered, and which leaves the result is a sum of.
struct scaled ordered_value(struct context *, unsigned result);
void ordered_leaves(struct context *, unsigned result, struct judgement *made);

// contraction.c: what is contracted adds to the digits that are still to be summed.
struct contraction {
    struct leaves leaves;
    int32_t microbatch;
    bool several; // blocks of a label that a device has: what is behind it must be whole
};
void contract(struct context *, unsigned result, struct contraction *);

// parts.c. Two labels on one axis are noted as a pair, or are a fault.
void pair_labels(struct context *, unsigned axis, unsigned char label);
// The parts of a contraction that a device makes the result of; `contracted`: axes that own digits
// of contracted labels.
coverage_id coverage_of_result(struct context *, unsigned result, uint32_t contracted);
bool has_parts(const struct context *, unsigned result); // among the operands
void check_complete(struct context *, unsigned result);  // all operands, or the op joins them
void join_parts(struct context *, unsigned result, struct judgement *made); // value and coverage

#endif
