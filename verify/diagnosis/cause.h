// Between cause.c and lacking.c.
#ifndef PLACE_VERIFY_DIAGNOSIS_CAUSE_H
#define PLACE_VERIFY_DIAGNOSIS_CAUSE_H

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
