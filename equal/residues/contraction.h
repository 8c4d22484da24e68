// Products that are summed over dimensions, one dimension after the other: only factors that have it are multiplied then.
#ifndef PLACE_EQUAL_RESIDUES_CONTRACTION_H
#define PLACE_EQUAL_RESIDUES_CONTRACTION_H

#include "equal/residues/reader.h"

// Which dimensions of those that are walked through each factor has, and which are summed over; both are used up.
struct contraction {
    const struct walked *walked;
    uint64_t *has; // by factor, with room for one more
    uint32_t n;    // factors
    uint64_t folded;
};

// The steps that it takes; INT64_MAX: more than can be counted.
int64_t contraction_steps(struct contraction *, struct arena *);
// The products at all places of the dimensions that are not summed over, in row-major order. `readers`: of the factors,
// with room for one more.
void contract_factors(struct contraction *, const struct field *, struct reader *readers,
                      uint64_t *made, struct arena *);

#endif
