// Whatever a model and its training have must matter to what is compared; else a program could do
// without it and look right. Each feature is taken from the reference alone: then the program that
// has it must differ.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/oracle/compiled.h"
#include "tests/oracle/mutate.h"
#include "tests/oracle/truth.h"

#define MACHINE                                                                                    \
    "device core { memory = 1 GiB  compute = 100 GFLOP/s  bandwidth = 20 GB/s }\n"                 \
    "mesh ranks of core { dp = 2  link(1 GB/s, 1 us) }\n"
#define STRATEGY "strategy main { split batch over dp  states : (R, S, S, R) on dp }\n"

static const char gpt2[] =
    "model tiny : gpt2 { layers = 3  hidden = 11  heads = 6  head_dim = 4  ffn = 30  vocab = 42 "
    "sequence_limit = 13  norm_eps = 1e-3  activation = gelu_tanh  norm = layernorm  "
    "dropout = 0.2 }\n" MACHINE
    "train { batch = 8  sequence = 12  microbatch = 2  precision = fp64\n"
    "  optimizer = sgd(lr = cosine(0.05, warmup = 4, steps = 12), momentum = 0.9, nesterov = "
    "true)\n"
    "}\n" STRATEGY;

static const char llama[] =
    "model tiny : llama { layers = 3  hidden = 11  heads = 6  kv_heads = 3  head_dim = 4  ffn = 30 "
    "vocab = 42  rope_theta = 100  norm_eps = 1e-3  activation = swiglu  norm = rmsnorm }\n" MACHINE
    "train { batch = 8  sequence = 12  microbatch = 2  precision = fp64\n"
    "  optimizer = adamw(lr = 0.05, betas = (0.9, 0.95), eps = 1e-2, weight_decay = 0.1)\n"
    "  optimizer.mlp = adamw(weight_decay = 0)\n"
    "}\n" STRATEGY;

static const char clipped[] =
    "model tiny : llama { layers = 3  hidden = 11  heads = 6  kv_heads = 3  head_dim = 4  ffn = 30 "
    "vocab = 42 }\n" MACHINE "train { batch = 8  sequence = 12  microbatch = 2  precision = fp64\n"
    "  optimizer = adamw(lr = 0.05, eps = 1e-2)\n"
    "  clip = 0.01\n"
    "}\n" STRATEGY;
static const char scaled[] =
    "model tiny : llama { layers = 3  hidden = 11  heads = 6  kv_heads = 3  head_dim = 4  ffn = 30 "
    "vocab = 42 }\n" MACHINE "train { batch = 8  sequence = 12  microbatch = 2  precision = fp64\n"
    "  optimizer = sgd(lr = 0.05)\n"
    "  loss_scale = dynamic(initial = 96, backoff = 0.5, interval = 5)\n"
    "}\n" STRATEGY;

static const struct feature {
    const char *text, *with, *without;
} features[] = {
    {gpt2, "momentum = 0.9", "momentum = 0.8"},
    {gpt2, "nesterov = true", "nesterov = false"},
    {gpt2, "cosine(0.05, warmup = 4, steps = 12)", "0.05"},
    {gpt2, "warmup = 4", "warmup = 3"},
    {gpt2, "steps = 12", "steps = 11"},
    {gpt2, "norm_eps = 1e-3", "norm_eps = 1e-5"},
    {gpt2, "dropout = 0.2", "dropout = 0.21"},
    {gpt2, "  dropout = 0.2", ""},
    {gpt2, "gelu_tanh", "gelu"},
    {gpt2, "layernorm", "rmsnorm"},
    {llama, "rope_theta = 100", "rope_theta = 1000"},
    {llama, "norm_eps = 1e-3", "norm_eps = 1e-5"},
    {llama, "swiglu", "gelu"},
    {llama, "rmsnorm", "layernorm"},
    {llama, "lr = 0.05", "lr = 0.051"},
    {llama, "betas = (0.9, 0.95)", "betas = (0.8, 0.95)"},
    {llama, "betas = (0.9, 0.95)", "betas = (0.9, 0.96)"},
    {llama, "eps = 1e-2", "eps = 1e-3"},
    {llama, "weight_decay = 0.1", "weight_decay = 0"},
    {llama, "  optimizer.mlp = adamw(weight_decay = 0)\n", ""},
    {clipped, "  clip = 0.01\n", ""},
    {clipped, "clip = 0.01", "clip = 0.02"},
    {scaled, "  loss_scale = dynamic(initial = 96, backoff = 0.5, interval = 5)\n", ""},
    {scaled, "backoff = 0.5", "backoff = 0.4"}, // some step is skipped
    {scaled, "interval = 5", "interval = 4"},
};

