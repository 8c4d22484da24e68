// See tiny_strategies.h.
#include "tests/tiny_strategies.h"

#include <string.h>

#include "tests/random.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"

const char *const tiny_strategy_names[N_TINY_STRATEGIES] = {
    "ddp",
    "zero1",
    "zero2",
    "zero3",
    "hsdp",
    "hybrid",
    "fsdp_keep",
    "gather_once",
    "keep_part",
    "accumulate_whole",
    "scatter_each",
    "reduce_each",
    "layerwise",
    "zero3_tp",
    "recompute",
    "zero1_tp_sp",
    "hsdp_tp_sp",
    "zero1_cp_tp_sp",
    "zero3_ulysses",
    "zero1_ring",
    "zero3_ring_tp_sp",
    "ring_ulysses",
    "scopes",
    "zero2_tp_copies",
    "zero1_tp_vocab",
    "zero3_tp_vocab_sp",
    "tp_checkpoints",
    "layerwise_tp",
    "dropout",
    "recompute_layers",
    "gather_layers",
    "turns",
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
        (struct mesh_axis){.name = name, .size = size, .span = nowhere, .size_span = nowhere};
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
                                      .dimension_spans = ARENA_NEW(arena, struct span),
                                      .n_dimensions = 1,
                                      .axes = axes,
                                      .scope.span = nowhere,
                                      .origin.span = nowhere};
    split->dimensions[0] = dimension;
    split->dimension_spans[0] = nowhere;
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

struct mode_statement *tiny_recomputed(struct arena *arena, struct config *config,
                                       struct selector selector) {
    struct mode_statement *mode =
        tiny_mode(arena, config, STATE_ACTIVATIONS, EXTENT_REPLICATED, (struct axis_list){0});
    mode->sets_extent = false;
    mode->sets_residency = true;
    mode->residency = RESIDENCY_MATERIALIZED;
    mode->selector = selector;
    return mode;
}

static void add_zero3(struct arena *arena, struct config *config, struct axis_list axes) {
    tiny_mode(arena, config, STATE_PARAMETERS, EXTENT_GATHERED, axes);
    tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, axes);
    tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_SHARDED, axes);
}

// Limits modes to the layers from `begin` to before `end`.
static void select_layers(struct mode_statement *modes, int n, int64_t begin, int64_t end) {
    for (int i = 0; i < n; i++)
        modes[i].selector = (struct selector){.n_roles = 1,
                                              .roles = {ROLE_LAYERS},
                                              .has_slice = true,
                                              .slice_begin = begin,
                                              .slice_end = end,
                                              .slice_step = 1,
                                              .span = nowhere};
}

static void take_layers_in_pairs(struct mode_statement *mode) {
    mode->unit = UNIT_LAYERS;
    mode->unit_layers = 2;
}

