/* One version of all kernels. This file is compiled three times, for x86-64-v2, v3 and v4
 * (runtime/CMakeLists.txt); each makes one table, and select.c takes the best that the CPU can run.
 * Inside, every kernel is a template that is included once per type. */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/vector.h"

#define REAL             float
#define INTEGER_OF_REAL  int32_t
#define UNSIGNED_OF_REAL uint32_t
#define SUFFIX           f32
#define MATH_DEFINITIONS "runtime/math/math_f32.def"
#include "runtime/kernels/templates.inc"
#undef REAL
#undef INTEGER_OF_REAL
#undef UNSIGNED_OF_REAL
#undef SUFFIX
#undef MATH_DEFINITIONS

#define REAL             double
#define INTEGER_OF_REAL  int64_t
#define UNSIGNED_OF_REAL uint64_t
#define SUFFIX           f64
#define MATH_DEFINITIONS "runtime/math/math_f64.def"
#include "runtime/kernels/templates.inc"

#define NAMED(version)       VECTOR_JOINED2(kernels_, version)
#define QUOTED(version)      #version
#define QUOTED_NAME(version) QUOTED(version)

const struct kernels NAMED(KERNEL_VERSION) = {
    .version = QUOTED_NAME(KERNEL_VERSION),
    .vector_bytes = VECTOR_BYTES,
    .math_f32 = math_functions_f32,
    .math_f64 = math_functions_f64,
};
