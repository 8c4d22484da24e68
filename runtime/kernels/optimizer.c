/* The calls of optimizers, and the scalars of a step that they read. Powers, roots and quotients of
 * scalars are made here, once per tensor, in double. */
#include <math.h>
#include <stddef.h>
#include "runtime/kernels/run.h"

static double scalar(const void *pointer) {
    return *(const double *)pointer;
}

static double clip_of(const void *clip) {
    return clip == NULL ? 1 : scalar(clip);
}

/* What is rounded is p as it was computed, so p keeps all digits of that. */
static int32_t run_update(struct place_context *context, int32_t statement, enum kernel kernel,
                          int32_t computed, int64_t count, struct optimizer *o) {
    if (o->rounded.at != NULL && (o->p.dtype != computed || COMPUTED_IN(o->rounded.dtype) < 0))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "parameters of type %d cannot be rounded to type %d in their update",
                            o->p.dtype, o->rounded.dtype);
    if (isnan(o->clip)) /* the step is skipped: what is updated in place stays */
        return o->rounded.at == NULL ? PLACE_OK
                                     : place_cast(context, statement, o->p.dtype, o->rounded.dtype,
                                                  count, o->rounded.at, o->p.at);
    return run_kernel(context, statement, kernel, computed, count, ELEMENTS_PER_RANGE, o);
}

/* What both kinds of Adam make of their moments. */
static void set_betas(struct optimizer *o, double rate, double step, double beta1, double beta2,
                      double epsilon) {
    o->beta1 = beta1;
    o->beta2 = beta2;
    o->epsilon = epsilon;
    o->step_size = rate / (1 - pow(beta1, step));
    o->root_factor = 1 / sqrt(1 - pow(beta2, step));
}

int32_t place_adamw(struct place_context *context, int32_t statement, int32_t p_dtype,
                    int32_t m_dtype, int32_t v_dtype, int32_t g_dtype, int32_t rounded_dtype,
                    int64_t count, void *p, void *m, void *v, const void *g, void *rounded,
                    const void *rate, const void *clip, const void *step, double beta1,
                    double beta2, double epsilon, double weight_decay) {
    RECORD_CALL(adamw);
    struct optimizer optimizer = {
        .p = elements_of(p, p_dtype),
        .m = elements_of(m, m_dtype),
        .v = elements_of(v, v_dtype),
        .g = elements_of(g, g_dtype),
        .rounded = elements_of(rounded, rounded_dtype),
        .clip = clip_of(clip),
        .weight_decay = 1 - scalar(rate) * weight_decay,
    };
    set_betas(&optimizer, scalar(rate), scalar(step), beta1, beta2, epsilon);
    return run_update(context, statement, KERNEL_adamw,
                      COMPUTED_IN(p_dtype, m_dtype, v_dtype, g_dtype), count, &optimizer);
}

int32_t place_adam(struct place_context *context, int32_t statement, int32_t p_dtype,
                   int32_t m_dtype, int32_t v_dtype, int32_t g_dtype, int32_t rounded_dtype,
                   int64_t count, void *p, void *m, void *v, const void *g, void *rounded,
                   const void *rate, const void *clip, const void *step, double beta1, double beta2,
                   double epsilon, double weight_decay) {
    RECORD_CALL(adam);
    struct optimizer optimizer = {
        .p = elements_of(p, p_dtype),
        .m = elements_of(m, m_dtype),
        .v = elements_of(v, v_dtype),
        .g = elements_of(g, g_dtype),
        .rounded = elements_of(rounded, rounded_dtype),
        .clip = clip_of(clip),
        .weight_decay = weight_decay,
    };
    set_betas(&optimizer, scalar(rate), scalar(step), beta1, beta2, epsilon);
    return run_update(context, statement, KERNEL_adam,
                      COMPUTED_IN(p_dtype, m_dtype, v_dtype, g_dtype), count, &optimizer);
}

