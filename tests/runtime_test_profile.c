/* Profiles: every call of a profiled step is taken down with its time, none outside of one, helpers
 * tell what they work, rows that are full lose spans but no totals, what goes on beside a call and
 * what is waited for is not the call's, nor a task's, and of products the shape is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/kernels/kernels.h"
#include "runtime/product.h"
#include "runtime/profile.h"
#include "runtime/team.h"
#include "runtime/workspace.h"

enum { THREADS = 3, SPANS = 8, COUNT = 1 << 18 };

static const struct place_statement statements[] = {{"a.place", 10, 3, "first", 0},
                                                    {"a.place", 20, 3, "second", 0}};
static const struct place_program program = {
    .devices = 1, .n_statements = 2, .n_stages = 2, .statements = statements};
static struct place_context context;
static struct profile *profile;
static _Alignas(64) float target[COUNT], source[COUNT];

static int open_rank(void **state) {
    const char *why;
    context = (struct place_context){.program = &program, .kernels = kernels_select(&why)};
    context.team = team_create(THREADS, PLACE_WORKSPACE_BYTES_PER_THREAD);
    profile = profile_new(&program, THREADS, SPANS);
    context.recorder.profile = profile;
    team_profile(context.team, profile);
    return context.kernels && context.team && profile ? 0 : -1;
}

static int close_rank(void **state) {
    team_destroy(context.team);
    profile_free(profile);
    return 0;
}

static void add(int32_t statement) {
    assert_int_equal(
        place_accumulate(&context, statement, PLACE_F32, PLACE_F32, COUNT, target, source), 0);
}

static void calls_count_in_profiled_steps(void **state) {
    const struct profile_total *first = profile_total(profile, 0, RECORDED_accumulate);
    const struct profile_total *second = profile_total(profile, 1, RECORDED_accumulate);
    add(0);
    assert_int_equal(first->calls, 0);
    assert_int_equal(profile->rows[0].n, 0);
    for (int step = 0; step < 2; step++) {
        profile_begin_step(profile);
        place_begin_statement(&context, 1, NULL);
        add(0);
        add(1);
        add(1);
        profile_end_step(profile);
        add(0);
    }
    assert_int_equal(profile->steps, 2);
    assert_int_equal(first->calls, 2);
    assert_int_equal(second->calls, 4);
    assert_int_equal(profile_total(profile, 1, RECORDED_begin_statement)->calls, 2);
    assert_int_equal(profile_total(profile, -1, RECORDED_accumulate)->calls, 0);
    assert_true(first->ticks > 0 && second->ticks > 0);
    assert_true(first->ticks + second->ticks <= profile->step_ticks);
}

/* Spans of a thread follow one another; those of the owner are the calls, in their order. */
static void spans_are_kept_while_there_is_room(void **state) {
    profile_begin_step(profile);
    for (int32_t i = 0; i < SPANS + 3; i++)
        add(i % 2);
    profile_end_step(profile);
    assert_int_equal(profile_total(profile, 0, RECORDED_accumulate)->calls +
                         profile_total(profile, 1, RECORDED_accumulate)->calls,
                     SPANS + 3);
    assert_int_equal(profile->rows[0].n, SPANS);
    for (int32_t i = 0; i < SPANS; i++)
        assert_int_equal(profile->rows[0].spans[i].statement, i % 2);
    for (int thread = 0; thread < THREADS; thread++)
        for (int64_t i = 0; i < profile->rows[thread].n; i++) {
            const struct profile_span *span = &profile->rows[thread].spans[i];
            assert_int_equal(span->call, RECORDED_accumulate);
            assert_true(span->begin <= span->end);
            assert_true(i == 0 || span->begin >= span[-1].end);
        }
}

/* A helper's span names the call that it worked for, and lies inside of it. */
static void helpers_tell_what_they_work(void **state) {
    int64_t helped = 0;
    for (int round = 0; round < 1000 && !helped; round++) {
        for (int thread = 0; thread < THREADS; thread++)
            profile->rows[thread].n = 0;
        profile_begin_step(profile);
        add(1);
        profile_end_step(profile);
        helped = profile->rows[1].n + profile->rows[2].n;
    }
    assert_true(helped > 0);
    const struct profile_span *call = &profile->rows[0].spans[0];
    for (int thread = 1; thread < THREADS; thread++)
        for (int64_t i = 0; i < profile->rows[thread].n; i++) {
            const struct profile_span *span = &profile->rows[thread].spans[i];
            assert_int_equal(span->statement, 1);
            assert_int_equal(span->call, RECORDED_accumulate);
            assert_true(span->begin >= call->begin && span->end <= call->end);
        }
}

