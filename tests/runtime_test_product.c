/* The product function: all transposes, tails of tiles, strides, sums; the same bits each time; how
 * teams cut; the order of sums of our own products, whatever stands beside them; the
 * environment put right; a library that does not know the CPU, has products in float alone, or is
 * not there. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime_kernel_fixture.h"
#include "sample.h"

struct case_of_product {
    int transpose_a, transpose_b, beta;
    int64_t m, n, k, gap; /* gap: elements between the end of a row and the next */
};

static double at(const double *x, int64_t leading, int transpose, int64_t row, int64_t column) {
    return x[transpose ? column * leading + row : row * leading + column];
}

static void check_case(struct place_context *context, int dtype, const struct case_of_product *p) {
    int64_t rows_a = p->transpose_a ? p->k : p->m, lda = (p->transpose_a ? p->m : p->k) + p->gap;
    int64_t rows_b = p->transpose_b ? p->n : p->k, ldb = (p->transpose_b ? p->k : p->n) + p->gap;
    int64_t ldc = p->n + p->gap;
    struct tensor a = tensor_random(dtype, rows_a * lda, 1),
                  b = tensor_random(dtype, rows_b * ldb, 2);
    struct tensor c = tensor_random(dtype, p->m * ldc, 3);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->beta ? c.exact[i * ldc + j] : 0;
            for (int64_t k = 0; k < p->k; k++)
                sum +=
                    at(a.exact, lda, p->transpose_a, i, k) * at(b.exact, ldb, p->transpose_b, k, j);
            c.exact[i * ldc + j] = sum;
        }
    CALL_OK(place_product(context, 0, dtype, dtype, p->transpose_a, p->transpose_b, p->m, p->n,
                          p->k, a.data, lda, b.data, ldb, p->beta, c.data, ldc));
    assert_close("c", c.data, dtype, c.exact, p->m * ldc, tolerance_of(dtype) * 10);
    tensor_free(&a), tensor_free(&b), tensor_free(&c);
}

static void products_agree_with_loops(void **state) {
    struct place_context *context = context_of_this_cpu(2);
    static const int64_t sizes[][3] = {{1, 1, 1},      {3, 5, 7},      {64, 64, 64},
                                       {257, 130, 33}, {70, 1040, 40}, {300, 1, 9}};
    for (int size = 0; size < 6; size++)
        for (int flags = 0; flags < 8; flags++)
            for (int type = 0; type < 2; type++)
                check_case(context, real_types[type],
                           &(struct case_of_product){flags & 1, flags >> 1 & 1, flags >> 2,
                                                     sizes[size][0], sizes[size][1], sizes[size][2],
                                                     flags % 3});
    context_free(context);
}

/* beta 0 does not read c, whatever is there. */
static void results_are_overwritten(void **state) {
    struct place_context *context = context_of_this_cpu(1);
    double a[4] = {1, 2, 3, 4}, c[4] = {NAN, NAN, NAN, NAN};
    CALL_OK(place_product(context, 0, PLACE_F64, PLACE_F64, 0, 0, 2, 2, 2, a, 2, a, 2, 0, c, 2));
    const double square[4] = {7, 10, 15, 22};
    assert_close("c", c, PLACE_F64, square, 4, 0);
    context_free(context);
}

/* The same call on a team of the same size. Teams of other sizes cut other tiles, in which a
 * library may give an element other last bits: OpenBLAS's kernels for AVX2 do. */
static void teams_repeat_their_bits(void **state) {
    enum { M = 523, N = 700, K = 65, TIMES = 4 };
    struct tensor a = tensor_random(PLACE_F32, M * K, 1), b = tensor_random(PLACE_F32, K * N, 2);
    struct tensor c = tensor_random(PLACE_F32, M * N, 3), d = tensor_random(PLACE_F32, M * N, 4);
    for (int threads = 1; threads <= 3; threads++) {
        struct place_context *context = context_of_this_cpu(threads);
        for (int i = 0; i < TIMES; i++) {
            CALL_OK(place_product(context, 0, PLACE_F32, PLACE_F32, 0, 0, M, N, K, a.data, K,
                                  b.data, N, 0, i ? d.data : c.data, N));
            if (i > 0)
                assert_memory_equal(c.data, d.data, sizeof(float) * M * N);
        }
        context_free(context);
    }
    tensor_free(&a), tensor_free(&b), tensor_free(&c), tensor_free(&d);
}