static void add_modes(struct arena *arena, struct config *config, enum tiny_strategy strategy) {
    struct axis_list dp = tiny_axes(0, -1);
    switch (strategy) {
    case TINY_DDP:
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, dp);
        break;
    case TINY_ZERO1:
    case TINY_ZERO1_TP_SP:
    case TINY_ZERO1_TP_VOCAB:
    case TINY_ACCUMULATE_WHOLE:
    case TINY_LAYERWISE_TP:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        break;
    case TINY_ZERO2:
    case TINY_ZERO2_TP_COPIES:
    case TINY_SCATTER_EACH:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_SHARDED, dp);
        break;
    case TINY_ZERO3:
    case TINY_ZERO3_TP:
    case TINY_ZERO3_TP_VOCAB_SP:
    case TINY_SCOPES:
        add_zero3(arena, config, dp);
        break;
    case TINY_HSDP:
    case TINY_HSDP_TP_SP:
        add_zero3(arena, config, tiny_axes(1, -1));
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, tiny_axes(0, -1));
        break;
    case TINY_HYBRID:
        add_zero3(arena, config, tiny_axes(1, -1));
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(0, -1));
        break;
    case TINY_FSDP_KEEP:
        add_zero3(arena, config, dp);
        config->strategy.modes[0].kept_after_forward = true;
        break;
    case TINY_GATHER_ONCE:
        add_zero3(arena, config, dp);
        config->strategy.modes[0].kept_after_forward = true;
        config->strategy.modes[0].kept_after_backward = true;
        config->strategy.modes[0].unit = UNIT_TENSOR;
        break;
    case TINY_KEEP_PART:
        add_zero3(arena, config, tiny_axes(1, 0));
        config->strategy.modes[0].keeps_part = true;
        config->strategy.modes[0].kept_axes = tiny_axes(1, -1);
        break;
    case TINY_REDUCE_EACH:
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, dp)->reduce = REDUCE_EACH;
        break;
    case TINY_LAYERWISE:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        add_zero3(arena, config, dp);
        select_layers(&config->strategy.modes[1], 3, 3, 5);
        break;
    case TINY_ZERO1_CP_TP_SP:
    case TINY_ZERO1_RING:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(0, 1));
        break;
    case TINY_ZERO3_ULYSSES:
    case TINY_ZERO3_RING_TP_SP:
        add_zero3(arena, config, tiny_axes(0, 1));
        break;
    case TINY_RING_ULYSSES:
    case TINY_TP_CHECKPOINTS:
        tiny_recomputed(arena, config, (struct selector){.span = nowhere});
        break;
    case TINY_RECOMPUTE:
    case TINY_DROPOUT:
        add_zero3(arena, config, dp);
        tiny_recomputed(arena, config, (struct selector){.span = nowhere});
        break;
    case TINY_RECOMPUTE_LAYERS:
        add_zero3(arena, config, dp);
        take_layers_in_pairs(tiny_recomputed(arena, config, (struct selector){.span = nowhere}));
        break;
    case TINY_GATHER_LAYERS:
        add_zero3(arena, config, dp);
        take_layers_in_pairs(&config->strategy.modes[0]);
        break;
    case TINY_TURNS:
        tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
        add_zero3(arena, config, dp);
        select_layers(&config->strategy.modes[1], 3, 0, 5);
        for (int i = 1; i < 4; i++)
            config->strategy.modes[i].selector.slice_step = 2;
        tiny_recomputed(arena, config, config->strategy.modes[1].selector);
        break;
    case N_TINY_STRATEGIES:
        break;
    }
}

// Sequences that every axis divides, and positions for all of their tokens.
static void lengthen(struct config *config) {
    config->train.sequence = 12;
    config->model.sequence_limit = 13;
}

static struct selector some_role(enum role role) {
    return (struct selector){.n_roles = 1, .roles = {(uint8_t)role}, .span = nowhere};
}

static void scope_last(struct config *config, enum role role) {
    struct split_statement *split = &config->strategy.splits[config->strategy.n_splits - 1];
    split->scope = some_role(role);
    split->scope_depth = 1;
}

static int add_axis(struct config *config, const char *name, int64_t size) {
    tiny_axis(config, name, size);
    return (int)config->mesh.n_axes - 1;
}

static void add_tensor_axis(struct arena *arena, struct config *config, int64_t size) {
    struct axis_list tp = tiny_axes(add_axis(config, "tp", size), -1);
    tiny_split(arena, config, DIM_HEADS, tp);
    tiny_split(arena, config, DIM_KV_HEADS, tp);
    tiny_split(arena, config, DIM_FFN, tp);
}

// Embedding, head and loss on parts of the vocabulary, over the innermost axis.
static void add_vocabulary(struct arena *arena, struct config *config) {
    tiny_split(arena, config, DIM_VOCAB, tiny_axes((int)config->mesh.n_axes - 1, -1));
}

// Megatron's sequence parallelism: what the innermost axis leaves whole is stored as parts.
static void add_sequence_parallel(struct arena *arena, struct config *config) {
    struct axis_list tp = tiny_axes((int)config->mesh.n_axes - 1, -1);
    struct mode_statement *mode = tiny_mode(arena, config, STATE_ACTIVATIONS, EXTENT_SHARDED, tp);
    mode->by = CUT_DIMENSION;
    mode->by_dimension = DIM_SEQUENCE;
    lengthen(config);
}

