// See compose.h: models, meshes and training; the strategies are compose_strategy.c's.
#include "tests/oracle/compose.h"

#include <stdlib.h>
#include <string.h>

#include "tests/oracle/compose_parts.h"
#include "tests/random.h"

const struct dims full_dims = {.layers = 8,
                               .hidden = 20,
                               .heads = 6,
                               .kv_heads = 3,
                               .head_dim = 4,
                               .ffn = 42,
                               .vocab = 66,
                               .sequence = 36,
                               .sequence_limit = 38,
                               .max_batch = 40,
                               .max_microbatches = 5,
                               .max_devices = 12};
const struct dims small_dims = {.layers = 3,
                                .hidden = 11,
                                .heads = 6,
                                .kv_heads = 3,
                                .head_dim = 4,
                                .ffn = 30,
                                .vocab = 42,
                                .sequence = 12,
                                .sequence_limit = 13,
                                .max_batch = 24,
                                .max_microbatches = 3,
                                .max_devices = 6};

const struct dims small_pipeline_dims = {.layers = 5,
                                         .hidden = 11,
                                         .heads = 6,
                                         .kv_heads = 3,
                                         .head_dim = 4,
                                         .ffn = 30,
                                         .vocab = 42,
                                         .sequence = 12,
                                         .sequence_limit = 13,
                                         .max_batch = 24,
                                         .max_microbatches = 4,
                                         .max_devices = 6};

int64_t pick(struct composer *c, int64_t n) {
    return (int64_t)(random_bits(&c->random) % (uint64_t)n);
}

bool chance(struct composer *c, int per_thousand) {
    return pick(c, 1000) < per_thousand;
}

// ---- model ------------------------------------------------------------------------------------

static void write_model(struct composer *c) {
    static const char *const some_biases[] = {"qkv", "attention", "mlp"};
    const struct dims *d = c->dims;
    bool llama = chance(c, 500), shares_heads = llama && chance(c, 700);
    fprintf(
        c->to,
        "model tiny : %s {\n  layers = %d  hidden = %d  heads = %d  kv_heads = %d  head_dim = %d\n"
        "  ffn = %d  vocab = %d  sequence_limit = %d  tied = %s",
        llama ? "llama" : "gpt2", (int)d->layers, (int)d->hidden, (int)d->heads,
        (int)(shares_heads ? d->kv_heads : d->heads), (int)d->head_dim, (int)d->ffn, (int)d->vocab,
        (int)d->sequence_limit, chance(c, 500) ? "true" : "false");
    if (chance(c, 200))
        fprintf(c->to, "  norm = %s", llama ? "layernorm" : "rmsnorm");
    bool other_activation = chance(c, 200);
    if (other_activation)
        fprintf(c->to, "  activation = %s", llama ? "gelu" : "swiglu");
    if (llama)
        fprintf(c->to, "  rope_theta = 100");
    uint64_t aside = c->random; // so that the rest of a composition is what it is without
    if (random_bits(&aside) % 1000 < 400)
        fprintf(c->to, "  dropout = 0.2");
    if (random_bits(&aside) % 1000 < 400)
        fprintf(c->to, "  fused_qkv = true");
    if (random_bits(&aside) % 1000 < 400 && llama != other_activation)
        fprintf(c->to, "  fused_gate_up = true");
    if (random_bits(&aside) % 1000 < 300)
        fprintf(c->to, "  qk_norm = true");
    if (random_bits(&aside) % 1000 < 300)
        fprintf(c->to, "  biases = %s", some_biases[random_bits(&aside) % 3]);
    fprintf(c->to, "\n}\n");
}

// ---- mesh -------------------------------------------------------------------------------------

static void add_axis(struct composer *c, int64_t size, enum axis_use use) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    c->axes[c->n_axes] = (struct composed_axis){names[c->n_axes], size, use};
    c->n_axes++;
}

// The data axes' sizes multiply to what the family's batch is made for: factors of 2 and 3 in any
// order, sometimes two of them as one axis.
static void add_data_axes(struct composer *c, int64_t devices) {
    while (devices > 1) {
        int64_t size = devices % 2 == 0 && (devices % 3 || chance(c, 500)) ? 2 : 3;
        if (devices % (size * 2) == 0 && chance(c, 200))
            size *= 2;
        add_axis(c, size, AXIS_DATA);
        devices /= size;
    }
}

