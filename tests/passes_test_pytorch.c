// The reference program against PyTorch, in fp64 on the interpreter: every gradient of a first
// step, loss, norm and learning rate of fifty AdamW steps, the parameters after them, and SGD's
// losses; those of other optimizers. The numbers are tools/reference_pytorch.py's and
// tools/reference_optimizers.py's. A model of every kind against transformers,
// from its config.json: loss and gradients, by the names and in the shapes in which it saves them
// (tools/reference_transformers.py).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "ir/interpreter/interpreter.h"
#include "passes/passes.h"
#include "tests/reference_data.h"
#include "tests/tiny_kinds.h"
#include "tests/tiny_models.h"

static const double tolerance = 1e-9;
enum { STEPS = 50, SGD_STEPS = 10 };

struct trial {
    struct arena arena;
    struct config config;
    struct program *program;
    struct machine *machine;
    struct reference_data data;
};

static double *buffer_data(const struct trial *trial, const char *name) {
    buffer_id buffer = program_find_buffer(trial->program, name);
    if (buffer == NO_ID)
        fail_msg("no buffer %s", name);
    return machine_item(trial->machine, buffer, 0);
}

static int64_t tensor_elements(const struct trial *trial, const struct tensor *tensor) {
    buffer_id buffer = program_find_buffer(trial->program, tensor->name);
    return machine_item_elements(trial->machine, buffer) *
           buffer_items(&trial->program->buffers[buffer]);
}

// A fresh machine with the file's parameters.
static void load(struct trial *trial) {
    struct pass_context context = {.config = &trial->config,
                                   .diagnostics = diagnostics_new(&trial->arena, NULL)};
    trial->program = program_new(&trial->arena, "main");
    assert_true(passes_run(trial->program->job, &context, PASS_BUILD, PASS_UPDATE));
    trial->machine = machine_new(&trial->arena, trial->program);
    for (uint32_t i = 0; i < trial->program->job->n_tensors; i++) {
        const struct tensor *tensor = &trial->program->job->tensors[i];
        memcpy(buffer_data(trial, tensor->name),
               reference_state(&trial->arena, &trial->data, "parameter", tensor),
               (size_t)tensor_elements(trial, tensor) * sizeof(double));
    }
}

static struct reference_data read_expected(struct arena *arena, const char *of,
                                           enum model_family family) {
    const char *path = arena_format(arena, "expected/%s_%s.safetensors", of,
                                    family == FAMILY_GPT2 ? "gpt2" : "llama");
    struct reference_data data = reference_data_read(arena, path);
    assert_non_null(data.data);
    return data;
}

static void begin(struct trial *trial, enum model_family family) {
    *trial = (struct trial){0};
    trial->config = tiny_config(&trial->arena, family);
    trial->data = read_expected(&trial->arena, "pytorch", family);
}

static const char *const inputs[] = {"tokens", "targets"};

// One step (from 0) on the file's tokens of that step.
static void run_step(struct trial *trial, int step) {
    int64_t n = trial->config.train.batch * trial->config.train.sequence;
    for (int i = 0; i < 2; i++) {
        const double *all = reference_tensor(&trial->arena, &trial->data, inputs[i], n * STEPS);
        memcpy(buffer_data(trial, inputs[i]), all + step * n, (size_t)n * sizeof(double));
    }
    *buffer_data(trial, "step") = step + 1;
    machine_run(trial->machine, STEP_TRAIN);
}

static void check_scalar(const struct trial *trial, const char *name, const double *expected,
                         int step) {
    double found = *buffer_data(trial, name);
    if (fabs(found - expected[step]) > tolerance * fabs(expected[step]))
        fail_msg("step %d: %s is %.15g, PyTorch has %.15g", step + 1, name, found, expected[step]);
}

static void check_entry(const char *name, int64_t i, double found, double expected, double scale) {
    if (fabs(found - expected) > tolerance * scale)
        fail_msg("%s, entry %lld: %.15g, PyTorch has %.15g", name, (long long)i, found, expected);
}