/* A product in blocks, and what devices make that have a part of them: of m, n or k each. */
struct blocked {
    int dtype, transpose_a, transpose_b, beta;
    int64_t m, n, k; /* of a block */
    int64_t m_blocks, n_blocks, k_blocks, k_parts;
};

struct matrix {
    char *at;
    int64_t leading;
};

static struct tensor stored(const struct blocked *p, int transpose, int64_t rows, int64_t columns,
                            unsigned seed, struct matrix *matrix) {
    struct tensor tensor = tensor_random(p->dtype, rows * columns, seed);
    *matrix = (struct matrix){tensor.data, transpose ? rows : columns};
    return tensor;
}

static void multiply_blocks(struct place_context *context, const struct blocked *p, struct matrix a,
                            struct matrix b, struct matrix c) {
    CALL_OK(place_product_blocks(context, 0, p->dtype, p->dtype, p->transpose_a, p->transpose_b,
                                 p->m * p->m_blocks, p->n * p->n_blocks,
                                 p->k * p->k_blocks * p->k_parts, p->k_parts, p->k_blocks, a.at,
                                 a.leading, b.at, b.leading, p->beta, c.at, c.leading));
}

/* The stored matrix from a row and a column of op(matrix) on. */
static struct matrix from(struct matrix of, int dtype, int transpose, int64_t row, int64_t column) {
    of.at += (transpose ? column * of.leading + row : row * of.leading + column) * width_of(dtype);
    return of;
}

/* The part by itself, without what stands between its rows. */
static struct tensor apart(struct matrix *of, int dtype, int transpose, int64_t rows,
                           int64_t columns) {
    int64_t lines = transpose ? columns : rows, length = transpose ? rows : columns;
    struct tensor copy = tensor_random(dtype, rows * columns, 9);
    for (int64_t i = 0; i < lines; i++)
        memcpy((char *)copy.data + i * length * width_of(dtype),
               of->at + i * of->leading * width_of(dtype), (size_t)(length * width_of(dtype)));
    *of = (struct matrix){copy.data, length};
    return copy;
}

/* The lower right block of c, from memory of its own. */
static void check_part(struct place_context *context, const struct blocked *p, struct matrix a,
                       struct matrix b, const struct tensor *c) {
    struct blocked part = *p;
    int64_t row = (p->m_blocks - 1) * p->m, column = (p->n_blocks - 1) * p->n;
    int64_t k = p->k * p->k_blocks * p->k_parts, n = p->n * p->n_blocks;
    part.m_blocks = part.n_blocks = 1;
    a = from(a, p->dtype, p->transpose_a, row, 0);
    b = from(b, p->dtype, p->transpose_b, 0, column);
    struct tensor own_a = apart(&a, p->dtype, p->transpose_a, p->m, k),
                  own_b = apart(&b, p->dtype, p->transpose_b, k, p->n),
                  own_c = tensor_random(p->dtype, p->m * p->n, 3);
    part.beta = 0;
    multiply_blocks(context, &part, a, b, (struct matrix){own_c.data, p->n});
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            assert_true(element(own_c.data, p->dtype, i * p->n + j) ==
                        element(c->data, p->dtype, (row + i) * n + column + j));
    tensor_free(&own_a), tensor_free(&own_b), tensor_free(&own_c);
}

/* sum + a b, as one step of a kernel. */
static double step(int dtype, bool fused, double a, double b, double sum) {
    if (dtype == PLACE_F64)
        return fused ? fma(a, b, sum) : a * b + sum;
    float product = (float)a * (float)b;
    return fused ? fmaf((float)a, (float)b, (float)sum) : product + (float)sum;
}

static double rounded(int dtype, double x) {
    return dtype == PLACE_F64 ? x : (float)x;
}

/* The sum over blocks first .. first + n - 1 of an element: row i of a by column j of b. */
struct ordered_sum {
    const struct blocked *p;
    bool fused;
    const double *a, *b;
    int64_t lda, ldb, i, j;
};

static double sum_in_order(const struct ordered_sum *s, int64_t first, int64_t n) {
    const struct blocked *p = s->p;
    if (n > 1)
        return rounded(p->dtype,
                       sum_in_order(s, first, n / 2) + sum_in_order(s, first + n / 2, n / 2));
    double sum = 0;
    for (int64_t part = 0; part < p->k_parts; part++)
        for (int64_t l = 0; l < p->k; l++) {
            int64_t k = (part * p->k_blocks + first) * p->k + l;
            sum = step(p->dtype, s->fused, at(s->a, s->lda, p->transpose_a, s->i, k),
                       at(s->b, s->ldb, p->transpose_b, k, s->j), sum);
        }
    return sum;
}

