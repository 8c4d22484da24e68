// Ops in blocks of the sequence: the generated code for one device against that for several, each
// with a part of the sequence, in bits. What keeps the sequence is made of the same rows; what sums
// over it is joined as a binary tree.
#include "backend_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

// One device with everything, then the others with a part of the sequence each.
enum { MOST_DEVICES = 4, MOST_VALUES = 64, BATCH = 3, BLOCK = 5, BLOCKS = 8 };
enum { SEQUENCE = BLOCK * BLOCKS };

struct parts {
    value_id of[1 + MOST_DEVICES];
};

struct devices {
    struct harness h;
    int n;
    struct parts inputs[MOST_VALUES], results[MOST_VALUES];
    int n_inputs, n_results;
};

// A letter per dimension, as in labels; `t` is a sequence, too, of which every device has all.
static value_id input(struct devices *d, enum dtype dtype, const char *letters, int64_t sequence) {
    static const struct {
        enum dimension dimension;
        int64_t size;
    } dimensions[] = {
        ['b'] = {DIM_BATCH, BATCH}, ['s'] = {DIM_SEQUENCE, 0}, ['t'] = {DIM_SEQUENCE, SEQUENCE},
        ['h'] = {DIM_HIDDEN, 7},    ['g'] = {DIM_KV_HEADS, 2}, ['r'] = {DIM_GROUP, 2},
        ['d'] = {DIM_HEAD_DIM, 6},  ['f'] = {DIM_FFN, 12},     ['v'] = {DIM_VOCAB, 11}};
    int64_t sizes[MAX_RANK + 1] = {0};
    for (int i = 0; letters[i]; i++)
        sizes[i] = letters[i] == 's' ? sequence : dimensions[(unsigned char)letters[i]].size;
    value_id value = harness_input(&d->h, dtype, sizes);
    for (int i = 0; letters[i]; i++)
        d->h.unit->values[value].type.dims[i].dimension =
            dimensions[(unsigned char)letters[i]].dimension;
    return value;
}

static struct parts inputs(struct devices *d, enum dtype dtype, const char *letters) {
    struct parts parts = {{input(d, dtype, letters, SEQUENCE)}};
    for (int i = 1; i <= d->n; i++)
        parts.of[i] = input(d, dtype, letters, SEQUENCE / d->n);
    d->inputs[d->n_inputs++] = parts;
    return parts;
}

#define REALS(d, letters) inputs(d, (d)->h.dtype, letters)

// The same op on every device. `set` gives it its attributes.
static void ops(struct devices *d, enum op_kind kind, const struct parts *operands,
                void (*set)(struct devices *, struct op *)) {
    int first = d->n_results;
    for (int i = 0; i <= d->n; i++) {
        value_id of_device[MAX_OPERANDS];
        for (unsigned k = 0; k < op_operand_count(kind); k++)
            of_device[k] = operands[k].of[i];
        struct op *op = harness_op(&d->h, kind, of_device, op_operand_count(kind));
        set(d, op);
        harness_infer(&d->h, op);
        d->n_results = first + op->n_results;
        for (unsigned k = 0; k < op->n_results; k++) {
            d->results[first + (int)k].of[i] = op->results[k];
            harness_output(&d->h, op->results[k]);
        }
    }
}
#define OPS(d, kind, set, ...) ops(d, OP_##kind, (const struct parts[]){__VA_ARGS__}, set)

// What devices have of an input is a part of the whole, or all of it.
static void share_out(struct devices *d, const struct parts *input) {
    struct harness *h = &d->h;
    int64_t whole = count(h, input->of[0]), part = count(h, input->of[1]);
    int64_t run = 1; // elements of a sample of the part
    const struct tensor_type *type = &h->unit->values[input->of[1]].type;
    for (unsigned i = 0; i < type->rank; i++)
        run *= type->dims[i].dimension == DIM_BATCH ? 1 : type->dims[i].size;
    for (int device = 0; device < d->n; device++)
        for (int64_t i = 0; i < part; i++) {
            int64_t from = whole == part ? i : (i / run * d->n + device) * run + i % run;
            set(h, input->of[1 + device], i, get(h, input->of[0], from));
        }
}

