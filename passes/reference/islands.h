// Islands: where `relax` lets devices take steps of their own. A group of devices
// that differ along no relaxed axis is one island: it trains on its own part of every batch as one
// device would with that part as its batch, and now and then the islands' parameters are averaged.
//
// So the reference program is that of one island, and its devices see the relaxed axes as axes over
// which everything is a copy; only the batch that the host deals out, and the step that averages,
// know that there are several.
#ifndef PLACE_PASSES_ISLANDS_H
#define PLACE_PASSES_ISLANDS_H

#include "ir/config.h"

// The axes between islands, of more than one device, in the order of the mesh: those over which
// some gradient is never reduced.
struct axis_list islands_of(const struct config *);
// Sequences of a step on one island. Where the batch does not divide, rounded down: `place` tells.
int64_t island_batch(const struct config *);
// How many steps an island takes before parameters are averaged; 0: they never are.
int64_t steps_between_averages(const struct config *);

#endif
