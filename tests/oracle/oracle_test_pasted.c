// What is printed of a program is read in a file: of random strategies, the final program pasted
// behind the file that it was derived from is taken in as the same program. With
// PLACE_TEST_FULL=1 of many more.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"

enum { SOME = 150, MANY = 3000, MAX_PARTS = 128 };

// The parts that the language's parser finds; whatever it says of the text is a mistake.
static uint32_t find_parts(struct compiled *c, const char *text,
                           struct written_text parts[MAX_PARTS]) {
    struct ast_file file;
    uint32_t source, n = 0;
    if (!frontend_read_text(&c->arena, c->diagnostics, "pasted.place", text, strlen(text),
                            &source) ||
        !frontend_parse(&c->arena, c->diagnostics, source, &file)) {
        diagnostics_print(c->diagnostics, stderr, false);
        fail();
    }
    for (uint32_t i = 0; i < file.n; i++) {
        const struct ast_item *item = &file.items[i];
        if (item->kind != ITEM_STEP && item->kind != ITEM_UNIT)
            continue;
        assert_true(n < MAX_PARTS);
        parts[n].unit = item->kind == ITEM_UNIT ? item->program.unit.text : NULL;
        parts[n++].braces = item->program.program.span;
    }
    return n;
}

static bool check_pasted(uint64_t seed) {
    struct arena arena = {0};
    struct compiled c;
    struct composition composition = compose(&arena, seed, &small_dims);
    compile_text(&c, composition.text);
    if (c.final) {
        struct written_text parts[MAX_PARTS];
        struct text_error error;
        char *program = job_text(c.final, &arena);
        char *text = arena_format(&arena, "%s\n%s", composition.text, program);
        uint32_t n = find_parts(&c, text, parts);
        assert_int_equal(n, c.final->n_units + 1);
        struct program *pasted =
            job_only(job_parse_written(&arena, c.final, text, parts, n, &error));
        if (!pasted)
            fail_msg("composition %u: %s: %.60s", (unsigned)seed, error.message,
                     text + error.span.begin);
        assert_string_equal(job_text(pasted->job, &arena), program);
    }
    bool has_program = c.final != NULL;
    arena_free(&c.arena);
    arena_free(&arena);
    return has_program;
}

static void what_is_printed_is_read(void **state) {
    unsigned n = getenv("PLACE_TEST_FULL") ? MANY : SOME, n_programs = 0;
    for (unsigned i = 0; i < n; i++)
        n_programs += check_pasted(i * FAMILY_SIZE + i % FAMILY_SIZE);
    assert_true(n_programs > n / 2); // else too little was tried
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_printed_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
