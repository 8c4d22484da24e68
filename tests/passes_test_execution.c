// Partitioned programs do what one device does: all strategies of examples/ are executed in fp64 on
// a mesh of interpreters, from random parameters and optimizer states, and compared with the
// reference program, step by step: loss, gradient norm, parameters and moments.
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
#include "passes/passes.h"
#include "tests/cluster.h"
#include "tests/random.h"
#include "tests/tiny_strategies.h"

enum { STEPS = 2 };
static const double tolerance = 1e-9;

struct trial {
    struct arena arena;
    struct config config;
    struct program *reference, *program;
    struct machine *machine;
    struct cluster *cluster;
    uint64_t random;
    const char *name;
};

static struct program *compile(struct trial *t, enum pass last) {
    struct source_files sources = {0};
    struct pass_context context = {&t->config, diagnostics_new(&t->arena, &sources)};
    struct program *program = program_new(&t->arena, "main");
    if (!passes_run(program, &context, PASS_BUILD, last)) {
        diagnostics_print(context.diagnostics, stderr, false);
        fail_msg("%s does not compile", t->name);
    }
    return program;
}

static double random_uniform(uint64_t *random, double low, double high) {
    return low + (high - low) * (random_real(random) + 1) / 2;
}

// Random numbers for a buffer of the reference program and the one of its name on the mesh.
static void set_buffer(struct trial *t, buffer_id id, double (*number)(struct trial *)) {
    const struct buffer *buffer = &t->reference->buffers[id];
    int64_t n = machine_item_elements(t->machine, id) * buffer->count;
    double *data = machine_item(t->machine, id, 0);
    buffer_id on_mesh = program_find_buffer(t->program, buffer->name);
    assert_int_not_equal(on_mesh, NO_ID);
    for (int64_t i = 0; i < n; i++)
        data[i] = number(t);
    for (int64_t i = 0; i < t->program->buffers[on_mesh].count; i++) {
        bool batch = t->program->buffers[on_mesh].stack == STACK_MICROBATCHES;
        cluster_scatter(t->cluster, on_mesh, i, machine_item(t->machine, id, batch ? 0 : i));
    }
}

static double any_parameter(struct trial *t) {
    return random_uniform(&t->random, -0.5, 0.5);
}

static double any_moment(struct trial *t) {
    return random_uniform(&t->random, 0.001, 0.01);
}

static double any_token(struct trial *t) {
    return floor(random_uniform(&t->random, 0, (double)t->config.model.vocab));
}

// A seventh of the targets is masked, so that microbatches and devices count differently many.
static double any_target(struct trial *t) {
    return random_uniform(&t->random, 0, 7) < 1 ? -1 : any_token(t);
}

static void load(struct trial *t, enum pass last) {
    t->reference = compile(t, PASS_UPDATE);
    t->program = compile(t, last);
    t->machine = machine_new(&t->arena, t->reference);
    t->cluster = cluster_new(&t->arena, t->program);
    for (buffer_id i = 0; i < t->reference->n_buffers; i++)
        if (buffer_is_persistent(&t->reference->buffers[i]))
            set_buffer(t, i,
                       t->reference->buffers[i].class == CLASS_PARAMETERS ? any_parameter
                                                                          : any_moment);
}

static void begin(struct trial *t, enum model_family family, enum tiny_strategy strategy,
                  int64_t microbatches, enum pass last) {
    *t = (struct trial){.random = 7, .name = tiny_strategy_names[strategy]};
    t->config = tiny_strategy_config(&t->arena, family, strategy, microbatches);
    load(t, last);
}

static void set_inputs(struct trial *t, int step) {
    set_buffer(t, program_find_buffer(t->reference, "tokens"), any_token);
    set_buffer(t, program_find_buffer(t->reference, "targets"), any_target);
    buffer_id id = program_find_buffer(t->reference, "step");
    double number = step + 3;
    *machine_item(t->machine, id, 0) = number;
    cluster_scatter(t->cluster, program_find_buffer(t->program, "step"), 0, &number);
}

static void check_scalar(struct trial *t, const char *name) {
    double expected = *machine_item(t->machine, program_find_buffer(t->reference, name), 0);
    double found = cluster_scalar(t->cluster, program_find_buffer(t->program, name));
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %s is %.17g, on one device %.17g", t->name, name, found, expected);
}

