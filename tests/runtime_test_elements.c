/* Kernels of elements of 16 bits: each gives, to the bit, what the same kernel gives in f32, rounded
 * once. So does every version of the kernels. */
#include "elements.h"
#include "runtime_kernel_fixture.h"
#include "sample.h"

#define CALL_OK(call) assert_int_equal(call, PLACE_OK)

/* A tensor of a call: `kind` is t (of the type under test), w (of f32, in which is computed), d
 * (f64), i (tokens). */
struct operand {
    int64_t count;
    char kind;
};
enum { MOST_OPERANDS = 14 };
typedef void (*body)(struct place_context *context, int32_t dtype, void *const *a);

/* Numbers that the narrow type has. Kernels meet no negative second moment or rstd. */
static double number_of(struct format f, const struct operand *operand, uint64_t *seed) {
    double x = random_number(seed);
    return operand->kind == 't' ? format_round(f, x) : fabs(x) + 0.25;
}

static void *make(struct format f, int32_t dtype, const struct operand *operand, uint64_t seed) {
    char *data = must(calloc((size_t)operand->count + 1, sizeof(double)));
    for (int64_t i = 0; i < operand->count; i++) {
        double x = number_of(f, operand, &seed);
        if (operand->kind == 'i')
            ((int32_t *)data)[i] = (int32_t)(x * 1e6) % 7 - 1;
        else if (operand->kind == 'd')
            ((double *)data)[i] = x;
        else if (operand->kind == 'w' || dtype == PLACE_F32)
            ((float *)data)[i] = (float)x;
        else
            ((uint16_t *)data)[i] = (uint16_t)format_bits(f, x);
    }
    return data;
}

static void assert_rounded(struct format f, const struct operand *operand, int number,
                           const void *narrow, const void *wide) {
    for (int64_t i = 0; i < operand->count && operand->kind == 't'; i++) {
        double x = ((const float *)wide)[i];
        if (((const uint16_t *)narrow)[i] != format_bits(f, format_round(f, x)))
            fail_msg("element %lld of operand %d is %.9g, not %.9g", (long long)i, number,
                     format_value(f, ((const uint16_t *)narrow)[i]), x);
    }
    if (operand->kind != 't')
        assert_memory_equal(narrow, wide, (size_t)operand->count * (operand->kind == 'd' ? 8 : 4));
}

static void check(struct place_context *context, body run, int first,
                  const struct operand *operands, int n) {
    const int32_t dtypes[] = {PLACE_BF16, PLACE_F16};
    for (int t = first; t < 2; t++) {
        struct format f = t ? format_f16 : format_bf16;
        void *narrow[MOST_OPERANDS], *wide[MOST_OPERANDS];
        for (int i = 0; i < n; i++) {
            narrow[i] = make(f, dtypes[t], &operands[i], (uint64_t)i + 1);
            wide[i] = make(f, PLACE_F32, &operands[i], (uint64_t)i + 1);
        }
        run(context, dtypes[t], narrow);
        run(context, PLACE_F32, wide);
        for (int i = 0; i < n; i++) {
            assert_rounded(f, &operands[i], i, narrow[i], wide[i]);
            free(narrow[i]), free(wide[i]);
        }
    }
}
#define CHECK_FROM(context, body, first, ...)                                                      \
    check(context, body, first, (const struct operand[]){__VA_ARGS__},                             \
          sizeof((const struct operand[]){__VA_ARGS__}) / sizeof(struct operand))
#define CHECK_KERNEL(context, body, ...) CHECK_FROM(context, body, 0, __VA_ARGS__)
/* What multiplies elements does so in bf16 where the CPU can, and then gives other bits
 * (runtime_test_attention.c). */
#define CHECK_PRODUCTS(context, body, ...)                                                         \
    CHECK_FROM(context, body, (context)->kernels->has_pairs, __VA_ARGS__)

/* ---- norms ---- */

enum { ROWS = 24, HIDDEN = 203, ALL = ROWS * HIDDEN };

static void layer_norm(struct place_context *context, int32_t dtype, void *const *a) {
    CALL_OK(place_layer_norm(context, 0, dtype, ROWS, HIDDEN, a[0], a[1], a[2], 1e-5, a[3], a[4],
                             a[5]));
    CALL_OK(place_rms_norm(context, 0, dtype, ROWS, HIDDEN, a[0], a[1], 1e-5, a[6], a[7]));
}