// Activations are kept as parts along the sequence that are brought together for every use.
static void add_gathered_activations(struct arena *arena, struct config *config,
                                     struct axis_list axes) {
    struct mode_statement *mode =
        tiny_mode(arena, config, STATE_ACTIVATIONS, EXTENT_GATHERED, axes);
    mode->by = CUT_DIMENSION;
    mode->by_dimension = DIM_SEQUENCE;
    lengthen(config);
}

static void add_gathered_keys(struct arena *arena, struct config *config) {
    struct axis_list cp = tiny_axes(add_axis(config, "cp", 3), -1);
    tiny_split(arena, config, DIM_SEQUENCE, cp);
    add_gathered_activations(arena, config, cp);
    config->strategy.modes[config->strategy.n_modes - 1].selector = some_role(ROLE_KV);
}

static void add_ulysses(struct arena *arena, struct config *config) {
    struct axis_list cp = tiny_axes(add_axis(config, "cp", 2), -1);
    tiny_split(arena, config, DIM_SEQUENCE, cp);
    tiny_split(arena, config, DIM_HEADS, cp);
    scope_last(config, ROLE_CORE);
    tiny_split(arena, config, DIM_KV_HEADS, cp);
    scope_last(config, ROLE_CORE);
    lengthen(config);
}

// Keys travel: nothing is said about them.
static void add_ring(struct arena *arena, struct config *config, int64_t size) {
    tiny_split(arena, config, DIM_SEQUENCE, tiny_axes(add_axis(config, "cp", size), -1));
    lengthen(config);
}

// What travels has been exchanged for heads over the inner of two axes.
static void add_ring_ulysses(struct arena *arena, struct config *config) {
    int ring = add_axis(config, "ring", 2), ul = add_axis(config, "ul", 2);
    tiny_split(arena, config, DIM_SEQUENCE, tiny_axes(ring, ul));
    tiny_split(arena, config, DIM_HEADS, tiny_axes(ul, -1));
    scope_last(config, ROLE_CORE);
    tiny_split(arena, config, DIM_KV_HEADS, tiny_axes(ul, -1));
    scope_last(config, ROLE_CORE);
    lengthen(config);
}

static void add_scopes(struct arena *arena, struct config *config) {
    struct axis_list tp = tiny_axes(add_axis(config, "tp", 2), -1);
    tiny_split(arena, config, DIM_FFN, tp);
    scope_last(config, ROLE_MLP);
    tiny_split(arena, config, DIM_SEQUENCE, tp);
    scope_last(config, ROLE_EMBEDDING);
    lengthen(config);
}

static struct selector layer_slice(int64_t begin, int64_t end) {
    struct selector selector = some_role(ROLE_LAYERS);
    selector.has_slice = true;
    selector.slice_begin = begin;
    selector.slice_end = end;
    selector.slice_step = 1;
    return selector;
}

// Tensor parallelism in the first layers, parts of the sequence in those behind.
static void add_layerwise(struct arena *arena, struct config *config) {
    uint32_t first = config->strategy.n_splits;
    add_tensor_axis(arena, config, 2);
    for (uint32_t s = first; s < config->strategy.n_splits; s++) {
        config->strategy.splits[s].scope = layer_slice(0, 2);
        config->strategy.splits[s].scope_depth = 1;
    }
    add_sequence_parallel(arena, config);
    config->strategy.modes[config->strategy.n_modes - 1].selector = layer_slice(2, 5);
}

