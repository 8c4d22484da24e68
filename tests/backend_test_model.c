// Whole tiny models under every strategy of examples/, and some that are made up: partitioned,
// fused and planned, jitted and run by as many ranks as the mesh has devices, against the oracle's
// devices, which hold the same numbers. Those agree with a single device (passes_test_execution.c).
// The bytes that ranks send in a step, and those that are alive in it, are those of the account.
#include "backend_harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/transport/transport.h"
#include "tests/backend_live.h"
#include "tests/derive.h"
#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"
#include "tests/oracle/memory.h"
#include "tests/random.h"
#include "tests/sample.h"
#include "tests/tiny_strategies.h"

struct model {
    struct arena arena;
    struct config config;
    struct program *program;
    struct devices *oracle;
    struct backend_code *code;
    struct ranks ranks;
    const char *name;
    uint64_t random;
    const struct axis_list *groups;
    uint32_t n_groups;
};

// False: the strategy has no program.
static bool open_model(struct model *m, int threads) {
    m->random = 1;
    m->program = derive_program(&m->arena, &m->config, PASS_MEMORY, NULL);
    if (!m->program)
        return false;
    m->oracle = cluster_new(&m->arena, m->program->job)->parts;
    m->code = compile(&m->arena, m->program);
    m->groups = job_groups(m->program->job, &m->arena, &m->n_groups);
    ranks_open(&m->ranks, &m->arena, m->program, threads);
    return true;
}

static void close_model(struct model *m) {
    backend_code_free(harness_backend(), m->code);
    ranks_close(&m->ranks);
    arena_free(&m->arena);
}

// ---- the same numbers in both ------------------------------------------------------------------

static char *bytes_of(struct model *m, int32_t rank, const struct buffer *buffer) {
    return (char *)m->ranks.contexts[rank].head.arenas[PLACE_DEVICE] + buffer->offset_bytes;
}

static double number_for(struct model *m, const struct buffer *buffer) {
    if (buffer->host == HOST_STEP || buffer->host == HOST_DRAW_KEY)
        return 3;
    if (buffer->host == HOST_LAYER)
        return (double)(random_bits(&m->random) % 5);
    if (buffer->dtype == DTYPE_I32) {
        bool masked = buffer->host == HOST_TARGETS && random_bits(&m->random) % 5 == 0;
        return masked ? -1
                      : (double)(random_bits(&m->random) % (uint64_t)m->program->job->sizes.vocab);
    }
    if (buffer->class == CLASS_PARAMETERS)
        return 0.5 * random_real(&m->random);
    return 0.01 + 0.005 * random_real(&m->random); // a second moment is not negative
}

// Scatters one logical item, so that copies are copies.
static void fill_item(struct model *m, buffer_id id, int64_t item) {
    const struct buffer *buffer = &m->program->buffers[id];
    int64_t elements = 1;
    for (unsigned i = 0; i < buffer->rank; i++)
        elements *= buffer->dims[i].size;
    double *logical = ARENA_ARRAY(&m->arena, double, elements);
    for (int64_t i = 0; i < elements; i++)
        logical[i] = number_for(m, buffer);
    devices_put(m->oracle, id, item, logical);
}

static unsigned char *oracle_bytes(struct model *m, int32_t rank, buffer_id id) {
    return item_place(m->oracle, AT_WAIT, rank, id, 0);
}

static void copy_to_ranks(struct model *m, buffer_id id) {
    const struct buffer *buffer = &m->program->buffers[id];
    for (int32_t r = 0; r < m->ranks.n; r++)
        memcpy(bytes_of(m, r, buffer), oracle_bytes(m, r, id),
               (size_t)buffer_bytes(m->program, buffer));
}

static bool is_given(const struct buffer *buffer) {
    return buffer_is_persistent(buffer) || buffer->class == CLASS_INPUT;
}

static void fill(struct model *m) {
    for (buffer_id b = 0; b < m->program->n_buffers; b++) {
        const struct buffer *buffer = &m->program->buffers[b];
        if (!is_given(buffer) || buffer->window_of != NO_ID)
            continue;
        for (int64_t item = 0; item < buffer_items(buffer); item++)
            fill_item(m, b, item);
        copy_to_ranks(m, b);
    }
}

// ---- the same numbers come out -----------------------------------------------------------------

// Scalars are f64 whatever they are sums of.
static double tolerance(const struct model *m) {
    return m->program->job->policy.compute == DTYPE_F32 ? 1e-4 : 1e-9;
}

// Padding is anything.
static void compare(struct model *m, buffer_id id) {
    const struct buffer *buffer = &m->program->buffers[id];
    int64_t n = buffer_bytes(m->program, buffer) / dtype_bytes[buffer->dtype];
    double *expected = ARENA_ARRAY(&m->arena, double, n), *got = ARENA_ARRAY(&m->arena, double, n);
    for (int32_t r = 0; r < m->ranks.n; r++) {
        memory_load(oracle_bytes(m, r, id), buffer->dtype, n, expected);
        memory_load((unsigned char *)bytes_of(m, r, buffer), buffer->dtype, n, got);
        for (int64_t i = 0; i < n; i++)
            if (!isnan(expected[i]) &&
                !(fabs(got[i] - expected[i]) <= tolerance(m) * (1 + fabs(expected[i]))))
                fail_msg("%s: %s[%ld] of rank %d is %.17g, not %.17g", m->name, buffer->name,
                         (long)i, r, got[i], expected[i]);
    }
}

