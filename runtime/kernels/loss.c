/* The calls of the loss. Sums over rows are made by the calling thread, in the order of rows, in
 * double. */
#include "runtime/kernels/run.h"

static double real_at(const void *array, int32_t dtype, int64_t i) {
    double x;
    widen_row_f64(dtype, &x, (const char *)array + i * width_of(dtype), 1);
    return x;
}

int32_t place_cross_entropy(struct place_context *context, int32_t statement, int32_t dtype,
                            int64_t rows, int64_t vocab, const void *logits, const void *targets,
                            void *loss, int32_t accumulate, void *lse) {
    RECORD_CALL(cross_entropy);
    struct cross_entropy entropy = {.rows = rows,
                                    .vocab = vocab,
                                    .logits = elements_of(logits, dtype),
                                    .targets = targets,
                                    .lse = lse};
    int32_t computed = COMPUTED_IN(dtype);
    int32_t status = run_kernel(context, statement, KERNEL_cross_entropy_forward, computed, rows,
                                rows_per_range(8 * vocab), &entropy);
    if (status != PLACE_OK)
        return status;
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t target = entropy.targets[row];
        if (target >= vocab)
            return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                                "token %lld is not in the vocabulary of %lld", (long long)target,
                                (long long)vocab);
        if (target >= 0)
            sum += real_at(lse, computed, row) - real_at(logits, dtype, row * vocab + target);
    }
    *(double *)loss = sum + (accumulate ? *(double *)loss : 0);
    return PLACE_OK;
}

int32_t place_cross_entropy_backward(struct place_context *context, int32_t statement,
                                     int32_t dtype, int64_t rows, int64_t vocab, int64_t start,
                                     const void *logits, const void *targets, const void *lse,
                                     const void *scale, void *dlogits) {
    RECORD_CALL(cross_entropy_backward);
    struct cross_entropy entropy = {.rows = rows,
                                    .vocab = vocab,
                                    .start = start,
                                    .logits = elements_of(logits, dtype),
                                    .targets = targets,
                                    .lse = (void *)lse,
                                    .scale = *(const double *)scale,
                                    .dlogits = elements_of(dlogits, dtype)};
    return run_kernel(context, statement, KERNEL_cross_entropy_backward, COMPUTED_IN(dtype), rows,
                      rows_per_range(8 * vocab), &entropy);
}

int32_t place_row_max(struct place_context *context, int32_t statement, int32_t dtype, int64_t rows,
                      int64_t vocab, const void *x, void *y) {
    RECORD_CALL(row_max);
    struct vocabulary_part part = {
        .rows = rows, .vocab = vocab, .x = elements_of(x, dtype), .y = y};
    return run_kernel(context, statement, KERNEL_row_max, COMPUTED_IN(dtype), rows,
                      rows_per_range(vocab), &part);
}

int32_t place_sum_exp(struct place_context *context, int32_t statement, int32_t dtype, int64_t rows,
                      int64_t vocab, int64_t block, const void *x, const void *shift, void *y) {
    RECORD_CALL(sum_exp);
    if (block < 1 || vocab % block || !are_a_tree(vocab / block))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "a sum over %lld in blocks of %lld", (long long)vocab,
                            (long long)block);
    struct vocabulary_part part = {.rows = rows,
                                   .vocab = vocab,
                                   .block = block,
                                   .x = elements_of(x, dtype),
                                   .shift = shift,
                                   .y = y};
    return run_kernel(context, statement, KERNEL_sum_exp, COMPUTED_IN(dtype), rows,
                      rows_per_range(8 * vocab), &part);
}

int32_t place_pick(struct place_context *context, int32_t statement, int32_t dtype, int64_t rows,
                   int64_t vocab, int64_t start, const void *x, const void *ids, void *y) {
    RECORD_CALL(pick);
    struct vocabulary_part part = {.rows = rows,
                                   .vocab = vocab,
                                   .start = start,
                                   .x = elements_of(x, dtype),
                                   .ids = ids,
                                   .y = y};
    return run_kernel(context, statement, KERNEL_pick, COMPUTED_IN(dtype), rows, rows_per_range(1),
                      &part);
}

int32_t place_token_loss(struct place_context *context, int32_t statement, int32_t dtype,
                         int64_t rows, int64_t parts, int64_t blocks, const void *lse,
                         const void *picked, const void *targets, void *loss, int32_t accumulate) {
    RECORD_CALL(token_loss);
    struct row_blocks cut = {0};
    int32_t status = cut_rows(context, statement, rows, parts, blocks, &cut);
    if (status)
        return status;
    double sum = 0, waiting[WAITING_SUMS];
    for (int64_t block = 0; block < cut.blocks; block++) {
        struct block_row at = first_of_block(&cut, block);
        int level = 0;
        sum = 0;
        for (int64_t i = 0; i < rows_of_block(&cut); i++, next_of_block(&cut, &at))
            if (((const int32_t *)targets)[at.row] >= 0)
                sum += real_at(lse, dtype, at.row) - real_at(picked, dtype, at.row);
        for (; block >> level & 1; level++)
            sum += waiting[level];
        if (block + 1 < cut.blocks)
            waiting[level] = sum;
    }
    *(double *)loss = sum + (accumulate ? *(double *)loss : 0);
    return PLACE_OK;
}

int32_t place_count_tokens(struct place_context *context, int32_t statement, int64_t rows,
                           const void *targets, void *result, int32_t accumulate) {
    RECORD_CALL(count_tokens);
    const int32_t *target = targets;
    int64_t count = 0;
    for (int64_t row = 0; row < rows; row++)
        count += target[row] >= 0;
    *(double *)result = (double)count + (accumulate ? *(double *)result : 0);
    return PLACE_OK;
}