static void pass_ticks(uint64_t ticks) {
    uint64_t begin = profile_clock();
    while (profile_clock() < begin + ticks)
        ;
}

/* A call that works, waits as often as is said, each time anew, and works again. */
static void call_and_wait(int32_t statement, int32_t call, int waits) {
    uint64_t begin = profile_enter(profile, statement, call);
    pass_ticks(20000);
    for (int i = 0; i < waits; i++) {
        uint64_t waiting = profile_begin_wait(profile);
        pass_ticks(30000);
        profile_end_wait(profile, waiting);
    }
    pass_ticks(20000);
    profile_leave(profile, statement, call, begin);
}

static void waiting_is_work_of_its_own(void **state) {
    const struct {
        int32_t call, waiting;
    } kinds[] = {{RECORDED_message_wait, RECORDED_message_waiting},
                 {RECORDED_collective_wait, RECORDED_collective_waiting}};
    profile_end_wait(NULL, profile_begin_wait(NULL));
    for (int kind = 0; kind < 2; kind++) {
        const struct profile_total *call = profile_total(profile, 1, kinds[kind].call);
        const struct profile_total *waiting = profile_total(profile, 1, kinds[kind].waiting);
        int64_t first = profile->rows[0].n;
        call_and_wait(1, kinds[kind].call, 1);
        assert_int_equal(waiting->calls, 0);
        assert_int_equal(profile->rows[0].n, first);
        profile_begin_step(profile);
        call_and_wait(1, kinds[kind].call, 2);
        profile_end_step(profile);
        assert_true(waiting->ticks >= 60000 && call->ticks >= 40000);
        assert_int_equal(call->calls, 1);
        /* The call, twice waiting in one, the call again; nothing between them, and nothing twice. */
        const struct profile_span *spans = &profile->rows[0].spans[first];
        assert_int_equal(profile->rows[0].n, first + 3);
        assert_int_equal(spans[0].call, kinds[kind].call);
        assert_int_equal(spans[1].call, kinds[kind].waiting);
        assert_int_equal(spans[2].call, kinds[kind].call);
        assert_true(spans[0].end == spans[1].begin && spans[1].end == spans[2].begin);
        assert_true(waiting->ticks + call->ticks == spans[2].end - spans[0].begin);
    }
}

static void tasks_take_what_is_not_waited_for(void **state) {
    const struct profile_total *task = profile_task(profile, 1, 2),
                               *other = profile_task(profile, 0, 3);
    profile_begin_step(profile);
    uint64_t begin = profile_clock();
    place_begin_task(&context, 0, 'I', 1, 5);
    call_and_wait(0, RECORDED_message_wait, 1);
    add(0);
    place_begin_task(&context, 0, 'I', 1, 6);
    call_and_wait(0, RECORDED_collective_wait, 1);
    place_begin_task(&context, 0, 'W', 0, 6);
    uint64_t end = profile_clock();
    place_begin_task(&context, 0, 0, 0, 0);
    call_and_wait(0, RECORDED_message_wait, 1);
    profile_end_step(profile);
    assert_int_equal(task->calls, 2);
    assert_int_equal(other->calls, 1);
    const struct profile_span *spans = profile->rows[0].spans;
    const uint64_t tasks[] = {task_word('I', 1, 5), task_word('I', 1, 5), task_word('I', 1, 5),
                              task_word('I', 1, 5), task_word('I', 1, 6), 0};
    assert_true(profile->rows[0].n == SPANS);
    for (int i = 0; i < 5; i++)
        assert_true(spans[i].task == tasks[i]);
    assert_int_equal(spans[SPANS - 1].task, 0);
    uint64_t worked = 0, waited = 0;
    for (int i = 0; i < 7; i++) {
        bool waits = spans[i].call == RECORDED_message_waiting ||
                     spans[i].call == RECORDED_collective_waiting;
        *(waits ? &waited : &worked) += spans[i].end - spans[i].begin;
    }
    assert_true(waited >= 2 * 30000);
    assert_true(task->ticks >= worked && task->ticks <= end - begin - waited);
}

/* A collective's call, at whose end some are under way or none. */
static void call_collective(int32_t call, bool any) {
    uint64_t begin = profile_enter(profile, 0, call);
    profile_under_way(profile, any);
    profile_leave(profile, 0, call, begin);
}

/* From the end of a call to the beginning of another, by their places in the step. */
static uint64_t ticks_between(int64_t one, int64_t other) {
    return profile->rows[0].spans[other].begin - profile->rows[0].spans[one].end;
}

