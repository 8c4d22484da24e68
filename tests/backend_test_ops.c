// Every op that is arithmetic, in each type of its elements: the generated code against the interpreter.
#include "backend_harness.h"
#include "random.h"
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { N_WIDE = 2, N_TYPES = 4 };
static const enum dtype dtypes[N_TYPES] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16, DTYPE_F16};

static void for_type(enum dtype dtype, void (*build)(struct harness *), double scale) {
    struct harness h;
    harness_open(&h, dtype);
    build(&h);
    harness_ready(&h);
    harness_compare(&h, scale);
    harness_close(&h);
}

// Runs a test's body once per type, in a sample with one of them; `scale` is the tolerance.
static void for_types(void (*build)(struct harness *), double scale) {
    static int turn;
    int step = sample_every() > 1 ? N_TYPES : 1;
    for (int i = turn++ % step; i < N_TYPES; i += step)
        for_type(dtypes[i], build, scale);
}

// Likewise, where every value inside a loop is known as well as its result.
static void for_wide_types(void (*build)(struct harness *), double scale) {
    for (int i = 0; i < N_WIDE; i++)
        for_type(dtypes[i], build, scale);
}

// What is computed in, and what statistics have.
static enum dtype computed(const struct harness *h) {
    return h->dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

static value_id finish(struct harness *h, struct op *op) {
    value_id result = harness_infer(h, op);
    for (unsigned i = 0; i < op->n_results; i++)
        harness_output(h, op->results[i]);
    return result;
}

// ---- products ---------------------------------------------------------------------------------

static void einsum_for(struct harness *h, enum dtype result, const char *labels, value_id a,
                       value_id b) {
    struct op *op = OP(h, EINSUM, a, b);
    op_set_word(h->program->arena, op, ATTRIBUTE_LABELS, labels);
    h->unit->values[op->results[0]].type.dtype = result;
    finish(h, op);
}

static void einsum(struct harness *h, const char *labels, value_id a, value_id b) {
    einsum_for(h, h->dtype, labels, a, b);
}

static void build_projections(struct harness *h) { // all that models use, forward and backward
    value_id x = INPUT(h, 2, 5, 6), wq = INPUT(h, 6, 3, 2, 4), dq = INPUT(h, 2, 5, 3, 2, 4);
    value_id wo = INPUT(h, 3, 2, 4, 6);
    einsum(h, "bsh,hgrd->bsgrd", x, wq);
    einsum(h, "bsgrd,hgrd->bsh", dq, wq);
    einsum(h, "bsh,bsgrd->hgrd", x, dq);
    einsum(h, "bsgrd,grdh->bsh", dq, wo);
    einsum(h, "bsgrd,bsh->grdh", dq, x);
    einsum(h, "bsh,grdh->bsgrd", x, wo);
    einsum(h, "bsgrd,bsh->hgrd", dq, x); // operands exchanged
}

static void build_batched(struct harness *h) {
    value_id a = INPUT(h, 3, 4, 5), b = INPUT(h, 3, 6, 5);
    einsum(h, "gij,gkj->gik", a, b);
    einsum(h, "gij,gkj->gki", a, b);
}

// The input, whose dimensions are those that models mean by the letters.
static value_id named(struct harness *h, const char *letters, value_id input) {
    static const enum dimension dimensions[] = {
        ['b'] = DIM_BATCH,    ['s'] = DIM_SEQUENCE, ['h'] = DIM_HIDDEN,
        ['g'] = DIM_KV_HEADS, ['r'] = DIM_GROUP,    ['d'] = DIM_HEAD_DIM,
        ['p'] = DIM_PART,     ['f'] = DIM_FFN,      ['v'] = DIM_VOCAB};
    for (unsigned i = 0; letters[i]; i++)
        h->unit->values[input].type.dims[i].dimension = dimensions[(unsigned char)letters[i]];
    return input;
}

static void in_blocks(struct harness *h, const char *labels, const char *blocks, value_id a,
                      value_id b) {
    struct op *op = OP(h, EINSUM, a, b);
    op_set_word(h->program->arena, op, ATTRIBUTE_LABELS, labels);
    op_set_word(h->program->arena, op, ATTRIBUTE_BLOCKS, blocks);
    finish(h, op);
}

static void build_blocks(struct harness *h) { // of rows, columns, what is contracted, and of parts
    value_id x = named(h, "bsh", INPUT(h, 2, 5, 6)), wq = named(h, "hgrd", INPUT(h, 6, 4, 2, 3));
    value_id dq = named(h, "bsgrd", INPUT(h, 2, 5, 4, 2, 3));
    value_id w = named(h, "hpf", INPUT(h, 6, 3, 8)), d = named(h, "bspf", INPUT(h, 2, 5, 3, 8));
    in_blocks(h, "bsh,hgrd->bsgrd", "kv_heads=2", x, wq);
    in_blocks(h, "bsgrd,hgrd->bsh", "kv_heads=1 group=1", dq, wq);
    in_blocks(h, "bsgrd,bsh->hgrd", "kv_heads=1", dq, x);
    in_blocks(h, "bsgrd,bsh->grdh", "kv_heads=1 group=2", dq, x);
    in_blocks(h, "bsh,hpf->bspf", "ffn=2", x, w);
    in_blocks(h, "bspf,hpf->bsh", "ffn=2", d, w);
    in_blocks(h, "bsh,bspf->hpf", "hidden=3 ffn=4", x, d);
}

static void build_vocabulary_in_blocks(struct harness *h) {
    struct op *op = OP(h, SUM_EXP, named(h, "bsv", INPUT(h, 2, 5, 8)), INPUT(h, 2, 5));
    op_set_word(h->program->arena, op, ATTRIBUTE_BLOCKS, "vocab=2");
    finish(h, op);
}

static void build_vectors(struct harness *h) { // groups may be empty
    value_id a = INPUT(h, 5), b = INPUT(h, 7), c = INPUT(h, 5, 7);
    einsum(h, "i,j->ij", a, b);
    einsum(h, "ij,j->i", c, b);
}

// What no model needs and a person may write: labels of a group apart from one another, or in other
// orders; what is summed in one operand alone.
static void build_loops_around_products(struct harness *h) {
    value_id x = INPUT(h, 2, 3, 4), y = INPUT(h, 2, 5, 4), w = INPUT(h, 3, 2);
    einsum(h, "bsh,sb->h", x, w);
    einsum(h, "bsh,bth->hst", x, y);
    einsum(h, "bsh,sb->bhs", x, w);
    einsum(h, "bsh,ij->hb", x, w);
    einsum(h, "bsh,ctg->bctshg", x, y);
}

static void one_call_for_each_that_models_need(void **state) {
    struct harness h;
    harness_open(&h, DTYPE_F32);
    build_projections(&h);
    harness_ready(&h);
    harness_run(&h);
    struct flight_call calls[RECORDER_LENGTH];
    int n = recorder_read(&h.ranks.contexts[0].recorder, calls, RECORDER_LENGTH), products = 0;
    for (int i = 0; i < n; i++)
        products += calls[i].call == RECORDED_product;
    assert_int_equal(products, h.unit->n_ops);
    harness_close(&h);
}

static void put_label(char labels[MAX_RANK + 1], char label, uint64_t *random) {
    size_t n = strlen(labels), at = random_bits(random) % (n + 1);
    memmove(labels + at + 1, labels + at, n + 1 - at);
    labels[at] = label;
}

// Makes a product of up to six labels, each in some of the three tensors, in any order.
static void random_einsum(struct harness *h, uint64_t *random) {
    char labels[3][MAX_RANK + 1] = {""};
    int64_t size[6], sizes[2][MAX_RANK + 1] = {{0}};
    for (int i = 0; i < 6; i++) {
        size[i] = 1 + (int64_t)(random_bits(random) % 4);
        unsigned tensors = random_bits(random) % 8;
        for (int t = 0; t < 3; t++)
            if (tensors >> t & 1 && tensors != 4)
                put_label(labels[t], (char)('a' + i), random);
    }
    for (int t = 0; t < 2; t++)
        for (int i = 0; labels[t][i]; i++)
            sizes[t][i] = size[labels[t][i] - 'a'];
    if (!labels[0][0] || !labels[1][0] || !labels[2][0])
        return;
    const char *text = arena_format(&h->arena, "%s,%s->%s", labels[0], labels[1], labels[2]);
    value_id a = harness_input(h, h->dtype, sizes[0]);
    einsum_for(h, dtype_is_narrow(h->dtype) ? DTYPE_F32 : h->dtype, text, a,
               harness_input(h, h->dtype, sizes[1]));
}

static void any_einsum(void **state) {
    uint64_t random = 1;
    for (int i = 0; i < (sample_every() > 1 ? 8 : 40); i++) {
        struct harness h;
        harness_open(&h, dtypes[i % N_TYPES]);
        for (int k = 0; k < 8; k++)
            random_einsum(&h, &random);
        harness_ready(&h);
        harness_compare(&h, 20);
        harness_close(&h);
    }
}

static void products(void **state) {
    for_types(build_projections, 20);
    for_wide_types(build_loops_around_products, 20);
    for_types(build_batched, 20);
    for_types(build_vectors, 20);
}

// Gradients are kept in a type of their own: each of these in any other.
static void build_gradients(struct harness *h) {
    value_id x = INPUT(h, 2, 5, 6), dq = INPUT(h, 2, 5, 3, 2, 4);
    for (int i = 0; i < N_TYPES; i++) {
        einsum_for(h, dtypes[i], "bsh,bsgrd->hgrd", x, dq);
        einsum_for(h, dtypes[i], "bsgrd,bsh->grdh", dq, x);
    }
}

static void products_end_in_other_types(void **state) {
    for_types(build_gradients, 20);
}

static void products_in_blocks(void **state) {
    for_types(build_blocks, 20);
    for_wide_types(build_vocabulary_in_blocks, 20);
}

// A loop that goes on with a sum would round it in its midst.
static void refuses_sums_in_loops_that_are_rounded(void **state) {
    for (int i = 0; i < N_TYPES; i++) {
        struct harness h;
        harness_open(&h, dtypes[i]);
        value_id x = INPUT(&h, 2, 3, 4), w = INPUT(&h, 3, 2);
        einsum(&h, "bsh,sb->h", x, w);
        const char *why = backend_refusal(harness_backend(), &h.arena, h.program->job);
        assert_int_equal(why != NULL, dtype_is_narrow(dtypes[i]));
        arena_free(&h.arena);
    }
}

// Blocks of which some lie inside others, or apart, or that a loop around products would join.
static void refuses_blocks_that_do_not_lie_together(void **state) {
    static const struct {
        const char *w, *labels, *blocks;
    } cases[] = {{"grdh", "bsgrd,grdh->bsh", "kv_heads=2 group=1"},
                 {"grdh", "bsgrd,grdh->bsh", "kv_heads=1 head_dim=1"},
                 {"gdrh", "bsgrd,gdrh->bsh", "kv_heads=1"}};
    for (int i = 0; i < 3; i++) {
        struct harness h;
        harness_open(&h, DTYPE_F32);
        in_blocks(&h, cases[i].labels, cases[i].blocks,
                  named(&h, "bsgrd", INPUT(&h, 2, 3, 4, 2, 2)),
                  named(&h, cases[i].w, INPUT(&h, 4, 2, 2, 5)));
        assert_non_null(backend_refusal(harness_backend(), &h.arena, h.program->job));
        arena_free(&h.arena);
    }
}

// A slice of the vocabulary that comes from outside the unit is not known to the kernel's call.
static void refuses_rows_of_others(void **state) {
    struct harness h;
    harness_open(&h, DTYPE_F32);
    value_id table = INPUT(&h, 6, 8), rows = harness_input(&h, DTYPE_I32, SIZES(6));
    value_id ids = harness_input(&h, DTYPE_I32, SIZES(3));
    finish(&h, OP(&h, EMBEDDING, ids, table, rows));
    assert_non_null(backend_refusal(harness_backend(), &h.arena, h.program->job));
    arena_free(&h.arena);
}

static value_id product_of(struct harness *h, value_id a, value_id b) {
    struct op *op = OP(h, EINSUM, a, b);
    op_set_word(h->program->arena, op, ATTRIBUTE_LABELS, "ij,jk->ik");
    return harness_infer(h, op);
}

// Sums that a product adds itself to: beside biases and other terms, over one of them or not, and
// over one from which more than the sum is left to compute.
static void build_sums_around_products(struct harness *h) {
    value_id a = INPUT(h, 5, 3), b = INPUT(h, 3, 7), x = INPUT(h, 5, 7), y = INPUT(h, 5, 7);
    value_id bias = INPUT(h, 7), z = INPUT(h, 5, 7);
    finish(h, OP(h, ADD_BIAS, product_of(h, a, b), bias));
    value_id biased = harness_infer(h, OP(h, ADD_BIAS, product_of(h, a, b), bias));
    harness_inline(h, biased);
    finish(h, OP(h, ADD, x, biased));
    harness_update(h, harness_infer(h, OP(h, ADD, y, product_of(h, a, b))), y);
    value_id product = product_of(h, a, b), active = harness_infer(h, OP(h, SILU, z));
    harness_inline(h, active);
    harness_update(h, harness_infer(h, OP(h, ADD, product, active)), z);
}

// Sums that a product must not add itself to: they lie over what it reads, or its own result is
// read elsewhere, twice, or not as a term.
static void build_sums_apart_from_products(struct harness *h) {
    value_id a = INPUT(h, 6, 6), b = INPUT(h, 6, 6), x = INPUT(h, 6, 6), bias = INPUT(h, 6);
    harness_update(h, harness_infer(h, OP(h, ADD, a, product_of(h, a, x))), a);
    value_id twice = product_of(h, b, x);
    finish(h, OP(h, ADD, twice, twice));
    value_id seen = product_of(h, b, x);
    finish(h, OP(h, ADD_BIAS, seen, bias));
    harness_output(h, seen);
    finish(h, OP(h, MUL, product_of(h, b, x), x));
    value_id row = harness_infer(h, OP(h, SILU, product_of(h, b, x)));
    harness_inline(h, row);
    finish(h, OP(h, ADD, row, x));
}

static void sums_around_products(void **state) {
    for_types(build_sums_around_products, 20);
    for_types(build_sums_apart_from_products, 20);
}

// Two products, of which one adds itself to its bias; in that order where sums keep theirs.
static void rest_of_a_sum_comes_first(void **state) {
    for (int reproducible = 0; reproducible < 2; reproducible++) {
        struct harness h;
        harness_open(&h, DTYPE_F32);
        h.program->job->policy.reproducible = reproducible;
        value_id a = INPUT(&h, 5, 3), b = INPUT(&h, 3, 7), bias = INPUT(&h, 7);
        finish(&h, OP(&h, ADD_BIAS, product_of(&h, a, b), bias));
        harness_ready(&h);
        harness_run(&h);
        struct flight_call calls[RECORDER_LENGTH];
        int n = recorder_read(&h.ranks.contexts[0].recorder, calls, RECORDER_LENGTH);
        assert_true(n >= 2);
        assert_int_equal(calls[n - 1].call, reproducible ? RECORDED_parallel : RECORDED_product);
        assert_int_equal(calls[n - 2].call,
                         reproducible ? RECORDED_product_blocks : RECORDED_parallel);
        harness_close(&h);
    }
}

// ---- elementwise ------------------------------------------------------------------------------

static void build_elementwise(struct harness *h) {
    value_id x = INPUT(h, 3, 5, 7), y = INPUT(h, 3, 5, 7), bias = INPUT(h, 5, 7);
    value_id factor = harness_input(h, DTYPE_F64, SIZES());
    finish(h, OP(h, ADD, x, y));
    finish(h, OP(h, MUL, x, y));
    finish(h, OP(h, ADD_BIAS, x, bias));
    finish(h, OP(h, SCALE, x, factor));
    finish(h, OP(h, SILU, x));
    finish(h, OP(h, SILU_BACKWARD, x, y));
    finish(h, OP(h, ACCUMULATE, x, y));
    for (int i = 0; i < 2; i++) {
        const char *words[] = {"tanh", "erf"};
        struct op *op = OP(h, GELU, x);
        op_set_word(h->program->arena, op, ATTRIBUTE_APPROXIMATE, words[i]);
        finish(h, op);
        op = OP(h, GELU_BACKWARD, x, y);
        op_set_word(h->program->arena, op, ATTRIBUTE_APPROXIMATE, words[i]);
        finish(h, op);
    }
}

static void build_casts(struct harness *h) {
    value_id x = INPUT(h, 33);
    for (int i = 0; i < N_TYPES; i++) {
        struct op *op = OP(h, CAST, x);
        h->unit->values[op->results[0]].type.dtype = dtypes[i];
        finish(h, op);
    }
}

static void build_large(struct harness *h) { // several ranges for the team, with a tail
    value_id x = INPUT(h, 100, 377), y = INPUT(h, 100, 377), bias = INPUT(h, 377);
    value_id biased = harness_infer(h, OP(h, ADD_BIAS, x, bias));
    harness_inline(h, biased);
    finish(h, OP(h, MUL, biased, y));
    finish(h, OP(h, ADD, x, y));
}

static void build_quotients(struct harness *h) {
    value_id x = INPUT(h, 3, 37);
    struct op *third = OP(h, DIVIDE, x);
    op_set_integer(h->program->arena, third, ATTRIBUTE_DIVISOR, 3);
    finish(h, third);
    struct op *sum = OP(h, WEIGHTED_SUM, x, INPUT(h, 3, 37));
    op_set_real(h->program->arena, sum, ATTRIBUTE_WEIGHT_A, 0.7);
    op_set_real(h->program->arena, sum, ATTRIBUTE_WEIGHT_B, -1.3);
    finish(h, sum);
}

static void elementwise(void **state) {
    for_types(build_elementwise, 10);
    for_types(build_casts, 1);
    for_types(build_quotients, 1);
    for_wide_types(build_large, 1);
}

static value_id dropout(struct harness *h, const value_id *operands, double probability, int site) {
    struct op *op = harness_op(h, OP_DROPOUT, operands, 6);
    op_set_real(h->program->arena, op, ATTRIBUTE_PROBABILITY, probability);
    op_set_integer(h->program->arena, op, ATTRIBUTE_SITE, site);
    return harness_infer(h, op);
}

// Alone, twice in a chain with biases of both widths, and where positions and columns are data. The
// same numbers must be drawn as the interpreter draws, else elements are 0 in one of the two only.
static void dropouts(void **state) {
    for (int i = 0; i < 4; i++) {
        struct harness h;
        harness_open(&h, dtypes[i % 2]);
        bool evaluates = i >= 2;
        value_id x = INPUT(&h, 3, 4, 21), row = INPUT(&h, 21), plane = INPUT(&h, 4, 21);
        value_id samples = harness_input(&h, DTYPE_I32, SIZES(3));
        value_id places = harness_input(&h, DTYPE_I32, SIZES(4));
        value_id numbers = harness_input(&h, DTYPE_I32, SIZES(21));
        value_id layer = harness_input(&h, DTYPE_F64, SIZES());
        value_id key = harness_input(&h, DTYPE_F64, SIZES());
        value_id positions = harness_iota(&h, 4), columns = harness_iota(&h, 21);
        harness_output(
            &h, dropout(&h, (value_id[]){x, samples, positions, columns, layer, key}, 0.3, 1));
        harness_output(&h,
                       dropout(&h, (value_id[]){x, samples, places, numbers, layer, key}, 0.3, 1));
        value_id biased = harness_infer(&h, OP(&h, ADD_BIAS, x, row));
        value_id once =
            dropout(&h, (value_id[]){biased, samples, places, columns, layer, key}, 0.5, 0);
        value_id both = harness_infer(&h, OP(&h, ADD_BIAS, once, plane));
        value_id twice =
            dropout(&h, (value_id[]){both, samples, positions, columns, layer, key}, 0.1, 2);
        value_id inline_values[] = {biased, once, both, twice};
        for (int k = 0; k < 4; k++)
            harness_inline(&h, inline_values[k]);
        finish(&h, OP(&h, ADD, twice, x));
        harness_ready(&h);
        for (int k = 0; k < 21; k++) {
            set(&h, numbers, k, 1000003 * k % 8191);
            if (k < 4)
                set(&h, places, k, 7 - 2 * k);
            if (k < 3)
                set(&h, samples, k, 5 + 1000 * k);
        }
        set(&h, layer, 0, 11);
        set(&h, key, 0, evaluates ? 0 : 0x1p52 + 12345);
        harness_compare(&h, 2);
        harness_close(&h);
    }
}

// A chain with two biases, a scalar that is computed inline, and a value used twice; in place.
static void build_chain(struct harness *h) {
    value_id x = INPUT(h, 4, 3, 8), y = INPUT(h, 4, 3, 8), row = INPUT(h, 8),
             plane = INPUT(h, 3, 8);
    value_id a = harness_input(h, DTYPE_F64, SIZES()), b = harness_input(h, DTYPE_F64, SIZES());
    value_id factor = harness_infer(h, OP(h, MUL, a, b));
    value_id biased = harness_infer(h, OP(h, ADD_BIAS, x, row));
    value_id both = harness_infer(h, OP(h, ADD_BIAS, biased, plane));
    struct op *gelu = OP(h, GELU, both);
    op_set_word(h->program->arena, gelu, ATTRIBUTE_APPROXIMATE, "tanh");
    value_id active = harness_infer(h, gelu);
    value_id scaled = harness_infer(h, OP(h, SCALE, active, factor));
    value_id sum = harness_infer(h, OP(h, ACCUMULATE, y, scaled));
    value_id inline_values[] = {factor, biased, both, active, scaled};
    for (int i = 0; i < 5; i++)
        harness_inline(h, inline_values[i]);
    harness_update(h, sum, y);
}

static void chains(void **state) {
    for_wide_types(build_chain, 10);
}

static struct op *part(struct harness *h, enum op_kind kind, int64_t number, int64_t keep,
                       const value_id *operands) {
    struct op *op = harness_op(h, kind, operands, op_operand_count(kind));
    op_set_integer(h->program->arena, op, kind == OP_MOVE ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX,
                   number);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, keep);
    return op;
}
#define PART(h, kind, number, keep, ...)                                                           \
    part(h, OP_##kind, number, keep, (const value_id[]){__VA_ARGS__})

static void build_parts(struct harness *h) {
    value_id x = INPUT(h, 2, 3, 5, 4), y = INPUT(h, 2, 3, 4), some = INPUT(h, 2, 3, 2, 4);
    value_id parts = harness_iota(h, 5), two = harness_iota(h, 2);
    for (int64_t index = 0; index < 6; index++) { // the last is none
        finish(h, PART(h, TAKE, index, 1, x, parts));
        finish(h, PART(h, PUT, index, 1, y, parts));
    }
    for (int64_t shift = -2; shift < 6; shift++) { // also where only some places have a partner
        finish(h, PART(h, MOVE, shift, 1, x, parts, two));
        finish(h, PART(h, MOVE, -shift, 1, some, two, parts));
    }
    finish(h, PART(h, TAKE, 1, 0, y, harness_iota(h, 4)));
    finish(h, PART(h, PUT, 2, 3, x, harness_iota(h, 3)));
}

// A fused product's bias, gate and up, all in one loop; and its gradient, each part once.
static void build_taken_apart(struct harness *h) {
    value_id x = INPUT(h, 3, 7, 2, 20), bias = INPUT(h, 2, 20), dy = INPUT(h, 3, 7, 20);
    value_id parts = harness_iota(h, 2);
    value_id biased = harness_infer(h, OP(h, ADD_BIAS, x, bias));
    value_id gate = harness_infer(h, PART(h, TAKE, 0, 1, biased, parts));
    value_id up = harness_infer(h, PART(h, TAKE, 1, 1, biased, parts));
    value_id opened = harness_infer(h, OP(h, SILU, gate));
    finish(h, OP(h, MUL, opened, up));
    value_id d_opened = harness_infer(h, OP(h, MUL, dy, up));
    value_id d_gate = harness_infer(h, OP(h, SILU_BACKWARD, gate, d_opened));
    value_id d_up = harness_infer(h, OP(h, MUL, dy, opened));
    value_id put_gate = harness_infer(h, PART(h, PUT, 0, 1, d_gate, parts));
    value_id put_up = harness_infer(h, PART(h, PUT, 1, 1, d_up, parts));
    finish(h, OP(h, ADD, put_up, put_gate));
    value_id inline_values[] = {biased, gate, up, opened, d_opened, d_gate, d_up, put_gate, put_up};
    for (int i = 0; i < 9; i++)
        harness_inline(h, inline_values[i]);
}

// Queries of a group, its key and its value: more parts than branches.
static void build_put_together(struct harness *h) {
    value_id q = INPUT(h, 2, 3, 4, 8), k = INPUT(h, 2, 3, 8), v = INPUT(h, 2, 3, 8);
    value_id w = INPUT(h, 2, 3, 8), parts = harness_iota(h, 7), queries = harness_iota(h, 4);
    value_id all[] = {harness_infer(h, PART(h, MOVE, 0, 1, q, queries, parts)),
                      harness_infer(h, PART(h, PUT, 4, 1, k, parts)),
                      harness_infer(h, PART(h, PUT, 5, 1, v, parts)),
                      harness_infer(h, PART(h, PUT, 6, 1, w, parts))};
    value_id sum = all[0];
    for (int i = 1; i < 4; i++) {
        harness_inline(h, sum);
        harness_inline(h, all[i]);
        sum = harness_infer(h, OP(h, ADD, sum, all[i]));
    }
    harness_output(h, sum);
}

static void parts_of_dimensions(void **state) {
    for_types(build_parts, 1);
    for_wide_types(build_taken_apart, 10);
    for_types(build_put_together, 1);
}

// An element's bits depend on its value alone, not on where it stands: body, tail, or range.
static void bits_do_not_depend_on_position(void **state) {
    for (int t = 0; t < N_TYPES; t++)
        for (int64_t n = 1; n<40; n += sample_every()> 1 ? 11 : 3) {
            struct harness h;
            harness_open(&h, dtypes[t]);
            value_id x = INPUT(&h, n), y = INPUT(&h, n);
            struct op *gelu = OP(&h, GELU, x);
            op_set_word(h.program->arena, gelu, ATTRIBUTE_APPROXIMATE, "erf");
            value_id active = harness_infer(&h, gelu);
            harness_inline(&h, active);
            value_id silu = harness_infer(&h, OP(&h, SILU_BACKWARD, active, y));
            harness_inline(&h, silu);
            value_id sum = finish(&h, OP(&h, ADD, silu, x));
            harness_ready(&h);
            for (int64_t i = 0; i < n; i++) {
                set(&h, x, i, 0.1 + 1.0 / 3);
                set(&h, y, i, -1.7);
            }
            harness_run(&h);
            for (int64_t i = 1; i < n; i++)
                assert_true(get(&h, sum, i) == get(&h, sum, 0));
            harness_close(&h);
        }
}

// ---- kernels ----------------------------------------------------------------------------------

static void build_norms(struct harness *h) {
    value_id x = INPUT(h, 2, 3, 10), gain = INPUT(h, 10), bias = INPUT(h, 10);
    value_id dy = INPUT(h, 2, 3, 10);
    struct op *op = OP(h, LAYER_NORM, x, gain, bias);
    op_set_real(h->program->arena, op, ATTRIBUTE_EPS, 1e-5);
    value_id mean = (finish(h, op), op->results[1]), rstd = op->results[2];
    finish(h, OP(h, LAYER_NORM_BACKWARD, x, gain, mean, rstd, dy));
    op = OP(h, RMS_NORM, x, gain);
    op_set_real(h->program->arena, op, ATTRIBUTE_EPS, 1e-6);
    rstd = (finish(h, op), op->results[1]);
    finish(h, OP(h, RMS_NORM_BACKWARD, x, gain, rstd, dy));
}

static void build_sums(struct harness *h) {
    value_id x = INPUT(h, 2, 3, 4, 5);
    struct op *op = OP(h, SUM_ROWS, x);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 2);
    finish(h, op);
    finish(h, OP(h, SQUARE_SUM, x));
    value_id bins = finish(h, OP(h, SQUARE_BINS, x, harness_iota(h, LIMIT_SQUARE_BINS)));
    finish(h, OP(h, BIN_SUM, bins));
}