static double add(const struct harness *h, value_id value, double a, double b) {
    return h->unit->values[value].type.dtype == DTYPE_F32 ? (double)((float)a + (float)b) : a + b;
}

static double joined(const struct devices *d, const struct parts *result, int first, int n,
                     int64_t i) {
    if (n == 1)
        return get(&d->h, result->of[1 + first], i);
    return add(&d->h, result->of[0], joined(d, result, first, n / 2, i),
               joined(d, result, first + n / 2, n / 2, i));
}

static void compare(const struct devices *d, const struct parts *result) {
    const struct harness *h = &d->h;
    int64_t whole = count(h, result->of[0]), part = count(h, result->of[1]), run = part / BATCH;
    for (int64_t i = 0; whole == part && i < whole; i++)
        assert_true(get(h, result->of[0], i) == joined(d, result, 0, d->n, i));
    for (int device = 0; whole != part && device < d->n; device++)
        for (int64_t i = 0; i < part; i++)
            assert_true(get(h, result->of[0], (i / run * d->n + device) * run + i % run) ==
                        get(h, result->of[1 + device], i));
}

// ---- attributes -------------------------------------------------------------------------------

static void set_blocks(struct devices *d, struct op *op) {
    op_set_word(d->h.program->arena, op, ATTRIBUTE_BLOCKS, "sequence=5");
}

static void set_one_column_dimension(struct devices *d, struct op *op) {
    op_set_integer(d->h.program->arena, op, ATTRIBUTE_KEEP, 1);
    set_blocks(d, op);
}

static void set_einsum(struct devices *d, struct op *op, const char *labels, const char *blocks) {
    op_set_word(d->h.program->arena, op, ATTRIBUTE_LABELS, labels);
    op_set_word(d->h.program->arena, op, ATTRIBUTE_BLOCKS, blocks);
}

static void set_projection(struct devices *d, struct op *op) {
    set_einsum(d, op, "bsh,hf->bsf", "sequence=5 ffn=3");
}

static void set_contraction(struct devices *d, struct op *op) {
    set_einsum(d, op, "bsf,hf->bsh", "sequence=5 ffn=3");
}

static void set_weight_gradient(struct devices *d, struct op *op) {
    set_einsum(d, op, "bsh,bsf->hf", "sequence=5 ffn=3");
}

static void set_heads_gradient(struct devices *d, struct op *op) {
    set_einsum(d, op, "bsgrd,bsh->hgrd", "kv_heads=1 sequence=5");
}

// ---- what is compared -------------------------------------------------------------------------

static void build_products(struct devices *d) {
    struct parts x = REALS(d, "bsh"), w = REALS(d, "hf"), dy = REALS(d, "bsf");
    OPS(d, EINSUM, set_projection, x, w);
    OPS(d, EINSUM, set_contraction, dy, w);
    OPS(d, EINSUM, set_weight_gradient, x, dy);
    OPS(d, EINSUM, set_heads_gradient, REALS(d, "bsgrd"), x);
}

static void build_sums(struct devices *d) {
    struct parts x = REALS(d, "bsh"), dy = REALS(d, "bsh"), gain = REALS(d, "h");
    struct parts mean = REALS(d, "bs"), rstd = REALS(d, "bs");
    OPS(d, SUM_ROWS, set_one_column_dimension, x);
    OPS(d, LAYER_NORM_BACKWARD, set_blocks, x, gain, mean, rstd, dy);
    OPS(d, RMS_NORM_BACKWARD, set_blocks, x, gain, rstd, dy);
}

// Rows of the vocabulary, inline on every device.
static struct parts vocabulary(struct devices *d) {
    struct parts rows;
    for (int i = 0; i <= d->n; i++)
        rows.of[i] = harness_iota(&d->h, 11);
    return rows;
}

