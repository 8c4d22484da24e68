/* Rows of elements of any type as the floats or doubles that kernels compute with, and these
 * rounded to such elements, once, to nearest even. Included once in each version of the kernels:
 * what a CPU has no instruction for is done in steps on the bits, with the same results. */
#pragma once
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "runtime/place.h"

/* Bytes of an element. */
static inline int64_t width_of(int32_t dtype) {
    return dtype == PLACE_F64 ? 8 : dtype == PLACE_BF16 || dtype == PLACE_F16 ? 2 : 4;
}

/* ---- one element ---- */

static inline uint32_t bits_of_single(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float single_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* bf16 is the upper half of a single. What is not a number stays none when its digits are cut. */
static inline float single_of_bf16(uint16_t half) {
    return single_of_bits((uint32_t)half << 16);
}

static inline uint16_t bf16_of_single(float x) {
    uint32_t bits = bits_of_single(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

#if defined __F16C__
static inline float single_of_f16(uint16_t half) {
    return _cvtsh_ss(half);
}

static inline uint16_t f16_of_single(float x) {
    return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}
#else
/* Where no leading digit is added to those that are stored, one is, and subtracted again. */
static inline float single_of_f16(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13, sign = (uint32_t)(half & 0x8000) << 16;
    if (magnitude < 1 << 23) {
        float small = single_of_bits(magnitude + (113 << 23)) - 0x1p-14f;
        return single_of_bits(sign | bits_of_single(small));
    }
    uint32_t quiet = magnitude > 0x0f800000 ? 1 << 22 : 0;
    uint32_t bias = magnitude >= 0x0f800000 ? 224u << 23 : 112 << 23;
    return single_of_bits(sign | quiet | (magnitude + bias));
}

/* What is below the smallest exponent is rounded by adding a number whose last digit is theirs. */
static inline uint16_t f16_of_single(float x) {
    uint32_t bits = bits_of_single(x), magnitude = bits & 0x7fffffff, half;
    if (magnitude > 0x7f800000)
        half = 0x7e00 | (magnitude >> 13 & 0x3ff);
    else if (magnitude >= 143 << 23) /* 2^16 */
        half = 0x7c00;
    else if (magnitude < 113 << 23)
        half = bits_of_single(single_of_bits(magnitude) + 0.5f) - bits_of_single(0.5f);
    else
        half = (magnitude - (112 << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}
#endif

/* Rounds towards zero, and sets the last digit where something was lost: so what is rounded from
 * here to fewer digits is rounded as if it were from x. */
static inline float single_to_odd(double x) {
    float nearest = (float)x;
    uint32_t bits = bits_of_single(nearest);
    if (nearest == x || x != x)
        return nearest;
    if ((nearest > x) == (x > 0))
        bits--;
    return single_of_bits(bits | 1);
}

/* ---- rows ---- */

static inline void widen_row_f32(int32_t dtype, float *to, const void *from, int64_t count) {
    const uint16_t *halves = from;
    int64_t i = 0;
    if (dtype == PLACE_F32) {
        memcpy(to, from, sizeof *to * (size_t)count);
    } else if (dtype == PLACE_BF16) {
        for (; i < count; i++)
            to[i] = single_of_bf16(halves[i]);
    } else {
#if defined __F16C__
        for (; i < count / 8 * 8; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(halves + i))));
#endif
        for (; i < count; i++)
            to[i] = single_of_f16(halves[i]);
    }
}

static inline void round_row_f32(int32_t dtype, void *to, const float *from, int64_t count) {
    uint16_t *halves = to;
    int64_t i = 0;
    if (dtype == PLACE_F32) {
        memcpy(to, from, sizeof *from * (size_t)count);
    } else if (dtype == PLACE_BF16) {
        for (; i < count; i++)
            halves[i] = bf16_of_single(from[i]);
    } else {
#if defined __F16C__
        for (; i < count / 8 * 8; i += 8)
            _mm_storeu_si128((void *)(halves + i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
        for (; i < count; i++)
            halves[i] = f16_of_single(from[i]);
    }
}

enum { ROW_PART = 64 }; /* elements that are singles at a time on their way */

static inline void widen_row_f64(int32_t dtype, double *to, const void *from, int64_t count) {
    if (dtype == PLACE_F64) {
        memcpy(to, from, sizeof *to * (size_t)count);
        return;
    }
    for (int64_t i = 0, some; i < count; i += some) {
        float part[ROW_PART];
        some = count - i < ROW_PART ? count - i : ROW_PART;
        widen_row_f32(dtype, part, (const char *)from + i * width_of(dtype), some);
        for (int64_t j = 0; j < some; j++)
            to[i + j] = part[j];
    }
}

static inline void round_row_f64(int32_t dtype, void *to, const double *from, int64_t count) {
    if (dtype == PLACE_F64) {
        memcpy(to, from, sizeof *from * (size_t)count);
        return;
    }
    for (int64_t i = 0, some; i < count; i += some) {
        float part[ROW_PART];
        some = count - i < ROW_PART ? count - i : ROW_PART;
        for (int64_t j = 0; j < some; j++)
            part[j] = dtype == PLACE_F32 ? (float)from[i + j] : single_to_odd(from[i + j]);
        round_row_f32(dtype, (char *)to + i * width_of(dtype), part, some);
    }
}
