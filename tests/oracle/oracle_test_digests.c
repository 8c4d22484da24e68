// Final programs stay letter for letter what they were: a digest of each example's, and of each of
// many random strategies' (or, where one is refused, of what is said), stands in
// golden/programs.digests. A change that is meant to alter programs writes the file anew, with
// PLACE_UPDATE_GOLDENS in the environment, and says in its commit what was altered and why.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"
#include "tests/sample.h"

enum { N_COMPOSITIONS = 500, MAX_EXAMPLES = 200 };
static const char digests_path[] = "../golden/programs.digests";

// What is said about a text, as the command prints it.
static const char *said(struct arena *arena, const struct diagnostics *diagnostics) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    diagnostics_print(diagnostics, to, false);
    fclose(to);
    const char *copy = arena_format(arena, "%s", text);
    free(text);
    return copy;
}

static const char *line_of(struct arena *arena, const char *name, const struct compiled *c) {
    const char *text = c->final ? job_text(c->final, arena) : said(arena, c->diagnostics);
    return arena_format(arena, "%s %s %s\n", name,
                        c->final ? "program" : first_code(c->diagnostics), text_sum(arena, text));
}

// ---- the file ---------------------------------------------------------------------------------

static const char *read_digests(struct arena *arena) {
    FILE *in = fopen(digests_path, "rb");
    if (!in)
        fail_msg("there is no %s", digests_path);
    size_t capacity = 1 << 20;
    char *text = arena_alloc(arena, capacity);
    text[fread(text, 1, capacity - 1, in)] = 0;
    fclose(in);
    return text;
}

// Lines are looked for one by one, since slow builds make some only.
static void check_line(const char *digests, const char *line) {
    if (!strstr(digests, line))
        fail_msg("not in %s: %s", digests_path, line);
}

// ---- the programs -----------------------------------------------------------------------------

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static uint32_t find_examples(struct arena *arena, const char *names[MAX_EXAMPLES]) {
    DIR *folder = opendir("../../examples");
    assert_non_null(folder);
    uint32_t n = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strstr(entry->d_name, ".place")) {
            assert_true(n < MAX_EXAMPLES);
            names[n++] = arena_format(arena, "%s", entry->d_name);
        }
    closedir(folder);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

static const char *line_of_example(struct arena *arena, const char *name) {
    struct compiled c;
    derive_file(&c, arena_format(arena, "../../examples/%s", name), "../..");
    const char *line = line_of(arena, name, &c);
    arena_free(&c.arena);
    return line;
}

// Compositions of different families, so that models and training differ, too.
static const char *line_of_composition(struct arena *arena, uint64_t i) {
    struct compiled c;
    struct composition composition = compose(arena, i * FAMILY_SIZE + i % FAMILY_SIZE, &small_dims);
    derive_text(&c, composition.text);
    const char *line =
        line_of(arena, arena_format(arena, "composition.%llu", (unsigned long long)i), &c);
    arena_free(&c.arena);
    return line;
}

static void programs_are_the_same(void **state) {
    struct arena arena = {0};
    const char *names[MAX_EXAMPLES];
    uint32_t n = find_examples(&arena, names), every = (uint32_t)sample_every();
    FILE *out = getenv("PLACE_UPDATE_GOLDENS") ? fopen(digests_path, "wb") : NULL;
    const char *digests = out ? NULL : read_digests(&arena);
    for (uint32_t i = 0; i < n + N_COMPOSITIONS; i += out ? 1 : every) {
        const char *line =
            i < n ? line_of_example(&arena, names[i]) : line_of_composition(&arena, i - n);
        if (out)
            fputs(line, out);
        else
            check_line(digests, line);
    }
    if (out)
        assert_int_equal(fclose(out), 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