static void build_rope(struct harness *h) {
    value_id x = INPUT(h, 2, 6, 3, 8), positions = harness_iota(h, 6);
    for (int i = 0; i < 4; i++) {
        struct op *op =
            harness_op(h, i % 2 ? OP_ROPE_BACKWARD : OP_ROPE, (const value_id[]){x, positions}, 2);
        op_set_real(h->program->arena, op, ATTRIBUTE_THETA, 10000);
        if (i >= 2) {
            op_set_real(h->program->arena, op, ATTRIBUTE_ROPE_FACTOR, 8);
            op_set_real(h->program->arena, op, ATTRIBUTE_ROPE_LOW, 1);
            op_set_real(h->program->arena, op, ATTRIBUTE_ROPE_HIGH, 4);
            op_set_integer(h->program->arena, op, ATTRIBUTE_ROPE_ORIGINAL, 16);
        }
        finish(h, op);
    }
}

static void build_attention(struct harness *h) {
    value_id q = INPUT(h, 2, 5, 3, 2, 4), k = INPUT(h, 2, 5, 3, 4), v = INPUT(h, 2, 5, 3, 4);
    value_id other = INPUT(h, 2, 5, 3, 2, 4);
    value_id other_lse = harness_input(h, computed(h), SIZES(2, 5, 3, 2));
    value_id d_o = INPUT(h, 2, 5, 3, 2, 4), positions = harness_iota(h, 5);
    struct op *op = OP(h, ATTENTION, q, k, v, positions, positions);
    op_set_real(h->program->arena, op, ATTRIBUTE_SCALE, 0.5);
    value_id o = finish(h, op), lse = op->results[1];
    op = OP(h, ATTENTION_BACKWARD, q, k, v, o, lse, d_o, positions, positions);
    op_set_real(h->program->arena, op, ATTRIBUTE_SCALE, 0.5);
    finish(h, op);
    finish(h, OP(h, ATTENTION_MERGE, o, lse, other, other_lse));
}

