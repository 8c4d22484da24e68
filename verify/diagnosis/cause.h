// Between the files that find out what is wrong, and where: difference.c, lacking.c, cause.c and
// diagnose.c.
#ifndef PLACE_VERIFY_DIAGNOSIS_CAUSE_H
#define PLACE_VERIFY_DIAGNOSIS_CAUSE_H

#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

static inline const struct making *making_at(const struct engine *e, uint32_t id) {
    return making_of(e->history, id);
}

// The op that made the value, or one like it where a call was not evaluated for this one.
static inline const struct making *made_like(const struct engine *e, uint32_t id) {
    const struct making *making = making_at(e, id);
    return making->recalled ? making_at(e, making->recalled) : making;
}

static inline bool is_sum(const struct making *making) {
    return making->op && op_is_sum(making->op->kind);
}

static inline bool is_zero(const struct engine *e, uint32_t made) {
    return made && term_kind(e->terms, making_at(e, made)->value.of) == NODE_ZERO;
}

// difference.c
struct texts {
    const char *ours, *theirs;
};
// Of two values that are told beside one another: as deep as it takes to see that they differ.
struct texts texts_of(const struct engine *, struct scaled ours, struct scaled theirs);
struct fault *scale_fault(struct engine *, struct span, const char *what, scale_id found,
                          scale_id expected);
// What is wrong with a value that the reference does not explain, though it does explain what it is
// made of.
struct fault *diagnose_making(struct engine *, const struct making *);
// Whether the reference has an op on the same operands with other attributes.
bool differs_in_attributes(const struct engine *, struct term);
// cause.c: where the mistake is of which something else shows.
struct fault *cause_of_value(struct engine *, uint32_t made, bool *detour);
// lacking.c: what the op reads lacks something that the reference has there; NULL: nothing is known
// to be lacking.
struct fault *lacking_fault(struct engine *, const struct making *reader);
// A loop of the step that goes over nothing; NULL: there is none.
const struct statement *empty_loop(const struct block *);
// What filled with zeros what led to the value, by way of sums: `in_time`, in a loop over
// microbatches; else before anything read what was there.
const struct making *clearing(struct engine *, uint32_t made, bool in_time);
// Whether it filled something with zeros that nobody had read; then what did so first.
const struct making *clears_unread(const struct engine *, const struct making *);

#endif
