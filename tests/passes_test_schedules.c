// Schedules of all methods: each can run and does every task once, and idles and holds as much as
// is published: of GPipe, 1F1B and the interleaved one in "Efficient Large-Scale Language Model
// Training on GPU Clusters Using Megatron-LM", of ZB-H1, ZB-H2 and ZB-V in "Zero Bubble Pipeline
// Parallelism", of the other V shapes in "Pipeline Parallelism with Controllable Memory", of
// DualPipeV in its README.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "passes/pipeline/order.h"

enum { MOST_RANKS = 8, MOST_CHUNKS = 4, MOST_MICROBATCHES = 33 };

// Checks every shape that the method has.
static void for_shapes(enum pipeline_method method,
                       void (*check)(struct arena *, const struct pipeline_shape *,
                                     const struct schedule *, const struct simulation *)) {
    unsigned n = 0;
    for (uint32_t p = 1; p <= MOST_RANKS; p++)
        for (uint32_t v = 1; v <= MOST_CHUNKS; v++)
            for (uint32_t m = 1; m <= MOST_MICROBATCHES; m++) {
                struct arena arena = {0};
                struct pipeline_shape shape = {method, p, v, m};
                struct simulation simulation;
                if (!shape_unfit(&arena, &shape)) {
                    const struct schedule *s = schedule_of_shape(&arena, &shape);
                    struct schedule_fault fault;
                    if (schedule_is_wrong(&arena, s, &fault))
                        fail_msg("%s p=%u v=%u m=%u: %s", method_names[method], p, v, m,
                                 fault.what);
                    if (!schedule_simulate(&arena, s, NULL, &simulation))
                        fail_msg("%s p=%u v=%u m=%u cannot run", method_names[method], p, v, m);
                    check(&arena, &shape, s, &simulation);
                    n++;
                }
                arena_free(&arena);
            }
    assert_in_range(n, 200, MOST_RANKS * MOST_CHUNKS * MOST_MICROBATCHES);
}

static void assert_bubble(const struct simulation *s, int64_t idle, int64_t whole) {
    assert_int_equal(s->bubble.numerator * whole, idle * s->bubble.denominator);
}

static uint32_t most_in_flight(const struct simulation *s, uint32_t n_ranks) {
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        most = s->ranks[rank].in_flight > most ? s->ranks[rank].in_flight : most;
    return most;
}

// The first and the last bubble of a rank are of length p - 1, in units of a chunk; that F and B
// are of lengths 1 and 2 does not matter to the share.
static void check_rounds(struct arena *arena, const struct pipeline_shape *shape,
                         const struct schedule *schedule, const struct simulation *s) {
    (void)arena, (void)schedule;
    uint32_t p = shape->n_ranks, v = shape->n_chunks, m = shape->n_microbatches;
    uint32_t first = s->ranks[0].in_flight;
    if (m >= p)
        assert_bubble(s, p - 1, (int64_t)v * m + p - 1);
    switch (shape->method) {
    case METHOD_GPIPE:
    case METHOD_LOOPED_BFS:
        assert_int_equal(first, v * m);
        break;
    case METHOD_ONE_F_ONE_B:
        assert_int_equal(first, m < p ? m : p);
        break;
    case METHOD_EAGER:
        assert_int_equal(first, m < 2 * p - 1 ? m : 2 * p - 1);
        break;
    default: // (1 + (p - 1) / (p v)) p v chunks, of rounds of p
        if (m % p == 0 && m > p)
            assert_int_equal(first, p * v + p - 1);
    }
}

static void all_run_as_long_as_published(void **state) {
    (void)state;
    static const enum pipeline_method methods[] = {METHOD_GPIPE, METHOD_ONE_F_ONE_B, METHOD_EAGER,
                                                   METHOD_INTERLEAVED, METHOD_LOOPED_BFS};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for_shapes(methods[i], check_rounds);
}