static void norm_backward(struct place_context *context, int32_t dtype, void *const *a) {
    CALL_OK(place_layer_norm_backward(context, 0, dtype, PLACE_F32, dtype, ROWS, 1, 4, HIDDEN, a[0],
                                      a[1], a[2], a[3], a[4], a[5], a[6], a[7], 0));
    CALL_OK(place_rms_norm_backward(context, 0, dtype, dtype, ROWS, 1, 0, HIDDEN, a[0], a[1], a[3],
                                    a[4], a[4], a[8], 1)); /* dx over dy */
}

static void norms(struct place_context *context) {
    CHECK_KERNEL(context, layer_norm, {ALL, 't'}, {HIDDEN, 't'}, {HIDDEN, 't'}, {ALL, 't'},
                 {ROWS, 'w'}, {ROWS, 'w'}, {ALL, 't'}, {ROWS, 'w'});
    CHECK_KERNEL(context, norm_backward, {ALL, 't'}, {HIDDEN, 't'}, {ROWS, 'w'}, {ROWS, 'w'},
                 {ALL, 't'}, {ALL, 't'}, {HIDDEN, 'w'}, {HIDDEN, 't'}, {HIDDEN, 't'});
}

/* ---- positions and attention ---- */

static void rope(struct place_context *context, int32_t dtype, void *const *a) {
    CALL_OK(place_rope(context, 0, dtype, 2, 10, 3, 20, a[0], NULL, 5, 1e4, 1, 1, 4, 1, 0, a[1]));
    CALL_OK(place_rope(context, 0, dtype, 2, 10, 3, 20, a[0], NULL, 5, 1e4, 1, 1, 4, 1, 1, a[0]));
}

/* Gradients of queries fit the workspace, or are made by themselves; their number says which. */
struct heads {
    int64_t sequence, kv_heads, group, head_dim;
};
static struct heads heads;

static void attend(struct place_context *context, int32_t dtype, void *const *a) {
    struct heads h = heads;
    CALL_OK(place_attention(context, 0, dtype, dtype, 1, h.sequence, h.sequence, h.kv_heads,
                            h.group, h.head_dim, a[0], a[1], a[2], NULL, 0, NULL, 0, 0.3, a[3],
                            a[4]));
    CALL_OK(place_attention(context, 0, dtype, PLACE_F32, 1, h.sequence, h.sequence, h.kv_heads,
                            h.group, h.head_dim, a[0], a[1], a[2], NULL, 0, NULL, 0, 0.3, a[5],
                            a[6]));
}

static void merge(struct place_context *context, int32_t dtype, void *const *a) {
    struct heads h = heads;
    CALL_OK(place_attention_merge(context, 0, dtype, h.sequence * h.kv_heads * h.group, h.head_dim,
                                  a[0], a[1], a[2], a[3], a[2], a[4]));
}

/* Gradients of o as it was made, which is not what comes out of the kernel above in f32. */
static void attend_backward(struct place_context *context, int32_t dtype, void *const *a) {
    struct heads h = heads;
    for (int i = 0; i < 2; i++) /* in blocks, too */
        CALL_OK(place_attention_backward(
            context, 0, dtype, dtype, dtype, dtype, i ? dtype : PLACE_F32, dtype, 1, h.sequence,
            8 * i, h.sequence, h.kv_heads, h.group, h.head_dim, a[0], a[1], a[2], a[3], a[4], a[5],
            NULL, 0, NULL, 0, 0.3, a[6 + 3 * i], a[7 + 3 * i], a[8 + 3 * i]));
}

