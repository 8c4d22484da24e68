// The two parts of backward, where a pipeline's schedule has weights apart.
#ifndef PLACE_PASSES_PIPELINE_HALVES_H
#define PLACE_PASSES_PIPELINE_HALVES_H

#include "ir/ir.h"

enum half { OF_INPUTS, OF_WEIGHTS, N_HALVES };

// The half of each op of the unit that is called, allocated in `arena`, and how many there are of weights.
uint32_t *halves_of(struct arena *, const struct program *, const struct call *,
                    uint32_t *n_weights);

#endif
