// Placement: which statements win, and every rule of composition by its code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"
#include "tests/tiny_strategies.h"

enum { DP = 0, TP = 1 };

struct trial {
    struct arena arena;
    struct source_files sources;
    struct config config;
    struct diagnostics *diagnostics;
    struct program *program;
    struct placement placement;
    bool placed;
};

// dp = 4 splits the batch; tp = 2 is there if asked for, and splits nothing yet.
static void begin(struct trial *t, bool tp) {
    *t = (struct trial){0};
    t->config = tiny_config(&t->arena, FAMILY_GPT2);
    t->config.train.batch = 16;
    t->config.train.microbatch = 2;
    tiny_axis(&t->config, "dp", 4);
    tiny_split(&t->arena, &t->config, DIM_BATCH, tiny_axes(DP, -1));
    if (tp)
        tiny_axis(&t->config, "tp", 2);
}

static struct mode_statement *mode(struct trial *t, enum state state, enum extent extent,
                                   unsigned axis) {
    return tiny_mode(&t->arena, &t->config, state, extent, tiny_axes((int)axis, -1));
}

static void split(struct trial *t, enum dimension dimension, unsigned axis) {
    tiny_split(&t->arena, &t->config, dimension, tiny_axes((int)axis, -1));
}

static void select_roles(struct mode_statement *mode, enum role a, enum role b) {
    mode->selector.roles[0] = (uint8_t)a;
    mode->selector.roles[1] = (uint8_t)b;
    mode->selector.n_roles = b == ROLE_NONE ? 1 : 2;
}

static void derive(struct trial *t) {
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    struct pass_context context = {.config = &t->config, .diagnostics = t->diagnostics};
    t->program = program_new(&t->arena, "main");
    assert_true(passes_run(t->program->job, &context, PASS_BUILD, PASS_UPDATE));
    t->placed = placement_derive(&t->config, t->program, &t->arena, t->diagnostics, &t->placement);
}

// Exactly one diagnostic, of this code.
static void expect_code(struct trial *t, enum diagnostic_code code) {
    derive(t);
    assert_false(t->placed);
    assert_int_equal(t->diagnostics->n_items, 1);
    assert_string_equal(diagnostic_rows[t->diagnostics->items[0]->code].text,
                        diagnostic_rows[code].text);
    arena_free(&t->arena);
}

static void expect_placed(struct trial *t) {
    derive(t);
    if (!t->placed)
        fail_msg("%s", t->diagnostics->items[0]->message);
}

static const struct placed_tensor *tensor(struct trial *t, const char *name) {
    uint32_t id = job_find_tensor(t->program->job, name);
    assert_int_not_equal(id, NO_ID);
    return &t->placement.tensors[id];
}

static enum extent extent_of(struct trial *t, const char *name, enum state state) {
    return stored_extent(tensor(t, name)->storage, state, DP);
}

static struct mode_statement *select_layers(struct mode_statement *mode, int64_t begin,
                                            int64_t end) {
    mode->selector.roles[mode->selector.n_roles++] = ROLE_LAYERS;
    mode->selector.has_slice = true;
    mode->selector.slice_begin = begin;
    mode->selector.slice_end = end;
    mode->selector.slice_step = 1;
    return mode;
}

// ---- weighing ---------------------------------------------------------------------------------

static void longer_selector_wins(void **state) {
    struct trial t;
    begin(&t, false);
    select_roles(mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP), ROLE_NORM, ROLE_NONE);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    select_roles(mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP), ROLE_MLP, ROLE_NORM);
    expect_placed(&t);
    assert_int_equal(extent_of(&t, "block.mlp.up.weight", STATE_OPTIMIZER), EXTENT_SHARDED);
    assert_int_equal(extent_of(&t, "norm.gain", STATE_OPTIMIZER), EXTENT_REPLICATED);
    assert_int_equal(extent_of(&t, "block.attention.norm.gain", STATE_OPTIMIZER),
                     EXTENT_REPLICATED);
    assert_int_equal(extent_of(&t, "block.mlp.norm.gain", STATE_OPTIMIZER), EXTENT_SHARDED);
    arena_free(&t.arena);
}

static void own_text_wins_over_use(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP)->own_text = false;
    expect_placed(&t);
    assert_int_equal(extent_of(&t, "norm.gain", STATE_OPTIMIZER), EXTENT_SHARDED);
    arena_free(&t.arena);
}

