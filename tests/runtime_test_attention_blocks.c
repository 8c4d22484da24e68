/* Attention where sequences are in blocks: on one device and on several that have some of the
 * blocks of queries each, and all keys. What a query gets has the same bits whatever stands beside
 * it, and the gradients of keys and values are joined as collectives do, bit for bit. In every
 * version, on teams of one to three. */
#include "runtime_kernel_fixture.h"
#include "sample.h"
#include "runtime/transport/collective.h"

enum { MOST_DEVICES = 8 };

struct shape {
    int dtype;
    int64_t batch, blocks, length, kv_heads, group, head_dim;
    bool tiny;    /* of v and d_o parts are zeros, of either sign; bf16: of products with them */
    int64_t jump; /* of the sequence, the element in front of which positions jump; 0: none */
};

/* Queries from `first` on, and all keys; of the keys' gradients what these queries give. */
struct attention_case {
    int64_t first, queries;
    void *q, *k, *v, *o, *lse, *d_o, *dq, *dk, *dv;
};

/* Statistics, and sums that are joined before they are rounded. */
static int wide_type(const struct shape *s) {
    return is_narrow(s->dtype) ? PLACE_F32 : s->dtype;
}

static int64_t keys_of(const struct shape *s) {
    return s->blocks * s->length;
}

static int64_t query_elements(const struct shape *s, int64_t queries) {
    return s->batch * queries * s->kv_heads * s->group * s->head_dim;
}

static int64_t key_elements(const struct shape *s) {
    return s->batch * keys_of(s) * s->kv_heads * s->head_dim;
}

static void *numbers(const struct shape *s, int64_t count, uint64_t seed, bool tiny) {
    struct tensor t = tensor_random(s->dtype, count, seed);
    for (int64_t i = 0; i < count && tiny; i++)
        if (s->dtype == PLACE_F64)
            ((double *)t.data)[i] *= 4e-323;
        else if (is_narrow(s->dtype))
            set_element(t.data, s->dtype, i, 4e-38 * t.exact[i]);
        else
            ((float *)t.data)[i] *= 1e-44f;
    free(t.exact);
    return t.data;
}

/* All bits set, which is a NaN: results are overwritten, all of them. */
static void *nans(int64_t count) {
    return memset(zeros_f64(count), 0xff, sizeof(double) * (size_t)count);
}

/* Samples of queries of one of several devices, side by side. */
static void *part_of(const struct shape *s, const void *whole, int64_t bytes, int device,
                     int devices) {
    return part_of_device(whole, s->batch, keys_of(s) / devices * bytes, device, devices);
}

static struct attention_case case_of(const struct shape *s) {
    int64_t queries = query_elements(s, keys_of(s)), keys = key_elements(s);
    return (struct attention_case){.queries = keys_of(s),
                                   .q = numbers(s, queries, 1, false),
                                   .k = numbers(s, keys, 2, false),
                                   .v = numbers(s, keys, 3, s->tiny),
                                   .d_o = numbers(s, queries, 4, s->tiny)};
}

/* The positions of all elements of a sequence; null: they stand side by side. */
static int32_t *positions_of(const struct shape *s) {
    int32_t *positions = s->jump ? must(calloc((size_t)keys_of(s), sizeof *positions)) : NULL;
    for (int64_t i = 0; i < keys_of(s) && positions; i++)
        positions[i] = (int32_t)(i < s->jump ? i : i + 7);
    return positions;
}

/* Forward and backward. */
static void attend(struct place_context *context, const struct shape *s, struct attention_case *c) {
    int64_t queries = query_elements(s, c->queries), keys = key_elements(s);
    c->o = nans(queries), c->lse = nans(queries / s->head_dim);
    c->dq = nans(queries), c->dk = nans(keys), c->dv = nans(keys);
    int32_t *positions = positions_of(s), *own = positions ? positions + c->first : NULL;
    CALL_OK(place_attention(context, 0, s->dtype, s->dtype, s->batch, c->queries, keys_of(s),
                            s->kv_heads, s->group, s->head_dim, c->q, c->k, c->v, own, c->first,
                            positions, 0, 0.5, c->o, c->lse));
    CALL_OK(place_attention_backward(
        context, 0, s->dtype, s->dtype, s->dtype, s->dtype, wide_type(s), wide_type(s), s->batch,
        c->queries, c->queries / s->length, keys_of(s), s->kv_heads, s->group, s->head_dim, c->q,
        c->k, c->v, c->o, c->lse, c->d_o, own, c->first, positions, 0, 0.5, c->dq, c->dk, c->dv));
    free(positions);
}