static void run(struct model *m, enum step_kind step) {
    assert_true(cluster_run(m->oracle->cluster, step));
    ranks_run(&m->ranks, backend_entry(harness_backend(), m->code, 0, step));
    for (buffer_id b = 0; b < m->program->n_buffers; b++) {
        const struct buffer *buffer = &m->program->buffers[b];
        bool of_training = buffer->host != HOST_LOSS && step == STEP_EVALUATE;
        bool output = buffer->class == CLASS_OUTPUT && !of_training;
        if ((buffer_is_persistent(buffer) || output) && buffer->window_of == NO_ID)
            compare(m, b);
    }
}

// ---- as many bytes as accounted ----------------------------------------------------------------

static int64_t sent(struct model *m, int32_t rank, uint32_t group) {
    struct place_context *context = &m->ranks.contexts[rank];
    return context->transport->sent_bytes(context, (int32_t)group);
}

static int64_t predicted(struct model *m, const struct account *account, uint32_t group) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++)
        if (axis_list_equal(&account->transfers[i].axes, &m->groups[group]))
            bytes += account->transfers[i].bytes;
    return bytes;
}

// What the rank has sent in the group that has sent most since `before`.
static int64_t most_sent(struct model *m, const int64_t *before, uint32_t group) {
    int64_t most = 0;
    for (int32_t r = 0; r < m->ranks.n; r++) {
        int64_t mine = sent(m, r, group) - before[(uint32_t)r * m->n_groups + group];
        most = mine > most ? mine : most;
    }
    return most;
}

static void train_and_count(struct model *m) {
    const struct account *accounted = account(m->program, &m->arena);
    int64_t *before = ARENA_ARRAY(&m->arena, int64_t, (size_t)m->ranks.n * m->n_groups + 1);
    for (int32_t r = 0; r < m->ranks.n; r++)
        for (uint32_t g = 0; g < m->n_groups; g++)
            before[(uint32_t)r * m->n_groups + g] = sent(m, r, g);
    run(m, STEP_TRAIN);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        int64_t most = most_sent(m, before, g);
        if (most != predicted(m, accounted, g))
            fail_msg("%s: group %u sends %ld bytes, not %ld", m->name, g, (long)most,
                     (long)predicted(m, accounted, g));
    }
    for (int32_t r = 0; r < m->ranks.n; r++) {
        const char *flaw = live_flaw(&m->arena, m->program, r, accounted, &m->ranks.live[r]);
        if (flaw)
            fail_msg("%s: rank %d: %s", m->name, r, flaw);
    }
}

static void train_model(struct model *m) {
    fill(m);
    run(m, STEP_EVALUATE);
    train_and_count(m);
    train_and_count(m);
    close_model(m);
}

static void train(enum model_family family) {
    // A sample trains each strategy with one of the families, in turns.
    int stride = getenv("PLACE_TEST_FULL") ? 1 : 2 * sample_every();
    for (int s = (int)family % stride; s < N_TINY_STRATEGIES; s += stride) {
        struct model m = {.name = tiny_strategy_names[s]};
        m.config = tiny_strategy_config(&m.arena, family, (enum tiny_strategy)s, 2);
        assert_true(open_model(&m, 2));
        train_model(&m);
    }
}

static void gpt2(void **state) {
    train(FAMILY_GPT2);
}

static void llama(void **state) {
    train(FAMILY_LLAMA);
}

// Strategies over a product of axes, in whatever order.
static void products(void **state) {
    int trained = 0, n = sample_every() > 1 ? 2 : 8;
    for (uint64_t seed = 0; trained < n; seed++) {
        struct model m = {.name = "a composition"};
        m.name = arena_format(&m.arena, "composition %d", (int)seed);
        m.config = random_strategy_config(&m.arena, seed);
        if (m.config.strategy.modes[0].axes.n > 1 && open_model(&m, 1)) {
            train_model(&m);
            trained++;
        } else {
            arena_free(&m.arena);
        }
    }
}

// ---- the judge's compositions ------------------------------------------------------------------

// The oracle rounds to what memory holds, and computes in fp64 in between.
static bool train_composition(uint64_t seed, const char *precision) {
    struct model m = {.name = "a composition"};
    struct compiled compiled;
    char *text = arena_format(&m.arena, "%s", compose(&m.arena, seed, &small_dims).text);
    memcpy(strstr(text, "fp64"), precision, strlen(precision));
    compile_text(&compiled, text);
    m.name = arena_format(&m.arena, "composition %d in %s", (int)seed, precision);
    m.config = compiled.config;
    // Ranks of the harness have a device's memory only; lit run/offloaded runs programs with copies.
    bool held = !strstr(text, "offloaded");
    bool accepted = held && compiled.judgement == JUDGED_ACCEPTED && open_model(&m, 1);
    if (accepted)
        train_model(&m);
    else
        arena_free(&m.arena);
    arena_free(&compiled.arena);
    return accepted;
}

// What is accepted runs as the oracle says, in both precisions.
static void compositions(void **state) {
    unsigned n = getenv("PLACE_TEST_FULL") ? 40
                 : sample_every() > 1      ? 2
                                           : 6,
             trained = 0, tried = 0;
    for (; trained < n && tried < 10 * n; tried++)
        trained += train_composition(tried * FAMILY_SIZE + 7, tried % 2 ? "fp32" : "fp64");
    print_message("%u of %u compositions were trained\n", trained, tried);
    assert_true(trained >= n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),
        cmocka_unit_test(llama),
        cmocka_unit_test(products),
        cmocka_unit_test(compositions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
