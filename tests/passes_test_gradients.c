// Gradients against finite differences, in fp64 on the interpreter: every op that has a gradient
// rule by itself, and whole tiny models, every tensor of every layer along a random direction.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "ir/interpreter/interpreter.h"
#include "passes/reference/emit.h"
#include "passes/reference/gradients.h"
#include "passes/passes.h"
#include "tests/random.h"
#include "tests/tiny_models.h"

// Central differences of smooth functions of size one: error about h^2 plus 1e-16 / h.
static const double difference = 1e-5, tolerance = 1e-8;

static void fill(struct array *array, uint64_t *seed) {
    for (int64_t i = 0; i < type_elements(&array->type); i++)
        array->data[i] = random_real(seed);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// ---- one op -----------------------------------------------------------------------------------

// A forward unit of a few ops, its inputs, and a direction of each of its results that has one: the
// function under test is the sum of result * direction.
struct trial {
    struct arena arena;
    struct program *program;
    struct emitter emitter;
    struct array values[64];
    struct array directions[8];
    bool given[8], wanted[8], added[8];
    uint64_t seed;
};

static void begin(struct trial *trial) {
    memset(trial, 0, sizeof *trial);
    trial->seed = 7;
    trial->program = program_new(&trial->arena, "main");
    trial->emitter.arena = &trial->arena;
    trial->emitter.span.source = NO_SOURCE;
    uint32_t id = job_add_unit(trial->program->job, "u_forward", trial->emitter.span);
    trial->emitter.unit = &trial->program->job->units[id];
}

static value_id add_input(struct trial *trial, enum dtype dtype, unsigned rank,
                          const int64_t *sizes) {
    struct tensor_type type = {.dtype = dtype, .rank = (uint8_t)rank};
    for (unsigned i = 0; i < rank; i++)
        type.dims[i] = (struct dim){DIM_HIDDEN, sizes[i]};
    struct unit *unit = trial->emitter.unit;
    const char *name = arena_format(&trial->arena, "p%u", unit->n_parameters);
    value_id id = unit_add_parameter(&trial->arena, unit, name, type, false);
    trial->values[id] = array_new(&trial->arena, type);
    fill(&trial->values[id], &trial->seed);
    return id;
}

#define SIZES(...)                                                                                 \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) {                              \
        __VA_ARGS__                                                                                \
    }

static value_id real_input(struct trial *trial, unsigned rank, const int64_t *sizes) {
    value_id id = add_input(trial, DTYPE_F64, rank, sizes);
    trial->wanted[id] = true;
    return id;
}

// Ids below `n`, among them a repeated one, and a masked one (-1) if `masked`.
static value_id id_input(struct trial *trial, int64_t n, bool masked, unsigned rank,
                         const int64_t *sizes) {
    value_id id = add_input(trial, DTYPE_I32, rank, sizes);
    struct array *ids = &trial->values[id];
    for (int64_t i = 0; i < type_elements(&ids->type); i++)
        ids->data[i] = (double)(random_bits(&trial->seed) % (uint64_t)n);
    ids->data[1] = ids->data[0];
    if (masked)
        ids->data[2] = -1;
    return id;
}

// The op's results become the unit's; `with_direction` of the first ones count in the function.
static void add_results(struct trial *trial, struct op made, unsigned with_direction) {
    struct unit *unit = trial->emitter.unit;
    for (unsigned i = 0; i < made.n_results; i++) {
        trial->given[unit->n_results] = i < with_direction;
        struct array *direction = &trial->directions[unit->n_results];
        *direction = array_new(&trial->arena, unit->values[made.results[i]].type);
        fill(direction, &trial->seed);
        unit_add_result(&trial->arena, unit, made.results[i], NO_ID);
    }
}

static double function(struct trial *trial) {
    const struct unit *unit = &trial->program->job->units[0];
    struct arena scratch = {0};
    interpret_unit(unit, trial->values, &scratch);
    double sum = 0;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (trial->given[i])
            sum += dot(trial->values[unit->results[i].value].data, trial->directions[i].data,
                       type_elements(&trial->directions[i].type));
    arena_free(&scratch);
    return sum;
}