static struct parts tokens;

static void build_ends(struct devices *d) {
    tokens = inputs(d, DTYPE_I32, "bs");
    OPS(d, EMBEDDING_BACKWARD, set_blocks, tokens, REALS(d, "bsh"), vocabulary(d));
    OPS(d, TOKEN_LOSS, set_blocks, REALS(d, "bs"), REALS(d, "bs"), tokens);
}

static void set_tokens(struct devices *d) {
    for (int64_t i = 0; i < BATCH * SEQUENCE; i++)
        set(&d->h, tokens.of[0], i, (double)(i * i % 13 - 1));
}

static void set_attention(struct devices *d, struct op *op) {
    op_set_real(d->h.program->arena, op, ATTRIBUTE_SCALE, 0.5);
    set_blocks(d, op);
}

static struct parts places[2]; // of queries, of keys

static void build_attention(struct devices *d) {
    struct parts q = REALS(d, "bsgrd"), k = REALS(d, "btgd"), v = REALS(d, "btgd");
    struct parts d_o = REALS(d, "bsgrd"), o, lse;
    places[0] = inputs(d, DTYPE_I32, "s");
    places[1] = inputs(d, DTYPE_I32, "t");
    OPS(d, ATTENTION, set_attention, q, k, v, places[0], places[1]);
    o = d->results[0];
    lse = d->results[1];
    OPS(d, ATTENTION_BACKWARD, set_attention, q, k, v, o, lse, d_o, places[0], places[1]);
}

static void set_places(struct devices *d) {
    for (int64_t i = 0; i < SEQUENCE; i++) {
        set(&d->h, places[0].of[0], i, (double)i);
        set(&d->h, places[1].of[0], i, (double)i);
    }
}

static void on_devices(int n, enum dtype dtype, void (*build)(struct devices *),
                       void (*fill)(struct devices *)) {
    struct devices d = {.n = n};
    harness_open(&d.h, dtype);
    build(&d);
    harness_ready(&d.h);
    if (fill)
        fill(&d);
    for (int i = 0; i < d.n_inputs; i++)
        share_out(&d, &d.inputs[i]);
    harness_run(&d.h);
    for (int i = 0; i < d.n_results; i++)
        compare(&d, &d.results[i]);
    harness_compare(&d.h, 100);
    harness_close(&d.h);
}

static void compare_devices(void (*build)(struct devices *), void (*fill)(struct devices *)) {
    for (int n = 2; n <= MOST_DEVICES; n *= 2) {
        on_devices(n, DTYPE_F32, build, fill);
        on_devices(n, DTYPE_F64, build, fill);
    }
}

static void products(void **state) {
    compare_devices(build_products, NULL);
}

static void sums_over_rows(void **state) {
    compare_devices(build_sums, NULL);
}

static void ends_of_the_model(void **state) {
    compare_devices(build_ends, set_tokens);
}

static void attention(void **state) {
    compare_devices(build_attention, set_places);
}

// Blocks of rows that lie inside others.
static void refuses_rows_that_do_not_lie_together(void **state) {
    struct devices d = {0};
    harness_open(&d.h, DTYPE_F32);
    struct op *op = OP(&d.h, SUM_ROWS, input(&d, DTYPE_F32, "bsfh", SEQUENCE));
    op_set_integer(d.h.program->arena, op, ATTRIBUTE_KEEP, 1);
    op_set_word(d.h.program->arena, op, ATTRIBUTE_BLOCKS, "sequence=20 ffn=6");
    harness_output(&d.h, harness_infer(&d.h, op));
    assert_non_null(backend_refusal(harness_backend(), &d.h.arena, d.h.program->job));
    arena_free(&d.h.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(sums_over_rows),
        cmocka_unit_test(ends_of_the_model),
        cmocka_unit_test(attention),
        cmocka_unit_test(refuses_rows_that_do_not_lie_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
