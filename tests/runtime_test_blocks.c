/* Sums over rows in blocks: on one device and on several that have some of the blocks each and join
 * their sums as collectives do, bit for bit; and rows' own results, whose bits must not depend on
 * which rows stand beside them. In every version, on teams of one to three. */
#include "runtime_kernel_fixture.h"
#include "runtime/transport/collective.h"
#include "sample.h"

enum { ENTRIES = 11, FIRST_TOKEN = 3, MOST_DEVICES = 8, SEQUENCES = 3 };

/* Operands of all calls; rows are [parts, blocks, length]. */
struct rows {
    int dtype;
    int64_t parts, blocks, length, columns;
    void *x, *dy, *mean, *rstd;
    int32_t *tokens;
    const void *gain;
};

static int64_t count_of(const struct rows *r) {
    return r->parts * r->blocks * r->length;
}

/* Rows of one of several devices, side by side. */
static void *part_of(const struct rows *r, const void *whole, int64_t row_bytes, int device,
                     int devices) {
    return part_of_device(whole, r->parts, r->blocks / devices * r->length * row_bytes, device,
                          devices);
}

static struct rows part_of_rows(const struct rows *r, int device, int devices) {
    int64_t width = width_of(r->dtype);
    struct rows part = *r;
    part.x = part_of(r, r->x, r->columns * width, device, devices);
    part.dy = part_of(r, r->dy, r->columns * width, device, devices);
    part.mean = part_of(r, r->mean, width, device, devices);
    part.rstd = part_of(r, r->rstd, width, device, devices);
    part.tokens = part_of(r, r->tokens, sizeof *r->tokens, device, devices);
    part.blocks = r->blocks / devices;
    return part;
}

static void rows_free(struct rows *r) {
    free(r->x), free(r->dy), free(r->mean), free(r->rstd), free(r->tokens);
}

/* Numbers of which some are zeros of both signs, in the test's type. */
static void *numbers(int dtype, int64_t count, uint64_t seed) {
    struct tensor tensor = tensor_random(dtype, count, seed);
    for (int64_t i = 0; i < count; i++)
        if ((i * 7 + (int64_t)seed) % 11 < 3) {
            double zero = i % 3 ? -0.0 : 0.0;
            if (dtype == PLACE_F64)
                ((double *)tensor.data)[i] = zero;
            else
                ((float *)tensor.data)[i] = (float)zero;
        }
    free(tensor.exact);
    return tensor.data;
}

/* Some tokens are masked, some before or behind the table, and some come once. */
static struct rows rows_make(struct rows shape) {
    int64_t n = count_of(&shape);
    shape.x = numbers(shape.dtype, n * shape.columns, 1);
    shape.dy = numbers(shape.dtype, n * shape.columns, 2);
    shape.mean = numbers(shape.dtype, n, 3);
    shape.rstd = numbers(shape.dtype, n, 4);
    shape.tokens = must(malloc((size_t)n * sizeof *shape.tokens));
    for (int64_t i = 0; i < n; i++)
        shape.tokens[i] = i % 5 == 2 ? -1 : (int32_t)(i * i % 17);
    return shape;
}

/* ---- sums ---- */

typedef void (*sum_function)(struct place_context *context, const struct rows *r, void *result,
                             int accumulate);

static void sum_x(struct place_context *context, const struct rows *r, void *result,
                  int accumulate) {
    CALL_OK(place_sum_rows(context, 0, r->dtype, r->dtype, count_of(r), r->parts, r->blocks,
                           r->columns, r->x, result, accumulate));
}

static void sum_layer_norm(struct place_context *context, const struct rows *r, void *result,
                           int accumulate) {
    char *dbias = (char *)result + r->columns * width_of(r->dtype);
    CALL_OK(place_layer_norm_backward(context, 0, r->dtype, r->dtype, r->dtype, count_of(r),
                                      r->parts, r->blocks, r->columns, r->x, r->gain, r->mean,
                                      r->rstd, r->dy, NULL, result, dbias, accumulate));
}

static void sum_rms_norm(struct place_context *context, const struct rows *r, void *result,
                         int accumulate) {
    CALL_OK(place_rms_norm_backward(context, 0, r->dtype, r->dtype, count_of(r), r->parts,
                                    r->blocks, r->columns, r->x, r->gain, r->rstd, r->dy, NULL,
                                    result, accumulate));
}

