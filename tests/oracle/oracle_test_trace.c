// Where a run first computes something else: not where it computes the same, whatever that is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tests/oracle/trace.h"

enum { N = 4 };
// The statistic of a row of which all is masked; padding, which holds anything.
static const double recorded[N] = {-INFINITY, 1, 2, NAN};

static bool deviates(const double follows[N]) {
    struct arena arena = {0};
    struct trace *trace = trace_new(&arena, 1e-9);
    struct observer recorder = trace_recorder(trace), follower = trace_follower(trace);
    struct statement call = {.kind = STATEMENT_CALL, .span = {.begin = 10, .end = 20}};
    struct op op = {.kind = OP_ADD, .n_results = 1, .span = {.begin = 30, .end = 40}};
    struct moment moment = {.statement = &call, .op = &op, .user = &op, .timing = AT_START};
    struct array made = array_new(
        &arena, (struct tensor_type){.dtype = DTYPE_F64, .rank = 1, .dims = {{DIM_HIDDEN, N}}});
    memcpy(made.data, recorded, sizeof recorded);
    recorder.op(recorder.data, &moment, NULL, &made);
    memcpy(made.data, follows, sizeof recorded);
    follower.op(follower.data, &moment, NULL, &made);
    bool found = trace_take_deviations(trace).n > 0;
    arena_free(&arena);
    return found;
}

static void the_same_is_no_deviation(void **state) {
    assert_false(deviates(recorded));
    assert_false(deviates((double[N]){-INFINITY, 1 + 1e-12, 2, 0}));
}

static void another_value_is_one(void **state) {
    assert_true(deviates((double[N]){-INFINITY, 1, 2.5, NAN}));
    assert_true(deviates((double[N]){0, 1, 2, NAN}));
    assert_true(deviates((double[N]){INFINITY, 1, 2, NAN}));
    assert_true(deviates((double[N]){-INFINITY, NAN, 2, NAN}));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_is_no_deviation),
                                       cmocka_unit_test(another_value_is_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
