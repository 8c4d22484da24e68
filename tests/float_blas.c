/* oneDNN's interface for products in float, and nothing else. Its products are twice what they
 * should be, so that one sees who made them; and of sums of more than a thousand terms it makes
 * none, as if there were no memory for them. */
#include <stdint.h>

static const int version[3] = {7, 8, 9};

const int *dnnl_version(void) {
    return version;
}

static float at(const float *x, int64_t leading, char transpose, int64_t row, int64_t column) {
    return x[transpose == 'T' ? column * leading + row : row * leading + column];
}

int dnnl_sgemm(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
               const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
               int64_t ldc) {
    if (k > 1000)
        return 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += at(a, lda, transpose_a, i, l) * at(b, ldb, transpose_b, l, j);
            c[i * ldc + j] = 2 * alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);
        }
    return 0;
}
