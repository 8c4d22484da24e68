// Between the files that find out what is wrong, and where: difference.c, lacking.c, cause.c and
// diagnose.c.
#ifndef PLACE_VERIFY_DIAGNOSIS_CAUSE_H
#define PLACE_VERIFY_DIAGNOSIS_CAUSE_H

#include "verify/algebra/facts.h"
#include "verify/diagnosis/diagnosis.h"

static inline const struct making *making_at(const struct proof *p, uint32_t id) {
    return making_of(p->history, id);
}

// The op that made the value, or one like it where a call was not evaluated for this one.
static inline const struct making *made_like(const struct proof *p, uint32_t id) {
    const struct making *making = making_at(p, id);
    return making->recalled ? making_at(p, making->recalled) : making;
}

static inline bool is_sum(const struct making *making) {
    return making->op && op_is_sum(making->op->kind);
}

static inline bool is_zeros(const struct proof *p, uint32_t made) {
    return made && term_kind(p->world->terms, making_at(p, made)->value.of) == NODE_ZERO;
}

// difference.c
struct texts {
    const char *ours, *theirs;
};
// Two values that are told beside one another, as deep as it takes to see that they differ.
struct texts texts_of(const struct proof *, struct scaled ours, struct scaled theirs);
struct fault *scale_fault(struct proof *, struct span, const char *what, scale_id found,
                          scale_id expected);
// What is wrong with a value that the reference does not explain, though it does explain what it is
// made of.
struct fault *diagnose_making(struct proof *, const struct making *);
// Whether the reference has an op on the same operands with other attributes.
bool differs_in_attributes(const struct proof *, struct term);
// order.c: why terms that are ordered differ; NULL: they do not.
const struct fault *ordered_difference(struct proof *, const struct expectation *,
                                       const struct judgement *found);
// cause.c: where the mistake is of which something else shows.
struct fault *cause_of_value(struct proof *, uint32_t made, bool *detour);
// lacking.c: what the op reads lacks something that the reference has there; NULL: nothing is known
// to be lacking.
struct fault *lacking_fault(struct proof *, const struct making *reader);
// How many layers' of the node are summed in the value.
int64_t layers_of(const struct world *, struct scaled value, uint32_t node);
// A loop of the step that goes over nothing; NULL: there is none.
const struct statement *empty_loop(const struct block *);
// What filled with zeros what led to the value, by way of sums: `in_time`, in a loop over
// microbatches; else before anything read what was there.
const struct making *clearing(struct proof *, uint32_t made, bool in_time);
// Where the op's operand goes on from the last sum in which it was made, and from what was brought
// then: at the first transfer or op behind that, or at the op itself.
struct span behind_sum(const struct proof *, const struct making *reader, uint32_t operand,
                       uint32_t brought);
// Whether it filled something with zeros that nobody had read; then what did so first.
const struct making *clears_unread(const struct proof *, const struct making *);

#endif
