// A loss by the parts that it is made of; see loss_parts.c.
#ifndef PLACE_PASSES_LOSS_PARTS_H
#define PLACE_PASSES_LOSS_PARTS_H

#include "ir/ir.h"

// Whether a loss, an op of the unit, is wanted by parts.
typedef bool (*loss_chooser)(const void *chooser, const struct unit *, const struct op *);

// The unit with such losses by parts, made anew; itself, where there are none.
const struct unit *unit_by_loss_parts(struct program *, const struct unit *, loss_chooser,
                                      const void *chooser);

#endif
