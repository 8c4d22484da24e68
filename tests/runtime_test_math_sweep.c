/* The stated errors of the float functions over every 31st float there is, against libm in double:
 * half a minute, so it runs in `./dev test --full` only. runtime_test_math samples the same and
 * more in a second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/kernels/kernels.h"

enum { BLOCK = 4096, STRIDE = 31 };

/* Error in units of the last place of a float near the truth; infinite results and NaN must agree
 * exactly. */
static double error_in_units(double truth, float found) {
    float rounded = (float)truth;
    if (isnan(truth) || isnan(found) || isinf(rounded) || isinf(found))
        return (isnan(truth) && isnan(found)) || rounded == found ? 0 : INFINITY;
    int exponent = truth == 0 ? -126 : ilogb(truth);
    return fabs(found - truth) / ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
}

static double worst_of_block(const struct math_function *function, double (*truth)(double),
                             const float *x) {
    float y[BLOCK];
    double worst = 0;
    function->apply_f32(x, y, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        worst = fmax(worst, error_in_units(truth(x[i]), y[i]));
    return worst;
}

static double worst_error(const struct math_function *function, double (*truth)(double)) {
    double worst = 0;
    float x[BLOCK];
    for (uint64_t bits = 0; bits + (uint64_t)BLOCK * STRIDE <= UINT64_C(1) << 32;
         bits += BLOCK * STRIDE) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            uint32_t word = (uint32_t)bits + i * STRIDE;
            memcpy(&x[i], &word, sizeof word);
        }
        worst = fmax(worst, worst_of_block(function, truth, x));
    }
    return worst;
}

static void check_version(const char *version) {
    static const struct {
        const char *name;
        double (*truth)(double);
    } subjects[] = {{"exp", exp}, {"tanh", tanh}, {"erf", erf}, {"log", log}};
    const struct kernels *kernels = kernels_named(version);
    for (const struct math_function *f = kernels == NULL ? NULL : kernels->math_f32;
         f != NULL && f->name != NULL; f++)
        for (int i = 0; i < 4; i++)
            if (strcmp(f->name, subjects[i].name) == 0) {
                double worst = worst_error(f, subjects[i].truth);
                printf("%s %-5s %.3f ulp\n", version, f->name, worst);
                assert_true(worst <= f->ulp);
            }
}

/* v4 has the bits of v3 (runtime_test_math). */
static void errors_are_as_stated(void **state) {
    check_version("v2");
    check_version("v3");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_as_stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