static char *replaced(struct arena *arena, const struct feature *feature) {
    const char *at = strstr(feature->text, feature->with);
    assert_non_null(at);
    return arena_format(arena, "%.*s%s%s", (int)(at - feature->text), feature->text,
                        feature->without, at + strlen(feature->with));
}

static enum outcome judge(struct arena *arena, const char *reference_text, const char *final_text) {
    static const struct setup setup = {
        .seed = 3, .steps = 3, .first_step = 3, .sequences_per_group = 2};
    struct compiled reference, final;
    compile_text(&reference, reference_text);
    compile_text(&final, final_text);
    assert_non_null(reference.reference);
    assert_non_null(final.final);
    struct expected *expected = truth_expect(arena, reference.reference, &setup);
    enum outcome outcome = truth_judge(arena, expected, final.final, NULL, NULL).outcome;
    arena_free(&reference.arena);
    arena_free(&final.arena);
    return outcome;
}

static void features_bite(void **state) {
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        struct arena arena = {0};
        if (judge(&arena, replaced(&arena, &features[i]), features[i].text) != OUTCOME_WRONG)
            fail_msg("without `%s` (%d) it is the same", features[i].with, (int)i);
        arena_free(&arena);
    }
}

// ---- mistakes -----------------------------------------------------------------------------------

#define SMALL                                                                                      \
    "model tiny : llama { layers = 3  hidden = 11  heads = 6  kv_heads = 3  head_dim = 4  ffn = "  \
    "30 vocab = 42 }\n" MACHINE
static const char owned[] =
    SMALL "train { batch = 8  sequence = 12  microbatch = 2  precision = fp64\n"
          "  optimizer = adamw(lr = 0.05, eps = 1e-2)\n"
          "}\n"
          "strategy main { split batch over dp  optimizer : sharded(dp by tensor) }\n";
static const char made[] = SMALL "train { batch = 4  sequence = 12  microbatch = 2\n"
                                 "  precision { parameters = fp32  master = fp64 }\n"
                                 "  optimizer = sgd(lr = 0.05, momentum = 0.9)\n"
                                 "}\n"
                                 "strategy main { split batch over dp  optimizer : sharded(dp)\n"
                                 "  parameters, gradients : materialized }\n";
enum { N_PLANTED = 60 };

// How many of such mistakes show when the program is executed; none that does is accepted.
static unsigned count_wrong(const char *text, enum mutation mutation) {
    static const struct setup setup = {
        .seed = 3, .steps = 3, .first_step = 3, .sequences_per_group = 2};
    struct arena arena = {0};
    struct compiled compiled;
    unsigned n_wrong = 0;
    compile_text(&compiled, text);
    assert_int_equal(compiled.judgement, JUDGED_ACCEPTED);
    struct expected *expected = truth_expect(&arena, compiled.reference, &setup);
    for (uint64_t seed = 0; seed < N_PLANTED; seed++) {
        struct arena own = {0};
        struct mutant mutant;
        struct diagnostics *diagnostics = diagnostics_new(&own, &compiled.sources);
        if (mutate(&own, compiled.final, mutation, seed, &mutant) &&
            truth_judge(&own, expected, mutant.job, NULL, NULL).outcome != OUTCOME_RIGHT) {
            n_wrong++;
            if (judge_job(compiled.reference, mutant.job, &own, diagnostics) == JUDGED_ACCEPTED)
                fail_msg("%s (%d) is wrong, and accepted", mutant.what, (int)seed);
        }
        arena_free(&own);
    }
    arena_free(&compiled.arena);
    arena_free(&arena);
    return n_wrong;
}

static void mistakes_bite(void **state) {
    assert_in_range(count_wrong(owned, MUTATION_OTHER_OWNER), N_PLANTED / 2, N_PLANTED);
    assert_in_range(count_wrong(made, MUTATION_MADE_OTHERWISE), N_PLANTED / 2, N_PLANTED);
    assert_int_equal(count_wrong(made, MUTATION_OTHER_OWNER), 0); // there is nothing of the kind
    assert_int_equal(count_wrong(owned, MUTATION_MADE_OTHERWISE), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(features_bite),
                                       cmocka_unit_test(mistakes_bite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
