/* Optimizers and the scalars of a step. The recurrences are written here as PyTorch's documentation
 * states them. */
#include "runtime_kernel_fixture.h"

enum { COUNT = 37, STEPS = 5 };

struct state {
    struct tensor p, m, v, g;
};

static struct state state_make(int dtype) {
    struct state s = {tensor_random(dtype, COUNT, 1), tensor_random(dtype, COUNT, 2),
                      tensor_random(dtype, COUNT, 3), tensor_random(dtype, COUNT, 4)};
    size_t bytes = dtype == PLACE_F64 ? 8 : 4;
    memset(s.m.data, 0, COUNT * bytes), memset(s.v.data, 0, COUNT * bytes);
    memset(s.m.exact, 0, COUNT * 8), memset(s.v.exact, 0, COUNT * 8);
    return s;
}

static void state_free(struct state *s) {
    tensor_free(&s->p), tensor_free(&s->m), tensor_free(&s->v), tensor_free(&s->g);
}

static void adamw_by_definition(struct state *s, double rate, double clip, double step,
                                double decay) {
    const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    for (int i = 0; i < COUNT; i++) {
        double g = s->g.exact[i] * clip;
        s->p.exact[i] *= 1 - rate * decay;
        s->m.exact[i] = beta1 * s->m.exact[i] + (1 - beta1) * g;
        s->v.exact[i] = beta2 * s->v.exact[i] + (1 - beta2) * g * g;
        double m = s->m.exact[i] / (1 - pow(beta1, step)),
               v = s->v.exact[i] / (1 - pow(beta2, step));
        s->p.exact[i] -= rate * m / (sqrt(v) + epsilon);
    }
}

static void check_adamw(struct place_context *context, int dtype, double decay) {
    struct state s = state_make(dtype);
    const double rate = 0.01, clip = 0.5;
    for (double step = 1; step <= STEPS; step++) {
        adamw_by_definition(&s, rate, clip, step, decay);
        CALL_OK(place_adamw(context, 0, dtype, dtype, dtype, dtype, dtype, COUNT, s.p.data,
                            s.m.data, s.v.data, s.g.data, NULL, &rate, &clip, &step, 0.9, 0.95,
                            1e-8, decay));
    }
    assert_close("p", s.p.data, dtype, s.p.exact, COUNT, tolerance_of(dtype));
    assert_close("m", s.m.data, dtype, s.m.exact, COUNT, tolerance_of(dtype));
    assert_close("v", s.v.data, dtype, s.v.exact, COUNT, tolerance_of(dtype));
    state_free(&s);
}

static void check_adamw_types(struct place_context *context) {
    for (int type = 0; type < 2; type++) {
        check_adamw(context, real_types[type], 0.1);
        check_adamw(context, real_types[type], 0);
    }
}

static void adamw_follows_its_definition(void **state) {
    in_each_version(check_adamw_types);
}

static void check_adam(struct place_context *context, int dtype, double decay) {
    struct state s = state_make(dtype);
    const double rate = 0.01, clip = 0.5, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    for (double step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            double g = s.g.exact[i] * clip + decay * s.p.exact[i];
            s.m.exact[i] = beta1 * s.m.exact[i] + (1 - beta1) * g;
            s.v.exact[i] = beta2 * s.v.exact[i] + (1 - beta2) * g * g;
            double root = sqrt(s.v.exact[i] / (1 - pow(beta2, step)));
            s.p.exact[i] -= rate * s.m.exact[i] / (1 - pow(beta1, step)) / (root + epsilon);
        }
        CALL_OK(place_adam(context, 0, dtype, dtype, dtype, dtype, dtype, COUNT, s.p.data, s.m.data,
                           s.v.data, s.g.data, NULL, &rate, &clip, &step, beta1, beta2, epsilon,
                           decay));
    }
    assert_close("p", s.p.data, dtype, s.p.exact, COUNT, tolerance_of(dtype));
    assert_close("m", s.m.data, dtype, s.m.exact, COUNT, tolerance_of(dtype));
    assert_close("v", s.v.data, dtype, s.v.exact, COUNT, tolerance_of(dtype));
    state_free(&s);
}

static void check_adam_types(struct place_context *context) {
    for (int type = 0; type < 2; type++) {
        check_adam(context, real_types[type], 0.1);
        check_adam(context, real_types[type], 0);
    }
}

static void adam_follows_its_definition(void **state) {
    in_each_version(check_adam_types);
}

// An average of zero moves nothing.
static void check_lion(struct place_context *context, int dtype) {
    struct state s = state_make(dtype);
    const double rate = 0.01, clip = 0.5, beta1 = 0.9, beta2 = 0.99, decay = 0.1;
    s.g.exact[0] = 0;
    memset(s.g.data, 0, dtype == PLACE_F64 ? 8 : 4);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            double g = s.g.exact[i] * clip, u = beta1 * s.m.exact[i] + (1 - beta1) * g;
            s.p.exact[i] *= 1 - rate * decay;
            s.p.exact[i] -= u == 0 ? 0 : copysign(rate, u);
            s.m.exact[i] = beta2 * s.m.exact[i] + (1 - beta2) * g;
        }
        CALL_OK(place_lion(context, 0, dtype, dtype, dtype, dtype, COUNT, s.p.data, s.m.data,
                           s.g.data, NULL, &rate, &clip, beta1, beta2, decay));
    }
    assert_close("p", s.p.data, dtype, s.p.exact, COUNT, tolerance_of(dtype));
    assert_close("m", s.m.data, dtype, s.m.exact, COUNT, tolerance_of(dtype));
    state_free(&s);
}

