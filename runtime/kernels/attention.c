/* The calls of rotary positions and attention. */
#include <math.h>
#include "runtime/kernels/run.h"

enum { POSITIONS_PER_RANGE = 8 };

/* Llama 3.1's rope_scaling: pairs whose wave is longer than the original context turn `factor`
 * times slower, short waves stay, and between the two lengths the slowing is interpolated. */
static double scaled_frequency(double frequency, double factor, double low, double high,
                               double context) {
    const double turn = 6.283185307179586;
    double waves = context * frequency / turn; /* in the original context */
    if (factor == 1 || waves > high)
        return frequency;
    if (waves < low)
        return frequency / factor;
    double share = (waves - low) / (high - low);
    return (1 - share) * frequency / factor + share * frequency;
}

int32_t place_rope(struct place_context *context, int32_t statement, int32_t dtype, int64_t batch,
                   int64_t sequence, int64_t heads, int64_t head_dim, const void *x,
                   const void *positions, int64_t start, double theta, double factor,
                   double low_frequency_factor, double high_frequency_factor,
                   double original_context, int32_t inverse, void *y) {
    RECORD_CALL(rope);
    if (head_dim % 2 != 0 || head_dim > PLACE_HEAD_DIM_LIMIT)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "heads of %lld elements cannot be rotated", (long long)head_dim);
    struct rope rope = {.batch = batch,
                        .sequence = sequence,
                        .heads = heads,
                        .head_dim = head_dim,
                        .x = x,
                        .y = y,
                        .positions = positions,
                        .start = start,
                        .inverse = inverse};
    for (int64_t i = 0; i < head_dim / 2; i++)
        rope.frequency[i] =
            scaled_frequency(pow(theta, -2.0 * (double)i / (double)head_dim), factor,
                             low_frequency_factor, high_frequency_factor, original_context);
    return run_kernel(context, statement, KERNEL_rope, dtype, sequence, POSITIONS_PER_RANGE, &rope);
}

/* Keys that the backward pass loads together: two tiles, or half of one where the head is too long.
 * The more there are, the less often queries are loaded. */
static int64_t keys_at_once(int32_t dtype, int64_t head_dim) {
    int64_t keys = 2 * PLACE_ATTENTION_TILE;
    while (keys > PLACE_ATTENTION_TILE / 2 &&
           PLACE_ATTENTION_WORKSPACE_ELEMENTS(head_dim, keys) * width_of(dtype) >
               PLACE_WORKSPACE_BYTES_PER_THREAD)
        keys /= 2;
    return keys;
}

/* Refuses heads that a thread's workspace has no room for. */
static int32_t check_heads(struct place_context *context, int32_t statement, int32_t dtype,
                           int64_t head_dim) {
    int64_t keys = keys_at_once(dtype, head_dim);
    int64_t bytes = PLACE_ATTENTION_WORKSPACE_ELEMENTS(head_dim, keys) * width_of(dtype);
    if (head_dim >= 1 && head_dim <= PLACE_HEAD_DIM_LIMIT &&
        bytes <= team_workspace_bytes(context->team))
        return PLACE_OK;
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                        "the workspace has no room for heads of %lld elements",
                        (long long)head_dim);
}

/* What both directions are told, by the names that both calls give it. */
#define ATTENTION_OPERANDS                                                                         \
    .batch = batch, .queries = queries, .keys = keys, .kv_heads = kv_heads, .group = group,        \
    .head_dim = head_dim, .keys_at_once = PLACE_ATTENTION_TILE, .q = q, .k = k, .v = v,            \
    .query_positions = query_positions, .query_start = query_start,                                \
    .key_positions = key_positions, .key_start = key_start, .scale = scale

int32_t place_attention(struct place_context *context, int32_t statement, int32_t dtype,
                        int64_t batch, int64_t queries, int64_t keys, int64_t kv_heads,
                        int64_t group, int64_t head_dim, const void *q, const void *k,
                        const void *v, const void *query_positions, int64_t query_start,
                        const void *key_positions, int64_t key_start, double scale, void *o,
                        void *lse) {
    RECORD_CALL(attention);
    int32_t status = check_heads(context, statement, dtype, head_dim);
    if (status)
        return status;
    struct attention attention = {ATTENTION_OPERANDS, .o = o, .lse = lse};
    int64_t tiles = (queries + PLACE_ATTENTION_TILE - 1) / PLACE_ATTENTION_TILE;
    return run_kernel(context, statement, KERNEL_attention_forward, dtype,
                      batch * kv_heads * group * tiles, 1, &attention);
}

int32_t place_attention_merge(struct place_context *context, int32_t statement, int32_t dtype,
                              int64_t rows, int64_t head_dim, const void *o1, const void *lse1,
                              const void *o2, const void *lse2, void *o, void *lse) {
    RECORD_CALL(attention_merge);
    struct attention_merge merge = {
        .head_dim = head_dim, .o1 = o1, .lse1 = lse1, .o2 = o2, .lse2 = lse2, .o = o, .lse = lse};
    return run_kernel(context, statement, KERNEL_attention_merge, dtype, rows,
                      rows_per_range(head_dim), &merge);
}

int32_t place_attention_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                 int64_t batch, int64_t queries, int64_t blocks, int64_t keys,
                                 int64_t kv_heads, int64_t group, int64_t head_dim, const void *q,
                                 const void *k, const void *v, const void *o, const void *lse,
                                 const void *d_o, const void *query_positions, int64_t query_start,
                                 const void *key_positions, int64_t key_start, double scale,
                                 void *dq, void *dk, void *dv) {
    RECORD_CALL(attention_backward);
    int32_t status = check_heads(context, statement, dtype, head_dim);
    if (status)
        return status;
    struct attention attention = {
        ATTENTION_OPERANDS, .o = (void *)o, .lse = (void *)lse, .d_o = d_o, .dq = dq,
        .dk = dk,           .dv = dv};
    struct row_blocks cut = {0};
    status = cut_rows(context, statement, queries, 1, blocks, &cut);
    if (status)
        return status;
    attention.block = cut.length;
    attention.keys_at_once = keys_at_once(dtype, head_dim);
    return run_kernel(context, statement, KERNEL_attention_backward, dtype, batch * kv_heads, 1,
                      &attention);
}
