// Gradients that travel compressed: of every strategy, on a mesh with one more axis over which they
// do, and over the data axes of those that leave gradients whole, what the compiler derives is
// accepted; and codes that are of something else, arrive elsewhere or are used otherwise, and
// residuals that are not what codes lack, are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/sample.h"
#include "tests/tiny_strategies.h"
#include "tests/trial.h"

static const struct wire sign = {WIRE_SIGN, 0}, int8 = {WIRE_INT8, 0}, topk = {WIRE_TOPK, 13};

// Where a strategy says already that gradients are whole there, it says this too.
static void compress(struct trial *t, struct axis_list axes, struct wire wire) {
    struct strategy_config *strategy = &t->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].state == STATE_GRADIENTS &&
            axis_list_equal(&strategy->modes[m].axes, &axes)) {
            strategy->modes[m].wire = wire;
            return;
        }
    tiny_mode(&t->arena, &t->config, STATE_GRADIENTS, EXTENT_REPLICATED, axes)->wire = wire;
}

// The new axis is the innermost of the mesh, and so of the batch.
static void add_wire(struct trial *t, struct wire wire) {
    struct config *config = &t->config;
    struct axis_list axes = tiny_axes((int)config->mesh.n_axes, -1);
    tiny_axis(config, "wire", 2);
    axis_list_add(&config->strategy.splits[0].axes, axes.axes[0]);
    config->train.batch *= 2;
    compress(t, axes, wire);
}

static void derive(struct trial *t, const char *name) {
    if (!trial_derive(t, N_PASSES - 1))
        fail_msg("%s has no program", name);
}

static void expect_accepted(struct trial *t, const char *name) {
    if (t->verdict.kind == VERDICT_ACCEPTED)
        return;
    diagnostics_print(t->diagnostics, stderr, false);
    fail_msg("%s is refused", name);
}

static void expect_all_accepted(struct trial *t, const char *name) {
    static const struct edit none[] = {{EDIT_END, NULL, NULL, 0, 0}};
    trial_judge(t);
    expect_accepted(t, name);
    assert_true(trial_edit(t, none)); // and its text says all that is judged
    trial_judge_one_by_one(t);
    expect_accepted(t, name);
}

static void all_strategies(enum model_family family, int64_t microbatches, struct wire wire) {
    int stride = sample_every() > 1 ? 4 : 1;
    for (int i = (int)family % stride; i < N_TINY_STRATEGIES; i += stride) {
        struct trial t = {0};
        t.config = tiny_strategy_config(&t.arena, family, (enum tiny_strategy)i, microbatches);
        add_wire(&t, wire);
        derive(&t, tiny_strategy_names[i]);
        expect_all_accepted(&t, tiny_strategy_names[i]);
        arena_free(&t.arena);
    }
}

static void every_strategy_is_accepted(void **state) {
    all_strategies(FAMILY_GPT2, 3, int8);
    all_strategies(FAMILY_LLAMA, 1, topk);
}

// Whole gradients, of which the optimizer may take a part.
static void over_the_data_axis(struct trial *t, enum tiny_strategy strategy, int64_t microbatches,
                               struct wire wire) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, FAMILY_LLAMA, strategy, microbatches);
    compress(t, tiny_axes(0, -1), wire);
    derive(t, tiny_strategy_names[strategy]);
}

// Devices of an island compress what they sum in every step; what islands have of residuals is
// their own, as optimizers' states are.
static void islands(struct trial *t) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, FAMILY_LLAMA, TINY_ZERO1, 3);
    struct axis_list island = tiny_axes((int)t->config.mesh.n_axes, -1);
    axis_list_add(&t->config.strategy.splits[0].axes, t->config.mesh.n_axes);
    tiny_axis(&t->config, "island", 2);
    t->config.train.batch *= 2;
    compress(t, tiny_axes(0, -1), int8);
    tiny_mode(&t->arena, &t->config, STATE_GRADIENTS, EXTENT_REPLICATED, island)->reduce =
        REDUCE_NEVER;
    tiny_mode(&t->arena, &t->config, STATE_PARAMETERS, EXTENT_REPLICATED, island)->average_every =
        2;
    derive(t, "islands");
}

