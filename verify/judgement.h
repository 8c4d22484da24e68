// What is known of a value, and why nothing is.
#ifndef PLACE_VERIFY_JUDGEMENT_H
#define PLACE_VERIFY_JUDGEMENT_H

#include "ir/diagnostic.h"
#include "ir/ir.h"
#include "verify/digits.h"
#include "verify/term.h"

// Why a value has no meaning. It is not reported where it arises but when the value matters: dead
// wrong code is no error, and of all that is wrong the first cause is told.
struct fault {
    enum diagnostic_code code;
    struct span span;
    const char *message;
    const char *said;  // beside the carets; NULL: nothing
    struct span other; // a second place, where `other_said` is not NULL
    const char *other_said;
    const char *effect; // what it spoils, where the message does not say
    const char *when;   // the loops' variables, where they are not the first; NULL: nothing to say
    bool has_terms;     // the two that differ, and of what:
    const char *what;
    struct scaled found, expected;
    const struct op
        *reader; // an op that reads a part of a sum: its operands, of which `share` is it
    const struct scaled *operands;
    unsigned share;
    uint32_t order; // of creation: the smallest is the first cause
};

// What a device-local value is (VERIFIER.md 1.1). With the coordinates on the axes that own digits
// fixed, the sum over the axes of `partial` is scale * the slice of the term that the form says.
struct judgement {
    const struct fault *fault; // NULL, or nothing else has a meaning
    struct scaled value;
    form_id form;
    int32_t microbatch; // coordinate of the digit that time owns; 0 without one
    uint32_t partial;   // axes on which it is a summand
    uint32_t bits;      // axes on which copies are equal to the bit; set where there are no copies
    uint8_t dtype;
    bool clean; // bytes behind or between its elements that are padding are zeros
};

#endif