// Axes inside the data axes, and the splits over them.
static void add_model_axes(struct arena *arena, struct config *config,
                           enum tiny_strategy strategy) {
    switch (strategy) {
    case TINY_ZERO3_TP:
    case TINY_RECOMPUTE:
        add_tensor_axis(arena, config, 2);
        break;
    case TINY_ZERO1_CP_TP_SP:
        add_gathered_keys(arena, config);
        add_tensor_axis(arena, config, 2);
        add_sequence_parallel(arena, config);
        break;
    case TINY_ZERO1_TP_SP:
    case TINY_HSDP_TP_SP:
    case TINY_RECOMPUTE_LAYERS:
        add_tensor_axis(arena, config, 2);
        add_sequence_parallel(arena, config);
        break;
    case TINY_DROPOUT:
        config->model.dropout = 0.3;
        add_tensor_axis(arena, config, 2);
        add_sequence_parallel(arena, config);
        break;
    case TINY_ZERO1_TP_VOCAB:
        add_tensor_axis(arena, config, 2);
        add_vocabulary(arena, config);
        break;
    case TINY_LAYERWISE_TP:
        add_layerwise(arena, config);
        break;
    case TINY_TP_CHECKPOINTS:
        add_tensor_axis(arena, config, 2);
        add_gathered_activations(arena, config, tiny_axes(1, -1));
        break;
    case TINY_ZERO3_TP_VOCAB_SP:
        add_tensor_axis(arena, config, 2);
        add_vocabulary(arena, config);
        add_sequence_parallel(arena, config);
        break;
    case TINY_ZERO2_TP_COPIES:
        config->model.ffn = 42;
        add_tensor_axis(arena, config, 6);
        add_sequence_parallel(arena, config);
        break;
    case TINY_ZERO3_ULYSSES:
        add_ulysses(arena, config);
        break;
    case TINY_ZERO1_RING:
        add_ring(arena, config, 3);
        break;
    case TINY_ZERO3_RING_TP_SP:
        add_ring(arena, config, 3);
        add_tensor_axis(arena, config, 2);
        add_sequence_parallel(arena, config);
        break;
    case TINY_RING_ULYSSES:
        add_ring_ulysses(arena, config);
        break;
    case TINY_SCOPES:
        add_scopes(arena, config);
        break;
    default:
        break;
    }
}

struct config tiny_strategy_config(struct arena *arena, enum model_family family,
                                   enum tiny_strategy strategy, int64_t microbatches) {
    struct config config = tiny_config(arena, family);
    config.mesh.name = "ranks";
    if (strategy == TINY_HSDP || strategy == TINY_HYBRID || strategy == TINY_KEEP_PART ||
        strategy == TINY_HSDP_TP_SP) {
        tiny_axis(&config, "replica", 2);
        tiny_axis(&config, "shard", 3);
        tiny_split(arena, &config, DIM_BATCH, tiny_axes(0, 1));
    } else {
        bool many = strategy == TINY_ZERO1_CP_TP_SP || strategy == TINY_ZERO2_TP_COPIES ||
                    strategy == TINY_ZERO1_RING || strategy == TINY_ZERO3_RING_TP_SP;
        tiny_axis(&config, "dp", many ? 2 : 3);
        tiny_split(arena, &config, DIM_BATCH, tiny_axes(0, -1));
    }
    config.train.microbatch = 2;
    config.train.batch = 2 * (int64_t)config.total_devices * microbatches;
    add_model_axes(arena, &config, strategy);
    add_modes(arena, &config, strategy);
    factor_axes(&config, arena);
    return config;
}

// ---- random compositions -----------------------------------------------------------------------

struct choice {
    struct arena *arena;
    struct config *config;
    uint64_t random;
};

static int64_t pick(struct choice *t, int64_t n) {
    return (int64_t)(random_bits(&t->random) % (uint64_t)n);
}

static struct selector some_selector(struct choice *t) {
    static const enum role roles[] = {ROLE_NORM,      ROLE_EMBEDDING, ROLE_MLP,
                                      ROLE_ATTENTION, ROLE_QKV,       ROLE_HEAD};
    struct selector selector = {.n_roles = 1, .span = nowhere};
    selector.roles[0] = (uint8_t)roles[pick(t, 6)];
    return selector;
}

// A slice of the layers, perhaps of a part of them only.
static struct selector some_layers(struct choice *t) {
    int64_t layers = t->config->model.layers, begin = pick(t, layers);
    struct selector selector = {.n_roles = 1,
                                .roles = {ROLE_LAYERS, ROLE_MLP},
                                .has_slice = true,
                                .slice_begin = begin,
                                .slice_end = begin + 1 + pick(t, layers - begin),
                                .slice_step = pick(t, 3) ? 1 : 2,
                                .span = nowhere};
    if (pick(t, 2))
        selector.n_roles = 2;
    return selector;
}

