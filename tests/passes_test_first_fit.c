// Places are those that going through all items one by one finds, where lives lie in each other as
// those of layers do, and where they lie anyhow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "passes/schedule/first_fit.h"
#include "tests/random.h"

enum { N_ITEMS = 300, BASE = 128 };

// From the first value on to the last, beside what has only one.
static struct lifetime as_met_by(const struct lifetime *lives, const struct lifetime *other,
                                 struct interval *hull) {
    if (lives->n < 2 || other->n > 1)
        return *lives;
    *hull = (struct interval){lives->list[0].first, lives->list[lives->n - 1].last};
    return (struct lifetime){hull, 1};
}

static bool alive_together(const struct placed_item *a, const struct placed_item *b) {
    bool together = false;
    for (int s = 0; s < N_STEPS; s++) {
        struct interval hulls[2];
        struct lifetime x = as_met_by(&a->lives[s], &b->lives[s], &hulls[0]);
        struct lifetime y = as_met_by(&b->lives[s], &a->lives[s], &hulls[1]);
        for (uint32_t i = 0; i < x.n; i++)
            for (uint32_t k = 0; k < y.n; k++)
                together |= x.list[i].first <= y.list[k].last && y.list[k].first <= x.list[i].last;
    }
    return together;
}

static bool is_free(const struct placed_item *items, uint32_t n, const struct placed_item *item,
                    int64_t offset) {
    for (uint32_t i = 0; i < n; i++)
        if (alive_together(&items[i], item) &&
            items[i].offset < offset + aligned_bytes(item->bytes) &&
            offset < items[i].offset + aligned_bytes(items[i].bytes))
            return false;
    return true;
}

// The lowest of where it may begin: at the base or behind another.
static int64_t lowest(const struct placed_item *items, uint32_t n, const struct placed_item *item) {
    int64_t best = is_free(items, n, item, BASE) ? BASE : INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        int64_t offset = items[i].offset + aligned_bytes(items[i].bytes);
        if (offset < best && is_free(items, n, item, offset))
            best = offset;
    }
    return best;
}

static void check_places(struct placed_item *items) {
    struct arena arena = {0};
    int64_t end = BASE, found = first_fit(&arena, items, N_ITEMS, BASE);
    for (uint32_t i = 0; i < N_ITEMS; i++) {
        if (i > 0)
            assert_true(items[i - 1].bytes >= items[i].bytes);
        assert_int_equal(items[i].offset, lowest(items, i, &items[i]));
        if (items[i].offset + items[i].bytes > end)
            end = items[i].offset + items[i].bytes;
    }
    assert_int_equal(found, end);
    arena_free(&arena);
}

// What is listed here lives as long as the test.
static struct lifetime listed(const struct interval *list, uint32_t n) {
    static struct interval all[64 * N_ITEMS];
    static uint32_t n_all;
    if (n_all + n > sizeof all / sizeof *all)
        n_all = 0;
    memcpy(&all[n_all], list, n * sizeof *list);
    n_all += n;
    return (struct lifetime){&all[n_all - n], n};
}

static struct placed_item alive_in_training(uint32_t id, int64_t bytes, int64_t first,
                                            int64_t last) {
    struct placed_item item = {.bytes = bytes, .id = id};
    item.lives[STEP_TRAIN] = listed(&(struct interval){first, last}, 1);
    return item;
}

static int64_t random_below(uint64_t *state, int64_t n) {
    return (int64_t)(random_bits(state) % (uint64_t)n);
}

static void test_layers_have_the_lowest_places(void **state) {
    struct placed_item items[N_ITEMS];
    uint64_t random = 1;
    (void)state;
    for (uint32_t i = 0; i < N_ITEMS; i++) {
        bool kept = random_below(&random, 3) > 0; // else it lives in its layer only
        int64_t bytes = 1 + 100 * random_below(&random, 3);
        items[i] = alive_in_training(i, bytes, i, kept ? 2 * N_ITEMS - i : i + 1);
    }
    check_places(items);
}

// Below an item that was put above a large one, where that is not alive.
static void test_room_between_items_is_found(void **state) {
    struct placed_item items[N_ITEMS];
    (void)state;
    for (uint32_t i = 0; i < N_ITEMS; i++)
        items[i] = alive_in_training(i, 64, 2, 9);
    items[0] = alive_in_training(0, 64 * 200, 0, 1);
    items[1] = alive_in_training(1, 64 * 150, 0, 9);
    check_places(items);
}

static void test_any_lives_have_the_lowest_places(void **state) {
    struct placed_item items[N_ITEMS];
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        uint64_t random = seed;
        for (uint32_t i = 0; i < N_ITEMS; i++) {
            items[i] = (struct placed_item){.bytes = 1 + random_below(&random, seed % 2 ? 2000 : 4),
                                            .id = i};
            for (int s = 0; s < N_STEPS; s++) {
                struct interval lives[4];
                uint32_t n = (uint32_t)random_below(&random, 5);
                int64_t first = random_below(&random, 60);
                for (uint32_t k = 0; k < n; k++, first = lives[k - 1].last + 1) {
                    lives[k].first = first + random_below(&random, 20);
                    lives[k].last = lives[k].first + random_below(&random, 20);
                }
                items[i].lives[s] = listed(lives, n);
            }
        }
        check_places(items);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_have_the_lowest_places),
        cmocka_unit_test(test_room_between_items_is_found),
        cmocka_unit_test(test_any_lives_have_the_lowest_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
