// The table of names against a list that is searched: what was added is found under its number,
// whatever else is, and nothing else is found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/names.h"

enum { N_NAMES = 5000 };

static const char *name_of(struct arena *arena, uint32_t i) {
    return arena_format(arena, "block.%u.weight", i);
}

static void nothing_is_in_an_empty_table(void **state) {
    struct names names = {0};
    assert_int_equal(names_find(&names, ""), NOT_NAMED);
    assert_int_equal(names_find(&names, "x"), NOT_NAMED);
}

static void each_has_its_number(void **state) {
    struct arena arena = {0};
    struct names names = {.arena = &arena};
    for (uint32_t i = 0; i < N_NAMES; i++) {
        assert_int_equal(names_find(&names, name_of(&arena, i)), NOT_NAMED);
        names_add(&names, name_of(&arena, i), i);
        assert_int_equal(names_find(&names, name_of(&arena, i / 2)), i / 2);
    }
    assert_int_equal(names.n, N_NAMES);
    for (uint32_t i = 0; i < 2 * N_NAMES; i++)
        assert_int_equal(names_find(&names, name_of(&arena, i)), i < N_NAMES ? i : NOT_NAMED);
    arena_free(&arena);
}

// The empty name, beginnings of one another, and numbers in any order.
static void names_are_told_apart(void **state) {
    static const char *const all[] = {"", "a", "aa", "aaa", "b", "ab", "ba", "a b", "a b "};
    enum { N = sizeof all / sizeof *all };
    struct arena arena = {0};
    struct names names = {.arena = &arena};
    for (uint32_t i = 0; i < N; i++)
        names_add(&names, all[i], N - i);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(names_find(&names, all[i]), N - i);
    arena_free(&arena);
}

// Numbers are counted on where some are in the table, and behind a name that has one by itself.
static void fresh_names_are_not_in_the_table(void **state) {
    static const char *const expected[] = {"a", "a.2", "a.4", "a.5"};
    enum { N = sizeof expected / sizeof *expected };
    struct arena arena = {0};
    struct names names = {.arena = &arena};
    (void)state;
    assert_string_equal(names_fresh(&names, "a", '.'), "a");
    names_add(&names, "a.3", 0);
    for (uint32_t i = 0; i < N; i++) {
        const char *name = names_fresh(&names, "a", '.');
        assert_string_equal(name, expected[i]);
        names_add(&names, name, i);
    }
    assert_string_equal(names_fresh(&names, "a.2", '.'), "a.2.2");
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_an_empty_table),
        cmocka_unit_test(each_has_its_number),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(fresh_names_are_not_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