// All activations are recomputed, or some; perhaps some of these are kept after all.
static void add_recomputed(struct choice *t) {
    static const enum role roles[] = {ROLE_NORM, ROLE_CORE, ROLE_ACTIVATION, ROLE_MLP,
                                      ROLE_ATTENTION};
    struct selector all = {.span = nowhere}, one = {.n_roles = 1, .span = nowhere};
    one.roles[0] = (uint8_t)roles[pick(t, 5)];
    bool some = pick(t, 2);
    struct mode_statement *mode = tiny_recomputed(t->arena, t->config, some ? one : all);
    if (!some && pick(t, 2)) {
        mode->unit = UNIT_LAYERS;
        mode->unit_layers = 1 + pick(t, t->config->model.layers);
    }
    if (!some && pick(t, 2))
        tiny_recomputed(t->arena, t->config, pick(t, 2) ? one : some_layers(t))->residency =
            RESIDENCY_STORED;
}

// Anything that a file can say: only parameters are gathered.
static enum extent some_extent(struct choice *t, enum state state) {
    enum extent extent = (enum extent)pick(t, 3);
    return extent == EXTENT_GATHERED && state != STATE_PARAMETERS ? EXTENT_SHARDED : extent;
}

// One of the consistent triples mostly; else anything.
static void add_triple(struct choice *t, struct axis_list axes, bool selected) {
    static const enum extent known[][3] = {
        {EXTENT_REPLICATED, EXTENT_REPLICATED, EXTENT_REPLICATED},
        {EXTENT_REPLICATED, EXTENT_SHARDED, EXTENT_REPLICATED},
        {EXTENT_REPLICATED, EXTENT_SHARDED, EXTENT_SHARDED},
        {EXTENT_GATHERED, EXTENT_SHARDED, EXTENT_SHARDED},
        {EXTENT_GATHERED, EXTENT_SHARDED, EXTENT_REPLICATED},
    };
    static const enum gather_unit units[] = {UNIT_LAYER, UNIT_LAYER, UNIT_LAYERS, UNIT_TENSOR};
    const enum extent *triple = known[pick(t, 5)];
    struct selector selector = {.span = nowhere};
    if (selected)
        selector = pick(t, 2) ? some_selector(t) : some_layers(t);
    for (int state = 0; state < 3; state++) {
        bool odd = pick(t, 20) == 0;
        enum extent extent = odd ? some_extent(t, (enum state)state) : triple[state];
        struct mode_statement *mode =
            tiny_mode(t->arena, t->config, (enum state)state, extent, axes);
        mode->selector = selector;
        mode->unit = units[pick(t, 4)];
        mode->unit_layers = 2;
        mode->prefetch = pick(t, 4);
        mode->kept_after_forward = pick(t, 3) == 0;
        mode->kept_after_backward = mode->kept_after_forward && pick(t, 2);
        mode->keeps_part = !mode->kept_after_forward && pick(t, 2);
        mode->kept_axes = (struct axis_list){.n = 1, .axes = {axes.axes[0]}};
        mode->reduce = pick(t, 2) ? REDUCE_EACH : REDUCE_LAST;
    }
}

// Axes of the model, as far as twelve devices go.
static void make_up_model_axes(struct choice *t) {
    uint64_t free = 12 / t->config->total_devices;
    if (free >= 4 && pick(t, 4) == 0)
        add_ring_ulysses(t->arena, t->config);
    else if (free >= 2 && pick(t, 3) == 0)
        add_ring(t->arena, t->config, free >= 3 && pick(t, 2) ? 3 : 2);
    else if (free >= 3 && pick(t, 3) == 0)
        add_gathered_keys(t->arena, t->config);
    else if (free >= 2 && pick(t, 3) == 0)
        add_ulysses(t->arena, t->config);
    if (12 / t->config->total_devices < 2)
        return;
    if (pick(t, 4) == 0 && t->config->mesh.n_axes == 1) {
        add_scopes(t->arena, t->config);
        return;
    }
    add_tensor_axis(t->arena, t->config, 2);
    if (pick(t, 2))
        add_vocabulary(t->arena, t->config);
    if (pick(t, 2))
        add_sequence_parallel(t->arena, t->config);
}