static void check_zero_bubble(struct arena *arena, const struct pipeline_shape *shape,
                              const struct schedule *schedule, const struct simulation *s) {
    (void)arena, (void)schedule;
    uint32_t p = shape->n_ranks, v = shape->n_chunks, m = shape->n_microbatches;
    bool second = shape->method == METHOD_ZB_H2;
    if (m < 2 * p)
        return;
    assert_bubble(s, p - 1, (int64_t)3 * v * m + p - 1);
    if (second)
        assert_int_equal(s->span_bubble.numerator, 0);
    for (uint32_t rank = 0; rank < p && v == 1; rank++) {
        assert_int_equal(s->ranks[rank].in_flight, second ? 2 * p - 1 : p);
        assert_int_equal(s->ranks[rank].until_inputs, (second ? 2 : 1) * (p - rank - 1) + 1);
    }
}

static void weights_fill_the_bubble(void **state) {
    (void)state;
    for_shapes(METHOD_ZB_H1, check_zero_bubble);
    for_shapes(METHOD_ZB_H2, check_zero_bubble);
    for_shapes(METHOD_INTERLEAVED_ZB, check_zero_bubble);
}

// Chunks: a microbatch of 1F1B is two.
static void check_v(struct arena *arena, const struct pipeline_shape *shape,
                    const struct schedule *schedule, const struct simulation *s) {
    (void)arena, (void)schedule;
    uint32_t p = shape->n_ranks, m = shape->n_microbatches, most = most_in_flight(s, p);
    if (m < 2 * p)
        return;
    switch (shape->method) {
    case METHOD_ZBV:
        assert_bubble(s, p - 1, 6 * (int64_t)m + p - 1);
        assert_int_equal(s->span_bubble.numerator, 0);
        assert_int_equal(most, 2 * p);
        break;
    case METHOD_DUALPIPE_V: // holds PP + 1 chunks of PP stages; its bubble is not the README's, as
                            // pairs do not overlap here
        assert_bubble(s, p - 1, 6 * (int64_t)m + p - 1);
        assert_int_equal(most, p > 1 || m > 2 ? 2 * p + 1 : most);
        break;
    case METHOD_V_HALF:
        assert_in_range(most, 1, p + 3);
        break;
    default:
        assert_in_range(most, 1, (2 * p + 2) / 3 + 2);
    }
    // A constant number of units beyond the work, however many microbatches.
    assert_true(s->makespan <= 6 * m + 4 * p + 2);
}

static void what_is_v_shaped_holds_less(void **state) {
    (void)state;
    for_shapes(METHOD_ZBV, check_v);
    for_shapes(METHOD_V_HALF, check_v);
    for_shapes(METHOD_V_MIN, check_v);
    for_shapes(METHOD_DUALPIPE_V, check_v);
}

static void shapes_that_do_not_fit_are_told(void **state) {
    (void)state;
    struct arena arena = {0};
    assert_string_equal(shape_unfit(&arena, &(struct pipeline_shape){METHOD_ONE_F_ONE_B, 4, 2, 8}),
                        "`one_f_one_b` has 1 stage on each device, not 2");
    assert_string_equal(shape_unfit(&arena, &(struct pipeline_shape){METHOD_ZBV, 4, 3, 8}),
                        "`zbv` has 2 stages on each device, not 3");
    assert_string_equal(
        shape_unfit(&arena, &(struct pipeline_shape){METHOD_DUALPIPE_V, 4, 2, 7}),
        "`dualpipe_v` needs 8 microbatches, two for each of 4 devices; there are 7");
    assert_null(shape_unfit(&arena, &(struct pipeline_shape){METHOD_INTERLEAVED, 4, 3, 7}));
    arena_free(&arena);
}

static struct schedule *some(struct arena *arena, enum pipeline_method method) {
    return schedule_of_shape(arena, &(struct pipeline_shape){method, 2, 1, 3});
}