// Relative to the tensor's largest entry.
static void check_tensor(struct trial *t, buffer_id id) {
    const struct buffer *buffer = &t->reference->buffers[id];
    buffer_id on_mesh = program_find_buffer(t->program, buffer->name);
    int64_t n = machine_item_elements(t->machine, id);
    double *found = ARENA_ARRAY(&t->arena, double, n);
    for (int64_t item = 0; item < buffer->count; item++) {
        const double *expected = machine_item(t->machine, id, item);
        cluster_gather(t->cluster, on_mesh, item, found);
        double largest = 0;
        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(expected[i]));
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(found[i] - expected[i]) <= tolerance * largest))
                fail_msg("%s: %s[%d] element %d is %.17g, on one device %.17g", t->name,
                         buffer->name, (int)item, (int)i, found[i], expected[i]);
    }
}

static void check_step(struct trial *t, int step) {
    static const char *const scalars[] = {"token_count", "loss", "grad_norm", "learning_rate"};
    set_inputs(t, step);
    machine_run(t->machine, STEP_EVALUATE);
    cluster_run(t->cluster, STEP_EVALUATE);
    check_scalar(t, "loss");
    machine_run(t->machine, STEP_TRAIN);
    cluster_run(t->cluster, STEP_TRAIN);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        check_scalar(t, scalars[i]);
    for (buffer_id i = 0; i < t->reference->n_buffers; i++)
        if (buffer_is_persistent(&t->reference->buffers[i]))
            check_tensor(t, i);
}

static void check_all(enum model_family family, int64_t microbatches, enum pass last) {
    for (int i = 0; i < N_TINY_STRATEGIES; i++) {
        struct trial t;
        begin(&t, family, (enum tiny_strategy)i, microbatches, last);
        for (int step = 0; step < STEPS; step++)
            check_step(&t, step);
        arena_free(&t.arena);
    }
}

static void test_gpt2(void **state) {
    check_all(FAMILY_GPT2, 1, PASS_OVERLAP);
}

static void test_gpt2_microbatches(void **state) {
    check_all(FAMILY_GPT2, 3, PASS_OVERLAP);
}

static void test_llama(void **state) {
    check_all(FAMILY_LLAMA, 1, PASS_OVERLAP);
}

static void test_llama_microbatches(void **state) {
    check_all(FAMILY_LLAMA, 3, PASS_OVERLAP);
}

static void set_prefetch(struct config *config, int64_t prefetch) {
    for (uint32_t i = 0; i < config->strategy.n_modes; i++)
        config->strategy.modes[i].prefetch = prefetch;
}

// None, more than one, as many as there are layers.
static void test_prefetch(void **state) {
    static const int64_t depths[] = {0, 2, 5};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct trial t = {.random = 7, .name = "zero3"};
        t.config = tiny_strategy_config(&t.arena, FAMILY_LLAMA, TINY_ZERO3, 1);
        set_prefetch(&t.config, depths[i]);
        load(&t, PASS_OVERLAP);
        check_step(&t, 0);
        arena_free(&t.arena);
    }
}

// ---- random compositions -----------------------------------------------------------------------

// Whatever is placed is executed; the others are refused, with a reason and without a crash.
static void test_random_compositions(void **state) {
    int64_t trials = getenv("PLACE_FULL") ? 2000 : 80, executed = 0;
    for (int64_t i = 0; i < trials; i++) {
        struct trial t = {.random = 1000 + (uint64_t)i, .name = NULL};
        t.name = arena_format(&t.arena, "composition %d", (int)i);
        t.config = random_strategy_config(&t.arena, (uint64_t)i);
        struct source_files sources = {0};
        struct pass_context context = {&t.config, diagnostics_new(&t.arena, &sources)};
        struct program *program = program_new(&t.arena, "main");
        if (passes_run(program, &context, PASS_BUILD, PASS_PLACE)) {
            load(&t, PASS_OVERLAP);
            check_step(&t, 0);
            check_step(&t, 1);
            executed++;
        } else {
            assert_int_not_equal(context.diagnostics->n_errors, 0);
        }
        arena_free(&t.arena);
    }
    print_message("%d of %d compositions have a program\n", (int)executed, (int)trials);
    assert_true(2 * executed > trials);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),     cmocka_unit_test(test_gpt2_microbatches),
        cmocka_unit_test(test_llama),    cmocka_unit_test(test_llama_microbatches),
        cmocka_unit_test(test_prefetch), cmocka_unit_test(test_random_compositions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
