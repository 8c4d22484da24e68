/* One version of all kernels. This file is compiled four times, for x86-64-v2, v3, v4, and v4
 * with AVX512_BF16 (runtime/CMakeLists.txt); each makes one table, and select.c takes the best that
 * the CPU can run.
 * Inside, every kernel is a template that is included once per type. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/arguments.h"
#include "runtime/kernels/pairs.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/vector.h"
#include "runtime/workspace.h"

#include "runtime/kernels/f64.h"
#include "runtime/kernels/vector.inc"
#include "runtime/kernels/f32.h"
#include "runtime/kernels/vector.inc"

#include "runtime/kernels/f64.h"
#include "runtime/kernels/templates.inc"
#include "runtime/kernels/f32.h"
#include "runtime/kernels/templates.inc"

#define NAMED(version)       VECTOR_JOINED2(kernels_, version)
#define QUOTED(version)      #version
#define QUOTED_NAME(version) QUOTED(version)

const struct kernels NAMED(KERNEL_VERSION) = {
    .version = QUOTED_NAME(KERNEL_VERSION),
    .level = QUOTED_NAME(KERNEL_LEVEL),
    .vector_bytes = VECTOR_BYTES,
    .has_pairs = HAS_PAIRS_f32,
    .math_f32 = math_functions_f32,
    .math_f64 = math_functions_f64,
    .tiles =
        {
            [PLACE_F32] =
                {
#define KERNEL(name, arguments, unit) [KERNEL_##name] = name##_f32,
#include "runtime/kernels/kernels.def"
                },
            [PLACE_F64] =
                {
#define KERNEL(name, arguments, unit) [KERNEL_##name] = name##_f64,
#include "runtime/kernels/kernels.def"
                },
        },
};