// Up to two axes of a use, as far as there is room for more devices; returns what is left of it.
static int64_t add_axes(struct composer *c, int64_t room, enum axis_use use, int per_thousand) {
    int64_t size = room >= 3 && chance(c, 650) ? 3 : 2;
    if (room < 2 || !chance(c, per_thousand))
        return room;
    add_axis(c, size, use);
    room /= size;
    if (room < 2 || !chance(c, 150))
        return room;
    add_axis(c, 2, use);
    return room / 2;
}

static void shuffle_axes(struct composer *c) {
    for (unsigned i = c->n_axes; i > 1; i--) {
        unsigned k = (unsigned)pick(c, i);
        struct composed_axis moved = c->axes[i - 1];
        c->axes[i - 1] = c->axes[k];
        c->axes[k] = moved;
    }
}

const char *axes_of(struct composer *c, unsigned uses) {
    const char *text = NULL;
    for (unsigned i = 0; i < c->n_axes; i++)
        if (c->axes[i].use & uses)
            text =
                text ? arena_format(c->arena, "%s * %s", text, c->axes[i].name) : c->axes[i].name;
    return text;
}

const char *one_axis_of(struct composer *c, unsigned uses) {
    const char *names[6];
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_axes; i++)
        if (c->axes[i].use & uses)
            names[n++] = c->axes[i].name;
    return n ? names[pick(c, n)] : NULL;
}

static void write_mesh(struct composer *c) {
    fprintf(c->to, "\ndevice core { memory = 1 GiB  compute = 100 GFLOP/s  bandwidth = 20 GB/s }\n"
                   "mesh ranks of core {\n");
    for (unsigned i = 0; i < c->n_axes; i++)
        fprintf(c->to, "  %s = %d  link(10 GB/s, 1 us)\n", c->axes[i].name, (int)c->axes[i].size);
    fprintf(c->to, "}\n");
}

// ---- training ---------------------------------------------------------------------------------

// Some layers have an optimizer of their own, or their matrices have Muon, or rows and columns. It is drawn apart, so that files
// that have none are what they would be without it.
static void write_optimizer_of_layers(struct composer *c) {
    const uint64_t random = c->random;
    static const char *const optimizers[] = {"sgd(momentum = 0.9)", "sgd(momentum = 0)",
                                             "adamw(eps = 1e-2, weight_decay = 0.2)", "muon()",
                                             "adafactor(d = 1.5, weight_decay = 0.1)"};
    c->random ^= UINT64_C(0x9e3779b97f4a7c15);
    int64_t begin = pick(c, c->dims->layers - 1);
    if (chance(c, 120))
        fprintf(c->to, "  optimizer.layers[%d:%d]%s = %s\n", (int)begin,
                (int)(begin + 1 + pick(c, c->dims->layers - begin)), chance(c, 300) ? ".norm" : "",
                optimizers[pick(c, 5)]);
    c->random = random;
}

// Rates that are still warming up, so that every step has its own. A gradient twice too large must
// show: SGD without a clip, AdamW with a large eps, and the clip in runs of its own.
// (A biting clip hides it altogether, and AdamW with a small eps nearly.)
static void write_optimizer(struct composer *c) {
    static const char rate[] = "lr = cosine(0.05, warmup = 4, steps = 12)";
    int64_t which = pick(c, 6);
    c->keeps_nothing = which == 2 && !c->has_master;
    c->takes_at_once &= which != 3;
    switch (which) {
    case 0:
        fprintf(c->to, "  optimizer = sgd(%s, momentum = 0.9)\n", rate);
        break;
    case 1:
        fprintf(c->to, "  optimizer = sgd(%s, momentum = 0.8, nesterov = true)\n", rate);
        break;
    case 2:
        fprintf(c->to, "  optimizer = sgd(%s)\n", rate);
        break;
    case 3:
        fprintf(c->to, "  optimizer = adamw(%s, eps = 1e-2)\n  clip = 0.01\n", rate);
        break;
    case 4: // the steps of Lion have the same length whatever the gradient's
        fprintf(c->to, "  optimizer = adam(%s, eps = 1e-2, weight_decay = 0.1)\n", rate);
        fprintf(c->to, "  optimizer.mlp = lion(weight_decay = 0.1)\n");
        break;
    default:
        fprintf(c->to, "  optimizer = adamw(%s, eps = 1e-2, weight_decay = 0.1)\n", rate);
        // Vectors have none in any case.
        fprintf(c->to, "  optimizer.mlp = adamw(weight_decay = 0)\n");
    }
    write_optimizer_of_layers(c);
    if (chance(c, 80))
        fprintf(c->to, "  optimizer.%s = none\n", chance(c, 500) ? "embedding" : "attention");
}