// Positions that are data, as of keys that came from another device.
static void positions_in_memory(void **state) {
    for (int i = 0; i < N_TYPES; i++) {
        struct harness h;
        harness_open(&h, dtypes[i]);
        value_id q = INPUT(&h, 2, 6, 3, 2, 4), k = INPUT(&h, 2, 4, 3, 4), v = INPUT(&h, 2, 4, 3, 4);
        value_id own = harness_input(&h, DTYPE_I32, SIZES(6));
        value_id others = harness_input(&h, DTYPE_I32, SIZES(4)), d_o = INPUT(&h, 2, 6, 3, 2, 4);
        struct op *op = OP(&h, ROPE, q, own);
        op_set_real(h.program->arena, op, ATTRIBUTE_THETA, 10000);
        finish(&h, op);
        op = OP(&h, ATTENTION, q, k, v, own, others);
        op_set_real(h.program->arena, op, ATTRIBUTE_SCALE, 0.5);
        value_id o = finish(&h, op), lse = op->results[1];
        op = OP(&h, ATTENTION_BACKWARD, q, k, v, o, lse, d_o, own, others);
        op_set_real(h.program->arena, op, ATTRIBUTE_SCALE, 0.5);
        finish(&h, op);
        harness_ready(&h);
        static const int positions[] = {4, 5, 6, 13, 14, 15, 2, 3, 11, 12};
        for (int p = 0; p < 10; p++)
            set(&h, p < 6 ? own : others, p < 6 ? p : p - 6, positions[p]);
        harness_compare(&h, harness_attention_scale(h.dtype));
        harness_close(&h);
    }
}