// Devices that have shards of a gradient each have a residual of their own shard.
static void residuals_stay_where_they_are(void **state) {
    static const struct edit moved[] = {
        {EDIT_INSERT_BEHIND, "call decompress_head_backward",
         "start permute over dp shift 1 as round[0] {\n"
         "     norm.gain.gradient.residual -> norm.gain.gradient }\n"
         "wait round[0]\n"
         "start permute over dp shift 1 as round[0] {\n"
         "     norm.gain.gradient -> norm.gain.gradient.residual }\n"
         "wait round[0]",
         0, 0},
        {EDIT_END, NULL, NULL, 0, 0}};
    struct trial t = {0};
    t.config = tiny_strategy_config(&t.arena, FAMILY_LLAMA, TINY_ZERO2, 3);
    add_wire(&t, int8);
    derive(&t, "zero2");
    assert_true(trial_edit(&t, moved));
    trial_judge(&t);
    bool told = false;
    for (uint32_t i = 0; i < t.diagnostics->n_items; i++)
        told |= t.diagnostics->items[i]->code == E516;
    assert_true(told);
    arena_free(&t.arena);
}

static void islands_compress_apart(void **state) {
    static const struct edit cleared[] = {
        {EDIT_INSERT_BEHIND, "wait sum.average[", "zero norm.gain.gradient.residual", 0, 0},
        {EDIT_END, NULL, NULL, 0, 0}};
    struct trial t;
    islands(&t);
    expect_all_accepted(&t, "islands");
    arena_free(&t.arena);
    islands(&t);
    assert_true(trial_edit(&t, cleared));
    trial_judge(&t);
    assert_true(trial_is_as_expected(
        &t, (struct expected_verdict){"E516", "norm.gain.gradient.residual :", NULL}));
    arena_free(&t.arena);
}

// Over one axis of two gradients are summed as they are.
static void two_axes(struct trial *t) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, FAMILY_LLAMA, TINY_DDP, 3);
    axis_list_add(&t->config.strategy.splits[0].axes, t->config.mesh.n_axes);
    tiny_axis(&t->config, "other", 3);
    t->config.train.batch *= 3;
    compress(t, tiny_axes(0, -1), int8);
    derive(t, "two axes");
}

static void every_way_is_accepted(void **state) {
    const struct wire ways[] = {sign, int8, topk};
    for (int i = 0; i < 3; i++)
        for (int64_t microbatches = 1; microbatches < 4; microbatches += 2) {
            struct trial t;
            over_the_data_axis(&t, TINY_DDP, microbatches, ways[i]);
            expect_all_accepted(&t, wire_text(ways[i], &t.arena));
            arena_free(&t.arena);
        }
    for (int64_t microbatches = 1; microbatches < 4; microbatches += 2) {
        struct trial t;
        over_the_data_axis(&t, TINY_ZERO1, microbatches, int8);
        expect_all_accepted(&t, "zero1");
        arena_free(&t.arena);
    }
}

// Where gradients of all layers but some travel as codes, there are residuals of the others only.
static void codes_of_some_layers_are_accepted(void **state) {
    static const int64_t left_out[][3] = {{0, 2, 1}, {1, 3, 1}, {3, 5, 1}, {0, 5, 2}};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        struct trial t = {0};
        t.config = tiny_strategy_config(&t.arena, FAMILY_LLAMA, TINY_DDP, 3);
        compress(&t, tiny_axes(0, -1), int8);
        tiny_mode(&t.arena, &t.config, STATE_GRADIENTS, EXTENT_REPLICATED, tiny_axes(0, -1))
            ->selector = (struct selector){.n_roles = 1,
                                           .roles = {ROLE_LAYERS},
                                           .has_slice = true,
                                           .slice_begin = left_out[i][0],
                                           .slice_end = left_out[i][1],
                                           .slice_step = left_out[i][2]};
        derive(&t, "codes of some layers");
        expect_all_accepted(&t, "codes of some layers");
        arena_free(&t.arena);
    }
}