// One that stays, or one that every step changes.
static void write_loss_scale(struct composer *c) {
    bool scales = chance(c, 250);
    c->takes_at_once &= !scales;
    if (scales)
        fprintf(c->to, "  loss_scale = %s\n",
                chance(c, 500) ? "96" : "dynamic(initial = 96, interval = 3)");
}

// Where fp32 stands for a narrow type and fp64 for a wide one, a mistake shows far above rounding, as
// it would not in types of 16 bits.
static void write_precision(struct composer *c) {
    static const struct {
        const char *types;
        bool has_master;
        bool may_widen; // compute, or what is kept, in some layers
    } mixed[] = {
        {"parameters = fp32  master = fp64", true, true},
        {"parameters = fp32  master = fp64  moments = fp64  gradients = fp64  compute = fp64", true,
         false},
        {"parameters = fp32  master = fp64  reduce = fp64", true, true},
        {"master = fp64  moments = fp64  compute.norm = fp64", true, true},
        {"parameters = fp64  gather = fp32  compute = fp32", false, false},
        {"parameters = fp64  moments = fp32  gradients = fp64  compute = fp64", false, false},
        {"parameters = fp64  gradients = fp32  reduce = fp64", false, true},
        {"activations = fp64", false, true},
        {"moments = fp64", false, true},
    };
    uint64_t aside = c->random; // so that the rest of a composition is what it is without
    bool uniform = random_bits(&aside) % 1000 < 500;
    size_t which = random_bits(&aside) % (sizeof mixed / sizeof *mixed);
    c->has_master = !uniform && mixed[which].has_master;
    int64_t begin = (int64_t)(random_bits(&aside) % (uint64_t)c->dims->layers);
    bool widens = random_bits(&aside) % 1000 < 400;
    static const char *const widened[] = {"compute", "compute", "parameters", "moments"};
    const char *use = widened[random_bits(&aside) % (sizeof widened / sizeof *widened)];
    if (uniform)
        fprintf(c->to, "  precision = fp64\n");
    else
        fprintf(c->to, "  precision { %s }\n", mixed[which].types);
    if (!uniform && mixed[which].may_widen && widens)
        fprintf(c->to, "  precision.%s.layers[%d:%d]%s = fp64\n", use, (int)begin,
                (int)(begin + 1 < c->dims->layers ? begin + 2 : begin + 1),
                begin % 2 ? ".mlp" : "");
}

static void write_training(struct composer *c, int64_t batch, int64_t microbatch,
                           int64_t microbatches) {
    fprintf(c->to, "\ntrain {\n  batch = %d  sequence = %d  microbatch = %d\n", (int)batch,
            (int)c->dims->sequence, (int)microbatch);
    c->takes_at_once = microbatches == 1;
    write_precision(c);
    write_optimizer(c);
    write_loss_scale(c);
    fprintf(c->to, "}\n");
}

// ---- the file ---------------------------------------------------------------------------------

static struct composition finish(struct composer *c, char **text, size_t *length,
                                 int64_t microbatch) {
    fclose(c->to);
    struct composition made = {arena_string(c->arena, *text, *length), microbatch};
    free(*text);
    return made;
}