static void kernels(void **state) {
    for_types(build_norms, 100);
    for_types(build_sums, 10);
    for_types(build_rope, 10);
    for (int i = 0; i < N_TYPES; i++)
        for_type(dtypes[i], build_attention, harness_attention_scale(dtypes[i]));
}

static void ends_of_the_model(void **state) {
    for (int i = 0; i < N_TYPES; i++) {
        struct harness h;
        harness_open(&h, dtypes[i]);
        value_id ids = harness_input(&h, DTYPE_I32, SIZES(2, 3)), table = INPUT(&h, 7, 4);
        value_id dy = INPUT(&h, 2, 3, 4), logits = INPUT(&h, 2, 3, 7);
        value_id scale = harness_input(&h, DTYPE_F64, SIZES()), rows = harness_iota(&h, 7);
        finish(&h, OP(&h, EMBEDDING, ids, table, rows));
        finish(&h, OP(&h, EMBEDDING_BACKWARD, ids, dy, rows));
        struct op *op = OP(&h, CROSS_ENTROPY, logits, ids, rows);
        value_id lse = (finish(&h, op), op->results[1]);
        finish(&h, OP(&h, CROSS_ENTROPY_BACKWARD, logits, ids, lse, rows, scale));
        finish(&h, OP(&h, COUNT_TOKENS, ids));
        value_id greatest = finish(&h, OP(&h, ROW_MAX, logits));
        value_id sum = finish(&h, OP(&h, SUM_EXP, logits, greatest));
        value_id shifted = finish(&h, OP(&h, LOG_SHIFT, sum, greatest));
        value_id picked = finish(&h, OP(&h, PICK, logits, ids, rows));
        finish(&h, OP(&h, TOKEN_LOSS, shifted, picked, ids));
        harness_ready(&h);
        const int tokens[] = {3, 0, 6, 3, -1, 1};
        for (int k = 0; k < 6; k++)
            set(&h, ids, k, tokens[k]);
        harness_compare(&h, 20);
        harness_close(&h);
    }
}

