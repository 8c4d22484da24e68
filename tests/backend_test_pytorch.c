// Generated code against PyTorch: the tiny models on one device, jitted, from the script's numbers
// (tools/reference_pytorch.py). Gradients of the first step and the losses after it, in fp64 to
// 1e-9 and in fp32 to 1e-5 of the largest gradient of the layer. Of a model of every kind, loss and
// gradients against transformers' (tools/reference_transformers.py), likewise. Fifty steps in bf16
// are as far from PyTorch's as these are from each other (tools/reference_precision.py), on one device
// and on several.
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
#include "tests/derive.h"
#include "tests/elements.h"
#include "tests/oracle/devices.h"
#include "tests/oracle/memory.h"
#include "tests/reference_data.h"
#include "tests/sample.h"
#include "tests/tiny_kinds.h"
#include "tests/tiny_models.h"
#include "tests/tiny_strategies.h"

enum { STEPS = 50, FIRST_STEPS = 10 };

// A sample takes the first steps only.
static int steps_taken(void) {
    return sample_every() > 1 ? FIRST_STEPS : STEPS;
}

// How the model is trained: on one device, by FSDP, by ZeRO-1 with tensor parallelism
// beside it.
enum way { ON_ONE, BY_FSDP, BY_ZERO1_TP, N_WAYS };
static const char *const way_names[N_WAYS] = {"one device", "fsdp on two",
                                              "zero1 and tp on four, reproducible"};

struct trial {
    struct arena arena;
    struct config config;
    struct program *program;
    struct backend_code *code;
    struct ranks ranks;
    struct devices *devices; // by which what several ranks are given is cut; NULL: there is one
    struct reference_data data;
    double tolerance;
    bool begins_in_bf16; // parameters are rounded before the first step
};

static char *item_at(const struct trial *t, const char *name, int64_t item) {
    buffer_id id = program_find_buffer(t->program, name);
    if (id == NO_ID)
        fail_msg("no buffer %s", name);
    const struct buffer *buffer = &t->program->buffers[id];
    return (char *)t->ranks.contexts[0].head.arenas[PLACE_DEVICE] + buffer->offset_bytes +
           item * buffer_item_bytes(t->program, buffer);
}

static enum dtype element_type(const struct trial *t, const char *name) {
    return t->program->buffers[program_find_buffer(t->program, name)].dtype;
}

static double get_number(const struct trial *t, const char *name, int64_t item, int64_t i) {
    return element_get(item_at(t, name, item), element_type(t, name), i);
}

static void set_number(const struct trial *t, const char *name, int64_t item, int64_t i, double x) {
    element_set(item_at(t, name, item), element_type(t, name), i, x);
}

