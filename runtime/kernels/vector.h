/* What the kernels need to know of the instruction set that this translation unit is compiled for.
 */
#pragma once
#include <immintrin.h>
#include <stdint.h>

#define VECTOR_JOINED(a, b)  a##b
#define VECTOR_JOINED2(a, b) VECTOR_JOINED(a, b)

/* VECTOR_FMA(f32, a, b, c) and so on: the operations that C has no operator for. Without the fused
 * instruction (x86-64-v2) a fused step is a product and a sum, as runtime/math/README.md says. */
#if defined __AVX512F__
#define VECTOR_BYTES            64
#define KERNEL_VERSION          v4
#define VECTOR_FMA_f32(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define VECTOR_FMA_f64(a, b, c) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define VECTOR_SQRT_f32(a)      _mm512_sqrt_ps((__m512)(a))
#define VECTOR_SQRT_f64(a)      _mm512_sqrt_pd((__m512d)(a))
#define VECTOR_MAX_f32(a, b)    _mm512_max_ps((__m512)(a), (__m512)(b))
#define VECTOR_MAX_f64(a, b)    _mm512_max_pd((__m512d)(a), (__m512d)(b))
#elif defined __FMA__
#define VECTOR_BYTES            32
#define KERNEL_VERSION          v3
#define VECTOR_FMA_f32(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define VECTOR_FMA_f64(a, b, c) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define VECTOR_SQRT_f32(a)      _mm256_sqrt_ps((__m256)(a))
#define VECTOR_SQRT_f64(a)      _mm256_sqrt_pd((__m256d)(a))
#define VECTOR_MAX_f32(a, b)    _mm256_max_ps((__m256)(a), (__m256)(b))
#define VECTOR_MAX_f64(a, b)    _mm256_max_pd((__m256d)(a), (__m256d)(b))
#else
#define VECTOR_BYTES            16
#define KERNEL_VERSION          v2
#define VECTOR_FMA_f32(a, b, c) ((a) * (b) + (c))
#define VECTOR_FMA_f64(a, b, c) ((a) * (b) + (c))
#define VECTOR_SQRT_f32(a)      _mm_sqrt_ps((__m128)(a))
#define VECTOR_SQRT_f64(a)      _mm_sqrt_pd((__m128d)(a))
#define VECTOR_MAX_f32(a, b)    _mm_max_ps((__m128)(a), (__m128)(b))
#define VECTOR_MAX_f64(a, b)    _mm_max_pd((__m128d)(a), (__m128d)(b))
#endif

#define VECTOR_FMA(suffix, a, b, c) VECTOR_JOINED2(VECTOR_FMA_, suffix)(a, b, c)
#define VECTOR_SQRT(suffix, a)      VECTOR_JOINED2(VECTOR_SQRT_, suffix)(a)
#define VECTOR_MAX(suffix, a, b)    VECTOR_JOINED2(VECTOR_MAX_, suffix)(a, b)

/* The names of a template: N(x) is x with the suffix of the type that is being expanded (f32.h,
 * f64.h). */
#define JOINED(a, b)  a##_##b
#define JOINED2(a, b) JOINED(a, b)
#define N(name)       JOINED2(name, SUFFIX)
#define VECTOR        N(vector)
#define INTEGERS      N(integers)
#define LANES         ((int64_t)(VECTOR_BYTES / sizeof(REAL)))
