// What statements make alive and free (see effects.c).
#ifndef PLACE_BACKEND_EFFECTS_H
#define PLACE_BACKEND_EFFECTS_H

#include "ir/ir.h"
#include "runtime/place.h"

void describe_effects(struct arena *, const struct program *, struct place_part *out);

#endif
