// Lower bounds of a step's time, held against what is computed by hand: operations of the 124M
// shape of gpt2, and transfers over axes of which each has a link of its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "passes/passes.h"
#include "tests/derive.h"
#include "tests/program_edit.h"
#include "tests/tiny_models.h"
#include "tests/tiny_strategies.h"

static void expect_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g", found, expected);
}

// ---- work -------------------------------------------------------------------------------------

enum { LAYERS = 12, HIDDEN = 768, FFN = 3072, VOCAB = 50257, TOKENS = 256, DEVICES = 4 };

// One sequence on each of four devices.
static const struct program *derive_124M(struct arena *arena, enum tiny_strategy strategy,
                                         bool recomputed) {
    struct config config = tiny_strategy_config(arena, FAMILY_GPT2, strategy, 1);
    struct model_config *model = &config.model;
    model->layers = LAYERS;
    model->hidden = HIDDEN;
    model->heads = model->kv_heads = 12;
    model->head_dim = 64;
    model->ffn = FFN;
    model->vocab = VOCAB;
    model->tied = true;
    model->sequence_limit = 1024;
    config.train.sequence = TOKENS;
    config.mesh.axes[0].size = config.train.batch = DEVICES;
    config.train.microbatch = 1;
    for (uint32_t m = 0; m < config.strategy.n_modes; m++)
        config.strategy.modes[m].bucket_bytes = INT64_C(1) << 40; // a layer's gradients together
    if (recomputed)
        tiny_recomputed(arena, &config, (struct selector){0});
    return derive_program(arena, &config, N_PASSES - 1, NULL);
}

// Forward two FLOP for each parameter of a product and token, backward four; a causal mask leaves
// half of the scores, of which forward makes two products and backward five.
static double products_of_layers(void) {
    return 6.0 * TOKENS * LAYERS * (4.0 * HIDDEN * HIDDEN + 2.0 * HIDDEN * FFN);
}
static double attention(int passes) {
    return passes * (double)LAYERS * TOKENS * TOKENS * HIDDEN;
}

static void operations_are_six_for_each_parameter_and_token(void **state) {
    struct arena arena = {0};
    struct step_work work = account_work(derive_124M(&arena, TINY_DDP, false));
    double of_head = 6.0 * TOKENS * HIDDEN * VOCAB;
    double most = products_of_layers() + of_head + attention(7);
    assert_true(work.flops > most);
    expect_near(work.flops, most, 0.02); // norms, activations, losses, and the update
    assert_true(work.again_flops == 0);
    arena_free(&arena);
}

// Recomputing everything makes of three passes four, but for the products at the end of a layer,
// whose result nobody reads again.
static void what_is_recomputed_is_counted_apart(void **state) {
    struct arena arena = {0};
    struct step_work once = account_work(derive_124M(&arena, TINY_DDP, false));
    struct step_work again = account_work(derive_124M(&arena, TINY_DDP, true));
    double forward = products_of_layers() / 3 + attention(2);
    double down = 2.0 * TOKENS * LAYERS * HIDDEN * FFN;
    expect_near(again.again_flops, forward - down, 0.02);
    expect_near(again.flops - again.again_flops, once.flops, 0.02);
    arena_free(&arena);
}

// Forward and backward read each parameter, backward writes its gradient, the norm reads that; the
// update reads it too, with the parameter and two moments, and writes three of them back: eleven
// passes. Activations take the rest; reading the table to look up rows would be 0.3 more.
static void memory_is_passed_through_once_by_each_call(void **state) {
    struct arena arena = {0};
    double states = 8 * (LAYERS * (4.0 * HIDDEN * HIDDEN + 2.0 * HIDDEN * FFN) +
                         (double)VOCAB * HIDDEN); // fp64
    struct step_work work = account_work(derive_124M(&arena, TINY_DDP, false));
    assert_true(work.moved_bytes > 11 * states);
    assert_true(work.moved_bytes < 12.7 * states);
    arena_free(&arena);
}

