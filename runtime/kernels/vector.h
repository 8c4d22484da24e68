/* What the kernels need to know of the instruction set that this translation unit is compiled for.
 */
#pragma once
#include <immintrin.h>
#include <stdint.h>

#define VECTOR_JOINED(a, b)  a##b
#define VECTOR_JOINED2(a, b) VECTOR_JOINED(a, b)

/* VECTOR_FMA(f32, a, b, c) and so on: the operations that C has no operator for. Without the fused
 * instruction (x86-64-v2) a fused step is a product and a sum, as runtime/math/README.md says.
 * VECTOR_OF_HALF: half a vector of floats as one of doubles. */
#if defined __AVX512F__
#define VECTOR_BYTES            64
#define KERNEL_LEVEL            v4
#define VECTOR_FMA_f32(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define VECTOR_FMA_f64(a, b, c) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define VECTOR_SQRT_f32(a)      _mm512_sqrt_ps((__m512)(a))
#define VECTOR_SQRT_f64(a)      _mm512_sqrt_pd((__m512d)(a))
#define VECTOR_MAX_f32(a, b)    _mm512_max_ps((__m512)(a), (__m512)(b))
#define VECTOR_MIN_f32(a, b)    _mm512_min_ps((__m512)(a), (__m512)(b))
#define VECTOR_MAX_f64(a, b)    _mm512_max_pd((__m512d)(a), (__m512d)(b))
#define VECTOR_MIN_f64(a, b)    _mm512_min_pd((__m512d)(a), (__m512d)(b))
#define VECTOR_OF_HALF(a)       _mm512_cvtps_pd((__m256)(a))
#elif defined __FMA__
#define VECTOR_BYTES            32
#define KERNEL_LEVEL            v3
#define VECTOR_FMA_f32(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define VECTOR_FMA_f64(a, b, c) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define VECTOR_SQRT_f32(a)      _mm256_sqrt_ps((__m256)(a))
#define VECTOR_SQRT_f64(a)      _mm256_sqrt_pd((__m256d)(a))
#define VECTOR_MAX_f32(a, b)    _mm256_max_ps((__m256)(a), (__m256)(b))
#define VECTOR_MIN_f32(a, b)    _mm256_min_ps((__m256)(a), (__m256)(b))
#define VECTOR_MAX_f64(a, b)    _mm256_max_pd((__m256d)(a), (__m256d)(b))
#define VECTOR_MIN_f64(a, b)    _mm256_min_pd((__m256d)(a), (__m256d)(b))
#define VECTOR_OF_HALF(a)       _mm256_cvtps_pd((__m128)(a))
#else
#define VECTOR_BYTES            16
#define KERNEL_LEVEL            v2
#define VECTOR_FMA_f32(a, b, c) ((a) * (b) + (c))
#define VECTOR_FMA_f64(a, b, c) ((a) * (b) + (c))
#define VECTOR_SQRT_f32(a)      _mm_sqrt_ps((__m128)(a))
#define VECTOR_SQRT_f64(a)      _mm_sqrt_pd((__m128d)(a))
#define VECTOR_MAX_f32(a, b)    _mm_max_ps((__m128)(a), (__m128)(b))
#define VECTOR_MIN_f32(a, b)    _mm_min_ps((__m128)(a), (__m128)(b))
#define VECTOR_MAX_f64(a, b)    _mm_max_pd((__m128d)(a), (__m128d)(b))
#define VECTOR_MIN_f64(a, b)    _mm_min_pd((__m128d)(a), (__m128d)(b))
#define VECTOR_OF_HALF(a)       __builtin_convertvector(a, vector_f64)
#endif

/* What is compiled for more than a level has a name of its own. */
#if defined __AVX512BF16__
#define KERNEL_VERSION v4_bf16
#else
#define KERNEL_VERSION KERNEL_LEVEL
#endif

/* Functions are inlined that need their constants, or would have to save all vectors around a call.
 */
#define INLINED static inline __attribute__((always_inline))

