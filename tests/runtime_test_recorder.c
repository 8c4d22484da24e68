/* The flight recorder: every runtime call leaves a record, the ring keeps the last ones, and
 * reading it while its rank writes gives whole records only. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/host/flight.h"
#include "runtime/kernels/kernels.h"
#include "runtime/team.h"
#include "runtime/transport/transport.h"
#include "runtime/workspace.h"

static const struct place_statement statements[] = {{"a.place", 10, 3, "first", 0},
                                                    {"a.place", 20, 3, "second", 2},
                                                    {"a.place", 30, 3, "third", 0}};
static const struct place_axis axes[] = {{"dp", 1, 1}};
static const struct place_group groups[] = {{.axes = {1, {0}}, .name = "dp"}};
static const struct place_program program = {.n_axes = 1,
                                             .axes = axes,
                                             .devices = 1,
                                             .n_handles = 2,
                                             .n_groups = 1,
                                             .groups = groups,
                                             .n_statements = 3,
                                             .statements = statements};
static struct place_context context;
static struct local_world *world;

static int open_rank(void **state) {
    const char *why;
    context = (struct place_context){.program = &program, .kernels = kernels_select(&why)};
    context.team = team_create(1, PLACE_WORKSPACE_BYTES_PER_THREAD);
    world = local_world_new(&program, 0, (int32_t)program.devices, (int32_t)program.devices);
    local_join(world, &context);
    return context.kernels && context.team ? 0 : -1;
}

static int close_rank(void **state) {
    team_destroy(context.team);
    local_world_free(world);
    return 0;
}

static struct flight_call last_call(void) {
    struct flight_call calls[1];
    assert_int_equal(recorder_read(&context.recorder, calls, 1), 1);
    return calls[0];
}

static _Alignas(64) char scratch[1 << 16];
#define VALUE_PTR scratch
#define VALUE_I32 0
#define VALUE_I64 0
#define VALUE_F64 0

static void expect_record(const char *name, enum recorded_call call) {
    struct flight_call last = last_call();
    if (last.call != call || last.statement != 2 || last.inside)
        fail_msg("%s leaves a record of %s, statement %d, inside %d", name,
                 recorded_names[last.call], last.statement, last.inside);
    context.status = PLACE_OK; /* of nothing at all some calls cannot be */
}

/* Every row of calls.def is called, with arguments of nothing. */
static void every_call_is_recorded(void **state) {
#define CALL(call, since, effect, work, text) (void)place_##call(&context, 2
#define ARGUMENT(kind, name, access, text) , VALUE_##kind
#define END_CALL(call)                                                                             \
    );                                                                                             \
    expect_record(#call, RECORDED_##call);
#include "runtime/calls.def"
    host_share(&context, scratch, scratch, 8);
    assert_int_equal(last_call().call, RECORDED_share);
}

static void the_last_calls_are_kept(void **state) {
    for (int i = 0; i < 3 * RECORDER_LENGTH; i++) {
        int64_t variables[2] = {i, -i};
        place_begin_statement(&context, 1, variables);
    }
    struct flight_call calls[RECORDER_LENGTH];
    int n = recorder_read(&context.recorder, calls, RECORDER_LENGTH);
    assert_int_equal(n, RECORDER_LENGTH);
    for (int i = 0; i < n; i++) {
        assert_int_equal(calls[i].number, 2 * RECORDER_LENGTH + i + 1);
        assert_int_equal(calls[i].details[0], 2 * RECORDER_LENGTH + i);
        assert_true(i == 0 || calls[i].ticks >= calls[i - 1].ticks);
    }
    assert_int_equal(recorder_read(&context.recorder, calls, 3), 3);
    assert_int_equal(calls[2].details[1], 1 - 3 * RECORDER_LENGTH);
}

/* ---- while it is written ----------------------------------------------------------------------
 */

static _Atomic int ending;

static void *write_records(void *argument) {
    for (int64_t i = 1; !atomic_load(&ending); i++)
        place_begin_statement(&context, 1, (int64_t[2]){i, ~i});
    return NULL;
}

