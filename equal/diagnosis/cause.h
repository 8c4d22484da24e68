// Where a program of many devices goes wrong: the first value, on the way to results that are wrong, that is none of the
// one device's and that nothing behind it would heal.
#ifndef PLACE_EQUAL_DIAGNOSIS_CAUSE_H
#define PLACE_EQUAL_DIAGNOSIS_CAUSE_H

#include "equal/diagnosis/reference.h"
#include "equal/diagnosis/terms.h"

enum cause_kind {
    CAUSE_NONE,    // none was found
    CAUSE_SUMMAND, // an operand is a summand over axes, and is read as if it were the sum
    CAUSE_PART,    // the same of the largest of parts
    CAUSE_FACTOR,  // a value is the right one times a number
    CAUSE_UNREAD,  // what has no rule
    CAUSE_OTHER,   // operands are known, the result is not
    CAUSE_MOVED,   // elements are put, or taken from, where one device has others
    CAUSE_READ,    // an operand is another value than one device reads there
    CAUSE_RESULT,  // a result is known, but is another one
};

struct cause {
    enum cause_kind kind;
    uint32_t result;                   // on the way to which it lies
    const struct instruction *at;      // of the many
    const struct instruction *operand; // CAUSE_SUMMAND, CAUSE_PART, CAUSE_READ: what makes it
    const struct instruction
        *expected; // of the one device: what makes the value that should be; NULL: not known
    uint64_t axes; // of the mesh
    int64_t numerator, denominator; // CAUSE_FACTOR
    const char *why;                // CAUSE_UNREAD
};

// What a finding needs of both programs, which have been read.
struct finding {
    const struct terms_known *terms;
    const struct numbers *numbers; // NULL: none, or they show no difference
    const struct trace *many;
};

// A result that is not proved: what it should be and what it is, over the same coordinates.
struct unproved {
    uint32_t result;
    struct viewed expected, found;
    struct coordinates all;
    uint32_t n_unproved;  // of all results
    bool is_contradicted; // it was proved; executed, it differs
};

// The cause of what is wrong: of the result that is not proved or, where numbers are known, of all those that differ by
// more than rounding (`relative`, by result).
struct cause find_cause(const struct finding *, const struct unproved *, const double *relative,
                        uint32_t n_results, struct arena *);

#endif
