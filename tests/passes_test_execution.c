// Partitioned programs do what one device does: all strategies of examples/, with memory planned,
// are executed by the oracle and compared with the reference program (tests/oracle/truth.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/derive.h"
#include "tests/oracle/truth.h"
#include "tests/sample.h"
#include "tests/tiny_strategies.h"

struct trial {
    struct arena arena;
    struct config config;
    const char *name;
};

static struct program *compile(struct trial *t, enum pass last) {
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&t->arena, &sources);
    struct program *program = derive_program(&t->arena, &t->config, last, diagnostics);
    if (!program) {
        diagnostics_print(diagnostics, stderr, false);
        fail_msg("%s does not compile", t->name);
    }
    return program;
}

static void check(struct trial *t) {
    struct setup setup = {
        .seed = 7, .steps = 2, .first_step = 3, .sequences_per_group = t->config.train.microbatch};
    struct expected *expected = truth_expect(&t->arena, compile(t, PASS_UPDATE), &setup);
    struct finding finding =
        truth_judge(&t->arena, expected, compile(t, N_PASSES - 1)->job, NULL, NULL);
    if (finding.outcome != OUTCOME_RIGHT)
        fail_msg("%s is %s: %s (%g)", t->name, outcome_names[finding.outcome], finding.what,
                 finding.difference);
    arena_free(&t->arena);
}

// A sample executes each strategy of both families, one with one microbatch and one with several, in
// turns.
static void check_all(enum model_family family, int64_t microbatches) {
    bool full = getenv("PLACE_TEST_FULL"), odd = (family == FAMILY_LLAMA) != (microbatches > 1);
    for (int i = full ? 0 : odd; i < N_TINY_STRATEGIES; i += full ? 1 : 2 * sample_every()) {
        struct trial t = {.name = tiny_strategy_names[i]};
        t.config = tiny_strategy_config(&t.arena, family, (enum tiny_strategy)i, microbatches);
        check(&t);
    }
}

static void test_gpt2(void **state) {
    check_all(FAMILY_GPT2, 1);
}

static void test_gpt2_microbatches(void **state) {
    check_all(FAMILY_GPT2, 3);
}

static void test_llama(void **state) {
    check_all(FAMILY_LLAMA, 1);
}

static void test_llama_microbatches(void **state) {
    check_all(FAMILY_LLAMA, 3);
}

// On meshes of powers of two, whose sums are trees: the microbatches' numbers, the counters and the
// padding of shards make no other sums than before.
static void check_reproducible(enum tiny_strategy strategy, int64_t microbatches) {
    struct trial t = {.name = tiny_strategy_names[strategy]};
    t.config = tiny_strategy_config(&t.arena, FAMILY_GPT2, strategy, microbatches);
    for (uint32_t axis = 0; axis < t.config.mesh.n_axes; axis++)
        if (t.config.mesh.axes[axis].size == 3)
            t.config.mesh.axes[axis].size = 4;
    t.config.train.batch = mesh_devices(&t.config.mesh) * microbatches * t.config.train.microbatch;
    t.config.train.reproducible = 16;
    t.config.train.reproducible_of = 1u << DIM_BATCH | 1u << DIM_SEQUENCE | 1u << DIM_HEADS |
                                     1u << DIM_KV_HEADS | 1u << DIM_FFN | 1u << DIM_VOCAB;
    check(&t);
}

static void test_reproducible(void **state) {
    static const enum tiny_strategy strategies[] = {
        TINY_DDP,          TINY_ZERO1,       TINY_ZERO2,        TINY_ZERO3,
        TINY_HSDP,         TINY_HYBRID,      TINY_FSDP_KEEP,    TINY_GATHER_ONCE,
        TINY_SCATTER_EACH, TINY_REDUCE_EACH, TINY_GATHER_LAYERS};
    bool full = getenv("PLACE_TEST_FULL");
    size_t stride = sample_every() > 1 ? 3 : 1;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i += stride)
        for (int k = 0; k < 2; k++)
            if (full || k == (int)i % 2)
                check_reproducible(strategies[i], k ? 4 : 1);
}

static void set_prefetch(struct config *config, int64_t prefetch) {
    for (uint32_t i = 0; i < config->strategy.n_modes; i++)
        config->strategy.modes[i].prefetch = prefetch;
}

// None, more than one, as many as there are layers.
static void test_prefetch(void **state) {
    static const int64_t depths[] = {0, 2, 5};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct trial t = {.name = "zero3"};
        t.config = tiny_strategy_config(&t.arena, FAMILY_LLAMA, TINY_ZERO3, 1);
        set_prefetch(&t.config, depths[i]);
        check(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),         cmocka_unit_test(test_gpt2_microbatches),
        cmocka_unit_test(test_llama),        cmocka_unit_test(test_llama_microbatches),
        cmocka_unit_test(test_reproducible), cmocka_unit_test(test_prefetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