// But not where what `use` brought has the longer selector.
static void selector_weighs_more_than_own_text(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    struct mode_statement *norm = mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP);
    select_roles(norm, ROLE_NORM, ROLE_NONE);
    norm->own_text = false;
    expect_placed(&t);
    assert_int_equal(extent_of(&t, "norm.gain", STATE_OPTIMIZER), EXTENT_REPLICATED);
    arena_free(&t.arena);
}

static void equal_rank_is_E305(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP);
    expect_code(&t, E305);
}

static void axes_of_size_one_change_nothing(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.mesh.axes[TP].size = 1;
    mode(&t, STATE_PARAMETERS, EXTENT_SHARDED, TP);
    mode(&t, STATE_ACTIVATIONS, EXTENT_SHARDED, TP);
    split(&t, DIM_FFN, TP);
    expect_placed(&t);
    assert_int_equal(tensor(&t, "block.mlp.up.weight")->cuts[1].n, 0);
    assert_int_equal(t.placement.microbatches, 2);
    arena_free(&t.arena);
}

static void modes_pass_over_cut_tensors(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_FFN, TP);
    mode(&t, STATE_PARAMETERS, EXTENT_REPLICATED, TP);
    expect_placed(&t);
    assert_null(tensor(&t, "block.mlp.up.weight")->storage->modes[STATE_PARAMETERS][TP]);
    assert_non_null(tensor(&t, "norm.gain")->storage->modes[STATE_PARAMETERS][TP]);
    assert_int_equal(tensor(&t, "block.mlp.up.weight")->cuts[1].n, 1);
    arena_free(&t.arena);
}

static void expect_shards(struct trial *t, enum state state, struct axis_list expected) {
    assert_true(axis_list_equal(&tensor(t, "norm.gain")->storage->shards[state], &expected));
}

// A product that one statement names keeps its order; two statements stand in the mesh's.
static void shards_keep_the_order_said(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(TP, DP);
    tiny_mode(&t.arena, &t.config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(TP, DP));
    expect_placed(&t);
    expect_shards(&t, STATE_OPTIMIZER, tiny_axes(TP, DP));
    assert_int_equal(t.placement.batch.axes[0], TP);
    arena_free(&t.arena);
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(TP, DP);
    tiny_mode(&t.arena, &t.config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(TP, -1));
    tiny_mode(&t.arena, &t.config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(DP, -1));
    expect_placed(&t);
    expect_shards(&t, STATE_OPTIMIZER, tiny_axes(DP, TP));
    arena_free(&t.arena);
}

static void shards_in_two_orders_are_E309(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(DP, TP);
    tiny_mode(&t.arena, &t.config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(TP, DP));
    tiny_mode(&t.arena, &t.config, STATE_GRADIENTS, EXTENT_SHARDED, tiny_axes(DP, TP));
    expect_code(&t, E309);
}

// Shards of the optimizer lie in those of the parameters, whatever order the mesh has.
static void shards_nest(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(DP, TP);
    mode(&t, STATE_PARAMETERS, EXTENT_GATHERED, TP);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, TP);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    expect_placed(&t);
    struct axis_list expected = tiny_axes(TP, DP);
    assert_true(
        axis_list_equal(&tensor(&t, "norm.gain")->storage->shards[STATE_OPTIMIZER], &expected));
    arena_free(&t.arena);
}

static void shards_that_do_not_nest_are_E199(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(DP, TP);
    mode(&t, STATE_PARAMETERS, EXTENT_GATHERED, TP);
    mode(&t, STATE_GRADIENTS, EXTENT_SHARDED, DP);
    tiny_mode(&t.arena, &t.config, STATE_OPTIMIZER, EXTENT_SHARDED, tiny_axes(TP, DP));
    expect_code(&t, E199);
}

static void a_part_over_an_axis_not_gathered_is_E121(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.strategy.splits[0].axes = tiny_axes(DP, TP);
    struct mode_statement *m = mode(&t, STATE_PARAMETERS, EXTENT_GATHERED, DP);
    m->keeps_part = true;
    m->kept_axes = tiny_axes(TP, -1);
    expect_code(&t, E121);
}

// ---- ranges of layers -------------------------------------------------------------------------

static enum extent extent_in(struct trial *t, uint32_t range, const char *name) {
    uint32_t id = job_find_tensor(t->program->job, name);
    const struct placement *placement = &t->placement;
    return stored_extent(placement->tensors[range * placement->n_tensors + id].storage,
                         STATE_OPTIMIZER, DP);
}

static void expect_range(const struct trial *t, uint32_t range, int64_t begin, int64_t end,
                         int64_t step) {
    const struct layer_range *found = &t->placement.ranges[range];
    assert_int_equal(found->begin, begin);
    assert_int_equal(found->end, end);
    assert_int_equal(found->step, step);
}

