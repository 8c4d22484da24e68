/* Norms, embeddings, the loss, sums and copies against plain loops, their backward passes against
 * differences, in every version, with tails; and the same bits on one thread and two. */
#include "runtime_kernel_fixture.h"

static const int64_t row_shapes[][2] = {{1, 1}, {3, 7}, {5, 64}, {70, 100}, {130, 129}};
enum { ROW_SHAPES = sizeof row_shapes / sizeof row_shapes[0] };

typedef void (*row_check)(struct place_context *context, int dtype, int64_t rows, int64_t columns);

static void over_shapes(struct place_context *context, row_check check) {
    for (int i = 0; i < ROW_SHAPES; i++)
        for (int type = 0; type < 2; type++)
            check(context, real_types[type], row_shapes[i][0], row_shapes[i][1]);
}

/* ---- norms ---- */

static const double epsilon = 1e-5;

/* `bias` null: the root-mean-square norm. */
static void naive_norm(int64_t rows, int64_t hidden, const double *x, const double *gain,
                       const double *bias, double *y) {
    for (int64_t row = 0; row < rows; row++, x += hidden, y += hidden) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < hidden && bias != NULL; i++)
            mean += x[i] / (double)hidden;
        for (int64_t i = 0; i < hidden; i++)
            square += (x[i] - mean) * (x[i] - mean) / (double)hidden;
        for (int64_t i = 0; i < hidden; i++)
            y[i] = (x[i] - mean) / sqrt(square + epsilon) * gain[i] + (bias != NULL ? bias[i] : 0);
    }
}

static void check_norms(struct place_context *context, int dtype, int64_t rows, int64_t hidden) {
    struct tensor x = tensor_random(dtype, rows * hidden, 1),
                  gain = tensor_random(dtype, hidden, 2);
    struct tensor bias = tensor_random(dtype, hidden, 3);
    double *y = zeros_f64(rows * hidden);
    void *found = zeros_f64(rows * hidden), *mean = zeros_f64(rows), *rstd = zeros_f64(rows);
    double tolerance = hidden == 1 ? 1e-3 : tolerance_of(dtype) * 10;
    naive_norm(rows, hidden, x.exact, gain.exact, bias.exact, y);
    CALL_OK(place_layer_norm(context, 0, dtype, rows, hidden, x.data, gain.data, bias.data, epsilon,
                             found, mean, rstd));
    assert_close("layer_norm", found, dtype, y, rows * hidden, tolerance);
    naive_norm(rows, hidden, x.exact, gain.exact, NULL, y);
    CALL_OK(
        place_rms_norm(context, 0, dtype, rows, hidden, x.data, gain.data, epsilon, found, rstd));
    assert_close("rms_norm", found, dtype, y, rows * hidden, tolerance);
    free(y), free(found), free(mean), free(rstd);
    tensor_free(&x), tensor_free(&gain), tensor_free(&bias);
}

static void check_norm_shapes(struct place_context *context) {
    over_shapes(context, check_norms);
}

static void norms_agree_with_loops(void **state) {
    in_each_version(check_norm_shapes);
}

/* sum(weight * norm(x)) and its gradient by central differences in `input`. */
static double weighted_norm(int64_t rows, int64_t hidden, const double *x, const double *gain,
                            const double *bias, const double *weight) {
    double *y = zeros_f64(rows * hidden), sum = 0;
    naive_norm(rows, hidden, x, gain, bias, y);
    for (int64_t i = 0; i < rows * hidden; i++)
        sum += y[i] * weight[i];
    free(y);
    return sum;
}

struct norm_case {
    int64_t rows, hidden;
    double *x, *gain, *bias, *weight;
};

static void check_norm_differences(const struct norm_case *n, double *input, int64_t count,
                                   const double *gradient) {
    for (int64_t i = 0; i < count; i++) {
        double old = input[i], step = 1e-5;
        input[i] = old + step;
        double above = weighted_norm(n->rows, n->hidden, n->x, n->gain, n->bias, n->weight);
        input[i] = old - step;
        double below = weighted_norm(n->rows, n->hidden, n->x, n->gain, n->bias, n->weight);
        input[i] = old;
        assert_true(fabs((above - below) / (2 * step) - gradient[i]) < 1e-6);
    }
}

