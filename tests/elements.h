// Floating types by their digits: how a number is rounded to one, and its bits. Written out from the
// definition of IEEE 754's formats, apart from what generated code and kernels do.
#ifndef PLACE_TESTS_ELEMENTS_H
#define PLACE_TESTS_ELEMENTS_H

#include <math.h>
#include <stdint.h>

// significand: digits, with the one that is not stored; exponent: bits.
struct format {
    int significand, exponent;
};
static const struct format format_f32 = {24, 8}, format_bf16 = {8, 8}, format_f16 = {11, 5};

// Exponent of the least number with all digits: -14 of f16.
static inline int format_least(struct format f) {
    return 2 - (1 << (f.exponent - 1));
}

// Distance of neighbouring numbers around x, which is finite.
static inline double format_unit(struct format f, double x) {
    int exponent = 0;
    frexp(x, &exponent); // |x| is less than 2^exponent
    if (x == 0 || exponent - 1 < format_least(f))
        exponent = format_least(f) + 1;
    return ldexp(1, exponent - f.significand);
}

// x to nearest even.
static inline double format_round(struct format f, double x) {
    if (!isfinite(x) || x == 0)
        return x;
    double unit = format_unit(f, x), rounded = nearbyint(x / unit) * unit;
    return fabs(rounded) < ldexp(1, 1 << (f.exponent - 1)) ? rounded : copysign(INFINITY, x);
}

// The bits of a number of the format.
static inline uint32_t format_bits(struct format f, double x) {
    int digits = f.significand - 1;
    uint32_t sign = (uint32_t)(signbit(x) != 0) << (digits + f.exponent);
    uint32_t infinity = ((UINT32_C(1) << f.exponent) - 1) << digits;
    if (isnan(x))
        return sign | infinity | UINT32_C(1) << (digits - 1);
    if (isinf(x))
        return sign | infinity;
    int64_t units = (int64_t)(fabs(x) / format_unit(f, x)); // of a subnormal number all there is
    double unit = format_unit(f, x), least = ldexp(1, format_least(f) - digits);
    int64_t binade = (int64_t)lround(log2(unit / least));
    return sign | (uint32_t)((binade << digits) + units);
}

static inline double format_value(struct format f, uint32_t bits) {
    int digits = f.significand - 1;
    uint32_t exponent = bits >> digits & ((UINT32_C(1) << f.exponent) - 1);
    uint32_t fraction = bits & ((UINT32_C(1) << digits) - 1);
    double sign = bits >> (digits + f.exponent) & 1 ? -1 : 1;
    if (exponent == (UINT32_C(1) << f.exponent) - 1)
        return fraction ? NAN : sign * INFINITY;
    double least = ldexp(1, format_least(f) - digits);
    if (exponent == 0)
        return sign * fraction * least;
    return sign * ldexp((double)(fraction + (UINT32_C(1) << digits)) * least, (int)exponent - 1);
}

#endif
