/* Chooses the version of the kernels that the CPU can run, once, at start. */
#include <stdlib.h>
#include <string.h>
#include "runtime/kernels/kernels.h"

extern const struct kernels kernels_v2, kernels_v3, kernels_v4, kernels_v4_bf16;

/* By what they ask of a CPU, from the least on; each asks for all that those before it do. */
static const struct kernels *const versions[] = {&kernels_v2, &kernels_v3, &kernels_v4,
                                                 &kernels_v4_bf16};
const char *const kernels_names[] = {"v2", "v3", "v4", "v4_bf16", NULL};
_Static_assert(sizeof kernels_names / sizeof *kernels_names ==
                   sizeof versions / sizeof *versions + 1,
               "a name for each, and the end");

/* How many of the versions the CPU can run. The compiler's own test also asks whether the system
 * saves the wide registers. */
static size_t count_versions(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3") ||
        !__builtin_cpu_supports("popcnt"))
        return 0;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return 1;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx512bf16") ? 4 : 3;
}

const struct kernels *kernels_named(const char *version) {
    for (size_t i = 0, count = count_versions(); i < count; i++)
        if (strcmp(version, kernels_names[i]) == 0)
            return versions[i];
    return NULL;
}

const struct kernels *kernels_select(const char **message) {
    const char *wanted = getenv("PLACE_CPU");
    if (wanted != NULL && wanted[0] != '\0') {
        const struct kernels *kernels = kernels_named(wanted);
        if (kernels == NULL)
            *message = "PLACE_CPU names a version of the kernels that this CPU cannot run; the "
                       "names are v2, v3, v4 and v4_bf16";
        return kernels;
    }
    size_t count = count_versions();
    if (count == 0) {
        *message = "this CPU is older than x86-64-v2 (SSE 4.2), the least that Place runs on";
        return NULL;
    }
    return versions[count - 1];
}