// An iota that is data: the numbers themselves are wanted in memory.
static void positions_as_tokens(void **state) {
    struct harness h;
    harness_open(&h, DTYPE_F64);
    value_id table = INPUT(&h, 9, 4), ids = harness_iota(&h, 5), rows = harness_iota(&h, 9);
    h.unit->values[ids].storage = STORAGE_UNPLANNED; // the harness puts it into the frame
    finish(&h, OP(&h, EMBEDDING, ids, table, rows));
    harness_ready(&h);
    harness_compare(&h, 1);
    harness_close(&h);
}

// ---- scalars, updates -------------------------------------------------------------------------

static void scalars(void **state) {
    struct harness h;
    harness_open(&h, DTYPE_F64);
    value_id x = harness_input(&h, DTYPE_F64, SIZES()), t = harness_input(&h, DTYPE_F64, SIZES());
    finish(&h, OP(&h, RECIPROCAL, x));
    finish(&h, OP(&h, SQUARE_ROOT, x));
    finish(&h, OP(&h, MUL, x, t));
    finish(&h, OP(&h, CLIP_FACTOR, x));
    struct op *op = OP(&h, CLIP_FACTOR, x);
    op_set_real(h.program->arena, op, ATTRIBUTE_MAX_NORM, 0.5);
    finish(&h, op);
    for (int i = 0; i < N_RATES; i++) {
        op = OP(&h, LEARNING_RATE, t);
        op_set_word(h.program->arena, op, ATTRIBUTE_RATE, rate_names[i]);
        op_set_real(h.program->arena, op, ATTRIBUTE_BASE, 3e-4);
        op_set_real(h.program->arena, op, ATTRIBUTE_MINIMUM, 3e-5);
        op_set_integer(h.program->arena, op, ATTRIBUTE_WARMUP, 4);
        op_set_integer(h.program->arena, op, ATTRIBUTE_STEPS, 20);
        op_set_integer(h.program->arena, op, ATTRIBUTE_DECAY, 14);
        finish(&h, op);
    }
    harness_ready(&h);
    set(&h, x, 0, 1.75);
    set(&h, t, 0, 9);
    harness_compare(&h, 1);
    harness_close(&h);
}

