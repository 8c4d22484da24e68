// Numbers that show a difference: both programs executed on the same inputs.
#ifndef PLACE_EQUAL_DIAGNOSIS_WITNESS_H
#define PLACE_EQUAL_DIAGNOSIS_WITNESS_H

#include "equal/interpreter/compare.h"
#include "equal/layout/assumptions.h"

enum witness_kind { WITNESS_NONE, WITNESS_SAME, WITNESS_DIFFERENT };
struct witness {
    enum witness_kind kind;
    struct difference difference; // WITNESS_DIFFERENT: where it is greatest
    const double *relative;       // by result; NULL: they were not executed
    bool infinities;              // a program writes a number that is infinite, or none
    const char *why;              // WITNESS_NONE: why they cannot be executed
};

// A difference below this is one of rounding.
#define LEAST_DIFFERENCE 1e-6

// `observers`: of the last execution of the one and the many.
struct witness find_witness(const struct pairing *, const struct graph *one,
                            const struct graph *many, const struct assumptions *,
                            struct observer *const *observers, struct arena *);

#endif