/* All of c, bit for bit, and of what is not added its lower right block by itself. */
static void check_blocks(struct place_context *context, const struct blocked *p) {
    int64_t m = p->m * p->m_blocks, n = p->n * p->n_blocks, k = p->k * p->k_blocks * p->k_parts;
    struct matrix a, b;
    struct tensor of_a = stored(p, p->transpose_a, m, k, 1, &a),
                  of_b = stored(p, p->transpose_b, k, n, 2, &b),
                  c = tensor_random(p->dtype, m * n, 3);
    multiply_blocks(context, p, a, b, (struct matrix){c.data, n});
    for (int64_t i = 0; i < m * n; i++) {
        struct ordered_sum sum = {.p = p,
                                  .fused = context->kernels->vector_bytes > 16,
                                  .a = of_a.exact,
                                  .b = of_b.exact,
                                  .lda = a.leading,
                                  .ldb = b.leading,
                                  .i = i / n,
                                  .j = i % n};
        double expected = sum_in_order(&sum, 0, p->k_blocks);
        if (p->beta)
            expected = rounded(p->dtype, c.exact[i] + expected);
        if (element(c.data, p->dtype, i) != expected)
            fail_msg("%lld x %lld x %lld in %lld blocks: element %lld has another order of sums",
                     (long long)m, (long long)n, (long long)k, (long long)p->k_blocks,
                     (long long)i);
    }
    if (!p->beta)
        check_part(context, p, a, b, &c);
    tensor_free(&of_a), tensor_free(&of_b), tensor_free(&c);
}

/* A sample takes four of 16 combinations of flags, or three of 8: in these each is set and not. */
static int flags_stride(int n) {
    return sample_every() == 1 ? 1 : n == 16 ? 5 : 3;
}

/* What a part has depends neither on what lies beside it nor on where it lies. */
static void check_parts_of_products(struct place_context *context) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {48, 33, 17}, {150, 50, 20}};
    static const int64_t blocks[][4] = {{1, 4, 1, 1}, {4, 1, 1, 1}, {1, 1, 8, 1},
                                        {2, 2, 4, 1}, {1, 1, 4, 3}, {1, 2, 1, 2}};
    for (int size = 0; size < 4; size++)
        for (int i = 0; i < 6; i++)
            for (int flags = 0; flags < 16; flags += flags_stride(16))
                check_blocks(context, &(struct blocked){flags & 1, flags >> 1 & 1, flags >> 2 & 1,
                                                        flags >> 3, sizes[size][0], sizes[size][1],
                                                        sizes[size][2], blocks[i][0], blocks[i][1],
                                                        blocks[i][2], blocks[i][3]});
}

static void parts_have_the_bits_of_the_whole(void **state) {
    in_each_version(check_parts_of_products);
}

/* Blocks of which many fill a panel or one fills several, in one part or in short ones; more rows
 * and columns than are copied at a time. */
static void check_orders(struct place_context *context) {
    static const int64_t shapes[][5] = {
        {9, 50, 16, 64, 1}, {13, 30, 600, 1, 1}, {5, 17, 300, 4, 1}, {160, 20, 40, 8, 1},
        {7, 600, 8, 2, 5},  {3, 40, 32, 4, 3},   {8, 48, 0, 4, 1}};
    for (int i = 0; i < 7; i++)
        for (int flags = 0; flags < 16; flags += flags_stride(16))
            check_blocks(context,
                         &(struct blocked){flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3,
                                           shapes[i][0], shapes[i][1], shapes[i][2], 1, 1,
                                           shapes[i][3], shapes[i][4]});
}

static void sums_have_their_order(void **state) {
    in_each_version(check_orders);
}

/* A sum of no terms is 0, and added to a number, of any sign, leaves it. */
static void empty_sums_are_zero(void **state) {
    const char *message;
    struct place_context *context = context_make(kernels_select(&message), 1);
    float x = 1, c[2] = {NAN, NAN}, d[2] = {-0.0f, 3};
    CALL_OK(place_product_blocks(context, 0, PLACE_F32, PLACE_F32, 0, 0, 1, 2, 0, 1, 2, &x, 1, &x,
                                 2, 0, c, 2));
    CALL_OK(place_product_blocks(context, 0, PLACE_F32, PLACE_F32, 0, 0, 1, 2, 0, 1, 2, &x, 1, &x,
                                 2, 1, d, 2));
    assert_true(c[0] == 0 && c[1] == 0);
    assert_true(signbit(d[0]) && d[0] == 0 && d[1] == 3);
    context_free(context);
}