int32_t place_lion(struct place_context *context, int32_t statement, int32_t p_dtype,
                   int32_t m_dtype, int32_t g_dtype, int32_t rounded_dtype, int64_t count, void *p,
                   void *m, const void *g, void *rounded, const void *rate, const void *clip,
                   double beta1, double beta2, double weight_decay) {
    RECORD_CALL(lion);
    struct optimizer optimizer = {.p = elements_of(p, p_dtype),
                                  .m = elements_of(m, m_dtype),
                                  .g = elements_of(g, g_dtype),
                                  .rounded = elements_of(rounded, rounded_dtype),
                                  .clip = clip_of(clip),
                                  .rate = scalar(rate),
                                  .beta1 = beta1,
                                  .beta2 = beta2,
                                  .weight_decay = 1 - scalar(rate) * weight_decay};
    return run_update(context, statement, KERNEL_lion, COMPUTED_IN(p_dtype, m_dtype, g_dtype),
                      count, &optimizer);
}

int32_t place_sgd(struct place_context *context, int32_t statement, int32_t p_dtype,
                  int32_t g_dtype, int32_t rounded_dtype, int64_t count, void *p, const void *g,
                  void *rounded, const void *rate, const void *clip, double weight_decay) {
    RECORD_CALL(sgd);
    struct optimizer optimizer = {.p = elements_of(p, p_dtype),
                                  .g = elements_of(g, g_dtype),
                                  .rounded = elements_of(rounded, rounded_dtype),
                                  .clip = clip_of(clip),
                                  .rate = scalar(rate),
                                  .weight_decay = weight_decay};
    return run_update(context, statement, KERNEL_sgd, COMPUTED_IN(p_dtype, g_dtype), count,
                      &optimizer);
}

int32_t place_sgd_momentum(struct place_context *context, int32_t statement, int32_t p_dtype,
                           int32_t m_dtype, int32_t g_dtype, int32_t rounded_dtype, int64_t count,
                           void *p, void *m, const void *g, void *rounded, const void *rate,
                           const void *clip, double momentum, double weight_decay,
                           int32_t nesterov) {
    RECORD_CALL(sgd_momentum);
    struct optimizer optimizer = {.p = elements_of(p, p_dtype),
                                  .m = elements_of(m, m_dtype),
                                  .g = elements_of(g, g_dtype),
                                  .rounded = elements_of(rounded, rounded_dtype),
                                  .clip = clip_of(clip),
                                  .rate = scalar(rate),
                                  .momentum = momentum,
                                  .weight_decay = weight_decay};
    return run_update(context, statement, nesterov ? KERNEL_sgd_nesterov : KERNEL_sgd_momentum,
                      COMPUTED_IN(p_dtype, m_dtype, g_dtype), count, &optimizer);
}

/* What is left of the way down after a share x of its steps. */
static double left_of_decay(int32_t schedule, double x) {
    switch ((enum place_schedule)schedule) {
    case PLACE_CONSTANT:
        break;
    case PLACE_LINEAR:
        return 1 - x;
    case PLACE_COSINE:
        return 0.5 * (1 + cos(M_PI * x));
    case PLACE_SQRT:
        return 1 - sqrt(x);
    }
    return 1;
}

/* Warmup reaches base in its last step; the decay floor at `steps`. */
int32_t place_learning_rate(struct place_context *context, int32_t statement, int32_t schedule,
                            double base, double warmup, double steps, double decay, double floor,
                            const void *step, void *rate) {
    RECORD_CALL(learning_rate);
    double now = scalar(step), gone = now - (steps - decay);
    double *result = rate;
    if (now < warmup)
        *result = base * now / warmup;
    else if (schedule == PLACE_CONSTANT || gone < 0)
        *result = base;
    else if (gone >= decay) /* at once, where a warm-up takes all steps */
        *result = floor;
    else
        *result = floor + (base - floor) * left_of_decay(schedule, gone / decay);
    return PLACE_OK;
}

int32_t place_clip_factor(struct place_context *context, int32_t statement, double limit,
                          const void *square_sum, void *factor) {
    RECORD_CALL(clip_factor);
    double ratio = limit / (sqrt(scalar(square_sum)) + 1e-6);
    *(double *)factor = ratio < 1 ? ratio : 1;
    return PLACE_OK;
}

/* A step without tokens has gradients of zero, not of NaN. */
int32_t place_scalar_divide(struct place_context *context, int32_t statement, double numerator,
                            const void *divisor, void *quotient) {
    RECORD_CALL(scalar_divide);
    *(double *)quotient = scalar(divisor) == 0 ? 0 : numerator / scalar(divisor);
    return PLACE_OK;
}
