/* What the runtime asks of MKL: its version, and products, of which it makes none. It starts a pool
 * of threads unless it is told not to, which its version shows here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void MKL_Get_Version_String(char *text, int room) {
    const char *layer = getenv("MKL_THREADING_LAYER");
    int sequential = layer != NULL && strcmp(layer, "SEQUENTIAL") == 0;
    snprintf(text, (size_t)room, "Intel(R) oneAPI Math Kernel Library Version %s-Product Build 1",
             sequential ? "7.8" : "0.0");
}

void cblas_sgemm(void) {
}

void cblas_dgemm(void) {
}