// Each call copies 32 bytes: it reads and writes them.
static void calls_move_what_they_read_and_write(void **state) {
    static const char step[] =
        "step main {\n"
        "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 4 vocab = 1\n"
        "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
        "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
        "  arena 192\n"
        "  buffer in : input f64[hidden=4] at 0\n"
        "  buffer out : output f64[hidden=4] at 32\n"
        "  buffer x : activations f64[hidden=4] layers 4 at 64\n"
        "  train {\n"
        "    for l = 0 .. 4 {\n"
        "      call copy(a = in) -> (b = x[l])\n"
        "    }\n"
        "    call copy(a = x[3]) -> (b = out)\n"
        "  }\n"
        "}\n" UNIT_COPY;
    struct arena arena = {0};
    struct step_work work = account_work(program_read(&arena, step, 0));
    expect_near(work.moved_bytes, 5 * 2 * 32, 1e-12);
    arena_free(&arena);
}

// ---- links ------------------------------------------------------------------------------------

enum { NODE, GPU, RACK };
static const double fast = 400e9, slow = 50e9, fast_latency = 1e-6, slow_latency = 10e-6;

// Two nodes of four, on a mesh whose outer axis has the slow link.
static struct program *nodes(struct arena *arena) {
    struct program *program = program_new(arena, "nodes");
    program->job->mesh = (struct mesh){
        .axes =
            {{.name = "node", .size = 2, .link_bytes_per_s = slow, .link_latency_s = slow_latency},
             {.name = "gpu", .size = 4, .link_bytes_per_s = fast, .link_latency_s = fast_latency},
             {.name = "rack", .size = 2}},
        .n_axes = 3};
    return program;
}

static const struct axis_list over_node = {1, {NODE}}, over_gpu = {1, {GPU}},
                              over_both = {2, {NODE, GPU}}, over_rack = {1, {RACK}};

static struct step_time time_of(struct account_transfer transfer) {
    struct arena arena = {0};
    struct program *program = nodes(&arena);
    struct account account = {.transfers = &transfer, .n_transfers = 1};
    struct device_config device = {.name = "gpu"};
    transfer.group = mesh_group_size(&program->job->mesh, &transfer.axes);
    struct step_time time = account_time(program, &account, &device);
    arena_free(&arena);
    return time;
}

static void expect_axis(const struct axis_time *axis, double bytes, double hops) {
    expect_near(axis->bytes, bytes, 1e-12);
    expect_near(axis->hops, hops, 1e-12);
}

// An all_reduce of W bytes among N sends 2 (N - 1) / N W, and waits as often for the next device.
static void a_ring_goes_round_once_or_twice(void **state) {
    const double whole = 1e9;
    struct step_time reduce = time_of((struct account_transfer){.axes = over_gpu,
                                                                .kind = COLLECTIVE_ALL_REDUCE,
                                                                .count = 3,
                                                                .n_rings = 3,
                                                                .bytes = 3 * 2 * 3 * whole / 4});
    expect_axis(&reduce.axes[GPU], 3 * 1.5 * whole, 3 * 6);
    expect_near(reduce.axes[GPU].seconds, 3 * 1.5 * whole / fast + 18 * fast_latency, 1e-12);
    assert_true(reduce.axes[NODE].bytes == 0 && reduce.axes[NODE].seconds == 0);
    assert_true(reduce.best_s == reduce.axes[GPU].seconds && reduce.compute_s < 0);
    struct step_time gather = time_of((struct account_transfer){.axes = over_gpu,
                                                                .kind = COLLECTIVE_ALL_GATHER,
                                                                .count = 1,
                                                                .n_rings = 1,
                                                                .bytes = 3 * whole / 4});
    expect_axis(&gather.axes[GPU], 0.75 * whole, 3);
}

