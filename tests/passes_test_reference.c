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

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"

static char *printed(const struct program *program) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    program_print(program, out, &(struct print_options){0});
    fclose(out);
    return text;
}

// The text is also read back and printed again: it says all there is to say.
static char *reference_text(struct arena *arena, const struct config *config) {
    struct pass_context context = {config, diagnostics_new(arena, NULL)};
    struct program *program = program_new(arena, "main");
    assert_true(passes_run(program, &context, PASS_BUILD, PASS_UPDATE));
    assert_null(program_check(program, arena, NULL));
    char *text = printed(program);
    struct text_error error = {0};
    struct program *again = program_parse(arena, text, strlen(text), 0, &error);
    assert_non_null(again);
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

static void check_golden(enum model_family family, const char *path) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, family);
    char *text = reference_text(&arena, &config);
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
    free(text);
    arena_free(&arena);
}

static void test_gpt2(void **state) {
    check_golden(FAMILY_GPT2, "golden/reference_gpt2.program");
}

static void test_llama(void **state) {
    check_golden(FAMILY_LLAMA, "golden/reference_llama.program");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
