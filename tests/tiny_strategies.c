// See tiny_strategies.h.
#include "tests/tiny_strategies.h"

#include <string.h>

#include "tests/tiny_models.h"

const char *const tiny_strategy_names[N_TINY_STRATEGIES] = {
    "ddp",          "zero1",       "zero2",    "zero3", "hsdp", "fsdp_keep", "accumulate_whole",
    "scatter_each", "reduce_each", "zero3_tp",
};

static const struct span nowhere = {.source = NO_SOURCE};

struct axis_list tiny_axes(int first, int second) {
    struct axis_list axes = {0};
    if (first >= 0)
        axes.axes[axes.n++] = (uint8_t)first;
    if (second >= 0)
        axes.axes[axes.n++] = (uint8_t)second;
    return axes;
}

void tiny_axis(struct config *config, const char *name, int64_t size) {
    config->mesh.axes[config->mesh.n_axes++] =
        (struct mesh_axis){.name = name, .size = size, .span = nowhere};
    config->total_devices *= (uint64_t)size;
}

struct split_statement *tiny_split(struct arena *arena, struct config *config,
                                   enum dimension dimension, struct axis_list axes) {
    struct strategy_config *strategy = &config->strategy;
    strategy->splits =
        arena_grow(arena, strategy->splits, strategy->n_splits * sizeof *strategy->splits,
                   (strategy->n_splits + 1) * sizeof *strategy->splits);
    struct split_statement *split = &strategy->splits[strategy->n_splits++];
    *split = (struct split_statement){.dimensions = ARENA_NEW(arena, enum dimension),
                                      .n_dimensions = 1,
                                      .axes = axes,
                                      .scope.span = nowhere,
                                      .origin.span = nowhere};
    split->dimensions[0] = dimension;
    return split;
}

struct mode_statement *tiny_mode(struct arena *arena, struct config *config, enum state state,
                                 enum extent extent, struct axis_list axes) {
    struct strategy_config *strategy = &config->strategy;
    strategy->modes =
        arena_grow(arena, strategy->modes, strategy->n_modes * sizeof *strategy->modes,
                   (strategy->n_modes + 1) * sizeof *strategy->modes);
    struct mode_statement *mode = &strategy->modes[strategy->n_modes++];
    *mode = (struct mode_statement){.state = state,
                                    .selector.span = nowhere,
                                    .axes = axes,
                                    .sets_extent = true,
                                    .extent = extent,
                                    .own_text = true,
                                    .unit = UNIT_LAYER,
                                    .prefetch = 1,
                                    .reduce = REDUCE_DEFAULT,
                                    .bucket_bytes = 25 << 20,
                                    .origin.span = nowhere};
    return mode;
}

static void add_zero3(struct arena *arena, struct config *config, struct axis_list axes) {
    tiny_mode(arena, config, STATE_PARAMETERS, EXTENT_GATHERED, axes);
    tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, axes);
    tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_SHARDED, axes);
}

static void add_modes(struct arena *arena, struct config *config, enum tiny_strategy strategy) {
    struct axis_list dp = tiny_axes(0, -1);
    switch (strategy) {
    case TINY_DDP:
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, dp);
        break;
    case TINY_ZERO1:
    case TINY_ACCUMULATE_WHOLE:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        break;
    case TINY_ZERO2:
    case TINY_SCATTER_EACH:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_SHARDED, dp);
        break;
    case TINY_ZERO3:
    case TINY_ZERO3_TP:
        add_zero3(arena, config, dp);
        break;
    case TINY_HSDP:
        add_zero3(arena, config, tiny_axes(1, -1));
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, tiny_axes(0, -1));
        break;
    case TINY_FSDP_KEEP:
        add_zero3(arena, config, dp);
        config->strategy.modes[0].kept_after_forward = true;
        break;
    case TINY_REDUCE_EACH:
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, dp)->reduce = REDUCE_EACH;
        break;
    case N_TINY_STRATEGIES:
        break;
    }
}

struct config tiny_strategy_config(struct arena *arena, enum model_family family,
                                   enum tiny_strategy strategy, int64_t microbatches) {
    struct config config = tiny_config(arena, family);
    config.mesh.name = "ranks";
    if (strategy == TINY_HSDP) {
        tiny_axis(&config, "replica", 2);
        tiny_axis(&config, "shard", 3);
        tiny_split(arena, &config, DIM_BATCH, tiny_axes(0, 1));
    } else {
        tiny_axis(&config, "dp", 3);
        tiny_split(arena, &config, DIM_BATCH, tiny_axes(0, -1));
    }
    config.train.microbatch = 2;
    config.train.batch = 2 * (int64_t)config.total_devices * microbatches;
    if (strategy == TINY_ZERO3_TP) {
        tiny_axis(&config, "tp", 2);
        tiny_split(arena, &config, DIM_HEADS, tiny_axes(1, -1));
        tiny_split(arena, &config, DIM_KV_HEADS, tiny_axes(1, -1));
        tiny_split(arena, &config, DIM_FFN, tiny_axes(1, -1));
    }
    add_modes(arena, &config, strategy);
    return config;
}
