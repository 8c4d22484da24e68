/* The call of products: the library works on tiles, the team on many of them at a time. */
#include <stdatomic.h>

#include "runtime/kernels/run.h"
#include "runtime/product.h"
#include "runtime/workspace.h"

/* How c is cut. The library copies op(a) and op(b) for every tile, (m + n) k elements for 2 m n k
 * operations, so tiles should be large; but a team should have some. Measured with OpenBLAS on
 * model shapes, cutting in two costs 1 to 7 %, in four 3 to 10 %, the most where the operands are
 * not in the cache; beyond 1024 x 1024 larger tiles gain nothing, and the copies would outgrow
 * PLACE_PRODUCT_BYTES_PER_THREAD. So there are as many tiles as threads. That an element has the
 * same bits in tiles of any shape is true of some libraries, and of some shapes. */
#define WORK_WORTH_TWO_TILES (INT64_C(1) << 24) /* operations: some hundred microseconds */

enum { LARGEST_EDGE = 1024, EDGE_MULTIPLE = 32, FEW_ROWS = 512 };

struct edges {
    int64_t rows, columns;
};

static int64_t half_edge(int64_t edge) {
    return (edge / 2 + EDGE_MULTIPLE - 1) / EDGE_MULTIPLE * EDGE_MULTIPLE;
}

/* The longer edge; of a square that has few rows already the columns, since the library is slower
 * the fewer rows a copy of op(b) serves. */
static void halve(struct edges *edges) {
    if (edges->rows > edges->columns || (edges->rows == edges->columns && edges->rows > FEW_ROWS))
        edges->rows = half_edge(edges->rows);
    else
        edges->columns = half_edge(edges->columns);
}

static struct edges tile_edges(const struct place_context *context, int64_t m, int64_t n,
                               int64_t k) {
    struct edges edges = {larger(1, m), larger(1, n)};
    double work = 2.0 * (double)m * (double)n * (double)k;
    for (int64_t tiles = 1;
         tiles < team_threads(context->team) && work >= WORK_WORTH_TWO_TILES * (double)tiles;
         tiles *= 2)
        halve(&edges);
    while (edges.rows > LARGEST_EDGE)
        edges.rows = half_edge(edges.rows);
    while (edges.columns > LARGEST_EDGE)
        edges.columns = half_edge(edges.columns);
    return edges;
}

static int64_t tiles_of(struct edges edges, int64_t m, int64_t n) {
    return (m + edges.rows - 1) / edges.rows * ((n + edges.columns - 1) / edges.columns);
}

struct tiled_product {
    struct product whole;
    struct edges tile;
    int64_t abreast; /* tiles side by side */
    atomic_bool failed;
};

/* Address of element [row, column] of op(matrix). */
static const void *element_of(const void *matrix, int64_t leading, int transpose, int64_t row,
                              int64_t column, int32_t dtype) {
    int64_t at = transpose ? column * leading + row : row * leading + column;
    return (const char *)matrix + at * width_of(dtype);
}

static void multiply_tiles(void *arguments, int64_t begin, int64_t end, void *workspace) {
    struct tiled_product *tiled = arguments;
    for (int64_t number = begin; number < end; number++) {
        int64_t row = number / tiled->abreast * tiled->tile.rows;
        int64_t column = number % tiled->abreast * tiled->tile.columns;
        struct product part = tiled->whole;
        part.m = smaller(tiled->tile.rows, part.m - row);
        part.n = smaller(tiled->tile.columns, part.n - column);
        part.a = element_of(part.a, part.lda, part.transpose_a, row, 0, part.dtype);
        part.b = element_of(part.b, part.ldb, part.transpose_b, 0, column, part.dtype);
        part.c = (void *)element_of(part.c, part.ldc, 0, row, column, part.dtype);
        if (!product_compute(&part))
            atomic_store(&tiled->failed, true);
    }
}

static void describe(const struct place_context *context, int32_t statement,
                     const struct product *whole) {
    if (context->recorder.profile)
        profile_describe_product(context->recorder.profile, statement,
                                 (struct profile_product){.m = whole->m,
                                                          .n = whole->n,
                                                          .k = whole->k,
                                                          .transpose_a = whole->transpose_a,
                                                          .transpose_b = whole->transpose_b,
                                                          .added = whole->beta});
}