// Five layers: 0, 1 and 2, 3 and 4. What has no layers is placed alike in all ranges.
static void slices_make_ranges(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    select_layers(mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP), 1, 3);
    expect_placed(&t);
    assert_int_equal(t.placement.n_ranges, 3);
    expect_range(&t, 0, 0, 1, 1);
    expect_range(&t, 1, 1, 3, 1);
    expect_range(&t, 2, 3, 5, 1);
    for (uint32_t range = 0; range < 3; range++) {
        assert_int_equal(extent_in(&t, range, "block.mlp.up.weight"),
                         range == 1 ? EXTENT_REPLICATED : EXTENT_SHARDED);
        assert_int_equal(extent_in(&t, range, "norm.gain"), EXTENT_SHARDED);
    }
    arena_free(&t.arena);
}

static void slices_that_change_nothing_make_no_range(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
    select_layers(mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP), 1, 3);
    expect_placed(&t);
    assert_int_equal(t.placement.n_ranges, 1);
    expect_range(&t, 0, 0, 5, 1);
    arena_free(&t.arena);
}

// Layers 0 and 2, 1 and 3; the last one stands by itself. Where the first slice begins makes no
// border: it takes no layer before it anyway.
static void every_second_layer_takes_turns(void **state) {
    for (int64_t first = 0; first < 2; first++) {
        struct trial t;
        begin(&t, false);
        mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
        struct mode_statement *second = mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP);
        select_layers(second, first, 5);
        second->selector.slice_step = 2;
        expect_placed(&t);
        assert_int_equal(t.placement.n_ranges, 3);
        expect_range(&t, 0, 0, 4, 2);
        expect_range(&t, 1, 1, 4, 2);
        expect_range(&t, 2, 4, 5, 1);
        for (int64_t layer = 0; layer < 5; layer++) {
            uint32_t range = placement_range(&t.placement, layer);
            assert_int_equal(range, layer == 4 ? 2 : layer % 2);
            assert_int_equal(extent_in(&t, range, "block.mlp.up.weight"),
                             layer % 2 == first ? EXTENT_REPLICATED : EXTENT_SHARDED);
        }
        arena_free(&t.arena);
    }
}

static void turns_that_change_nothing_make_no_range(void **state) {
    struct trial t;
    begin(&t, false);
    for (int64_t first = 0; first < 2; first++) {
        struct mode_statement *half = mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP);
        select_layers(half, first, 5);
        half->selector.slice_step = 2;
    }
    expect_placed(&t);
    assert_int_equal(t.placement.n_ranges, 1);
    expect_range(&t, 0, 0, 5, 1);
    arena_free(&t.arena);
}

static void slices_that_meet_are_E305(void **state) {
    struct trial t;
    begin(&t, false);
    select_layers(mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP), 0, 3);
    select_layers(mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP), 2, 5);
    expect_code(&t, E305);
}

// ---- rules ------------------------------------------------------------------------------------

static void batch_not_divisible_is_E201(void **state) {
    struct trial t;
    begin(&t, false);
    t.config.train.batch = 12;
    expect_code(&t, E201);
}

static void heads_not_divisible_is_E202(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.mesh.axes[TP].size = 3;
    split(&t, DIM_FFN, TP); // 14
    expect_code(&t, E202);
}

static void idle_axis_is_E301(void **state) {
    struct trial t;
    begin(&t, true);
    expect_code(&t, E301);
}

static void dimension_cut_twice_is_E302(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_BATCH, TP);
    expect_code(&t, E302);
}

static void axis_for_batch_and_ffn_is_E303(void **state) {
    struct trial t;
    begin(&t, false);
    split(&t, DIM_FFN, DP);
    expect_code(&t, E303);
}

static void mode_for_cut_tensor_is_E304(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_FFN, TP);
    select_roles(mode(&t, STATE_PARAMETERS, EXTENT_REPLICATED, TP), ROLE_MLP, ROLE_UP);
    expect_code(&t, E304);
}

static void sharded_parameters_are_E306(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_PARAMETERS, EXTENT_SHARDED, DP);
    expect_code(&t, E306);
}

static void sharded_activations_are_E306(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_ACTIVATIONS, EXTENT_SHARDED, DP);
    expect_code(&t, E306);
}

static void whole_optimizer_for_shards_is_E307(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_PARAMETERS, EXTENT_GATHERED, DP);
    expect_code(&t, E307);
}

static void heads_without_kv_heads_is_E308(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_HEADS, TP);
    expect_code(&t, E308);
}

