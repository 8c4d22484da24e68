// The syntax tree round-trips: what is printed parses without complaint, and printing that gives
// the same bytes. Run over every text of inputs/language, the examples and the library.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

// The canonical text, in the arena; fails the test with the diagnostics if there are any.
static char *canonical(struct arena *arena, const char *name, const char *text, size_t length) {
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(arena, &sources);
    uint32_t source;
    struct ast_file file;
    if (!frontend_read_text(arena, diagnostics, name, text, length, &source) ||
        !frontend_parse(arena, diagnostics, source, &file)) {
        diagnostics_print(diagnostics, stderr, false);
        fail_msg("%s does not parse", name);
    }
    char *printed;
    size_t printed_length;
    FILE *out = open_memstream(&printed, &printed_length);
    ast_print(&file, out);
    fclose(out);
    char *result = arena_string(arena, printed, printed_length);
    free(printed);
    return result;
}

static size_t round_trip(const char *path) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    uint32_t source;
    assert_true(frontend_read(&arena, diagnostics, path, &source));
    const struct source_file *file = &sources.items[source];
    char *once = canonical(&arena, path, file->text, file->length);
    char *twice = canonical(&arena, "printed", once, strlen(once));
    assert_string_equal(once, twice);
    size_t printed = strlen(once);
    arena_free(&arena);
    return printed;
}

static void test_all_texts_round_trip(void **state) {
    const char *patterns[] = {"inputs/language/*.place", "../examples/*.place", "../lib/*.place",
                              "../bench/*.place"};
    size_t files = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++, files++)
            assert_true(round_trip(found.gl_pathv[k]) > 0);
        globfree(&found);
    }
    assert_true(files >= 14);
}

// Nothing may be lost on the way: the canonical layout of a text that uses every shape, spelled
// out.
static void test_layout(void **state) {
    struct arena arena = {0};
    const char *text =
        "strategy some(axis a){split heads,kv_heads over a*b states:(S*+O,R,S,R)on a "
        "in layers[-4:],mlp{activations:sharded(tp by sequence),recomputed}}";
    const char *expected = "strategy some(axis a) {\n"
                           "    split heads, kv_heads over a * b\n"
                           "    states : (S*+O, R, S, R) on a\n"
                           "    in layers[-4:], mlp {\n"
                           "        activations : sharded(tp by sequence), recomputed\n"
                           "    }\n"
                           "}\n";
    assert_string_equal(canonical(&arena, "text", text, strlen(text)), expected);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_texts_round_trip),
        cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
