// Whole tiny models on one device: the reference program, fused and planned, jitted and run for
// some steps, against the interpreter running the program as it was before fusion and planning.
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
#include "tests/random.h"
#include "tests/tiny_models.h"

struct model {
    struct arena arena;
    struct config config;
    struct program *program;
    struct machine *machine;
    struct backend_code *code;
    struct cluster cluster;
};

static char *memory_of(const struct model *m) {
    return m->cluster.ranks[0].head.arena;
}

static double *number_at(struct model *m, buffer_id buffer, int64_t item) {
    const struct buffer *b = &m->program->buffers[buffer];
    assert_int_equal(b->dtype, DTYPE_F64);
    return (double *)(memory_of(m) + b->offset_bytes + item * buffer_item_bytes(m->program, b));
}

static void open_model(struct model *m, enum model_family family) {
    memset(m, 0, sizeof *m);
    m->config = tiny_config(&m->arena, family);
    struct pass_context context = {&m->config, diagnostics_new(&m->arena, NULL)};
    m->program = program_new(&m->arena, "main");
    assert_true(passes_run(m->program, &context, PASS_BUILD, PASS_UPDATE));
    m->machine = machine_new(&m->arena, program_clone(&m->arena, m->program));
    assert_true(passes_run(m->program, &context, PASS_FUSE, PASS_FUSE));
    assert_true(passes_run(m->program, &context, PASS_MEMORY, PASS_MEMORY));
    program_number(m->program);
    m->code = compile(&m->arena, m->program);
    cluster_open(&m->cluster, &m->arena, m->program, 2);
}

static void close_model(struct model *m) {
    backend_code_free(harness_backend(), m->code);
    cluster_close(&m->cluster);
    arena_free(&m->arena);
}

// Equal numbers into both: small parameters, zero states, tokens of which some are masked.
static void fill_buffer(struct model *m, buffer_id id, uint64_t *random) {
    const struct buffer *b = &m->program->buffers[id];
    if (!buffer_is_persistent(b) && b->class != CLASS_INPUT)
        return;
    for (int64_t item = 0; item < b->count; item++) {
        double *to = machine_item(m->machine, id, item);
        for (int64_t i = 0; i < machine_item_elements(m->machine, id); i++) {
            if (b->dtype == DTYPE_I32) {
                to[i] = (double)(random_bits(random) % (uint64_t)m->program->sizes.vocab);
                if (strcmp(b->name, "targets") == 0 && i % 5 == 2)
                    to[i] = -1;
                int64_t bytes = item * buffer_item_bytes(m->program, b);
                ((int32_t *)(memory_of(m) + b->offset_bytes + bytes))[i] = (int32_t)to[i];
                continue;
            }
            to[i] = b->class == CLASS_PARAMETERS ? random_real(random) : 0;
            number_at(m, id, item)[i] = to[i];
        }
    }
}

static void compare_buffer(struct model *m, buffer_id id) {
    const struct buffer *b = &m->program->buffers[id];
    if (!buffer_is_persistent(b) && b->class != CLASS_OUTPUT)
        return;
    for (int64_t item = 0; item < b->count; item++)
        for (int64_t i = 0; i < machine_item_elements(m->machine, id); i++) {
            double expected = machine_item(m->machine, id, item)[i];
            double got = number_at(m, id, item)[i];
            if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected))))
                fail_msg("%s[%ld][%ld] is %.17g, not %.17g", b->name, (long)item, (long)i, got,
                         expected);
        }
}

static void train(enum model_family family) {
    struct model m;
    uint64_t random = 1;
    open_model(&m, family);
    for (buffer_id b = 0; b < m.program->n_buffers; b++)
        fill_buffer(&m, b, &random);
    buffer_id step = program_find_buffer(m.program, "step");
    for (int t = 1; t <= 3; t++) {
        *number_at(&m, step, 0) = *machine_item(m.machine, step, 0) = t;
        machine_run(m.machine, STEP_TRAIN);
        cluster_run(&m.cluster, backend_entry(harness_backend(), m.code, STEP_TRAIN));
        for (buffer_id b = 0; b < m.program->n_buffers; b++)
            compare_buffer(&m, b);
    }
    close_model(&m);
}

static void gpt2(void **state) {
    train(FAMILY_GPT2);
}

static void llama(void **state) {
    train(FAMILY_LLAMA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),
        cmocka_unit_test(llama),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