static int32_t check_product(struct place_context *context, int32_t statement,
                             const struct product *whole, int32_t result) {
    int64_t longest = larger(larger(whole->m, whole->n), whole->k);
    if (COMPUTED_IN(whole->dtype, result) >= 0 &&
        larger(larger(longest, whole->lda), larger(whole->ldb, whole->ldc)) <= INT32_MAX)
        return PLACE_OK;
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                        "a product of type %d for type %d, %lld x %lld x %lld", whole->dtype,
                        result, (long long)whole->m, (long long)whole->n, (long long)whole->k);
}

/* ---- by the library ---- */

static int32_t multiply_by_library(struct place_context *context, int32_t statement,
                                   const struct product *whole) {
    int64_t m = whole->m, n = whole->n, k = whole->k;
    struct tiled_product tiled = {.whole = *whole, .tile = tile_edges(context, m, n, k)};
    tiled.abreast = (n + tiled.tile.columns - 1) / tiled.tile.columns;
    int64_t down = (m + tiled.tile.rows - 1) / tiled.tile.rows;
    team_run(context->team, down * tiled.abreast, 1, multiply_tiles, &tiled);
    if (!atomic_load(&tiled.failed))
        return PLACE_OK;
    return context_fail(context, statement, PLACE_ERROR_LIBRARY,
                        "%s could not make a product of %lld x %lld x %lld: is there too little "
                        "memory?",
                        product_description(), (long long)m, (long long)n, (long long)k);
}

/* ---- by our own kernel ---- */

/* How many blocks a panel has room for, so that their tree is made while it is there. */
static int64_t blocks_at_once(const struct row_blocks *k) {
    int64_t n = k->blocks;
    while (n > 1 && n * rows_of_block(k) > PLACE_PRODUCT_DEPTH)
        n /= 2;
    return n;
}

/* How many sums of n blocks' tiles there are at a time beside what they are added to, or end in. */
static int64_t sums_apart(const struct block_product *p, int64_t n, bool added) {
    int64_t own = added && is_summed_apart(p, n);
    return n <= p->blocks_at_once ? own : own + sums_apart(p, n / 2, true);
}

/* And of the whole, which is such a sum itself where it is rounded to end in another type, if it does
 * not end as soon as some rows of it are made, for whose sums there is room. */
static int64_t sums_of_tile(const struct block_product *p) {
    if ((int32_t)p->result == COMPUTED_IN(p->operands, p->result))
        return sums_apart(p, p->k.blocks, p->accumulate);
    return is_summed_apart(p, p->k.blocks) ? 1 + sums_apart(p, p->k.blocks, false) : 0;
}

_Static_assert(PLACE_PRODUCT_ROW_BYTES / sizeof(float) * PLACE_PRODUCT_COLUMN_BYTES <=
                   PLACE_WORKSPACE_BYTES_PER_THREAD - PLACE_PRODUCT_PANEL_BYTES,
               "there is room for the sums of rows that are copied at a time");

static void cut_further(struct edges *edges, const struct block_product *p, int64_t tiles,
                        int64_t least_edge) {
    while (tiles_of(*edges, p->m, p->n) < tiles && larger(edges->rows, edges->columns) > least_edge)
        halve(edges);
}

_Static_assert((WAITING_SUMS + 1) * EDGE_MULTIPLE * PLACE_PRODUCT_COLUMN_BYTES <=
                   PLACE_WORKSPACE_BYTES_PER_THREAD - PLACE_PRODUCT_PANEL_BYTES,
               "there is room for the sums of a tile of the fewest rows");

/* Tiles are as large as there is room for, unless threads would then have too few to share: large
 * ones some for each, small ones, where copies of the operands cost more, one. */