static void what_computes_beside_a_collective_hides_it(void **state) {
    profile_begin_step(profile);
    add(0);
    call_collective(RECORDED_collective_start, true);
    add(0);
    call_collective(RECORDED_collective_wait, false);
    add(1);
    call_collective(RECORDED_collective_start, false);
    profile_end_step(profile);
    assert_true(profile->hidden > 0);
    assert_int_equal(profile->hidden, ticks_between(1, 3));
}

/* Progress of some ticks, after which some are under way still, or none. */
static struct {
    uint64_t ticks, calls;
    bool any;
} going_on;

static void go_on(void *unused) {
    uint64_t begin = profile_clock();
    while (profile_clock() < begin + going_on.ticks)
        ;
    profile_progressed(profile, begin, going_on.any);
    going_on.calls++;
}

static void interleave(uint64_t ticks, bool any) {
    going_on.ticks = ticks;
    going_on.any = any;
    going_on.calls = 0;
    team_interleave(context.team, go_on, NULL);
}

static void progress_is_not_the_kernels_time(void **state) {
    const struct profile_total *kernel = profile_total(profile, 1, RECORDED_accumulate);
    const struct profile_total *progress = profile_total(profile, 1, RECORDED_progress);
    interleave(10000, true);
    profile_begin_step(profile);
    call_collective(RECORDED_collective_start, true);
    add(1);
    call_collective(RECORDED_collective_wait, false);
    profile_end_step(profile);
    const struct profile_span *call = &profile->rows[0].spans[1];
    assert_true(progress->calls > 0 && progress->calls == going_on.calls);
    assert_true(progress->ticks >= progress->calls * going_on.ticks);
    assert_int_equal(kernel->ticks + progress->ticks, call->end - call->begin);
    assert_int_equal(profile->hidden + progress->ticks, ticks_between(0, 2));
}

static void nothing_hides_what_has_ended(void **state) {
    interleave(0, false);
    profile_begin_step(profile);
    call_collective(RECORDED_collective_start, true);
    add(1);
    uint64_t hidden = profile->hidden;
    add(1);
    call_collective(RECORDED_collective_wait, false);
    profile_end_step(profile);
    assert_true(hidden > 0 && hidden < ticks_between(0, 3));
    assert_int_equal(profile->hidden, hidden);
}

static void products_are_known_by_their_statement(void **state) {
    const char *message;
    assert_int_equal(product_load(&message), PLACE_OK);
    assert_int_equal(place_product(&context, 1, PLACE_F32, PLACE_F32, 1, 0, 5, 7, 3, source, 5,
                                   source, 7, 1, target, 7),
                     PLACE_OK);
    struct profile_product product = profile_product_of(profile, 1);
    assert_true(product.m == 5 && product.n == 7 && product.k == 3);
    assert_true(product.transpose_a && !product.transpose_b && product.added);
    assert_int_equal(profile_product_of(profile, 0).m, 0);
    assert_int_equal(profile_product_of(profile, -1).m, 0);
}

static void every_call_is_some_work(void **state) {
    assert_int_equal(work_of_call(RECORDED_product), WORK_PRODUCT);
    assert_int_equal(work_of_call(RECORDED_attention_backward), WORK_ATTENTION);
    assert_int_equal(work_of_call(RECORDED_parallel), WORK_ELEMENTWISE);
    assert_int_equal(work_of_call(RECORDED_adamw), WORK_OPTIMIZER);
    assert_int_equal(work_of_call(RECORDED_collective_wait), WORK_COLLECTIVE);
    assert_int_equal(work_of_call(RECORDED_progress), WORK_COLLECTIVE);
    assert_int_equal(work_of_call(RECORDED_message_waiting), WORK_MESSAGE_WAITING);
    assert_int_equal(work_of_call(RECORDED_begin_statement), WORK_SCHEDULE);
    for (int work = 0; work < N_WORKS; work++)
        assert_true(strlen(work_names[work]) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_count_in_profiled_steps, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(spans_are_kept_while_there_is_room, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(helpers_tell_what_they_work, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(waiting_is_work_of_its_own, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(tasks_take_what_is_not_waited_for, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(what_computes_beside_a_collective_hides_it, open_rank,
                                        close_rank),
        cmocka_unit_test_setup_teardown(progress_is_not_the_kernels_time, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(nothing_hides_what_has_ended, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(products_are_known_by_their_statement, open_rank,
                                        close_rank),
        cmocka_unit_test(every_call_is_some_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
