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
                        .x = elements_of(x, dtype),
                        .y = elements_of(y, dtype),
                        .positions = positions,
                        .start = start,
                        .inverse = inverse};
    for (int64_t i = 0; i < head_dim / 2; i++)
        rope.frequency[i] =
            scaled_frequency(pow(theta, -2.0 * (double)i / (double)head_dim), factor,
                             low_frequency_factor, high_frequency_factor, original_context);
    return run_kernel(context, statement, KERNEL_rope, COMPUTED_IN(dtype), sequence,
                      POSITIONS_PER_RANGE, &rope);
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

/* Are products made by the CPU's instruction for bf16? */
static bool are_paired(const struct place_context *context, int32_t dtype, int32_t computed) {
    return dtype == PLACE_BF16 && computed == PLACE_F32 && context->kernels->has_pairs;
}

/* What both directions are told, by the names that both calls give it. */
#define ATTENTION_OPERANDS                                                                         \
    .batch = batch, .queries = queries, .keys = keys, .kv_heads = kv_heads, .group = group,        \
    .head_dim = head_dim, .keys_at_once = PLACE_ATTENTION_TILE, .q = elements_of(q, dtype),        \
    .k = elements_of(k, dtype), .v = elements_of(v, dtype), .query_positions = query_positions,    \
    .query_start = query_start, .key_positions = key_positions, .key_start = key_start,            \
    .scale = scale

int32_t place_attention(struct place_context *context, int32_t statement, int32_t dtype,
                        int32_t o_dtype, int64_t batch, int64_t queries, int64_t keys,
                        int64_t kv_heads, int64_t group, int64_t head_dim, const void *q,
                        const void *k, const void *v, const void *query_positions,
                        int64_t query_start, const void *key_positions, int64_t key_start,
                        double scale, void *o, void *lse) {
    RECORD_CALL(attention);
    int32_t computed = COMPUTED_IN(dtype, o_dtype);
    int32_t status = check_heads(context, statement, computed, head_dim);
    if (status)
        return status;
    struct attention attention = {ATTENTION_OPERANDS, .o = elements_of(o, o_dtype), .lse = lse};
    attention.pairs = are_paired(context, dtype, computed);
    int64_t tiles = (queries + PLACE_ATTENTION_TILE - 1) / PLACE_ATTENTION_TILE;
    return run_kernel(context, statement, KERNEL_attention_forward, computed,
                      batch * kv_heads * group * tiles, 1, &attention);
}

int32_t place_attention_merge(struct place_context *context, int32_t statement, int32_t dtype,
                              int64_t rows, int64_t head_dim, const void *o1, const void *lse1,
                              const void *o2, const void *lse2, void *o, void *lse) {
    RECORD_CALL(attention_merge);
    struct attention_merge merge = {.head_dim = head_dim,
                                    .o1 = elements_of(o1, dtype),
                                    .o2 = elements_of(o2, dtype),
                                    .o = elements_of(o, dtype),
                                    .lse1 = lse1,
                                    .lse2 = lse2,
                                    .lse = lse};
    return run_kernel(context, statement, KERNEL_attention_merge, COMPUTED_IN(dtype), rows,
                      rows_per_range(head_dim), &merge);
}

/* Queries whose gradients the workspace has room for, beside all else. */
static int64_t dq_rows(int32_t computed, int64_t head_dim, int64_t keys) {
    int64_t elements = PLACE_WORKSPACE_BYTES_PER_THREAD / width_of(computed);
    return (elements - PLACE_ATTENTION_WORKSPACE_ELEMENTS(head_dim, keys)) / head_dim;
}

int32_t place_attention_backward(struct place_context *context, int32_t statement, int32_t dtype,
                                 int32_t o_dtype, int32_t d_o_dtype, int32_t dq_dtype,
                                 int32_t dk_dtype, int32_t dv_dtype, int64_t batch, int64_t queries,
                                 int64_t blocks, int64_t keys, int64_t kv_heads, int64_t group,
                                 int64_t head_dim, const void *q, const void *k, const void *v,
                                 const void *o, const void *lse, const void *d_o,
                                 const void *query_positions, int64_t query_start,
                                 const void *key_positions, int64_t key_start, double scale,
                                 void *dq, void *dk, void *dv) {
    RECORD_CALL(attention_backward);
    int32_t computed = COMPUTED_IN(dtype, o_dtype, d_o_dtype, dq_dtype, dk_dtype, dv_dtype);
    int32_t status = check_heads(context, statement, computed, head_dim);
    if (status)
        return status;
    struct attention attention = {ATTENTION_OPERANDS,
                                  .o = elements_of(o, o_dtype),
                                  .lse = (void *)lse,
                                  .d_o = elements_of(d_o, d_o_dtype),
                                  .dq = elements_of(dq, dq_dtype),
                                  .dk = elements_of(dk, dk_dtype),
                                  .dv = elements_of(dv, dv_dtype)};
    struct row_blocks cut = {0};
    status = cut_rows(context, statement, queries, 1, blocks, &cut);
    if (status)
        return status;
    attention.block = cut.length;
    attention.pairs = d_o_dtype == dtype && are_paired(context, dtype, computed);
    attention.keys_at_once = keys_at_once(computed, head_dim);
    attention.dq_rows = dq_rows(computed, head_dim, attention.keys_at_once);
    return run_kernel(context, statement, KERNEL_attention_backward, computed, batch * kv_heads, 1,
                      &attention);
}