static void check_layer_norm_backward(struct place_context *context, struct norm_case *n) {
    int64_t count = n->rows * n->hidden;
    double *y = zeros_f64(count), *mean = zeros_f64(n->rows), *rstd = zeros_f64(n->rows);
    double *dx = zeros_f64(count), *dgain = zeros_f64(n->hidden), *dbias = zeros_f64(n->hidden);
    CALL_OK(place_layer_norm(context, 0, PLACE_F64, n->rows, n->hidden, n->x, n->gain, n->bias,
                             epsilon, y, mean, rstd));
    memcpy(dx, n->weight, sizeof(double) * (size_t)count); /* dx over dy */
    CALL_OK(place_layer_norm_backward(context, 0, PLACE_F64, PLACE_F64, PLACE_F64, n->rows, 1, 0,
                                      n->hidden, n->x, n->gain, mean, rstd, dx, dx, dgain, dbias,
                                      0));
    check_norm_differences(n, n->x, count, dx);
    check_norm_differences(n, n->gain, n->hidden, dgain);
    check_norm_differences(n, n->bias, n->hidden, dbias);
    double *twice = zeros_f64(n->hidden);
    for (int64_t i = 0; i < n->hidden; i++)
        twice[i] = 2 * dgain[i];
    CALL_OK(place_layer_norm_backward(context, 0, PLACE_F64, PLACE_F64, PLACE_F64, n->rows, 1, 0,
                                      n->hidden, n->x, n->gain, mean, rstd, n->weight, NULL, dgain,
                                      NULL, 1));
    assert_close("accumulated", dgain, PLACE_F64, twice, n->hidden, 1e-12);
    free(y), free(mean), free(rstd), free(dx), free(dgain), free(dbias), free(twice);
}

static void check_rms_norm_backward(struct place_context *context, struct norm_case *n) {
    int64_t count = n->rows * n->hidden;
    double *y = zeros_f64(count), *rstd = zeros_f64(n->rows);
    double *dx = zeros_f64(count), *dgain = zeros_f64(n->hidden);
    CALL_OK(
        place_rms_norm(context, 0, PLACE_F64, n->rows, n->hidden, n->x, n->gain, epsilon, y, rstd));
    CALL_OK(place_rms_norm_backward(context, 0, PLACE_F64, PLACE_F64, n->rows, 1, 0, n->hidden,
                                    n->x, n->gain, rstd, n->weight, dx, dgain, 0));
    struct norm_case without_bias = *n;
    without_bias.bias = NULL;
    check_norm_differences(&without_bias, n->x, count, dx);
    check_norm_differences(&without_bias, n->gain, n->hidden, dgain);
    free(y), free(rstd), free(dx), free(dgain);
}

static void check_norm_backward(struct place_context *context) {
    static const int64_t shapes[][2] = {{3, 5}, {4, 33}, {67, 2}};
    for (int i = 0; i < 3; i++) {
        struct norm_case n = {.rows = shapes[i][0], .hidden = shapes[i][1]};
        n.x = random_f64(n.rows * n.hidden, 1), n.gain = random_f64(n.hidden, 2);
        n.bias = random_f64(n.hidden, 3), n.weight = random_f64(n.rows * n.hidden, 4);
        for (int64_t j = 0; j < n.rows * n.hidden; j++)
            n.x[j] += (double)(j % n.hidden); /* no row of equal elements */
        check_layer_norm_backward(context, &n);
        check_rms_norm_backward(context, &n);
        free(n.x), free(n.gain), free(n.bias), free(n.weight);
    }
}

static void norm_gradients_agree_with_differences(void **state) {
    in_each_version(check_norm_backward);
}

/* The float kernels against the double ones, over shapes whose rows and columns do not fill
 * vectors. */
