/* Chooses the version of the kernels that the CPU can run, once, at start. */
#include <stdlib.h>
#include <string.h>
#include "runtime/kernels/kernels.h"

extern const struct kernels kernels_v2, kernels_v3, kernels_v4;

/* The compiler's own test of the levels also asks whether the system saves the wide registers. */
static int cpu_level(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3") ||
        !__builtin_cpu_supports("popcnt"))
        return 1;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return 2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 3;
    return 4;
}

const struct kernels *kernels_named(const char *version) {
    const struct kernels *const versions[] = {&kernels_v2, &kernels_v3, &kernels_v4};
    int level = cpu_level();
    for (int i = 0; i < 3; i++)
        if (strcmp(version, versions[i]->version) == 0)
            return i + 2 <= level ? versions[i] : NULL;
    return NULL;
}

bool kernels_have_pairs(const struct kernels *kernels) {
    return kernels == &kernels_v4 && __builtin_cpu_supports("avx512bf16");
}

const struct kernels *kernels_select(const char **message) {
    const char *wanted = getenv("PLACE_CPU");
    if (wanted != NULL && wanted[0] != '\0') {
        const struct kernels *kernels = kernels_named(wanted);
        if (kernels == NULL)
            *message = "PLACE_CPU names a version of the kernels that this CPU cannot run; the "
                       "names are v2, v3 and v4";
        return kernels;
    }
    switch (cpu_level()) {
    case 4:
        return &kernels_v4;
    case 3:
        return &kernels_v3;
    case 2:
        return &kernels_v2;
    default:
        *message = "this CPU is older than x86-64-v2 (SSE 4.2), the least that Place runs on";
        return NULL;
    }
}
