// Islands (see islands.h), as far as the statements say.
#include "passes/reference/islands.h"

// `replicated` without axes is said of all of them.
static bool names(const struct mode_statement *mode, unsigned axis) {
    return mode->axes.n == 0 || axis_list_has(&mode->axes, axis);
}

struct axis_list islands_of(const struct config *config) {
    const struct strategy_config *strategy = &config->strategy;
    struct axis_list islands = {0};
    for (unsigned axis = 0; axis < config->mesh.n_axes; axis++)
        for (uint32_t m = 0; m < strategy->n_modes; m++)
            if (config->mesh.axes[axis].size > 1 && names(&strategy->modes[m], axis) &&
                strategy->modes[m].reduce == REDUCE_NEVER)
                axis_list_add(&islands, axis);
    return islands;
}

int64_t island_batch(const struct config *config) {
    struct axis_list islands = islands_of(config);
    return config->train.batch / mesh_group_size(&config->mesh, &islands);
}

int64_t steps_between_averages(const struct config *config) {
    const struct strategy_config *strategy = &config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].average_every)
            return strategy->modes[m].average_every;
    return 0;
}
