// Cutting a reference program where its layers are placed differently.
#ifndef PLACE_PASSES_RANGES_H
#define PLACE_PASSES_RANGES_H

#include "ir/ir.h"
#include "ir/placement.h"

// Makes of every loop over layers one loop for each range, and of every buffer whose items belong
// to one layer each one buffer for each range. Nothing, if there is one range only.
void cut_layers(struct program *reference, const struct placement *placement);

#endif
