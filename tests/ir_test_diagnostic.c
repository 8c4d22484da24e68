// Diagnostics as text: carets under several ranges in the order of lines, notes, help with the
// lines as they would be; what is cut, replaced or dropped so that any source can be shown.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/config.h"
#include "ir/diagnostic.h"

struct fixture {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
};

static struct fixture fixture_new(void) {
    struct fixture f = {0};
    return f;
}

static uint32_t add(struct fixture *f, const char *name, const char *text) {
    if (!f->diagnostics)
        f->diagnostics = diagnostics_new(&f->arena, &f->sources);
    return source_add(&f->sources, &f->arena, name, text, strlen(text));
}

// The first appearance of `part` in the source.
static struct span find(const struct fixture *f, uint32_t source, const char *part) {
    const char *text = f->sources.items[source].text, *at = strstr(text, part);
    assert_non_null(at);
    return span_of(source, (uint32_t)(at - text), (uint32_t)(at - text + strlen(part)));
}

static void expect(struct fixture *f, bool colour, const char *expected) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    diagnostics_print(f->diagnostics, out, colour);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    arena_free(&f->arena);
}

static void test_labels_in_order_of_lines(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place",
                          "strategy main {\n  optimizer   : replicated\n"
                          "  gradients   : sharded(dp)\n}\n");
    struct diagnostic *d = report(f.diagnostics, E402, find(&f, source, "sharded(dp)"),
                                  "gradients are sharded over `%s`", "dp");
    diagnostic_say(d, "each device keeps 1/%d", 8);
    diagnostic_label(d, find(&f, source, "replicated"), "each device updates the whole");
    diagnostic_help(d, "shard the optimizer too");
    diagnostic_edit(d, find(&f, source, "replicated"), "sharded(dp)");
    expect(&f, false,
           "z.place:3:17: error[E402]: gradients are sharded over `dp`\n"
           "    2 |   optimizer   : replicated\n"
           "      |                 ---------- each device updates the whole\n"
           "    3 |   gradients   : sharded(dp)\n"
           "      |                 ^^^^^^^^^^^ each device keeps 1/8\n"
           "  help: shard the optimizer too\n"
           "    2 |   optimizer   : sharded(dp)\n");
}

static void test_labels_of_one_line_and_far_lines(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place", "one two three\n\n\nfour\n");
    struct diagnostic *d = report(f.diagnostics, E103, find(&f, source, "three"), "m");
    diagnostic_label(d, find(&f, source, "four"), "last");
    diagnostic_label(d, find(&f, source, "one"), "first");
    expect(&f, false,
           "z.place:1:9: error[E103]: m\n"
           "    1 | one two three\n"
           "      | --- first\n"
           "      |         ^^^^^\n"
           "  ...\n"
           "    4 | four\n"
           "      | ---- last\n");
}

// Tabs are one column, a character of several bytes too; a carriage return is not shown.
static void test_columns(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place", "\tfaçon : x\r\n");
    report(f.diagnostics, W810, find(&f, source, ": x"), "m");
    expect(&f, false,
           "z.place:1:9: warning[W810]: m\n"
           "    1 |  façon : x\n"
           "      |        ^^^\n");
}

static void test_other_files_and_notes(void **state) {
    struct fixture f = fixture_new();
    uint32_t user = add(&f, "user.place", "use zero1(dp)\n");
    uint32_t library = add(&f, "library.place", "states : (R, S, R, R) on a\n");
    struct origin said = {.kind = ORIGIN_STATEMENT, .span = find(&f, library, "states")};
    struct origin brought = {
        .kind = ORIGIN_USE, .span = find(&f, user, "use zero1(dp)"), .inner = &said};
    struct diagnostic *d = report(f.diagnostics, E305, origin_span(&brought), "m");
    diagnostic_label(d, find(&f, library, "S"), "label");
    diagnostic_origin(d, &brought);
    assert_string_equal(d->origin, "statement at library.place:1:1, from use at user.place:1:1");
    expect(&f, false,
           "user.place:1:1: error[E305]: m\n"
           "    1 | use zero1(dp)\n"
           "      | ^^^^^^^^^^^^^\n"
           "  in library.place:\n"
           "    1 | states : (R, S, R, R) on a\n"
           "      |              - label\n"
           "  note: library.place:1:1: the statement itself\n"
           "    1 | states : (R, S, R, R) on a\n"
           "      | ------\n");
}

