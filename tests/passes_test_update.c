// Which optimizer a tensor gets, what is decayed, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "passes/reference/select.h"
#include "tests/tiny_models.h"

struct trial {
    struct arena arena;
    struct config config;
    struct program *program;
    struct diagnostics *diagnostics;
};

static struct optimizer_rule *add_rule(struct trial *trial, enum role a, enum role b) {
    struct train_config *train = &trial->config.train;
    struct optimizer_rule rule = train->optimizers[0];
    rule.selector =
        (struct selector){.n_roles = b == ROLE_NONE ? 1 : 2, .roles = {(uint8_t)a, (uint8_t)b}};
    uint32_t capacity = train->n_optimizers;
    ARENA_PUSH(&trial->arena, train->optimizers, train->n_optimizers, capacity, rule);
    return &train->optimizers[train->n_optimizers - 1];
}

static void begin(struct trial *trial, enum model_family family) {
    *trial = (struct trial){0};
    trial->config = tiny_config(&trial->arena, family);
    trial->diagnostics = diagnostics_new(&trial->arena, NULL);
    trial->program = program_new(&trial->arena, "main");
}

static bool run(struct trial *trial) {
    struct pass_context context = {.config = &trial->config, .diagnostics = trial->diagnostics};
    return passes_run(trial->program->job, &context, PASS_BUILD, PASS_UPDATE);
}

// The op that updates the parameter of that name inside a unit; NULL: none.
static const struct op *update_of(const struct trial *trial, const char *unit_name,
                                  const char *parameter) {
    uint32_t id = job_find_unit(trial->program->job, unit_name);
    if (id == NO_ID)
        return NULL;
    const struct unit *unit = &trial->program->job->units[id];
    value_id value = unit_find_value(unit, parameter);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].operands[0] == value)
            return &unit->ops[i];
    return NULL;
}

static double decay_of(const struct trial *trial, const char *unit, const char *parameter) {
    const struct op *op = update_of(trial, unit, parameter);
    assert_non_null(op);
    return op_real(op, ATTRIBUTE_WEIGHT_DECAY, -1);
}

// As PyTorch's users group parameters: a query bias has three dimensions here and one there.
static void test_only_matrices_decay(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    assert_true(run(&trial));
    static const char *const decayed[] = {"attention.q.weight", "attention.out.weight",
                                          "mlp.up.weight", "mlp.down.weight"};
    static const char *const kept[] = {"attention.q.bias", "attention.k.bias", "mlp.up.bias",
                                       "attention.norm.gain", "attention.norm.bias"};
    for (int i = 0; i < 4; i++)
        assert_float_equal(decay_of(&trial, "update_block", decayed[i]), 0.1, 0);
    for (int i = 0; i < 5; i++)
        assert_float_equal(decay_of(&trial, "update_block", kept[i]), 0, 0);
    assert_float_equal(decay_of(&trial, "update_embedding", "embedding.token"), 0.1, 0);
    assert_float_equal(decay_of(&trial, "update_head", "norm.gain"), 0, 0);
    arena_free(&trial.arena);
}

// What is said of a part is meant of all of it, gains and biases too.
static void test_selected_parts_decay(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    struct optimizer_config *norms = &add_rule(&trial, ROLE_NORM, ROLE_NONE)->optimizer;
    norms->weight_decay = 0.9;
    norms->decays_all = true;
    struct optimizer_config *mlp = &add_rule(&trial, ROLE_MLP, ROLE_UP)->optimizer;
    *mlp = (struct optimizer_config){.kind = OPTIMIZER_SGD,
                                     .rate = {.curve = RATE_CONSTANT, .base = 0.5},
                                     .weight_decay = 0.7,
                                     .decays_all = true};
    assert_true(run(&trial));
    assert_float_equal(decay_of(&trial, "update_block", "attention.norm.gain"), 0.9, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.norm.bias"), 0.9, 0);
    assert_float_equal(decay_of(&trial, "update_head", "norm.gain"), 0.9, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.up.weight"), 0.7, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.up.bias"), 0.7, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.down.weight"), 0.1, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.down.bias"), 0, 0);
    arena_free(&trial.arena);
}

// As many rates as parts.
static void test_a_rate_for_each_part(void **state) {
    static const enum role parts[][2] = {
        {ROLE_EMBEDDING, ROLE_NONE}, {ROLE_NORM, ROLE_NONE}, {ROLE_QKV, ROLE_UP},
        {ROLE_QKV, ROLE_KV},         {ROLE_OUT, ROLE_NONE},  {ROLE_MLP, ROLE_GATE},
        {ROLE_MLP, ROLE_UP},         {ROLE_DOWN, ROLE_NONE}, {ROLE_HEAD, ROLE_NONE}};
    enum { N_PARTS = sizeof parts / sizeof *parts };
    struct trial trial;
    begin(&trial, FAMILY_LLAMA);
    for (int i = 0; i < N_PARTS; i++)
        add_rule(&trial, parts[i][0], parts[i][1])->optimizer.rate =
            (struct learning_rate){.curve = RATE_CONSTANT, .base = 1 + i};
    assert_true(run(&trial));
    assert_int_not_equal(program_find_buffer(trial.program, "learning_rate.10"), NO_ID);
    arena_free(&trial.arena);
}