// Each device has one of 8 parts. Between the nodes it gets the other node's one, then inside its
// node what the three others have, two each: 1 + 6 = 7.
static void a_product_goes_over_its_slowest_link_first(void **state) {
    const double part = 1e8;
    struct account_transfer gather = {.axes = over_both,
                                      .kind = COLLECTIVE_ALL_GATHER,
                                      .count = 1,
                                      .n_rings = 1,
                                      .bytes = 7 * part};
    struct step_time time = time_of(gather);
    expect_axis(&time.axes[NODE], part, 1);
    expect_axis(&time.axes[GPU], 6 * part, 3);
    expect_near(time.best_s,
                6 * part / fast + 3 * fast_latency > part / slow + slow_latency
                    ? 6 * part / fast + 3 * fast_latency
                    : part / slow + slow_latency,
                1e-12);
    expect_near(time.worst_s, time.axes[NODE].seconds + time.axes[GPU].seconds, 1e-12);
    gather.axes = (struct axis_list){2, {GPU, NODE}}; // in whatever order it is written
    time = time_of(gather);
    expect_axis(&time.axes[NODE], part, 1);
    gather.kind = COLLECTIVE_ALL_REDUCE;
    gather.bytes = 2 * 7 * part;
    time = time_of(gather);
    expect_axis(&time.axes[NODE], 2 * part, 2);
    expect_axis(&time.axes[GPU], 12 * part, 6);
}

// Each device has a part for each of 8. Four are for the other node, three for its own.
static void what_goes_straight_waits_once(void **state) {
    const double part = 1e8;
    struct account_transfer transfer = {.axes = over_both,
                                        .kind = COLLECTIVE_ALL_TO_ALL,
                                        .count = 1,
                                        .n_direct = 1,
                                        .direct_bytes = 7 * part,
                                        .bytes = 7 * part};
    struct step_time time = time_of(transfer);
    expect_axis(&time.axes[NODE], 4 * part, 1);
    expect_axis(&time.axes[GPU], 3 * part, 1);
    transfer.kind = COLLECTIVE_PERMUTE; // at the border between the nodes somebody sends all of it
    time = time_of(transfer);
    expect_axis(&time.axes[NODE], 7 * part, 1);
    assert_true(time.axes[GPU].bytes == 0 && time.axes[GPU].hops == 0);
}

// Each of the rounds waits once, for the slowest link that some pair of it crosses. Inside nodes of
// four the first two do, and only the third goes from node to node; written the other way round the
// first does.
static void rounds_of_pairs_wait_once_each(void **state) {
    struct account_transfer transfer = {.axes = over_both,
                                        .kind = COLLECTIVE_ALL_REDUCE,
                                        .count = 2,
                                        .n_doubling = 2,
                                        .doubling_bytes = 2 * 3 * 1000,
                                        .bytes = 2 * 3 * 1000};
    struct step_time time = time_of(transfer);
    expect_axis(&time.axes[NODE], 2 * 1000, 2);
    expect_axis(&time.axes[GPU], 2 * 2 * 1000, 2 * 2);
    expect_near(time.axes[NODE].seconds, 2 * 1000 / slow + 2 * slow_latency, 1e-12);
    transfer.axes = (struct axis_list){2, {GPU, NODE}};
    time = time_of(transfer);
    expect_axis(&time.axes[NODE], 2 * 1000, 2);
    expect_axis(&time.axes[GPU], 2 * 2 * 1000, 2 * 2);
}

// Three devices in a node: each round has a pair that is in two.
static void pairs_cross_nodes_that_are_no_power_of_two(void **state) {
    struct arena arena = {0};
    struct program *program = nodes(&arena);
    program->job->mesh.axes[GPU].size = 3;
    struct account_transfer sum = {.axes = over_both,
                                   .kind = COLLECTIVE_ALL_REDUCE,
                                   .group = 6,
                                   .count = 1,
                                   .n_doubling = 1,
                                   .doubling_bytes = 3 * 1000,
                                   .bytes = 3 * 1000};
    struct account account = {.transfers = &sum, .n_transfers = 1};
    struct device_config device = {.name = "gpu"};
    struct step_time time = account_time(program, &account, &device);
    expect_axis(&time.axes[NODE], 3 * 1000, 3);
    assert_true(time.axes[GPU].bytes == 0 && time.axes[GPU].hops == 0);
    arena_free(&arena);
}