static void attention(struct place_context *context) {
    CHECK_KERNEL(context, rope, {1200, 't'}, {1200, 't'});
    static const struct heads cases[] = {{40, 2, 2, 12}, {200, 1, 1, 48}, {200, 1, 5, 256}};
    static int version; /* of the kernels: of a sample each takes one */
    int sampled = version++ % 3;
    for (int i = 0; i < 3; i++) {
        if (sample_every() > 1 && i != sampled)
            continue;
        heads = cases[i];
        int64_t rows = heads.sequence * heads.kv_heads * heads.group, q = rows * heads.head_dim;
        int64_t k = q / heads.group;
        CHECK_PRODUCTS(context, attend, {q, 't'}, {k, 't'}, {k, 't'}, {q, 't'}, {rows, 'w'},
                       {q, 'w'}, {rows, 'w'});
        CHECK_KERNEL(context, merge, {q, 't'}, {rows, 'w'}, {q, 't'}, {rows, 'w'}, {rows, 'w'});
        CHECK_PRODUCTS(context, attend_backward, {q, 't'}, {k, 't'}, {k, 't'}, {q, 't'},
                       {rows, 'w'}, {q, 't'}, {q, 't'}, {k, 'w'}, {k, 't'}, {q, 't'}, {k, 't'},
                       {k, 't'});
    }
}

/* ---- ends of the model ---- */

enum { VOCAB = 2500, TABLE = 9 * HIDDEN }; /* more logits than are widened at once */
enum { LARGE = 5000, NARROW = 8 };         /* more rows of a table than are summed at once */

static void embed(struct place_context *context, int32_t dtype, void *const *a) {
    CALL_OK(place_embedding(context, 0, dtype, ROWS, HIDDEN, a[0], 1, 4, a[1], a[2]));
    for (int i = 0; i < 2; i++) {
        CALL_OK(place_embedding_backward(context, 0, dtype, dtype, ROWS, 1, 4 * i, HIDDEN, a[0], 0,
                                         9, a[3], a[4 + i], i));
        CALL_OK(place_embedding_backward(context, 0, dtype, PLACE_F32, ROWS, 1, 4 * i, HIDDEN, a[0],
                                         0, 9, a[3], a[6 + i], i));
        /* a sum that is made apart, as that of one block is */
        CALL_OK(place_embedding_backward(context, 0, dtype, dtype, ROWS, 1, dtype == PLACE_F32,
                                         NARROW, a[0], 4 - LARGE, LARGE, a[3], a[8 + i], i));
    }
}

static void lose(struct place_context *context, int32_t dtype, void *const *a) {
    CALL_OK(place_cross_entropy(context, 0, dtype, ROWS, VOCAB, a[0], a[1], a[2], 0, a[3]));
    CALL_OK(place_row_max(context, 0, dtype, ROWS, VOCAB, a[0], a[4]));
    CALL_OK(place_sum_exp(context, 0, dtype, ROWS, VOCAB, VOCAB / 4, a[0], a[4], a[5]));
    CALL_OK(place_pick(context, 0, dtype, ROWS, VOCAB, 0, a[0], a[1], a[6]));
    CALL_OK(place_cross_entropy_backward(context, 0, dtype, ROWS, VOCAB, 0, a[0], a[1], a[3], a[7],
                                         a[8]));
}

static void ends(struct place_context *context) {
    CHECK_KERNEL(context, embed, {ROWS, 'i'}, {TABLE, 't'}, {ALL, 't'}, {ALL, 't'}, {TABLE, 't'},
                 {TABLE, 't'}, {TABLE, 'w'}, {TABLE, 'w'}, {LARGE * NARROW, 't'},
                 {LARGE * NARROW, 't'});
    CHECK_KERNEL(context, lose, {ROWS * VOCAB, 't'}, {ROWS, 'i'}, {1, 'd'}, {ROWS, 'w'},
                 {ROWS, 'w'}, {ROWS, 'w'}, {ROWS, 'w'}, {1, 'd'}, {ROWS * VOCAB, 't'});
}

