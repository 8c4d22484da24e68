// Whether tensors are stored alike.
#ifndef PLACE_PASSES_ALIKE_H
#define PLACE_PASSES_ALIKE_H

#include "ir/placement.h"

// Whether a state is kept over an axis as one, of another tensor say, over another: its extent, and
// when gradients are summed.
bool stored_alike(const struct placed_tensor *a, unsigned axis, const struct placed_tensor *b,
                  unsigned other, enum state state);
// Whether two tensors are, in all states, over all axes and with all options.
bool placed_alike(const struct placed_tensor *a, const struct placed_tensor *b);

#endif
