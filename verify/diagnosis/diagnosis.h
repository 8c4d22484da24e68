// Why a program is refused, as those who judge it ask for it.
#ifndef PLACE_VERIFY_DIAGNOSIS_DIAGNOSIS_H
#define PLACE_VERIFY_DIAGNOSIS_DIAGNOSIS_H

#include "verify/proof/proof.h"

// diagnose.c: why what was found is not what is expected; NULL if it is.
struct expectation {
    struct scaled value;
    const char *what; // "parameter `block.q.weight` of layer 3"
    struct span span; // of the buffer
};
const struct fault *diagnose(struct proof *, const struct expectation *,
                             const struct judgement *found);

// cause.c: the fault as it is told: where its cause is, if that is known.
const struct fault *cause_tell(struct proof *, const struct fault *);

// witness.c: a value as one device computes it from random numbers on tiny tensors. False: there is
// none.
struct array;
bool witness_value(struct world *, const struct program *reference, uint64_t seed, struct scaled,
                   struct array *value);
// A witness serves one refusal: what has been computed for one value serves the next.
struct witness;
struct witness *witness_new(struct world *, const struct program *reference);
// A difference between the two in numbers, in words; NULL: none was found.
const char *witness_difference(struct witness *, struct scaled found, struct scaled expected);

// The same of what an op makes of a whole sum and of one device's part of it.
const char *witness_share(struct world *, const struct program *reference, const struct fault *);

#endif