struct composition compose(struct arena *arena, uint64_t seed, const struct dims *dims) {
    static const int64_t data_devices[] = {2, 3, 4, 6, 6, 12, 1, 3};
    char *text;
    size_t length;
    struct composer c = {.arena = arena, .dims = dims, .random = seed / FAMILY_SIZE + 77};
    c.to = open_memstream(&text, &length);
    write_model(&c);
    int64_t devices = data_devices[pick(&c, 8)];
    if (devices > dims->max_devices)
        devices = 2;
    int64_t microbatch = 1 + pick(&c, 2);
    int64_t room = dims->max_batch / (devices * microbatch);
    int64_t microbatches =
        1 + pick(&c, room < dims->max_microbatches ? room : dims->max_microbatches);
    int64_t batch = devices * microbatch * microbatches;
    write_training(&c, batch, microbatch, microbatches);
    c.random = seed * 31 + 5;
    add_data_axes(&c, devices);
    int64_t left = add_axes(&c, dims->max_devices / devices, AXIS_TENSOR, 400);
    left = add_axes(&c, left, AXIS_CONTEXT, c.n_axes ? 300 : 600);
    add_axes(&c, left, AXIS_TENSOR, c.n_axes ? 0 : 1000);
    shuffle_axes(&c);
    c.tokens = axes_of(&c, AXIS_TOKENS);
    write_mesh(&c);
    write_strategy(&c);
    return finish(&c, &text, &length, microbatch);
}

// Axes of the pipeline: most often one, of size 2 or 3, else two, or one of size 4 or 5.
static int64_t add_pipeline_axes(struct composer *c, int64_t room) {
    static const int64_t sizes[] = {2, 2, 2, 3, 3, 3, 4, 5};
    c->ranks = sizes[pick(c, 8)];
    c->ranks = c->ranks <= room ? c->ranks : room >= 3 ? 3 : 2;
    if (c->ranks == 4 && chance(c, 500)) {
        add_axis(c, 2, AXIS_PIPELINE);
        add_axis(c, 2, AXIS_PIPELINE);
    } else {
        add_axis(c, c->ranks, AXIS_PIPELINE);
    }
    return room / c->ranks;
}

// Mostly several microbatches, and at least half of the devices are the pipeline's.
struct composition compose_pipeline(struct arena *arena, uint64_t seed, const struct dims *dims) {
    static const int64_t data_devices[] = {1, 1, 2, 2, 3, 4};
    char *text;
    size_t length;
    struct composer c = {.arena = arena, .dims = dims, .random = seed / FAMILY_SIZE + 1077};
    c.to = open_memstream(&text, &length);
    write_model(&c);
    int64_t devices = data_devices[pick(&c, 6)];
    if (devices > dims->max_devices / 2)
        devices = 1 + pick(&c, dims->max_devices / 2);
    int64_t microbatch = 1 + pick(&c, 2);
    int64_t room = dims->max_batch / (devices * microbatch);
    room = room < dims->max_microbatches ? room : dims->max_microbatches;
    int64_t microbatches = chance(&c, 100) ? 1 : 2 + pick(&c, room - 1);
    write_training(&c, devices * microbatch * microbatches, microbatch, microbatches);
    c.microbatches = microbatches;
    c.random = seed * 37 + 11;
    add_data_axes(&c, devices);
    int64_t left = add_pipeline_axes(&c, dims->max_devices / devices);
    left = add_axes(&c, left, AXIS_TENSOR, 400);
    add_axes(&c, left, AXIS_CONTEXT, 300);
    shuffle_axes(&c);
    c.tokens = axes_of(&c, AXIS_TOKENS);
    write_mesh(&c);
    write_strategy(&c);
    return finish(&c, &text, &length, microbatch);
}

struct composition compose_tuple(struct arena *arena, const char *const letters[4],
                                 bool tensor_axis, const struct dims *dims) {
    char *text;
    size_t length;
    struct composer c = {.arena = arena, .dims = dims, .random = 5};
    c.to = open_memstream(&text, &length);
    write_model(&c);
    write_training(&c, 12, 2, 1);
    add_axis(&c, 2, AXIS_DATA);
    add_axis(&c, 3, tensor_axis ? AXIS_TENSOR : AXIS_DATA);
    write_mesh(&c);
    fprintf(c.to, "\nstrategy main {\n  split batch over %s\n", tensor_axis ? "a" : "a * b");
    if (tensor_axis)
        fprintf(c.to, "  split heads, kv_heads, ffn over b\n");
    fprintf(c.to, "  states : (%s, %s, %s, %s) on b\n}\n", letters[0], letters[1], letters[2],
            letters[3]);
    return finish(&c, &text, &length, 2);
}
