/* What the calls of this folder share: from the call's arguments to a job of the team. */
#pragma once
#include <stdbool.h>
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/kernels/arguments.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/rows.h"
#include "runtime/team.h"

/* A type that kernels exist for. */
static inline bool is_real(int32_t dtype) {
    return dtype == PLACE_F32 || dtype == PLACE_F64;
}

/* What tensors of several types are computed in; -1: not at all. */
static inline int32_t computed_in(const int32_t *dtypes, int n) {
    int32_t computed = PLACE_F32;
    for (int i = 0; i < n; i++)
        if (dtypes[i] == PLACE_F64 && computed == PLACE_F32)
            computed = PLACE_F64;
        else if (!is_real(dtypes[i]) && dtypes[i] != PLACE_BF16 && dtypes[i] != PLACE_F16)
            computed = -1;
    return computed;
}
#define COMPUTED_IN(...)                                                                           \
    computed_in((const int32_t[]){__VA_ARGS__},                                                    \
                (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

/* Rows of `length` elements per range, so that a range is some ten thousand elements: microseconds
 * of work, many times what handing it out costs. Depends on the shape only. */
static inline int64_t rows_per_range(int64_t length) {
    return larger(1, 16384 / larger(1, length));
}

/* Elements per range of the loops that do a few operations per element. */
enum { ELEMENTS_PER_RANGE = 16384 };

/* Whether so many sums are joined as a complete binary tree, in the arrays that kernels have for
 * them. */
static inline bool are_a_tree(int64_t blocks) {
    return blocks > 0 && blocks <= PLACE_BLOCKS_LIMIT && !(blocks & (blocks - 1));
}

/* How rows are summed; 0 blocks: in no order that other meshes share, so they are one. */
static inline int32_t cut_rows(struct place_context *context, int32_t statement, int64_t rows,
                               int64_t parts, int64_t blocks, struct row_blocks *cut) {
    int64_t n = larger(1, blocks);
    if (parts < 1 || !are_a_tree(n) || rows % (parts * n))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "%lld rows in %lld parts of %lld blocks", (long long)rows,
                            (long long)parts, (long long)blocks);
    *cut = (struct row_blocks){parts, n, rows / (parts * n)};
    return PLACE_OK;
}

static inline int32_t run_kernel(struct place_context *context, int32_t statement,
                                 enum kernel kernel, int32_t dtype, int64_t count, int64_t grain,
                                 void *arguments) {
    if (!is_real(dtype) || count < 0)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "a kernel for type %d and %lld tiles", dtype, (long long)count);
    team_run(context->team, count, grain, context->kernels->tiles[dtype][kernel], arguments);
    return PLACE_OK;
}
