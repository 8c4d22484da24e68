/* Switches the kernel templates to double. Included again and again, so no #pragma once. */
#undef REAL
#undef INTEGER_OF_REAL
#undef UNSIGNED_OF_REAL
#undef SUFFIX
#undef REAL_DTYPE
#undef REAL_SQRT
#undef MATH_DEFINITIONS
#define REAL             double
#define INTEGER_OF_REAL  int64_t
#define UNSIGNED_OF_REAL uint64_t
#define SUFFIX           f64
#define REAL_DTYPE       PLACE_F64
#define REAL_SQRT(x)     __builtin_sqrt(x)
#define MATH_DEFINITIONS "runtime/math/math_f64.def"