static void test_longest_selector_wins(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_LLAMA);
    add_rule(&trial, ROLE_MLP, ROLE_UP)->optimizer.weight_decay = 0.3;
    add_rule(&trial, ROLE_MLP, ROLE_NONE)->optimizer.weight_decay = 0.2;
    add_rule(&trial, ROLE_UP, ROLE_NONE)->optimizer.weight_decay = 0.4;
    assert_true(run(&trial));
    assert_float_equal(decay_of(&trial, "update_block", "mlp.up.weight"), 0.3, 0);
    assert_float_equal(decay_of(&trial, "update_block", "mlp.down.weight"), 0.2, 0);
    // `up` at every depth: attention's query projection too
    assert_float_equal(decay_of(&trial, "update_block", "attention.q.weight"), 0.4, 0);
    assert_float_equal(decay_of(&trial, "update_block", "attention.k.weight"), 0.1, 0);
    assert_float_equal(decay_of(&trial, "update_head", "head.weight"), 0.1, 0);
    arena_free(&trial.arena);
}

static void test_mixed_optimizers(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_LLAMA);
    struct optimizer_config *sgd = &add_rule(&trial, ROLE_MLP, ROLE_NONE)->optimizer;
    *sgd = (struct optimizer_config){
        .kind = OPTIMIZER_SGD, .rate = {.curve = RATE_CONSTANT, .base = 0.5}, .momentum = 0.9};
    add_rule(&trial, ROLE_EMBEDDING, ROLE_NONE)->optimizer.kind = OPTIMIZER_NONE;
    assert_true(run(&trial));
    const struct program *program = trial.program;
    assert_int_equal(update_of(&trial, "update_block", "mlp.up.weight")->kind, OP_SGD_MOMENTUM);
    assert_int_equal(update_of(&trial, "update_block", "attention.q.weight")->kind, OP_ADAMW);
    assert_int_equal(job_find_unit(program->job, "update_embedding"), NO_ID);
    assert_int_equal(job_find_unit(program->job, "norm_embedding"), NO_ID);
    assert_int_equal(job_find_unit(program->job, "embedding_backward"), NO_ID);
    assert_int_equal(program_find_buffer(program, "embedding.token.moment1"), NO_ID);
    assert_int_not_equal(program_find_buffer(program, "block.mlp.up.weight.momentum"), NO_ID);
    assert_int_equal(program_find_buffer(program, "block.mlp.up.weight.moment1"), NO_ID);
    // Two rates; the first rule's is the one that the host reads.
    buffer_id rate = program_find_buffer(program, "learning_rate");
    assert_int_equal(program->buffers[rate].class, CLASS_OUTPUT);
    assert_int_not_equal(program_find_buffer(program, "learning_rate.2"), NO_ID);
    assert_int_equal(program_find_buffer(program, "learning_rate.3"), NO_ID);
    arena_free(&trial.arena);
}

static void expect_refusal(struct trial *trial, enum diagnostic_code code) {
    assert_false(run(trial));
    assert_int_equal(trial->diagnostics->n_errors, 1);
    assert_int_equal(trial->diagnostics->items[0]->code, code);
    arena_free(&trial->arena);
}

static void test_E121_everything_frozen(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.train.optimizers[0].optimizer.kind = OPTIMIZER_NONE;
    expect_refusal(&trial, E121);
}

static struct optimizer_rule *add_slice(struct trial *trial, int64_t begin, int64_t end,
                                        int64_t step) {
    struct optimizer_rule *rule = add_rule(trial, ROLE_LAYERS, ROLE_NONE);
    rule->selector.has_slice = true;
    rule->selector.slice_begin = begin;
    rule->selector.slice_end = end;
    rule->selector.slice_step = step;
    return rule;
}

static void test_E199_freezing_some_layers(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    add_slice(&trial, 0, 2, 1)->optimizer.kind = OPTIMIZER_NONE;
    expect_refusal(&trial, E199);
}

// By a longer selector than the one that freezes it in all.
static void test_E199_training_some_layers(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    add_rule(&trial, ROLE_MLP, ROLE_NONE)->optimizer.kind = OPTIMIZER_NONE;
    struct selector *selector = &add_slice(&trial, 1, 2, 1)->selector;
    selector->roles[selector->n_roles++] = ROLE_UP;
    expect_refusal(&trial, E199);
}

static int64_t first_layer_of(const struct trial *trial, const char *buffer) {
    buffer_id id = program_find_buffer(trial->program, buffer);
    assert_int_not_equal(id, NO_ID);
    return buffer_first_layer(&trial->program->buffers[id]);
}

