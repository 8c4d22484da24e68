// See derive.h.
#include "tests/derive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program *derive_program(struct arena *arena, const struct config *config, enum pass last,
                               struct diagnostics *diagnostics) {
    struct source_files sources = {0};
    struct pass_context context = {.config = config,
                                   .diagnostics = diagnostics ? diagnostics
                                                              : diagnostics_new(arena, &sources)};
    struct program *program = program_new(arena, "main");
    if (!passes_run(program, &context, PASS_BUILD, last))
        return NULL;
    program_number(program);
    return program;
}

char *checked_text(struct arena *arena, const struct program *program) {
    const char *wrong = program_check(program, arena, NULL);
    if (wrong)
        fail_msg("%s", wrong);
    char *text = program_text(program, arena);
    struct text_error error = {0};
    struct program *again = program_parse(arena, text, strlen(text), 0, &error);
    if (!again)
        fail_msg("%s: %.60s", error.message, text + error.span.begin);
    assert_string_equal(text, program_text(again, arena));
    return text;
}

void check_golden(struct arena *arena, const char *path, const char *text) {
    if (getenv("PLACE_UPDATE_GOLDENS")) {
        FILE *out = fopen(path, "wb");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
    }
    size_t capacity = strlen(text) + 2; // one more than is wanted: a longer file differs
    char *golden = arena_alloc(arena, capacity);
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("there is no %s", path);
    golden[fread(golden, 1, capacity - 1, in)] = 0;
    fclose(in);
    assert_string_equal(text, golden);
}
