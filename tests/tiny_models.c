// The configurations of tiny_models.h, written out: the frontend has no part in these tests.
#include "tests/tiny_models.h"

static const struct span nowhere = {.source = NO_SOURCE};

static struct model_config tiny_model(enum model_family family) {
    struct model_config model = {
        .name = "tiny",
        .family = family,
        .layers = 5,
        .hidden = 10,
        .heads = 6,
        .kv_heads = 2,
        .head_dim = 8,
        .ffn = 14,
        .vocab = 18,
        .sequence_limit = 11,
        .norm = NORM_LAYER,
        .activation = ACTIVATION_GELU_TANH,
        .position = POSITION_LEARNED,
        .biases = BIASES_ALL,
        .tied = true,
        .norm_eps = 1e-5,
        .init_std = 0.02,
        .origin.span = nowhere,
    };
    if (family == FAMILY_LLAMA) {
        model.norm = NORM_RMS;
        model.activation = ACTIVATION_SWIGLU;
        model.position = POSITION_ROPE;
        model.biases = BIASES_NONE;
        model.tied = false;
        model.rope_theta = 100;
        model.rope_scaling = (struct rope_scaling){.factor = 4,
                                                   .low_frequency_factor = 1,
                                                   .high_frequency_factor = 2,
                                                   .original_positions = 20};
    }
    return model;
}

struct config tiny_config(struct arena *arena, enum model_family family) {
    struct optimizer_rule *rule = ARENA_NEW(arena, struct optimizer_rule);
    *rule = (struct optimizer_rule){
        .optimizer = {.kind = OPTIMIZER_ADAMW,
                      .rate = {RATE_COSINE, 0.01, 0.001, 5, 50, 45},
                      .beta1 = 0.9,
                      .beta2 = 0.95,
                      .eps = 1e-8,
                      .weight_decay = 0.1},
        .selector.span = nowhere,
        .origin.span = nowhere,
    };
    return (struct config){
        .model = tiny_model(family),
        .device.origin.span = nowhere,
        .train = {.batch = 4,
                  .sequence = 7,
                  .microbatch = 4,
                  .optimizers = rule,
                  .n_optimizers = 1,
                  .clip = 1,
                  .precision = {.all = DTYPE_F64, .origin.span = nowhere},
                  .seed = 1,
                  .origin.span = nowhere},
        .strategy = {.name = "main", .name_span = nowhere},
        .total_devices = 1,
    };
}
