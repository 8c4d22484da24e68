/* Times the runtime's kernels alone, on the shapes of the GPT that docs and benchmarks use: 1,024
 * tokens in sequences of 128, hidden 256, 4 heads, vocabulary 256; for a team of one thread, and of
 * all cores. Prints lines of fields between tabs, the best of many calls each:
 *
 *     kernels  their version  the product library  threads of the second team
 *     product  shape  GFLOP/s by the library, by our kernel, by that in blocks  the same three
 *     narrow   shape  GFLOP/s of singles by the library, of bf16, of that in order, of f16  the same
 *     type     name  microseconds of f32, of bf16, how many times as fast that is  the same
 *     kernel   name  microseconds  the same  a rate  the same  its unit
 *
 * with threes and pairs for one thread first, and "-" for a rate of what has none.
 *
 *     bench_kernels SECONDS, for each figure
 *
 * PLACE_CPU=v2|v3|v4|v4_bf16 takes another version of the kernels. bench/kernels makes tables of it. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/arguments.h"
#include "runtime/calls.h"
#include "runtime/clock.h"
#include "runtime/context.h"
#include "runtime/cores.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/rows.h"
#include "runtime/product.h"
#include "runtime/team.h"
#include "runtime/workspace.h"

enum {
    BATCH = 8,
    SEQUENCE = 128,
    TOKENS = BATCH * SEQUENCE,
    HIDDEN = 256,
    HEADS = 4,
    HEAD = 64,
    VOCAB = 256
};

/* One float array for every operand; larger than any kernel's operands. */
enum { MILLION = 1 << 20, ARRAY = 8 * MILLION, ARRAYS = 10 };

struct bench {
    struct place_context *context;
    float *x[ARRAYS];
    uint16_t *bf16[ARRAYS];
    void *t[ARRAYS]; /* one of both: of what kernels are told to have the type */
    enum place_dtype dtype;
    uint16_t *halves[2]; /* bf16, f16 */
    int32_t *tokens;
    double scalar;
    int64_t blocks;           /* of every sequence, or of k; 0: none */
    int64_t m, n, k, k_parts; /* of products */
    int transpose_a, transpose_b;
    const struct math_function *function;
};

typedef void (*body)(struct bench *b);

/* Best time of a call, over `seconds`. */
static double best_seconds(struct bench *b, body run, double seconds) {
    double best = INFINITY, end = clock_seconds() + seconds;
    run(b);
    do {
        double start = clock_seconds();
        run(b);
        best = fmin(best, clock_seconds() - start);
    } while (clock_seconds() < end);
    return best;
}

/* A way to make a product: in an order that is promised, and then in so many blocks of k. */
struct way {
    enum place_dtype dtype;
    bool ordered;
    int64_t blocks;
};

static void multiply(struct bench *b, struct way way) {
    int64_t lda = b->transpose_a ? b->m : b->k, ldb = b->transpose_b ? b->k : b->n;
    const void *x = way.dtype == PLACE_F32 ? (void *)b->x[0] : b->halves[way.dtype == PLACE_F16];
    const void *y = way.dtype == PLACE_F32 ? (void *)b->x[1] : x;
    if (way.ordered)
        place_product_blocks(b->context, 0, way.dtype, way.dtype, b->transpose_a, b->transpose_b,
                             b->m, b->n, b->k, b->k_parts, way.blocks, x, lda, y, ldb, 0, b->x[2],
                             b->n);
    else
        place_product(b->context, 0, way.dtype, way.dtype, b->transpose_a, b->transpose_b, b->m,
                      b->n, b->k, x, lda, y, ldb, 0, b->x[2], b->n);
}

static void attention(struct bench *b) {
    place_attention(b->context, 0, b->dtype, b->dtype, BATCH, SEQUENCE, SEQUENCE, HEADS, 1, HEAD,
                    b->t[0], b->t[1], b->t[2], NULL, 0, NULL, 0, 0.125, b->t[3], b->x[4]);
}

static void attention_backward(struct bench *b) {
    place_attention_backward(b->context, 0, b->dtype, b->dtype, b->dtype, b->dtype, b->dtype,
                             b->dtype, BATCH, SEQUENCE, b->blocks, SEQUENCE, HEADS, 1, HEAD,
                             b->t[0], b->t[1], b->t[2], b->t[3], b->x[4], b->t[5], NULL, 0, NULL, 0,
                             0.125, b->t[6], b->t[7], b->t[8]);
}

static void long_attention(struct bench *b) {
    place_attention(b->context, 0, b->dtype, b->dtype, 1, 2048, 2048, 2, 2, HEAD, b->t[0], b->t[1],
                    b->t[2], NULL, 0, NULL, 0, 0.125, b->t[3], b->x[4]);
}

