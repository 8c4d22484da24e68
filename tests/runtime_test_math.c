/* The functions of runtime/math against long double: largest error over samples of all magnitudes,
 * in every version that the CPU can run, and the same bits in vectors and in parts of vectors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/kernels/kernels.h"

static long double sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}

static const long double root_half = 0.707106781186547524400844362104849039L;

static long double silu(long double x) {
    return x * sigmoid(x);
}

static long double silu_derivative(long double x) {
    return sigmoid(x) * (1 + x * sigmoid(-x));
}

static const long double tanh_slope = 0.797884560802865355879892119868763737L; /* sqrt(2 / pi) */

static long double gelu_tanh(long double x) {
    return x * sigmoid(2 * tanh_slope * (x + 0.044715L * x * x * x));
}

static long double gelu_tanh_derivative(long double x) {
    long double u = tanh_slope * (x + 0.044715L * x * x * x);
    long double slope = tanh_slope * (1 + 3 * 0.044715L * x * x);
    if (fabsl(x) > 1e3L)
        return x > 0 ? 1 : 0;
    return sigmoid(2 * u) + x * sigmoid(2 * u) * sigmoid(-2 * u) * 2 * slope;
}

static long double gelu_erf(long double x) {
    return 0.5L * x * erfcl(-x * root_half);
}

static long double gelu_erf_derivative(long double x) {
    return 0.5L * erfcl(-x * root_half) + x * expl(-0.5L * x * x) * tanh_slope / 2;
}

static long double reciprocal_root(long double x) {
    return 1 / sqrtl(x);
}

/* What is tested: the truth, and the range of arguments. `absolute` measures errors at the size of
 * the argument, or 1, where a result is a difference of larger terms or loses an exponent's digits
 * (activations.def). */
static const struct subject {
    const char *name;
    long double (*truth)(long double);
    double low, high;
    int absolute;
} subjects[] = {
    {"exp", expl, -800, 800, 0},
    {"tanh", tanhl, -50, 50, 0},
    {"erf", erfl, -8, 8, 0},
    {"log", logl, 0, INFINITY, 0},
    {"rsqrt", reciprocal_root, 0, INFINITY, 0},
    {"sigmoid", sigmoid, -80, 100, 0},
    {"silu", silu, -80, 100, 0},
    {"silu_derivative", silu_derivative, -80, 100, 1},
    {"gelu_tanh", gelu_tanh, -100, 100, 1},
    {"gelu_tanh_derivative", gelu_tanh_derivative, -100, 100, 1},
    {"gelu_erf", gelu_erf, -100, 100, 1},
    {"gelu_erf_derivative", gelu_erf_derivative, -100, 100, 1},
    {"sin", sinl, -1e6, 1e6, 1},
    {"cos", cosl, -1e6, 1e6, 1},
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0], SAMPLES = 1 << 15 };

static const struct math_function *function_named(const struct math_function *list,
                                                  const char *name) {
    while (list->name != NULL && strcmp(list->name, name) != 0)
        list++;
    return list;
}

/* Size of the last place of numbers as large as x; never below that of the smallest normal number.
 */
static long double unit_at(long double x, int mantissa_bits, int lowest_exponent) {
    int exponent = x == 0 ? lowest_exponent : ilogbl(x);
    return ldexpl(1, (exponent > lowest_exponent ? exponent : lowest_exponent) - mantissa_bits);
}

static long double error_in_units(const struct subject *subject, long double x, long double y,
                                  int bits, int lowest, long double highest) {
    long double truth = subject->truth(x);
    if (isinf(y) || fabsl(truth) > highest)
        return fabsl(truth) > highest * (1 - ldexpl(1, -bits - 2)) && isinf(y) &&
                       (y > 0) == (truth > 0)
                   ? 0
                   : INFINITY;
    long double size = fabsl(truth);
    if (subject->absolute)
        size = fmaxl(size, fminl(1, fabsl(x)));
    return fabsl(y - truth) / unit_at(size, bits, lowest);
}

/* Arguments: half spread evenly over the range, as far as that is finite, half over all exponents.
 */
static double sample(const struct subject *subject, int i, double least) {
    double fraction = rand() / (RAND_MAX + 1.0) + rand() / (RAND_MAX + 1.0) / RAND_MAX;
    double high = isinf(subject->high) ? 100 : subject->high;
    if (i % 2 == 0)
        return subject->low + fraction * (high - subject->low);
    double top = isinf(subject->high) ? -least : log2(subject->high);
    double x = exp2(least + fraction * (top - least));
    return subject->low < 0 && i % 4 == 1 ? -x * fmin(1, subject->low / -subject->high) : x;
}

