// What a configuration holds after resolution: sizes and defaults, settings of the command line,
// statements in their order with the chain of where each comes from.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"

// One resolved text; freed by the teardown of each test.
struct resolved {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct config config;
    bool good;
};

#define PARTS                                                                                      \
    "model tiny : gpt2 { layers = 8  hidden = 128  heads = 4  vocab = 256  sequence_limit = 64 "   \
    "}\n"                                                                                          \
    "device core { memory = 1.5 GiB  compute = 2 TFLOP/s }\n"                                      \
    "mesh ranks of core {\n"                                                                       \
    "  replica = 2 link(5 GB/s, 20 us)  shard = 4  dp = replica * shard  tp = 2 }\n"               \
    "train { batch = 64  sequence = 32  optimizer = adamw(lr = 1e-3) }\n"

static struct resolved resolve_with(const char *text, struct frontend_options options) {
    struct resolved r = {0};
    struct ast_file file;
    uint32_t source;
    r.diagnostics = diagnostics_new(&r.arena, &r.sources);
    assert_true(frontend_read_text(&r.arena, r.diagnostics, "inputs/models/text.place", text,
                                   strlen(text), &source));
    r.good = frontend_parse(&r.arena, r.diagnostics, source, &file) &&
             frontend_resolve(&r.arena, r.diagnostics, &file, &options, &r.config);
    if (!r.good)
        diagnostics_print(r.diagnostics, stderr, false);
    assert_true(r.good);
    return r;
}

static struct resolved resolve(const char *text) {
    return resolve_with(text, (struct frontend_options){.library_directory = ".."});
}

// ---- models -----------------------------------------------------------------------------------

static void test_family_defaults(void **state) {
    struct resolved r = resolve(PARTS "strategy main { split batch over dp }");
    const struct model_config *model = &r.config.model;
    assert_int_equal(model->kv_heads, 4);
    assert_int_equal(model->head_dim, 32);
    assert_int_equal(model->ffn, 512);
    assert_int_equal(model->norm, NORM_LAYER);
    assert_int_equal(model->activation, ACTIVATION_GELU_TANH);
    assert_true(model->tied && model->biases == BIASES_ALL);
    assert_true(r.config.device.memory_bytes == INT64_C(3) << 29);
    assert_true(r.config.device.flops_per_s == 2e12);
    arena_free(&r.arena);
}

#define FROM(file, block)                                                                          \
    "model big from \"" file "\" " block "device core { memory = 80 GiB }\n"                       \
    "mesh ranks of core { dp = 2 }\n"                                                              \
    "train { batch = 8  sequence = 128  optimizer = sgd(lr = 0.1) }\n"                             \
    "strategy main { split batch over dp }"

static void test_llama_from_json(void **state) {
    struct resolved r = resolve(FROM("llama31.json", "{ sequence_limit = 4096  layers = 2 }\n"));
    const struct model_config *model = &r.config.model;
    assert_int_equal(model->family, FAMILY_LLAMA);
    assert_int_equal(model->layers, 2); // the file's own word against 32
    assert_int_equal(model->sequence_limit, 4096);
    assert_int_equal(model->hidden, 4096);
    assert_int_equal(model->kv_heads, 8);
    assert_int_equal(model->head_dim, 128);
    assert_int_equal(model->ffn, 14336);
    assert_true(model->rope_theta == 5e5 && !model->tied && !model->biases);
    assert_true(model->rope_scaling.factor == 8 && model->rope_scaling.low_frequency_factor == 1);
    assert_true(model->rope_scaling.high_frequency_factor == 4);
    assert_int_equal(model->rope_scaling.original_positions, 8192);
    assert_int_equal(r.diagnostics->n_warnings, 0);
    arena_free(&r.arena);
}

// As transformers 5 writes it: the theta stands in the table.
static void test_rope_parameters(void **state) {
    struct resolved r = resolve(FROM("llama32.json", ""));
    const struct model_config *model = &r.config.model;
    assert_true(model->rope_theta == 5e5 && model->tied);
    assert_true(model->rope_scaling.factor == 32 && model->rope_scaling.low_frequency_factor == 1);
    assert_true(model->rope_scaling.high_frequency_factor == 4);
    assert_int_equal(model->rope_scaling.original_positions, 8192);
    assert_int_equal(r.diagnostics->n_warnings, 0);
    arena_free(&r.arena);
}