/* Elements of 16 bits are compared as integers: a row of one number, but for one place. */
static void greatest_of(struct place_context *context, double most, double one, int64_t at) {
    enum { COLUMNS = 77 };
    const int32_t dtypes[] = {PLACE_BF16, PLACE_F16};
    for (int t = 0; t < 2; t++) {
        struct format f = t ? format_f16 : format_bf16;
        uint16_t narrow[COLUMNS];
        float wide[COLUMNS], found, expected;
        for (int64_t i = 0; i < COLUMNS; i++) {
            wide[i] = (float)(i == at ? one : most);
            narrow[i] = (uint16_t)format_bits(f, wide[i]);
        }
        CALL_OK(place_row_max(context, 0, dtypes[t], 1, COLUMNS, narrow, &found));
        CALL_OK(place_row_max(context, 0, PLACE_F32, 1, COLUMNS, wide, &expected));
        if (one == one) /* only sums show NaNs for certain */
            assert_memory_equal(&found, &expected, sizeof found);
        int32_t target = 0;
        double loss;
        CALL_OK(place_cross_entropy(context, 0, dtypes[t], 1, COLUMNS, narrow, &target, &loss, 0,
                                    &found));
        CALL_OK(place_cross_entropy(context, 0, PLACE_F32, 1, COLUMNS, wide, &target, &loss, 0,
                                    &expected));
        assert_true(found == expected || (found != found && expected != expected));
    }
}

static void greatest_of_all_signs(struct place_context *context) {
    static const double pairs[][2] = {{-3, -2}, {-2, -3},  {-INFINITY, -5}, {-INFINITY, -INFINITY},
                                      {-1, 0},  {0, -0.0}, {-2, INFINITY},  {1, 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int64_t at = 0; at < 77; at += 19)
            greatest_of(context, pairs[i][0], pairs[i][1], at);
    greatest_of(context, 1, NAN, 40);
}

/* ---- sums and updates ---- */

enum { COUNT = 20000 }; /* more than a range */

static void sums(struct place_context *context, int32_t dtype, void *const *a) {
    double three = 3;
    CALL_OK(place_sum_rows(context, 0, dtype, dtype, ROWS, 1, 4, HIDDEN, a[0], a[1], 1));
    CALL_OK(place_sum_rows(context, 0, dtype, PLACE_F32, ROWS, 1, 0, HIDDEN, a[0], a[2], 0));
    CALL_OK(place_square_sum(context, 0, dtype, ALL, a[0], a[3], 0));
    CALL_OK(place_square_bins(context, 0, dtype, ALL, a[0], a[4]));
    CALL_OK(place_accumulate(context, 0, dtype, dtype, COUNT, a[5], a[6]));
    CALL_OK(place_accumulate(context, 0, PLACE_F32, dtype, COUNT, a[7], a[6]));
    CALL_OK(place_cast(context, 0, dtype, PLACE_F32, COUNT, a[8], a[6]));
    CALL_OK(place_cast(context, 0, PLACE_F32, dtype, COUNT, a[9], a[7]));
    CALL_OK(place_carry(context, 0, dtype, COUNT, 1, a[10], a[11], &three));
}

/* Master and moments in f32 or in the narrow type, gradients in the narrow one; and the parameters
 * that are rounded in the same pass. */
static void update(struct place_context *context, int32_t dtype, void *const *a) {
    double rate = 0.01, clip = 0.75, step = 3;
    CALL_OK(place_adamw(context, 0, PLACE_F32, dtype, PLACE_F32, dtype, dtype, COUNT, a[0], a[1],
                        a[2], a[3], a[4], &rate, &clip, &step, 0.9, 0.95, 1e-8, 0.1));
    CALL_OK(place_adamw(context, 0, dtype, PLACE_F32, PLACE_F32, dtype, dtype, COUNT, a[5], a[6],
                        a[7], a[3], NULL, &rate, &clip, &step, 0.9, 0.95, 1e-8, 0.1));
    CALL_OK(
        place_sgd(context, 0, PLACE_F32, dtype, dtype, COUNT, a[8], a[3], a[9], &rate, &clip, 0.1));
    for (int nesterov = 0; nesterov < 2; nesterov++)
        CALL_OK(place_sgd_momentum(context, 0, PLACE_F32, dtype, dtype, dtype, COUNT,
                                   a[10 + nesterov], a[12 + nesterov], a[3], a[9], &rate, &clip,
                                   0.9, 0.1, nesterov));
}

static void sums_and_updates(struct place_context *context) {
    CHECK_KERNEL(context, sums, {ALL, 't'}, {HIDDEN, 't'}, {HIDDEN, 'w'}, {1, 'd'},
                 {PLACE_SQUARE_BINS, 'd'}, {COUNT, 't'}, {COUNT, 't'}, {COUNT, 'w'}, {COUNT, 'w'},
                 {COUNT, 't'}, {COUNT, 't'}, {COUNT, 't'});
    CHECK_KERNEL(context, update, {COUNT, 'w'}, {COUNT, 't'}, {COUNT, 'w'}, {COUNT, 't'},
                 {COUNT, 't'}, {COUNT, 't'}, {COUNT, 'w'}, {COUNT, 'w'}, {COUNT, 'w'}, {COUNT, 't'},
                 {COUNT, 'w'}, {COUNT, 'w'}, {COUNT, 't'}, {COUNT, 't'});
}

static void norms_round_once(void **state) {
    in_each_version(norms);
}

static void attention_rounds_once(void **state) {
    in_each_version(attention);
}

static void ends_of_the_model_round_once(void **state) {
    in_each_version(ends);
    in_each_version(greatest_of_all_signs);
}

static void sums_and_updates_round_once(void **state) {
    in_each_version(sums_and_updates);
}

/* ---- conversions ---- */

/* Every number of the narrow types, and what lies between two of them. */
static void convert(struct place_context *context) {
    for (int t = 0; t < 2; t++) {
        struct format f = t ? format_f16 : format_bf16;
        int32_t dtype = t ? PLACE_F16 : PLACE_BF16;
        enum { N = 4 << 16 };
        float *wide = must(malloc(N * sizeof *wide));
        uint16_t *narrow = must(malloc(N * sizeof *narrow));
        for (uint32_t i = 0; i < N; i++) {
            double x = format_value(f, i >> 2);
            double half = isfinite(x) ? copysign(format_unit(f, x) / 2, x) : 0;
            wide[i] = (float)(i % 4 == 0 ? x : (x + half) * (1 + (i % 4 - 2.) * 0x1p-22));
        }
        CALL_OK(place_cast(context, 0, PLACE_F32, dtype, N, narrow, wide));
        for (int i = 0; i < N; i++)
            if (isnan(wide[i]))
                assert_true(isnan(format_value(f, narrow[i])));
            else if (narrow[i] != format_bits(f, format_round(f, wide[i])))
                fail_msg("%.9g became %.9g", wide[i], format_value(f, narrow[i]));
        for (uint32_t i = 0; i < 1 << 16; i++)
            narrow[i] = (uint16_t)i;
        CALL_OK(place_cast(context, 0, dtype, PLACE_F32, 1 << 16, wide, narrow));
        for (uint32_t i = 0; i < 1 << 16; i++) {
            double x = format_value(f, i);
            assert_true(isnan(x) ? isnan(wide[i])
                                 : wide[i] == x && !signbit(wide[i]) == !signbit(x));
        }
        free(wide), free(narrow);
    }
}

/* What is no number stays none: quiet, with its sign and the first of its digits. */
static uint16_t rounded_bits(struct format f, int32_t dtype, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (!isnan(x))
        return (uint16_t)format_bits(f, format_round(f, x));
    return (uint16_t)(dtype == PLACE_BF16 ? bits >> 16 | 0x40
                                          : (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff));
}

static uint32_t widened_bits(struct format f, int32_t dtype, uint16_t half) {
    float x = (float)format_value(f, half);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dtype == PLACE_BF16)
        return (uint32_t)half << 16;
    return isnan(x) ? (uint32_t)(half & 0x8000) << 16 | 0x7fc00000 | (half & 0x3ff) << 13 : bits;
}