static void check_float_norm_backward(struct place_context *context, int dtype, int64_t rows,
                                      int64_t hidden) {
    if (dtype == PLACE_F64 || hidden == 1)
        return;
    int64_t count = rows * hidden;
    struct tensor x = tensor_random(dtype, count, 1), gain = tensor_random(dtype, hidden, 2);
    struct tensor dy = tensor_random(dtype, count, 3), mean = tensor_random(dtype, rows, 4);
    struct tensor rstd = tensor_random(dtype, rows, 5);
    double *dx = zeros_f64(count), *dgain = zeros_f64(hidden), *dbias = zeros_f64(hidden);
    void *dx32 = zeros_f64(count), *dgain32 = zeros_f64(hidden), *dbias32 = zeros_f64(hidden);
    CALL_OK(place_layer_norm_backward(context, 0, PLACE_F64, PLACE_F64, PLACE_F64, rows, 1, 0,
                                      hidden, x.exact, gain.exact, mean.exact, rstd.exact, dy.exact,
                                      dx, dgain, dbias, 0));
    CALL_OK(place_layer_norm_backward(context, 0, PLACE_F32, PLACE_F32, PLACE_F32, rows, 1, 0,
                                      hidden, x.data, gain.data, mean.data, rstd.data, dy.data,
                                      dx32, dgain32, dbias32, 0));
    assert_close("dx", dx32, dtype, dx, count, 1e-4);
    assert_close("dgain", dgain32, dtype, dgain, hidden, 1e-4);
    assert_close("dbias", dbias32, dtype, dbias, hidden, 1e-4);
    free(dx), free(dgain), free(dbias), free(dx32), free(dgain32), free(dbias32);
    tensor_free(&x), tensor_free(&gain), tensor_free(&dy), tensor_free(&mean), tensor_free(&rstd);
}

static void check_float_norms(struct place_context *context) {
    over_shapes(context, check_float_norm_backward);
}

static void float_norm_gradients_agree_with_double(void **state) {
    in_each_version(check_float_norms);
}

/* ---- embeddings ---- */

static void check_embedding(struct place_context *context, int dtype, int64_t rows,
                            int64_t hidden) {
    enum { START = 10, COUNT = 13 };
    int32_t *tokens = must(calloc((size_t)rows, sizeof(int32_t)));
    for (int64_t row = 0; row < rows; row++)
        tokens[row] = (int32_t)(row * 7 % 30); /* some before, some behind the table */
    struct tensor table = tensor_random(dtype, COUNT * hidden, 1),
                  dy = tensor_random(dtype, rows * hidden, 2);
    struct tensor sum = tensor_random(dtype, COUNT * hidden, 3);
    double *y = zeros_f64(rows * hidden);
    void *found = zeros_f64(rows * hidden);
    for (int64_t row = 0; row < rows; row++) {
        int64_t entry = tokens[row] - START;
        for (int64_t i = 0; i < hidden && entry >= 0 && entry < COUNT; i++) {
            y[row * hidden + i] = table.exact[entry * hidden + i];
            sum.exact[entry * hidden + i] += dy.exact[row * hidden + i];
        }
    }
    CALL_OK(
        place_embedding(context, 0, dtype, rows, hidden, tokens, START, COUNT, table.data, found));
    assert_close("embedding", found, dtype, y, rows * hidden, 0);
    CALL_OK(place_embedding_backward(context, 0, dtype, dtype, rows, 1, 0, hidden, tokens, START,
                                     COUNT, dy.data, sum.data, 1));
    assert_close("dtable", sum.data, dtype, sum.exact, COUNT * hidden, tolerance_of(dtype));
    free(tokens), free(y), free(found);
    tensor_free(&table), tensor_free(&dy), tensor_free(&sum);
}

static void check_embedding_shapes(struct place_context *context) {
    over_shapes(context, check_embedding);
    int32_t ids[6];
    CALL_OK(place_position_ids(context, 0, 6, 12, 4, 3, ids)); // the second block of 12
    const int32_t zigzag[6] = {12, 13, 14, 21, 22, 23};
    assert_memory_equal(ids, zigzag, sizeof ids);
    CALL_OK(place_position_ids(context, 0, 6, 40, 0, 0, ids));
    const int32_t expected[6] = {40, 41, 42, 43, 44, 45};
    assert_memory_equal(ids, expected, sizeof ids);
    double table[6] = {9, 9, 9, 9, 9, 9}, dy[2] = {1, 2};
    CALL_OK(place_embedding_backward(context, 0, PLACE_F64, PLACE_F64, 1, 1, 0, 2, ids, 39, 3, dy,
                                     table, 0));
    const double overwritten[6] = {0, 0, 1, 2, 0, 0};
    assert_close("overwritten", table, PLACE_F64, overwritten, 6, 0);
}

static void embeddings_agree_with_loops(void **state) {
    in_each_version(check_embedding_shapes);
}

/* ---- loss ---- */

static double naive_loss(int64_t rows, int64_t vocab, const double *logits, const int32_t *targets,
                         double *lse) {
    double loss = 0;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < vocab; i++)
            sum += exp(logits[row * vocab + i]);
        lse[row] = log(sum);
        loss += targets[row] < 0 ? 0 : lse[row] - logits[row * vocab + targets[row]];
    }
    return loss;
}

