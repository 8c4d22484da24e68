/* The calls of both norms. The gradients of parameters come first, because dx may overwrite dy. */
#include <stddef.h>
#include "runtime/kernels/run.h"

enum { COLUMNS_PER_RANGE = 64 };

/* The workspace holds weights and rows that are widened, or what is made of them on the way. */
static int32_t check_rows(struct place_context *context, int32_t statement, int32_t computed,
                          const struct norm *norm) {
    enum { WEIGHTS = 2, ROWS = 2 };
    int64_t width = computed == PLACE_F64 ? 8 : 4;
    int64_t elements = WEIGHTS * norm->hidden + ROWS * larger(norm->hidden, NORM_ELEMENTS);
    if (elements * width <= team_workspace_bytes(context->team))
        return PLACE_OK;
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                        "the workspace has no room for rows of %lld elements",
                        (long long)norm->hidden);
}

static int32_t norm_forward(struct place_context *context, int32_t statement, struct norm *norm) {
    int32_t computed = COMPUTED_IN(norm->x.dtype);
    int32_t status = check_rows(context, statement, computed, norm);
    if (status)
        return status;
    return run_kernel(context, statement, KERNEL_norm_forward, computed, norm->rows,
                      rows_per_range(norm->hidden), norm);
}

int32_t place_layer_norm(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t rows, int64_t hidden, const void *x, const void *gain,
                         const void *bias, double epsilon, void *y, void *mean, void *rstd) {
    RECORD_CALL(layer_norm);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = elements_of(x, dtype),
                        .gain = elements_of(gain, dtype),
                        .bias = elements_of(bias, dtype),
                        .epsilon = epsilon,
                        .y = elements_of(y, dtype),
                        .mean = mean,
                        .rstd = rstd};
    return norm_forward(context, statement, &norm);
}

int32_t place_rms_norm(struct place_context *context, int32_t statement, int32_t dtype,
                       int64_t rows, int64_t hidden, const void *x, const void *gain,
                       double epsilon, void *y, void *rstd) {
    RECORD_CALL(rms_norm);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = elements_of(x, dtype),
                        .gain = elements_of(gain, dtype),
                        .epsilon = epsilon,
                        .y = elements_of(y, dtype),
                        .rstd = rstd};
    return norm_forward(context, statement, &norm);
}

static int32_t norm_backward(struct place_context *context, int32_t statement, int64_t parts,
                             int64_t blocks, struct norm *norm) {
    int32_t computed = COMPUTED_IN(norm->x.dtype, norm->dgain.dtype, norm->dbias.dtype);
    int32_t status = cut_rows(context, statement, norm->rows, parts, blocks, &norm->blocks);
    if (status == PLACE_OK)
        status = check_rows(context, statement, computed, norm);
    if (status == PLACE_OK && (norm->dgain.at != NULL || norm->dbias.at != NULL))
        status = run_kernel(context, statement, KERNEL_norm_backward_parameters, computed,
                            norm->hidden, COLUMNS_PER_RANGE, norm);
    if (status == PLACE_OK && norm->dx.at != NULL)
        status = run_kernel(context, statement, KERNEL_norm_backward_input, computed, norm->rows,
                            rows_per_range(norm->hidden), norm);
    return status;
}

int32_t place_layer_norm_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                  int32_t dgain_dtype, int32_t dbias_dtype, int64_t rows,
                                  int64_t parts, int64_t blocks, int64_t hidden, const void *x,
                                  const void *gain, const void *mean, const void *rstd,
                                  const void *dy, void *dx, void *dgain, void *dbias,
                                  int32_t accumulate) {
    RECORD_CALL(layer_norm_backward);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = elements_of(x, dtype),
                        .gain = elements_of(gain, dtype),
                        .mean = (void *)mean,
                        .rstd = (void *)rstd,
                        .dy = elements_of(dy, dtype),
                        .dx = elements_of(dx, dtype),
                        .dgain = elements_of(dgain, dgain_dtype),
                        .dbias = elements_of(dbias, dbias_dtype),
                        .accumulate = accumulate};
    return norm_backward(context, statement, parts, blocks, &norm);
}

int32_t place_rms_norm_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                int32_t dgain_dtype, int64_t rows, int64_t parts, int64_t blocks,
                                int64_t hidden, const void *x, const void *gain, const void *rstd,
                                const void *dy, void *dx, void *dgain, int32_t accumulate) {
    RECORD_CALL(rms_norm_backward);
    struct norm norm = {.rows = rows,
                        .hidden = hidden,
                        .x = elements_of(x, dtype),
                        .gain = elements_of(gain, dtype),
                        .rstd = (void *)rstd,
                        .dy = elements_of(dy, dtype),
                        .dx = elements_of(dx, dtype),
                        .dgain = elements_of(dgain, dgain_dtype),
                        .dbias = elements_of(NULL, dtype),
                        .accumulate = accumulate};
    return norm_backward(context, statement, parts, blocks, &norm);
}
