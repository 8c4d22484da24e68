// Values that forward units leave behind for backward ones.
#ifndef PLACE_PASSES_SAVED_H
#define PLACE_PASSES_SAVED_H

#include "ir/ir.h"
#include "ir/placement.h"

// Makes a value of the unit that `call` calls a result of it, at every call of the unit in both
// steps, left in a new buffer `saved.NAME` of class activations: one item for each of the layers
// over which the call goes (NULL: it stands in no loop). Returns where it is after the call.
struct reference save_value(struct program *, const struct call *call, value_id value,
                            const struct layer_range *layers);

#endif