static void set_adamw(struct harness *h, struct op *op) {
    op_set_real(h->program->arena, op, ATTRIBUTE_BETA1, 0.9);
    op_set_real(h->program->arena, op, ATTRIBUTE_BETA2, 0.95);
    op_set_real(h->program->arena, op, ATTRIBUTE_EPS, 1e-8);
    op_set_real(h->program->arena, op, ATTRIBUTE_WEIGHT_DECAY, 0.1);
}

// In place and elsewhere: where the results have own places the states are copied first.
static void updates(void **state) {
    for (int i = 0; i < 2 * N_TYPES; i++) {
        struct harness h;
        harness_open(&h, dtypes[i % N_TYPES]);
        value_id p = INPUT(&h, 5, 7), m = INPUT(&h, 5, 7), v = INPUT(&h, 5, 7), g = INPUT(&h, 5, 7);
        value_id q = INPUT(&h, 5, 7), b = INPUT(&h, 5, 7), w = INPUT(&h, 5, 7);
        value_id x = INPUT(&h, 5, 7), y = INPUT(&h, 5, 7), z = INPUT(&h, 5, 7);
        value_id c = INPUT(&h, 5, 7), d = INPUT(&h, 5, 7);
        value_id s[3]; // lr, clip, t
        for (int k = 0; k < 3; k++)
            s[k] = harness_input(&h, DTYPE_F64, SIZES());
        struct op *adamw = OP(&h, ADAMW, p, m, v, g, s[0], s[1], s[2]);
        set_adamw(&h, adamw);
        struct op *momentum = OP(&h, SGD_MOMENTUM, q, b, g, s[0], s[1], s[2]);
        adamw = &h.unit->ops[0];
        op_set_real(h.program->arena, momentum, ATTRIBUTE_MOMENTUM, 0.9);
        op_set_real(h.program->arena, momentum, ATTRIBUTE_WEIGHT_DECAY, 0.1);
        struct op *sgd = OP(&h, SGD, w, g, s[0], s[1]);
        op_set_real(h.program->arena, sgd, ATTRIBUTE_WEIGHT_DECAY, 0.1);
        set_adamw(&h, OP(&h, ADAM, x, y, z, g, s[0], s[1], s[2]));
        struct op *lion = OP(&h, LION, c, d, g, s[0], s[1]);
        op_set_real(h.program->arena, lion, ATTRIBUTE_BETA2, 0.95);
        op_set_real(h.program->arena, lion, ATTRIBUTE_WEIGHT_DECAY, 0.1);
        op_set_real(h.program->arena, lion, ATTRIBUTE_BETA1, 0.9);
        value_id parameters[] = {p, m, v, q, b, w, x, y, z, c, d};
        for (unsigned k = 0, n = 0; k < 5; k++)
            for (unsigned r = 0; r < h.unit->ops[k].n_results; r++, n++) {
                if (r == 0)
                    harness_infer(&h, &h.unit->ops[k]);
                if (i < N_TYPES)
                    harness_update(&h, h.unit->ops[k].results[r], parameters[n]);
                else
                    harness_output(&h, h.unit->ops[k].results[r]);
            }
        harness_ready(&h);
        for (int64_t k = 0; k < count(&h, v); k++)
            for (int n = 0; n < 2; n++) // a second moment is not negative
                set(&h, n ? z : v, k, 0.25 + get(&h, n ? z : v, k) * 0.125);
        set(&h, s[0], 0, 0.01);
        set(&h, s[1], 0, 0.75);
        set(&h, s[2], 0, 3);
        harness_compare(&h, 10);
        harness_close(&h);
    }
}

