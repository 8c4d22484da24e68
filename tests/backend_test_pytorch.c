// Generated code against PyTorch: the tiny models on one device, jitted, from the script's numbers
// (tools/reference_pytorch.py). Gradients of the first step and the losses after it, in fp64 to
// 1e-9 and in fp32 to 1e-5 of the largest gradient of the layer. Of a model of every kind, loss and
// gradients against transformers' (tools/reference_transformers.py), likewise.
#include "backend_harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/reference_data.h"
#include "tests/tiny_kinds.h"
#include "tests/tiny_models.h"

enum { STEPS = 50 };

struct trial {
    struct arena arena;
    struct config config;
    struct program *program;
    struct backend_code *code;
    struct ranks ranks; // of one rank
    struct reference_data data;
    double tolerance;
};

static void set_precision(struct config *config, enum dtype dtype) {
    config->train.precision.all = dtype;
}

static char *item_at(const struct trial *t, const char *name, int64_t item) {
    buffer_id id = program_find_buffer(t->program, name);
    if (id == NO_ID)
        fail_msg("no buffer %s", name);
    const struct buffer *buffer = &t->program->buffers[id];
    return (char *)t->ranks.contexts[0].head.arenas[PLACE_DEVICE] + buffer->offset_bytes +
           item * buffer_item_bytes(t->program, buffer);
}

