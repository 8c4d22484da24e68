/* The calls of embeddings. */
#include "runtime/kernels/run.h"

enum { COLUMNS_PER_RANGE = 64 };

int32_t place_embedding(struct place_context *context, int32_t statement, int32_t dtype,
                        int64_t rows, int64_t hidden, const void *tokens, int64_t start,
                        int64_t count, const void *table, void *y) {
    RECORD_CALL(embedding);
    struct embedding embedding = {.rows = rows,
                                  .hidden = hidden,
                                  .tokens = tokens,
                                  .start = start,
                                  .count = count,
                                  .table = elements_of(table, dtype),
                                  .y = elements_of(y, dtype)};
    return run_kernel(context, statement, KERNEL_embedding_forward, COMPUTED_IN(dtype), rows,
                      rows_per_range(hidden), &embedding);
}

/* Every range of the table looks at all tokens, so that there are few, and of some work each. */
static int64_t entries_per_range(int64_t count, int64_t rows, int64_t hidden) {
    enum { MOST_RANGES = 32 };
    int64_t ranges = larger(1, smaller(MOST_RANGES, rows * hidden / ELEMENTS_PER_RANGE));
    return larger(1, (count + ranges - 1) / ranges);
}

int32_t place_embedding_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                 int32_t table_dtype, int64_t rows, int64_t parts, int64_t blocks,
                                 int64_t hidden, const void *tokens, int64_t start, int64_t count,
                                 const void *dy, void *dtable, int32_t accumulate) {
    RECORD_CALL(embedding_backward);
    struct embedding embedding = {.rows = rows,
                                  .hidden = hidden,
                                  .tokens = tokens,
                                  .start = start,
                                  .count = count,
                                  .dy = elements_of(dy, dtype),
                                  .dtable = elements_of(dtable, table_dtype),
                                  .accumulate = accumulate};
    int32_t status = cut_rows(context, statement, rows, parts, blocks, &embedding.blocks);
    if (status)
        return status;
    int32_t computed = COMPUTED_IN(dtype, table_dtype);
    if (blocks > 0)
        return run_kernel(context, statement, KERNEL_embedding_backward_blocks, computed, count,
                          entries_per_range(count, rows, hidden), &embedding);
    return run_kernel(context, statement, KERNEL_embedding_backward, computed, hidden,
                      COLUMNS_PER_RANGE, &embedding);
}

int32_t place_position_ids(struct place_context *context, int32_t statement, int64_t count,
                           int64_t start, int64_t chunks, int64_t chunk, void *ids) {
    RECORD_CALL(position_ids);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = start + i, number = chunks ? place / chunk % chunks : 0;
        int64_t from = number % 2 ? chunks - 1 - number / 2 : number / 2;
        ((int32_t *)ids)[i] = (int32_t)(place + (from - number) * chunk);
    }
    return PLACE_OK;
}