static void check_lion_types(struct place_context *context) {
    for (int type = 0; type < 2; type++)
        check_lion(context, real_types[type]);
}

static void lion_follows_its_definition(void **state) {
    in_each_version(check_lion_types);
}

static void check_sgd(struct place_context *context, int dtype, double momentum, int nesterov) {
    struct state s = state_make(dtype);
    const double rate = 0.1, decay = 0.2;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            double g = s.g.exact[i] + decay * s.p.exact[i];
            s.m.exact[i] = momentum * s.m.exact[i] + g;
            s.p.exact[i] -= rate * (nesterov ? g + momentum * s.m.exact[i] : s.m.exact[i]);
        }
        if (momentum == 0)
            CALL_OK(place_sgd(context, 0, dtype, dtype, dtype, COUNT, s.p.data, s.g.data, NULL,
                              &rate, NULL, decay));
        else
            CALL_OK(place_sgd_momentum(context, 0, dtype, dtype, dtype, dtype, COUNT, s.p.data,
                                       s.m.data, s.g.data, NULL, &rate, NULL, momentum, decay,
                                       nesterov));
    }
    assert_close("p", s.p.data, dtype, s.p.exact, COUNT, tolerance_of(dtype));
    state_free(&s);
}

static void check_sgd_types(struct place_context *context) {
    for (int type = 0; type < 2; type++) {
        check_sgd(context, real_types[type], 0, 0);
        check_sgd(context, real_types[type], 0.9, 0);
        check_sgd(context, real_types[type], 0.9, 1);
    }
}

static void sgd_follows_its_definition(void **state) {
    in_each_version(check_sgd_types);
}

static double rate_at(struct place_context *context, int schedule, double step) {
    double rate = -1;
    CALL_OK(place_learning_rate(context, 0, schedule, 2, 10, 110, 100, 0.5, &step, &rate));
    return rate;
}

static void schedules(void **state) {
    struct place_context *context = context_make(NULL, 1);
    assert_true(fabs(rate_at(context, PLACE_COSINE, 1) - 0.2) < 1e-15);
    assert_true(rate_at(context, PLACE_COSINE, 10) == 2);
    assert_true(fabs(rate_at(context, PLACE_COSINE, 60) - 1.25) < 1e-15); /* half way */
    assert_true(rate_at(context, PLACE_COSINE, 110) == 0.5);
    assert_true(rate_at(context, PLACE_COSINE, 1000) == 0.5);
    assert_true(fabs(rate_at(context, PLACE_LINEAR, 60) - 1.25) < 1e-15);
    assert_true(fabs(rate_at(context, PLACE_SQRT, 35) - 1.25) < 1e-15); /* a quarter of the way */
    assert_true(fabs(rate_at(context, PLACE_CONSTANT, 5) - 1) < 1e-15);
    assert_true(rate_at(context, PLACE_CONSTANT, 1000) == 2);
    context_free(context);
}

static void scalars(void **state) {
    struct place_context *context = context_make(NULL, 1);
    double square = 16, factor = 0;
    CALL_OK(place_clip_factor(context, 0, 1, &square, &factor));
    assert_true(fabs(factor - 1 / (4 + 1e-6)) < 1e-15);
    CALL_OK(place_clip_factor(context, 0, 5, &square, &factor));
    assert_true(factor == 1);
    CALL_OK(place_scalar_divide(context, 0, 1, &square, &factor));
    assert_true(factor == 1.0 / 16);
    square = 0;
    CALL_OK(place_scalar_divide(context, 0, 1, &square, &factor));
    assert_true(factor == 0);
    context_free(context);
}

/* Without a factor for gradients nothing is updated. */
static void skipped(void **state) {
    struct place_context *context = context_make(NULL, 1);
    const int type = PLACE_F64;
    double p = 1, m = 2, v = 3, g = INFINITY, rate = 0.1, clip = NAN, step = 0;
    CALL_OK(place_adamw(context, 0, type, type, type, type, type, 1, &p, &m, &v, &g, NULL, &rate,
                        &clip, &step, 0.9, 0.99, 1e-8, 0.1));
    CALL_OK(place_sgd(context, 0, type, type, type, 1, &p, &g, NULL, &rate, &clip, 0.1));
    CALL_OK(place_sgd_momentum(context, 0, type, type, type, type, 1, &p, &m, &g, NULL, &rate,
                               &clip, 0.9, 0.1, 0));
    assert_true(p == 1 && m == 2 && v == 3);
    float master = 1, rounded = 7, gradient = NAN, moment = 2; /* what is rounded is made anew */
    CALL_OK(place_lion(context, 0, PLACE_F32, PLACE_F32, PLACE_F32, PLACE_F32, 1, &master, &moment,
                       &gradient, &rounded, &rate, &clip, 0.9, 0.99, 0.1));
    assert_true(master == 1 && moment == 2 && rounded == 1);
    context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_follows_its_definition),
        cmocka_unit_test(adam_follows_its_definition),
        cmocka_unit_test(lion_follows_its_definition),
        cmocka_unit_test(sgd_follows_its_definition),
        cmocka_unit_test(schedules),
        cmocka_unit_test(scalars),
        cmocka_unit_test(skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
