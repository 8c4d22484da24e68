// Diagnostics of the language, whole: every inputs/errors/CODE_what.place is refused (a W:
// accepted) with that code, and what is printed is exactly the text beside it. `-D name=value` and
// `--ranks N` on its first line are options.
//
// PLACE_UPDATE_EXPECTED=1 rewrites the texts; read what changed before committing it.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "frontend/read.h"

enum { MAX_SETTINGS = 16 };

// What the first line asks for, as a command line would.
static void read_options(struct arena *arena, const char *text, struct frontend_options *options) {
    const char **settings = ARENA_ARRAY(arena, const char *, MAX_SETTINGS);
    char *line = arena_string(arena, text, strcspn(text, "\n"));
    options->settings = settings;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        if (strcmp(word, "-D") == 0)
            settings[options->n_settings++] = strtok(NULL, " ");
        if (strcmp(word, "--ranks") == 0)
            options->ranks = atoi(strtok(NULL, " "));
    }
}

static char *printed(struct arena *arena, const struct diagnostics *diagnostics) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    diagnostics_print(diagnostics, out, false);
    fclose(out);
    char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

// Reads a whole file into the arena; "" when there is none.
static char *file_text(struct arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return arena_string(arena, "", 0);
    size_t length;
    char *bytes = read_bytes(file, 1 << 20, &length);
    fclose(file);
    char *kept = arena_string(arena, bytes, length);
    free(bytes);
    return kept;
}

static void compare_printed(struct arena *arena, const char *path, const char *got) {
    char *expected_path = arena_format(arena, "%.*s.txt", (int)strlen(path) - 6, path);
    if (getenv("PLACE_UPDATE_EXPECTED")) {
        FILE *out = fopen(expected_path, "wb");
        assert_non_null(out);
        fputs(got, out);
        assert_int_equal(fclose(out), 0);
        return;
    }
    const char *expected = file_text(arena, expected_path);
    if (strcmp(expected, got) != 0) {
        fprintf(stderr, "--- expected (%s)\n%s--- got\n%s", expected_path, expected, got);
        fail_msg("%s: the diagnostics differ", path);
    }
}

static void check_file(const char *path) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    struct frontend_options options = {0};
    struct config config;
    struct ast_file file;
    uint32_t source;
    assert_true(frontend_read(&arena, diagnostics, path, &source));
    read_options(&arena, sources.items[source].text, &options);
    bool parsed = frontend_parse(&arena, diagnostics, source, &file);
    bool resolved = frontend_resolve(&arena, diagnostics, &file, &options, &config);
    const char *name = strrchr(path, '/') + 1;
    assert_int_equal(parsed && resolved, name[0] == 'W');
    bool found = false;
    for (uint32_t i = 0; i < diagnostics->n_items; i++)
        found |= strncmp(diagnostic_rows[diagnostics->items[i]->code].text, name, 4) == 0;
    if (!found)
        fail_msg("%s: its code is not reported", path);
    compare_printed(&arena, path, printed(&arena, diagnostics));
    arena_free(&arena);
}

static void test_errors(void **state) {
    glob_t found;
    assert_int_equal(glob("inputs/errors/[EW]*.place", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    assert_true(found.gl_pathc >= 60);
    globfree(&found);
}

// Every code of the language has a file, but for those that only a file system can cause.
static void test_every_code_is_shown(void **state) {
    for (int code = 0; code < N_DIAGNOSTIC_CODES; code++) {
        const char *text = diagnostic_rows[code].text;
        char pattern[64];
        glob_t found;
        if (strncmp(text, "E1", 2) != 0 || code == E100)
            continue;
        snprintf(pattern, sizeof pattern, "inputs/errors/%s_*.place", text);
        if (glob(pattern, 0, NULL, &found) != 0)
            fail_msg("no file inputs/errors/%s_*.place", text);
        globfree(&found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_every_code_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