static void check_entries(struct trial *trial, uint32_t parameter, const double *gradient) {
    struct array *input = &trial->values[parameter];
    for (int64_t i = 0; i < type_elements(&input->type); i++) {
        double old = input->data[i];
        input->data[i] = old + difference;
        double above = function(trial);
        input->data[i] = old - difference;
        double slope = (above - function(trial)) / (2 * difference);
        input->data[i] = old;
        if (fabs(slope - gradient[i]) > tolerance * fmax(1, fabs(slope)))
            fail_msg("parameter %u, entry %lld: differences %.12g, rule %.12g", parameter,
                     (long long)i, slope, gradient[i]);
    }
}

// Derives the backward unit, runs it on forward's values, and compares every result.
static void finish(struct trial *trial) {
    struct program *program = trial->program;
    enum dtype types[64];
    for (uint32_t i = 0; i < program->job->units[0].n_parameters; i++)
        types[i] = program->job->units[0].values[i].type.dtype;
    struct backward backward =
        derive_backward(program, 0, "u_backward", trial->given, trial->wanted, trial->added, types);
    assert_int_not_equal(backward.unit, NO_ID);
    const struct unit *unit = &program->job->units[backward.unit];
    struct arena scratch = {0};
    struct array *forward = ARENA_ARRAY(&scratch, struct array, 64);
    memcpy(forward, trial->values, sizeof trial->values);
    interpret_unit(&program->job->units[0], forward, &scratch);
    struct array *values = ARENA_ARRAY(&scratch, struct array, unit->n_values);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct backward_operand from = backward.operands[i];
        if (from.source == BACKWARD_FORWARD) {
            values[i] = forward[from.of];
        } else if (from.source == BACKWARD_COTANGENT) {
            values[i] = trial->directions[from.of];
        } else { // a sum so far of ones
            values[i] = array_new(&scratch, unit->values[i].type);
            for (int64_t k = 0; k < type_elements(&values[i].type); k++)
                values[i].data[k] = 1;
        }
    }
    interpret_unit(unit, values, &scratch);
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < trial->program->job->units[0].n_parameters; i++)
        n_wanted += trial->wanted[i];
    assert_int_equal(unit->n_results, n_wanted);
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct array *gradient = &values[unit->results[i].value];
        uint32_t parameter = backward.results[i];
        assert_int_equal(unit->results[i].in_parameter != NO_ID, trial->added[parameter]);
        for (int64_t k = 0; k < type_elements(&gradient->type); k++)
            gradient->data[k] -= trial->added[parameter];
        check_entries(trial, parameter, gradient->data);
    }
    arena_free(&scratch);
    arena_free(&trial->arena);
}

static void check_einsum(const char *labels, unsigned rank_a, const int64_t *a, unsigned rank_b,
                         const int64_t *b) {
    struct trial trial;
    begin(&trial);
    value_id x = real_input(&trial, rank_a, a), y = real_input(&trial, rank_b, b);
    struct attribute attribute = {.name = ATTRIBUTE_LABELS, .word = labels};
    struct op *made = emit_with(&trial.emitter, OP_EINSUM, "c", OPERANDS(x, y), &attribute, 1);
    add_results(&trial, *made, 1);
    finish(&trial);
}

static void test_einsum(void **state) {
    check_einsum("bsh,hgrd->bsgrd", SIZES(2, 3, 4), SIZES(4, 2, 3, 5));
    check_einsum("bsh,hgd->bsgd", SIZES(2, 3, 4), SIZES(4, 2, 5));
    check_einsum("bsgrd,grdh->bsh", SIZES(2, 3, 2, 3, 5), SIZES(2, 3, 5, 4));
    check_einsum("bsh,vh->bsv", SIZES(2, 3, 4), SIZES(5, 4));
    check_einsum("bmk,bkn->bmn", SIZES(2, 3, 4), SIZES(2, 4, 5));
}

