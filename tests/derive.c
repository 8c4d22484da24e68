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
    if (!passes_run(program->job, &context, PASS_BUILD, last))
        return NULL;
    job_number(program->job);
    return program;
}

char *checked_text(struct arena *arena, const struct program *program) {
    const char *wrong = job_check(program->job, arena, NULL);
    if (wrong)
        fail_msg("%s", wrong);
    char *text = job_text(program->job, arena);
    struct text_error error = {0};
    struct program *again = job_only(job_parse(arena, text, strlen(text), 0, &error));
    if (!again)
        fail_msg("%s: %.60s", error.message, text + error.span.begin);
    assert_string_equal(text, job_text(again->job, arena));
    return text;
}

// A whole file; NULL: there is none.
static char *read_golden(struct arena *arena, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    fseek(in, 0, SEEK_END);
    size_t size = (size_t)ftell(in);
    char *text = arena_alloc(arena, size + 1);
    rewind(in);
    assert_int_equal(fread(text, 1, size, in), size);
    text[size] = 0;
    fclose(in);
    return text;
}

static void write_golden(const char *path, const char *text) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

// The line of a name, or a new one behind the others. It begins with the end of the line before.
static const char *with_digest(struct arena *arena, const char *digests, const char *name,
                               const char *line) {
    const char *at = strstr(digests, arena_format(arena, "%s ", name));
    const char *end = at ? strchr(at + 1, '\n') : NULL;
    if (!end)
        return arena_format(arena, "%s%s", digests, line + 1);
    return arena_format(arena, "%.*s%s%s", (int)(at - digests), digests, line, end + 1);
}

static void check_digest(struct arena *arena, const char *name, const char *text) {
    static const char path[] = "golden/passes.digests";
    const char *digests = read_golden(arena, path);
    assert_non_null(digests);
    // Names begin lines, and one may end another.
    digests = arena_format(arena, "\n%s", digests);
    name = arena_format(arena, "\n%s", name);
    const char *line = arena_format(arena, "%s %s\n", name, text_sum(arena, text));
    if (getenv("PLACE_UPDATE_GOLDENS"))
        write_golden(path, with_digest(arena, digests, name, line) + 1);
    else if (!strstr(digests, line))
        fail_msg("%s is not as %s says:\n%s", name + 1, path, text);
}

void check_golden(struct arena *arena, const char *name, const char *text) {
    const char *path = arena_format(arena, "golden/%s.program", name);
    const char *golden = read_golden(arena, path);
    if (!golden)
        check_digest(arena, name, text);
    else if (getenv("PLACE_UPDATE_GOLDENS"))
        write_golden(path, text);
    else
        assert_string_equal(text, golden);
}