// As transformers 4 does, with all that real files have beside what counts.
static void test_harmless_fields(void **state) {
    struct resolved r = resolve(FROM("smollm.json", ""));
    const struct model_config *model = &r.config.model;
    assert_true(model->rope_theta == 1e5 && model->rope_scaling.factor == 0 && model->tied);
    assert_int_equal(model->kv_heads, 3);
    assert_int_equal(r.diagnostics->n_warnings, 0);
    arena_free(&r.arena);
}

static void test_gpt2_from_json(void **state) {
    struct resolved r = resolve(FROM("gpt2.json", ""));
    assert_int_equal(r.config.model.family, FAMILY_GPT2);
    assert_int_equal(r.config.model.ffn, 3072);
    assert_int_equal(r.config.model.vocab, 50257);
    assert_true(r.config.model.tied);
    assert_true(r.config.model.dropout == 0.1);     // of embedding and residuals
    assert_int_equal(r.diagnostics->n_warnings, 1); // that of attention
    arena_free(&r.arena);
}

// ---- meshes and settings ----------------------------------------------------------------------

static void test_products_are_atomic_axes(void **state) {
    struct resolved r = resolve(PARTS "strategy main { split batch over dp  split ffn over tp }");
    const struct mesh *mesh = &r.config.mesh;
    assert_int_equal(mesh->n_axes, 3);
    assert_int_equal(r.config.total_devices, 16);
    assert_true(mesh->axes[0].link_bytes_per_s == 5e9);
    assert_float_equal(mesh->axes[0].link_latency_s, 20e-6, 1e-15);
    const struct split_statement *split = &r.config.strategy.splits[0];
    assert_int_equal(split->axes.n, 2);
    assert_int_equal(split->axes.axes[0], 0);
    assert_int_equal(split->axes.axes[1], 1);
    assert_int_equal(r.config.train.microbatch, 8); // 64 sequences on 8 devices, at once
    assert_int_equal(r.config.train.microbatch_origin.kind, ORIGIN_DEFAULT);
    arena_free(&r.arena);
}

static void test_settings_override(void **state) {
    const char *settings[] = {"shard=2", "train.batch=16", "model.layers=3",
                              "train.optimizer=sgd(lr = 0.5)", "a=dp"};
    struct resolved r =
        resolve_with(PARTS "strategy main(axis a) { split batch over a }",
                     (struct frontend_options){.settings = settings, .n_settings = 5});
    assert_int_equal(r.config.mesh.axes[1].size, 2);
    assert_int_equal(r.config.train.batch, 16);
    assert_int_equal(r.config.train.batch_origin.kind, ORIGIN_COMMAND_LINE);
    assert_string_equal(r.config.train.batch_origin.text, "-D train.batch=16");
    assert_int_equal(r.config.model.layers, 3);
    assert_int_equal(r.config.train.optimizers[0].optimizer.kind, OPTIMIZER_SGD);
    assert_int_equal(r.config.strategy.splits[0].axes.n, 2);
    arena_free(&r.arena);
}

// --ranks resizes the outermost axis that splits the batch; the batch stays.
static void test_ranks(void **state) {
    struct resolved r = resolve_with(PARTS "strategy main { split batch over dp }",
                                     (struct frontend_options){.ranks = 24});
    assert_int_equal(r.config.mesh.axes[0].size, 3);
    assert_int_equal(r.config.mesh.axes[1].size, 4);
    assert_int_equal(r.config.total_devices, 24);
    assert_int_equal(r.config.train.batch, 64);
    arena_free(&r.arena);
}

// ---- train ------------------------------------------------------------------------------------