// Ops of some real operands and attributes, whose first result has the direction.
static void check_op(enum op_kind kind, const struct attribute *attributes, unsigned n_attributes,
                     unsigned n, const unsigned *ranks, const int64_t (*sizes)[5]) {
    struct trial trial;
    begin(&trial);
    value_id operands[8];
    for (unsigned i = 0; i < n; i++)
        operands[i] = real_input(&trial, ranks[i], sizes[i]);
    struct op *made = emit_with(&trial.emitter, kind, "y", operands, n, attributes, n_attributes);
    add_results(&trial, *made, 1);
    finish(&trial);
}

static void test_elementwise(void **state) {
    const unsigned ranks[] = {3, 3};
    const int64_t sizes[][5] = {{2, 3, 4}, {2, 3, 4}};
    struct attribute by_tanh = {.name = ATTRIBUTE_APPROXIMATE, .word = "tanh"};
    struct attribute by_erf = {.name = ATTRIBUTE_APPROXIMATE, .word = "erf"};
    check_op(OP_ADD, NULL, 0, 2, ranks, sizes);
    check_op(OP_MUL, NULL, 0, 2, ranks, sizes);
    check_op(OP_SILU, NULL, 0, 1, ranks, sizes);
    check_op(OP_GELU, &by_tanh, 1, 1, ranks, sizes);
    check_op(OP_GELU, &by_erf, 1, 1, ranks, sizes);
}

static void test_add_bias(void **state) {
    const int64_t sizes[][5] = {{2, 3, 4}, {4}}, wide[][5] = {{2, 3, 4}, {3, 4}};
    check_op(OP_ADD_BIAS, NULL, 0, 2, (unsigned[]){3, 1}, sizes);
    check_op(OP_ADD_BIAS, NULL, 0, 2, (unsigned[]){3, 2}, wide);
}

static void test_scale(void **state) {
    struct trial trial;
    begin(&trial);
    value_id x = real_input(&trial, SIZES(2, 3));
    value_id factor = add_input(&trial, DTYPE_F64, 0, NULL);
    add_results(&trial, *emit_with(&trial.emitter, OP_SCALE, "y", OPERANDS(x, factor), NULL, 0), 1);
    finish(&trial);
}

// The function is linear where nothing else is drawn; one row is of an evaluation's kind, key 0.
static void test_dropout(void **state) {
    const struct attribute attributes[] = {{.name = ATTRIBUTE_PROBABILITY, .real = 0.4},
                                           {.name = ATTRIBUTE_SITE, .integer = 1}};
    for (int key = 0; key < 2; key++) {
        struct trial trial;
        begin(&trial);
        value_id x = real_input(&trial, SIZES(2, 3, 5)),
                 samples = id_input(&trial, 9, false, SIZES(2));
        value_id layer = add_input(&trial, DTYPE_F64, 0, NULL);
        value_id drawn = add_input(&trial, DTYPE_F64, 0, NULL);
        trial.values[layer].data[0] = 2;
        trial.values[drawn].data[0] = key * 77;
        value_id positions = emit_iota(&trial.emitter, "positions", DIM_SEQUENCE, 3);
        value_id columns = emit_iota(&trial.emitter, "columns", DIM_HIDDEN, 5);
        struct op *made =
            emit_with(&trial.emitter, OP_DROPOUT, "y",
                      OPERANDS(x, samples, positions, columns, layer, drawn), attributes, 2);
        add_results(&trial, *made, 1);
        finish(&trial);
    }
}

static void test_norms(void **state) {
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = 1e-2};
    const int64_t sizes[][5] = {{2, 3, 5}, {5}, {5}};
    check_op(OP_LAYER_NORM, &eps, 1, 3, (unsigned[]){3, 1, 1}, sizes);
    check_op(OP_RMS_NORM, &eps, 1, 2, (unsigned[]){3, 1}, sizes);
}

