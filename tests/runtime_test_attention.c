/* Attention and rotary positions against plain loops, in 16 bits within what rounding takes, the
 * backward pass against differences of the forward pass, over shapes with tails in every dimension,
 * in every version, and with the same bits on one thread and two. */
#include "runtime_kernel_fixture.h"
#include "sample.h"

/* Where positions jump, the second half stands `jump` further; REVERSED: the last comes first. */
enum { REVERSED = -1 };

struct shape {
    int64_t batch, queries, keys, kv_heads, group, head_dim, query_start, key_start, query_jump,
        key_jump;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {2, 5, 5, 2, 3, 4, 0, 0, 0, 0},
    {1, 70, 70, 1, 2, 8, 0, 0, 0, 0},
    {1, 128, 128, 1, 1, 64, 0, 0, 0, 0},
    {1, 65, 130, 2, 1, 20, 65, 0, 0, 0},
    {1, 33, 64, 1, 1, 16, 20, 0, 0, 0},
    {1, 40, 70, 1, 1, 6, 10, 30, 0, 0},
    {2, 129, 129, 1, 2, 33, 0, 0, 0, 0},
    {1, 64, 200, 1, 1, 96, 100, 5, 0, 0},
    {1, 10, 10, 1, 1, 256, 1000, 991, 0, 0},
    {1, 20, 69, 1, 1, 64, 100, 0, 0, 0},
    /* Chunks of both ends before chunks of both ends: the queries' own, further in, further out. */
    {1, 128, 128, 1, 1, 16, 64, 64, 192, 192},
    {1, 132, 132, 2, 1, 8, 66, 132, 264, 132},
    {2, 100, 100, 1, 2, 12, 100, 0, 100, 300},
    {1, 30, 70, 1, 1, 4, 17, 3, 40, 9},
    {1, 20, 9, 1, 1, 8, 0, 4, REVERSED, REVERSED},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static int64_t query_count(const struct shape *s) {
    return s->batch * s->queries * s->kv_heads * s->group;
}

static int64_t key_count(const struct shape *s) {
    return s->batch * s->keys * s->kv_heads;
}

static double dot(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static int64_t position_of(int64_t start, int64_t jump, int64_t count, int64_t i) {
    if (jump == REVERSED)
        return start + count - 1 - i;
    return start + i + (i < count / 2 ? 0 : jump);
}

static bool sees(const struct shape *s, int64_t query, int64_t key) {
    return position_of(s->key_start, s->key_jump, s->keys, key) <=
           position_of(s->query_start, s->query_jump, s->queries, query);
}

/* Null where they follow one another. */
static int32_t *positions_of(int64_t start, int64_t jump, int64_t count) {
    int32_t *positions = jump ? must(calloc((size_t)count, sizeof *positions)) : NULL;
    for (int64_t i = 0; i < count && positions; i++)
        positions[i] = (int32_t)position_of(start, jump, count, i);
    return positions;
}

static void naive_query(const struct shape *s, const double *q, const double *k, const double *v,
                        int64_t query, double scale, double *o, double *lse) {
    double weights[256], greatest = -INFINITY, sum = 0;
    int64_t stride = s->kv_heads * s->head_dim;
    for (int64_t j = 0; j < s->keys; j++) {
        weights[j] = sees(s, query, j) ? scale * dot(q, k + j * stride, s->head_dim) : -INFINITY;
        greatest = fmax(greatest, weights[j]);
    }
    for (int64_t j = 0; j < s->keys; j++)
        sum += weights[j] = greatest > -INFINITY ? exp(weights[j] - greatest) : 0;
    memset(o, 0, sizeof(double) * (size_t)s->head_dim);
    for (int64_t j = 0; j < s->keys && sum > 0; j++)
        for (int64_t d = 0; d < s->head_dim; d++)
            o[d] += weights[j] / sum * v[j * stride + d];
    *lse = sum > 0 ? greatest + log(sum) : -INFINITY;
}

static void naive_attention(const struct shape *s, const double *q, const double *k,
                            const double *v, double scale, double *o, double *lse) {
    int64_t heads = s->kv_heads * s->group;
    for (int64_t i = 0; i < query_count(s); i++) {
        int64_t head = i % heads, position = i / heads % s->queries,
                sequence = i / heads / s->queries;
        int64_t at = (sequence * s->keys * s->kv_heads + head / s->group) * s->head_dim;
        naive_query(s, q + i * s->head_dim, k + at, v + at, position, scale, o + i * s->head_dim,
                    lse + i);
    }
}

static double scale_of(const struct shape *s) {
    return 1 / sqrt((double)s->head_dim);
}

static void forward(struct place_context *context, int dtype, const struct shape *s, const void *q,
                    const void *k, const void *v, void *o, void *lse) {
    int32_t *queries = positions_of(s->query_start, s->query_jump, s->queries);
    int32_t *keys = positions_of(s->key_start, s->key_jump, s->keys);
    CALL_OK(place_attention(context, 0, dtype, dtype, s->batch, s->queries, s->keys, s->kv_heads,
                            s->group, s->head_dim, q, k, v, queries, s->query_start, keys,
                            s->key_start, scale_of(s), o, lse));
    free(queries), free(keys);
}

/* All bits set, which is a NaN of either type: results are overwritten, all of them. */
static void *nans(int64_t count) {
    double *x = zeros_f64(count);
    memset(x, 0xff, sizeof *x * (size_t)count);
    return x;
}

static void check_forward(struct place_context *context, int dtype, const struct shape *s) {
    int64_t queries = query_count(s), dim = s->head_dim;
    struct tensor q = tensor_random(dtype, queries * dim, 1);
    struct tensor k = tensor_random(dtype, key_count(s) * dim, 2);
    struct tensor v = tensor_random(dtype, key_count(s) * dim, 3);
    double *o = zeros_f64(queries * dim), *lse = zeros_f64(queries);
    void *o_found = nans(queries * dim), *lse_found = nans(queries);
    naive_attention(s, q.exact, k.exact, v.exact, scale_of(s), o, lse);
    forward(context, dtype, s, q.data, k.data, v.data, o_found, lse_found);
    assert_close("o", o_found, dtype, o, queries * dim, tolerance_of(dtype));
    for (int64_t i = 0; i < queries; i++)
        assert_true(element(lse_found, dtype, i) == lse[i] ||
                    fabs(element(lse_found, dtype, i) - lse[i]) < tolerance_of(dtype) * 10);
    free(o), free(lse), free(o_found), free(lse_found);
    tensor_free(&q), tensor_free(&k), tensor_free(&v);
}

static void check_forward_shapes(struct place_context *context) {
    for (int i = 0; i < SHAPES; i++)
        for (int type = 0; type < 2; type++)
            check_forward(context, real_types[type], &shapes[i]);
}

static void attention_agrees_with_loops(void **state) {
    in_each_version(check_forward_shapes);
}

/* Gradients of sum(weight * o), from the formulas in plain loops. */
static void naive_backward(const struct shape *s, const double *q, const double *k, const double *v,
                           const double *d_o, double *dq, double *dk, double *dv) {
    int64_t heads = s->kv_heads * s->group, dim = s->head_dim, stride = s->kv_heads * dim;
    double *o = zeros_f64(query_count(s) * dim), *lse = zeros_f64(query_count(s)),
           scale = scale_of(s);
    naive_attention(s, q, k, v, scale, o, lse);
    for (int64_t i = 0; i < query_count(s); i++) {
        int64_t head = i % heads, position = i / heads % s->queries,
                sequence = i / heads / s->queries;
        int64_t at = (sequence * s->keys * s->kv_heads + head / s->group) * dim;
        double delta = dot(o + i * dim, d_o + i * dim, dim);
        for (int64_t j = 0; j < s->keys; j++, at += stride) {
            if (!sees(s, position, j))
                continue;
            double p = exp(scale * dot(q + i * dim, k + at, dim) - lse[i]);
            double ds = p * (dot(d_o + i * dim, v + at, dim) - delta) * scale;
            for (int64_t d = 0; d < dim; d++) {
                dq[i * dim + d] += ds * k[at + d];
                dk[at + d] += ds * q[i * dim + d];
                dv[at + d] += p * d_o[i * dim + d];
            }
        }
    }
    free(o), free(lse);
}

/* All results of one backward call. */
struct gradients {
    void *dq, *dk, *dv;
};

static struct gradients backward(struct place_context *context, int dtype, const struct shape *s,
                                 const void *q, const void *k, const void *v, const void *d_o) {
    int64_t queries = query_count(s), dim = s->head_dim;
    void *o = zeros_f64(queries * dim), *lse = zeros_f64(queries);
    struct gradients g = {nans(queries * dim), nans(key_count(s) * dim), nans(key_count(s) * dim)};
    forward(context, dtype, s, q, k, v, o, lse);
    int32_t *query_positions = positions_of(s->query_start, s->query_jump, s->queries);
    int32_t *key_positions = positions_of(s->key_start, s->key_jump, s->keys);
    CALL_OK(place_attention_backward(context, 0, dtype, dtype, dtype, dtype, dtype, dtype, s->batch,
                                     s->queries, 0, s->keys, s->kv_heads, s->group, dim, q, k, v, o,
                                     lse, d_o, query_positions, s->query_start, key_positions,
                                     s->key_start, scale_of(s), g.dq, g.dk, g.dv));
    free(o), free(lse), free(query_positions), free(key_positions);
    return g;
}

static void gradients_free(struct gradients *g) {
    free(g->dq), free(g->dk), free(g->dv);
}

static void check_backward(struct place_context *context, int dtype, const struct shape *s) {
    int64_t queries = query_count(s) * s->head_dim, keys = key_count(s) * s->head_dim;
    struct tensor q = tensor_random(dtype, queries, 1), k = tensor_random(dtype, keys, 2);
    struct tensor v = tensor_random(dtype, keys, 3), d_o = tensor_random(dtype, queries, 4);
    double *dq = zeros_f64(queries), *dk = zeros_f64(keys), *dv = zeros_f64(keys);
    naive_backward(s, q.exact, k.exact, v.exact, d_o.exact, dq, dk, dv);
    struct gradients g = backward(context, dtype, s, q.data, k.data, v.data, d_o.data);
    assert_close("dq", g.dq, dtype, dq, queries, tolerance_of(dtype));
    assert_close("dk", g.dk, dtype, dk, keys, tolerance_of(dtype));
    assert_close("dv", g.dv, dtype, dv, keys, tolerance_of(dtype));
    free(dq), free(dk), free(dv);
    gradients_free(&g);
    tensor_free(&q), tensor_free(&k), tensor_free(&v), tensor_free(&d_o);
}

static void check_backward_shapes(struct place_context *context) {
    for (int i = 0; i < SHAPES; i++)
        for (int type = 0; type < 2; type++)
            check_backward(context, real_types[type], &shapes[i]);
}

static void gradients_agree_with_loops(void **state) {
    in_each_version(check_backward_shapes);
}

/* ---- 16 bits ---- */

/* Results, and how far off they may be before each is rounded to its type. */
struct narrow_case {
    const struct shape *s;
    double rounding; /* of what is multiplied: relative, 0 where that is singles */
    double *q, *k, *v, *d_o, *o, *lse;
    double *dq, *dk, *dv, *o_off, *dq_off, *dk_off, *dv_off;
};

static double probability_of(const struct narrow_case *c, int64_t query, int64_t key) {
    int64_t dim = c->s->head_dim;
    double score = scale_of(c->s) * dot(c->q + query * dim, c->k + key * dim, dim);
    return exp(score - c->lse[query]);
}

/* Both a probability and the sum that it is divided by are rounded. */
static void bound_forward(const struct narrow_case *c, int64_t query, int64_t key) {
    double p = probability_of(c, query, key);
    int64_t dim = c->s->head_dim;
    for (int64_t d = 0; d < dim; d++)
        c->o_off[query * dim + d] += (2 * c->rounding + 1e-4) * p * fabs(c->v[key * dim + d]);
}

/* The kernel reads o as it was made and rounded, so what its dot product with d_o is off by goes to
 * every gradient of a score. These are rounded, too. */
static void bound_backward(const struct narrow_case *c, struct format f, int64_t query,
                           int64_t key) {
    int64_t dim = c->s->head_dim;
    const double *o = c->o + query * dim, *d_o = c->d_o + query * dim, *v = c->v + key * dim;
    double p = probability_of(c, query, key), ds = p * scale_of(c->s), off = 0, size = 0;
    for (int64_t d = 0; d < dim; d++) {
        off += (c->o_off[query * dim + d] + format_unit(f, o[d])) * fabs(d_o[d]);
        size += fabs(d_o[d] * v[d]) + fabs(o[d] * d_o[d]);
    }
    double ds_off = ds * (off + 1e-4 * size);
    ds *= dot(d_o, v, dim) - dot(o, d_o, dim);
    ds_off += 2 * c->rounding * (fabs(ds) + ds_off);
    for (int64_t d = 0; d < dim; d++) {
        c->dq_off[query * dim + d] += (ds_off + 1e-4 * fabs(ds)) * fabs(c->k[key * dim + d]);
        c->dk_off[key * dim + d] += (ds_off + 1e-4 * fabs(ds)) * fabs(c->q[query * dim + d]);
        c->dv_off[key * dim + d] += (2 * c->rounding + 1e-4) * p * fabs(d_o[d]);
    }
}

static void for_each_seen(const struct narrow_case *c, struct format f, bool backward) {
    int64_t heads = c->s->kv_heads * c->s->group;
    for (int64_t query = 0; query < query_count(c->s); query++)
        for (int64_t key = 0; key < c->s->keys; key++) {
            int64_t sequence = query / heads / c->s->queries, head = query % heads / c->s->group;
            int64_t row = (sequence * c->s->keys + key) * c->s->kv_heads + head;
            if (!sees(c->s, query / heads % c->s->queries, key))
                continue;
            if (backward)
                bound_backward(c, f, query, row);
            else
                bound_forward(c, query, row);
        }
}

static void assert_within(const char *what, int dtype, const void *found, const double *exact,
                          const double *off, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double x = element(found, dtype, i), unit = format_unit(format_of(dtype), x);
        if (!(fabs(x - exact[i]) <= off[i] + unit))
            fail_msg("%s[%lld] of type %d is %g, not %g, which is off by more than %g", what,
                     (long long)i, dtype, x, exact[i], off[i]);
    }
}

/* Leaves what is no number in the memory of the thread. */
static void attend_to_nothing(struct place_context *context, int dtype) {
    const struct shape s = {1, 128, 128, 1, 1, 64, 0, 0, 0, 0};
    void *x = nans(query_count(&s) * s.head_dim);
    struct gradients g = backward(context, dtype, &s, x, x, x, x);
    gradients_free(&g);
    free(x);
}

static void set_all(struct tensor *t, int dtype, double x) {
    for (int64_t i = 0; i < t->count; i++)
        set_element(t->data, dtype, i, t->exact[i] = x);
}

/* `far`: scores are such that an exponential of less is infinite. */
static void check_narrow(struct place_context *context, int dtype, const struct shape *s,
                         bool far) {
    int64_t queries = query_count(s) * s->head_dim, keys = key_count(s) * s->head_dim;
    struct tensor q = tensor_random(dtype, queries, 1), k = tensor_random(dtype, keys, 2);
    if (far)
        set_all(&q, dtype, 4), set_all(&k, dtype, -4);
    attend_to_nothing(context, dtype);
    struct tensor v = tensor_random(dtype, keys, 3), d_o = tensor_random(dtype, queries, 4);
    bool rounds = dtype == PLACE_BF16 && context->kernels->has_pairs;
    struct narrow_case c = {.s = s,
                            .rounding = rounds ? 0x1p-8 : 0,
                            .q = q.exact,
                            .k = k.exact,
                            .v = v.exact,
                            .d_o = d_o.exact};
    double **of_queries[] = {&c.o, &c.lse, &c.dq, &c.o_off, &c.dq_off};
    double **of_keys[] = {&c.dk, &c.dv, &c.dk_off, &c.dv_off};
    for (int i = 0; i < 5; i++)
        *of_queries[i] = zeros_f64(queries);
    for (int i = 0; i < 4; i++)
        *of_keys[i] = zeros_f64(keys);
    naive_attention(s, c.q, c.k, c.v, scale_of(s), c.o, c.lse);
    naive_backward(s, c.q, c.k, c.v, c.d_o, c.dq, c.dk, c.dv);
    for_each_seen(&c, format_of(dtype), false);
    for_each_seen(&c, format_of(dtype), true);
    void *o = nans(queries), *lse = nans(queries);
    forward(context, dtype, s, q.data, k.data, v.data, o, lse);
    assert_within("o", dtype, o, c.o, c.o_off, queries);
    for (int64_t i = 0; i < query_count(s); i++)
        assert_true(((float *)lse)[i] == c.lse[i] ||
                    fabs(((float *)lse)[i] - c.lse[i]) < 1e-3 + c.rounding);
    struct gradients g = backward(context, dtype, s, q.data, k.data, v.data, d_o.data);
    assert_within("dq", dtype, g.dq, c.dq, c.dq_off, queries);
    assert_within("dk", dtype, g.dk, c.dk, c.dk_off, keys);
    assert_within("dv", dtype, g.dv, c.dv, c.dv_off, keys);
    gradients_free(&g);
    free(o), free(lse);
    for (int i = 0; i < 5; i++)
        free(*of_queries[i]);
    for (int i = 0; i < 4; i++)
        free(*of_keys[i]);
    tensor_free(&q), tensor_free(&k), tensor_free(&v), tensor_free(&d_o);
}

static void check_narrow_shapes(struct place_context *context) {
    int stride = sample_every() > 1 ? 3 : 1;
    for (int i = 0; i < SHAPES; i += stride)
        for (int far = 0; far < 2; far++) {
            check_narrow(context, PLACE_BF16, &shapes[i], far);
            check_narrow(context, PLACE_F16, &shapes[i], far);
        }
}

static void narrow_attention_agrees_with_loops(void **state) {
    in_each_version(check_narrow_shapes);
}

/* ---- differences ---- */

static double weighted_output(struct place_context *context, const struct shape *s, const double *q,
                              const double *k, const double *v, const double *weight) {
    double *o = zeros_f64(query_count(s) * s->head_dim), *lse = zeros_f64(query_count(s));
    forward(context, PLACE_F64, s, q, k, v, o, lse);
    double sum = dot(o, weight, query_count(s) * s->head_dim);
    free(o), free(lse);
    return sum;
}

/* Central difference in each element of x, which is one of q, k, v. */
static void check_differences(struct place_context *context, const struct shape *s,
                              double *const inputs[3], int which, int64_t count,
                              const double *weight, const double *gradient) {
    const double step = 1e-5;
    for (int64_t i = 0; i < count; i++) {
        double old = inputs[which][i];
        inputs[which][i] = old + step;
        double above = weighted_output(context, s, inputs[0], inputs[1], inputs[2], weight);
        inputs[which][i] = old - step;
        double below = weighted_output(context, s, inputs[0], inputs[1], inputs[2], weight);
        inputs[which][i] = old;
        assert_true(fabs((above - below) / (2 * step) - gradient[i]) < 1e-8);
    }
}

static void check_against_differences(struct place_context *context) {
    const struct shape s = {2, 5, 6, 2, 2, 6, 1, 0, 0, 0};
    int64_t queries = query_count(&s) * s.head_dim, keys = key_count(&s) * s.head_dim;
    double *const inputs[3] = {random_f64(queries, 5), random_f64(keys, 6), random_f64(keys, 7)};
    double *weight = random_f64(queries, 8);
    struct gradients g = backward(context, PLACE_F64, &s, inputs[0], inputs[1], inputs[2], weight);
    check_differences(context, &s, inputs, 0, queries, weight, g.dq);
    check_differences(context, &s, inputs, 1, keys, weight, g.dk);
    check_differences(context, &s, inputs, 2, keys, weight, g.dv);
    gradients_free(&g);
    free(inputs[0]), free(inputs[1]), free(inputs[2]), free(weight);
}

static void gradients_agree_with_differences(void **state) {
    in_each_version(check_against_differences);
}

static void teams_give_equal_bits_in(int dtype) {
    struct place_context *one = context_of_this_cpu(1), *two = context_of_this_cpu(2);
    const struct shape s = {2, 129, 129, 2, 2, 33, 0, 0, 0, 0};
    int64_t queries = query_count(&s) * s.head_dim, keys = key_count(&s) * s.head_dim;
    struct tensor q = tensor_random(dtype, queries, 1), k = tensor_random(dtype, keys, 2);
    struct tensor v = tensor_random(dtype, keys, 3), d_o = tensor_random(dtype, queries, 4);
    struct gradients a = backward(one, dtype, &s, q.data, k.data, v.data, d_o.data);
    struct gradients b = backward(two, dtype, &s, q.data, k.data, v.data, d_o.data);
    assert_memory_equal(a.dq, b.dq, (size_t)(width_of(dtype) * queries));
    assert_memory_equal(a.dk, b.dk, (size_t)(width_of(dtype) * keys));
    assert_memory_equal(a.dv, b.dv, (size_t)(width_of(dtype) * keys));
    gradients_free(&a), gradients_free(&b);
    tensor_free(&q), tensor_free(&k), tensor_free(&v), tensor_free(&d_o);
    context_free(one), context_free(two);
}

static void teams_give_equal_bits(void **state) {
    teams_give_equal_bits_in(PLACE_F32);
    teams_give_equal_bits_in(PLACE_BF16);
}

/* Attention over all keys is the merge of attentions over two parts of them, also where a query
 * sees no key of one part or of both; in place too. */
static void check_merge(struct place_context *context, int dtype, int64_t first) {
    struct shape all = {2, 70, 90, 1, 2, 20, 3, 10, 0, 0}, parts[2] = {all, all};
    parts[0].keys = first;
    parts[1].keys = all.keys - first;
    parts[1].key_start += first;
    all.batch = parts[0].batch = parts[1].batch = 1; /* so that a part of the keys is one stretch */
    int64_t queries = query_count(&all), dim = all.head_dim;
    struct tensor q = tensor_random(dtype, queries * dim, 1);
    struct tensor k = tensor_random(dtype, all.keys * dim, 2);
    struct tensor v = tensor_random(dtype, all.keys * dim, 3);
    double *o = zeros_f64(queries * dim), *lse = zeros_f64(queries);
    void *o_of[2], *lse_of[2];
    naive_attention(&all, q.exact, k.exact, v.exact, scale_of(&all), o, lse);
    for (int i = 0; i < 2; i++) {
        int64_t bytes = i * first * dim * (dtype == PLACE_F64 ? 8 : 4);
        o_of[i] = zeros_f64(queries * dim);
        lse_of[i] = zeros_f64(queries);
        forward(context, dtype, &parts[i], q.data, (char *)k.data + bytes, (char *)v.data + bytes,
                o_of[i], lse_of[i]);
    }
    CALL_OK(place_attention_merge(context, 0, dtype, queries, dim, o_of[0], lse_of[0], o_of[1],
                                  lse_of[1], o_of[0], lse_of[0]));
    assert_close("merged o", o_of[0], dtype, o, queries * dim, tolerance_of(dtype));
    for (int64_t i = 0; i < queries; i++)
        assert_true(element(lse_of[0], dtype, i) == lse[i] ||
                    fabs(element(lse_of[0], dtype, i) - lse[i]) < tolerance_of(dtype) * 10);
    free(o), free(lse), free(o_of[0]), free(o_of[1]), free(lse_of[0]), free(lse_of[1]);
    tensor_free(&q), tensor_free(&k), tensor_free(&v);
}

static void check_merges(struct place_context *context) {
    for (int type = 0; type < 2; type++) {
        check_merge(context, real_types[type], 1);
        check_merge(context, real_types[type], 64);
        check_merge(context, real_types[type], 89);
    }
}

static void parts_of_the_keys_merge(void **state) {
    in_each_version(check_merges);
}

static void oversized_heads_are_refused(void **state) {
    struct place_context *context = context_of_this_cpu(1);
    float x = 0;
    assert_refused(context, place_attention(context, 7, PLACE_F32, PLACE_F32, 1, 1, 1, 1, 1,
                                            PLACE_HEAD_DIM_LIMIT + 1, &x, &x, &x, NULL, 0, NULL, 0,
                                            1, &x, &x));
    assert_non_null(strstr(context->message, "statement 7"));
    context_free(context);
}

/* The definition, with Llama 3.1's scaling as its authors wrote it. */
static double frequency(int64_t pair, int64_t head_dim, double theta, double factor, double low,
                        double high, double original) {
    double f = pow(theta, -2.0 * (double)pair / (double)head_dim), wave = 2 * M_PI / f;
    if (factor == 1 || wave < original / high)
        return f;
    if (wave > original / low)
        return f / factor;
    double smooth = (original / wave - low) / (high - low);
    return (1 - smooth) * f / factor + smooth * f;
}

static void check_rope_type(struct place_context *context, int dtype, int64_t dim, double factor) {
    enum { BATCH = 2, SEQUENCE = 19, HEADS = 3, START = 4000 };
    int64_t count = BATCH * SEQUENCE * HEADS * dim, half = dim / 2;
    struct tensor x = tensor_random(dtype, count, 9);
    double *y = zeros_f64(count);
    void *found = zeros_f64(count);
    int32_t positions[SEQUENCE];
    for (int32_t i = 0; i < SEQUENCE; i++)
        positions[i] = START + i;
    for (int64_t i = 0; i < count; i++) {
        int64_t position = START + i / dim / HEADS % SEQUENCE, d = i % dim, pair = d % half;
        double angle = (double)position * frequency(pair, dim, 10000, factor, 1, 4, 8192);
        double other = d < half ? -x.exact[i + half] : x.exact[i - half];
        y[i] = x.exact[i] * cos(angle) + other * sin(angle);
    }
    CALL_OK(place_rope(context, 0, dtype, BATCH, SEQUENCE, HEADS, dim, x.data, NULL, START, 10000,
                       factor, 1, 4, 8192, 0, found));
    assert_close("rope", found, dtype, y, count, tolerance_of(dtype));
    CALL_OK(place_rope(context, 0, dtype, BATCH, SEQUENCE, HEADS, dim, found, positions, 0, 10000,
                       factor, 1, 4, 8192, 1, found));
    assert_close("rope back", found, dtype, x.exact, count, tolerance_of(dtype));
    free(y), free(found);
    tensor_free(&x);
}

static void check_rope(struct place_context *context) {
    static const int64_t dims[] = {2, 6, 64, 128};
    for (int i = 0; i < 4; i++)
        for (int type = 0; type < 2; type++) {
            check_rope_type(context, real_types[type], dims[i], 1);
            check_rope_type(context, real_types[type], dims[i], 8);
        }
}

static void rope_rotates_and_back(void **state) {
    in_each_version(check_rope);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees_with_loops),
        cmocka_unit_test(gradients_agree_with_loops),
        cmocka_unit_test(narrow_attention_agrees_with_loops),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(teams_give_equal_bits),
        cmocka_unit_test(parts_of_the_keys_merge),
        cmocka_unit_test(oversized_heads_are_refused),
        cmocka_unit_test(rope_rotates_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
