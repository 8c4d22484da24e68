// What Adafactor's update is made of: the generated code, and the kernel, against the interpreter.
#include "backend_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16, DTYPE_F16};

static void finish(struct harness *h, struct op *op) {
    harness_infer(h, op);
    harness_output(h, op->results[0]);
}

// Rows of one element, of some, and of more than vectors have.
static void sums_of_rows(void **state) {
    static const int64_t columns[] = {1, 3, 37, 500};
    for (int i = 0; i < 4 * 4; i++) {
        struct harness h;
        harness_open(&h, dtypes[i / 4]);
        value_id x = INPUT(&h, 5, 4, columns[i % 4]);
        for (int keep = 1; keep < 3; keep++) {
            struct op *op = OP(&h, SUM_COLUMNS, x);
            op_set_integer(h.program->arena, op, ATTRIBUTE_KEEP, keep);
            finish(&h, op);
        }
        harness_ready(&h);
        harness_compare(&h, 20);
        harness_close(&h);
    }
}

// Over roots of numbers on both sides of the minimum, negative ones among them.
static void over_roots(void **state) {
    for (int i = 0; i < 4; i++) {
        struct harness h;
        harness_open(&h, dtypes[i]);
        value_id g = INPUT(&h, 3, 37);
        struct op *op = OP(&h, OVER_ROOT, g, INPUT(&h, 3, 37));
        op_set_real(h.program->arena, op, ATTRIBUTE_MINIMUM, 0.1);
        finish(&h, op);
        harness_ready(&h);
        harness_compare(&h, 2);
        harness_close(&h);
    }
}

static void scalars(void **state) {
    struct harness h;
    harness_open(&h, DTYPE_F64);
    value_id x = harness_input(&h, DTYPE_F64, SIZES()), t = harness_input(&h, DTYPE_F64, SIZES());
    value_id one = harness_input(&h, DTYPE_F64, SIZES());
    finish(&h, OP(&h, LESSER, x, t));
    finish(&h, OP(&h, LESSER, t, x));
    static const double exponents[] = {-0.8, -0.5, 0};
    for (int i = 0; i < 3 * 3; i++) {
        struct op *op = OP(&h, POWER, i / 3 == 0 ? x : i / 3 == 1 ? t : one);
        op_set_real(h.program->arena, op, ATTRIBUTE_EXPONENT, exponents[i % 3]);
        finish(&h, op);
    }
    harness_ready(&h);
    set(&h, x, 0, 1.75);
    set(&h, t, 0, 123456);
    set(&h, one, 0, 1);
    harness_compare(&h, 10);
    harness_close(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_rows), cmocka_unit_test(over_roots),
                                       cmocka_unit_test(scalars)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
