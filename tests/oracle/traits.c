// See traits.h.
#include "tests/oracle/traits.h"

const char *const trait_names[N_TRAITS] = {
#define TRAIT(NAME, text) text,
#include "tests/oracle/traits.def"
#undef TRAIT
};

static const unsigned made_traits[N_STATES] = {
    [STATE_PARAMETERS] = 1u << TRAIT_MATERIALIZED | 1u << TRAIT_MADE_PARAMETERS,
    [STATE_GRADIENTS] = 1u << TRAIT_MATERIALIZED | 1u << TRAIT_MADE_GRADIENTS,
    [STATE_OPTIMIZER] = 1u << TRAIT_MATERIALIZED | 1u << TRAIT_MADE_OPTIMIZER,
};

static unsigned traits_of_mode(const struct mode_statement *mode) {
    unsigned traits = 0;
    bool activations = mode->state == STATE_ACTIVATIONS;
    if (mode->sets_residency && mode->residency == RESIDENCY_OFFLOADED)
        traits |= 1u << TRAIT_OFFLOADED;
    if (mode->sets_residency && mode->residency == RESIDENCY_MATERIALIZED)
        traits |= made_traits[mode->state];
    if (mode->sets_extent && mode->by == CUT_TENSOR)
        traits |= 1u << TRAIT_BY_TENSOR;
    if (mode->sets_extent && mode->by == CUT_DIMENSION && !activations)
        traits |= 1u << TRAIT_BY_DIMENSION;
    return traits;
}

unsigned traits_of(const struct config *config) {
    const struct train_config *train = &config->train;
    unsigned traits = 0;
    if (!precision_is_uniform(&train->precision))
        traits |= 1u << TRAIT_TYPES;
    if (train->loss_scale.initial != 0)
        traits |= 1u << TRAIT_LOSS_SCALE;
    if (train->n_optimizers > 1)
        traits |= 1u << TRAIT_OPTIMIZERS;
    for (uint32_t m = 0; m < config->strategy.n_modes; m++)
        traits |= traits_of_mode(&config->strategy.modes[m]);
    return traits;
}