static void sum_embedding(struct place_context *context, const struct rows *r, void *result,
                          int accumulate) {
    CALL_OK(place_embedding_backward(context, 0, r->dtype, r->dtype, count_of(r), r->parts,
                                     r->blocks, r->columns, r->tokens, FIRST_TOKEN, ENTRIES, r->dy,
                                     result, accumulate));
}

static void sum_loss(struct place_context *context, const struct rows *r, void *result,
                     int accumulate) {
    CALL_OK(place_token_loss(context, 0, r->dtype, count_of(r), r->parts, r->blocks, r->mean,
                             r->rstd, r->tokens, result, accumulate));
}

static const struct {
    const char *name;
    sum_function sum;
    int64_t elements; /* of the result, per column; 0: it is one double */
} sums[] = {
    {"sum_rows", sum_x, 1},
    {"layer_norm_backward", sum_layer_norm, 2},
    {"rms_norm_backward", sum_rms_norm, 1},
    {"embedding_backward", sum_embedding, ENTRIES},
    {"token_loss", sum_loss, 0},
};
enum { SUMS = sizeof sums / sizeof *sums };

static int type_of_sum(int which, const struct rows *r) {
    return sums[which].elements ? r->dtype : PLACE_F64;
}

static int64_t count_of_sum(int which, const struct rows *r) {
    return sums[which].elements ? sums[which].elements * r->columns : 1;
}

/* to = the sum of what devices have, as a collective makes it. */
static void join(int dtype, int64_t count, void *const *of_devices, int devices, void *to) {
    struct collective collective = {.dtype = dtype};
    collective_reduce(&collective, to, (const void *const *)of_devices, devices, 0, count, false);
}

/* The sum of what each device sums by itself, on a team of another size than the whole's. */
static void sum_of_devices(int which, struct place_context *context, const struct rows *r,
                           int devices, void *to) {
    void *made[MOST_DEVICES];
    for (int device = 0; device < devices; device++) {
        struct rows part = part_of_rows(r, device, devices);
        made[device] = zeros_f64(count_of_sum(which, r));
        sums[which].sum(context, &part, made[device], 0);
        rows_free(&part);
    }
    join(type_of_sum(which, r), count_of_sum(which, r), made, devices, to);
    for (int device = 0; device < devices; device++)
        free(made[device]);
}

static void check_sum(int which, struct place_context *const teams[3], const struct rows *r) {
    int64_t count = count_of_sum(which, r);
    int dtype = type_of_sum(which, r);
    size_t bytes = (size_t)(count * width_of(dtype));
    void *whole = zeros_f64(count), *joined = zeros_f64(count);
    struct tensor before = tensor_random(dtype, count, 7), after = tensor_random(dtype, count, 7);
    for (int devices = 1; devices <= r->blocks; devices *= 2)
        for (int team = 0; team < 3; team++) {
            memset(whole, 0xff, bytes);
            sums[which].sum(teams[team], r, whole, 0);
            sum_of_devices(which, teams[(team + 1) % 3], r, devices, joined);
            if (memcmp(whole, joined, bytes) != 0)
                fail_msg("%s: %lld x %lld rows in %lld blocks on %d devices differ",
                         sums[which].name, (long long)r->parts, (long long)r->length,
                         (long long)r->blocks, devices);
        }
    sums[which].sum(teams[2], r, after.data, 1);
    CALL_OK(place_accumulate(teams[0], 0, dtype, dtype, count, before.data, joined));
    assert_memory_equal(before.data, after.data, bytes);
    free(whole), free(joined);
    tensor_free(&before), tensor_free(&after);
}

/* ---- rows by themselves ---- */

typedef void (*row_function)(struct place_context *context, const struct rows *r, void *result);

static void norm_rows(struct place_context *context, const struct rows *r, void *result) {
    void *mean = zeros_f64(count_of(r)), *rstd = zeros_f64(count_of(r));
    CALL_OK(place_layer_norm(context, 0, r->dtype, count_of(r), r->columns, r->x, r->gain, r->gain,
                             1e-5, result, mean, rstd));
    free(mean), free(rstd);
}

