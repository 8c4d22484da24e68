// Terms mean what they say: the reference program is executed by the interpreter, and abstractly;
// what the terms that are found evaluate to is what the buffers hold. An error in how terms are
// made would be made for the final program too, and show nowhere else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ir/interpreter/interpreter.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"
#include "verify/diagnosis/diagnosis.h"
#include "verify/machine/machine.h"

enum { SEED = 1 };

struct trial {
    struct arena arena;
    struct config config;
    struct program *reference;
    struct machine *machine;
    struct abstract_machine abstract;
};

// The sizes of verify/diagnosis/witness.c.
static void set_sizes(struct config *config) {
    struct model_config *model = &config->model;
    model->layers = 3;
    model->hidden = 4;
    model->heads = 4;
    model->kv_heads = 2;
    model->head_dim = 2;
    model->ffn = 5;
    model->vocab = 7;
    model->sequence_limit = 5;
    config->train.batch = 2;
    config->train.microbatch = 2;
    config->train.sequence = 3;
}

static void begin(struct trial *t, enum model_family family) {
    *t = (struct trial){0};
    t->config = tiny_config(&t->arena, family);
    set_sizes(&t->config);
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&t->arena, &sources);
    struct pass_context context = {.config = &t->config, .diagnostics = diagnostics};
    t->reference = program_new(&t->arena, "main");
    assert_true(passes_run(t->reference->job, &context, PASS_BUILD, PASS_UPDATE));
    job_number(t->reference->job);
    t->machine = machine_new(&t->arena, t->reference);
    struct terms *terms = ARENA_NEW(&t->arena, struct terms);
    terms_init(terms, &t->arena, 1);
    abstract_machine_init(&t->abstract, t->reference, terms, &t->arena, diagnostics,
                          (struct proof_kind){.is_reference = true});
}

// Buffers begin with what the terms' leaves are.
static void fill(struct trial *t) {
    for (buffer_id id = 0; id < t->reference->n_buffers; id++) {
        const struct buffer *buffer = &t->reference->buffers[id];
        if (!class_persistent[buffer->class] && buffer->class != CLASS_INPUT)
            continue;
        for (int64_t i = 0; i < buffer_items(buffer); i++) {
            struct array value;
            struct scaled initial = initial_judgement(&t->abstract, id, i).value;
            assert_true(witness_value(t->abstract.world, t->reference, SEED, initial, &value));
            int64_t n = machine_item_elements(t->machine, id);
            assert_int_equal(n, type_elements(&value.type));
            memcpy(machine_item(t->machine, id, i), value.data, (size_t)n * sizeof(double));
        }
    }
}

static void compare_item(struct trial *t, buffer_id id, int64_t i, const struct judgement *found) {
    const struct buffer *buffer = &t->reference->buffers[id];
    struct array value;
    assert_null(found->fault);
    if (term_kind(t->abstract.world->terms, found->value.of) == NODE_ZERO)
        return;
    assert_true(witness_value(t->abstract.world, t->reference, SEED, found->value, &value));
    const double *expected = machine_item(t->machine, id, i);
    for (int64_t e = 0; e < machine_item_elements(t->machine, id); e++)
        if (!(fabs(value.data[e] - expected[e]) <= 1e-9 * (1 + fabs(expected[e]))))
            fail_msg("%s[%d]: the term evaluates to %.17g, the program computes %.17g",
                     buffer->name, (int)i, value.data[e], expected[e]);
}

static unsigned compare(struct trial *t) {
    unsigned n = 0;
    for (buffer_id id = 0; id < t->reference->n_buffers; id++) {
        enum buffer_class class = t->reference->buffers[id].class;
        if (!class_persistent[class] && class != CLASS_OUTPUT && class != CLASS_GRADIENTS)
            continue;
        for (int64_t i = 0; i < buffer_items(&t->reference->buffers[id]); i++) {
            struct judgement value;
            if (!store_holds(&t->abstract, id, i, &value))
                continue;
            compare_item(t, id, i, &value);
            n++;
        }
    }
    return n;
}

static void check_family(enum model_family family) {
    struct trial t;
    begin(&t, family);
    fill(&t);
    machine_run(t.machine, STEP_TRAIN);
    assert_true(step_execute(&t.abstract, STEP_TRAIN));
    assert_true(compare(&t) > 20);
    fill(&t);
    machine_run(t.machine, STEP_EVALUATE);
    assert_true(step_execute(&t.abstract, STEP_EVALUATE));
    assert_true(compare(&t) > 10);
    arena_free(&t.arena);
}

static void terms_of_gpt2_mean_what_they_say(void **state) {
    check_family(FAMILY_GPT2);
}

static void terms_of_llama_mean_what_they_say(void **state) {
    check_family(FAMILY_LLAMA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_of_gpt2_mean_what_they_say),
        cmocka_unit_test(terms_of_llama_mean_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
