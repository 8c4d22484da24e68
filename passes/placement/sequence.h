// What the length of a sequence must be a multiple of.
#ifndef PLACE_PASSES_SEQUENCE_H
#define PLACE_PASSES_SEQUENCE_H

#include "passes/placement/placing.h"

// How many chunks of equal length a sequence must divide into for the ring; 1: there is none.
int64_t ring_chunks(const struct placing *);
// What a sequence's length must be a multiple of, for the ring and for all statements together.
int64_t sequence_parts(const struct placing *);
// The help's edit: the nearest such length that the model has positions for.
void propose_sequence(struct placing *, struct diagnostic *);

#endif