// One rule for all, and perhaps one that freezes some.
static void make_up_optimizer(struct choice *t) {
    struct optimizer_rule *rules = ARENA_ARRAY(t->arena, struct optimizer_rule, 2);
    struct optimizer_config *o = &rules[0].optimizer;
    rules[0] = t->config->train.optimizers[0];
    rules[1] = rules[0];
    rules[1].optimizer.kind = OPTIMIZER_NONE;
    rules[1].selector = some_selector(t);
    t->config->train.optimizers = rules;
    t->config->train.n_optimizers = pick(t, 6) ? 1 : 2;
    o->kind = pick(t, 2) ? OPTIMIZER_ADAMW : OPTIMIZER_SGD;
    o->momentum = pick(t, 2) ? 0.9 : 0;
    t->config->train.clip = pick(t, 2) ? 0.5 : 0;
}

// A range of layers is updated by another optimizer than the rest.
static void make_up_optimizer_of_layers(struct choice *t) {
    struct train_config *train = &t->config->train;
    int64_t layers = t->config->model.layers, begin = pick(t, layers);
    struct optimizer_rule *rule = &train->optimizers[1]; // in place of what would be frozen
    rule->selector = (struct selector){.n_roles = 1,
                                       .roles = {ROLE_LAYERS},
                                       .has_slice = true,
                                       .slice_begin = begin,
                                       .slice_end = begin + 1 + pick(t, layers - begin),
                                       .slice_step = 1,
                                       .span = nowhere};
    rule->optimizer = train->optimizers[0].optimizer;
    rule->optimizer.kind = pick(t, 2) ? OPTIMIZER_ADAMW : OPTIMIZER_LION;
    train->n_optimizers = 2;
}

// At least one of the axes, in any order.
static struct axis_list some_product(struct choice *t, struct axis_list axes, unsigned least) {
    for (unsigned i = axes.n; i-- > 1;) {
        unsigned k = (unsigned)pick(t, i + 1);
        uint8_t moved = axes.axes[i];
        axes.axes[i] = axes.axes[k];
        axes.axes[k] = moved;
    }
    axes.n = (uint8_t)(least + pick(t, axes.n - least + 1));
    return axes;
}

static struct axis_list without(struct axis_list axes, struct axis_list taken) {
    struct axis_list rest = {0};
    for (unsigned i = 0; i < axes.n; i++)
        if (!axis_list_has(&taken, axes.axes[i]))
            axis_list_add(&rest, axes.axes[i]);
    return rest;
}

// The data axes, outermost first in the mesh.
static struct axis_list make_up_mesh(struct choice *t) {
    static const char *const names[] = {"a", "b", "c"};
    static const int64_t sizes[][3] = {{2, 2, 3}, {3, 2, 2}, {2, 3, 2}};
    struct axis_list data = {.n = (uint8_t)(1 + pick(t, 3))};
    const int64_t *size = sizes[pick(t, 3)];
    t->config->mesh.name = "ranks";
    for (unsigned i = 0; i < data.n; i++) {
        tiny_axis(t->config, names[i], size[i]);
        data.axes[i] = (uint8_t)i;
    }
    return data;
}

