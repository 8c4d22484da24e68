// Partitioned programs as text, against goldens, some to be read and of the others digests: the training step that every strategy of examples/
// becomes, with one microbatch and with two, one whole program, and what overlap and release make
// of some. PLACE_UPDATE_GOLDENS in the environment writes them anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/derive.h"
#include "tests/tiny_strategies.h"

static char *final_text(struct arena *arena, const struct config *config, enum pass last) {
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(arena, &sources);
    struct program *program = derive_program(arena, config, last, diagnostics);
    if (!program) {
        diagnostics_print(diagnostics, stderr, false);
        fail();
    }
    return checked_text(arena, program);
}

// Only the schedule of `train`, unless `whole`.
static char *excerpt(char *text, bool whole) {
    if (whole)
        return text;
    char *begin = strstr(text, "  train {"), *end = strstr(text, "  evaluate {");
    assert_true(begin && end && begin < end);
    *end = 0;
    return begin;
}

static void check_strategy(enum model_family family, enum tiny_strategy strategy,
                           int64_t microbatches, enum pass last, const char *name, bool whole) {
    struct arena arena = {0};
    struct config config = tiny_strategy_config(&arena, family, strategy, microbatches);
    check_golden(&arena, arena_format(&arena, "%s_%s", pass_rows[last].name, name),
                 excerpt(final_text(&arena, &config, last), whole));
    arena_free(&arena);
}

static void check_all(int64_t microbatches, const char *suffix) {
    for (int i = 0; i < N_TINY_STRATEGIES; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", tiny_strategy_names[i], suffix);
        check_strategy(FAMILY_LLAMA, (enum tiny_strategy)i, microbatches, PASS_PARTITION, name,
                       false);
    }
}

static void test_one_microbatch(void **state) {
    check_all(1, "");
}

static void test_two_microbatches(void **state) {
    check_all(2, "_m2");
}

// A tied table: gathered three times, its gradient reduced once.
static void test_tied(void **state) {
    check_strategy(FAMILY_GPT2, TINY_ZERO3, 1, PASS_PARTITION, "tied", false);
}

static void test_units(void **state) {
    check_strategy(FAMILY_LLAMA, TINY_ZERO3_TP, 1, PASS_PARTITION, "whole", true);
}

// Backward units that start from a layer's input and its weights.
static void test_recompute(void **state) {
    check_strategy(FAMILY_LLAMA, TINY_RECOMPUTE, 1, PASS_RECOMPUTE, "llama", true);
    check_strategy(FAMILY_GPT2, TINY_RECOMPUTE, 1, PASS_RECOMPUTE, "gpt2", true);
}

// Gathers ahead in both directions; reductions in place that are waited for late.
static void test_overlap(void **state) {
    check_strategy(FAMILY_LLAMA, TINY_ZERO3, 1, PASS_OVERLAP, "zero3", false);
    check_strategy(FAMILY_LLAMA, TINY_ZERO1, 1, PASS_OVERLAP, "zero1", false);
    check_strategy(FAMILY_LLAMA, TINY_DDP, 2, PASS_OVERLAP, "ddp_m2", false);
    check_strategy(FAMILY_LLAMA, TINY_GATHER_ONCE, 2, PASS_OVERLAP, "gather_once_m2", false);
    check_strategy(FAMILY_LLAMA, TINY_KEEP_PART, 1, PASS_OVERLAP, "keep_part", false);
    check_strategy(FAMILY_LLAMA, TINY_RECOMPUTE_LAYERS, 1, PASS_OVERLAP, "recompute_layers", false);
    check_strategy(FAMILY_LLAMA, TINY_GATHER_LAYERS, 2, PASS_OVERLAP, "gather_layers_m2", false);
    check_strategy(FAMILY_LLAMA, TINY_TURNS, 1, PASS_OVERLAP, "turns", false);
}

static void test_release(void **state) {
    check_strategy(FAMILY_LLAMA, TINY_ZERO3, 2, PASS_RELEASE, "zero3_m2", false);
    check_strategy(FAMILY_LLAMA, TINY_ZERO1_RING, 1, PASS_RELEASE, "zero1_ring", false);
    check_strategy(FAMILY_LLAMA, TINY_DDP, 1, PASS_RELEASE, "ddp", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_microbatch), cmocka_unit_test(test_two_microbatches),
        cmocka_unit_test(test_tied),           cmocka_unit_test(test_units),
        cmocka_unit_test(test_recompute),      cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