/* Whatever the width of the registers, of CPUs that have fused steps. */
static void versions_give_equal_bits(void **state) {
    enum { M = 37, N = 150, K = 300 };
    const struct kernels *const kernels[] = {kernels_named("v3"), kernels_named("v4"),
                                             kernels_named("v4_bf16")};
    int versions = 0;
    while (versions < 3 && kernels[versions] != NULL)
        versions++;
    if (versions < 2)
        skip();
    struct tensor a = tensor_random(PLACE_F32, M * K, 1), b = tensor_random(PLACE_F32, K * N, 2);
    float made[3][M * N] = {{0}};
    for (int i = 0; i < versions; i++) {
        struct place_context *context = context_make(kernels[i], 1);
        CALL_OK(place_product_blocks(context, 0, PLACE_F32, PLACE_F32, 0, 0, M, N, K, 3, 4, a.data,
                                     K, b.data, N, 0, made[i], N));
        context_free(context);
    }
    for (int i = 1; i < versions; i++)
        assert_memory_equal(made[0], made[i], sizeof made[0]);
    tensor_free(&a), tensor_free(&b);
}

/* A sum of more tiles than one, on teams of one to three. */
static void teams_sum_blocks_alike(void **state) {
    enum { M = 523, N = 700, K = 64 };
    struct tensor a = tensor_random(PLACE_F32, M * K, 1), b = tensor_random(PLACE_F32, K * N, 2);
    struct tensor c = tensor_random(PLACE_F32, M * N, 3), d = tensor_random(PLACE_F32, M * N, 4);
    struct blocked p = {PLACE_F32, 0, 0, 0, M, N, K / 8, 1, 1, 8, 1};
    struct matrix of_a = {a.data, K}, of_b = {b.data, N};
    for (int threads = 1; threads <= 3; threads++) {
        struct place_context *context = context_of_this_cpu(threads);
        void *made = threads == 1 ? c.data : d.data;
        multiply_blocks(context, &p, of_a, of_b, (struct matrix){made, N});
        context_free(context);
        if (threads > 1)
            assert_memory_equal(c.data, d.data, sizeof(float) * M * N);
    }
    tensor_free(&a), tensor_free(&b), tensor_free(&c), tensor_free(&d);
}

/* ---- elements of 16 bits, and results of other types ---- */

/* What operands are, what results are, and what sums are made in. */
static const struct mixed {
    int operands, result, sums;
} mixed_types[] = {{PLACE_BF16, PLACE_BF16, PLACE_F32}, {PLACE_BF16, PLACE_F32, PLACE_F32},
                   {PLACE_F16, PLACE_F16, PLACE_F32},   {PLACE_F16, PLACE_F32, PLACE_F32},
                   {PLACE_F16, PLACE_BF16, PLACE_F32},  {PLACE_F32, PLACE_BF16, PLACE_F32},
                   {PLACE_F32, PLACE_F16, PLACE_F32},   {PLACE_F32, PLACE_F64, PLACE_F64},
                   {PLACE_BF16, PLACE_F64, PLACE_F64},  {PLACE_F64, PLACE_F16, PLACE_F64},
                   {PLACE_F64, PLACE_F32, PLACE_F64}};
enum { MIXED_TYPES = sizeof mixed_types / sizeof *mixed_types };

/* A product, of a type for one of another, in an order that is promised or not. */
struct narrow {
    int ordered, transpose_a, transpose_b, beta;
    int64_t m, n, k, k_parts, k_blocks;
};

static void multiply(struct place_context *context, const struct narrow *p, int operands,
                     int result, const void *a, const void *b, void *c) {
    int64_t lda = p->transpose_a ? p->m : p->k, ldb = p->transpose_b ? p->k : p->n;
    if (p->ordered)
        CALL_OK(place_product_blocks(context, 0, operands, result, p->transpose_a, p->transpose_b,
                                     p->m, p->n, p->k, p->k_parts, p->k_blocks, a, lda, b, ldb,
                                     p->beta, c, p->n));
    else
        CALL_OK(place_product(context, 0, operands, result, p->transpose_a, p->transpose_b, p->m,
                              p->n, p->k, a, lda, b, ldb, p->beta, c, p->n));
}

