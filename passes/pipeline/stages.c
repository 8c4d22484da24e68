// Stages that are as even as layers allow. All layers are alike, so it is best to give one after
// the other to the stage that has least work then: were any of them elsewhere, that stage would not
// have less. Where several have least the last one takes it, since it holds the fewest microbatches.
#include "passes/pipeline/stages.h"

void stages_balance(const struct parts_work *work, uint32_t n_layers, uint32_t n_stages,
                    uint32_t *layers) {
    for (uint32_t stage = 0; stage < n_stages; stage++)
        layers[stage] = 0;
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        uint32_t best = 0;
        double least = 0;
        for (uint32_t stage = 0; stage < n_stages; stage++) {
            double load = layers[stage] * work->layer + (stage == 0 ? work->embedding : 0) +
                          (stage + 1 == n_stages ? work->head : 0);
            if (stage == 0 || load <= least) {
                least = load;
                best = stage;
            }
        }
        layers[best]++;
    }
}
