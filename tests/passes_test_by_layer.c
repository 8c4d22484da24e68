// Found by layer are all selectors that cover it, in their order; and what a stretch names is one
// list for all of its layers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "passes/reference/by_layer.h"
#include "passes/reference/select.h"
#include "tests/random.h"

enum { SELECTORS = 30, LAYERS = 50 };

static int64_t random_below(uint64_t *state, int64_t n) {
    return (int64_t)(random_bits(state) % (uint64_t)n);
}

static struct selector random_selector(uint64_t *random) {
    struct selector selector = {.has_slice = random_below(random, 6) > 0};
    selector.slice_begin = random_below(random, LAYERS);
    selector.slice_end =
        selector.slice_begin + 1 + random_below(random, LAYERS - selector.slice_begin);
    selector.slice_step = 1 + random_below(random, 4);
    return selector;
}

static bool has_number(const struct stretch *stretch, uint32_t number) {
    for (uint32_t i = 0; i < stretch->n; i++)
        if (stretch->numbers[i] == number)
            return true;
    return false;
}

static void check_layer(const struct by_layer *index, const struct selector *selectors,
                        int64_t layer) {
    const struct stretch *stretch = stretch_at(index, layer);
    assert_true(stretch->begin <= layer && layer < stretch_end(index, stretch));
    for (uint32_t i = 0; i < SELECTORS; i++) {
        struct layer_range reach = reach_of(&selectors[i]);
        assert_int_equal(has_number(stretch, i), reach.begin <= layer && layer < reach.end);
        if (selector_covers(&selectors[i], layer))
            assert_true(has_number(stretch, i));
    }
    for (uint32_t i = 1; i < stretch->n; i++)
        assert_true(stretch->numbers[i - 1] < stretch->numbers[i]);
}

// The next layer that is covered and the one before it not, or the other way round, as found by asking each.
static void test_next_layer_of_a_slice(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 2000; i++) {
        struct selector selector = random_selector(&random);
        for (int64_t layer = 0; layer < LAYERS; layer++) {
            int64_t next = layer + 1;
            while (next <= LAYERS &&
                   selector_covers(&selector, next) == selector_covers(&selector, next - 1))
                next++;
            assert_int_equal(selector_next(&selector, layer), next <= LAYERS ? next : INT64_MAX);
        }
    }
}

static void test_all_that_cover_a_layer_are_found(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct arena arena = {0};
        struct selector selectors[SELECTORS];
        const struct selector *list[SELECTORS];
        uint64_t random = seed;
        for (uint32_t i = 0; i < SELECTORS; i++) {
            selectors[i] = random_selector(&random);
            list[i] = &selectors[i];
        }
        struct by_layer index = selectors_by_layer(&arena, list, SELECTORS);
        for (int64_t layer = 0; layer < LAYERS; layer++)
            check_layer(&index, selectors, layer);
        arena_free(&arena);
    }
}

static void test_without_selectors_nothing_reaches(void **state) {
    struct arena arena = {0};
    (void)state;
    struct by_layer index = selectors_by_layer(&arena, NULL, 0);
    assert_int_equal(stretch_at(&index, 7)->n, 0);
    assert_int_equal(stretch_end(&index, stretch_at(&index, 7)), INT64_MAX);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_layer_of_a_slice),
        cmocka_unit_test(test_all_that_cover_a_layer_are_found),
        cmocka_unit_test(test_without_selectors_nothing_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
