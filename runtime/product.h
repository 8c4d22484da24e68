/* The product library: one process-wide handle, loaded at the first need, called single-threaded.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/place.h"

/* Loads the library, with kernels that use what this CPU has, and turns its threads off. It must be
 * called before other threads run that read the environment, since a misleading OPENBLAS_CORETYPE
 * is removed from it. PLACE_PRODUCT_LIBRARY names another file to load: one with cblas_sgemm and
 * cblas_dgemm (BLIS, MKL), or oneDNN, which makes products in float, beside OpenBLAS for those in
 * double.
 * PLACE_OK, or PLACE_ERROR_LIBRARY with a text in *message. Later calls return what the first did.
 */
int32_t product_load(const char **message);

/* What was loaded and which kernels it took, as "OpenBLAS 0.3.21 SkylakeX", or "oneDNN 2.6.3, fp64
 * by OpenBLAS 0.3.21 SkylakeX", or "MKL 2026.2"; "none" before. */
const char *product_description(void);

/* A sentence when the environment asked for certain kernels (and was ignored), else null. */
const char *product_warning(void);

/* Bytes that the library keeps for packing operands, per thread that calls it; a constant for the
 * memory plan. Measured with OpenBLAS 0.3.21, code that it runs included, for the largest tiles of
 * runtime/kernels/product.c: 2.7 MiB after products in float, 4.0 MiB after both types.
 * oneDNN 2.6.3 allocates 2.1 MiB for each product, however long its sums, and gives them back. */
#define PLACE_PRODUCT_BYTES_PER_THREAD (INT64_C(4) << 20)

/* What of addresses it maps for that; most of it is never touched. OpenBLAS that may not map it
 * tries again for ever. */
#define PLACE_PRODUCT_ADDRESSES_PER_THREAD (INT64_C(128) << 20)

/* A product of row-major matrices: c = op(a) op(b) + beta c. */
struct product {
    enum place_dtype dtype;
    int transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    int beta; /* 0 or 1 */
    void *c;
    int64_t ldc;
};

/* Computes it on the calling thread. product_load has succeeded. Safe from several threads. False
 * where the library could not: c then holds no product. */
bool product_compute(const struct product *product);