static void test_optimizers_inherit(void **state) {
    struct resolved r = resolve(
        "model tiny : gpt2 { layers = 8  hidden = 128  heads = 4  vocab = 256 }\n"
        "device core { }\nmesh ranks of core { dp = 2 }\n"
        "train { batch = 8  sequence = 32  precision = fp64\n"
        "  optimizer.mlp.up = adamw(eps = 1e-6)\n"
        "  optimizer.norm, optimizer.mlp = adamw(weight_decay = 0)\n"
        "  optimizer.embedding = none\n"
        "  optimizer = adamw(lr = cosine(3e-4, warmup = 20, steps = 100), betas = (0.9, 0.95),\n"
        "                    weight_decay = 0.1) }\n"
        "strategy main { split batch over dp }");
    const struct train_config *train = &r.config.train;
    assert_int_equal(train->n_optimizers, 5);
    const struct optimizer_config *base = &train->optimizers[0].optimizer;
    assert_int_equal(train->optimizers[0].selector.n_roles, 0);
    assert_true(base->beta2 == 0.95 && base->weight_decay == 0.1 && base->eps == 1e-8);
    assert_true(base->rate.curve == RATE_COSINE && base->rate.base == 3e-4);
    for (uint32_t i = 1; i < train->n_optimizers; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        enum role first = rule->selector.roles[0];
        if (first == ROLE_EMBEDDING)
            assert_int_equal(rule->optimizer.kind, OPTIMIZER_NONE);
        else
            assert_true(rule->optimizer.beta2 == 0.95 && rule->optimizer.rate.steps == 100);
        if (first == ROLE_NORM)
            assert_true(rule->optimizer.weight_decay == 0);
    }
    const struct precision_config *precision = &train->precision;
    assert_int_equal(precision_type(precision, PRECISION_GRADIENTS, NULL, 0, 0), DTYPE_F64);
    assert_int_equal(precision_type(precision, PRECISION_MASTER, NULL, 0, 0), DTYPE_NONE);
    arena_free(&r.arena);
}

// A rule for some layers is inherited by those within them alone.
static void test_slices_inherit(void **state) {
    struct resolved r =
        resolve("model tiny : gpt2 { layers = 8  hidden = 128  heads = 4  vocab = 256 }\n"
                "device core { }\nmesh ranks of core { dp = 2 }\n"
                "train { batch = 8  sequence = 32\n"
                "  optimizer = adamw(lr = 1e-3)\n"
                "  optimizer.layers[2:6] = adamw(lr = 0.5)\n"
                "  optimizer.layers[3:6].mlp = adamw(eps = 1e-6)\n"
                "  optimizer.layers[1:4].attention = adamw(eps = 1e-6)\n"
                "  optimizer.layers[4:7].norm = adamw(eps = 1e-6)\n"
                "  optimizer.layers.out = adamw(eps = 1e-6) }\n"
                "strategy main { split batch over dp }");
    const struct train_config *train = &r.config.train;
    assert_int_equal(train->n_optimizers, 6);
    for (uint32_t i = 2; i < train->n_optimizers; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        bool within = rule->selector.roles[1] == ROLE_MLP;
        assert_true(rule->optimizer.rate.base == (within ? 0.5 : 1e-3));
    }
    arena_free(&r.arena);
}

// What the command line says stands in the place of the file's whole field: nothing of that is
// left, and what the file's other rules inherit is the new one's.
static void test_settings_replace_optimizers(void **state) {
    const char *settings[] = {"train.optimizer=adamw(lr = 0.5)",
                              "train.optimizer.mlp=adamw(eps = 1e-6)"};
    struct resolved r =
        resolve_with("model tiny : gpt2 { layers = 8  hidden = 128  heads = 4  vocab = 256 }\n"
                     "device core { }\nmesh ranks of core { dp = 2 }\n"
                     "train { batch = 8  sequence = 32\n"
                     "  optimizer.norm = adamw(weight_decay = 0)\n"
                     "  optimizer.mlp = sgd(lr = 0.3)\n"
                     "  optimizer = adamw(lr = 1e-3, betas = (0.8, 0.9), weight_decay = 0.1) }\n"
                     "strategy main { split batch over dp }",
                     (struct frontend_options){.settings = settings, .n_settings = 2});
    const struct train_config *train = &r.config.train;
    assert_int_equal(train->n_optimizers, 3);
    assert_int_equal(train->optimizers[0].selector.n_roles, 0);
    assert_int_equal(train->optimizers[0].origin.kind, ORIGIN_COMMAND_LINE);
    for (uint32_t i = 0; i < train->n_optimizers; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        enum role first = i ? (enum role)rule->selector.roles[0] : ROLE_NONE;
        assert_int_equal(rule->optimizer.kind, OPTIMIZER_ADAMW);
        assert_true(rule->optimizer.rate.base == 0.5 && rule->optimizer.beta2 == 0.999);
        assert_true(rule->optimizer.weight_decay == (first == ROLE_NORM ? 0 : 0.01));
        assert_true(rule->optimizer.eps == (first == ROLE_MLP ? 1e-6 : 1e-8));
    }
    arena_free(&r.arena);
}

