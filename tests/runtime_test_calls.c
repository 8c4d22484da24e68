/* The table of calls itself: that every row is complete and consistent, and that its function
 * exists with that signature. What the table says is checked against C's own prototypes by the
 * linker's symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/calls.h"

struct row {
    const char *name, *effect, *text;
    int since;
    void *function; /* taking the address makes the linker look for it */
};

static const struct row rows[] = {
#define CALL(call, first, effect_, work, what)                                                     \
    {.name = #call,                                                                                \
     .effect = #effect_,                                                                           \
     .text = what,                                                                                 \
     .since = first,                                                                               \
     .function = (void *)place_##call},
#include "runtime/calls.def"
};

struct argument {
    const char *name, *kind, *access, *text;
};

static const struct argument arguments[] = {
#define ARGUMENT(type, argument, use, what)                                                        \
    {.name = #argument, .kind = #type, .access = #use, .text = what},
#include "runtime/calls.def"
};

enum { ROWS = sizeof rows / sizeof rows[0], ARGUMENTS = sizeof arguments / sizeof arguments[0] };

static int is_one_of(const char *word, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0)
            return 1;
    return 0;
}

static void rows_are_complete(void **state) {
    static const char *const effects[] = {"COMPUTE", "COMMUNICATE", "OBSERVE", NULL};
    for (int i = 0; i < ROWS; i++) {
        assert_true(is_one_of(rows[i].effect, effects));
        assert_in_range(rows[i].since, 1, PLACE_ABI_VERSION);
        assert_non_null(rows[i].function);
        assert_true(strlen(rows[i].text) > 10);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(rows[i].name, rows[j].name);
    }
}

/* Scalars are values, pointers say what becomes of what they point to. */
static void arguments_are_consistent(void **state) {
    static const char *const scalars[] = {"I32", "I64", "F64", NULL};
    static const char *const accesses[] = {"READ", "WRITE", "UPDATE", "CODE", NULL};
    for (int i = 0; i < ARGUMENTS; i++) {
        const struct argument *a = &arguments[i];
        assert_true(strlen(a->name) > 0 && strlen(a->text) > 0);
        if (strcmp(a->kind, "PTR") == 0)
            assert_true(is_one_of(a->access, accesses));
        else
            assert_true(is_one_of(a->kind, scalars) && strcmp(a->access, "VALUE") == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(arguments_are_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