static void test_long_lines_are_cut(void **state) {
    struct fixture f = fixture_new();
    char *line = arena_alloc(&f.arena, 1001);
    memset(line, 'a', 1000);
    memcpy(line + 700, "HERE", 4);
    uint32_t source = add(&f, "z.place", line);
    report(f.diagnostics, E101, find(&f, source, "HERE"), "m");
    char before[41] = "", after[117] = "";
    memset(before, 'a', 40);
    memset(after, 'a', 116);
    expect(&f, false,
           arena_format(&f.arena,
                        "z.place:1:701: error[E101]: m\n"
                        "    1 | ...%sHERE%s...\n"
                        "      |    %40s^^^^\n",
                        before, after, ""));
}

static void test_edits_of_several_lines(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place", "a = 1\nb = 2  c = 3\n");
    struct diagnostic *d = report(f.diagnostics, E101, find(&f, source, "a"), "m");
    diagnostic_help(d, "h");
    diagnostic_edit(d, find(&f, source, "3"), "30");
    diagnostic_edit(d, find(&f, source, "1"), "10\nz = 9");
    diagnostic_edit(d, find(&f, source, "b"), "B");
    size_t length;
    char *text = diagnostic_apply_edits(d, &f.arena, source, &length);
    assert_string_equal(text, "a = 10\nz = 9\nB = 2  c = 30\n");
    assert_int_equal(length, strlen(text));
    expect(&f, false,
           "z.place:1:1: error[E101]: m\n"
           "    1 | a = 1\n"
           "      | ^\n"
           "  help: h\n"
           "    1 | a = 10\n"
           "    2 | z = 9\n"
           "    2 | B = 2  c = 30\n");
}

static void test_overlapping_edits_are_refused(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place", "abcdef");
    struct diagnostic *d = report(f.diagnostics, E101, find(&f, source, "a"), "m");
    diagnostic_edit(d, find(&f, source, "bcd"), "x");
    diagnostic_edit(d, find(&f, source, "cde"), "y");
    size_t length;
    assert_null(diagnostic_apply_edits(d, &f.arena, source, &length));
    arena_free(&f.arena);
}

static void test_limit_and_colour(void **state) {
    struct fixture f = fixture_new();
    uint32_t source = add(&f, "z.place", "x\n");
    f.diagnostics->limit = 1;
    for (int i = 0; i < 4; i++) {
        struct diagnostic *d = report(f.diagnostics, E103, find(&f, source, "x"), "m%d", i);
        diagnostic_note(d, "n");
    }
    assert_int_equal(f.diagnostics->n_errors, 4);
    assert_int_equal(f.diagnostics->n_items, 1);
    expect(&f, true,
           "\033[1mz.place:1:1: \033[1;31merror[E103]\033[0m: \033[1mm0\033[0m\n"
           "\033[2m    1 |\033[0m x\n"
           "\033[2m      |\033[0m \033[1;31m^\033[0m\n"
           "  \033[1mnote\033[0m: n\n"
           "3 more not shown; --error-limit=0 shows all\n");
}

static void test_nearest_name(void **state) {
    static const char *const names[] = {"gradients", "parameters", "sharded", "dp"};
    assert_string_equal(nearest_name("gradient", names, 4), "gradients");
    assert_string_equal(nearest_name("paramters", names, 4), "parameters");
    assert_string_equal(nearest_name("Sharded", names, 4), "sharded");
    assert_string_equal(nearest_name("shard", names, 4), "sharded");
    assert_null(nearest_name("tp", names, 4));
    assert_null(nearest_name("replicated", names, 4));
}

static void test_codes(void **state) {
    assert_int_equal(diagnostic_find("E402"), E402);
    assert_int_equal(diagnostic_find("e402"), E402);
    assert_int_equal(diagnostic_find("E999"), -1);
    for (int i = 0; i < N_DIAGNOSTIC_CODES; i++) // a W is a warning, an E is none
        assert_int_equal(diagnostic_rows[i].severity == SEVERITY_WARNING,
                         diagnostic_rows[i].text[0] == 'W');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_in_order_of_lines),
        cmocka_unit_test(test_labels_of_one_line_and_far_lines),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_other_files_and_notes),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_edits_of_several_lines),
        cmocka_unit_test(test_overlapping_edits_are_refused),
        cmocka_unit_test(test_limit_and_colour),
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
