// Partitioned programs as text, against goldens: the training step that every strategy of examples/
// becomes, with one microbatch and with two, one whole program, and what overlap makes of some.
// PLACE_UPDATE_GOLDENS in the environment writes them anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_strategies.h"

// Not inlined: gcc 12 takes the stream for one that outlives `text` and warns of its users.
__attribute__((noinline)) static char *printed(const struct program *program) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    program_print(program, out, &(struct print_options){0});
    fclose(out);
    return text;
}

// The text is also read back and printed again: it says all there is to say.
static char *final_text(struct arena *arena, const struct config *config, enum pass last) {
    struct source_files sources = {0};
    struct pass_context context = {config, diagnostics_new(arena, &sources)};
    struct program *program = program_new(arena, "main");
    if (!passes_run(program, &context, PASS_BUILD, last)) {
        diagnostics_print(context.diagnostics, stderr, false);
        fail();
    }
    const char *wrong = program_check(program, arena, NULL);
    if (wrong)
        fail_msg("%s", wrong);
    char *text = printed(program);
    struct text_error error = {0};
    struct program *again = program_parse(arena, text, strlen(text), 0, &error);
    if (!again)
        fail_msg("%s: %.60s", error.message, text + error.span.begin);
    char *second = printed(again);
    assert_string_equal(text, second);
    free(second);
    return text;
}

static char *read_whole(const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, in);
    text[n] = 0;
    fclose(in);
    return text;
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

static void check_golden(enum model_family family, enum tiny_strategy strategy,
                         int64_t microbatches, enum pass last, const char *name, bool whole) {
    struct arena arena = {0};
    struct config config = tiny_strategy_config(&arena, family, strategy, microbatches);
    char *all = final_text(&arena, &config, last), *text = excerpt(all, whole);
    const char *path = arena_format(&arena, "golden/%s_%s.program", pass_rows[last].name, name);
    if (getenv("PLACE_UPDATE_GOLDENS")) {
        FILE *out = fopen(path, "wb");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
    }
    char *golden = read_whole(path);
    assert_non_null(golden);
    assert_string_equal(text, golden);
    free(golden);
    free(all);
    arena_free(&arena);
}

static void check_all(int64_t microbatches, const char *suffix) {
    for (int i = 0; i < N_TINY_STRATEGIES; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", tiny_strategy_names[i], suffix);
        check_golden(FAMILY_LLAMA, (enum tiny_strategy)i, microbatches, PASS_PARTITION, name,
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
    check_golden(FAMILY_GPT2, TINY_ZERO3, 1, PASS_PARTITION, "tied", false);
}

static void test_units(void **state) {
    check_golden(FAMILY_LLAMA, TINY_ZERO3_TP, 1, PASS_PARTITION, "whole", true);
}

// Gathers ahead in both directions; reductions in place that are waited for late.
static void test_overlap(void **state) {
    check_golden(FAMILY_LLAMA, TINY_ZERO3, 1, PASS_OVERLAP, "zero3", false);
    check_golden(FAMILY_LLAMA, TINY_ZERO1, 1, PASS_OVERLAP, "zero1", false);
    check_golden(FAMILY_LLAMA, TINY_DDP, 2, PASS_OVERLAP, "ddp_m2", false);
    check_golden(FAMILY_LLAMA, TINY_GATHER_ONCE, 2, PASS_OVERLAP, "gather_once_m2", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_microbatch), cmocka_unit_test(test_two_microbatches),
        cmocka_unit_test(test_tied),           cmocka_unit_test(test_units),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