struct mistake {
    const char *name;
    struct edit edits[4];
    const char *code;
    const char *at, *says; // NULL: anything
};

// What the unit that codes the gradient of norm.gain begins with; the same with two codes, of which
// the sent one is of twice the gradient; and that the second of two codes is not sent.
#define COMPRESS                                                                                   \
    "  frame 0\n  %norm.gain.sent.code, %norm.gain.sent.residual = compress("                      \
    "%norm.gain.gradient,\n       %norm.gain.residual)"
#define COMPRESS_TWICE                                                                             \
    "  frame 192 of frame.block_forward\n"                                                         \
    "  %twice = add(%norm.gain.gradient, %norm.gain.gradient) : f64[hidden=10] at 0\n"             \
    "  %norm.gain.sent.code, %lost = compress(%twice, %norm.gain.residual)\n"                      \
    "       {way=\"int8\"} : i32[flat=4] out, f64[hidden=10] at 80 role norm\n"                    \
    "  %code, %norm.gain.sent.residual = compress(%norm.gain.gradient,\n       "                   \
    "%norm.gain.residual)"
#define CODE_STAYS                                                                                 \
    REPLACE("{way=\"int8\"} : i32[flat=4] out, f64[hidden=10] in %norm.gain.residual",             \
            "{way=\"int8\"} : i32[flat=4] at 160, f64[hidden=10] in %norm.gain.residual")
// What the unit that adds codes up begins with.
#define DECOMPRESS                                                                                 \
    "  frame 0\n  %norm.gain.total = decompress(%norm.gain.codes, %norm.gain.gradient) "           \
    "{way=\"int8\"} :\n       f64[hidden=10] in %norm.gain.gradient role norm"

