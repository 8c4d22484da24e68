// Whatever strategy has a program, the program is accepted: random compositions of axes, modes,
// selectors and options. That they are right as well is what passes_test_execution finds out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_strategies.h"
#include "verify/verify.h"

static struct program *compile(struct arena *arena, const struct config *config, enum pass last) {
    struct source_files sources = {0};
    struct pass_context context = {config, diagnostics_new(arena, &sources)};
    struct program *program = program_new(arena, "main");
    if (!passes_run(program, &context, PASS_BUILD, last))
        return NULL;
    program_number(program);
    return program;
}

static void accepts_compositions(void **state) {
    uint64_t trials = getenv("PLACE_FULL") ? 2000 : 150, programs = 0;
    for (uint64_t seed = 0; seed < trials; seed++) {
        struct arena arena = {0};
        struct source_files sources = {0};
        struct config config = random_strategy_config(&arena, seed);
        struct program *final = compile(&arena, &config, N_PASSES - 1);
        if (final) {
            struct program *reference = compile(&arena, &config, PASS_UPDATE);
            struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
            struct verdict verdict = verify(reference, final, &arena, diagnostics);
            if (verdict.kind != VERDICT_ACCEPTED) {
                diagnostics_print(diagnostics, stderr, false);
                fail_msg("composition %d is not accepted", (int)seed);
            }
            programs++;
        }
        arena_free(&arena);
    }
    assert_true(2 * programs > trials); // else most were refused before there was a program
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_compositions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