static void test_rope(void **state) {
    const struct attribute attributes[] = {
        {.name = ATTRIBUTE_THETA, .real = 50},
        {.name = ATTRIBUTE_ROPE_FACTOR, .real = 4},
        {.name = ATTRIBUTE_ROPE_LOW, .real = 1},
        {.name = ATTRIBUTE_ROPE_HIGH, .real = 2},
        {.name = ATTRIBUTE_ROPE_ORIGINAL, .integer = 12},
    };
    for (unsigned n = 1; n <= 5; n += 4) {
        struct trial trial;
        begin(&trial);
        value_id x = real_input(&trial, SIZES(2, 3, 2, 2, 6));
        value_id positions = emit_iota(&trial.emitter, "positions", DIM_SEQUENCE, 3);
        add_results(&trial,
                    *emit_with(&trial.emitter, OP_ROPE, "y", OPERANDS(x, positions), attributes, n),
                    1);
        finish(&trial);
    }
}

// Parts that overlap, read by loops and by kernels, which differ in what backward reads of them.
static void test_parts(void **state) {
    struct trial trial;
    begin(&trial);
    struct emitter *e = &trial.emitter;
    value_id x = real_input(&trial, SIZES(2, 3, 5, 4)), gain = real_input(&trial, SIZES(4));
    value_id parts = emit_iota(e, "parts", DIM_PART, 5), some = emit_iota(e, "some", DIM_GROUP, 3);
    struct attribute index[] = {{.name = ATTRIBUTE_INDEX, .integer = 1},
                                {.name = ATTRIBUTE_KEEP, .integer = 1}};
    struct attribute shift[] = {{.name = ATTRIBUTE_SHIFT, .integer = 1},
                                {.name = ATTRIBUTE_KEEP, .integer = 1}};
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = 1e-3};
    value_id one = emit_with(e, OP_TAKE, "one", OPERANDS(x, parts), index, 2)->results[0];
    value_id three = emit_with(e, OP_MOVE, "three", OPERANDS(x, parts, some), shift, 2)->results[0];
    add_results(&trial, *emit_with(e, OP_SILU, "silu", OPERANDS(one), NULL, 0), 1);
    add_results(&trial, *emit_with(e, OP_RMS_NORM, "one.norm", OPERANDS(one, gain), &eps, 1), 1);
    add_results(&trial, *emit_with(e, OP_RMS_NORM, "norm", OPERANDS(three, gain), &eps, 1), 1);
    add_results(&trial, *emit_with(e, OP_MUL, "square", OPERANDS(three, three), NULL, 0), 1);
    finish(&trial);
}

static void test_attention(void **state) {
    struct trial trial;
    begin(&trial);
    struct attribute scale = {.name = ATTRIBUTE_SCALE, .real = 0.7};
    value_id q = real_input(&trial, SIZES(2, 3, 2, 3, 4));
    value_id k = real_input(&trial, SIZES(2, 3, 2, 4)), v = real_input(&trial, SIZES(2, 3, 2, 4));
    value_id positions = emit_iota(&trial.emitter, "positions", DIM_SEQUENCE, 3);
    struct op *made = emit_with(&trial.emitter, OP_ATTENTION, "y",
                                OPERANDS(q, k, v, positions, positions), &scale, 1);
    add_results(&trial, *made, 1);
    finish(&trial);
}

static void test_embedding(void **state) {
    for (int added = 0; added < 2; added++) {
        struct trial trial;
        begin(&trial);
        value_id ids = id_input(&trial, 5, false, SIZES(2, 3));
        value_id table = real_input(&trial, SIZES(5, 4));
        trial.added[table] = added;
        value_id rows = emit_iota(&trial.emitter, "rows", DIM_VOCAB, 5);
        struct op *made =
            emit_with(&trial.emitter, OP_EMBEDDING, "y", OPERANDS(ids, table, rows), NULL, 0);
        add_results(&trial, *made, 1);
        finish(&trial);
    }
}

static void test_cross_entropy(void **state) {
    struct trial trial;
    begin(&trial);
    value_id logits = real_input(&trial, SIZES(2, 3, 5));
    value_id targets = id_input(&trial, 5, true, SIZES(2, 3));
    value_id rows = emit_iota(&trial.emitter, "rows", DIM_VOCAB, 5);
    struct op *made = emit_with(&trial.emitter, OP_CROSS_ENTROPY, "loss",
                                OPERANDS(logits, targets, rows), NULL, 0);
    add_results(&trial, *made, 1);
    finish(&trial);
}

