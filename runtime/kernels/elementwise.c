/* The calls of sums and copies. */
#include <string.h>
#include "runtime/kernels/run.h"

enum { COLUMNS_PER_RANGE = 64, BYTES_PER_RANGE = 1 << 17 };

int32_t place_sum_rows(struct place_context *context, int32_t statement, int32_t dtype,
                       int32_t y_dtype, int64_t rows, int64_t parts, int64_t blocks,
                       int64_t columns, const void *x, void *y, int32_t accumulate) {
    RECORD_CALL(sum_rows);
    struct sum_rows sum = {.columns = columns,
                           .x = elements_of(x, dtype),
                           .y = elements_of(y, y_dtype),
                           .accumulate = accumulate};
    int32_t status = cut_rows(context, statement, rows, parts, blocks, &sum.rows);
    if (status)
        return status;
    return run_kernel(context, statement, KERNEL_sum_rows, COMPUTED_IN(dtype, y_dtype), columns,
                      COLUMNS_PER_RANGE, &sum);
}

int32_t place_sum_columns(struct place_context *context, int32_t statement, int32_t dtype,
                          int64_t rows, int64_t columns, int64_t parts, int64_t blocks,
                          const void *x, void *y) {
    RECORD_CALL(sum_columns);
    struct sum_columns sum = {.x = elements_of(x, dtype), .y = y};
    int32_t status = cut_rows(context, statement, columns, parts, blocks, &sum.of_row);
    if (status)
        return status;
    return run_kernel(context, statement, KERNEL_sum_columns, COMPUTED_IN(dtype), rows,
                      rows_per_range(columns), &sum);
}

/* Elements of a piece, of which every range has some. */
static int64_t piece_of(int64_t count) {
    return (count + SQUARE_SUM_PIECES - 1) / SQUARE_SUM_PIECES;
}

static int64_t pieces_per_range(int64_t piece) {
    return larger(1, ELEMENTS_PER_RANGE / larger(1, piece));
}

int32_t place_square_sum(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t count, const void *x, void *result, int32_t accumulate) {
    RECORD_CALL(square_sum);
    struct square_sum sum = {.count = count, .piece = piece_of(count), .x = elements_of(x, dtype)};
    int32_t status = run_kernel(context, statement, KERNEL_square_sum, COMPUTED_IN(dtype),
                                SQUARE_SUM_PIECES, pieces_per_range(sum.piece), &sum);
    if (status != PLACE_OK)
        return status;
    double total = 0;
    for (int i = 0; i < SQUARE_SUM_PIECES; i++)
        total += sum.partial[i];
    *(double *)result = total + (accumulate ? *(double *)result : 0);
    return PLACE_OK;
}

int32_t place_square_bins(struct place_context *context, int32_t statement, int32_t dtype,
                          int64_t count, const void *x, void *bins) {
    RECORD_CALL(square_bins);
    struct square_bins sum = {.count = count, .piece = piece_of(count), .x = elements_of(x, dtype)};
    int32_t status = run_kernel(context, statement, KERNEL_square_bins, COMPUTED_IN(dtype),
                                SQUARE_SUM_PIECES, pieces_per_range(sum.piece), &sum);
    if (status != PLACE_OK)
        return status;
    memset(bins, 0, PLACE_SQUARE_BINS * sizeof(double));
    for (int i = 0; i < SQUARE_SUM_PIECES; i++)
        for (int j = 0; j < PLACE_SQUARE_BINS; j++)
            ((double *)bins)[j] += sum.bins[i][j];
    return PLACE_OK;
}

/* The fourth bin's unit is 2^-60 of the first's, so that the rest counts no more. */
int32_t place_bin_sum(struct place_context *context, int32_t statement, const void *bins,
                      void *result) {
    RECORD_CALL(bin_sum);
    const double *bin = bins;
    int first = 0;
    while (first < PLACE_SQUARE_BINS && bin[first] == 0)
        first++;
    double sum = 0;
    for (int j = (int)smaller(first + 4, PLACE_SQUARE_BINS); j-- > first;)
        sum += bin[j];
    *(double *)result = sum;
    return PLACE_OK;
}

static int32_t run_elements(struct place_context *context, int32_t statement, enum kernel kernel,
                            int64_t count, struct elements target, struct elements source) {
    struct accumulate both = {.target = target, .source = source};
    return run_kernel(context, statement, kernel, COMPUTED_IN(target.dtype, source.dtype), count,
                      ELEMENTS_PER_RANGE, &both);
}

int32_t place_accumulate(struct place_context *context, int32_t statement, int32_t dtype,
                         int32_t source_dtype, int64_t count, void *target, const void *source) {
    RECORD_CALL(accumulate);
    return run_elements(context, statement, KERNEL_accumulate, count, elements_of(target, dtype),
                        elements_of(source, source_dtype));
}

/* The operands of copies, which need no version of their own. */
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
    if (COMPUTED_IN(source_dtype, target_dtype) < 0)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "no conversion from type %d to %d", source_dtype, target_dtype);
    if (source_dtype == target_dtype) {
        copy_bytes(context, count * width_of(source_dtype), target, source);
        return PLACE_OK;
    }
    return run_elements(context, statement, KERNEL_cast, count, elements_of(target, target_dtype),
                        elements_of(source, source_dtype));
}

/* Addition commutes, so that kept + sum may be made where sum is. */
int32_t place_carry(struct place_context *context, int32_t statement, int32_t dtype, int64_t count,
                    int32_t level, void *kept, void *sum, const void *microbatch) {
    RECORD_CALL(carry);
    int64_t j = (int64_t) * (const double *)microbatch, ones = (INT64_C(1) << level) - 1;
    if ((j & ones) != ones)
        return PLACE_OK;
    if (j >> level & 1)
        return run_elements(context, statement, KERNEL_accumulate, count, elements_of(sum, dtype),
                            elements_of(kept, dtype));
    copy_bytes(context, count * width_of(dtype), kept, sum);
    return PLACE_OK;
}