// Ranges of layers have updates of their own, and moments of their layers alone.
static void test_optimizers_by_layer(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.model.layers = 5;
    struct optimizer_config sgd = {
        .kind = OPTIMIZER_SGD, .rate = {.curve = RATE_CONSTANT, .base = 0.5}, .momentum = 0.9};
    add_slice(&trial, 1, 3, 1)->optimizer = sgd;
    add_slice(&trial, 3, 4, 1)->optimizer = sgd; // the same: no range of its own
    struct optimizer_rule *same = add_slice(&trial, 4, 5, 1);
    same->optimizer = trial.config.train.optimizers[0].optimizer;
    assert_true(run(&trial));
    assert_int_equal(update_of(&trial, "update_block_0_1", "mlp.up.weight")->kind, OP_ADAMW);
    assert_int_equal(update_of(&trial, "update_block_1_4", "mlp.up.weight")->kind, OP_SGD_MOMENTUM);
    assert_int_equal(update_of(&trial, "update_block_4_5", "mlp.up.weight")->kind, OP_ADAMW);
    assert_int_equal(first_layer_of(&trial, "block.mlp.up.weight.moment1.4_5"), 4);
    assert_int_equal(first_layer_of(&trial, "block.mlp.up.weight.momentum.1_4"), 1);
    assert_int_equal(program_find_buffer(trial.program, "block.mlp.up.weight.moment2.1_4"), NO_ID);
    assert_int_equal(job_find_unit(trial.program->job, "norm_block_0_1"), NO_ID);
    arena_free(&trial.arena);
}

// Where every n-th layer has another optimizer, each layer that differs from the one before it is a
// range by itself.
static void test_optimizer_of_every_other_layer(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.model.layers = 5;
    add_slice(&trial, 1, 5, 2)->optimizer.weight_decay = 0.3;
    assert_true(run(&trial));
    static const char *const units[] = {"update_block_0_1", "update_block_1_2", "update_block_2_3",
                                        "update_block_3_4", "update_block_4_5"};
    for (int layer = 0; layer < 5; layer++)
        assert_float_equal(decay_of(&trial, units[layer], "mlp.up.weight"), (layer % 2 ? 0.3 : 0.1),
                           0);
    arena_free(&trial.arena);
}

// What says of every other layer what holds anyway makes no range.
static void test_same_optimizer_of_every_other_layer(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.model.layers = 5;
    struct optimizer_rule *same = add_slice(&trial, 0, 5, 2);
    same->optimizer = trial.config.train.optimizers[0].optimizer;
    assert_true(run(&trial));
    assert_float_equal(decay_of(&trial, "update_block", "mlp.up.weight"), 0.1, 0);
    arena_free(&trial.arena);
}

// Slices of equal length are a tie where they overlap.
static void test_E305_overlapping_slices(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.model.layers = 5;
    add_slice(&trial, 0, 2, 1)->optimizer.weight_decay = 0.3;
    add_slice(&trial, 1, 4, 1)->optimizer.weight_decay = 0.4;
    expect_refusal(&trial, E305);
}

// What longer selectors settle in the layers that two share is none.
static void test_longer_selector_settles_slices(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    trial.config.model.layers = 5;
    add_slice(&trial, 0, 2, 1)->optimizer.weight_decay = 0.3;
    add_slice(&trial, 1, 4, 1)->optimizer.weight_decay = 0.4;
    static const enum role parts[] = {ROLE_ATTENTION, ROLE_MLP};
    for (int i = 0; i < 2; i++) {
        struct selector *selector = &add_slice(&trial, 1, 2, 1)->selector;
        selector->roles[selector->n_roles++] = (uint8_t)parts[i];
    }
    assert_true(run(&trial));
    assert_float_equal(decay_of(&trial, "update_block_0_1", "mlp.up.weight"), 0.3, 0);
    assert_float_equal(decay_of(&trial, "update_block_1_2", "mlp.up.weight"), 0.1, 0);
    assert_float_equal(decay_of(&trial, "update_block_2_4", "mlp.up.weight"), 0.4, 0);
    arena_free(&trial.arena);
}

// A slice that takes all layers is no restriction.
static void test_slice_of_all_layers(void **state) {
    struct trial trial;
    begin(&trial, FAMILY_GPT2);
    add_slice(&trial, 0, trial.config.model.layers, 1);
    assert_true(run(&trial));
    assert_int_not_equal(job_find_unit(trial.program->job, "update_block"), NO_ID);
    arena_free(&trial.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_matrices_decay),
        cmocka_unit_test(test_selected_parts_decay),
        cmocka_unit_test(test_a_rate_for_each_part),
        cmocka_unit_test(test_longest_selector_wins),
        cmocka_unit_test(test_mixed_optimizers),
        cmocka_unit_test(test_E121_everything_frozen),
        cmocka_unit_test(test_E199_freezing_some_layers),
        cmocka_unit_test(test_E199_training_some_layers),
        cmocka_unit_test(test_optimizers_by_layer),
        cmocka_unit_test(test_optimizer_of_every_other_layer),
        cmocka_unit_test(test_same_optimizer_of_every_other_layer),
        cmocka_unit_test(test_E305_overlapping_slices),
        cmocka_unit_test(test_longer_selector_settles_slices),
        cmocka_unit_test(test_slice_of_all_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