static void check_f32(const struct kernels *kernels, const struct subject *subject) {
    const struct math_function *function = function_named(kernels->math_f32, subject->name);
    if (function->name == NULL)
        return; /* sines exist in double precision only */
    static float x[SAMPLES], y[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        x[i] = (float)sample(subject, i, -126);
    function->apply_f32(x, y, SAMPLES);
    long double worst = 0;
    int at = 0;
    for (int i = 0; i < SAMPLES; i++) {
        long double error = error_in_units(subject, x[i], y[i], 23, -126, 0x1.fffffep127L);
        if (!(error <= worst))
            worst = error, at = i;
    }
    printf("%s %-22s f32 %6.3Lf ulp at %a\n", kernels->version, subject->name, worst,
           (double)x[at]);
    assert_true(worst <= function->ulp);
}

static void check_f64(const struct kernels *kernels, const struct subject *subject) {
    const struct math_function *function = function_named(kernels->math_f64, subject->name);
    assert_non_null(function->name);
    static double x[SAMPLES], y[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        x[i] = sample(subject, i, -1022);
    function->apply_f64(x, y, SAMPLES);
    long double worst = 0;
    int at = 0;
    for (int i = 0; i < SAMPLES; i++) {
        long double error = error_in_units(subject, x[i], y[i], 52, -1022, 0x1.fffffffffffffp1023L);
        if (!(error <= worst))
            worst = error, at = i;
    }
    printf("%s %-22s f64 %6.3Lf ulp at %a\n", kernels->version, subject->name, worst, x[at]);
    assert_true(worst <= function->ulp);
}

static void each_version(void (*check)(const struct kernels *kernels)) {
    for (const char *const *name = kernels_names; *name != NULL; name++)
        if (kernels_named(*name) != NULL)
            check(kernels_named(*name));
}

static void check_errors(const struct kernels *kernels) {
    for (int i = 0; i < SUBJECTS; i++) {
        check_f32(kernels, &subjects[i]);
        check_f64(kernels, &subjects[i]);
    }
}

static void errors_are_as_stated(void **state) {
    each_version(check_errors);
}

static void check_special(const struct kernels *kernels) {
    const double x[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -1.0, 0x1p-1074, 1e308};
    double y[8];
    function_named(kernels->math_f64, "exp")->apply_f64(x, y, 8);
    assert_true(y[0] == 1 && y[1] == 1 && isinf(y[2]) && y[3] == 0 && isnan(y[4]) && isinf(y[7]));
    function_named(kernels->math_f64, "log")->apply_f64(x, y, 8);
    assert_true(y[0] == -INFINITY && y[1] == -INFINITY && y[2] == INFINITY && isnan(y[3]));
    assert_true(isnan(y[4]) && isnan(y[5]) && fabs(y[6] - log(0x1p-1074)) < 1e-12);
    function_named(kernels->math_f64, "tanh")->apply_f64(x, y, 8);
    assert_true(y[0] == 0 && signbit(y[1]) && y[2] == 1 && y[3] == -1 && isnan(y[4]));
    function_named(kernels->math_f64, "erf")->apply_f64(x, y, 8);
    assert_true(y[0] == 0 && signbit(y[1]) && y[2] == 1 && y[3] == -1 && isnan(y[4]));
}

static void special_arguments(void **state) {
    each_version(check_special);
}

/* Every length from 1 up gives every element the bits it has in a long array. */
static void check_parts(const struct kernels *kernels) {
    float x[64], whole[64], part[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i - 30) * 0.37f;
    for (const struct math_function *f = kernels->math_f32; f->name != NULL; f++) {
        f->apply_f32(x, whole, 64);
        for (int count = 1; count < 64; count++) {
            f->apply_f32(x + 64 - count, part, count);
            assert_memory_equal(part, whole + 64 - count, sizeof(float) * (size_t)count);
        }
    }
}

static void tails_equal_bodies(void **state) {
    each_version(check_parts);
}

static void check_as_v3(const struct kernels *kernels) {
    const struct kernels *v3 = kernels_named("v3");
    if (v3 == NULL || strcmp(kernels->version, "v2") == 0 || kernels == v3)
        return;
    float x[256], y3[256], y[256];
    for (int i = 0; i < 256; i++)
        x[i] = (float)(i - 128) * 0.173f;
    for (int f = 0; v3->math_f32[f].name != NULL; f++) {
        v3->math_f32[f].apply_f32(x, y3, 256);
        kernels->math_f32[f].apply_f32(x, y, 256);
        for (int i = 0; i < 256; i++)
            assert_true(memcmp(&y3[i], &y[i], sizeof(float)) == 0 || isnan(y3[i]));
    }
}

/* From v3 on all have fused steps, so their bits are the same. */
static void wide_versions_agree(void **state) {
    if (kernels_named("v4") == NULL)
        skip();
    each_version(check_as_v3);
}

static void check_version(const struct kernels *kernels) {
    assert_memory_equal(kernels->version, kernels->level, strlen(kernels->level));
    assert_int_equal(kernels->has_pairs, strcmp(kernels->version, "v4_bf16") == 0);
}

static void versions_are_what_they_are_called(void **state) {
    each_version(check_version);
    for (const char *const *name = kernels_names; *name != NULL; name++)
        if (kernels_named(*name) != NULL)
            assert_string_equal(kernels_named(*name)->version, *name);
}

int main(void) {
    srand(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(special_arguments),
        cmocka_unit_test(tails_equal_bodies),
        cmocka_unit_test(wide_versions_agree),
        cmocka_unit_test(versions_are_what_they_are_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