// Gives all ranks what they have of a logical item.
static void put_item(const struct trial *t, buffer_id id, int64_t item, const double *values) {
    const struct buffer *buffer = &t->program->buffers[id];
    int64_t bytes = buffer_item_bytes(t->program, buffer);
    devices_put(t->devices, id, item, values);
    for (int32_t r = 0; r < t->ranks.n; r++)
        memcpy((char *)t->ranks.contexts[r].head.arenas[PLACE_DEVICE] + buffer->offset_bytes +
                   item * bytes,
               item_place(t->devices, AT_WAIT, r, id, item), (size_t)bytes);
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

// A master copy begins as the parameter that is made of it.
static void load_parameter(struct trial *t, const struct tensor *tensor) {
    int64_t n = item_elements(tensor);
    const double *values = expected_tensor(t, "parameter", tensor);
    const char *master = arena_format(&t->arena, "%s.master", tensor->name);
    bool has_master = program_find_buffer(t->program, master) != NO_ID;
    for (int64_t layer = 0; layer < item_count(tensor); layer++)
        for (int64_t i = 0; i < n; i++) {
            double value = values[layer * n + i];
            if (t->begins_in_bf16)
                value = format_round(format_bf16, value);
            set_number(t, tensor->name, layer, i, value);
            if (has_master)
                set_number(t, master, layer, i, value);
        }
}

static void begin_code(struct trial *t, int threads) {
    t->code = compile(&t->arena, t->program);
    ranks_open(&t->ranks, &t->arena, t->program, threads);
    for (int32_t r = 0; r < t->ranks.n; r++)
        memset(t->ranks.contexts[r].head.arenas[PLACE_DEVICE], 0,
               (size_t)t->program->arena_bytes[TIER_DEVICE]); // moments start at zero
}

// Compiles what the configuration is, and loads what the data say.
static void begin(struct trial *t) {
    assert_non_null(t->data.data);
    struct pass_context context = {.config = &t->config,
                                   .diagnostics = diagnostics_new(&t->arena, NULL)};
    t->program = program_new(&t->arena, "main");
    assert_true(passes_run(t->program->job, &context, PASS_BUILD, PASS_UPDATE));
    assert_true(passes_run(t->program->job, &context, PASS_FUSE, PASS_FUSE));
    assert_true(passes_run(t->program->job, &context, PASS_MEMORY, PASS_MEMORY));
    begin_code(t, 2);
    for (uint32_t i = 0; i < t->program->job->n_tensors; i++)
        load_parameter(t, &t->program->job->tensors[i]);
}

// Parameters, and master copies of them, wherever the strategy keeps them.
static void load_kept(struct trial *t, buffer_id id) {
    const struct buffer *buffer = &t->program->buffers[id];
    if ((buffer->class != CLASS_PARAMETERS && buffer->class != CLASS_MASTER) ||
        !buffer_is_persistent(buffer) || buffer->window_of != NO_ID)
        return;
    const struct tensor *tensor = &t->program->job->tensors[buffer->tensor];
    const double *all = expected_tensor(t, "parameter", tensor);
    int64_t n = item_elements(tensor);
    double *values = ARENA_ARRAY(&t->arena, double, n);
    for (int64_t layer = 0; layer < item_count(tensor); layer++) {
        for (int64_t i = 0; i < n; i++)
            values[i] = format_round(format_bf16, all[layer * n + i]);
        put_item(t, id, layer, values);
    }
}

// The same on the configuration's mesh.
static void begin_on_several(struct trial *t) {
    assert_non_null(t->data.data);
    t->program = derive_program(&t->arena, &t->config, PASS_MEMORY, NULL);
    assert_non_null(t->program);
    t->devices = cluster_new(&t->arena, t->program->job)->parts;
    begin_code(t, 1);
    for (buffer_id id = 0; id < t->program->n_buffers; id++)
        load_kept(t, id);
}

static void begin_in(struct trial *t, enum dtype dtype) {
    t->tolerance = dtype == DTYPE_F64 ? 1e-9 : 1e-5;
    t->config.train.precision.all = dtype;
    begin(t);
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
        for (int64_t i = 0; i < n && !t->devices; i++)
            set_number(t, inputs[k], 0, i, all[step * n + i]);
        if (t->devices)
            put_item(t, program_find_buffer(t->program, inputs[k]), 0, all + step * n);
    }
    if (t->devices)
        put_item(t, program_find_buffer(t->program, "step"), 0, &(double){step + 1});
    else
        set_number(t, "step", 0, 0, step + 1);
    ranks_run(&t->ranks, backend_entry(harness_backend(), t->code, 0, STEP_TRAIN));
}

static void check_scalar(struct trial *t, const char *name, int step, int steps) {
    double found = get_number(t, name, 0, 0);
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
            double found = get_number(t, name, layer, i);
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
    begin_in(&t, dtype);
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
    begin_in(&t, dtype);
    run_step(&t, 0, 1);
    check_scalar(&t, "loss", 0, 1);
    for (uint32_t i = 0; i < t.program->job->n_tensors; i++)
        check_gradient(&t, &t.program->job->tensors[i]);
    finish(&t);
}

// ---- bf16 -------------------------------------------------------------------------------------

enum { ORDERS = 6 }; // of the script

// Mean square of how far two runs' losses are from each other in the first so many steps.
static double square_distance(const double *a, const double *b, int steps) {
    double sum = 0;
    for (int i = 0; i < steps; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / steps;
}

// As far as PyTorch's runs in several orders of sums are from each other, in the mean over all
// pairs, ours may be twice from them.
static void check_distance(const char *what, const double *losses, const double *others,
                           int steps) {
    double ours = 0, theirs = 0;
    for (int i = 0; i < ORDERS; i++) {
        ours += square_distance(losses, others + i * STEPS, steps) / ORDERS;
        for (int k = 0; k < i; k++)
            theirs += square_distance(others + i * STEPS, others + k * STEPS, steps) /
                      (ORDERS * (ORDERS - 1) / 2);
    }
    double ratio = sqrt(ours / theirs);
    print_message("%s, %d steps: %.2f\n", what, steps, ratio);
    if (!(ratio <= 2))
        fail_msg("%s: losses of %d steps are %.1e from PyTorch's, which are %.1e from each other",
                 what, steps, sqrt(ours), sqrt(theirs));
}

static void place_on_several(struct trial *t, enum way way) {
    struct arena *arena = &t->arena;
    struct config *config = &t->config;
    const struct axis_list dp = tiny_axes(0, -1), tp = tiny_axes(1, -1);
    config->mesh.name = "ranks";
    config->train.microbatch = 2;
    tiny_axis(config, "dp", 2);
    tiny_split(arena, config, DIM_BATCH, dp);
    tiny_mode(arena, config, STATE_OPTIMIZER, EXTENT_SHARDED, dp);
    if (way == BY_FSDP) {
        tiny_mode(arena, config, STATE_GRADIENTS, EXTENT_SHARDED, dp);
        tiny_mode(arena, config, STATE_PARAMETERS, EXTENT_GATHERED, dp);
        return;
    }
    const enum dimension split[] = {DIM_HEADS, DIM_KV_HEADS, DIM_FFN, DIM_VOCAB};
    // Summands over an axis of the model would be rounded to bf16 before they are added, as no run
    // on one device does.
    config->train.reproducible = 4;
    config->train.reproducible_of = 1u << DIM_BATCH;
    tiny_axis(config, "tp", 2);
    for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
        tiny_split(arena, config, split[i], tp);
        config->train.reproducible_of |= 1u << split[i];
    }
}