static double get_number(const char *at, enum dtype dtype, int64_t i) {
    return dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static void set_number(char *at, enum dtype dtype, int64_t i, double value) {
    if (dtype == DTYPE_F64)
        ((double *)at)[i] = value;
    else if (dtype == DTYPE_F32)
        ((float *)at)[i] = (float)value;
    else
        ((int32_t *)at)[i] = (int32_t)value;
}

static int64_t item_elements(const struct tensor *tensor) {
    struct tensor_type type = {.rank = tensor->rank};
    memcpy(type.dims, tensor->dims, sizeof type.dims);
    return type_elements(&type);
}

static int64_t item_count(const struct tensor *tensor) {
    return tensor->layers ? tensor->layers : 1;
}

static double *expected_tensor(struct trial *t, const char *prefix, const struct tensor *tensor) {
    return reference_state(&t->arena, &t->data, prefix, tensor);
}

static void load_parameter(struct trial *t, const struct tensor *tensor) {
    int64_t n = item_elements(tensor);
    const double *values = expected_tensor(t, "parameter", tensor);
    for (int64_t layer = 0; layer < item_count(tensor); layer++)
        for (int64_t i = 0; i < n; i++)
            set_number(item_at(t, tensor->name, layer), t->config.train.precision.all, i,
                       values[layer * n + i]);
}

// Compiles what the configuration is, and loads what the data say.
static void begin(struct trial *t, enum dtype dtype) {
    assert_non_null(t->data.data);
    t->tolerance = dtype == DTYPE_F64 ? 1e-9 : 1e-5;
    set_precision(&t->config, dtype);
    struct pass_context context = {.config = &t->config,
                                   .diagnostics = diagnostics_new(&t->arena, NULL)};
    t->program = program_new(&t->arena, "main");
    assert_true(passes_run(t->program->job, &context, PASS_BUILD, PASS_UPDATE));
    assert_true(passes_run(t->program->job, &context, PASS_FUSE, PASS_FUSE));
    assert_true(passes_run(t->program->job, &context, PASS_MEMORY, PASS_MEMORY));
    t->code = compile(&t->arena, t->program);
    ranks_open(&t->ranks, &t->arena, t->program, 2);
    memset(t->ranks.contexts[0].head.arenas[PLACE_DEVICE], 0,
           (size_t)t->program->arena_bytes[TIER_DEVICE]); // moments start at zero
    for (uint32_t i = 0; i < t->program->job->n_tensors; i++)
        load_parameter(t, &t->program->job->tensors[i]);
}

static void finish(struct trial *t) {
    backend_code_free(harness_backend(), t->code);
    ranks_close(&t->ranks);
    arena_free(&t->arena);
}

// One step (from 0) on the file's tokens of that step, of so many that it has.
static void run_step(struct trial *t, int step, int steps) {
    static const char *const inputs[] = {"tokens", "targets"};
    int64_t n = t->config.train.batch * t->config.train.sequence;
    for (int k = 0; k < 2; k++) {
        const double *all = reference_tensor(&t->arena, &t->data, inputs[k], n * steps);
        for (int64_t i = 0; i < n; i++)
            set_number(item_at(t, inputs[k], 0), DTYPE_I32, i, all[step * n + i]);
    }
    set_number(item_at(t, "step", 0), DTYPE_F64, 0, step + 1);
    ranks_run(&t->ranks, backend_entry(harness_backend(), t->code, 0, STEP_TRAIN));
}

static void check_scalar(struct trial *t, const char *name, int step, int steps) {
    double found = get_number(item_at(t, name, 0), DTYPE_F64, 0);
    double expected = reference_tensor(&t->arena, &t->data, name, steps)[step];
    if (!(fabs(found - expected) <= t->tolerance * fabs(expected)))
        fail_msg("step %d: %s is %.15g, PyTorch has %.15g", step + 1, name, found, expected);
}

static void check_gradient(struct trial *t, const struct tensor *tensor) {
    int64_t n = item_elements(tensor);
    const double *expected = expected_tensor(t, "gradient", tensor);
    const char *name = arena_format(&t->arena, "%s.gradient", tensor->name);
    for (int64_t layer = 0; layer < item_count(tensor); layer++) {
        double scale = reference_gradient_scale(&t->arena, &t->data, t->program, tensor, layer);
        for (int64_t i = 0; i < n; i++) {
            double found = get_number(item_at(t, name, layer), t->config.train.precision.all, i);
            double wanted = expected[layer * n + i];
            if (!(fabs(found - wanted) <= t->tolerance * scale))
                fail_msg("%s[%lld], entry %lld: %.15g, PyTorch has %.15g", name, (long long)layer,
                         (long long)i, found, wanted);
        }
    }
}

static void check_model(enum model_family family, enum dtype dtype, bool fused, int steps) {
    struct trial t = {0};
    t.config = tiny_config(&t.arena, family);
    t.config.model.fused_qkv = fused;
    t.config.model.fused_gate_up = fused && family == FAMILY_LLAMA;
    t.data =
        reference_data_read(&t.arena, family == FAMILY_GPT2 ? "expected/pytorch_gpt2.safetensors"
                                                            : "expected/pytorch_llama.safetensors");
    begin(&t, dtype);
    for (int step = 0; step < steps; step++) {
        run_step(&t, step, STEPS);
        check_scalar(&t, "loss", step, STEPS);
        check_scalar(&t, "learning_rate", step, STEPS);
        if (step == 0 || dtype == DTYPE_F64)
            check_scalar(&t, "grad_norm", step, STEPS);
        for (uint32_t i = 0; step == 0 && i < t.program->job->n_tensors; i++)
            check_gradient(&t, &t.program->job->tensors[i]);
    }
    finish(&t);
}

static void check_kind(const char *kind, enum dtype dtype) {
    struct trial t = {0};
    t.config = tiny_kind_config(&t.arena, kind);
    t.data = tiny_kind_data(&t.arena, kind);
    begin(&t, dtype);
    run_step(&t, 0, 1);
    check_scalar(&t, "loss", 0, 1);
    for (uint32_t i = 0; i < t.program->job->n_tensors; i++)
        check_gradient(&t, &t.program->job->tensors[i]);
    finish(&t);
}

static void kinds(void **state) {
    for (int i = 0; i < N_TINY_KINDS; i++) {
        check_kind(tiny_kinds[i], DTYPE_F64);
        check_kind(tiny_kinds[i], DTYPE_F32);
    }
}

static void gpt2_f64(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F64, false, STEPS);
}

static void llama_f64(void **state) {
    check_model(FAMILY_LLAMA, DTYPE_F64, false, STEPS);
}

// AdamW turns the rounding noise of a gradient that is zero into full steps, so fp32 is compared
// for ten steps only.
static void gpt2_f32(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F32, false, 10);
}

static void llama_f32(void **state) {
    check_model(FAMILY_LLAMA, DTYPE_F32, false, 10);
}

// PyTorch's projections stand apart.
static void fused(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F64, true, STEPS);
    check_model(FAMILY_LLAMA, DTYPE_F32, true, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_f64),  cmocka_unit_test(llama_f64), cmocka_unit_test(gpt2_f32),
        cmocka_unit_test(llama_f32), cmocka_unit_test(fused),     cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