static void free_results(struct attention_case *c) {
    free(c->o), free(c->lse), free(c->dq), free(c->dk), free(c->dv);
}

static void check_rows(const struct shape *s, const char *what, const void *whole, const void *own,
                       int64_t bytes, int device, int devices) {
    void *part = part_of(s, whole, bytes, device, devices);
    if (memcmp(part, own, (size_t)(s->batch * keys_of(s) / devices * bytes)) != 0)
        fail_msg("%s of device %d of %d differs: blocks of %lld, heads of %lld", what, device,
                 devices, (long long)s->length, (long long)s->head_dim);
    free(part);
}

static void check_joined(const struct shape *s, const char *what, const void *whole,
                         void *const *of_devices, int devices) {
    struct collective collective = {.dtype = wide_type(s)};
    void *joined = zeros_f64(key_elements(s));
    collective_reduce(&collective, joined, (const void *const *)of_devices, devices, 0,
                      key_elements(s), false);
    if (memcmp(joined, whole, (size_t)(key_elements(s) * width_of(wide_type(s)))) != 0)
        fail_msg("%s of %d devices differs: %lld blocks of %lld, heads of %lld", what, devices,
                 (long long)s->blocks, (long long)s->length, (long long)s->head_dim);
    free(joined);
}

static void check_devices(struct place_context *const teams[3], const struct shape *s,
                          const struct attention_case *whole, int devices) {
    int64_t heads = s->kv_heads * s->group, row = heads * s->head_dim * width_of(s->dtype);
    void *dk[MOST_DEVICES], *dv[MOST_DEVICES];
    for (int device = 0; device < devices; device++) {
        struct attention_case own = {.first = device * whole->queries / devices,
                                     .queries = whole->queries / devices,
                                     .k = whole->k,
                                     .v = whole->v};
        own.q = part_of(s, whole->q, row, device, devices);
        own.d_o = part_of(s, whole->d_o, row, device, devices);
        attend(teams[device % 3], s, &own);
        check_rows(s, "o", whole->o, own.o, row, device, devices);
        check_rows(s, "lse", whole->lse, own.lse, heads * width_of(wide_type(s)), device, devices);
        check_rows(s, "dq", whole->dq, own.dq, row, device, devices);
        dk[device] = own.dk, dv[device] = own.dv;
        own.dk = own.dv = NULL;
        free_results(&own);
        free(own.q), free(own.d_o);
    }
    check_joined(s, "dk", whole->dk, dk, devices);
    check_joined(s, "dv", whole->dv, dv, devices);
    for (int device = 0; device < devices; device++)
        free(dk[device]), free(dv[device]);
}

static void check_shape(struct place_context *const teams[3], const struct shape *s) {
    struct attention_case whole = case_of(s);
    for (int team = 0; team < 3; team++) {
        attend(teams[team], s, &whole);
        for (int devices = 1; devices <= s->blocks && devices <= MOST_DEVICES; devices *= 2)
            check_devices(&teams[0], s, &whole, devices);
        free_results(&whole);
    }
    free(whole.q), free(whole.k), free(whole.v), free(whole.d_o);
}

