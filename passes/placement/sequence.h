// What the length of a sequence must be a multiple of.
#ifndef PLACE_PASSES_SEQUENCE_H
#define PLACE_PASSES_SEQUENCE_H

#include "passes/placement/placing.h"

// Into how many chunks of equal length a sequence must divide for the ring; 1: there is none.
int64_t ring_chunks(const struct placing *);
// Of what a sequence's length must be a multiple: for the ring and for all statements together.
int64_t sequence_parts(const struct placing *);
// The help's edit: the nearest such length that the model has positions for.
void propose_sequence(struct placing *, struct diagnostic *);

#endif