static struct edges own_tile_edges(const struct place_context *context,
                                   const struct block_product *p) {
    enum { LEAST_EDGE = 64, LARGE_EDGE = 256, LARGE_TILES_PER_THREAD = 2 };
    const int64_t room = PLACE_WORKSPACE_BYTES_PER_THREAD - PLACE_PRODUCT_PANEL_BYTES;
    int64_t sums = sums_of_tile(p), threads = team_threads(context->team);
    int64_t width = width_of(COMPUTED_IN(p->operands, p->result));
    struct edges edges = {larger(1, p->m), larger(1, p->n)};
    while (edges.columns * width > PLACE_PRODUCT_COLUMN_BYTES)
        edges.columns = half_edge(edges.columns);
    while (edges.rows > LARGEST_EDGE || edges.rows * edges.columns * width * sums > room)
        edges.rows = half_edge(edges.rows);
    cut_further(&edges, p, threads, LEAST_EDGE);
    if (threads > 1)
        cut_further(&edges, p, threads * LARGE_TILES_PER_THREAD, LARGE_EDGE);
    return edges;
}

static int32_t multiply_ourselves(struct place_context *context, int32_t statement,
                                  const struct product *whole, int32_t result,
                                  struct row_blocks cut, bool pairs) {
    struct block_product product = {.operands = whole->dtype,
                                    .result = (enum place_dtype)result,
                                    .pairs = pairs,
                                    .transpose_a = whole->transpose_a,
                                    .transpose_b = whole->transpose_b,
                                    .m = whole->m,
                                    .n = whole->n,
                                    .k = cut,
                                    .a = whole->a,
                                    .lda = whole->lda,
                                    .b = whole->b,
                                    .ldb = whole->ldb,
                                    .accumulate = whole->beta,
                                    .c = whole->c,
                                    .ldc = whole->ldc,
                                    .blocks_at_once = blocks_at_once(&cut)};
    struct edges edges = own_tile_edges(context, &product);
    product.rows = edges.rows;
    product.columns = edges.columns;
    int64_t tiles = whole->beta && whole->k == 0 ? 0 : tiles_of(edges, whole->m, whole->n);
    return run_kernel(context, statement, KERNEL_block_product, COMPUTED_IN(whole->dtype, result),
                      tiles, 1, &product);
}

/* ---- the calls ---- */

/* The library has products of one type throughout; of others those of bf16 are made in pairs where
 * the CPU does that, at twice the speed of singles or more, whatever the shape. */
int32_t place_product(struct place_context *context, int32_t statement, int32_t dtype,
                      int32_t result, int32_t transpose_a, int32_t transpose_b, int64_t m,
                      int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                      int32_t beta, void *c, int64_t ldc) {
    RECORD_CALL(product);
    struct product whole = {dtype, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc};
    int32_t status = check_product(context, statement, &whole, result);
    if (status)
        return status;
    describe(context, statement, &whole);
    if (is_real(dtype) && dtype == result)
        return multiply_by_library(context, statement, &whole);
    bool pairs = dtype == PLACE_BF16 && result != PLACE_F64 && context->kernels->has_pairs;
    return multiply_ourselves(context, statement, &whole, result, (struct row_blocks){1, 1, k},
                              pairs);
}

int32_t place_product_blocks(struct place_context *context, int32_t statement, int32_t dtype,
                             int32_t result, int32_t transpose_a, int32_t transpose_b, int64_t m,
                             int64_t n, int64_t k, int64_t k_parts, int64_t k_blocks, const void *a,
                             int64_t lda, const void *b, int64_t ldb, int32_t beta, void *c,
                             int64_t ldc) {
    RECORD_CALL(product_blocks);
    struct product whole = {dtype, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc};
    struct row_blocks cut = {0};
    int32_t status = check_product(context, statement, &whole, result);
    if (!status)
        status = cut_rows(context, statement, k, k_parts, k_blocks, &cut);
    if (status)
        return status;
    describe(context, statement, &whole);
    return multiply_ourselves(context, statement, &whole, result, cut, false);
}

/* Generated loops do not know of workspaces. */
struct generated_loop {
    void (*tile)(void *arguments, int64_t begin, int64_t end);
    void *arguments;
};

static void run_generated(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct generated_loop *loop = arguments;
    loop->tile(loop->arguments, begin, end);
}

int32_t place_parallel(struct place_context *context, int32_t statement, void *tile,
                       const void *arguments, int64_t count, int64_t grain) {
    RECORD_CALL(parallel);
    if (grain < 1)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "a loop in ranges of %lld",
                            (long long)grain);
    struct generated_loop loop = {(void (*)(void *, int64_t, int64_t))tile, (void *)arguments};
    team_run(context->team, count, grain, run_generated, &loop);
    return PLACE_OK;
}
