// The loops of a rank's tasks stand for the same tasks, for all methods, and there are as many of
// them whatever the number of microbatches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "passes/pipeline/order.h"
#include "passes/pipeline/roll.h"

static uint32_t size_of(const struct rolled *items, uint32_t n) {
    uint32_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        size += items[i].n_body > 0 ? 1 + size_of(items[i].body, items[i].n_body) : 1;
    return size;
}

static void assert_rolled(const struct pipeline_shape *shape) {
    struct arena arena = {0};
    if (!shape_unfit(&arena, shape)) {
        const struct schedule *s = schedule_of_shape(&arena, shape);
        for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
            uint32_t n;
            const struct rank_tasks *tasks = &s->ranks[rank];
            const struct rolled *items = roll_tasks(&arena, tasks, shape->n_chunks, &n);
            struct rank_tasks again = unroll_tasks(&arena, items, n);
            assert_int_equal(again.n, tasks->n);
            for (uint32_t i = 0; i < tasks->n; i++) {
                assert_int_equal(again.tasks[i].kind, tasks->tasks[i].kind);
                assert_int_equal(again.tasks[i].overlapped, tasks->tasks[i].overlapped);
                assert_int_equal(again.tasks[i].stage, tasks->tasks[i].stage);
                assert_int_equal(again.tasks[i].microbatch, tasks->tasks[i].microbatch);
            }
        }
    }
    arena_free(&arena);
}

static void loops_stand_for_the_same_tasks(void **state) {
    (void)state;
    for (int method = 0; method < N_METHODS; method++)
        for (uint32_t p = 1; p <= 8; p++)
            for (uint32_t v = 1; v <= 4; v++)
                for (uint32_t m = 1; m <= 33; m++)
                    assert_rolled(&(struct pipeline_shape){(enum pipeline_method)method, p, v, m});
}

// The most parts that the text of a rank has.
static uint32_t most_parts(enum pipeline_method method, uint32_t p, uint32_t v, uint32_t m) {
    struct arena arena = {0};
    const struct schedule *s = schedule_of_shape(&arena, &(struct pipeline_shape){method, p, v, m});
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < p; rank++) {
        uint32_t n;
        const struct rolled *items = roll_tasks(&arena, &s->ranks[rank], v, &n);
        uint32_t size = size_of(items, n);
        most = size > most ? size : most;
    }
    arena_free(&arena);
    return most;
}

static void as_many_whatever_the_microbatches(void **state) {
    (void)state;
    for (int method = 0; method < N_METHODS; method++) {
        struct arena arena = {0};
        bool one = shape_unfit(&arena, &(struct pipeline_shape){method, 4, 2, 64});
        arena_free(&arena);
        uint32_t v = one ? 1 : 2;
        uint32_t few = most_parts(method, 4, v, 64), many = most_parts(method, 4, v, 1024);
        assert_int_equal(few, many);
    }
    assert_in_range(most_parts(METHOD_ONE_F_ONE_B, 64, 1, 1024), 1, 7);
}

// A round is some small loops for each chunk, not its tasks, however many ranks there are.
static void rounds_are_a_few_loops_for_each_chunk(void **state) {
    (void)state;
    for (uint32_t v = 2; v <= 8; v++)
        for (uint32_t p = 4; p <= 64; p *= 4)
            assert_in_range(most_parts(METHOD_INTERLEAVED, p, v, 8 * p), 4 * v, 18 * v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_stand_for_the_same_tasks),
        cmocka_unit_test(as_many_whatever_the_microbatches),
        cmocka_unit_test(rounds_are_a_few_loops_for_each_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
