/* The call of products: the library works on tiles, the team on many of them at a time. */
#include "runtime/kernels/run.h"
#include "runtime/product.h"
#include "runtime/workspace.h"

/* How c is cut. The library copies op(a) and op(b) for every tile, (m + n) k elements for 2 m n k
 * operations, so tiles should be large; but a team should have some. Measured with OpenBLAS on
 * model shapes, cutting in two costs 1 to 7 %, in four 3 to 10 %, the most where the operands are
 * not in the cache; beyond 1024 x 1024 larger tiles gain nothing, and the copies would outgrow
 * PLACE_PRODUCT_BYTES_PER_THREAD. So there are as many tiles as threads. That an element has the
 * same bits in tiles of any shape is true of some libraries, and of some shapes: where training is
 * reproducible tiles follow from the shape alone. */
#define WORK_WORTH_TWO_TILES  (INT64_C(1) << 24) /* operations: some hundred microseconds */
#define WORK_WORTH_FOUR_TILES (INT64_C(1) << 30)

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

/* How many tiles are wanted, if they are worth it. */
static int64_t tiles_for(const struct place_context *context, bool by_shape, double work) {
    if (by_shape)
        return work >= WORK_WORTH_FOUR_TILES ? 4 : 2;
    return team_threads(context->team);
}

static struct edges tile_edges(const struct place_context *context, bool by_shape, int64_t m,
                               int64_t n, int64_t k) {
    struct edges edges = {larger(1, m), larger(1, n)};
    double work = 2.0 * (double)m * (double)n * (double)k;
    int64_t wanted = tiles_for(context, by_shape, work);
    for (int64_t tiles = 1; tiles < wanted && work >= WORK_WORTH_TWO_TILES * (double)tiles;
         tiles *= 2)
        halve(&edges);
    while (edges.rows > LARGEST_EDGE)
        edges.rows = half_edge(edges.rows);
    while (edges.columns > LARGEST_EDGE)
        edges.columns = half_edge(edges.columns);
    return edges;
}

/* Tiles of which several products are added lie in the workspace, all those of one tree. */
static struct edges summed_edges(struct edges edges, int64_t element_bytes) {
    while (edges.rows * edges.columns * element_bytes > PLACE_SUMMED_TILE_BYTES)
        halve(&edges);
    return edges;
}

/* Blocks, each a product by itself: m, n and k are of one. */
struct blocks {
    bool apart; /* or there is but one, and not for the sake of others */
    int64_t m, n, k;
    int64_t down, across;   /* of c */
    int64_t summed, parts;  /* of k: joined as a tree; of which each is added up in order */
    struct edges tile;      /* of a block */
    int64_t tiles, abreast; /* of a block; of these side by side */
};

struct tiled_product {
    struct product whole;
    struct blocks blocks;
    team_function accumulate;
};

/* Address of element [row, column] of op(matrix). */
static const void *element_of(const void *matrix, int64_t leading, int transpose, int64_t row,
                              int64_t column, int32_t dtype) {
    int64_t at = transpose ? column * leading + row : row * leading + column;
    return (const char *)matrix + at * (dtype == PLACE_F64 ? 8 : 4);
}

/* What a sum is made in: c itself, or memory of the thread. */
struct summed {
    void *at;
    int64_t stride; /* elements between rows */
};

static int64_t tile_bytes(const struct product *tile) {
    return tile->m * tile->n * (tile->dtype == PLACE_F64 ? 8 : 4);
}

static void add_tile(const struct tiled_product *tiled, const struct product *tile,
                     struct summed to, const void *from) {
    int64_t bytes = tile->dtype == PLACE_F64 ? 8 : 4;
    for (int64_t row = 0; row < tile->m; row++) {
        struct accumulate line = {.target = (char *)to.at + row * to.stride * bytes,
                                  .source = (const char *)from + row * tile->n * bytes};
        tiled->accumulate(&line, 0, tile->n, NULL);
    }
}

/* The product over one stretch of k. */
static void multiply_stretch(const struct tiled_product *tiled, const struct product *tile,
                             int64_t stretch, struct summed to) {
    struct product part = *tile;
    int64_t first = stretch * part.k;
    part.a = element_of(part.a, part.lda, part.transpose_a, 0, first, part.dtype);
    part.b = element_of(part.b, part.ldb, part.transpose_b, first, 0, part.dtype);
    part.beta = 0;
    part.c = to.at;
    part.ldc = to.stride;
    product_compute(&part);
}

static void sum_parts(const struct tiled_product *tiled, const struct product *tile, int64_t block,
                      struct summed to, char *workspace) {
    multiply_stretch(tiled, tile, block, to);
    for (int64_t part = 1; part < tiled->blocks.parts; part++) {
        multiply_stretch(tiled, tile, part * tiled->blocks.summed + block,
                         (struct summed){workspace, tile->n});
        add_tile(tiled, tile, to, workspace);
    }
}

/* Blocks first .. first + n - 1 of k, joined as a tree. */
static void sum_blocks(const struct tiled_product *tiled, const struct product *tile, int64_t first,
                       int64_t n, struct summed to, char *workspace) {
    if (n == 1) {
        sum_parts(tiled, tile, first, to, workspace);
        return;
    }
    struct summed right = {workspace, tile->n};
    sum_blocks(tiled, tile, first, n / 2, to, workspace);
    sum_blocks(tiled, tile, first + n / 2, n / 2, right, workspace + tile_bytes(tile));
    add_tile(tiled, tile, to, workspace);
}

