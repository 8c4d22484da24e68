/* Sums on wires: their tree, their rounding, and that they touch nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/transport/collective.h"

/* ---- bf16 -------------------------------------------------------------------------------------
 */

static float single_of(uint16_t upper_half) {
    uint32_t bits = (uint32_t)upper_half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest; of two that are equally near, the one that is even. Not for what is no number. */
static uint16_t rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t below = (uint16_t)(bits >> 16);
    uint32_t rest = bits & 0xffff;
    return (uint16_t)(below + (rest > 0x8000 || (rest == 0x8000 && below & 1)));
}

/* f16: a sign, five bits of an exponent above -15, ten of a fraction. Not for what is no number. */
static float single_of_f16(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float magnitude = exponent == 31 ? INFINITY
                      : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                     : ldexpf((float)fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static uint16_t rounded_f16(float value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = -13;
    if (isinf(value))
        return sign | 0x7c00;
    frexpf(value, &exponent); /* of a fraction below 1 */
    int last = (exponent < -13 || value == 0 ? -13 : exponent) - 11;
    int digits = (int)rintf(ldexpf(fabsf(value), -last));
    if (exponent > 17)
        return sign | 0x7c00;
    int half = digits + (last + 24) * 1024; /* a leading digit is the exponent's last */
    return (uint16_t)(sign | (half > 0x7c00 ? 0x7c00 : half));
}

enum { LARGEST = 0x7f7f, INFINITE = 0x7f80, NO_NUMBER = 0x7fc0, NEGATIVE = 0x8000 };

static const struct {
    uint16_t summands[3], sum;
    const char *what;
} sums_of_bf16[] = {
    {{0x3f80, 0x3b80, 0x8000}, 0x3f80, "a half goes to the even one below"},
    {{0x3f81, 0x3b80, 0x8000}, 0x3f82, "a half goes to the even one above"},
    {{0x3f80, 0x3b80, 0x3480}, 0x3f81, "more than a half goes up"},
    {{0x3f80, 0x3b80, 0x3b80}, 0x3f81, "inner nodes are not rounded"},
    {{0xbf80, 0xbb80, 0xbb80}, 0xbf81, "nor are negative ones"},
    {{LARGEST, 0x7b00, 0}, INFINITE, "what is too large is rounded to infinity"},
    {{0x0001, 0x0001, 0}, 0x0002, "denormal numbers are added"},
    {{0x8000, 0x8000, 0x8000}, 0x8000, "zeros keep their sign"},
    {{INFINITE, 0x3f80, 0x3f80}, INFINITE, "infinity stays"},
    {{0x7fff, 0x3f80, 0x3f80}, 0x7fff, "what is not a number stays, though it seems the largest"},
    {{0xffff, 0x3f80, 0x3f80}, 0xffff, "and with a sign"},
    {{0x3f80, 0x3f80, 0x7fff}, 0x7fff, "wherever it comes"},
    {{INFINITE, NEGATIVE | INFINITE, 0}, NEGATIVE | NO_NUMBER, "what has no value is no number"},
};

/* In lines and in the parts at their ends. */
static void bf16_is_rounded_once_at_the_root(void **state) {
    enum { MOST = 40 };
    for (size_t c = 0; c < sizeof sums_of_bf16 / sizeof *sums_of_bf16; c++)
        for (int64_t count = 1; count <= MOST; count++) {
            uint16_t summands[3][MOST], sums[MOST];
            const void *sources[3] = {summands[0], summands[1], summands[2]};
            struct collective collective = {.dtype = PLACE_BF16};
            for (int j = 0; j < 3; j++)
                for (int64_t i = 0; i < count; i++)
                    summands[j][i] = sums_of_bf16[c].summands[j];
            collective_reduce(&collective, sums, sources, 3, 0, count, false);
            for (int64_t i = 0; i < count; i++)
                if (sums[i] != sums_of_bf16[c].sum)
                    fail_msg("%s: element %ld of %ld is %x, not %x", sums_of_bf16[c].what, (long)i,
                             (long)count, sums[i], sums_of_bf16[c].sum);
        }
}

/* ---- f16 --------------------------------------------------------------------------------------
 */

static bool is_number(uint16_t half) {
    return (half & 0x7fff) <= 0x7c00;
}

static void check_rounding(float value) {
    uint16_t given;
    round_elements(PLACE_F16, &given, &value, 1);
    if (given != rounded_f16(value))
        fail_msg("%a is rounded to %x, not %x", (double)value, given, rounded_f16(value));
}

/* Every number of the type, and the reals half way to the next and beside these. */
static void f16_is_widened_and_rounded(void **state) {
    for (uint32_t i = 0; i <= 0xffff; i++) {
        uint16_t half = (uint16_t)i, back;
        float value;
        widen_elements(PLACE_F16, &value, &half, 1);
        round_elements(PLACE_F16, &back, &value, 1);
        assert_int_equal(back, half);
        if (!is_number(half)) {
            assert_true(isnan(value));
            continue;
        }
        assert_true(value == single_of_f16(half) && !signbit(value) == (half < 0x8000));
        if ((half & 0x7fff) >= 0x7c00)
            continue;
        float next = (half & 0x7fff) == 0x7bff ? copysignf(65536, value)
                                               : single_of_f16((uint16_t)(half + 1));
        float between = (value + next) / 2;
        check_rounding(between);
        check_rounding(nextafterf(between, value));
        check_rounding(nextafterf(between, next));
    }
    check_rounding(FLT_MAX);
    check_rounding(FLT_MIN / 2);
}

/* What is larger than all numbers is infinite, and inner nodes are singles: 1 and twice 2^-11. */
static void f16_is_rounded_once_at_the_root(void **state) {
    static const uint16_t summands[][3] = {{0x3c00, 0x1000, 0x1000},
                                           {0x3c00, 0x1000, 0},
                                           {0x7bff, 0x7bff, 0xfbff},
                                           {0x7bff, 0x7bff, 0}};
    static const uint16_t sums[] = {0x3c01, 0x3c00, 0x7bff, 0x7c00};
    for (size_t c = 0; c < sizeof sums / sizeof *sums; c++) {
        struct collective collective = {.dtype = PLACE_F16};
        const void *sources[] = {&summands[c][0], &summands[c][1], &summands[c][2]};
        uint16_t sum;
        collective_reduce(&collective, &sum, sources, 3, 0, 1, false);
        assert_int_equal(sum, sums[c]);
    }
}

/* ---- trees ------------------------------------------------------------------------------------
 */

enum { AROUND = 3, SOURCES = 9, LONGEST = 150 };

/* The largest power of two below n: so many summands make up the left half of a tree. */
static int left_half(int n) {
    int half = 1;
    while (2 * half < n)
        half *= 2;
    return half;
}

static float same_float(float value) {
    return value;
}
static double same_double(double value) {
    return value;
}

/* Whatever the alignment and the length, through the caches and past them, also in place: the sum
 * in a tree, or the largest, and nothing beside it is touched. Elements are of type `type`, inner
 * nodes of type `node`. */
#define CHECK_REDUCE(name, type, node, node_of, root_of)                                           \
    static node joined_##name(enum place_operation operation, type(*numbers)[LONGEST + AROUND],    \
                              int n, int i) {                                                      \
        if (n == 1)                                                                                \
            return node_of(numbers[0][i]);                                                         \
        int half = left_half(n);                                                                   \
        node a = joined_##name(operation, numbers, half, i);                                       \
        node b = joined_##name(operation, numbers + half, n - half, i);                            \
        return operation == PLACE_SUM ? a + b : a < b ? b : a;                                     \
    }                                                                                              \
    static void check_##name(enum place_operation operation, int n, int64_t begin, int64_t end,    \
                             bool in_place, bool streams) {                                        \
        static _Alignas(64) type numbers[SOURCES][LONGEST + AROUND], dst[LONGEST + AROUND];        \
        const void *sources[SOURCES];                                                              \
        struct collective collective = {.dtype = PLACE_##name, .operation = operation};            \
        for (int j = 0; j < n; j++) {                                                              \
            sources[j] = numbers[j];                                                               \
            for (int i = 0; i < LONGEST + AROUND; i++)                                             \
                numbers[j][i] = root_of((node)(j * 7 % 5 * 1000 + i % 11) / (node)(3 + j));        \
        }                                                                                          \
        type wanted[LONGEST + AROUND], *to = in_place ? numbers[n - 1] : dst;                      \
        for (int i = 0; i < LONGEST + AROUND; i++) {                                               \
            dst[i] = 99;                                                                           \
            wanted[i] =                                                                            \
                i < begin || i >= end ? to[i] : root_of(joined_##name(operation, numbers, n, i));  \
        }                                                                                          \
        collective_reduce(&collective, to + begin, sources, n, begin, end, streams);               \
        assert_memory_equal(to, wanted, sizeof wanted);                                            \
    }
CHECK_REDUCE(F32, float, float, same_float, same_float)
CHECK_REDUCE(F64, double, double, same_double, same_double)
CHECK_REDUCE(BF16, uint16_t, float, single_of, rounded)
CHECK_REDUCE(F16, uint16_t, float, single_of_f16, rounded_f16)

static void sums_are_the_same_past_the_caches(void **state) {
    for (int n = 1; n <= SOURCES; n++)
        for (int64_t begin = 0; begin < 20; begin++)
            for (int64_t end = begin; end <= LONGEST; end += 1 + end % 13)
                for (int way = 0; way < 8; way++) {
                    enum place_operation operation = way & 1 ? PLACE_MAX : PLACE_SUM;
                    check_F32(operation, n, begin, end, way & 2, way & 4);
                    check_F64(operation, n, begin, end, way & 2, way & 4);
                    check_BF16(operation, n, begin, end, way & 2, way & 4);
                    check_F16(operation, n, begin, end, way & 2, way & 4);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_is_rounded_once_at_the_root),
        cmocka_unit_test(f16_is_widened_and_rounded),
        cmocka_unit_test(f16_is_rounded_once_at_the_root),
        cmocka_unit_test(sums_are_the_same_past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