/* Arrays are aligned that vectors are stored to and soon loaded from. */
#define ALIGNED __attribute__((aligned(VECTOR_BYTES)))

#define VECTOR_FMA(suffix, a, b, c) VECTOR_JOINED2(VECTOR_FMA_, suffix)(a, b, c)
#if defined __FMA__
#define SCALAR_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define SCALAR_FMA(a, b, c) ((double)(a) * (double)(b) + (c))
#endif
#define VECTOR_SQRT(suffix, a)   VECTOR_JOINED2(VECTOR_SQRT_, suffix)(a)
#define VECTOR_MAX(suffix, a, b) VECTOR_JOINED2(VECTOR_MAX_, suffix)(a, b)
#define VECTOR_MIN(suffix, a, b) VECTOR_JOINED2(VECTOR_MIN_, suffix)(a, b)

/* The names of a template: typed(x) is x with the suffix of the type that is being expanded (f32.h,
 * f64.h). */
#define JOINED(a, b)  a##_##b
#define JOINED2(a, b) JOINED(a, b)
#define typed(name)   JOINED2(name, SUFFIX)
#define VECTOR        typed(vector)
#define INTEGERS      typed(integers)
#define LANES         ((int64_t)(VECTOR_BYTES / sizeof(REAL)))

/* Blocks of EDGE x EDGE elements are transposed in the registers that all versions have. to[j, i] =
 * factor * from[i, j] */
enum { TRANSPOSE_EDGE_f32 = 4, TRANSPOSE_EDGE_f64 = 2 };

static inline void transpose_block_f32(const float *from, int64_t from_stride, float factor,
                                       float *to, int64_t to_stride) {
    __m128 row[4], scale = _mm_set1_ps(factor);
    for (int i = 0; i < 4; i++)
        row[i] = _mm_mul_ps(_mm_loadu_ps(from + i * from_stride), scale);
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (int i = 0; i < 4; i++)
        _mm_storeu_ps(to + i * to_stride, row[i]);
}

static inline void transpose_block_f64(const double *from, int64_t from_stride, double factor,
                                       double *to, int64_t to_stride) {
    __m128d scale = _mm_set1_pd(factor);
    __m128d first = _mm_mul_pd(_mm_loadu_pd(from), scale);
    __m128d second = _mm_mul_pd(_mm_loadu_pd(from + from_stride), scale);
    _mm_storeu_pd(to, _mm_unpacklo_pd(first, second));
    _mm_storeu_pd(to + to_stride, _mm_unpackhi_pd(first, second));
}

/* Sums of all lanes as a tree of halves: written out, since no order may be left to a compiler. */
static inline float sum_four_f32(__m128 x) {
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

static inline double sum_two_f64(__m128d x) {
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}

#if defined __FMA__
static inline float sum_eight_f32(__m256 x) {
    return sum_four_f32(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}

static inline double sum_four_f64(__m256d x) {
    return sum_two_f64(_mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1)));
}
#endif

#if VECTOR_BYTES == 64
#define VECTOR_SUM_f32(x)                                                                          \
    sum_eight_f32(_mm256_add_ps(_mm512_castps512_ps256((__m512)(x)),                               \
                                _mm512_extractf32x8_ps((__m512)(x), 1)))
#define VECTOR_SUM_f64(x)                                                                          \
    sum_four_f64(_mm256_add_pd(_mm512_castpd512_pd256((__m512d)(x)),                               \
                               _mm512_extractf64x4_pd((__m512d)(x), 1)))
#elif VECTOR_BYTES == 32
#define VECTOR_SUM_f32(x) sum_eight_f32((__m256)(x))
#define VECTOR_SUM_f64(x) sum_four_f64((__m256d)(x))
#else
#define VECTOR_SUM_f32(x) sum_four_f32((__m128)(x))
#define VECTOR_SUM_f64(x) sum_two_f64((__m128d)(x))
#endif

#define VECTOR_SUM(suffix, x) VECTOR_JOINED2(VECTOR_SUM_, suffix)(x)