static void what_is_not_said_is_not_known(void **state) {
    struct step_time time = time_of((struct account_transfer){
        .axes = over_rack, .kind = COLLECTIVE_ALL_GATHER, .count = 1, .n_rings = 1, .bytes = 100});
    expect_axis(&time.axes[RACK], 100, 1);
    assert_true(time.axes[RACK].seconds < 0 && time.compute_s < 0 && time.memory_s < 0);
    assert_true(time.best_s < 0 && time.worst_s < 0);
}

// An average behind every fourth step is a quarter of one for each.
static void averages_count_their_part(void **state) {
    struct arena arena = {0};
    struct program *program = nodes(&arena);
    program->job->policy.average_every = 4;
    struct account_transfer average = {.axes = over_node,
                                       .kind = COLLECTIVE_ALL_REDUCE,
                                       .step = STEP_AVERAGE,
                                       .group = 2,
                                       .count = 2,
                                       .n_rings = 2,
                                       .bytes = 800};
    struct account account = {.transfers = &average, .n_transfers = 1};
    struct device_config device = {.name = "gpu"};
    struct step_time time = account_time(program, &account, &device);
    expect_axis(&time.axes[NODE], 200, 2.0 * 2 / 4);
    arena_free(&arena);
}

// ---- both -------------------------------------------------------------------------------------

// Gradients of all parameters, 2 * 3/4 of them from each device, and some scalars. Nothing is said
// of a link, so that bytes and hops are what is compared.
static void ddp_sends_twice_its_gradients(void **state) {
    struct arena arena = {0};
    const struct program *program = derive_124M(&arena, TINY_DDP, false);
    const struct account *account_of = account(program, &arena);
    struct device_config device = {.name = "gpu", .flops_per_s = 1e12};
    struct step_time time = account_time(program, account_of, &device);
    double parameters = 0;
    for (uint32_t i = 0; i < program->job->n_tensors; i++) {
        double elements =
            program->job->tensors[i].layers ? (double)program->job->tensors[i].layers : 1;
        for (unsigned k = 0; k < program->job->tensors[i].rank; k++)
            elements *= (double)program->job->tensors[i].dims[k].size;
        parameters += elements;
    }
    expect_near(time.axes[0].bytes, 1.5 * 8 * parameters, 1e-3);
    expect_near(time.axes[0].bytes, (double)account_of->total_bytes, 1e-12);
    // A reduction for each layer, for the head and the embedding; a count and a loss go straight.
    expect_near(time.axes[0].hops, (LAYERS + 2) * 2 * (DEVICES - 1) + 2, 1e-12);
    expect_near(time.compute_s, time.work.flops / 1e12, 1e-12);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_six_for_each_parameter_and_token),
        cmocka_unit_test(what_is_recomputed_is_counted_apart),
        cmocka_unit_test(memory_is_passed_through_once_by_each_call),
        cmocka_unit_test(calls_move_what_they_read_and_write),
        cmocka_unit_test(a_ring_goes_round_once_or_twice),
        cmocka_unit_test(a_product_goes_over_its_slowest_link_first),
        cmocka_unit_test(what_goes_straight_waits_once),
        cmocka_unit_test(rounds_of_pairs_wait_once_each),
        cmocka_unit_test(pairs_cross_nodes_that_are_no_power_of_two),
        cmocka_unit_test(what_is_not_said_is_not_known),
        cmocka_unit_test(averages_count_their_part),
        cmocka_unit_test(ddp_sends_twice_its_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
