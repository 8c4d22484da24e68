/* Switches the kernel templates to float. Included again and again, so no #pragma once. */
#undef REAL
#undef INTEGER_OF_REAL
#undef UNSIGNED_OF_REAL
#undef SUFFIX
#undef REAL_DTYPE
#undef REAL_SQRT
#undef MATH_DEFINITIONS
#define REAL             float
#define INTEGER_OF_REAL  int32_t
#define UNSIGNED_OF_REAL uint32_t
#define SUFFIX           f32
#define REAL_DTYPE       PLACE_F32
#define REAL_SQRT(x)     __builtin_sqrtf(x)
#define MATH_DEFINITIONS "runtime/math/math_f32.def"
