// What the derived programs send, on the 124M shape of gpt2 in fp32 with one microbatch: the ratios
// that the theory of placement says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"
#include "tests/tiny_strategies.h"

static void make_124M(struct config *config, bool tied) {
    struct model_config *model = &config->model;
    model->layers = 12;
    model->hidden = 768;
    model->heads = model->kv_heads = 12;
    model->head_dim = 64;
    model->ffn = 3072;
    model->vocab = 50257;
    model->sequence_limit = 1024;
    model->tied = tied;
    config->train.sequence = 256;
    config->train.batch = config->mesh.axes[0].size;
    config->train.microbatch = 1;
    config->train.precision.all = DTYPE_F32;
}

struct volume {
    double all, blocks, embedding; // bytes in one step, scalars left out
    double exchanged;              // by all_to_all, of these
    double regained[N_PHASES];     // of what blocks have made, by all_gather
};

static struct volume volume_of(enum tiny_strategy strategy, bool tied, int64_t devices) {
    struct arena arena = {0};
    struct config config = tiny_strategy_config(&arena, FAMILY_GPT2, strategy, 1);
    config.mesh.axes[0].size = devices;
    make_124M(&config, tied);
    struct source_files sources = {0};
    struct pass_context context = {.config = &config,
                                   .diagnostics = diagnostics_new(&arena, &sources)};
    struct program *program = program_new(&arena, "main");
    assert_true(passes_run(program->job, &context, PASS_BUILD, N_PASSES - 1));
    const struct account *account_of = account(program, &arena);
    struct volume volume = {0};
    for (uint32_t i = 0; i < account_of->n_transfers; i++) {
        const struct account_transfer *t = &account_of->transfers[i];
        if (t->state == N_STATES)
            continue;
        volume.all += (double)t->bytes;
        if (t->kind == COLLECTIVE_ALL_TO_ALL)
            volume.exchanged += (double)t->bytes;
        if (t->kind == COLLECTIVE_ALL_GATHER && t->state == STATE_ACTIVATIONS &&
            t->role == ROLE_LAYERS)
            volume.regained[t->phase] += (double)t->bytes;
        if (t->role == ROLE_LAYERS)
            volume.blocks += (double)t->bytes;
        if (t->role == ROLE_EMBEDDING)
            volume.embedding += (double)t->bytes;
    }
    arena_free(&arena);
    return volume;
}

static void expect_ratio(double found, double base, double expected) {
    if (fabs(found / base - expected) > 0.005)
        fail_msg("%.4f times as many bytes, expected %.2f", found / base, expected);
}

static void test_ratios(void **state) {
    static const int64_t sizes[] = {2, 4, 8};
    for (unsigned i = 0; i < 3; i++) {
        struct volume ddp = volume_of(TINY_DDP, true, sizes[i]);
        expect_ratio(volume_of(TINY_ZERO1, true, sizes[i]).all, ddp.all, 1);
        expect_ratio(volume_of(TINY_ZERO2, true, sizes[i]).all, ddp.all, 1);
        struct volume zero3 = volume_of(TINY_ZERO3, true, sizes[i]);
        expect_ratio(zero3.blocks, ddp.blocks, 1.5);
        // The tied table is gathered for the embedding and once for the head, forward and backward.
        expect_ratio(zero3.all, ddp.all, 1.5);
        expect_ratio(volume_of(TINY_FSDP_KEEP, true, sizes[i]).blocks, ddp.blocks, 1);
    }
}

// Backward does not read an embedding table that is not the head's.
static void test_untied_embedding(void **state) {
    struct volume ddp = volume_of(TINY_DDP, false, 4);
    expect_ratio(volume_of(TINY_ZERO3, false, 4).embedding, ddp.embedding, 1);
}

// With heads against the sequence, queries, keys, values and what attention makes of them are
// exchanged in forward, and their gradients in backward. What attention has made is read both ways
// there, and kept one way; keys and values are kept as they are read.
static void test_exchanges(void **state) {
    (void)state;
    const double parts = 2, elements = 256 * 768 / parts;
    struct volume found = volume_of(TINY_ZERO3_ULYSSES, true, 4);
    double one = 4 * elements * (parts - 1) / parts;
    expect_ratio(found.exchanged, 12 * one, 9);
}

// What layers hand on to each other stays whole: backward alone gathers the parts that are kept.
static void test_checkpoints(void **state) {
    (void)state;
    const double parts = 2, elements = 256 * 768;
    struct volume found = volume_of(TINY_TP_CHECKPOINTS, true, 4);
    double one = 4 * elements * (parts - 1) / parts;
    assert_true(found.regained[PHASE_FORWARD] == 0);
    expect_ratio(found.regained[PHASE_BACKWARD], one, 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_untied_embedding),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