static void *in_type(int dtype, const double *x, int64_t count) {
    char *copy = must(malloc((size_t)(width_of(dtype) * count)));
    for (int64_t i = 0; i < count; i++)
        set_element(copy, dtype, i, x[i]);
    return copy;
}

/* Bit for bit what the same sums of widened operands are, added to what is there and rounded, both
 * once, when they are whole. */
static void check_mixed(struct place_context *context, struct mixed types, struct narrow p) {
    int64_t count = p.m * p.n;
    struct tensor a = tensor_random(types.operands, p.m * p.k, 1),
                  b = tensor_random(types.operands, p.k * p.n, 2),
                  c = tensor_random(types.result, count, 3);
    void *wide_a = in_type(types.sums, a.exact, a.count);
    void *wide_b = in_type(types.sums, b.exact, b.count);
    void *wide_c = in_type(types.sums, c.exact, count);
    struct narrow of_sums = p;
    of_sums.ordered = 1;
    multiply(context, &p, types.operands, types.result, a.data, b.data, c.data);
    multiply(context, &of_sums, types.sums, types.sums, wide_a, wide_b, wide_c);
    for (int64_t i = 0; i < count; i++) {
        double made = element(c.data, types.result, i), sum = element(wide_c, types.sums, i);
        if (made != rounded_to(types.result, sum))
            fail_msg("%d for %d, %d%d%d, %lld x %lld x %lld: element %lld is %a, not %a rounded",
                     types.operands, types.result, p.transpose_a, p.transpose_b, p.beta,
                     (long long)p.m, (long long)p.n, (long long)p.k, (long long)i, made, sum);
    }
    free(wide_a), free(wide_b), free(wide_c);
    tensor_free(&a), tensor_free(&b), tensor_free(&c);
}

/* Edges of pieces, sums that fill several panels, blocks that do not fit one, several parts. */
static const int64_t mixed_shapes[][5] = {{1, 1, 1, 1, 1},     {3, 5, 7, 1, 1},
                                          {9, 50, 64, 1, 4},   {33, 97, 300, 1, 1},
                                          {5, 17, 1200, 1, 4}, {7, 600, 80, 5, 2}};

static struct narrow of_shape(const int64_t *shape, int flags) {
    return (struct narrow){1,        flags & 1, flags >> 1 & 1, flags >> 2, shape[0],
                           shape[1], shape[2],  shape[3],       shape[4]};
}

static void check_mixed_types(struct place_context *context) {
    for (int type = 0; type < MIXED_TYPES; type++)
        for (int shape = 0; shape < 6; shape++)
            for (int flags = 0; flags < 8; flags += flags_stride(8))
                check_mixed(context, mixed_types[type], of_shape(mixed_shapes[shape], flags));
}

static void sums_are_rounded_once(void **state) {
    in_each_version(check_mixed_types);
}

/* Without an order, too, where no instruction of the CPU's makes the sums: all but bf16. */
static void check_unordered(struct place_context *context) {
    for (int type = 0; type < MIXED_TYPES; type++)
        for (int shape = 0; shape < 4; shape++) {
            struct narrow p = of_shape(mixed_shapes[shape], shape);
            p.ordered = 0;
            p.k_parts = p.k_blocks = 1;
            if (mixed_types[type].operands != PLACE_BF16 || !context->kernels->has_pairs)
                check_mixed(context, mixed_types[type], p);
        }
}

static void without_an_order_sums_are_the_same(void **state) {
    in_each_version(check_unordered);
}

/* By the instruction: each of k products, and each sum of two, is rounded to singles at most once;
 * then the whole is. Subnormal numbers are zeros to it. */
static void check_pairs(struct place_context *context, int result, const struct narrow *p) {
    struct tensor a = tensor_random(PLACE_BF16, p->m * p->k, 1),
                  b = tensor_random(PLACE_BF16, p->k * p->n, 2),
                  c = tensor_random(result, p->m * p->n, 3);
    int64_t lda = p->transpose_a ? p->m : p->k, ldb = p->transpose_b ? p->k : p->n;
    multiply(context, p, PLACE_BF16, result, a.data, b.data, c.data);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->beta ? c.exact[i * p->n + j] : 0, size = fabs(sum);
            for (int64_t k = 0; k < p->k; k++) {
                double term =
                    at(a.exact, lda, p->transpose_a, i, k) * at(b.exact, ldb, p->transpose_b, k, j);
                sum += term, size += fabs(term);
            }
            double made = element(c.data, result, i * p->n + j);
            double bound = (double)(2 * p->k + 1) * size * 0x1p-24 +
                           (is_narrow(result) ? format_unit(format_of(result), sum) : 0);
            if (!(fabs(made - sum) <= bound))
                fail_msg("%lld, %lld of %lld x %lld x %lld is %a, not %a", (long long)i,
                         (long long)j, (long long)p->m, (long long)p->n, (long long)p->k, made,
                         sum);
        }
    tensor_free(&a), tensor_free(&b), tensor_free(&c);
}

