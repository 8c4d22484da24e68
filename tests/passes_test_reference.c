// The reference program as text: build, differentiate, update of the tiny models against goldens.
// PLACE_UPDATE_GOLDENS in the environment writes them anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/derive.h"
#include "tests/tiny_models.h"

static void check_family(enum model_family family, const char *name) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, family);
    struct program *program = derive_program(&arena, &config, PASS_UPDATE, NULL);
    assert_non_null(program);
    check_golden(&arena, name, checked_text(&arena, program));
    arena_free(&arena);
}

static void test_gpt2(void **state) {
    check_family(FAMILY_GPT2, "reference_gpt2");
}

static void test_llama(void **state) {
    check_family(FAMILY_LLAMA, "reference_llama");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