static void check_loss(struct place_context *context, int dtype, int64_t rows, int64_t vocab) {
    struct tensor logits = tensor_random(dtype, rows * vocab, 1);
    int32_t *targets = must(calloc((size_t)rows, sizeof(int32_t)));
    for (int64_t row = 0; row < rows; row++)
        targets[row] = row % 4 == 3 ? -1 : (int32_t)(row * 5 % vocab);
    double *lse = zeros_f64(rows), *gradient = zeros_f64(rows * vocab), loss = 10, count = 1,
           scale = 0.25;
    void *found = zeros_f64(rows);
    double expected = naive_loss(rows, vocab, logits.exact, targets, lse);
    for (int64_t i = 0; i < rows * vocab; i++) {
        int64_t row = i / vocab;
        double p = exp(logits.exact[i] - lse[row]) - (i % vocab == targets[row]);
        gradient[i] = targets[row] < 0 ? 0 : scale * p;
    }
    CALL_OK(
        place_cross_entropy(context, 0, dtype, rows, vocab, logits.data, targets, &loss, 1, found));
    assert_close("lse", found, dtype, lse, rows, tolerance_of(dtype));
    assert_true(fabs(loss - 10 - expected) <= tolerance_of(dtype) * (double)rows);
    CALL_OK(place_count_tokens(context, 0, rows, targets, &count, 1));
    assert_true(count == 1 + (double)(rows - rows / 4));
    CALL_OK(place_cross_entropy_backward(context, 0, dtype, rows, vocab, 0, logits.data, targets,
                                         found, &scale, logits.data));
    assert_close("dlogits", logits.data, dtype, gradient, rows * vocab, tolerance_of(dtype));
    free(targets), free(lse), free(gradient), free(found);
    tensor_free(&logits);
}

/* ---- loss by parts of the vocabulary ---- */

struct loss_case {
    struct place_context *context;
    int dtype;
    int64_t rows, vocab;
    struct tensor logits;
    int32_t *targets;
    void *shift, *sum, *picked, *part, *made;
};

/* Columns begin .. begin + count - 1 of the logits, side by side in `part`. */
static void take_columns(const struct loss_case *c, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < c->rows * count; i++)
        set_element(c->part, c->dtype, i,
                    element(c->logits.data, c->dtype, i / count * c->vocab + begin + i % count));
}

static void add_rows(const struct loss_case *c, void *to) {
    for (int64_t row = 0; row < c->rows; row++)
        set_element(to, c->dtype, row,
                    element(to, c->dtype, row) + element(c->made, c->dtype, row));
}

static void check_greatest(const struct loss_case *c) {
    CALL_OK(place_row_max(c->context, 0, c->dtype, c->rows, c->vocab, c->logits.data, c->shift));
    for (int64_t row = 0; row < c->rows; row++) {
        double greatest = -INFINITY;
        for (int64_t i = 0; i < c->vocab; i++)
            greatest = fmax(greatest, element(c->logits.data, c->dtype, row * c->vocab + i));
        assert_true(element(c->shift, c->dtype, row) == greatest);
    }
}

/* In blocks: of half of the columns it is a node of the tree. */
static void check_blocks_of_sum(struct place_context *context, int dtype, int64_t rows) {
    enum { BLOCK = 13, BLOCKS = 8, VOCAB = BLOCK * BLOCKS };
    struct loss_case c = {.context = context, .dtype = dtype, .rows = rows, .vocab = VOCAB};
    c.logits = tensor_random(dtype, rows * VOCAB, 1);
    void **scratch[] = {&c.shift, &c.sum, &c.picked, &c.part, &c.made};
    for (int i = 0; i < 5; i++)
        *scratch[i] = zeros_f64(rows * VOCAB);
    CALL_OK(place_sum_exp(context, 0, dtype, rows, VOCAB, BLOCK, c.logits.data, c.shift, c.sum));
    for (int half = 0; half < 2; half++) {
        take_columns(&c, half * VOCAB / 2, VOCAB / 2);
        CALL_OK(place_sum_exp(context, 0, dtype, rows, VOCAB / 2, BLOCK, c.part, c.shift, c.made));
        CALL_OK(place_accumulate(context, 0, dtype, dtype, rows, c.picked, c.made));
    }
    assert_memory_equal(c.sum, c.picked, (size_t)rows * (dtype == PLACE_F64 ? 8 : 4));
    /* in more than are summed, in 4 with some left over, in 13 */
    for (int i = 0; i < 3; i++)
        assert_refused(context, place_sum_exp(context, 0, dtype, rows, VOCAB, (int[]){1, 25, 8}[i],
                                              c.logits.data, c.shift, c.sum));
    for (int i = 0; i < 5; i++)
        free(*scratch[i]);
    tensor_free(&c.logits);
}

