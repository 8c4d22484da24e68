// Says what is wrong, or not proved: E920, E921.
#ifndef PLACE_EQUAL_DIAGNOSIS_REPORT_H
#define PLACE_EQUAL_DIAGNOSIS_REPORT_H

#include "equal/diagnosis/cause.h"
#include "equal/diagnosis/witness.h"

struct unproved { // a result
    uint32_t result;
    struct viewed expected, found;
    struct coordinates all;
    uint32_t n_unproved; // of all results
};

void report_unproved(const struct finding *, const struct pairing *, const struct unproved *,
                     const struct cause *, const struct witness *, struct diagnostics *);

#endif
