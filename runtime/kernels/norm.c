/* The calls of both norms. The gradients of parameters come first, because dx may overwrite dy. */
#include <stddef.h>
#include "runtime/kernels/run.h"

enum { COLUMNS_PER_RANGE = 64 };

int32_t place_layer_norm(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t rows, int64_t hidden, const void *x, const void *gain,
                         const void *bias, double epsilon, void *y, void *mean, void *rstd) {
    RECORD_CALL(layer_norm);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = x,
                        .gain = gain,
                        .bias = bias,
                        .epsilon = epsilon,
                        .y = y,
                        .mean = mean,
                        .rstd = rstd};
    return run_kernel(context, statement, KERNEL_norm_forward, dtype, rows, rows_per_range(hidden),
                      &norm);
}

int32_t place_rms_norm(struct place_context *context, int32_t statement, int32_t dtype,
                       int64_t rows, int64_t hidden, const void *x, const void *gain,
                       double epsilon, void *y, void *rstd) {
    RECORD_CALL(rms_norm);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = x,
                        .gain = gain,
                        .epsilon = epsilon,
                        .y = y,
                        .rstd = rstd};
    return run_kernel(context, statement, KERNEL_norm_forward, dtype, rows, rows_per_range(hidden),
                      &norm);
}

static int32_t norm_backward(struct place_context *context, int32_t statement, int32_t dtype,
                             int64_t parts, int64_t blocks, struct norm *norm) {
    int32_t status = cut_rows(context, statement, norm->rows, parts, blocks, &norm->blocks);
    if (status == PLACE_OK && (norm->dgain != NULL || norm->dbias != NULL))
        status = run_kernel(context, statement, KERNEL_norm_backward_parameters, dtype,
                            norm->hidden, COLUMNS_PER_RANGE, norm);
    if (status == PLACE_OK && norm->dx != NULL)
        status = run_kernel(context, statement, KERNEL_norm_backward_input, dtype, norm->rows,
                            rows_per_range(norm->hidden), norm);
    return status;
}

int32_t place_layer_norm_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                  int64_t rows, int64_t parts, int64_t blocks, int64_t hidden,
                                  const void *x, const void *gain, const void *mean,
                                  const void *rstd, const void *dy, void *dx, void *dgain,
                                  void *dbias, int32_t accumulate) {
    RECORD_CALL(layer_norm_backward);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = x,
                        .gain = gain,
                        .mean = (void *)mean,
                        .rstd = (void *)rstd,
                        .dy = dy,
                        .dx = dx,
                        .dgain = dgain,
                        .dbias = dbias,
                        .accumulate = accumulate};
    return norm_backward(context, statement, dtype, parts, blocks, &norm);
}

int32_t place_rms_norm_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                int64_t rows, int64_t parts, int64_t blocks, int64_t hidden,
                                const void *x, const void *gain, const void *rstd, const void *dy,
                                void *dx, void *dgain, int32_t accumulate) {
    RECORD_CALL(rms_norm_backward);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = x,
                        .gain = gain,
                        .rstd = (void *)rstd,
                        .dy = dy,
                        .dx = dx,
                        .dgain = dgain,
                        .accumulate = accumulate};
    return norm_backward(context, statement, dtype, parts, blocks, &norm);
}
