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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_an_empty_table),
        cmocka_unit_test(each_has_its_number),
        cmocka_unit_test(names_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