// A value used twice, once through an op that is recomputed: y = silu(x) * x + x.
static void test_fan_out(void **state) {
    struct trial trial;
    begin(&trial);
    struct emitter *e = &trial.emitter;
    value_id x = real_input(&trial, SIZES(2, 3));
    value_id opened = emit(e, OP_SILU, "opened", OPERANDS(x));
    value_id product = emit(e, OP_MUL, "product", OPERANDS(opened, x));
    value_id square = emit(e, OP_MUL, "square", OPERANDS(product, product));
    add_results(&trial, *emit_with(e, OP_ADD, "y", OPERANDS(square, x), NULL, 0), 1);
    finish(&trial);
}

// ---- whole models -----------------------------------------------------------------------------

struct model_trial {
    struct arena arena;
    struct program *program;
    struct machine *machine;
    uint64_t seed;
};

static void begin_model(struct model_trial *trial, const struct config *config) {
    struct pass_context context = {.config = config,
                                   .diagnostics = diagnostics_new(&trial->arena, NULL)};
    trial->program = program_new(&trial->arena, "main");
    assert_true(passes_run(trial->program->job, &context, PASS_BUILD, PASS_UPDATE));
    trial->machine = machine_new(&trial->arena, trial->program);
    for (buffer_id i = 0; i < trial->program->n_buffers; i++) {
        const struct buffer *buffer = &trial->program->buffers[i];
        int64_t n = machine_item_elements(trial->machine, i) * buffer_items(buffer);
        double *data = machine_item(trial->machine, i, 0);
        for (int64_t k = 0; k < n; k++) {
            if (buffer->class == CLASS_PARAMETERS)
                data[k] = 0.5 * random_real(&trial->seed);
            else if (buffer->host == HOST_LAYER || buffer->host == HOST_SAMPLES)
                data[k] = (double)k;
            else if (buffer->class == CLASS_INPUT && buffer->dtype == DTYPE_I32)
                data[k] = (double)(random_bits(&trial->seed) % (uint64_t)config->model.vocab);
            else if (buffer->class == CLASS_INPUT)
                data[k] = 1; // the step, the key of what is drawn
        }
    }
    buffer_id targets = program_find_buffer(trial->program, "targets");
    for (int64_t i = 1; i < machine_item_elements(trial->machine, targets); i += 4)
        machine_item(trial->machine, targets, 0)[i] = -1;
}

static double model_loss(struct model_trial *trial) {
    machine_run(trial->machine, STEP_EVALUATE);
    return *machine_item(trial->machine, program_find_buffer(trial->program, "loss"), 0);
}

// The slope of the loss along a random direction of one item of a parameter's buffer.
static void check_direction(struct model_trial *trial, buffer_id buffer, int64_t item,
                            const double *gradient) {
    int64_t n = machine_item_elements(trial->machine, buffer);
    double *parameter = machine_item(trial->machine, buffer, item);
    struct arena scratch = {0};
    double *direction = ARENA_ARRAY(&scratch, double, n), *old = ARENA_ARRAY(&scratch, double, n);
    memcpy(old, parameter, (size_t)n * sizeof *old);
    double losses[2];
    for (int64_t i = 0; i < n; i++)
        direction[i] = random_real(&trial->seed);
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < n; i++)
            parameter[i] = old[i] + (side ? difference : -difference) * direction[i];
        losses[side] = model_loss(trial);
    }
    memcpy(parameter, old, (size_t)n * sizeof *old);
    double slope = (losses[1] - losses[0]) / (2 * difference);
    double expected = dot(gradient, direction, n);
    if (fabs(slope - expected) > tolerance * fmax(1, fabs(slope)))
        fail_msg("%s[%lld]: differences %.12g, gradient %.12g",
                 trial->program->buffers[buffer].name, (long long)item, slope, expected);
    arena_free(&scratch);
}

