/* Vectors of elements of 16 bits as singles, and singles rounded to such elements, once, to nearest
 * even. Included once in each version of the kernels, and by the host, which asks for no more than
 * SSE2: what a CPU has no instruction for is done in steps on the bits, with the same results. */
#pragma once
#include <immintrin.h>
#include <stdint.h>
#include "runtime/kernels/vector.h"

/* The bits of as many singles as a vector has; and these singles. */
typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));
typedef float singles __attribute__((vector_size(VECTOR_BYTES)));
enum { WORDS = VECTOR_BYTES / 4 };

/* load_halves: each of WORDS elements of 16 bits as a word. store_halves: the upper halves of the
 * words of two vectors, one behind the other. any_nan: whether there is a NaN in either. */
#if VECTOR_BYTES == 64
INLINED words load_halves(const uint16_t *from) {
    return (words)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from));
}

INLINED void store_halves(uint16_t *to, words first, words second) {
    static const uint16_t odd[] __attribute__((aligned(64))) = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    __m512i which = _mm512_load_si512(odd);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16((__m512i)first, which, (__m512i)second));
}

INLINED int any_nan(singles first, singles second) {
    return _mm512_cmp_ps_mask((__m512)first, (__m512)second, _CMP_UNORD_Q);
}
#elif VECTOR_BYTES == 32
INLINED words load_halves(const uint16_t *from) {
    return (words)_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)from));
}

INLINED void store_halves(uint16_t *to, words first, words second) {
    __m256i mixed = _mm256_packs_epi32(_mm256_srai_epi32((__m256i)first, 16),
                                       _mm256_srai_epi32((__m256i)second, 16));
    _mm256_storeu_si256((void *)to, _mm256_permute4x64_epi64(mixed, 0xd8));
}

INLINED int any_nan(singles first, singles second) {
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)first, (__m256)second, _CMP_UNORD_Q));
}
#else
INLINED words load_halves(const uint16_t *from) {
    return (words)_mm_unpacklo_epi16(_mm_loadl_epi64((const void *)from), _mm_setzero_si128());
}

INLINED void store_halves(uint16_t *to, words first, words second) {
    _mm_storeu_si128((void *)to, _mm_packs_epi32(_mm_srai_epi32((__m128i)first, 16),
                                                 _mm_srai_epi32((__m128i)second, 16)));
}

INLINED int any_nan(singles first, singles second) {
    return _mm_movemask_ps(_mm_cmpunord_ps((__m128)first, (__m128)second));
}
#endif

INLINED words select_words(words mask, words x, words otherwise) {
    return (mask & x) | (~mask & otherwise);
}

/* All bits where it is so. Magnitudes, which have no sign, compare like the integers that they are.
 */
INLINED words is_less(words magnitude, int32_t than) {
    typedef int32_t signed_words __attribute__((vector_size(VECTOR_BYTES)));
    return (words)((signed_words)magnitude < than);
}

/* ---- bf16: the upper half of a single ---- */

#if VECTOR_BYTES == 64
/* One instruction puts each in the upper half of its word. */
INLINED singles bf16_load(const uint16_t *from) {
    static const uint16_t twice[]
        __attribute__((aligned(64))) = {0, 0, 1, 1, 2,  2,  3,  3,  4,  4,  5,  5,  6,  6,  7,  7,
                                        8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
    __m512i halves = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
    return (singles)_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, _mm512_load_si512(twice), halves);
}
#else
INLINED singles bf16_load(const uint16_t *from) {
    return (singles)(load_halves(from) << 16);
}
#endif

/* As many elements as half a vector has words twice: those with even numbers, or with odd ones. */
typedef uint32_t half_words __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef float half_singles __attribute__((vector_size(VECTOR_BYTES / 2)));

INLINED half_singles bf16_load_every_other(const uint16_t *from, int odd) {
    typedef half_words unaligned __attribute__((aligned(2), may_alias));
    half_words pairs = *(const unaligned *)from;
    return (half_singles)(odd ? pairs & 0xffff0000 : pairs << 16);
}

