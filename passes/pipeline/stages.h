// How many layers each stage of a pipeline has where nobody says it.
#ifndef PLACE_PASSES_PIPELINE_STAGES_H
#define PLACE_PASSES_PIPELINE_STAGES_H

#include <stdint.h>

// Work of the parts of a model, in one unit, as in FLOP.
struct parts_work {
    double embedding, layer, head;
};

// The layers of each of the stages, of which the first has the embedding as well and the last the
// head: the slowest is as fast as it can be. In time linear in layers times stages.
void stages_balance(const struct parts_work *, uint32_t n_layers, uint32_t n_stages,
                    uint32_t *layers);

#endif