static void check_bf16_of(const char *variant, const struct precision_config *precision,
                          const char *family, enum way way) {
    struct trial t = {.begins_in_bf16 = true};
    t.config = tiny_config(&t.arena, strcmp(family, "gpt2") ? FAMILY_LLAMA : FAMILY_GPT2);
    struct origin origin = t.config.train.precision.origin;
    t.config.train.precision = *precision;
    t.config.train.precision.origin = origin;
    t.data = reference_data_read(&t.arena,
                                 arena_format(&t.arena, "expected/pytorch_%s.safetensors", family));
    if (way != ON_ONE)
        place_on_several(&t, way);
    (way == ON_ONE ? begin : begin_on_several)(&t);
    double losses[STEPS];
    for (int step = 0; step < steps_taken(); step++) {
        run_step(&t, step, STEPS);
        losses[step] = get_number(&t, "loss", 0, 0);
    }
    struct reference_data runs = reference_data_read(
        &t.arena, arena_format(&t.arena, "expected/precision_%s.safetensors", family));
    const char *name = arena_format(&t.arena, "%s/loss", variant);
    const double *others = reference_tensor(&t.arena, &runs, name, ORDERS * STEPS);
    const char *what = arena_format(&t.arena, "%s, %s, %s", family, variant, way_names[way]);
    check_distance(what, losses, others, FIRST_STEPS);
    if (steps_taken() > FIRST_STEPS)
        check_distance(what, losses, others, STEPS);
    finish(&t);
}

// On several devices one of the models, in full both; a sample trains each variant in one way, in
// turns.
static void check_bf16(const char *variant, struct precision_config precision) {
    static enum way turn;
    bool all = sample_every() == 1, both = getenv("PLACE_TEST_FULL");
    for (enum way way = all ? ON_ONE : turn++; way < N_WAYS; way += all ? 1 : N_WAYS) {
        if (both || way != BY_ZERO1_TP)
            check_bf16_of(variant, &precision, "gpt2", way);
        if (both || way != BY_FSDP)
            check_bf16_of(variant, &precision, "llama", way);
    }
}

static void bf16_of_a_master(void **state) {
    check_bf16("master", (struct precision_config){.all = DTYPE_F32,
                                                   .of_all = {[PRECISION_PARAMETERS] = DTYPE_BF16,
                                                              [PRECISION_MASTER] = DTYPE_F32,
                                                              [PRECISION_COMPUTE] = DTYPE_BF16}});
}

static void bf16_by_casts(void **state) {
    check_bf16("cast", (struct precision_config){.all = DTYPE_F32,
                                                 .of_all = {[PRECISION_COMPUTE] = DTYPE_BF16}});
}

static void bf16_alone(void **state) {
    check_bf16("narrow", (struct precision_config){.all = DTYPE_BF16});
}

static void kinds(void **state) {
    for (int i = 0; i < N_TINY_KINDS; i++) {
        if (i % 2 || sample_every() == 1)
            check_kind(tiny_kinds[i], DTYPE_F64);
        if (i % 2 == 0 || sample_every() == 1)
            check_kind(tiny_kinds[i], DTYPE_F32);
    }
}

static void gpt2_f64(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F64, false, steps_taken());
}

static void llama_f64(void **state) {
    check_model(FAMILY_LLAMA, DTYPE_F64, false, steps_taken());
}

// AdamW turns the rounding noise of a gradient that is zero into full steps, so fp32 is compared
// for ten steps only.
static void gpt2_f32(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F32, false, FIRST_STEPS);
}

static void llama_f32(void **state) {
    check_model(FAMILY_LLAMA, DTYPE_F32, false, FIRST_STEPS);
}

// PyTorch's projections stand apart.
static void fused(void **state) {
    check_model(FAMILY_GPT2, DTYPE_F64, true, steps_taken());
    check_model(FAMILY_LLAMA, DTYPE_F32, true, FIRST_STEPS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_f64),
        cmocka_unit_test(llama_f64),
        cmocka_unit_test(gpt2_f32),
        cmocka_unit_test(llama_f32),
        cmocka_unit_test(fused),
        cmocka_unit_test(kinds),
        cmocka_unit_test(bf16_of_a_master),
        cmocka_unit_test(bf16_by_casts),
        cmocka_unit_test(bf16_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