static void wrong_schedules_are_told(void **state) {
    (void)state;
    struct arena arena = {0};
    struct schedule *s = some(&arena, METHOD_ZB_H1);
    struct schedule_fault fault;
    s->ranks[1].n--;
    assert_true(schedule_is_wrong(&arena, s, &fault));
    assert_string_equal(fault.what, "rank 1 never does W of stage 1 and microbatch 2");
    assert_string_equal(fault.help, "add `1W2`");
    assert_int_equal(fault.place.rank, 1);
    assert_int_equal(fault.place.index, s->ranks[1].n);
    s->ranks[1].n++;
    s->ranks[0].tasks[1].microbatch = 0;
    assert_true(schedule_is_wrong(&arena, s, &fault));
    assert_string_equal(fault.what, "rank 0 does F of stage 0 and microbatch 0 a second time");
    assert_int_equal(fault.place.rank, 0);
    assert_int_equal(fault.place.index, 1);
    s->ranks[0].tasks[0].stage = 1;
    assert_true(schedule_is_wrong(&arena, s, &fault));
    assert_string_equal(fault.what, "rank 0 has F of stage 1, which is rank 1's");
    s->ranks[0].tasks[0] = (struct task){.kind = TASK_INPUTS};
    assert_true(schedule_is_wrong(&arena, s, &fault));
    assert_string_equal(fault.what, "rank 0 does I of stage 0 and microbatch 0 before F");
    assert_string_equal(fault.help, "let it come behind `0F0`");
    s->ranks[0].tasks[0].microbatch = 3;
    assert_true(schedule_is_wrong(&arena, s, &fault));
    assert_string_equal(fault.what, "rank 0 has I of stage 0 and microbatch 3, which do not exist");
    arena_free(&arena);
}

// The first rank waits for the backward pass of a microbatch that the other would get behind it.
static void what_cannot_run_says_who_waits_for_whom(void **state) {
    (void)state;
    struct arena arena = {0};
    struct schedule *s = some(&arena, METHOD_ONE_F_ONE_B); // F0 F1 B0 F2 B1 B2; F0 B0 F1 B1 F2 B2
    struct task *tasks = s->ranks[0].tasks, held = tasks[1];
    struct simulation simulation;
    memmove(&tasks[1], &tasks[2], 3 * sizeof *tasks); // B0 F2 B1 in front of F1
    tasks[4] = held;
    s->ranks[0].tasks[3] = held; // B0 F2 F1 B1
    s->ranks[0].tasks[4] = (struct task){.kind = TASK_BACKWARD, .microbatch = 1};
    assert_false(schedule_is_wrong(&arena, s, NULL));
    assert_true(schedule_simulate(&arena, s, NULL, &simulation));
    tasks = s->ranks[1].tasks; // F0 F1 B0 ...
    struct task backward = tasks[1];
    tasks[1] = tasks[2];
    tasks[2] = backward;
    assert_false(schedule_is_wrong(&arena, s, NULL));
    assert_false(schedule_simulate(&arena, s, NULL, &simulation));
    assert_int_equal(simulation.n_cycle, 2);
    assert_int_equal(simulation.cycle[0].task.kind, TASK_BACKWARD);
    assert_int_equal(simulation.cycle[0].task.microbatch, 0);
    assert_int_equal(simulation.cycle[1].task.kind, TASK_FORWARD);
    assert_int_equal(simulation.cycle[1].task.microbatch, 1);
    arena_free(&arena);
}

// The slowest stage decides: it is busy from its first task on.
static void stages_may_be_of_different_weights(void **state) {
    (void)state;
    struct arena arena = {0};
    struct schedule *s =
        schedule_of_shape(&arena, &(struct pipeline_shape){METHOD_ONE_F_ONE_B, 2, 1, 8});
    struct simulation simulation;
    assert_true(schedule_simulate(&arena, s, (const double[]){1, 2.5}, &simulation));
    assert_true(simulation.makespan == 1 + 8 * 7.5 + 2);
    assert_true(simulation.idle == 2 * 63 - 8 * 3 - 8 * 7.5);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_run_as_long_as_published),
        cmocka_unit_test(weights_fill_the_bubble),
        cmocka_unit_test(what_is_v_shaped_holds_less),
        cmocka_unit_test(shapes_that_do_not_fit_are_told),
        cmocka_unit_test(wrong_schedules_are_told),
        cmocka_unit_test(what_cannot_run_says_who_waits_for_whom),
        cmocka_unit_test(stages_may_be_of_different_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