static void bf16_agrees_with_loops(void **state) {
    static const int results[] = {PLACE_BF16, PLACE_F32, PLACE_F16};
    struct place_context *context = context_of_this_cpu(2);
    for (int shape = 0; shape < 6; shape++)
        for (int flags = 0; flags < 24; flags++) {
            struct narrow p = of_shape(mixed_shapes[shape], flags % 8);
            p.ordered = 0;
            check_pairs(context, results[flags / 8], &p);
        }
    context_free(context);
}

/* The last pair of an odd sum has one number, whatever was in its panels before. */
static void odd_sums_have_no_more_terms(void **state) {
    struct place_context *context = context_of_this_cpu(1);
    for (int64_t k = 302; k > 300; k--)
        check_pairs(context, PLACE_F32,
                    &(struct narrow){.transpose_b = 1, .m = 16, .n = 96, .k = k});
    context_free(context);
}

/* Whatever the team, since no library makes them. */
static void teams_multiply_16_bits_alike(void **state) {
    enum { M = 523, N = 700, K = 64 };
    static const int types[] = {PLACE_BF16, PLACE_F16};
    struct narrow p = {.m = M, .n = N, .k = K};
    for (int type = 0; type < 2; type++) {
        struct tensor a = tensor_random(types[type], M * K, 1),
                      b = tensor_random(types[type], K * N, 2),
                      c = tensor_random(types[type], M * N, 3),
                      d = tensor_random(types[type], M * N, 4);
        for (int threads = 1; threads <= 3; threads++) {
            struct place_context *context = context_of_this_cpu(threads);
            void *made = threads == 1 ? c.data : d.data;
            multiply(context, &p, types[type], types[type], a.data, b.data, made);
            context_free(context);
            if (threads > 1)
                assert_memory_equal(c.data, d.data, sizeof(uint16_t) * M * N);
        }
        tensor_free(&a), tensor_free(&b), tensor_free(&c), tensor_free(&d);
    }
}

static int32_t product_in_blocks(struct place_context *context, int64_t k, int64_t blocks) {
    static double x[2 * PLACE_BLOCKS_LIMIT];
    return place_product_blocks(context, 0, PLACE_F64, PLACE_F64, 0, 0, 1, 1, k, 1, blocks, x, k, x,
                                1, 0, x, 1);
}

static void blocks_that_do_not_fit_are_refused(void **state) {
    refuses_blocks_that_do_not_fit(product_in_blocks);
    struct place_context *context = context_of_this_cpu(1);
    double x[16] = {0};
    for (int64_t parts = 0; parts <= 3; parts += 3)
        assert_refused(context, place_product_blocks(context, 0, PLACE_F64, PLACE_F64, 0, 0, 4, 4,
                                                     4, parts, 1, x, 4, x, 4, 0, x, 4));
    context_free(context);
}

