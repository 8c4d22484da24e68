// Says what is wrong, or not proved: E920, E921.
#ifndef PLACE_EQUAL_DIAGNOSIS_REPORT_H
#define PLACE_EQUAL_DIAGNOSIS_REPORT_H

#include "equal/diagnosis/cause.h"
#include "equal/diagnosis/witness.h"

void report_unproved(const struct finding *, const struct pairing *, const struct unproved *,
                     const struct cause *, const struct witness *, struct diagnostics *);

#endif