// ---- accumulation by the kernel ---------------------------------------------------------------

// Large enough that product libraries sum rows some at a time.
enum { N_ADDED = 6, ROWS = 600, X = 48, Y = 64, ENTRIES = 5 };

// A gradient of every kernel that can add to a sum, and the sums.
static void build_terms(struct harness *h, value_id terms[N_ADDED], value_id sums[N_ADDED]) {
    value_id x = INPUT(h, 2, ROWS, X), dy = INPUT(h, 2, ROWS, Y), w = INPUT(h, X, Y);
    value_id b = INPUT(h, Y), gain = INPUT(h, X), mean = INPUT(h, 2, ROWS);
    value_id rstd = INPUT(h, 2, ROWS), dn = INPUT(h, 2, ROWS, X), dgain = INPUT(h, X);
    value_id dbias = INPUT(h, X), dgain2 = INPUT(h, X), table = INPUT(h, ENTRIES, Y);
    value_id ids = harness_input(h, DTYPE_I32, SIZES(2, ROWS)), rows = harness_iota(h, ENTRIES);
    struct op *op = OP(h, EINSUM, x, dy);
    op_set_word(h->program->arena, op, ATTRIBUTE_LABELS, "bsh,bsf->hf");
    memcpy(sums, (value_id[]){w, b, dgain, dbias, dgain2, table}, N_ADDED * sizeof *sums);
    terms[0] = harness_infer(h, op);
    op = OP(h, SUM_ROWS, dy);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 1);
    terms[1] = harness_infer(h, op);
    op = OP(h, LAYER_NORM_BACKWARD, x, gain, mean, rstd, dn);
    harness_output(h, harness_infer(h, op));
    terms[2] = op->results[1];
    terms[3] = op->results[2];
    op = OP(h, RMS_NORM_BACKWARD, x, gain, rstd, dn);
    harness_output(h, harness_infer(h, op));
    terms[4] = op->results[1];
    terms[5] = harness_infer(h, OP(h, EMBEDDING_BACKWARD, ids, dy, rows));
}

// The kernel adds when the gradient is inline.
static void build_accumulation(struct harness *h) {
    value_id terms[N_ADDED], sums[N_ADDED];
    build_terms(h, terms, sums);
    for (int i = 0; i < N_ADDED; i++) {
        harness_inline(h, terms[i]);
        harness_update(h, harness_infer(h, OP(h, ACCUMULATE, sums[i], terms[i])), sums[i]);
    }
}

static void accumulation(void **state) {
    for_wide_types(build_accumulation, 1000);
}

// By kernels and behind them, in place and elsewhere. The first of two microbatches finds no number.
static void pairs_of_microbatches(void **state) {
    for (int i = 0; i < 16; i++) {
        struct harness h;
        value_id terms[N_ADDED], sums[N_ADDED];
        int microbatch = i / 2 % 2;
        harness_open(&h, dtypes[i % 2]);
        value_id number = harness_input(&h, DTYPE_F64, SIZES());
        build_terms(&h, terms, sums);
        for (int k = 0; k < N_ADDED; k++) {
            bool in_place = i / 4 % 2, by_kernel = i / 8 && k > 0;
            if (by_kernel)
                harness_inline(&h, terms[k]);
            value_id total = harness_infer(&h, OP(&h, ACCUMULATE_PAIR, sums[k], terms[k], number));
            if (in_place)
                harness_update(&h, total, sums[k]);
            else
                harness_output(&h, total);
        }
        harness_ready(&h);
        set(&h, number, 0, 6 + microbatch);
        for (int k = 0; k < N_ADDED && !microbatch; k++)
            for (int64_t at = 0; at < count(&h, sums[k]); at++)
                set(&h, sums[k], at, NAN);
        harness_compare(&h, 1000);
        harness_close(&h);
    }
}

// Where sums have one order, to the bit what a sum behind the kernel would be.
static void pairs_are_added_as_one(void **state) {
    for (int i = 0; i < 2; i++) {
        struct harness h[2];
        value_id terms[N_ADDED], sums[N_ADDED], totals[2][N_ADDED];
        for (int by_kernel = 0; by_kernel < 2; by_kernel++) {
            struct harness *made = &h[by_kernel];
            harness_open(made, dtypes[i]);
            made->program->job->policy.reproducible = 8;
            value_id number = harness_input(made, DTYPE_F64, SIZES());
            build_terms(made, terms, sums);
            for (int k = 0; k < N_ADDED; k++) {
                if (by_kernel)
                    harness_inline(made, terms[k]);
                struct op *op = OP(made, ACCUMULATE_PAIR, sums[k], terms[k], number);
                totals[by_kernel][k] = harness_infer(made, op);
                harness_update(made, totals[by_kernel][k], sums[k]);
            }
            harness_ready(made);
            set(made, number, 0, 7);
            harness_run(made);
        }
        for (int k = 0; k < N_ADDED; k++)
            for (int64_t at = 0; at < count(&h[0], sums[k]); at++)
                assert_true(get(&h[0], totals[0][k], at) == get(&h[1], totals[1][k], at));
        harness_close(&h[0]);
        harness_close(&h[1]);
    }
}

// ---- compressed gradients ---------------------------------------------------------------------

static const struct wire ways[] = {
    {WIRE_SIGN, 0}, {WIRE_INT8, 0}, {WIRE_TOPK, 5}, {WIRE_TOPK, 256}};