static void add_part(const struct loss_case *c, int64_t begin, int64_t count) {
    take_columns(c, begin, count);
    CALL_OK(
        place_sum_exp(c->context, 0, c->dtype, c->rows, count, count, c->part, c->shift, c->made));
    add_rows(c, c->sum);
    CALL_OK(
        place_pick(c->context, 0, c->dtype, c->rows, count, begin, c->part, c->targets, c->made));
    add_rows(c, c->picked);
}

static void check_part_backward(const struct loss_case *c, const double *lse, int64_t begin,
                                int64_t count) {
    double *expected = zeros_f64(c->rows * count), scale = 0.25;
    for (int64_t i = 0; i < c->rows * count; i++) {
        int64_t row = i / count, column = begin + i % count;
        double p = exp(c->logits.exact[row * c->vocab + column] - lse[row]);
        expected[i] = c->targets[row] < 0 ? 0 : scale * (p - (column == c->targets[row]));
    }
    take_columns(c, begin, count);
    CALL_OK(place_cross_entropy_backward(c->context, 0, c->dtype, c->rows, count, begin, c->part,
                                         c->targets, c->sum, &scale, c->made));
    assert_close("part of dlogits", c->made, c->dtype, expected, c->rows * count,
                 tolerance_of(c->dtype));
    free(expected);
}

/* Statistics of three uneven parts, put together, are the whole's. */
static void check_parts(struct place_context *context, int dtype, int64_t rows, int64_t vocab) {
    struct loss_case c = {.context = context, .dtype = dtype, .rows = rows, .vocab = vocab};
    c.logits = tensor_random(dtype, rows * vocab, 1);
    void **scratch[] = {&c.shift, &c.sum, &c.picked, &c.part, &c.made};
    for (int i = 0; i < 5; i++)
        *scratch[i] = zeros_f64(rows * vocab);
    c.targets = must(calloc((size_t)rows, sizeof(int32_t)));
    for (int64_t row = 0; row < rows; row++)
        c.targets[row] = row % 4 == 3 ? -1 : (int32_t)(row * 5 % vocab);
    double *lse = zeros_f64(rows), loss = 10;
    double expected = naive_loss(rows, vocab, c.logits.exact, c.targets, lse);
    int64_t size = vocab / 3 + 1;
    check_greatest(&c);
    for (int64_t begin = 0; begin < vocab; begin += size)
        add_part(&c, begin, vocab - begin < size ? vocab - begin : size);
    for (int64_t row = 0; row < rows; row++)
        set_element(c.sum, dtype, row,
                    log(element(c.sum, dtype, row)) + element(c.shift, dtype, row));
    assert_close("lse", c.sum, dtype, lse, rows, tolerance_of(dtype));
    CALL_OK(place_token_loss(context, 0, dtype, rows, 1, 0, c.sum, c.picked, c.targets, &loss, 1));
    assert_true(fabs(loss - 10 - expected) <= tolerance_of(dtype) * (double)rows);
    for (int64_t begin = 0; begin < vocab; begin += size)
        check_part_backward(&c, lse, begin, vocab - begin < size ? vocab - begin : size);
    for (int i = 0; i < 5; i++)
        free(*scratch[i]);
    free(c.targets), free(lse);
    tensor_free(&c.logits);
}

static void check_loss_shapes(struct place_context *context) {
    over_shapes(context, check_loss);
    over_shapes(context, check_parts);
    check_blocks_of_sum(context, PLACE_F32, 5);
    check_blocks_of_sum(context, PLACE_F64, 5);
    float logits[2] = {1e4f, -1e4f}, lse;
    int32_t target = 1;
    double loss = 0;
    CALL_OK(place_cross_entropy(context, 0, PLACE_F32, 1, 2, logits, &target, &loss, 0, &lse));
    assert_true(loss == 2e4); /* no overflow on the way */
    target = 2;
    assert_refused(
        context, place_cross_entropy(context, 0, PLACE_F32, 1, 2, logits, &target, &loss, 0, &lse));
}

static void loss_agrees_with_loops(void **state) {
    in_each_version(check_loss_shapes);
}

/* ---- sums and copies ---- */