/* Each in a process of its own, since a library is loaded once. */
static int status_of_child(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int load_with_misleading_core(void) {
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 1;
    if (strstr(product_description(), "Prescott") != NULL ||
        strstr(product_description(), "OpenBLAS") == NULL)
        return 2;
    return product_warning() != NULL && strstr(product_warning(), "Prescott") != NULL ? 0 : 3;
}

static int load_plainly(void) {
    unsetenv("OPENBLAS_CORETYPE");
    const char *message;
    return product_load(&message) == PLACE_OK && product_warning() == NULL ? 0 : 1;
}

static const char *description_on_this_cpu(void) {
    return kernels_named("v4") != NULL   ? "Old 0.1 SkylakeX"
           : kernels_named("v3") != NULL ? "Old 0.1 Haswell"
                                         : "Old 0.1 Prescott";
}

static int load_old_library(void) {
    setenv("PLACE_PRODUCT_LIBRARY", OLD_BLAS, 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 1;
    return strcmp(product_description(), description_on_this_cpu()) == 0 ? 0 : 2;
}

/* Whatever threads it is told to use by others. */
static int load_mkl(void) {
    setenv("PLACE_PRODUCT_LIBRARY", MKL_BLAS, 1);
    setenv("MKL_THREADING_LAYER", "INTEL", 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 1;
    return strcmp(product_description(), "MKL 7.8") == 0 ? 0 : 2;
}

enum { EDGE = 1024 };

/* The first element of a product of EDGE x EDGE x EDGE by a team, as the old library makes it. */
static float old_product(int threads) {
    struct place_context *context = context_of_this_cpu(threads);
    float *x = calloc(2 * EDGE * EDGE, sizeof(float)), first;
    if (x == NULL || place_product(context, 0, PLACE_F32, PLACE_F32, 0, 0, EDGE, EDGE, EDGE, x,
                                   EDGE, x, EDGE, 0, x + EDGE * EDGE, EDGE) != PLACE_OK)
        _exit(3);
    context_free(context);
    first = x[EDGE * EDGE];
    free(x);
    return first;
}

static int cut_by_teams(void) {
    setenv("PLACE_PRODUCT_LIBRARY", OLD_BLAS, 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 4;
    return old_product(1) == EDGE * EDGE && old_product(2) == EDGE * EDGE / 2 ? 0 : 1;
}

/* Where nothing of OpenBLAS is installed: dlopen of this program, which the runtime calls. */
static bool openblas_is_missing;

void *dlopen(const char *file, int mode) {
    void *(*open)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    bool missing = openblas_is_missing && file != NULL && strstr(file, "openblas") != NULL;
    return open(missing ? "/nowhere/libopenblas.so" : file, mode);
}

/* What is said where the file that is named, or OpenBLAS if none is, cannot be taken: in this
 * order, what is wrong and what to do. */
static const struct {
    const char *named;
    bool openblas_is_missing;
    const char *wrong, *why, *remedy;
} failures[] = {
    {"", true, "no product library: ", "/nowhere/libopenblas.so: cannot open",
     "; install OpenBLAS (Debian: libopenblas0-pthread), or name the file of another in "
     "PLACE_PRODUCT_LIBRARY"},
    {"/nowhere/libdnnl.so.2", false, "the file that PLACE_PRODUCT_LIBRARY names cannot be loaded: ",
     "/nowhere/libdnnl.so.2: cannot open", "; name another file, or unset PLACE_PRODUCT_LIBRARY"},
    {"libm.so.6", false, "libm.so.6, which PLACE_PRODUCT_LIBRARY names, is no product library: ",
     "not both cblas_sgemm and cblas_dgemm", "; name another file, or unset PLACE_PRODUCT_LIBRARY"},
    {FLOAT_BLAS, true, "oneDNN 7.8.9 makes products in fp32 alone, and OpenBLAS, ",
     "cannot be loaded: /nowhere/libopenblas.so", "; install OpenBLAS"},
};
static size_t failure; /* whose turn it is */

static int load_what_fails(void) {
    const char *at = "";
    setenv("PLACE_PRODUCT_LIBRARY", failures[failure].named, 1);
    openblas_is_missing = failures[failure].openblas_is_missing;
    if (product_load(&at) != PLACE_ERROR_LIBRARY)
        return 1;
    const char *parts[] = {failures[failure].wrong, failures[failure].why,
                           failures[failure].remedy};
    if (strstr(at, parts[0]) != at)
        return 2;
    for (int i = 1; i < 3 && at != NULL; i++)
        at = strstr(at, parts[i]);
    return at != NULL ? 0 : 3;
}

/* a b or its transposes, of 3 x 5 and 5 x 2, added to ones. */
static int float_library_makes(int transpose_a, int transpose_b, int beta) {
    float a[15], b[10], c[6];
    double exact_a[15], exact_b[10], exact[6];
    for (int i = 0; i < 15; i++)
        exact_a[i] = a[i] = (float)(i % 7);
    for (int i = 0; i < 10; i++)
        exact_b[i] = b[i] = (float)(i % 3);
    for (int i = 0; i < 6; i++)
        c[i] = 1;
    struct product product = {PLACE_F32,           transpose_a, transpose_b,         3,    2, 5, a,
                              transpose_a ? 3 : 5, b,           transpose_b ? 5 : 2, beta, c, 2};
    product_compute(&product);
    product.dtype = PLACE_F64, product.beta = 0;
    product.a = exact_a, product.b = exact_b, product.c = exact;
    product_compute(&product);
    for (int i = 0; i < 6; i++)
        if ((double)c[i] != 2 * exact[i] + beta)
            return 0;
    return 1;
}

static int load_float_library(void) {
    setenv("PLACE_PRODUCT_LIBRARY", FLOAT_BLAS, 1);
    const char *message, *begin = "oneDNN 7.8.9, fp64 by OpenBLAS ";
    if (product_load(&message) != PLACE_OK ||
        strncmp(product_description(), begin, strlen(begin)) != 0)
        return 1;
    for (int flags = 0; flags < 8; flags++)
        if (!float_library_makes(flags & 1, flags >> 1 & 1, flags >> 2))
            return 2 + flags;
    return 0;
}

static void misleading_core_is_ignored(void **state) {
    assert_int_equal(status_of_child(load_with_misleading_core), 0);
    assert_int_equal(status_of_child(load_plainly), 0);
}

/* A library cannot know CPUs that are newer. */
static void old_library_is_told_which_kernels(void **state) {
    assert_int_equal(status_of_child(load_old_library), 0);
}

static void mkl_is_called_by_our_threads_alone(void **state) {
    assert_int_equal(status_of_child(load_mkl), 0);
}

static void what_a_library_lacks_is_left_to_openblas(void **state) {
    assert_int_equal(status_of_child(load_float_library), 0);
}

/* A product that the library has no memory for ends the rank, by whichever of its tiles. */
static int want_long_sums(void) {
    enum { TERMS = 1001 };
    static const float x[TERMS] = {0};
    float c = 0;
    const char *message;
    setenv("PLACE_PRODUCT_LIBRARY", FLOAT_BLAS, 1);
    if (product_load(&message) != PLACE_OK)
        return 1;
    struct place_context *context = context_of_this_cpu(2);
    if (place_product(context, 0, PLACE_F32, PLACE_F32, 0, 0, 1, 1, TERMS - 1, x, TERMS, x, 1, 0,
                      &c, 1) != PLACE_OK)
        return 2;
    int32_t status = place_product(context, 0, PLACE_F32, PLACE_F32, 0, 0, 1, 1, TERMS, x, TERMS, x,
                                   1, 0, &c, 1);
    bool said = strstr(context->message, "oneDNN") && strstr(context->message, "1 x 1 x 1001");
    context_free(context);
    return status == PLACE_ERROR_LIBRARY && said ? 0 : 3;
}

static void what_a_library_cannot_make_is_told(void **state) {
    assert_int_equal(status_of_child(want_long_sums), 0);
}

/* As many tiles as threads. */
static void teams_cut_products(void **state) {
    assert_int_equal(status_of_child(cut_by_teams), 0);
}

static void missing_library_is_explained(void **state) {
    for (failure = 0; failure < sizeof failures / sizeof *failures; failure++) {
        int status = status_of_child(load_what_fails);
        if (status != 0)
            fail_msg("`%s`: %d", failures[failure].named, status);
    }
}

static int load_here(void **state) {
    const char *message = "";
    if (product_load(&message) == PLACE_OK)
        return 0;
    fprintf(stderr, "%s\n", message);
    return 1;
}

int main(void) {
    const struct CMUnitTest before_loading[] = {
        cmocka_unit_test(misleading_core_is_ignored),
        cmocka_unit_test(old_library_is_told_which_kernels),
        cmocka_unit_test(mkl_is_called_by_our_threads_alone),
        cmocka_unit_test(missing_library_is_explained),
        cmocka_unit_test(what_a_library_lacks_is_left_to_openblas),
        cmocka_unit_test(what_a_library_cannot_make_is_told),
        cmocka_unit_test(teams_cut_products),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_loops),
        cmocka_unit_test(results_are_overwritten),
        cmocka_unit_test(teams_repeat_their_bits),
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(sums_have_their_order),
        cmocka_unit_test(empty_sums_are_zero),
        cmocka_unit_test(versions_give_equal_bits),
        cmocka_unit_test(teams_sum_blocks_alike),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(without_an_order_sums_are_the_same),
        cmocka_unit_test(bf16_agrees_with_loops),
        cmocka_unit_test(odd_sums_have_no_more_terms),
        cmocka_unit_test(teams_multiply_16_bits_alike),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(before_loading, NULL, NULL) +
           cmocka_run_group_tests(tests, load_here, NULL);
}