enum { N_WAYS = sizeof ways / sizeof *ways, CODED = 3 * 257 }; // three blocks and a short one

static struct op *coded(struct harness *h, struct op *op, struct wire wire) {
    op_set_word(h->program->arena, op, ATTRIBUTE_WAY, wire_way_names[wire.way]);
    if (wire.way == WIRE_TOPK)
        op_set_integer(h->program->arena, op, ATTRIBUTE_KEPT, wire.kept);
    return op;
}

// A gradient of zeros but for its first block, where magnitudes are equal; then random ones.
static void codes(void **state) {
    for (int i = 0; i < 4 * N_WAYS; i++) {
        struct harness h;
        struct wire wire = ways[i / 4];
        harness_open(&h, dtypes[i % 2]);
        value_id g = INPUT(&h, 3, 257), residual = INPUT(&h, 3, 257), like = INPUT(&h, 3, 257);
        struct op *op = coded(&h, OP(&h, COMPRESS, g, residual), wire);
        harness_infer(&h, op);
        value_id code = op->results[0];
        assert_int_equal(count(&h, code), wire_words(wire, CODED));
        harness_output(&h, code);
        harness_update(&h, op->results[1], residual);
        finish(&h, coded(&h, OP(&h, DECOMPRESS, code, like), wire));
        harness_ready(&h);
        for (int k = 0; k < CODED && i / 2 % 2; k++) {
            set(&h, g, k, k < 256 ? k % 3 - 1 : 0);
            set(&h, residual, k, 0);
        }
        harness_compare(&h, 4);
        harness_close(&h);
    }
}

// The codes of three devices are added in their order.
static void codes_are_added(void **state) {
    for (int i = 0; i < 2 * N_WAYS; i++) {
        struct harness h;
        struct wire wire = ways[i / 2];
        harness_open(&h, dtypes[i % 2]);
        int64_t words = wire_words(wire, CODED);
        value_id codes = harness_input(&h, DTYPE_I32, SIZES(3 * words)), like = INPUT(&h, 3, 257);
        finish(&h, coded(&h, OP(&h, DECOMPRESS, codes, like), wire));
        harness_ready(&h);
        struct op made = {.kind = OP_COMPRESS, .n_operands = 2, .n_results = 2};
        struct tensor_type whole = {.dtype = DTYPE_F64, .rank = 1, .dims = {{DIM_FLAT, CODED}}};
        struct tensor_type code = {.dtype = DTYPE_I32, .rank = 1, .dims = {{DIM_FLAT, words}}};
        coded(&h, &made, wire);
        for (int device = 0; device < 3; device++) {
            struct array given[2] = {array_new(&h.arena, whole), array_new(&h.arena, whole)};
            struct array results[2] = {array_new(&h.arena, code), array_new(&h.arena, whole)};
            for (int k = 0; k < CODED; k++)
                given[0].data[k] = sin(k * (device + 1));
            interpret_op(&made, given, results);
            for (int64_t k = 0; k < words; k++)
                set(&h, codes, device * words + k, results[0].data[k]);
        }
        harness_compare(&h, 4);
        harness_close(&h);
    }
}

// What is no number, or none that can travel, is not made one: the run ends where it is seen.
static void codes_of_no_numbers_are_none(void **state) {
    for (int i = 0; i < 4 * N_WAYS; i++) {
        struct harness h;
        harness_open(&h, dtypes[i % 2]);
        value_id g = INPUT(&h, 300), residual = INPUT(&h, 300), like = INPUT(&h, 300);
        struct op *op = coded(&h, OP(&h, COMPRESS, g, residual), ways[i / 4]);
        harness_infer(&h, op);
        harness_output(&h, op->results[0]);
        harness_update(&h, op->results[1], residual);
        struct op *sum = coded(&h, OP(&h, DECOMPRESS, op->results[0], like), ways[i / 4]);
        finish(&h, sum);
        harness_ready(&h);
        set(&h, g, 7, i / 2 % 2 ? INFINITY : NAN);
        harness_run(&h);
        assert_false(isfinite(get(&h, sum->results[0], 7)));
        assert_true(isfinite(get(&h, sum->results[0], 270))); // of the next block
        harness_close(&h);
    }
}

// In and out of place; of a microbatch whose lower bits, and whose bit, are ones or not.
static void carries(void **state) {
    for (int i = 0; i<N_TYPES * 8 * 3; i += sample_every()> 1 ? 11 : 1) {
        struct harness h;
        harness_open(&h, dtypes[i % N_TYPES]);
        value_id kept = INPUT(&h, 3, 257), sum = INPUT(&h, 3, 257);
        value_id microbatch = harness_input(&h, DTYPE_F64, SIZES());
        struct op *op = OP(&h, CARRY, kept, sum, microbatch);
        op_set_integer(h.program->arena, op, ATTRIBUTE_LEVEL, i / (8 * N_TYPES));
        harness_infer(&h, op);
        harness_update(&h, op->results[0], kept);
        harness_output(&h, op->results[1]);
        harness_ready(&h);
        set(&h, microbatch, 0, i / N_TYPES % 8);
        harness_compare(&h, 1);
        harness_close(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(sums_around_products),
        cmocka_unit_test(rest_of_a_sum_comes_first),
        cmocka_unit_test(any_einsum),
        cmocka_unit_test(one_call_for_each_that_models_need),
        cmocka_unit_test(products_end_in_other_types),
        cmocka_unit_test(products_in_blocks),
        cmocka_unit_test(refuses_sums_in_loops_that_are_rounded),
        cmocka_unit_test(refuses_blocks_that_do_not_lie_together),
        cmocka_unit_test(refuses_rows_of_others),
        cmocka_unit_test(elementwise),
        cmocka_unit_test(dropouts),
        cmocka_unit_test(chains),
        cmocka_unit_test(parts_of_dimensions),
        cmocka_unit_test(bits_do_not_depend_on_position),
        cmocka_unit_test(kernels),
        cmocka_unit_test(ends_of_the_model),
        cmocka_unit_test(positions_as_tokens),
        cmocka_unit_test(positions_in_memory),
        cmocka_unit_test(scalars),
        cmocka_unit_test(updates),
        cmocka_unit_test(carries),
        cmocka_unit_test(codes),
        cmocka_unit_test(codes_are_added),
        cmocka_unit_test(codes_of_no_numbers_are_none),
        cmocka_unit_test(accumulation),
        cmocka_unit_test(pairs_of_microbatches),
        cmocka_unit_test(pairs_are_added_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