static void check_sums(struct place_context *context, int dtype, int64_t rows, int64_t columns) {
    int64_t count = rows * columns;
    struct tensor x = tensor_random(dtype, count, 1), y = tensor_random(dtype, columns, 2);
    struct tensor z = tensor_random(dtype, count, 3), w = tensor_random(dtype, rows, 4);
    double square = 3, found = 3;
    memset(w.exact, 0, (size_t)rows * sizeof *w.exact);
    for (int64_t i = 0; i < count; i++) {
        w.exact[i / columns] += x.exact[i];
        y.exact[i % columns] += x.exact[i];
        z.exact[i] += x.exact[i];
        square += x.exact[i] * x.exact[i];
    }
    CALL_OK(place_sum_rows(context, 0, dtype, dtype, rows, 1, 0, columns, x.data, y.data, 1));
    assert_close("sum_rows", y.data, dtype, y.exact, columns, tolerance_of(dtype) * 10);
    CALL_OK(place_sum_columns(context, 0, dtype, rows, columns, 1, 0, x.data, w.data));
    assert_close("sum_columns", w.data, dtype, w.exact, rows, tolerance_of(dtype) * 10);
    CALL_OK(place_accumulate(context, 0, dtype, dtype, count, z.data, x.data));
    assert_close("accumulate", z.data, dtype, z.exact, count, tolerance_of(dtype));
    CALL_OK(place_square_sum(context, 0, dtype, count, x.data, &found, 1));
    assert_true(fabs(found - square) < 1e-9 * square);
    CALL_OK(place_square_sum(context, 0, dtype, count, x.data, &found, 0));
    assert_true(fabs(found + 3 - square) < 1e-9 * square);
    tensor_free(&x), tensor_free(&y), tensor_free(&z), tensor_free(&w);
}

/* In blocks that lie in two parts each: of half of the blocks it is a node of the tree. */
static void check_columns_in_blocks(struct place_context *context, int dtype) {
    enum { ROWS = 5, PARTS = 2, BLOCKS = 8, LENGTH = 13, COLUMNS = PARTS * BLOCKS * LENGTH };
    enum { HALF = COLUMNS / PARTS / 2 };
    size_t size = dtype == PLACE_F64 ? 8 : 4;
    struct tensor x = tensor_random(dtype, (int64_t)ROWS * COLUMNS, 1);
    double *half = zeros_f64(ROWS * COLUMNS), *whole = zeros_f64(ROWS), *sum = zeros_f64(ROWS),
           *made = zeros_f64(ROWS);
    CALL_OK(place_sum_columns(context, 0, dtype, ROWS, COLUMNS, PARTS, BLOCKS, x.data, whole));
    for (int64_t which = 0; which < 2; which++) {
        for (int64_t i = 0; i < ROWS * PARTS; i++)
            memcpy((char *)half + (size_t)(i * HALF) * size,
                   (char *)x.data + (size_t)((i * 2 + which) * HALF) * size, HALF * size);
        CALL_OK(
            place_sum_columns(context, 0, dtype, ROWS, COLUMNS / 2, PARTS, BLOCKS / 2, half, made));
        CALL_OK(place_accumulate(context, 0, dtype, dtype, ROWS, sum, made));
    }
    assert_memory_equal(whole, sum, ROWS * size);
    for (int i = 0; i < 2; i++) /* three blocks, or elements that are left over */
        assert_refused(context, place_sum_columns(context, 0, dtype, ROWS, (int[]){12, 9}[i], 1,
                                                  (int[]){3, 2}[i], half, made));
    free(half), free(whole), free(sum), free(made);
    tensor_free(&x);
}

static void check_sum_shapes(struct place_context *context) {
    over_shapes(context, check_sums);
    check_columns_in_blocks(context, PLACE_F32);
    check_columns_in_blocks(context, PLACE_F64);
}

static void sums_agree_with_loops(void **state) {
    in_each_version(check_sum_shapes);
}

static double sum_of(struct place_context *context, const double *bins) {
    double sum;
    CALL_OK(place_bin_sum(context, 0, bins, &sum));
    return sum;
}

/* Numbers of all magnitudes, so that parts of the array fill other bins than the whole. */
static void spread(struct tensor *x, int dtype, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double scaled = ldexp(x->exact[i], (int)(i * 7 % 61) - 30 + (i % 250 == 0 ? 20 : 0));
        if (dtype == PLACE_F64)
            ((double *)x->data)[i] = scaled;
        else
            ((float *)x->data)[i] = (float)scaled;
        x->exact[i] = dtype == PLACE_F64 ? scaled : (double)(float)scaled;
    }
}