static void long_attention_backward(struct bench *b) {
    place_attention_backward(b->context, 0, b->dtype, b->dtype, b->dtype, b->dtype, b->dtype,
                             b->dtype, 1, 2048, b->blocks, 2048, 2, 2, HEAD, b->t[0], b->t[1],
                             b->t[2], b->t[3], b->x[4], b->t[5], NULL, 0, NULL, 0, 0.125, b->t[6],
                             b->t[7], b->t[8]);
}

static void rope(struct bench *b) {
    place_rope(b->context, 0, b->dtype, BATCH, SEQUENCE, HEADS, HEAD, b->t[0], NULL, 0, 10000, 1, 1,
               4, 8192, 0, b->t[1]);
}

static void layer_norm(struct bench *b) {
    place_layer_norm(b->context, 0, b->dtype, TOKENS, HIDDEN, b->t[0], b->t[1], b->t[2], 1e-5,
                     b->t[3], b->x[4], b->x[5]);
}

static void layer_norm_backward(struct bench *b) {
    place_layer_norm_backward(b->context, 0, b->dtype, b->dtype, b->dtype, TOKENS, BATCH, b->blocks,
                              HIDDEN, b->t[0], b->t[1], b->x[4], b->x[5], b->t[6], b->t[7], b->t[8],
                              b->t[9], 0);
}

static void embedding(struct bench *b) {
    place_embedding(b->context, 0, b->dtype, TOKENS, HIDDEN, b->tokens, 0, VOCAB, b->t[0], b->t[1]);
}

static void embedding_backward(struct bench *b) {
    place_embedding_backward(b->context, 0, b->dtype, b->dtype, TOKENS, BATCH, b->blocks, HIDDEN,
                             b->tokens, 0, VOCAB, b->t[0], b->t[1], 1);
}

static void cross_entropy(struct bench *b) {
    place_cross_entropy(b->context, 0, b->dtype, TOKENS, VOCAB, b->t[0], b->tokens, &b->scalar, 0,
                        b->x[1]);
}

static void cross_entropy_backward(struct bench *b) {
    place_cross_entropy_backward(b->context, 0, b->dtype, TOKENS, VOCAB, 0, b->t[0], b->tokens,
                                 b->x[1], &b->scalar, b->t[2]);
}

static void sum_rows(struct bench *b) {
    place_sum_rows(b->context, 0, b->dtype, b->dtype, TOKENS, BATCH, b->blocks, 4 * HIDDEN, b->t[0],
                   b->t[1], 0);
}

static void square_sum(struct bench *b) {
    place_square_sum(b->context, 0, b->dtype, MILLION, b->t[0], &b->scalar, 0);
}

/* Beside gradients and parameters of 16 bits, master and moments are in f32. */
static void adamw(struct bench *b) {
    const double rate = 1e-9, step = 10;
    void *rounded = b->dtype == PLACE_F32 ? NULL : b->t[4];
    place_adamw(b->context, 0, PLACE_F32, PLACE_F32, PLACE_F32, b->dtype, b->dtype, MILLION,
                b->x[0], b->x[1], b->x[2], b->t[3], rounded, &rate, NULL, &step, 0.9, 0.95, 1e-8,
                0.1);
}

static void apply_range(void *arguments, int64_t begin, int64_t end) {
    struct bench *b = arguments;
    b->function->apply_f32(b->x[0] + begin, b->x[1] + begin, end - begin);
}

static void apply(struct bench *b) {
    place_parallel(b->context, 0, (void *)apply_range, b, TOKENS * 4 * HIDDEN, 16384);
}

static void nothing_range(void *arguments, int64_t begin, int64_t end) {
}

static void nothing(struct bench *b) {
    place_parallel(b->context, 0, (void *)nothing_range, b, 8, 1);
}