// Runs the train step on a copy of the parameters and checks every gradient it leaves.
static void check_model(const struct config *config, uint32_t n_frozen) {
    struct model_trial trial = {.seed = 3};
    begin_model(&trial, config);
    struct program *program = trial.program;
    struct machine *trained = machine_new(&trial.arena, program);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        memcpy(trained->buffers[i], trial.machine->buffers[i],
               (size_t)(machine_item_elements(trained, i) * buffer_items(&program->buffers[i])) *
                   sizeof(double));
    machine_run(trained, STEP_TRAIN);
    buffer_id loss = program_find_buffer(program, "loss");
    assert_float_equal(*machine_item(trained, loss, 0), model_loss(&trial), 1e-12);
    uint32_t frozen = 0;
    for (uint32_t i = 0; i < program->job->n_tensors; i++) {
        const char *name = program->job->tensors[i].name;
        buffer_id buffer = program_find_buffer(program, name);
        buffer_id gradient =
            program_find_buffer(program, arena_format(&trial.arena, "%s.gradient", name));
        frozen += gradient == NO_ID;
        for (int64_t k = 0; gradient != NO_ID && k < buffer_items(&program->buffers[buffer]); k++)
            check_direction(&trial, buffer, k, machine_item(trained, gradient, k));
    }
    assert_int_equal(frozen, n_frozen);
    arena_free(&trial.arena);
}

static void test_gpt2(void **state) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, FAMILY_GPT2);
    check_model(&config, 0);
    config.model.activation = ACTIVATION_GELU_ERF;
    config.model.tied = false;
    check_model(&config, 0);
    config.model.fused_qkv = true;
    config.model.dropout = 0.3;
    check_model(&config, 0);
    arena_free(&arena);
}

static void test_llama(void **state) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, FAMILY_LLAMA);
    check_model(&config, 0);
    config.model.biases = BIASES_ALL;
    config.model.tied = true;
    config.model.dropout = 0.2;
    check_model(&config, 0);
    config.model.fused_qkv = config.model.fused_gate_up = true;
    check_model(&config, 0);
    arena_free(&arena);
}

// One layer, one head, one sample of two tokens.
static void test_smallest(void **state) {
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++) {
        struct arena arena = {0};
        struct config config = tiny_config(&arena, (enum model_family)family);
        config.model.layers = config.model.heads = config.model.kv_heads = 1;
        config.model.head_dim = 2;
        config.train.batch = 1;
        config.train.sequence = 2;
        check_model(&config, 0);
        arena_free(&arena);
    }
}

// What is frozen has no gradient, and the rest has the same one.
static void test_frozen(void **state) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, FAMILY_GPT2);
    struct optimizer_rule *rules = ARENA_ARRAY(&arena, struct optimizer_rule, 3);
    rules[0] = rules[1] = rules[2] = config.train.optimizers[0];
    rules[1].optimizer.kind = rules[2].optimizer.kind = OPTIMIZER_NONE;
    rules[1].selector = (struct selector){.n_roles = 1, .roles = {ROLE_EMBEDDING}};
    rules[2].selector = (struct selector){.n_roles = 2, .roles = {ROLE_ATTENTION, ROLE_KV}};
    config.train.optimizers = rules;
    config.train.n_optimizers = 3;
    check_model(&config, 2 + 4);
    rules[2].selector = (struct selector){.n_roles = 1, .roles = {ROLE_LAYERS}};
    check_model(&config, 2 + 16);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum),        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_add_bias),      cmocka_unit_test(test_scale),
        cmocka_unit_test(test_dropout),       cmocka_unit_test(test_norms),
        cmocka_unit_test(test_rope),          cmocka_unit_test(test_attention),
        cmocka_unit_test(test_parts),         cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_cross_entropy), cmocka_unit_test(test_fan_out),
        cmocka_unit_test(test_gpt2),          cmocka_unit_test(test_llama),
        cmocka_unit_test(test_smallest),      cmocka_unit_test(test_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