/* However an array is cut, and whatever is summed first. What stands behind it counts as zeros. */
static void squares_of_parts_join_to_those_of_the_whole(struct place_context *context) {
    enum { COUNT = 70003, PADDED = 70016 };
    static const int64_t cuts[][3] = {{1, 2, 3}, {511, 512, 40000}, {7, 1000, 69999}};
    static double whole[PLACE_SQUARE_BINS], part[PLACE_SQUARE_BINS], all[PLACE_SQUARE_BINS];
    for (int dtype = PLACE_F32; dtype <= PLACE_F64; dtype++) {
        struct tensor x = tensor_random(dtype, PADDED, 1);
        int64_t bytes = dtype == PLACE_F64 ? 8 : 4;
        double exact = 0;
        spread(&x, dtype, COUNT);
        memset((char *)x.data + COUNT * bytes, 0, (size_t)((PADDED - COUNT) * bytes));
        for (int64_t i = 0; i < COUNT; i++)
            exact += x.exact[i] * x.exact[i];
        CALL_OK(place_square_bins(context, 0, dtype, COUNT, x.data, whole));
        assert_true(fabs(sum_of(context, whole) - exact) < 1e-12 * exact);
        for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
            memset(all, 0, sizeof all);
            for (int i = 3; i >= 0; i--) {
                int64_t begin = i ? cuts[k][i - 1] : 0, end = i < 3 ? cuts[k][i] : PADDED;
                CALL_OK(place_square_bins(context, 0, dtype, end - begin,
                                          (char *)x.data + begin * bytes, part));
                for (int j = 0; j < PLACE_SQUARE_BINS; j++)
                    all[j] += part[j];
            }
            assert_true(sum_of(context, all) == sum_of(context, whole));
        }
        tensor_free(&x);
    }
}

/* What is no number, or too large, or nothing at all. */
static void squares_without_a_sum(struct place_context *context) {
    static double bins[PLACE_SQUARE_BINS];
    double x[] = {3, 1e200, 4, 0};
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 4, x, bins));
    assert_true(isinf(sum_of(context, bins)));
    x[1] = NAN;
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 4, x, bins));
    assert_true(isnan(sum_of(context, bins)));
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 1, &x[3], bins));
    assert_true(sum_of(context, bins) == 0);
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 0, x, bins));
    assert_true(sum_of(context, bins) == 0);
}

/* Squares just within the range of bins, of which some together are beyond it, are summed like any
 * others; what is beyond it alone is infinite, whatever stands beside it. */
static void squares_at_the_end_of_the_range(struct place_context *context) {
    enum { COUNT = 1024 };
    static double bins[PLACE_SQUARE_BINS], part[PLACE_SQUARE_BINS], x[64 * COUNT];
    for (int i = 0; i < 64 * COUNT; i++)
        x[i] = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = ldexp(1 + i * 0x1p-12, 479); /* all in the first pieces of the array */
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 64 * COUNT, x, bins));
    for (int i = 0; i < COUNT; i += 2) {
        CALL_OK(place_square_bins(context, 0, PLACE_F64, 2, &x[i], part));
        for (int j = 0; j < PLACE_SQUARE_BINS; j++)
            bins[j] -= part[j];
    }
    for (int j = 0; j < PLACE_SQUARE_BINS; j++)
        assert_true(bins[j] == 0);
    x[1] = 0x1p480;
    CALL_OK(place_square_bins(context, 0, PLACE_F64, 2, x, bins));
    assert_true(isinf(sum_of(context, bins)));
}

static void squares_in_bins(void **state) {
    in_each_version(squares_of_parts_join_to_those_of_the_whole);
    in_each_version(squares_without_a_sum);
    in_each_version(squares_at_the_end_of_the_range);
}

