// The scalars of a loss scale: the generated code against the interpreter, where a step is good and where
// it is not, where the scale grows and where it stays.
#include "backend_harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void finish(struct harness *h, struct op *op) {
    harness_infer(h, op);
    for (unsigned i = 0; i < op->n_results; i++)
        harness_output(h, op->results[i]);
}

static void check_step(double left, double good_steps, double is_finite) {
    struct harness h;
    harness_open(&h, DTYPE_F64);
    value_id x = harness_input(&h, DTYPE_F64, SIZES()),
             good = harness_input(&h, DTYPE_F64, SIZES());
    value_id finite = harness_input(&h, DTYPE_F64, SIZES());
    struct op *op = OP(&h, LOSS_SCALE, x);
    op_set_real(h.program->arena, op, ATTRIBUTE_INITIAL, 65536);
    finish(&h, op);
    finish(&h, OP(&h, IS_FINITE, x));
    finish(&h, OP(&h, UPDATE_FACTOR, x, good));
    op = OP(&h, NEXT_LOSS_SCALE, x, good, finite);
    op_set_real(h.program->arena, op, ATTRIBUTE_GROWTH, 2);
    op_set_real(h.program->arena, op, ATTRIBUTE_BACKOFF, 0.5);
    op_set_integer(h.program->arena, op, ATTRIBUTE_INTERVAL, 3);
    finish(&h, op);
    harness_ready(&h);
    set(&h, x, 0, left);
    set(&h, good, 0, good_steps);
    set(&h, finite, 0, is_finite);
    harness_compare(&h, 1);
    harness_close(&h);
}

static void steps(void **state) {
    for (int good = 0; good < 4; good++)
        for (int finite = 0; finite < 2; finite++)
            for (int left = 0; left < 2; left++)
                check_step(1024 * left, good, finite);
    check_step(1e308, 2, 1); // would be infinite, and stays
}

// What is kept, to the bit, where the factor is a number and where it is none.
static void keeps_what_was(void **state) {
    for (int type = 0; type < 2; type++)
        for (int skips = 0; skips < 2; skips++) {
            struct harness h;
            harness_open(&h, DTYPE_F64);
            enum dtype dtype = type ? DTYPE_F64 : DTYPE_F32;
            value_id old = harness_input(&h, dtype, SIZES(3, 37)),
                     made = harness_input(&h, dtype, SIZES(3, 37)),
                     clip = harness_input(&h, DTYPE_F64, SIZES());
            finish(&h, OP(&h, UNLESS_SKIPPED, old, made, clip));
            harness_ready(&h);
            set(&h, clip, 0, skips ? NAN : 0.5);
            set(&h, skips ? made : old, 5, NAN);
            harness_compare(&h, 0);
            harness_close(&h);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps), cmocka_unit_test(keeps_what_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