/* What c holds is added last, as one. */
static void multiply_tile(const struct tiled_product *tiled, const struct product *tile,
                          char *workspace) {
    struct summed c = {tile->c, tile->ldc}, own = {workspace, tile->n};
    if (tiled->blocks.summed * tiled->blocks.parts == 1) {
        product_compute(tile);
    } else if (!tile->beta) {
        sum_blocks(tiled, tile, 0, tiled->blocks.summed, c, workspace);
    } else {
        sum_blocks(tiled, tile, 0, tiled->blocks.summed, own, workspace + tile_bytes(tile));
        add_tile(tiled, tile, c, workspace);
    }
}

/* Tile `number` of all blocks. */
static struct product tile_of(const struct tiled_product *tiled, int64_t number) {
    const struct blocks *blocks = &tiled->blocks;
    int64_t block = number / blocks->tiles, tile = number % blocks->tiles;
    int64_t row = tile / blocks->abreast * blocks->tile.rows;
    int64_t column = tile % blocks->abreast * blocks->tile.columns;
    struct product part = tiled->whole;
    part.m = smaller(blocks->tile.rows, blocks->m - row);
    part.n = smaller(blocks->tile.columns, blocks->n - column);
    part.k = blocks->k;
    row += block / blocks->across * blocks->m;
    column += block % blocks->across * blocks->n;
    part.a = element_of(part.a, part.lda, part.transpose_a, row, 0, part.dtype);
    part.b = element_of(part.b, part.ldb, part.transpose_b, 0, column, part.dtype);
    part.c = (void *)element_of(part.c, part.ldc, 0, row, column, part.dtype);
    return part;
}

static void multiply_tiles(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct tiled_product *tiled = arguments;
    for (int64_t number = begin; number < end; number++) {
        struct product tile = tile_of(tiled, number);
        multiply_tile(tiled, &tile, workspace);
    }
}

/* Tiles of blocks depend on the shape of one alone, not on how many there are. */
static void cut_tiles(const struct place_context *context, struct blocks *blocks, bool sums,
                      int32_t dtype) {
    bool by_shape = blocks->apart || (context->program != NULL && context->program->reproducible);
    blocks->tile = tile_edges(context, by_shape, blocks->m, blocks->n, blocks->k);
    if (sums)
        blocks->tile = summed_edges(blocks->tile, dtype == PLACE_F64 ? 8 : 4);
    blocks->abreast = (blocks->n + blocks->tile.columns - 1) / blocks->tile.columns;
    blocks->tiles = (blocks->m + blocks->tile.rows - 1) / blocks->tile.rows * blocks->abreast;
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

static int32_t multiply(struct place_context *context, int32_t statement,
                        const struct product *whole, struct blocks blocks, bool sums) {
    int64_t longest = larger(larger(whole->m, whole->n), whole->k);
    if (!is_real(whole->dtype) ||
        larger(larger(longest, whole->lda), larger(whole->ldb, whole->ldc)) > INT32_MAX)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "a product of type %d, %lld x %lld x %lld", whole->dtype,
                            (long long)whole->m, (long long)whole->n, (long long)whole->k);
    describe(context, statement, whole);
    cut_tiles(context, &blocks, sums, whole->dtype);
    struct tiled_product tiled = {.whole = *whole,
                                  .blocks = blocks,
                                  .accumulate =
                                      context->kernels->tiles[whole->dtype][KERNEL_accumulate]};
    team_run(context->team, blocks.down * blocks.across * blocks.tiles, 1, multiply_tiles, &tiled);
    return PLACE_OK;
}

int32_t place_product(struct place_context *context, int32_t statement, int32_t dtype,
                      int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k,
                      const void *a, int64_t lda, const void *b, int64_t ldb, int32_t beta, void *c,
                      int64_t ldc) {
    RECORD_CALL(product);
    struct product whole = {dtype, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc};
    struct blocks one = {.m = m, .n = n, .k = k, .down = 1, .across = 1, .summed = 1, .parts = 1};
    return multiply(context, statement, &whole, one, false);
}

int32_t place_product_blocks(struct place_context *context, int32_t statement, int32_t dtype,
                             int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t m_blocks,
                             int64_t n, int64_t n_blocks, int64_t k, int64_t k_blocks,
                             int64_t k_parts, const void *a, int64_t lda, const void *b,
                             int64_t ldb, int32_t beta, void *c, int64_t ldc) {
    RECORD_CALL(product_blocks);
    int64_t summed = larger(1, k_blocks);
    if (smaller(smaller(m_blocks, n_blocks), k_parts) < 1 || m % m_blocks || n % n_blocks ||
        k % (summed * k_parts) || summed > PLACE_BLOCKS_LIMIT)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "%lld x %lld x %lld in %lld x %lld x %lld blocks", (long long)m,
                            (long long)n, (long long)k, (long long)m_blocks, (long long)n_blocks,
                            (long long)k_blocks);
    struct product whole = {dtype, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc};
    struct blocks blocks = {.apart = true,
                            .m = m / m_blocks,
                            .n = n / n_blocks,
                            .k = k / (summed * k_parts),
                            .down = m_blocks,
                            .across = n_blocks,
                            .summed = summed,
                            .parts = k_parts};
    return multiply(context, statement, &whole, blocks, k_blocks > 0);
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
