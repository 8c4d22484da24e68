/* The calls of sums and copies. */
#include <string.h>
#include "runtime/kernels/run.h"

enum { COLUMNS_PER_RANGE = 64, BYTES_PER_RANGE = 1 << 17 };

int32_t place_sum_rows(struct place_context *context, int32_t statement, int32_t dtype,
                       int64_t rows, int64_t columns, const void *x, void *y, int32_t accumulate) {
    RECORD_CALL(sum_rows);
    struct sum_rows sum = {
        .rows = rows, .columns = columns, .x = x, .y = y, .accumulate = accumulate};
    return run_kernel(context, statement, KERNEL_sum_rows, dtype, columns, COLUMNS_PER_RANGE, &sum);
}

static double sum_in_order(const double *partial, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += partial[i];
    return total;
}

/* Neighbours first, so that the sum of a shard's pieces is a node of the tree over all. */
static double sum_as_tree(double *partial, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2)
        for (int64_t i = 0; i + width < n; i += 2 * width)
            partial[i] += partial[i + width];
    return partial[0];
}

int32_t place_square_sum(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t count, int64_t pieces, const void *x, void *result,
                         int32_t accumulate) {
    RECORD_CALL(square_sum);
    int64_t n = pieces ? pieces : SQUARE_SUM_PIECES;
    struct square_sum sum;
    sum.count = count;
    sum.piece = (count + n - 1) / n;
    sum.x = x;
    int64_t grain = larger(1, ELEMENTS_PER_RANGE / larger(1, sum.piece));
    int32_t status = run_kernel(context, statement, KERNEL_square_sum, dtype, n, grain, &sum);
    if (status != PLACE_OK)
        return status;
    double total = pieces ? sum_as_tree(sum.partial, n) : sum_in_order(sum.partial, n);
    *(double *)result = total + (accumulate ? *(double *)result : 0);
    return PLACE_OK;
}

int32_t place_accumulate(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t count, void *target, const void *source) {
    RECORD_CALL(accumulate);
    struct accumulate accumulate = {.target = target, .source = source};
    return run_kernel(context, statement, KERNEL_accumulate, dtype, count, ELEMENTS_PER_RANGE,
                      &accumulate);
}

/* The operands of copies and conversions, which need no version of their own. */
struct transfer {
    char *target;
    const char *source;
    int64_t width, target_stride, source_stride;
};

static void zero_range(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct transfer *transfer = arguments;
    memset(transfer->target + begin, 0, (size_t)(end - begin));
}

static void copy_range(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct transfer *transfer = arguments;
    memcpy(transfer->target + begin, transfer->source + begin, (size_t)(end - begin));
}

static void copy_rows(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct transfer *transfer = arguments;
    for (int64_t row = begin; row < end; row++)
        memcpy(transfer->target + row * transfer->target_stride,
               transfer->source + row * transfer->source_stride, (size_t)transfer->width);
}

static void narrow_range(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct transfer *transfer = arguments;
    for (int64_t i = begin; i < end; i++)
        ((float *)transfer->target)[i] = (float)((const double *)transfer->source)[i];
}

static void widen_range(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct transfer *transfer = arguments;
    for (int64_t i = begin; i < end; i++)
        ((double *)transfer->target)[i] = ((const float *)transfer->source)[i];
}

int32_t place_fill_zero(struct place_context *context, int32_t statement, int64_t bytes,
                        void *target) {
    RECORD_CALL(fill_zero);
    struct transfer transfer = {.target = target};
    team_run(context->team, bytes, BYTES_PER_RANGE, zero_range, &transfer);
    return PLACE_OK;
}

static void copy_bytes(struct place_context *context, int64_t bytes, void *target,
                       const void *source) {
    struct transfer transfer = {.target = target, .source = source};
    team_run(context->team, bytes, BYTES_PER_RANGE, copy_range, &transfer);
}

int32_t place_copy(struct place_context *context, int32_t statement, int64_t bytes, void *target,
                   const void *source) {
    RECORD_CALL(copy);
    copy_bytes(context, bytes, target, source);
    return PLACE_OK;
}

int32_t place_copy_rows(struct place_context *context, int32_t statement, int64_t rows,
                        int64_t bytes, void *target, int64_t target_stride, const void *source,
                        int64_t source_stride) {
    RECORD_CALL(copy_rows);
    struct transfer transfer = {.target = target,
                                .source = source,
                                .width = bytes,
                                .target_stride = target_stride,
                                .source_stride = source_stride};
    team_run(context->team, rows, larger(1, BYTES_PER_RANGE / larger(1, bytes)), copy_rows,
             &transfer);
    return PLACE_OK;
}

int32_t place_cast(struct place_context *context, int32_t statement, int32_t source_dtype,
                   int32_t target_dtype, int64_t count, void *target, const void *source) {
    RECORD_CALL(cast);
    if (!is_real(source_dtype) || !is_real(target_dtype))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "no conversion from type %d to %d", source_dtype, target_dtype);
    if (source_dtype == target_dtype) {
        copy_bytes(context, count * (source_dtype == PLACE_F64 ? 8 : 4), target, source);
        return PLACE_OK;
    }
    struct transfer transfer = {.target = target, .source = source};
    team_run(context->team, count, ELEMENTS_PER_RANGE,
             source_dtype == PLACE_F64 ? narrow_range : widen_range, &transfer);
    return PLACE_OK;
}

/* Addition commutes, so that kept + sum may be made where sum is. */
int32_t place_carry(struct place_context *context, int32_t statement, int32_t dtype, int64_t count,
                    int32_t level, void *kept, void *sum, const void *microbatch) {
    RECORD_CALL(carry);
    int64_t j = (int64_t) * (const double *)microbatch, ones = (INT64_C(1) << level) - 1;
    if ((j & ones) != ones)
        return PLACE_OK;
    if (j >> level & 1) {
        struct accumulate accumulate = {.target = sum, .source = kept};
        return run_kernel(context, statement, KERNEL_accumulate, dtype, count, ELEMENTS_PER_RANGE,
                          &accumulate);
    }
    copy_bytes(context, count * (dtype == PLACE_F64 ? 8 : 4), kept, sum);
    return PLACE_OK;
}
