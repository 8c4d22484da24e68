// Partitioned programs do what one device does: all strategies of examples/, with memory planned,
// are executed by the oracle and compared with the reference program (tests/oracle/truth.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/derive.h"
#include "tests/oracle/truth.h"
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
    struct finding finding = truth_judge(&t->arena, expected, compile(t, N_PASSES - 1), NULL, NULL);
    if (finding.outcome != OUTCOME_RIGHT)
        fail_msg("%s is %s: %s (%g)", t->name, outcome_names[finding.outcome], finding.what,
                 finding.difference);
    arena_free(&t->arena);
}

static void check_all(enum model_family family, int64_t microbatches) {
    for (int i = 0; i < N_TINY_STRATEGIES; i++) {
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
        cmocka_unit_test(test_gpt2),     cmocka_unit_test(test_gpt2_microbatches),
        cmocka_unit_test(test_llama),    cmocka_unit_test(test_llama_microbatches),
        cmocka_unit_test(test_prefetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
