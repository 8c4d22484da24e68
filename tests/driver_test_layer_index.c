// What an index of ranges finds for a layer, beside a look at each range: random ones, in turns
// too, one range over all, and what is in no layer by itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/layer_index.h"
#include "tests/random.h"

enum { MAX_RANGES = 40, LAYERS = 50, TRIALS = 500 };

static struct layers random_layers(uint64_t *random) {
    int64_t begin = (int64_t)(random_bits(random) % LAYERS);
    int64_t length = 1 + (int64_t)(random_bits(random) % (uint64_t)(LAYERS - begin));
    int64_t step = 1 + (int64_t)(random_bits(random) % 4);
    struct layers made = {begin, begin + length, step,
                          1 + (int64_t)(random_bits(random) % (uint64_t)step)};
    switch (random_bits(random) % 8) {
    case 0:
        return (struct layers){0, 0, 1, 1};
    case 1:
        return (struct layers){0, LAYERS, 1, 1};
    case 2: // one layer
        made.end = begin + 1;
        return made;
    default:
        return made;
    }
}

static bool is_in(const struct layers *layers, int64_t layer) {
    if (layers->end == 0)
        return true;
    for (int64_t first = layers->begin; first < layers->end; first += layers->step)
        for (int64_t i = first; i < first + layers->width && i < layers->end; i++)
            if (i == layer)
                return true;
    return false;
}

static void check_layer(const struct layer_index *index, const struct layers *ranges, uint32_t n,
                        int64_t layer) {
    unsigned found[MAX_RANGES] = {0};
    struct layer_search search = search_layer(index, layer);
    uint32_t at;
    while (search_next(&search, &at)) {
        assert_true(at < n);
        found[at]++;
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(found[i], is_in(&ranges[i], layer));
}

static void finds_what_a_look_at_each_finds(void **state) {
    uint64_t random = 7;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct arena arena = {0};
        struct layer_index index = {0};
        struct layers ranges[MAX_RANGES];
        uint32_t n = (uint32_t)(random_bits(&random) % (MAX_RANGES + 1));
        for (uint32_t i = 0; i < n; i++)
            layer_index_add(&arena, &index, ranges[i] = random_layers(&random), i);
        layer_index_sort(&index);
        for (int64_t layer = 0; layer <= LAYERS; layer++)
            check_layer(&index, ranges, n, layer);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_a_look_at_each_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