static void records_are_read_whole(void **state) {
    pthread_t writer;
    atomic_store(&ending, 0);
    pthread_create(&writer, NULL, write_records, NULL);
    while (atomic_load(&context.recorder.calls) < RECORDER_LENGTH)
        ;
    for (int round = 0; round < 2000; round++) {
        struct flight_call calls[RECORDER_LENGTH];
        int n = recorder_read(&context.recorder, calls, RECORDER_LENGTH);
        for (int i = 0; i < n; i++)
            if (calls[i].details[0] != 0 || calls[i].details[1] != 0) /* not yet described */
                if (calls[i].details[0] != ~calls[i].details[1] && calls[i].details[1] != 0)
                    fail_msg("a record of %lld and %lld", (long long)calls[i].details[0],
                             (long long)calls[i].details[1]);
    }
    atomic_store(&ending, 1);
    pthread_join(writer, NULL);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static char *table_of(struct place_context *const *contexts, int n) {
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    flight_print(&(struct flight){contexts, n}, to, 4);
    fclose(to);
    return text;
}

static void tables_name_what_was_done(void **state) {
    float value = 1;
    struct place_piece piece = {.src = &value, .dst = &value, .outer = 1, .valid = 1};
    struct place_context *one = &context;
    place_begin_statement(&context, 1, (int64_t[2]){3, 5});
    place_collective_start(&context, 0, 1, PLACE_ALL_REDUCE, 0, PLACE_F32, PLACE_SUM, 0, 1, &piece);
    place_collective_wait(&context, 2, 1);
    char *text = table_of(&one, 1);
    assert_non_null(strstr(text, "begin_statement       a.place:20:3 (second, statement 1): "
                                 "iteration 3, 5"));
    assert_non_null(strstr(text, "left    collective_start      a.place:10:3 (first, statement 0): "
                                 "all_reduce over dp, 4 B"));
    assert_non_null(strstr(text, "collective_wait       a.place:30:3 (third, statement 2): "
                                 "all_reduce over dp, 4 B"));
    free(text);
}

/* Who has made fewer calls is what the others wait for, if all ranks are there; who failed first
 * comes before that. */
static void tables_begin_with_the_culprit(void **state) {
    static struct place_context ranks[3];
    struct place_context *contexts[3];
    struct place_program job = program;
    job.devices = 3;
    for (int i = 0; i < 3; i++) {
        ranks[i] = (struct place_context){.program = &job, .rank = i};
        contexts[i] = &ranks[i];
        recorder_enter(&ranks[i].recorder, 0, RECORDED_product);
    }
    char *text = table_of(contexts, 3);
    assert_null(strstr(text, "<--"));
    free(text);
    recorder_enter(&ranks[0].recorder, 0, RECORDED_collective_wait);
    recorder_enter(&ranks[2].recorder, 0, RECORDED_collective_wait);
    text = table_of(contexts, 3);
    assert_non_null(strstr(text, "rank 1, 1 call   <-- behind"));
    assert_true(strstr(text, "rank 1,") < strstr(text, "rank 0,"));
    free(text);
    job.devices = 4; /* another process has the fourth */
    text = table_of(contexts, 3);
    assert_null(strstr(text, "<--"));
    free(text);
    ranks[2].status = PLACE_ERROR_MISMATCH;
    text = table_of(contexts, 3);
    assert_non_null(strstr(text, "rank 2, 2 calls   <-- failed first"));
    assert_true(strstr(text, "rank 2,") < strstr(text, "rank 0,"));
    free(text);
}

/* Where parts do different things, it is the only one that does not wait; each is in some task. */
static void tables_name_the_tasks_of_ranks(void **state) {
    static struct place_context ranks[3];
    struct place_context *contexts[3];
    struct place_program parts = program;
    parts.n_parts = parts.devices = 3;
    for (int i = 0; i < 3; i++) {
        ranks[i] = (struct place_context){.program = &parts, .rank = i};
        contexts[i] = &ranks[i];
        for (int calls = 0; calls < 3 - i; calls++)
            place_begin_task(&ranks[i], 2, 'B', i, 7);
    }
    recorder_enter(&ranks[0].recorder, 0, RECORDED_product);
    recorder_enter(&ranks[1].recorder, 0, RECORDED_message_wait);
    char *text = table_of(contexts, 3);
    assert_null(strstr(text, "<--"));
    free(text);
    recorder_enter(&ranks[2].recorder, 0, RECORDED_message_wait);
    text = table_of(contexts, 3);
    assert_non_null(strstr(text, "rank 0, in B of stage 0, microbatch 7, 4 calls   <-- behind"));
    assert_non_null(strstr(text, "rank 2, in B of stage 2, microbatch 7, 2 calls\n"));
    assert_non_null(strstr(text, "begin_task            a.place:30:3 (third, statement 2): B of "
                                 "stage 1, microbatch 7"));
    free(text);
    parts.devices = 4;
    text = table_of(contexts, 3);
    assert_null(strstr(text, "<--"));
    free(text);
    char last[256];
    flight_describe_last(&ranks[1], last, sizeof last);
    assert_string_equal(last, "inside message_wait at a.place:10:3 (first, statement 0), in B of "
                              "stage 1, microbatch 7");
    context_fail(&ranks[2], 0, PLACE_ERROR_TRANSPORT, "gone");
    assert_string_equal(ranks[2].message, "rank 2, in B of stage 2, microbatch 7, a.place:10:3 "
                                          "(first, statement 0): gone");
    place_begin_task(&ranks[1], 2, 0, 0, 0);
    flight_describe_last(&ranks[1], last, sizeof last);
    assert_null(strstr(last, "microbatch"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_is_recorded, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(the_last_calls_are_kept, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(records_are_read_whole, open_rank, close_rank),
        cmocka_unit_test_setup_teardown(tables_name_what_was_done, open_rank, close_rank),
        cmocka_unit_test(tables_begin_with_the_culprit),
        cmocka_unit_test(tables_name_the_tasks_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