static void sharded_gradient_is_E402(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_GRADIENTS, EXTENT_SHARDED, DP);
    expect_code(&t, E402);
}

static void selector_without_tensor_is_E119(void **state) {
    struct trial t;
    begin(&t, false);
    select_roles(mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, DP), ROLE_ROUTER, ROLE_NONE);
    expect_code(&t, E119);
}

static void other_dimensions_are_E199(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_EXPERTS, TP);
    expect_code(&t, E199);
}

static void sequence_of_odd_chunks_is_E203(void **state) {
    struct trial t;
    begin(&t, true);
    t.config.train.sequence = 6;
    split(&t, DIM_SEQUENCE, TP);
    expect_code(&t, E203);
}

static void shards_on_a_model_axis_are_of_what_is_whole(void **state) {
    struct trial t;
    begin(&t, true);
    split(&t, DIM_FFN, TP);
    mode(&t, STATE_OPTIMIZER, EXTENT_SHARDED, TP);
    expect_placed(&t);
    struct axis_list expected = tiny_axes(TP, -1), none = {0};
    assert_true(
        axis_list_equal(&tensor(&t, "norm.gain")->storage->shards[STATE_OPTIMIZER], &expected));
    assert_true(axis_list_equal(
        &tensor(&t, "block.mlp.up.weight")->storage->shards[STATE_OPTIMIZER], &none));
    arena_free(&t.arena);
}

// The proposal of E402 is an edit that makes the strategy whole.
static void E402_proposes_the_optimizer(void **state) {
    struct trial t;
    begin(&t, false);
    mode(&t, STATE_OPTIMIZER, EXTENT_REPLICATED, DP)->origin.span = (struct span){0, 10, 20};
    mode(&t, STATE_GRADIENTS, EXTENT_SHARDED, DP)->origin.span = (struct span){0, 30, 41};
    derive(&t);
    const struct diagnostic *d = t.diagnostics->items[0];
    assert_string_equal(d->message,
                        "gradients are sharded over `dp`, but the optimizer is replicated there");
    assert_string_equal(d->said, "each device keeps 1/4 of the gradient");
    assert_int_equal(d->n_labels, 1);
    assert_string_equal(d->labels[0].text, "each device updates the whole parameter");
    assert_int_equal(d->n_edits, 1);
    assert_string_equal(d->edits[0].text, "sharded(dp)");
    assert_int_equal(d->edits[0].span.begin, 10);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_selector_wins),
        cmocka_unit_test(own_text_wins_over_use),
        cmocka_unit_test(selector_weighs_more_than_own_text),
        cmocka_unit_test(equal_rank_is_E305),
        cmocka_unit_test(axes_of_size_one_change_nothing),
        cmocka_unit_test(modes_pass_over_cut_tensors),
        cmocka_unit_test(shards_keep_the_order_said),
        cmocka_unit_test(shards_in_two_orders_are_E309),
        cmocka_unit_test(shards_nest),
        cmocka_unit_test(shards_that_do_not_nest_are_E199),
        cmocka_unit_test(a_part_over_an_axis_not_gathered_is_E121),
        cmocka_unit_test(slices_make_ranges),
        cmocka_unit_test(slices_that_change_nothing_make_no_range),
        cmocka_unit_test(every_second_layer_takes_turns),
        cmocka_unit_test(turns_that_change_nothing_make_no_range),
        cmocka_unit_test(slices_that_meet_are_E305),
        cmocka_unit_test(batch_not_divisible_is_E201),
        cmocka_unit_test(heads_not_divisible_is_E202),
        cmocka_unit_test(sequence_of_odd_chunks_is_E203),
        cmocka_unit_test(idle_axis_is_E301),
        cmocka_unit_test(dimension_cut_twice_is_E302),
        cmocka_unit_test(axis_for_batch_and_ffn_is_E303),
        cmocka_unit_test(mode_for_cut_tensor_is_E304),
        cmocka_unit_test(sharded_parameters_are_E306),
        cmocka_unit_test(sharded_activations_are_E306),
        cmocka_unit_test(whole_optimizer_for_shards_is_E307),
        cmocka_unit_test(heads_without_kv_heads_is_E308),
        cmocka_unit_test(sharded_gradient_is_E402),
        cmocka_unit_test(selector_without_tensor_is_E119),
        cmocka_unit_test(other_dimensions_are_E199),
        cmocka_unit_test(shards_on_a_model_axis_are_of_what_is_whole),
        cmocka_unit_test(E402_proposes_the_optimizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