// ---- strategies -------------------------------------------------------------------------------

static void test_use_carries_its_chain(void **state) {
    struct resolved r = resolve("import \"lib/strategies.place\"\n" PARTS
                                "strategy outer(axis x) { use zero3(x) }\n"
                                "strategy main {\n"
                                "  split batch over dp\n"
                                "  use outer(dp)\n"
                                "  parameters : gathered(dp, prefetch = 2, after_forward = kept)\n"
                                "}");
    const struct strategy_config *strategy = &r.config.strategy;
    assert_int_equal(strategy->n_modes, 5);
    const struct mode_statement *brought = &strategy->modes[0], *own = &strategy->modes[4];
    assert_false(brought->own_text);
    assert_true(own->own_text);
    assert_int_equal(brought->extent, EXTENT_GATHERED);
    assert_int_equal(own->prefetch, 2);
    assert_true(own->kept_after_forward && !own->kept_after_backward);
    assert_int_equal(brought->axes.n, 2);
    // The user's `use`, the inner `use`, the library's tuple.
    const struct origin *origin = &brought->origin;
    assert_int_equal(origin->kind, ORIGIN_USE);
    assert_int_equal(source_place(&r.sources, origin->span).line, 10);
    assert_int_equal(origin->inner->kind, ORIGIN_USE);
    assert_int_equal(source_place(&r.sources, origin->inner->span).line, 7);
    assert_int_equal(origin->inner->inner->kind, ORIGIN_STATEMENT);
    assert_string_equal(source_place(&r.sources, origin->inner->inner->span).file,
                        "../lib/strategies.place");
    assert_non_null(strstr(origin_words(&r.arena, &r.sources, origin), "from use at"));
    arena_free(&r.arena);
}

static void test_selectors_and_slices(void **state) {
    struct resolved r = resolve(PARTS "strategy main {\n"
                                      "  split batch over dp\n"
                                      "  in layers[2:6], layers[-1] {\n"
                                      "    parameters.layers[4:].attention.norm : replicated(dp)\n"
                                      "  }\n"
                                      "  gradients.layers[::3], gradients.norm : replicated(dp)\n"
                                      "}");
    const struct mode_statement *modes = r.config.strategy.modes;
    assert_int_equal(r.config.strategy.n_modes, 4);
    assert_int_equal(modes[0].selector.n_roles, 3);
    assert_int_equal(modes[0].selector.roles[1], ROLE_ATTENTION);
    assert_int_equal(modes[0].selector.slice_begin, 4); // both slices hold
    assert_int_equal(modes[0].selector.slice_end, 6);
    assert_int_equal(modes[1].selector.slice_begin, 7);
    assert_int_equal(modes[1].selector.slice_end, 8);
    assert_int_equal(modes[2].selector.slice_step, 3);
    assert_false(modes[3].selector.has_slice);
    arena_free(&r.arena);
}

static void test_parameters_of_strategies(void **state) {
    struct resolved r =
        resolve(PARTS "strategy buckets(axis a, number size = 1 MiB, word when = last) {\n"
                      "  gradients : replicated(a, bucket = size, reduce = when) }\n"
                      "strategy main { split batch over dp  use buckets(dp, when = each) }");
    const struct mode_statement *mode = &r.config.strategy.modes[0];
    assert_int_equal(mode->bucket_bytes, 1 << 20);
    assert_int_equal(mode->reduce, REDUCE_EACH);
    arena_free(&r.arena);
}

static void test_library_has_no_strategy(void **state) {
    struct resolved r = resolve("strategy zero1(axis a) { states : (R, S, R, R) on a }");
    assert_null(r.config.strategy.name);
    arena_free(&r.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family_defaults),
        cmocka_unit_test(test_llama_from_json),
        cmocka_unit_test(test_rope_parameters),
        cmocka_unit_test(test_harmless_fields),
        cmocka_unit_test(test_gpt2_from_json),
        cmocka_unit_test(test_products_are_atomic_axes),
        cmocka_unit_test(test_settings_override),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_optimizers_inherit),
        cmocka_unit_test(test_slices_inherit),
        cmocka_unit_test(test_settings_replace_optimizers),
        cmocka_unit_test(test_use_carries_its_chain),
        cmocka_unit_test(test_selectors_and_slices),
        cmocka_unit_test(test_parameters_of_strategies),
        cmocka_unit_test(test_library_has_no_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
