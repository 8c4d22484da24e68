/* What the calls hand to their tile functions. Tensors are of the kernel's type unless their C type
 * says more, or that they have a type of their own; shapes are those of runtime/calls.def. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/kernels/blocks.h"
#include "runtime/workspace.h"

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A tensor whose elements may have another type than the kernel's, in which they are computed with.
 * No place: there is none. */
struct elements {
    void *at;
    int32_t dtype;
};

static inline struct elements elements_of(const void *at, int32_t dtype) {
    return (struct elements){(void *)at, dtype};
}

/* c = op(a) op(b), or is added to. A tile's panels take PLACE_PRODUCT_PANEL_BYTES of the workspace,
 * the rest has room for its sums. Elements of other types than the kernel's are widened where they
 * are copied to panels; sums that end in another type are made apart, and rounded when whole. */
struct block_product {
    enum place_dtype operands, result;
    bool pairs; /* the CPU multiplies bf16 as it is; k is one block then */
    int transpose_a, transpose_b;
    int64_t m, n;
    struct row_blocks k;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    int accumulate;
    void *c;
    int64_t ldc;
    int64_t rows, columns;  /* of a tile */
    int64_t blocks_at_once; /* which fit panels together; or 1 */
};

/* Terms of a sum that panels have room for; and the lines that so many take. */
static inline int64_t panel_depth(const struct block_product *p) {
    return p->pairs ? 2 * PLACE_PRODUCT_DEPTH : PLACE_PRODUCT_DEPTH;
}
static inline int64_t panel_lines(const struct block_product *p, int64_t depth) {
    return p->pairs ? (depth + 1) / 2 : depth;
}

/* Is the sum of n blocks made in memory of the thread before it is added to something? */
static inline bool is_summed_apart(const struct block_product *p, int64_t n) {
    return n * rows_of_block(&p->k) > panel_depth(p);
}

/* What a product does with what is there. */
enum use_of_sum { OVERWRITTEN, CONTINUED, ADDED };

/* Both norms: without `mean` it is the root-mean-square norm, which has no bias either. */
struct norm {
    int64_t rows, hidden;
    struct elements x, gain, bias;
    double epsilon;
    struct elements y;
    void *mean, *rstd;
    struct elements dy, dx, dgain, dbias;
    struct row_blocks blocks; /* of the rows that dgain and dbias are summed over */
    int accumulate;
};

/* Rows that are worked on side by side are at most so many, and of more than one have at most so
 * many elements in all. */
enum { NORM_ROWS = 8, NORM_ELEMENTS = 2048 };

struct rope {
    int64_t batch, sequence, heads, head_dim;
    struct elements x, y;
    const int32_t *positions; /* null: from start on */
    int64_t start;
    int inverse;
    double frequency[PLACE_HEAD_DIM_LIMIT / 2]; /* radians per position of every pair */
};

struct attention {
    int64_t batch, queries, keys, kv_heads, group, head_dim;
    int64_t keys_at_once; /* loaded together, so that their sums fit the workspace */
    int64_t block;        /* queries of one; read by the backward pass */
    int64_t dq_rows;      /* of queries, that the workspace has room for; likewise */
    bool pairs;           /* the CPU multiplies bf16 as it is, which all operands are */
    struct elements q, k, v;
    const int32_t *query_positions, *key_positions; /* null: from the start on */
    int64_t query_start, key_start;
    double scale;
    struct elements o;
    void *lse;
    struct elements d_o, dq, dk, dv;
};

struct attention_merge {
    int64_t head_dim;
    struct elements o1, o2, o;
    const void *lse1, *lse2;
    void *lse;
};

struct embedding {
    int64_t rows, hidden;
    const int32_t *tokens;
    int64_t start, count;
    struct elements table, y, dy, dtable;
    struct row_blocks blocks;
    int accumulate;
};

struct cross_entropy {
    int64_t rows, vocab, start;
    struct elements logits;
    const int32_t *targets;
    void *lse;
    double scale;
    struct elements dlogits;
};

/* One number per row of a part of the vocabulary. */
struct vocabulary_part {
    int64_t rows, vocab, start;
    int64_t block; /* of sum_exp */
    struct elements x;
    const void *shift;
    const int32_t *ids;
    void *y;
};

struct sum_rows {
    struct row_blocks rows;
    int64_t columns;
    struct elements x, y;
    int accumulate;
};

struct sum_columns {
    struct row_blocks of_row; /* the elements of one */
    struct elements x;
    void *y;
};

/* The array is cut into this many pieces whatever its length, so that the order of sums is fixed.
 */
enum { SQUARE_SUM_PIECES = 64 };

struct square_sum {
    int64_t count, piece;
    struct elements x;
    double partial[SQUARE_SUM_PIECES];
};

struct square_bins {
    int64_t count, piece;
    struct elements x;
    double bins[SQUARE_SUM_PIECES][PLACE_SQUARE_BINS];
};

struct compress {
    int way;
    int64_t kept, count, codes;
    int64_t block_words, code_words; /* of a whole block, and of one code */
    const void *g;
    void *residual, *sum;
    uint32_t *code; /* decompress: only read */
};

/* Sums and conversions, element by element. */
struct accumulate {
    struct elements target, source;
};

struct optimizer {
    struct elements p, m, v, g;
    struct elements rounded;       /* p again, in another type; or none */
    double clip;                   /* factor of g */
    double rate;                   /* of sgd, lion */
    double momentum;               /* of sgd_momentum */
    double weight_decay;           /* added to g; of adamw, lion: 1 - rate * decay, a factor of p */
    double beta1, beta2, epsilon;  /* of adamw, adam; the first two, of lion */
    double step_size, root_factor; /* of adamw, adam: rate / (1 - beta1^t), 1 / sqrt(1 - beta2^t) */
};
