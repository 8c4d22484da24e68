/* What the tests of kernels share: a context per version and team, reproducible numbers,
 * comparisons. */
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/kernels/kernels.h"
#include "runtime/product.h"
#include "runtime/team.h"
#include "runtime/workspace.h"
#include "tests/elements.h"

static inline struct place_context *context_make(const struct kernels *kernels, int threads) {
    struct place_context *context = calloc(1, sizeof *context);
    assert_non_null(context);
    context->kernels = kernels;
    context->team = team_create(threads, PLACE_WORKSPACE_BYTES_PER_THREAD);
    assert_non_null(context->team);
    return context;
}

/* A context with the version that runs are made with. */
static inline struct place_context *context_of_this_cpu(int threads) {
    const char *message;
    return context_make(kernels_select(&message), threads);
}

static inline void context_free(struct place_context *context) {
    team_destroy(context->team);
    free(context);
}

/* Runs a check once per version that this CPU has. */
static inline void in_each_version(void (*check)(struct place_context *context)) {
    for (const char *const *name = kernels_names; *name != NULL; name++) {
        const struct kernels *kernels = kernels_named(*name);
        if (kernels == NULL)
            continue;
        struct place_context *context = context_make(kernels, 1);
        check(context);
        context_free(context);
    }
}

/* The same, with teams of one to three threads. */
static inline void teams_in_each_version(void (*check)(struct place_context *const teams[3])) {
    for (const char *const *name = kernels_names; *name != NULL; name++) {
        const struct kernels *kernels = kernels_named(*name);
        if (kernels == NULL)
            continue;
        struct place_context *teams[3];
        for (int team = 0; team < 3; team++)
            teams[team] = context_make(kernels, team + 1);
        check(teams);
        for (int team = 0; team < 3; team++)
            context_free(teams[team]);
    }
}

/* Numbers in [-1, 1), the same for a seed. */
static inline double random_number(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)(*state >> 11) / (double)(INT64_C(1) << 52) - 1;
}

static inline void *must(void *pointer) {
    assert_non_null(pointer);
    return pointer;
}

/* What one of several devices has of [parts, devices, bytes], side by side. */
static inline void *part_of_device(const void *whole, int64_t parts, int64_t bytes, int device,
                                   int devices) {
    char *part = must(malloc((size_t)(parts * bytes)));
    for (int64_t i = 0; i < parts; i++)
        memcpy(part + i * bytes, (const char *)whole + (i * devices + device) * bytes,
               (size_t)bytes);
    return part;
}

static inline double *random_f64(int64_t count, uint64_t seed) {
    double *x = must(malloc(sizeof(double) * (size_t)count));
    for (int64_t i = 0; i < count; i++)
        x[i] = random_number(&seed);
    return x;
}

static inline double *zeros_f64(int64_t count) {
    return must(calloc((size_t)count, sizeof(double)));
}

static inline float *to_f32(const double *x, int64_t count) {
    float *y = must(malloc(sizeof(float) * (size_t)count));
    for (int64_t i = 0; i < count; i++)
        y[i] = (float)x[i];
    return y;
}

static inline bool is_narrow(int dtype) {
    return dtype == PLACE_BF16 || dtype == PLACE_F16;
}

static inline struct format format_of(int dtype) {
    return dtype == PLACE_BF16 ? format_bf16 : dtype == PLACE_F16 ? format_f16 : format_f32;
}

static inline int64_t width_of(int dtype) {
    return dtype == PLACE_F64 ? 8 : is_narrow(dtype) ? 2 : 4;
}

static inline double element(const void *x, int dtype, int64_t i) {
    if (is_narrow(dtype))
        return format_value(format_of(dtype), ((const uint16_t *)x)[i]);
    return dtype == PLACE_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Rounds to the type, to nearest even. */
static inline double rounded_to(int dtype, double x) {
    return dtype == PLACE_F64 ? x : format_round(format_of(dtype), x);
}

static inline void set_element(void *x, int dtype, int64_t i, double value) {
    if (is_narrow(dtype))
        ((uint16_t *)x)[i] = (uint16_t)format_bits(format_of(dtype), rounded_to(dtype, value));
    else if (dtype == PLACE_F64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

/* |a - b| <= tolerance (1 + |b|) for all elements; prints the first that is not. */
static inline void assert_close(const char *what, const void *a, int dtype, const double *b,
                                int64_t count, double tolerance) {
    for (int64_t i = 0; i < count; i++) {
        double value = element(a, dtype, i);
        if (!(fabs(value - b[i]) <= tolerance * (1 + fabs(b[i]))))
            fail_msg("%s[%lld] is %.17g, should be %.17g", what, (long long)i, value, b[i]);
    }
}

static inline double tolerance_of(int dtype) {
    return dtype == PLACE_F64 ? 1e-11 : 2e-5;
}

/* A tensor in the type under test: doubles that hold what it can, and the copy that the kernel
 * reads. */
struct tensor {
    int64_t count;
    double *exact;
    void *data;
};

static inline struct tensor tensor_random(int dtype, int64_t count, uint64_t seed) {
    struct tensor t = {count, random_f64(count, seed), NULL};
    t.data = must(malloc((size_t)(width_of(dtype) * count)));
    for (int64_t i = 0; i < count; i++) {
        t.exact[i] = rounded_to(dtype, t.exact[i]);
        set_element(t.data, dtype, i, t.exact[i]);
    }
    return t;
}

static inline void tensor_free(struct tensor *t) {
    free(t->exact);
    free(t->data);
}

#define CALL_OK(call) assert_int_equal(call, PLACE_OK)

/* What a call says to arguments that it cannot take; the context is as before it. */
static inline void assert_refused(struct place_context *context, int32_t status) {
    assert_int_equal(status, PLACE_ERROR_ARGUMENT);
    assert_int_equal(context->status, PLACE_ERROR_ARGUMENT);
    context->status = PLACE_OK;
}

/* A call that sums rows in blocks refuses such blocks. */
static inline void refuses_blocks_that_do_not_fit(int32_t (*call)(struct place_context *context,
                                                                  int64_t rows, int64_t blocks)) {
    static const int64_t wrong[][2] = {
        {24, 3},                                          /* no power of two */
        {24, 16},                                         /* rows are left over */
        {2 * PLACE_BLOCKS_LIMIT, 2 * PLACE_BLOCKS_LIMIT}, /* too many */
    };
    struct place_context *context = context_of_this_cpu(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(context, call(context, wrong[i][0], wrong[i][1]));
    context_free(context);
}

static const int real_types[] = {PLACE_F64, PLACE_F32};
