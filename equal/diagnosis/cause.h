// Where a program of many devices goes wrong: the first value, on the way to a result that is not proved, that is none
// of the one device's and that nothing behind it would heal.
#ifndef PLACE_EQUAL_DIAGNOSIS_CAUSE_H
#define PLACE_EQUAL_DIAGNOSIS_CAUSE_H

#include "equal/layout/layout.h"
#include "equal/meaning/meaning.h"

enum cause_kind {
    CAUSE_NONE,    // none was found
    CAUSE_SUMMAND, // an operand is a summand over axes, and is read as if it were the sum
    CAUSE_PART,    // the same of the largest of parts
    CAUSE_FACTOR,  // a result is the right one times a number
    CAUSE_UNREAD,  // what has no rule
    CAUSE_OTHER,   // operands are known, the result is not
    CAUSE_RESULT,  // a result is known, but is another one
};

struct cause {
    enum cause_kind kind;
    const struct instruction *at;      // of the many
    const struct instruction *operand; // CAUSE_SUMMAND, CAUSE_PART: what makes it
    uint64_t axes;                     // of the mesh
    int64_t numerator, denominator;    // CAUSE_FACTOR
    const char *why;                   // CAUSE_UNREAD
};

// What a finding needs of both programs, which have been read.
struct finding {
    struct calculus *c;
    const struct device_mesh *mesh;
    struct reading *one, *many;
    uint32_t n_known; // terms that there were when the one had been read
};

// The cause for a result of the many that should be `expected` (over the same coordinates as `found`).
struct cause find_cause(const struct finding *, uint32_t result, struct viewed expected,
                        struct viewed found, const struct coordinates *);

#endif
