// What the compiler makes of every strategy of examples/ is accepted, for both model families and
// for several numbers of microbatches, before and after memory is planned; and what it makes of
// random strategies, with axes, states, selectors and options thrown together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/derive.h"
#include "tests/sample.h"
#include "tests/tiny_strategies.h"
#include "verify/verify.h"

// False: the strategy has no program.
static bool expect_accepted(struct arena *arena, const struct config *config, enum pass last,
                            const char *name) {
    struct program *reference = derive_program(arena, config, PASS_BLOCKS, NULL);
    struct program *final = derive_program(arena, config, last, NULL);
    if (!final)
        return false;
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(arena, &sources);
    struct verdict verdict = verify(reference, final->job, arena, diagnostics);
    if (verdict.kind != VERDICT_ACCEPTED) {
        diagnostics_print(diagnostics, stderr, false);
        if (getenv("PRINT"))
            job_print(final->job, stderr, NULL);
        fail_msg("%s, after %s", name, pass_rows[last].name);
    }
    assert_int_equal(diagnostics->n_items, 0);
    assert_int_equal(verdict.n_copies, 0); // the compiler sums nothing that is summed
    return true;
}

static void accepts_the_examples(void **state) {
    static const int64_t microbatches[] = {1, 2, 7};
    static const enum pass lasts[] = {PASS_PARTITION, N_PASSES - 1};
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++)
        for (int strategy = 0; strategy < N_TINY_STRATEGIES; strategy++)
            for (unsigned i = 0; i < 6; i++) {
                if ((strategy + (int)i) % (sample_every() > 1 ? 6 : 1))
                    continue; // a sample takes one of them, in turns
                struct arena arena = {0};
                struct config config =
                    tiny_strategy_config(&arena, family, strategy, microbatches[i % 3]);
                assert_true(
                    expect_accepted(&arena, &config, lasts[i / 3], tiny_strategy_names[strategy]));
                arena_free(&arena);
            }
}

// At least one in so many of the strategies has a program.
static void accept_random(struct config (*make_up)(struct arena *, uint64_t), int64_t trials,
                          int64_t least) {
    int64_t accepted = 0, tried = 0;
    for (int64_t i = 0; i < trials; i += sample_every(), tried++) {
        struct arena arena = {0};
        struct config config = make_up(&arena, (uint64_t)i);
        const char *name = arena_format(&arena, "composition %d", (int)i);
        accepted += expect_accepted(&arena, &config, N_PASSES - 1, name);
        arena_free(&arena);
    }
    print_message("%d of %d compositions have a program\n", (int)accepted, (int)tried);
    assert_true(accepted * least > tried);
}

static void accepts_random_compositions(void **state) {
    int64_t trials = getenv("PLACE_TEST_FULL") ? 5000 : 200;
    accept_random(random_strategy_config, trials, 2);
}

// What has no order is refused before it is compiled, never by the verifier.
static void accepts_random_reproducible_compositions(void **state) {
    int64_t trials = getenv("PLACE_TEST_FULL") ? 10000 : 1000;
    accept_random(random_reproducible_config, trials, 8);
}

// Codes stand for gradients that the reference reads, and does not make.
static void accepts_codes_of_gradients_of_16_bits(void **state) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        struct arena arena = {0};
        struct config config = tiny_strategy_config(&arena, FAMILY_GPT2, TINY_DDP, 2);
        const struct axis_list dp = {.n = 1};
        struct relax_statement relaxed = {.axes = dp};
        relaxed.conditions[CONDITION_GRADIENT_INTEGRITY] = true;
        config.strategy.relaxations = &relaxed;
        config.strategy.n_relaxations = 1;
        for (uint32_t m = 0; m < config.strategy.n_modes; m++)
            if (config.strategy.modes[m].state == STATE_GRADIENTS)
                config.strategy.modes[m].wire.way = WIRE_INT8;
        config.train.precision.all = DTYPE_F32;
        config.train.precision.of_all[PRECISION_GRADIENTS] = types[i];
        assert_true(expect_accepted(&arena, &config, N_PASSES - 1, dtype_names[types[i]]));
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_the_examples),
                                       cmocka_unit_test(accepts_codes_of_gradients_of_16_bits),
                                       cmocka_unit_test(accepts_random_compositions),
                                       cmocka_unit_test(accepts_random_reproducible_compositions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