/* work: GFLOP (of a causal mask, for attention) or GB per call; 0: none. */
static const struct line {
    const char *name;
    body run;
    double work;
    const char *unit;
    bool blocks; /* is it another call where sequences are in blocks? */
} lines[] = {
    {"attention 8 x 128", attention, 4.0 * TOKENS *SEQUENCE / 2 * HIDDEN * 1e-9, "GFLOP/s", false},
    {"attention_backward 8 x 128", attention_backward, 10.0 * TOKENS *SEQUENCE / 2 * HIDDEN * 1e-9,
     "GFLOP/s", true},
    {"attention 1 x 2048", long_attention, 4.0 * 2048 * 1024 * HIDDEN * 1e-9, "GFLOP/s", false},
    {"attention_backward 1 x 2048", long_attention_backward, 10.0 * 2048 * 1024 * HIDDEN * 1e-9,
     "GFLOP/s", true},
    {"rope", rope, 2 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", false},
    {"layer_norm", layer_norm, 2 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", false},
    {"layer_norm_backward", layer_norm_backward, 3 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", true},
    {"embedding", embedding, 2 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", false},
    {"embedding_backward", embedding_backward, 3 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", true},
    {"cross_entropy", cross_entropy, 4.0 * TOKENS *VOCAB * 1e-9, "GB/s", false},
    {"cross_entropy_backward", cross_entropy_backward, 2 * 4.0 * TOKENS *VOCAB * 1e-9, "GB/s",
     false},
    {"sum_rows", sum_rows, 4 * 4.0 * TOKENS *HIDDEN * 1e-9, "GB/s", true},
    {"square_sum of 1 M", square_sum, 4.0 * MILLION * 1e-9, "GB/s", false},
    {"adamw of 1 M", adamw, 7 * 4.0 * MILLION * 1e-9, "GB/s", false},
    {"an empty job of 8 ranges", nothing, 0, NULL, false},
};

static void print_line(struct bench *b, struct place_context *const teams[2], const char *name,
                       body run, double work, const char *unit, double seconds) {
    double best[2];
    for (int i = 0; i < 2; i++) {
        b->context = teams[i];
        best[i] = best_seconds(b, run, seconds);
    }
    printf("kernel\t%s\t%.1f\t%.1f\t", name, 1e6 * best[0], 1e6 * best[1]);
    if (work > 0)
        printf("%.1f\t%.1f\t%s\n", work / best[0], work / best[1], unit);
    else
        printf("-\t-\t-\n");
}

/* All ways take turns, so that what else the machine does slows all of them alike. Of singles, the
 * library, our own kernel, and ours in blocks; of 16 bits, beside the library's singles, each type
 * as it is made where no order is promised, and bf16 where one is. */
enum { MOST_WAYS = 4, BLOCKS = 8 };
static const struct table {
    const char *name;
    int n;
    struct way ways[MOST_WAYS];
} tables[] = {
    {"product", 3, {{PLACE_F32, false, 0}, {PLACE_F32, true, 0}, {PLACE_F32, true, BLOCKS}}},
    {"narrow",
     4,
     {{PLACE_F32, false, 0}, {PLACE_BF16, false, 0}, {PLACE_BF16, true, 0}, {PLACE_F16, false, 0}}},
};

static void best_seconds_of_ways(struct bench *b, const struct table *table, double seconds,
                                 double best[MOST_WAYS]) {
    double end = clock_seconds() + table->n * seconds;
    for (int i = 0; i < table->n; i++)
        best[i] = INFINITY;
    for (bool warm = false; !warm || clock_seconds() < end; warm = true)
        for (int i = 0; i < table->n; i++) {
            double start = clock_seconds();
            multiply(b, table->ways[i]);
            best[i] = fmin(best[i], clock_seconds() - start);
        }
}

/* The products of a block of the model, forward and backward; of as many tokens as a microbatch has
 * where training is reproducible; and of a block of GPT-2 124M on 2,048 tokens. Where rows of both
 * operands are summed over, a block has a part of each sequence. */
static const struct shape {
    int64_t m, n, k, k_parts;
    int transpose_a, transpose_b;
} shapes[] = {
    {1024, 256, 256, 1, 0, 0},      {1024, 1024, 256, 1, 0, 0}, {1024, 256, 1024, 1, 0, 0},
    {1024, 256, 256, 1, 0, 1},      {1024, 256, 1024, 1, 0, 1}, {256, 256, 1024, BATCH, 1, 0},
    {256, 1024, 1024, BATCH, 1, 0}, {128, 1024, 256, 1, 0, 0},  {128, 256, 1024, 1, 0, 0},
    {128, 256, 1024, 1, 0, 1},      {256, 1024, 128, 1, 1, 0},  {2048, 3072, 768, 1, 0, 0},
    {2048, 768, 3072, 1, 0, 0},     {2048, 768, 3072, 1, 0, 1}, {768, 3072, 2048, BATCH, 1, 0},
};

static void print_shape(struct bench *b, struct place_context *const teams[2],
                        const struct table *table, const struct shape *shape, double seconds) {
    b->m = shape->m, b->n = shape->n, b->k = shape->k, b->k_parts = shape->k_parts;
    b->transpose_a = shape->transpose_a, b->transpose_b = shape->transpose_b;
    printf("%s\t%lld x %lld x %lld%s", table->name, (long long)b->m, (long long)b->n,
           (long long)b->k,
           b->transpose_a   ? ", a transposed"
           : b->transpose_b ? ", b transposed"
                            : "");
    for (int i = 0; i < 2; i++) {
        double best[MOST_WAYS];
        b->context = teams[i];
        best_seconds_of_ways(b, table, seconds, best);
        for (int way = 0; way < table->n; way++)
            printf("\t%.1f", 2e-9 * (double)(b->m * b->n * b->k) / best[way]);
    }
    printf("\n");
}

static void print_products(struct bench *b, struct place_context *const teams[2], double seconds) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            print_shape(b, teams, &tables[t], &shapes[i], seconds);
}

static void select_type(struct bench *b, enum place_dtype dtype) {
    b->dtype = dtype;
    for (int i = 0; i < ARRAYS; i++)
        b->t[i] = dtype == PLACE_F32 ? (void *)b->x[i] : b->bf16[i];
}

/* Both types take turns, as ways to multiply do. */
static void print_types(struct bench *b, struct place_context *const teams[2],
                        const struct line *line, double seconds) {
    b->blocks = 0;
    printf("type\t%s", line->name);
    for (int i = 0; i < 2; i++) {
        double best[2] = {INFINITY, INFINITY}, end = clock_seconds() + 2 * seconds;
        b->context = teams[i];
        for (bool warm = false; !warm || clock_seconds() < end; warm = true)
            for (int narrow = 0; narrow < 2; narrow++) {
                select_type(b, narrow ? PLACE_BF16 : PLACE_F32);
                double start = clock_seconds();
                line->run(b);
                best[narrow] = fmin(best[narrow], clock_seconds() - start);
            }
        printf("\t%.1f\t%.1f\t%.2f", 1e6 * best[0], 1e6 * best[1], best[0] / best[1]);
    }
    printf("\n");
    select_type(b, PLACE_F32);
}

/* Prints a kernel without blocks, and with 8 of them where that is another call. */
static void print_kernel(struct bench *b, struct place_context *const teams[2],
                         const struct line *line, double seconds) {
    b->blocks = 0;
    print_line(b, teams, line->name, line->run, line->work, line->unit, seconds);
    if (!line->blocks)
        return;
    char name[64];
    snprintf(name, sizeof name, "in blocks %s", line->name);
    b->blocks = 8;
    print_line(b, teams, name, line->run, line->work, line->unit, seconds);
}

static void print_functions(struct bench *b, struct place_context *const teams[2], double seconds) {
    for (const struct math_function *f = teams[0]->kernels->math_f32; f->name != NULL; f++) {
        char name[64];
        snprintf(name, sizeof name, "%s of 1 M", f->name);
        b->function = f;
        print_line(b, teams, name, apply, 2 * 4.0 * TOKENS * 4 * HIDDEN * 1e-9, "GB/s", seconds);
    }
}

static struct place_context *context_of(const struct kernels *kernels, int threads) {
    struct place_context *context = calloc(1, sizeof *context);
    context->kernels = kernels;
    context->team = team_create(threads, PLACE_WORKSPACE_BYTES_PER_THREAD);
    return context;
}

int main(int argc, char **argv) {
    double seconds;
    if (argc != 2 || !read_seconds(argv[1], &seconds))
        return fprintf(stderr, "usage: %s SECONDS\n", argv[0]), 2;
    int cores = available_cores();
    const char *message = NULL;
    const struct kernels *kernels = kernels_select(&message);
    if (kernels == NULL || product_load(&message) != PLACE_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    struct bench b = {.scalar = 1e-3, .tokens = calloc(TOKENS, sizeof(int32_t))};
    for (int i = 0; i < TOKENS; i++)
        b.tokens[i] = i * 37 % VOCAB;
    for (int i = 0; i < ARRAYS; i++) {
        b.x[i] = aligned_alloc(64, ARRAY * sizeof(float));
        b.bf16[i] = aligned_alloc(64, ARRAY * sizeof(uint16_t));
        for (int j = 0; j < ARRAY; j++)
            b.x[i][j] = (float)((j * 29 + i) % 101) * 0.01f + 0.01f;
        round_row_f32(PLACE_BF16, b.bf16[i], b.x[i], ARRAY);
    }
    select_type(&b, PLACE_F32);
    for (int i = 0; i < 2; i++) {
        b.halves[i] = aligned_alloc(64, ARRAY * sizeof(uint16_t));
        for (int j = 0; j < ARRAY; j++)
            b.halves[i][j] = (uint16_t)((i ? 0x3c00 : 0x3f80) + j * 29 % 101); /* 1 and some */
    }
    struct place_context *const teams[2] = {context_of(kernels, 1), context_of(kernels, cores)};
    printf("kernels\t%s\t%s\t%d\n", kernels->version, product_description(), cores);
    print_products(&b, teams, seconds);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        print_kernel(&b, teams, &lines[i], seconds);
    for (size_t i = 0; lines[i].work > 0; i++)
        print_types(&b, teams, &lines[i], seconds);
    print_functions(&b, teams, seconds);
    return 0;
}
