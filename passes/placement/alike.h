// Whether states are stored alike.
#ifndef PLACE_PASSES_ALIKE_H
#define PLACE_PASSES_ALIKE_H

#include "ir/placement.h"

// Whether a state is kept over an axis as one, of other tensors say, over another: its extent, and
// when gradients are summed.
bool stored_alike(const struct storage *a, unsigned axis, const struct storage *b, unsigned other,
                  enum state state);
// Whether two statements say the same of where a state lives: in one tier, and made again or copied in the
// same groups of layers.
bool live_alike(const struct mode_statement *, const struct mode_statement *);
// Whether all states are, over all axes and with all options.
bool storage_equal(const struct storage *a, const struct storage *b);

#endif
