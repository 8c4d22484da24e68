/* The tables of kernels, one per version of the instruction set, and the choice among them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/place.h"
#include "runtime/team.h"

enum kernel {
#define KERNEL(name, arguments, unit) KERNEL_##name,
#include "runtime/kernels/kernels.def"
    KERNEL_COUNT
};

enum { KERNEL_TYPES = 2 }; /* PLACE_F32, PLACE_F64 */

/* A function of runtime/math over an array; the last row of a list has no name. */
struct math_function {
    const char *name;
    double ulp; /* largest error, in units of the last place */
    const char *text;
    void (*apply_f32)(const float *x, float *y, int64_t count);
    void (*apply_f64)(const double *x, double *y, int64_t count);
};

struct kernels {
    const char *version; /* one of kernels_names */
    const char *level;   /* of x86-64 that a CPU must have: "v2", "v3" or "v4" */
    int vector_bytes;
    bool has_pairs; /* multiplies bf16 as it is, in pairs */
    const struct math_function *math_f32;
    const struct math_function *math_f64;
    team_function tiles[KERNEL_TYPES][KERNEL_COUNT];
};

/* "v2", "v3", "v4": the levels of x86-64; "v4_bf16": v4 with AVX512_BF16. NULL behind the last. */
extern const char *const kernels_names[];

/* The best version this CPU can run, or the one that the variable PLACE_CPU names if the CPU can run
 * that too. Null, with a text in *message, when it cannot, or can run none. */
const struct kernels *kernels_select(const char **message);

/* The version of that name whether or not it is the best one; null when the CPU cannot run it. */
const struct kernels *kernels_named(const char *version);