static void check_gradient(struct trial *trial, const struct tensor *tensor) {
    int64_t n = tensor_elements(trial, tensor), layers = tensor->layers ? tensor->layers : 1;
    const double *expected = reference_state(&trial->arena, &trial->data, "gradient", tensor);
    const char *name = arena_format(&trial->arena, "%s.gradient", tensor->name);
    const double *found = buffer_data(trial, name);
    for (int64_t layer = 0; layer < layers; layer++) {
        double scale =
            reference_gradient_scale(&trial->arena, &trial->data, trial->program, tensor, layer);
        for (int64_t i = layer * n / layers; i < (layer + 1) * n / layers; i++)
            check_entry(name, i, found[i], expected[i], scale);
    }
}

// After the last step, relative to the tensor's own largest entry.
static void check_final(struct trial *trial, const struct tensor *tensor) {
    int64_t n = tensor_elements(trial, tensor);
    const double *expected = reference_state(&trial->arena, &trial->data, "final", tensor);
    const double *found = buffer_data(trial, tensor->name);
    double scale = 0;
    for (int64_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (int64_t i = 0; i < n; i++)
        check_entry(tensor->name, i, found[i], expected[i], scale);
}

static void check_adamw(enum model_family family, bool fused) {
    struct trial trial;
    begin(&trial, family);
    trial.config.model.fused_qkv = fused;
    trial.config.model.fused_gate_up = fused && family == FAMILY_LLAMA;
    load(&trial);
    const double *losses = reference_tensor(&trial.arena, &trial.data, "loss", STEPS);
    const double *norms = reference_tensor(&trial.arena, &trial.data, "grad_norm", STEPS);
    const double *rates = reference_tensor(&trial.arena, &trial.data, "learning_rate", STEPS);
    for (int step = 0; step < STEPS; step++) {
        run_step(&trial, step);
        check_scalar(&trial, "loss", losses, step);
        check_scalar(&trial, "grad_norm", norms, step);
        check_scalar(&trial, "learning_rate", rates, step);
        for (uint32_t i = 0; step == 0 && i < trial.program->job->n_tensors; i++)
            check_gradient(&trial, &trial.program->job->tensors[i]);
    }
    for (uint32_t i = 0; i < trial.program->job->n_tensors; i++)
        check_final(&trial, &trial.program->job->tensors[i]);
    arena_free(&trial.arena);
}

// Constant rates, no clip; the numbers are tools/reference_optimizers.py's.
// `of_layers`: NULL, or what updates matrices of layers in its place: of the first `n_layers` of them;
// 0: of all.
static void check_optimizer(enum model_family family, const char *losses,
                            struct optimizer_config optimizer,
                            const struct optimizer_config *of_layers, int64_t n_layers) {
    struct trial trial;
    begin(&trial, family);
    struct optimizer_rule rules[2] = {trial.config.train.optimizers[0]};
    trial.config.train.clip = 0;
    rules[0].optimizer = optimizer;
    if (of_layers)
        rules[1] = (struct optimizer_rule){.selector = {.n_roles = 1,
                                                        .roles = {ROLE_LAYERS},
                                                        .has_slice = n_layers > 0,
                                                        .slice_end = n_layers,
                                                        .slice_step = 1},
                                           .optimizer = *of_layers};
    trial.config.train.optimizers = rules;
    trial.config.train.n_optimizers = of_layers ? 2 : 1;
    load(&trial);
    struct reference_data data = read_expected(&trial.arena, "optimizers", family);
    const double *expected = reference_tensor(&trial.arena, &data, losses, SGD_STEPS);
    for (int step = 0; step < SGD_STEPS; step++) {
        run_step(&trial, step);
        check_scalar(&trial, "loss", expected, step);
    }
    arena_free(&trial.arena);
}

static const enum model_family families[] = {FAMILY_GPT2, FAMILY_LLAMA};

static void test_further_optimizers(void **state) {
    for (int f = 0; f < 2; f++) {
        check_optimizer(families[f], "adam/loss",
                        (struct optimizer_config){.kind = OPTIMIZER_ADAM,
                                                  .rate.base = 0.01,
                                                  .beta1 = 0.9,
                                                  .beta2 = 0.95,
                                                  .eps = 1e-8,
                                                  .weight_decay = 0.1},
                        NULL, 0);
        check_optimizer(families[f], "lion/loss",
                        (struct optimizer_config){.kind = OPTIMIZER_LION,
                                                  .rate.base = 0.002,
                                                  .beta1 = 0.9,
                                                  .beta2 = 0.99,
                                                  .weight_decay = 0.1},
                        NULL, 0);
    }
}

static void test_muon(void **state) {
    const struct optimizer_config adamw = {.kind = OPTIMIZER_ADAMW,
                                           .rate.base = 0.01,
                                           .beta1 = 0.9,
                                           .beta2 = 0.95,
                                           .eps = 1e-8,
                                           .weight_decay = 0.1};
    struct optimizer_config muon = {.kind = OPTIMIZER_MUON,
                                    .rate.base = 0.02,
                                    .momentum = 0.95,
                                    .nesterov = true,
                                    .eps = 1e-7,
                                    .weight_decay = 0.1,
                                    .ns_coefficients = {3.4445, -4.7750, 2.0315},
                                    .ns_steps = 5};
    for (int f = 0; f < 2; f++) {
        check_optimizer(families[f], "muon/loss", adamw, &muon, 0);
        check_optimizer(families[f], "muon_first/loss", adamw, &muon, 1);
    }
    muon.momentum = 0.9;
    muon.nesterov = false;
    muon.muon_rate = MUON_MATCH_RMS_ADAMW;
    for (int f = 0; f < 2; f++)
        check_optimizer(families[f], "muon_plain/loss", adamw, &muon, 0);
}

static void test_adafactor(void **state) {
    struct optimizer_config adafactor = {.kind = OPTIMIZER_ADAFACTOR,
                                         .rate.base = 0.1,
                                         .beta2_decay = -0.8,
                                         .least_scale = 1e-3,
                                         .threshold = 1,
                                         .weight_decay = 0.1};
    for (int f = 0; f < 2; f++)
        check_optimizer(families[f], "adafactor/loss", adafactor, NULL, 0);
    adafactor.beta2_decay = -0.5;
    adafactor.eps = 1e-4;
    adafactor.least_scale = 0.1;
    adafactor.threshold = 1.5;
    adafactor.weight_decay = 0;
    for (int f = 0; f < 2; f++)
        check_optimizer(families[f], "adafactor_short/loss", adafactor, NULL, 0);
}

static void check_sgd(enum model_family family) {
    static const struct {
        const char *losses;
        double momentum;
        bool nesterov;
    } variants[] = {
        {"sgd/loss", 0, false}, {"momentum/loss", 0.9, false}, {"nesterov/loss", 0.9, true}};
    for (int v = 0; v < 3; v++) {
        struct trial trial;
        begin(&trial, family);
        trial.config.train.clip = 0;
        trial.config.train.optimizers[0].optimizer =
            (struct optimizer_config){.kind = OPTIMIZER_SGD,
                                      .rate = {.curve = RATE_CONSTANT, .base = 0.05},
                                      .weight_decay = 0.1,
                                      .momentum = variants[v].momentum,
                                      .nesterov = variants[v].nesterov};
        load(&trial);
        const double *losses =
            reference_tensor(&trial.arena, &trial.data, variants[v].losses, SGD_STEPS);
        for (int step = 0; step < SGD_STEPS; step++) {
            run_step(&trial, step);
            check_scalar(&trial, "loss", losses, step);
        }
        arena_free(&trial.arena);
    }
}

// ---- transformers -----------------------------------------------------------------------------

static void check_kind(const char *kind) {
    struct trial trial = {0};
    trial.config = tiny_kind_config(&trial.arena, kind);
    trial.data = tiny_kind_data(&trial.arena, kind);
    assert_non_null(trial.data.data);
    load(&trial);
    int64_t n = trial.config.train.batch * trial.config.train.sequence, elements = 0;
    for (int i = 0; i < 2; i++)
        memcpy(buffer_data(&trial, inputs[i]),
               reference_tensor(&trial.arena, &trial.data, inputs[i], n),
               (size_t)n * sizeof(double));
    *buffer_data(&trial, "step") = 1;
    machine_run(trial.machine, STEP_TRAIN);
    check_scalar(&trial, "loss", reference_tensor(&trial.arena, &trial.data, "loss", 1), 0);
    for (uint32_t i = 0; i < trial.program->job->n_tensors; i++) {
        check_gradient(&trial, &trial.program->job->tensors[i]);
        elements += tensor_elements(&trial, &trial.program->job->tensors[i]);
    }
    assert_int_equal(elements, reference_elements(&trial.data, "parameter"));
    arena_free(&trial.arena);
}

// ---- a loss scale -----------------------------------------------------------------------------

static const char *const carried[][2] = {{"loss_scale", "next_loss_scale"},
                                         {"good_steps", "next_good_steps"},
                                         {"updates", "next_updates"}};

// What the host does between two steps.
static void carry(const struct trial *trial) {
    for (int i = 0; i < 3; i++)
        *buffer_data(trial, carried[i][0]) = *buffer_data(trial, carried[i][1]);
}

// A step whose gradients overflow leaves everything that lives from step to step as it was.
static void check_skipped(struct trial *trial, int step) {
    const struct program *program = trial->program;
    double **before = ARENA_ARRAY(&trial->arena, double *, program->n_buffers);
    double scale = *buffer_data(trial, "loss_scale"), updates = *buffer_data(trial, "updates");
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (buffer_is_persistent(&program->buffers[i]))
            before[i] = arena_copy(&trial->arena, machine_item(trial->machine, i, 0),
                                   (size_t)machine_item_elements(trial->machine, i) * 8);
    *buffer_data(trial, "loss_scale") = INFINITY;
    run_step(trial, step);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (before[i])
            assert_memory_equal(before[i], machine_item(trial->machine, i, 0),
                                (size_t)machine_item_elements(trial->machine, i) * 8);
    assert_true(*buffer_data(trial, "next_updates") == updates);
    assert_true(*buffer_data(trial, "next_good_steps") == 0);
    assert_true(*buffer_data(trial, "next_loss_scale") == INFINITY);
    *buffer_data(trial, "loss_scale") = scale;
    *buffer_data(trial, "good_steps") = 0;
}

// It leaves every gradient once, whatever it is, so training is what it is without: also behind a
// step that was skipped. It doubles in every third step.
static void check_scaled(enum model_family family) {
    struct trial trial;
    begin(&trial, family);
    trial.config.train.loss_scale = (struct loss_scale_config){
        .initial = 3, .dynamic = true, .growth = 2, .backoff = 0.5, .interval = 3};
    load(&trial);
    const double *losses = reference_tensor(&trial.arena, &trial.data, "loss", STEPS);
    const double *norms = reference_tensor(&trial.arena, &trial.data, "grad_norm", STEPS);
    for (int step = 0; step < STEPS; step++) {
        run_step(&trial, step);
        check_scalar(&trial, "loss", losses, step);
        check_scalar(&trial, "grad_norm", norms, step);
        carry(&trial);
        if (step == 8)
            check_skipped(&trial, step);
    }
    for (uint32_t i = 0; i < trial.program->job->n_tensors; i++)
        check_final(&trial, &trial.program->job->tensors[i]);
    assert_true(*buffer_data(&trial, "loss_scale") == 3 * pow(2, 3 + 13));
    arena_free(&trial.arena);
}

static void test_loss_scale(void **state) {
    check_scaled(FAMILY_GPT2);
    check_scaled(FAMILY_LLAMA);
}

static void test_kinds(void **state) {
    for (int i = 0; i < N_TINY_KINDS; i++)
        check_kind(tiny_kinds[i]);
}

static void test_gpt2_adamw(void **state) {
    check_adamw(FAMILY_GPT2, false);
}

static void test_llama_adamw(void **state) {
    check_adamw(FAMILY_LLAMA, false);
}

// PyTorch's projections stand apart.
static void test_fused(void **state) {
    check_adamw(FAMILY_GPT2, true);
    check_adamw(FAMILY_LLAMA, true);
}

static void test_gpt2_sgd(void **state) {
    check_sgd(FAMILY_GPT2);
}

static void test_llama_sgd(void **state) {
    check_sgd(FAMILY_LLAMA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_adamw),
        cmocka_unit_test(test_llama_adamw),
        cmocka_unit_test(test_further_optimizers),
        cmocka_unit_test(test_muon),
        cmocka_unit_test(test_adafactor),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_gpt2_sgd),
        cmocka_unit_test(test_llama_sgd),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_loss_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