/* Singles whose bits are random, near those of a narrow type, or special. */
static float any_single(uint64_t *seed) {
    static const uint32_t special[] = {
        0,          1,          0x7fffff,   0x800000,   0x7f7fffff, 0x7f800000, 0x7f800001,
        0x7fbfffff, 0x7fc00000, 0x7fff7fff, 0x7fff8000, 0x7fffffff, 0x7f7f7fff, 0x7f7f8000,
        0x33000000, 0x33000001, 0x387fffff, 0x38800000, 0x477fefff, 0x477ff000, 0x47800000,
    };
    enum { SPECIAL = sizeof special / sizeof *special };
    random_number(seed);
    uint32_t bits = (uint32_t)(*seed >> 32), kind = (uint32_t)(*seed >> 20) % 4;
    if (kind == 1)
        bits = (bits & 0xffff0000) | (bits % 3 + 0x7fff);
    else if (kind == 2)
        bits = (bits & 0xffffe000) | (bits % 3 + 0xfff);
    else if (kind == 3)
        bits = special[bits % SPECIAL] | (bits & 0x80000000);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void assert_row_is_rounded(struct place_context *context, int32_t dtype, const float *wide,
                                  int64_t count) {
    struct format f = dtype == PLACE_F16 ? format_f16 : format_bf16;
    uint16_t *narrow = must(malloc((size_t)(count + 2) * sizeof *narrow));
    narrow[0] = narrow[count + 1] = 0x1234; /* nothing is written beside the row */
    CALL_OK(place_cast(context, 0, PLACE_F32, dtype, count, narrow + 1, wide));
    for (int64_t i = 0; i < count; i++)
        if (narrow[i + 1] != rounded_bits(f, dtype, wide[i]))
            fail_msg("%a, element %lld of %lld, became %#x, not %#x", wide[i], (long long)i,
                     (long long)count, narrow[i + 1], rounded_bits(f, dtype, wide[i]));
    assert_true(narrow[0] == 0x1234 && narrow[count + 1] == 0x1234);
    free(narrow);
}

static void assert_row_is_widened(struct place_context *context, int32_t dtype,
                                  const uint16_t *narrow, int64_t count) {
    struct format f = dtype == PLACE_F16 ? format_f16 : format_bf16;
    uint32_t *wide = must(malloc((size_t)(count + 2) * sizeof *wide));
    wide[0] = wide[count + 1] = 0x12345678;
    CALL_OK(place_cast(context, 0, dtype, PLACE_F32, count, wide + 1, narrow));
    for (int64_t i = 0; i < count; i++)
        if (wide[i + 1] != widened_bits(f, dtype, narrow[i]))
            fail_msg("%#x, element %lld of %lld, became %#x", narrow[i], (long long)i,
                     (long long)count, wide[i + 1]);
    assert_true(wide[0] == 0x12345678 && wide[count + 1] == 0x12345678);
    free(wide);
}

/* To the bit, whatever a row's length and place: vectors and what is left behind them. */
static void convert_rows(struct place_context *context) {
    enum { N = 1 << 16, LONGEST = 100 };
    float *wide = must(malloc((N + LONGEST) * sizeof *wide));
    uint16_t *narrow = must(malloc((N + LONGEST) * sizeof *narrow));
    uint64_t seed = 1;
    for (int i = 0; i < N + LONGEST; i++) {
        wide[i] = any_single(&seed);
        narrow[i] = (uint16_t)i;
    }
    for (int t = 0; t < 2; t++) {
        int32_t dtype = t ? PLACE_F16 : PLACE_BF16;
        assert_row_is_rounded(context, dtype, wide, N);
        assert_row_is_widened(context, dtype, narrow, N);
        for (int count = 1; count <= LONGEST; count++) {
            assert_row_is_rounded(context, dtype, wide + 300 * count, count);
            assert_row_is_widened(context, dtype, narrow + (t ? 0x7c00 : 0x7f80) - 50, count);
        }
    }
    free(wide), free(narrow);
}

static void rows_of_any_length(void **state) {
    in_each_version(convert_rows);
}

static void conversions(void **state) {
    in_each_version(convert);
}

/* What is rounded must be there with all its digits. */
static void narrow_parameters_are_not_rounded_again(void **state) {
    struct place_context *context = context_of_this_cpu(1);
    uint16_t x = 0;
    double one = 1;
    assert_int_equal(
        place_sgd(context, 7, PLACE_BF16, PLACE_BF16, PLACE_F16, 1, &x, &x, &x, &one, NULL, 0),
        PLACE_ERROR_ARGUMENT);
    assert_non_null(strstr(context->message, "cannot be rounded"));
    context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions),
        cmocka_unit_test(rows_of_any_length),
        cmocka_unit_test(norms_round_once),
        cmocka_unit_test(attention_rounds_once),
        cmocka_unit_test(ends_of_the_model_round_once),
        cmocka_unit_test(sums_and_updates_round_once),
        cmocka_unit_test(narrow_parameters_are_not_rounded_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
