/* What the runtime asks of OpenBLAS, by a library that is older than any CPU: as OpenBLAS does, it
 * chooses while it is loaded, and takes kernels for the first 64-bit CPUs unless it is told which.
 */
#include <stdlib.h>

static const char *core = "Prescott";

__attribute__((constructor)) static void choose(void) {
    const char *told = getenv("OPENBLAS_CORETYPE");
    if (told != NULL)
        core = told;
}

const char *openblas_get_config(void) {
    return "Old 0.1";
}

const char *openblas_get_corename(void) {
    return core;
}

void cblas_sgemm(void) {
}

void cblas_dgemm(void) {
}
