// Values that forward units leave behind for backward ones.
#ifndef PLACE_PASSES_SAVED_H
#define PLACE_PASSES_SAVED_H

#include "ir/ir.h"

// Makes a value of the unit that `call` calls a result of it, at every call of the unit in both
// steps, left in a new buffer `saved.NAME` of class activations: one item for each iteration of
// `loop`, the loop around the call (NULL: there is none). Returns where it is after the call.
struct reference save_value(struct program *, const struct call *call, value_id value,
                            const struct loop *loop);

#endif