static void rms_norm_rows(struct place_context *context, const struct rows *r, void *result) {
    void *rstd = zeros_f64(count_of(r));
    CALL_OK(place_rms_norm(context, 0, r->dtype, count_of(r), r->columns, r->x, r->gain, 1e-5,
                           result, rstd));
    free(rstd);
}

static void norm_gradients(struct place_context *context, const struct rows *r, void *result) {
    CALL_OK(place_layer_norm_backward(context, 0, r->dtype, r->dtype, r->dtype, count_of(r),
                                      r->parts, r->blocks, r->columns, r->x, r->gain, r->mean,
                                      r->rstd, r->dy, result, NULL, NULL, 0));
}

static void rms_norm_gradients(struct place_context *context, const struct rows *r, void *result) {
    CALL_OK(place_rms_norm_backward(context, 0, r->dtype, r->dtype, count_of(r), r->parts,
                                    r->blocks, r->columns, r->x, r->gain, r->rstd, r->dy, result,
                                    NULL, 0));
}

static void greatest_of_rows(struct place_context *context, const struct rows *r, void *result) {
    CALL_OK(place_row_max(context, 0, r->dtype, count_of(r), r->columns, r->x, result));
}

static void exponentials_of_rows(struct place_context *context, const struct rows *r,
                                 void *result) {
    CALL_OK(place_sum_exp(context, 0, r->dtype, count_of(r), r->columns, r->columns, r->x, r->mean,
                          result));
}

static void picked_of_rows(struct place_context *context, const struct rows *r, void *result) {
    CALL_OK(place_pick(context, 0, r->dtype, count_of(r), r->columns, 0, r->x, r->tokens, result));
}

static void loss_gradients(struct place_context *context, const struct rows *r, void *result) {
    const double scale = 0.3;
    CALL_OK(place_cross_entropy_backward(context, 0, r->dtype, count_of(r), r->columns, 0, r->x,
                                         r->tokens, r->mean, &scale, result));
}

static const struct {
    const char *name;
    row_function rows;
    bool one; /* element per row, else all columns */
} rows_results[] = {
    {"layer_norm", norm_rows, false},
    {"rms_norm", rms_norm_rows, false},
    {"dx of layer_norm_backward", norm_gradients, false},
    {"dx of rms_norm_backward", rms_norm_gradients, false},
    {"row_max", greatest_of_rows, true},
    {"sum_exp", exponentials_of_rows, true},
    {"pick", picked_of_rows, true},
    {"cross_entropy_backward", loss_gradients, false},
};
enum { ROWS_RESULTS = sizeof rows_results / sizeof *rows_results };

/* What a device makes of its rows is the whole's, of teams of other sizes. */
static void check_rows(int which, struct place_context *const teams[3], const struct rows *r) {
    int64_t row_bytes = (rows_results[which].one ? 1 : r->columns) * width_of(r->dtype);
    void *whole = zeros_f64(count_of(r) * r->columns);
    rows_results[which].rows(teams[0], r, whole);
    for (int devices = 1; devices <= r->blocks; devices *= 2)
        for (int device = 0; device < devices; device++) {
            struct rows part = part_of_rows(r, device, devices);
            void *of_whole = part_of(r, whole, row_bytes, device, devices);
            void *own = zeros_f64(count_of(&part) * r->columns);
            rows_results[which].rows(teams[device % 3], &part, own);
            if (memcmp(own, of_whole, (size_t)(count_of(&part) * row_bytes)) != 0)
                fail_msg("%s: rows of device %d of %d differ", rows_results[which].name, device,
                         devices);
            free(of_whole), free(own);
            rows_free(&part);
        }
    free(whole);
}

/* ---- all of them ---- */

static void check_shape(struct place_context *const teams[3], struct rows shape) {
    struct rows r = rows_make(shape);
    struct tensor gain = tensor_random(r.dtype, r.columns, 5);
    r.gain = gain.data;
    for (int i = 0; i < SUMS; i++)
        check_sum(i, teams, &r);
    for (int i = 0; i < ROWS_RESULTS; i++)
        check_rows(i, teams, &r);
    rows_free(&r);
    tensor_free(&gain);
}

