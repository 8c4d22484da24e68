/* What the runtime asks of OpenBLAS, by a library that is older than any CPU: as OpenBLAS does, it
 * chooses while it is loaded, and takes kernels for the first 64-bit CPUs unless it is told which.
 * Its products are the number of elements that were asked for, in the first of them: bits that
 * depend on how a product is cut. */
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

void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
    c[0] = (float)m * (float)n;
}

void cblas_dgemm(void) {
}
