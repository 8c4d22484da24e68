// What the compiler makes of every strategy of examples/ is accepted, for both model families and
// for several numbers of microbatches, before and after memory is planned.
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
    if (!passes_run(program, &context, PASS_BUILD, last)) {
        diagnostics_print(context.diagnostics, stderr, false);
        fail_msg("the program does not compile");
    }
    program_number(program);
    return program;
}

static void expect_accepted(enum model_family family, enum tiny_strategy strategy,
                            int64_t microbatches, enum pass last) {
    struct arena arena = {0};
    struct config config = tiny_strategy_config(&arena, family, strategy, microbatches);
    struct program *reference = compile(&arena, &config, PASS_UPDATE);
    struct program *final = compile(&arena, &config, last);
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    struct verdict verdict = verify(reference, final, &arena, diagnostics);
    if (verdict.kind != VERDICT_ACCEPTED) {
        diagnostics_print(diagnostics, stderr, false);
        if (getenv("PRINT"))
            program_print(final, stderr, NULL);
        fail_msg("%s with %d microbatches, after %s", tiny_strategy_names[strategy],
                 (int)microbatches, pass_rows[last].name);
    }
    arena_free(&arena);
}

static void accepts_what_is_derived(void **state) {
    static const int64_t microbatches[] = {1, 2, 3, 7};
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++)
        for (int strategy = 0; strategy < N_TINY_STRATEGIES; strategy++)
            for (unsigned m = 0; m < 4; m++)
                for (int last = PASS_PARTITION; last < N_PASSES; last++)
                    expect_accepted(family, strategy, microbatches[m], last);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_what_is_derived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