static const struct mistake mistakes[] = {
    {"no code is gathered",
     {DELETE("start all_gather over dp as gather.head_backward["),
      DELETE("wait gather.head_backward[")},
     "E412",
     "call decompress_head_backward",
     NULL},
    {"one's own code is taken for all",
     {REPLACE("norm.gain.codes = norm.gain.gradient.codes",
              "norm.gain.codes = norm.gain.gradient.code"),
      REPLACE("parameter %norm.gain.codes : i32[flat=12]",
              "parameter %norm.gain.codes : i32[flat=4]"),
      REPLACE("free norm.gain.gradient.code, ", "free ")},
     "E516",
     "%norm.gain.total = decompress",
     NULL},
    {"what has arrived is not put together",
     {DELETE("call decompress_head_backward")},
     "E410",
     "start all_reduce over other as reduce.head_backward",
     NULL},
    {"gradients are compressed again",
     {{EDIT_INSERT_BEHIND, "call decompress_head_backward",
       "call compress_head_backward(norm.gain.gradient = norm.gain.gradient,\n"
       "     norm.gain.residual = norm.gain.gradient.residual,\n"
       "     head.weight.gradient = head.weight.gradient,\n"
       "     head.weight.residual = head.weight.gradient.residual) -> (\n"
       "    norm.gain.sent.code = norm.gain.gradient.code,\n"
       "     head.weight.sent.code = head.weight.gradient.code)",
       0, 0}},
     "E516",
     "%norm.gain.sent.code, %norm.gain.sent.residual = compress",
     NULL},
    {"a code is gathered over another axis",
     {REPLACE("start all_gather over dp as gather.head_backward[",
              "start all_gather over other as gather.head_backward[")},
     "E516",
     "start all_gather over other as gather.head_backward[",
     NULL},
    {"codes go round",
     {REPLACE("norm.gain.gradient.code -> norm.gain.gradient.codes",
              "block.mlp.norm.gain.gradient.code -> norm.gain.gradient.codes"),
      INSERT("start permute over dp shift 1 as round[0] {\n"
             "     norm.gain.gradient.code -> block.mlp.norm.gain.gradient.code }\n"
             "wait round[0]\n",
             "start all_gather over dp as gather.head_backward[")},
     "E516",
     "start permute over dp",
     NULL},
    {"the new residual is not kept",
     {REPLACE("  result %norm.gain.sent.residual in %norm.gain.residual\n", ""),
      REPLACE("f64[hidden=10] in %norm.gain.residual role norm", "f64[hidden=10] at 0 role norm"),
      REPLACE("  frame 0\n  %norm.gain.sent.code",
              "  frame 80 of frame.block_forward\n  %norm.gain.sent.code")},
     "E516",
     "%norm.gain.sent.code, %norm.gain.sent.residual = compress",
     "leaves the old residual"},
    {"the residual is cleared",
     {{EDIT_INSERT_BEHIND, "call decompress_head_backward", "zero norm.gain.gradient.residual", 0,
       0}},
     "E516",
     "norm.gain.gradient.residual :",
     NULL},
    {"the residual is freed",
     {{EDIT_INSERT_BEHIND, "call decompress_head_backward", "free norm.gain.gradient.residual", 0,
       0}},
     "E611",
     "free norm.gain.gradient.residual",
     NULL},
    {"an evaluation frees it",
     {INSERT("free norm.gain.gradient.residual\n", "call mean_loss")},
     "E611",
     "free norm.gain.gradient.residual",
     NULL},
    {"all have the sum of residuals",
     {INSERT("start all_reduce over dp as lost[0] {\n"
             "     norm.gain.gradient.residual -> norm.gain.gradient.residual }\n"
             "wait lost[0]\n",
             "call decompress_head_backward")},
     "E516",
     "norm.gain.gradient.residual :",
     NULL},
    {"each keeps the residual of the next device",
     {{EDIT_INSERT_BEHIND, "call update_head",
       "start permute over dp shift 1 as round[0] {\n"
       "     norm.gain.gradient.residual -> norm.gain.gradient }\n"
       "wait round[0]\n"
       "start permute over dp shift 0 as round[0] {\n"
       "     norm.gain.gradient -> norm.gain.gradient.residual }\n"
       "wait round[0]",
       0, 0}},
     "E516",
     "norm.gain.gradient.residual :",
     NULL},
    {"half of the residual is kept",
     {REPLACE("result %norm.gain.sent.residual in %norm.gain.residual",
              "result %norm.gain.half in %norm.gain.residual"),
      INSERT("%norm.gain.half = divide(%norm.gain.sent.residual) {divisor=2} :\n"
             "     f64[hidden=10] in %norm.gain.sent.residual role norm\n",
             "%head.weight.sent.code, %head.weight.sent.residual = compress")},
     "E516",
     "norm.gain.gradient.residual :",
     NULL},
    {"it is cleared before the code is made",
     {INSERT("zero norm.gain.gradient.residual", "call compress_head_backward")},
     "E516",
     "%norm.gain.sent.code, %norm.gain.sent.residual = compress",
     NULL},
    {"it is added up before the code is made",
     {INSERT("start all_reduce over dp as early[0] {\n"
             "     norm.gain.gradient.residual -> norm.gain.gradient.residual }\n"
             "wait early[0]\n",
             "call compress_head_backward")},
     "E516",
     "%norm.gain.sent.code, %norm.gain.sent.residual = compress",
     NULL},
    {"it is that of the next device, as any part of its sum would be",
     {INSERT("start permute over dp shift 1 as round[0] {\n"
             "     norm.gain.gradient.residual -> block.mlp.norm.gain.gradient[0] }\n"
             "wait round[0]\n"
             "start permute over dp shift 0 as round[0] {\n"
             "     block.mlp.norm.gain.gradient[0] -> norm.gain.gradient.residual }\n"
             "wait round[0]\n",
             "call compress_head_backward")},
     "E516",
     "%norm.gain.sent.code, %norm.gain.sent.residual = compress",
     NULL},
    {"that of the first layer is",
     {INSERT("start permute over dp shift 1 as round[0] {\n"
             "     block.mlp.norm.gain.gradient.residual[0] -> norm.gain.gradient }\n"
             "wait round[0]\n"
             "start permute over dp shift 0 as round[0] {\n"
             "     norm.gain.gradient -> block.mlp.norm.gain.gradient.residual[0] }\n"
             "wait round[0]\n",
             "zero norm.gain.gradient")},
     "E516",
     "%block.mlp.norm.gain.sent.code",
     "no longer known to be the device's own"},
    {"it is copied",
     {REPLACE(COMPRESS, "  frame 80 of frame.block_forward\n"
                        "  %copy = cast(%norm.gain.residual) : f64[hidden=10] at 0\n"
                        "  %norm.gain.sent.code, %norm.gain.sent.residual = compress("
                        "%norm.gain.gradient,\n       %copy)")},
     "E516",
     "%norm.gain.sent.code",
     "no longer known to be the device's own"},
    {"the code that is sent is of what devices have, the residual of what they have sent",
     {REPLACE(
          COMPRESS,
          "  frame 192 of frame.block_forward\n"
          "  %far.sent = permute(%norm.gain.gradient) {axes=dp, shift=1} : f64[hidden=10] at 0\n"
          "  %far = wait(%far.sent) : f64[hidden=10] in %far.sent\n"
          "  %norm.gain.sent.code, %lost = compress(%norm.gain.gradient, %norm.gain.residual)\n"
          "       {way=\"int8\"} : i32[flat=4] out, f64[hidden=10] at 80 role norm\n"
          "  %code, %norm.gain.sent.residual = compress(%far,\n"
          "       %norm.gain.residual)"),
      CODE_STAYS},
     "E516",
     "%norm.gain.sent.code, %lost = compress",
     "leaves the old residual"},
    {"the residual is that of another gradient",
     {REPLACE("block.mlp.gate.weight.residual = block.mlp.gate.weight.gradient.residual[l]",
              "block.mlp.gate.weight.residual = block.mlp.up.weight.gradient.residual[l]"),
      REPLACE("block.mlp.up.weight.residual = block.mlp.up.weight.gradient.residual[l]",
              "block.mlp.up.weight.residual = block.mlp.gate.weight.gradient.residual[l]")},
     "E511",
     "%block.mlp.gate.weight.total = decompress",
     "`decompress` is given block.mlp.up.weight.residual[4]"},
    {"it is that of another layer",
     {REPLACE("block.mlp.gate.weight.residual = block.mlp.gate.weight.gradient.residual[l]",
              "block.mlp.gate.weight.residual = block.mlp.gate.weight.gradient.residual[0]")},
     "E516",
     "%block.mlp.gate.weight.sent.code",
     NULL},
    {"the code is of another gradient",
     {REPLACE("block.mlp.gate.weight.gradient = block.mlp.gate.weight.gradient[l]",
              "block.mlp.gate.weight.gradient = block.mlp.up.weight.gradient[l]")},
     "E490",
     "%block.mlp.gate.weight.total = decompress",
     NULL},
    {"the code that is sent is of twice the gradient, the residual of another code",
     {REPLACE(COMPRESS, COMPRESS_TWICE), CODE_STAYS,
      REPLACE(DECOMPRESS, "  frame 0\n  %sum = decompress(%norm.gain.codes, %norm.gain.gradient)\n"
                          "       {way=\"int8\"} : f64[hidden=10] in %norm.gain.gradient\n"
                          "  %norm.gain.total = divide(%sum) {divisor=2} :\n"
                          "       f64[hidden=10] in %sum role norm")},
     "E413",
     "%twice = add",
     NULL},
    {"the same, and nothing divides it",
     {REPLACE(COMPRESS, COMPRESS_TWICE), CODE_STAYS},
     "E413",
     "%twice = add",
     NULL},
    {"half of the gradient goes as it is",
     {REPLACE(DECOMPRESS,
              "  frame 160 of frame.block_forward\n"
              "  %sent = all_reduce(%norm.gain.gradient) {axes=dp} : f64[hidden=10] at 0\n"
              "  %plain = wait(%sent) : f64[hidden=10] at 0\n"
              "  %sum = decompress(%norm.gain.codes, %norm.gain.gradient)\n"
              "       {way=\"int8\"} : f64[hidden=10] in %norm.gain.gradient\n"
              "  %both = add(%sum, %plain) : f64[hidden=10] in %sum\n"
              "  %norm.gain.total = divide(%both) {divisor=2} :\n"
              "       f64[hidden=10] in %both role norm")},
     "E490",
     "%both = add",
     NULL},
    {"gradients are coded before the last microbatch",
     {BEHIND("call compress_head_backward", "call head_backward"),
      BEHIND("wait reduce.head_backward[", "call head_backward"),
      BEHIND("start all_reduce over other as reduce.head_backward[", "call head_backward")},
     "E516",
     "%norm.gain.sent.code",
     "not yet collected"},
    {"a sum is compressed",
     {INSERT("start all_reduce over dp as early[0] { norm.gain.gradient -> norm.gain.gradient }\n",
             "call compress_head_backward"),
      INSERT("wait early[0]\n", "call compress_head_backward")},
     "E516",
     "%norm.gain.sent.code",
     "no summand"},
    {"one way for two",
     {REPLACE("%norm.gain.residual) {way=\"int8\"} : i32[flat=4] out",
              "%norm.gain.residual) {way=\"topk\", kept=3} : i32[flat=4] out")},
     "E516",
     "%norm.gain.sent.code",
     NULL},
    {"they are put together in another way",
     {REPLACE("%norm.gain.gradient) {way=\"int8\"}",
              "%norm.gain.gradient) {way=\"topk\", kept=3}")},
     "E516",
     "%norm.gain.total = decompress",
     NULL},
    {"summands over another axis are compressed",
     {BEHIND("wait reduce.head_backward[", "call compress_head_backward"),
      BEHIND("start all_reduce over other as reduce.head_backward[",
             "call compress_head_backward")},
     "E516",
     "%norm.gain.sent.code",
     NULL},
    {"codes are taken for numbers",
     {INSERT("%copy = cast(%norm.gain.codes) : i32[flat=12]\n", "%norm.gain.total = decompress"),
      REPLACE("decompress(%norm.gain.codes,", "decompress(%copy,")},
     "E516",
     "%copy = cast",
     NULL},
    {"a part of the codes is taken",
     {INSERT("%part = slice(%norm.gain.codes) {axes=dp, dim=0} : i32[flat=4]\n",
             "%norm.gain.total = decompress"),
      REPLACE("decompress(%norm.gain.codes,", "decompress(%part,")},
     "E516",
     "%part = slice",
     NULL},
    {"numbers are taken for codes",
     {INSERT("zero norm.gain.gradient.codes\n", "call decompress_head_backward")},
     "E516",
     "%norm.gain.total = decompress",
     NULL},
    {"residuals lie otherwise",
     {REPLACE("norm.gain.gradient.residual : residual f64[hidden=10]",
              "norm.gain.gradient.residual : residual f64[hidden=30/other]")},
     "E510",
     "%norm.gain.sent.code",
     NULL},
    {"an evaluation changes a residual",
     {INSERT("zero norm.gain.gradient.residual\n", "call mean_loss")},
     "E516",
     "norm.gain.gradient.residual :",
     NULL},
    {"nobody has relaxed it",
     {REPLACE(" wire over dp way = int8", "")},
     "E516",
     "",
     "no `wire over`"},
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void mistakes_are_refused(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        struct trial t;
        two_axes(&t);
        if (!trial_edit(&t, mistakes[i].edits))
            fail_msg("%s: the edits find nothing, or make no program", mistakes[i].name);
        trial_judge(&t);
        struct expected_verdict expected = {mistakes[i].code, mistakes[i].at, mistakes[i].says};
        bool right = trial_is_as_expected(&t, expected);
        n_failed += !trial_end(&t, right, mistakes[i].name, expected);
    }
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_is_accepted),
        cmocka_unit_test(every_way_is_accepted),
        cmocka_unit_test(residuals_stay_where_they_are),
        cmocka_unit_test(islands_compress_apart),
        cmocka_unit_test(codes_of_some_layers_are_accepted),
        cmocka_unit_test(mistakes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