static void make_up_strategy(struct choice *t) {
    enum model_family family = pick(t, 2) ? FAMILY_GPT2 : FAMILY_LLAMA;
    *t->config = tiny_config(t->arena, family);
    t->config->model.layers = 2 + pick(t, 3);
    t->config->model.tied = pick(t, 2);
    make_up_optimizer(t);
    struct axis_list data = make_up_mesh(t);
    tiny_split(t->arena, t->config, DIM_BATCH, some_product(t, data, data.n));
    t->config->train.microbatch = data.n == 3 ? 1 : 1 + pick(t, 2);
    t->config->train.batch =
        t->config->train.microbatch * (int64_t)t->config->total_devices * (1 + pick(t, 3));
    if (pick(t, 2))
        make_up_model_axes(t);
    struct axis_list first = some_product(t, data, pick(t, 2) ? data.n : 1);
    struct axis_list rest = without(data, first);
    add_triple(t, first, false);
    if (rest.n && pick(t, 2))
        add_triple(t, some_product(t, rest, 1), false);
    if (pick(t, 2))
        add_triple(t, some_product(t, data, 1), true);
    if (pick(t, 3) == 0)
        add_recomputed(t);
    unsigned innermost = t->config->mesh.n_axes - 1;
    if (innermost >= data.n && pick(t, 2)) // of the model
        add_triple(t, tiny_axes((int)innermost, -1), false);
    t->config->model.fused_qkv = pick(t, 2);
    t->config->model.fused_gate_up = family == FAMILY_LLAMA && pick(t, 2);
    if (pick(t, 5) == 0)
        make_up_optimizer_of_layers(t);
}

struct config random_strategy_config(struct arena *arena, uint64_t seed) {
    struct config config;
    make_up_strategy(&(struct choice){arena, &config, 1000 + seed});
    factor_axes(&config, arena);
    return config;
}

// ---- where training is reproducible -------------------------------------------------------------

static enum dimension some_dimension(struct choice *t) {
    static const enum dimension dimensions[] = {DIM_SEQUENCE, DIM_HEADS, DIM_KV_HEADS, DIM_FFN,
                                                DIM_VOCAB};
    return dimensions[pick(t, 5)];
}

// Axes of powers of two, mostly, and sizes of which some are of more blocks than axes have devices.
static void straighten(struct choice *t) {
    static const int64_t columns[] = {48, 44, 66}, tokens[] = {16, 24, 12};
    struct config *config = t->config;
    int64_t devices = 1;
    for (unsigned i = 0; i < config->mesh.n_axes; i++) {
        if (config->mesh.axes[i].size == 3 && pick(t, 20))
            config->mesh.axes[i].size = pick(t, 2) ? 4 : 2;
        devices *= config->mesh.axes[i].size;
    }
    config->total_devices = (uint64_t)devices;
    config->model.heads = 8;
    config->model.kv_heads = INT64_C(1) << pick(t, 4);
    config->model.ffn = columns[pick(t, 3)];
    config->model.vocab = columns[pick(t, 3)];
    config->train.sequence = tokens[pick(t, 3)];
    config->model.sequence_limit = config->train.sequence;
    config->train.batch = config->train.microbatch * devices << pick(t, 3);
}

// One more split of a part of the model, over an axis or two of any kind.
static void split_somewhere(struct choice *t) {
    static const enum role roles[] = {ROLE_HEAD, ROLE_EMBEDDING, ROLE_MLP, ROLE_ATTENTION,
                                      ROLE_CORE};
    struct axis_list all = {0};
    for (unsigned i = 0; i < t->config->mesh.n_axes; i++)
        axis_list_add(&all, i);
    struct axis_list axes = some_product(t, all, 1);
    axes.n = axes.n > 2 ? 2 : axes.n;
    bool vocabulary = pick(t, 2);
    tiny_split(t->arena, t->config, vocabulary ? DIM_VOCAB : some_dimension(t), axes);
    scope_last(t->config, vocabulary ? ROLE_HEAD : roles[pick(t, 5)]);
}

struct config random_reproducible_config(struct arena *arena, uint64_t seed) {
    struct config config;
    struct choice choice = {arena, &config, 5000000 + seed}, *t = &choice;
    make_up_strategy(t);
    straighten(t);
    if (pick(t, 3) == 0)
        split_somewhere(t);
    config.train.reproducible = INT64_C(1) << pick(t, 6);
    config.train.reproducible_of = 1u << DIM_BATCH;
    for (int i = 0; i < 12; i++)
        config.train.reproducible_of |= 1u << some_dimension(t);
    config.train.reproducible_origin.span = nowhere;
    factor_axes(&config, arena);
    return config;
}