static void check_shapes(struct place_context *const teams[3]) {
    static const int64_t lengths[] = {1, 3, 16, 70}, columns[] = {1, 23, 64, 201};
    int n = 0, every = sample_every() | 1; // odd: each number is taken of every list
    for (int i = 0; i < 4; i++)
        for (int type = 0; type < 2; type++)
            for (int64_t blocks = 1; blocks <= MOST_DEVICES; blocks *= 2)
                for (int64_t parts = 1; parts <= SEQUENCES; parts += SEQUENCES - 1)
                    for (int k = 0; k < 4; k++)
                        if (n++ % every == 0)
                            check_shape(teams, (struct rows){.dtype = real_types[type],
                                                             .parts = parts,
                                                             .blocks = blocks,
                                                             .length = lengths[i],
                                                             .columns = columns[k]});
}

static void devices_and_one_agree(void **state) {
    teams_in_each_version(check_shapes);
}

/* Wide rows, of which some are summed at a time, and a table of more rows than are looked for at
 * once. */
static void large_tables_are_summed_alike(void **state) {
    enum { COLUMNS = 5000, ROWS = 8, TABLE = 9000 };
    struct place_context *context = context_of_this_cpu(2);
    struct rows r = rows_make((struct rows){
        .dtype = PLACE_F32, .parts = 1, .blocks = 4, .length = ROWS / 4, .columns = COLUMNS});
    float *one = must(calloc(TABLE * 8, sizeof *one)),
          *other = must(calloc(TABLE * 8, sizeof *one));
    struct rows halves[2] = {part_of_rows(&r, 0, 2), part_of_rows(&r, 1, 2)};
    float *wide[3];
    for (int i = 0; i < 3; i++)
        wide[i] = must(calloc(ENTRIES * COLUMNS, sizeof *wide[i]));
    sum_embedding(context, &r, wide[0], 0);
    sum_embedding(context, &halves[0], wide[1], 0);
    sum_embedding(context, &halves[1], wide[2], 0);
    CALL_OK(
        place_accumulate(context, 0, PLACE_F32, PLACE_F32, ENTRIES * COLUMNS, wide[1], wide[2]));
    assert_memory_equal(wide[0], wide[1], sizeof(float) * ENTRIES * COLUMNS);
    memset(one, 0xff, sizeof *one * TABLE * 8);
    for (int i = 0; i < ROWS; i++)
        r.tokens[i] = i % 2 ? TABLE - 1 : 4096;
    CALL_OK(place_embedding_backward(context, 0, PLACE_F32, PLACE_F32, ROWS, 1, 4, 8, r.tokens, 0,
                                     TABLE, r.dy, one, 0));
    for (int k = 0; k < 8; k++)
        for (int odd = 0; odd < 2; odd++) {
            const float *dy = (const float *)r.dy + 8 * odd + k;
            other[(odd ? TABLE - 1 : 4096) * 8 + k] = (dy[0] + dy[16]) + (dy[32] + dy[48]);
        }
    for (int i = 0; i < TABLE * 8; i++)
        assert_true(one[i] == other[i]);
    for (int i = 0; i < 3; i++)
        free(wide[i]);
    rows_free(&halves[0]), rows_free(&halves[1]), rows_free(&r);
    free(one), free(other);
    context_free(context);
}

static int32_t sum_of_rows(struct place_context *context, int64_t rows, int64_t blocks) {
    static double x[2 * PLACE_BLOCKS_LIMIT], y;
    return place_sum_rows(context, 0, PLACE_F64, PLACE_F64, rows, 1, blocks, 1, x, &y, 0);
}

static void blocks_that_do_not_fit_are_refused(void **state) {
    refuses_blocks_that_do_not_fit(sum_of_rows);
    struct place_context *context = context_of_this_cpu(1);
    double x[12] = {0}, y;
    for (int64_t parts = 0; parts <= 5; parts += 5)
        assert_refused(context,
                       place_sum_rows(context, 0, PLACE_F64, PLACE_F64, 12, parts, 1, 1, x, &y, 0));
    context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_one_agree),
        cmocka_unit_test(large_tables_are_summed_alike),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