/* Behind microbatch 2^levels - 1 the sum is a tree over all, of neighbours first. */
static void carried(struct place_context *context) {
    enum { COUNT = 777, LEVELS = 3, N = 1 << LEVELS };
    struct tensor terms[N], sum = tensor_random(PLACE_F32, COUNT, 1), kept[LEVELS];
    for (int i = 0; i < N; i++)
        terms[i] = tensor_random(PLACE_F32, COUNT, 10 + i);
    for (int level = 0; level < LEVELS; level++)
        kept[level] = tensor_random(PLACE_F32, COUNT, 50);
    for (int j = 0; j < N; j++) {
        double microbatch = j;
        memcpy(sum.data, terms[j].data, COUNT * sizeof(float));
        for (int level = 0; level < LEVELS; level++)
            CALL_OK(place_carry(context, 0, PLACE_F32, COUNT, level, kept[level].data, sum.data,
                                &microbatch));
    }
    for (int width = 1; width < N; width *= 2)
        for (int i = 0; i < N; i += 2 * width)
            for (int k = 0; k < COUNT; k++)
                ((float *)terms[i].data)[k] += ((float *)terms[i + width].data)[k];
    assert_memory_equal(sum.data, terms[0].data, COUNT * sizeof(float));
    for (int i = 0; i < N; i++)
        tensor_free(&terms[i]);
    for (int level = 0; level < LEVELS; level++)
        tensor_free(&kept[level]);
    tensor_free(&sum);
}

static void sums_are_carried(void **state) {
    in_each_version(carried);
}

static void copies_and_conversions(void **state) {
    enum { COUNT = 40000 };
    struct place_context *context = context_of_this_cpu(2);
    double *x = random_f64(COUNT, 1), *y = zeros_f64(COUNT), *wide = zeros_f64(COUNT);
    float *narrow = must(calloc(COUNT, sizeof(float)));
    CALL_OK(place_copy(context, 0, COUNT * 8, y, x));
    assert_memory_equal(x, y, COUNT * 8);
    CALL_OK(place_cast(context, 0, PLACE_F64, PLACE_F32, COUNT, narrow, x));
    CALL_OK(place_cast(context, 0, PLACE_F32, PLACE_F64, COUNT, wide, narrow));
    for (int i = 0; i < COUNT; i++)
        assert_true(narrow[i] == (float)x[i] && wide[i] == (double)narrow[i]);
    assert_refused(context, place_cast(context, 0, PLACE_F32, PLACE_I32, 1, wide, narrow));
    CALL_OK(place_fill_zero(context, 0, (COUNT - 1) * 8, y));
    assert_true(y[0] == 0 && y[COUNT - 2] == 0 && y[COUNT - 1] == x[COUNT - 1]);
    CALL_OK(place_copy_rows(context, 0, 3, 2, y, 2, "abcdefghijkl", 4));
    assert_memory_equal(y, "abefij", 6);
    free(x), free(y), free(wide), free(narrow);
    context_free(context);
}

static void teams_give_equal_bits(void **state) {
    enum { ROWS = 1000, COLUMNS = 333 };
    struct place_context *one = context_of_this_cpu(1), *two = context_of_this_cpu(2);
    struct tensor x = tensor_random(PLACE_F32, ROWS * COLUMNS, 1),
                  gain = tensor_random(PLACE_F32, COLUMNS, 2);
    struct tensor stats = tensor_random(PLACE_F32, ROWS, 3);
    float results[2][COLUMNS * 3];
    double squares[2];
    for (int i = 0; i < 2; i++) {
        struct place_context *context = i == 0 ? one : two;
        CALL_OK(place_sum_rows(context, 0, PLACE_F32, PLACE_F32, ROWS, 1, 0, COLUMNS, x.data,
                               results[i], 0));
        CALL_OK(place_layer_norm_backward(context, 0, PLACE_F32, PLACE_F32, PLACE_F32, ROWS, 1, 0,
                                          COLUMNS, x.data, gain.data, stats.data, stats.data,
                                          x.data, NULL, results[i] + COLUMNS,
                                          results[i] + 2 * COLUMNS, 0));
        CALL_OK(place_square_sum(context, 0, PLACE_F32, ROWS * COLUMNS, x.data, &squares[i], 0));
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    assert_true(squares[0] == squares[1]);
    tensor_free(&x), tensor_free(&gain), tensor_free(&stats);
    context_free(one), context_free(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_agree_with_loops),
        cmocka_unit_test(norm_gradients_agree_with_differences),
        cmocka_unit_test(float_norm_gradients_agree_with_double),
        cmocka_unit_test(embeddings_agree_with_loops),
        cmocka_unit_test(loss_agrees_with_loops),
        cmocka_unit_test(sums_agree_with_loops),
        cmocka_unit_test(squares_in_bins),
        cmocka_unit_test(sums_are_carried),
        cmocka_unit_test(copies_and_conversions),
        cmocka_unit_test(teams_give_equal_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