/* In the upper half of each word; of numbers. */
INLINED words bf16_rounded(singles x) {
    words bits = (words)x;
    return bits + ((bits >> 16 & 1) + 0x7fff);
}

/* What is not a number stays none when its digits are cut. */
INLINED words bf16_rounded_or_nan(singles x) {
    return select_words((words)(x != x), (words)x | 0x400000, bf16_rounded(x));
}

INLINED void bf16_store_in_steps(uint16_t *to, singles first, singles second) {
    if (__builtin_expect(any_nan(first, second), 0))
        store_halves(to, bf16_rounded_or_nan(first), bf16_rounded_or_nan(second));
    else
        store_halves(to, bf16_rounded(first), bf16_rounded(second));
}

#if defined __AVX512BF16__
/* VCVTNE2PS2BF16 takes subnormal numbers for zeros. */
INLINED void bf16_store(uint16_t *to, singles first, singles second) {
    enum { SUBNORMAL = 0x20 };
    int none_small = _kortestz_mask16_u8(_mm512_fpclass_ps_mask((__m512)first, SUBNORMAL),
                                         _mm512_fpclass_ps_mask((__m512)second, SUBNORMAL));
    if (__builtin_expect(none_small, 1))
        _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
    else
        bf16_store_in_steps(to, first, second);
}
#else
INLINED void bf16_store(uint16_t *to, singles first, singles second) {
    bf16_store_in_steps(to, first, second);
}
#endif

/* ---- f16 ---- */

#if defined __AVX512F__
INLINED singles f16_load(const uint16_t *from) {
    return (singles)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)from));
}

INLINED void f16_store(uint16_t *to, singles first, singles second) {
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    _mm256_storeu_si256((void *)to, _mm512_cvtps_ph((__m512)first, NEAREST));
    _mm256_storeu_si256((void *)(to + WORDS), _mm512_cvtps_ph((__m512)second, NEAREST));
}
#elif defined __F16C__
INLINED singles f16_load(const uint16_t *from) {
    return (singles)_mm256_cvtph_ps(_mm_loadu_si128((const void *)from));
}

INLINED void f16_store(uint16_t *to, singles first, singles second) {
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT };
    _mm_storeu_si128((void *)to, _mm256_cvtps_ph((__m256)first, NEAREST));
    _mm_storeu_si128((void *)(to + WORDS), _mm256_cvtps_ph((__m256)second, NEAREST));
}
#else
/* Where no leading digit is added to those that are stored, one is, and subtracted again. */
INLINED singles f16_load(const uint16_t *from) {
    words half = load_halves(from), magnitude = (half & 0x7fff) << 13;
    words small = (words)((singles)(magnitude + (113 << 23)) - 0x1p-14f);
    words is_number = is_less(magnitude, 0x0f800000), is_nan = ~is_less(magnitude, 0x0f800001);
    words bits = magnitude + (112 << 23) + (~is_number & (112 << 23));
    bits = select_words(is_less(magnitude, 1 << 23), small, bits | (is_nan & (1 << 22)));
    return (singles)(bits | (half & 0x8000) << 16);
}

/* In the upper half of each word. What is below the smallest exponent is rounded by adding a number
 * whose last digit is theirs. */
INLINED words f16_rounded(singles x) {
    words bits = (words)x, magnitude = bits & 0x7fffffff;
    words small = (words)((singles)magnitude + 0.5f) - (126 << 23);
    words half = (magnitude - (112 << 23) + ((magnitude >> 13 & 1) + 0xfff)) >> 13;
    words nan = (magnitude >> 13 & 0x3ff) | 0x7e00;
    half = select_words(is_less(magnitude, 113 << 23), small, half);
    half = select_words(is_less(magnitude, 143 << 23), half, (words){0} + 0x7c00); /* 2^16 */
    half = select_words(is_less(magnitude, 0x7f800001), half, nan);
    return half << 16 | (bits & 0x80000000);
}

INLINED void f16_store(uint16_t *to, singles first, singles second) {
    store_halves(to, f16_rounded(first), f16_rounded(second));
}
#endif