static const struct shape shapes[] = {
    {.batch = 1, .blocks = 8, .length = 1, .kv_heads = 1, .group = 1, .head_dim = 3},
    {.batch = 3, .blocks = 4, .length = 5, .kv_heads = 2, .group = 2, .head_dim = 7},
    {.batch = 1, .blocks = 8, .length = 16, .kv_heads = 2, .group = 1, .head_dim = 32},
    {.batch = 3, .blocks = 4, .length = 21, .kv_heads = 1, .group = 3, .head_dim = 20},
    {.batch = 1, .blocks = 2, .length = 64, .kv_heads = 1, .group = 1, .head_dim = 16},
    {.batch = 1, .blocks = 4, .length = 70, .kv_heads = 1, .group = 2, .head_dim = 9},
    {.batch = 1, .blocks = 2, .length = 130, .kv_heads = 1, .group = 1, .head_dim = 33},
    {.batch = 1, .blocks = 4, .length = 24, .kv_heads = 1, .group = 1, .head_dim = 256},
    {.batch = 1, .blocks = 4, .length = 30, .kv_heads = 1, .group = 1, .head_dim = 6, .jump = 47},
    {.batch = 1, .blocks = 64, .length = 1, .kv_heads = 1, .group = 1, .head_dim = 256},
    {.batch = 1, .blocks = 8, .length = 12, .kv_heads = 1, .group = 2, .head_dim = 5, .tiny = true},
    {.batch = 1, .blocks = 4, .length = 40, .kv_heads = 1, .group = 1, .head_dim = 8, .tiny = true},
};

static void check_shapes(struct place_context *const teams[3]) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int type = 0; type < 3; type++) {
            static const int types[] = {PLACE_F64, PLACE_F32, PLACE_BF16};
            struct shape shape = shapes[i];
            if (sample_every() > 1 && (3 * i + (size_t)type) % 4)
                continue;
            shape.dtype = types[type];
            check_shape(teams, &shape);
        }
}

static void devices_and_one_agree(void **state) {
    teams_in_each_version(check_shapes);
}

/* The same sums in another order, which runtime_test_attention.c compares with loops. */
static void check_against_no_blocks(struct place_context *context) {
    for (int type = 0; type < 2; type++) {
        struct shape s = {.dtype = real_types[type],
                          .batch = 2,
                          .blocks = 4,
                          .length = 37,
                          .kv_heads = 2,
                          .group = 2,
                          .head_dim = 24};
        struct attention_case c = case_of(&s);
        attend(context, &s, &c);
        int64_t queries = query_elements(&s, c.queries), keys = key_elements(&s);
        void *found[] = {c.dq, c.dk, c.dv};
        int64_t counts[] = {queries, keys, keys};
        double *plain[3];
        for (int i = 0; i < 3; i++)
            plain[i] = nans(counts[i]);
        CALL_OK(place_attention_backward(context, 0, s.dtype, s.dtype, s.dtype, s.dtype, s.dtype,
                                         s.dtype, s.batch, c.queries, 0, c.queries, s.kv_heads,
                                         s.group, s.head_dim, c.q, c.k, c.v, c.o, c.lse, c.d_o,
                                         NULL, 0, NULL, 0, 0.5, plain[0], plain[1], plain[2]));
        for (int i = 0; i < 3; i++) {
            double *exact = zeros_f64(counts[i]);
            for (int64_t k = 0; k < counts[i]; k++)
                exact[k] = element(plain[i], s.dtype, k);
            assert_close("gradient", found[i], s.dtype, exact, counts[i], tolerance_of(s.dtype));
            free(exact), free(plain[i]);
        }
        free_results(&c);
        free(c.q), free(c.k), free(c.v), free(c.d_o);
    }
}

static void blocks_give_the_same_gradients(void **state) {
    in_each_version(check_against_no_blocks);
}

static int32_t backward_in_blocks(struct place_context *context, int64_t queries, int64_t blocks) {
    static float x[2 * PLACE_BLOCKS_LIMIT];
    return place_attention_backward(context, 0, PLACE_F32, PLACE_F32, PLACE_F32, PLACE_F32,
                                    PLACE_F32, PLACE_F32, 1, queries, blocks, queries, 1, 1, 1, x,
                                    x, x, x, x, x, NULL, 0, NULL, 0, 1, x, x, x);
}

static void blocks_that_do_not_fit_are_refused(void **state) {
    refuses_blocks_that_do_not_fit(backward_in_blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_one_agree),
        cmocka_unit_test(blocks_give_the_same_gradients),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
