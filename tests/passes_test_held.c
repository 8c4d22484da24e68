// Bytes held by ranges that come and go, against counting each byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "passes/schedule/held.h"
#include "tests/random.h"

enum { BYTES = 40, RANGES = 30, CHANGES = 400 };

static int64_t count_bytes(const struct held_range *ranges, const bool *there) {
    int64_t held = 0;
    for (int64_t byte = 0; byte < BYTES; byte++) {
        bool any = false;
        for (int i = 0; i < RANGES; i++)
            any = any || (there[i] && ranges[i].begin <= byte && byte < ranges[i].end);
        held += any;
    }
    return held;
}

static void test_shared_bytes_count_once(void **state) {
    struct arena arena = {0};
    struct held_range ranges[RANGES];
    int64_t borders[2 * RANGES];
    bool there[RANGES] = {false};
    uint64_t random = 1;
    for (int i = 0; i < RANGES; i++) {
        borders[2 * i] = ranges[i].begin = (int64_t)(random_bits(&random) % 32);
        borders[2 * i + 1] = ranges[i].end = ranges[i].begin + (int64_t)(random_bits(&random) % 8);
    }
    struct held_bytes held = held_new(&arena, borders, 2 * RANGES);
    for (int k = 0; k < CHANGES; k++) {
        uint64_t i = random_bits(&random) % RANGES;
        there[i] = !there[i];
        held_change(&held, ranges[i], there[i] ? 1 : -1);
        assert_int_equal(held_in_all(&held), count_bytes(ranges, there));
    }
    arena_free(&arena);
}

static void test_no_range_holds_nothing(void **state) {
    struct arena arena = {0};
    struct held_bytes held = held_new(&arena, NULL, 0);
    assert_int_equal(held_in_all(&held), 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_bytes_count_once),
        cmocka_unit_test(test_no_range_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
