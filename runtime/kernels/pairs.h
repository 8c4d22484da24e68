/* Products of bf16 by the CPU's own instruction, VDPBF16PS of AVX512_BF16: a lane of 32 bits holds
 * two elements that follow one another in k, and both their products are added to a single. It
 * takes subnormal numbers for zeros. Panels of pairs have half as many lines as those of singles. */
#pragma once
#include "runtime/kernels/vector.h"

#if defined __AVX512BF16__
enum { HAS_PAIRS_f32 = 1, HAS_PAIRS_f64 = 0 };

#define VECTOR_PAIRS_f32(a, b, sum) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b))

/* Rounds two lines of singles to bf16, the first of them in the lower half. */
static inline __m512i round_lines(__m512 first, __m512 second) {
    return (__m512i)_mm512_cvtne2ps_pbh(second, first);
}

/* to = pairs of lines that follow one another in k. */
static inline void store_pairs(void *to, __m512i lines) {
    static const uint16_t both[] __attribute__((aligned(64))) = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(both), lines));
}

/* Each line by itself. */
static inline void store_lines(void *first, void *second, __m512i lines) {
    _mm256_storeu_si256(first, _mm512_castsi512_si256(lines));
    _mm256_storeu_si256(second, _mm512_extracti64x4_epi64(lines, 1));
}
#define PAIRS_TO_f32(to, first, second)                                                            \
    store_pairs(to, round_lines((__m512)(first), (__m512)(second)))
#define LINES_TO_f32(to, next, first, second)                                                      \
    store_lines(to, next, round_lines((__m512)(first), (__m512)(second)))
#else
enum { HAS_PAIRS_f32 = 0, HAS_PAIRS_f64 = 0 };
#define VECTOR_PAIRS_f32(a, b, sum)           (sum)
#define PAIRS_TO_f32(to, first, second)       PAIRS_TO_f64(to, first, second)
#define LINES_TO_f32(to, next, first, second) LINES_TO_f64(to, next, first, second)
#endif
/* Never called. */
#define VECTOR_PAIRS_f64(a, b, sum)           (sum)
#define PAIRS_TO_f64(to, first, second)       ((void)(to), (void)(first), (void)(second))
#define LINES_TO_f64(to, next, first, second) ((void)(next), PAIRS_TO_f64(to, first, second))

#define VECTOR_PAIRS(suffix, a, b, sum)     VECTOR_JOINED2(VECTOR_PAIRS_, suffix)(a, b, sum)
#define PAIRS_TO(suffix, to, first, second) VECTOR_JOINED2(PAIRS_TO_, suffix)(to, first, second)
#define LINES_TO(suffix, to, next, first, second)                                                  \
    VECTOR_JOINED2(LINES_TO_, suffix)(to, next, first, second)
#define HAS_PAIRS JOINED2(HAS_PAIRS, SUFFIX)

/* to[j, i] = from[i, j] of 4 x 4 words, whose rows begin anywhere. */
static inline void transpose_words(const char *from, int64_t from_bytes, uint32_t *to,
                                   int64_t to_stride) {
    __m128i row[4], low[2], high[2];
    for (int i = 0; i < 4; i++)
        row[i] = _mm_loadu_si128((const void *)(from + i * from_bytes));
    for (int i = 0; i < 2; i++) {
        low[i] = _mm_unpacklo_epi32(row[2 * i], row[2 * i + 1]);
        high[i] = _mm_unpackhi_epi32(row[2 * i], row[2 * i + 1]);
    }
    _mm_storeu_si128((void *)to, _mm_unpacklo_epi64(low[0], low[1]));
    _mm_storeu_si128((void *)(to + to_stride), _mm_unpackhi_epi64(low[0], low[1]));
    _mm_storeu_si128((void *)(to + 2 * to_stride), _mm_unpacklo_epi64(high[0], high[1]));
    _mm_storeu_si128((void *)(to + 3 * to_stride), _mm_unpackhi_epi64(high[0], high[1]));
}

/* to[k / 2, width] = some lines from one on, where k lies side by side: pairs do already. */
static inline void transpose_pairs(const char *from, int64_t line_bytes, int64_t lines,
                                   int64_t depth, int width, uint32_t *to) {
    int64_t pairs = depth / 2, line = 0;
    for (; line < lines; line += 4, from += 4 * line_bytes) {
        int64_t some = lines - line < 4 ? lines - line : 4, pair = 0;
        for (; some == 4 && pair + 4 <= pairs; pair += 4)
            transpose_words(from + 4 * pair, line_bytes, to + pair * width + line, width);
        for (; pair < pairs; pair++)
            for (int64_t i = 0; i < some; i++)
                memcpy(to + pair * width + line + i, from + i * line_bytes + 4 * pair, 4);
        for (int64_t i = 0; depth % 2 && i < some; i++)
            memcpy(to + pair * width + line + i, from + i * line_bytes + 4 * pair, 2);
    }
}

/* The same, where lines lie side by side. */
static inline void join_pairs(const uint16_t *from, int64_t stride, int64_t lines, int64_t depth,
                              int width, uint32_t *to) {
    for (int64_t k = 0; k < depth; k += 2, from += 2 * stride, to += width) {
        const uint16_t *next = from + stride;
        if (k + 1 < depth)
            for (int64_t i = 0; i < lines; i++)
                to[i] = from[i] | (uint32_t)next[i] << 16;
        else
            for (int64_t i = 0; i < lines; i++)
                to[i] = from[i];
    }
}
