// The oracle itself: mistakes that would look right if memory were kept apart, transfers performed
// at once, or what is over left as it was; each is planted into a program that is right, and must
// show.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/derive.h"
#include "tests/oracle/truth.h"
#include "tests/program_edit.h"
#include "tests/tiny_strategies.h"

struct mistake {
    const char *name;
    enum tiny_strategy strategy;
    struct edit edits[4];
    enum outcome outcome;
};

static const struct mistake mistakes[] = {
    {"a wait is missing", TINY_DDP, {DELETE("wait reduce.head")}, OUTCOME_STUCK},
    {"a wait comes first",
     TINY_DDP,
     {BEFORE("wait reduce.head", "start all_reduce over dp as reduce.head")},
     OUTCOME_STUCK},
    {"a handle is taken",
     TINY_ZERO3,
     {DOUBLE("start reduce_scatter over dp as reduce.head")},
     OUTCOME_STUCK},
    {"read before it is waited for",
     TINY_DDP,
     {BEHIND("wait reduce.head", "call norm_head")},
     OUTCOME_WRONG},
    {"sent on before it has arrived",
     TINY_HSDP,
     {BEHIND("wait reduce.head_backward[0]",
             "start all_reduce over replica as reduce.head_backward.2")},
     OUTCOME_WRONG},
    {"written while it is sent",
     TINY_ZERO3,
     {INSERT("    zero norm.gain.gradient.unreduced", "wait reduce.head")},
     OUTCOME_WRONG},
    {"two pieces fill one place",
     TINY_ZERO3,
     {REPLACE("block.mlp.gate.weight[l+1] -> block.mlp.gate.weight.gathered.block_forward[l+1 mod "
              "2],",
              "block.mlp.gate.weight[l+1] -> block.mlp.gate.weight.gathered.block_forward[l+1 mod "
              "2], block.mlp.up.weight[l+1] -> "
              "block.mlp.gate.weight.gathered.block_forward[l+1 mod 2],")},
     OUTCOME_WRONG},
    {"freed too early",
     TINY_ZERO3,
     {BEFORE("free embedding.token.gathered.embedding_forward", "call embedding_forward")},
     OUTCOME_WRONG},
    {"rounded where it has no place",
     TINY_DDP,
     {INSERT("  %short = cast(%attention.out) : bf16[batch=2, sequence=7, hidden=10] inline\n"
             "  %long = cast(%short) : f64[batch=2, sequence=7, hidden=10] inline",
             "%attention.y = add"),
      REPLACE("add(%x, %attention.out)", "add(%x, %long)")},
     OUTCOME_WRONG},
    {"read after it was consumed", TINY_DDP, {DOUBLE("call head_backward")}, OUTCOME_WRONG},
    {"an accumulator is not cleared",
     TINY_ZERO3,
     {DELETE("zero norm.gain.gradient")},
     OUTCOME_WRONG},
    {"shards are never gathered",
     TINY_ZERO1,
     {DELETE("start all_gather over dp as gather.update_block"),
      DELETE("wait gather.update_block")},
     OUTCOME_WRONG},
    {"a wait inside a unit is missing",
     TINY_ZERO3_TP,
     {DELETE("%attention.out.summed = wait"),
      {EDIT_REPLACE_ALL, "%attention.out.summed", "%attention.out.started", 0, 0}},
     OUTCOME_STUCK},
    {"what a unit sends is overwritten",
     TINY_ZERO3_TP,
     {INSERT("  %other = cast(%x) : f64[batch=2, sequence=7, hidden=10] in %attention.out",
             "%attention.out.summed = wait")},
     OUTCOME_WRONG},
    {"nothing", TINY_ZERO3_TP, {{EDIT_END, NULL, NULL, 0, 0}}, OUTCOME_RIGHT},
};

struct trial {
    struct arena arena;
    struct config config;
    struct program *reference, *final;
};

// The same where gradients are codes, of which the program is right as long as nothing is lost.
static const struct mistake wire_mistakes[] = {
    {"nothing", TINY_DDP, {{EDIT_END, NULL, NULL, 0, 0}}, OUTCOME_RIGHT},
    {"what a code lacks is lost",
     TINY_DDP,
     {INSERT("zero norm.gain.gradient.residual\n", "call decompress_head_backward")},
     OUTCOME_WRONG},
    {"codes are put together before they have arrived",
     TINY_DDP,
     {BEFORE("call decompress_head_backward", "wait gather.head_backward")},
     OUTCOME_WRONG},
    {"they are never put together",
     TINY_DDP,
     {DELETE("call decompress_head_backward")},
     OUTCOME_WRONG},
    {"nobody waits for them", TINY_DDP, {DELETE("wait gather.head_backward")}, OUTCOME_STUCK},
};

// Two microbatches, but where a reduction of the last one would be in another loop.
static void derive(struct trial *t, enum tiny_strategy strategy) {
    *t = (struct trial){.reference = NULL};
    t->config =
        tiny_strategy_config(&t->arena, FAMILY_LLAMA, strategy, strategy == TINY_HSDP ? 1 : 2);
    t->reference = derive_program(&t->arena, &t->config, PASS_UPDATE, NULL);
    t->final = derive_program(&t->arena, &t->config, N_PASSES - 1, NULL);
}

static void derive_codes(struct trial *t, enum tiny_strategy strategy, struct wire wire) {
    *t = (struct trial){.reference = NULL};
    t->config = tiny_strategy_config(&t->arena, FAMILY_LLAMA, strategy, 2);
    struct axis_list axes = tiny_axes((int)t->config.mesh.n_axes, -1);
    tiny_axis(&t->config, "wire", 2);
    axis_list_add(&t->config.strategy.splits[0].axes, axes.axes[0]);
    t->config.train.batch *= 2;
    tiny_mode(&t->arena, &t->config, STATE_GRADIENTS, EXTENT_REPLICATED, axes)->wire = wire;
    t->reference = derive_program(&t->arena, &t->config, PASS_UPDATE, NULL);
    t->final = derive_program(&t->arena, &t->config, N_PASSES - 1, NULL);
}

static struct finding judge(struct trial *t) {
    struct setup setup = {.seed = 1, .steps = 2, .first_step = 3, .sequences_per_group = 2};
    return truth_judge(&t->arena, truth_expect(&t->arena, t->reference, &setup), t->final->job,
                       NULL, NULL);
}

static void edit(struct trial *t, const struct mistake *mistake) {
    char *text = program_edit(&t->arena, job_text(t->final->job, &t->arena), mistake->edits);
    struct text_error error;
    t->final = job_only(job_parse(&t->arena, text, strlen(text), 0, &error));
    if (!t->final)
        fail_msg("%s: %s", mistake->name, error.message);
    assert_false(job_needs_plan(t->final->job));
    job_number(t->final->job);
}

static void expect(struct trial *t, const char *name, enum outcome outcome) {
    struct finding finding = judge(t);
    if (finding.outcome != outcome)
        fail_msg("%s: %s, not %s (%s, %g)", name, outcome_names[finding.outcome],
                 outcome_names[outcome], finding.what, finding.difference);
    arena_free(&t->arena);
}

static void mistakes_show(void **state) {
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct trial t;
        derive(&t, mistakes[i].strategy);
        edit(&t, &mistakes[i]);
        expect(&t, mistakes[i].name, mistakes[i].outcome);
    }
}

static void lost_codes_show(void **state) {
    struct trial t;
    for (size_t i = 0; i < sizeof wire_mistakes / sizeof *wire_mistakes; i++) {
        derive_codes(&t, wire_mistakes[i].strategy, (struct wire){WIRE_INT8, 0});
        edit(&t, &wire_mistakes[i]);
        expect(&t, wire_mistakes[i].name, wire_mistakes[i].outcome);
    }
    static const struct wire ways[] = {{WIRE_SIGN, 0}, {WIRE_TOPK, 7}};
    for (int i = 0; i < 2; i++) {
        derive_codes(&t, TINY_DDP, ways[i]);
        expect(&t, wire_way_names[ways[i].way], OUTCOME_RIGHT);
    }
    derive_codes(&t, TINY_ZERO3, (struct wire){WIRE_INT8, 0});
    expect(&t, "shards", OUTCOME_RIGHT);
    derive_codes(&t, TINY_ZERO3_TP, (struct wire){WIRE_TOPK, 3});
    expect(&t, "shards of parts", OUTCOME_RIGHT);
}

// Shards are made in the place of the whole, each of what only its own device still reads. Over one
// axis more some devices have no shard, and clear a place that others read.
static void places_that_others_read_show(void **state) {
    static const struct mistake over_more = {
        .name = "shards over one axis more",
        .edits = {REPLACE("start reduce_scatter over dp as reduce.head_backward[",
                          "start reduce_scatter over wire*dp as reduce.head_backward[")}};
    struct trial t;
    derive_codes(&t, TINY_ZERO1, (struct wire){WIRE_NONE, 0});
    expect(&t, "shards in place", OUTCOME_RIGHT);
    derive_codes(&t, TINY_ZERO1, (struct wire){WIRE_NONE, 0});
    edit(&t, &over_more);
    expect(&t, over_more.name, OUTCOME_WRONG);
}

// Buffers, and values of a frame, that are put where others still are.
static void plans_that_overlap_show(void **state) {
    for (size_t i = 0; i < n_overlaps; i++) {
        struct trial t;
        derive(&t, TINY_DDP);
        overlap_buffers(t.final, &overlaps[i]);
        if (judge(&t).outcome != OUTCOME_WRONG)
            fail_msg("%s where %s is", overlaps[i].moved, overlaps[i].to);
        arena_free(&t.arena);
    }
    struct trial t;
    derive(&t, TINY_DDP);
    overlap_keys_and_queries(t.final);
    assert_int_equal(judge(&t).outcome, OUTCOME_WRONG);
    arena_free(&t.arena);
}

// Masked targets are counted: of no two microbatches of any device are there equally many.
static void masks_differ(void **state) {
    struct trial t;
    derive(&t, TINY_HSDP);
    struct setup setup = {.seed = 1, .steps = 1, .first_step = 3, .sequences_per_group = 2};
    struct expected *expected = truth_expect(&t.arena, t.reference, &setup);
    const double *targets = truth_input(expected, "targets", 0);
    int64_t sequences = t.config.train.batch, length = t.config.train.sequence;
    bool seen[64] = {false};
    for (int64_t group = 0; group < sequences / 2; group++) {
        int64_t masked = 0;
        for (int64_t i = 0; i < 2 * length; i++)
            masked += targets[group * 2 * length + i] < 0;
        assert_true(masked < 64 && !seen[masked]);
        seen[masked] = true;
    }
    arena_free(&t.arena);
}

static void look_at_user(void *data, const struct moment *moment, const struct array *operands,
                         const struct array *results) {
    *(bool *)data |= moment->op != moment->user;
}

// A value that has no place is seen where it is computed, by the op that uses it.
static void inline_values_are_seen(void **state) {
    struct trial t;
    bool seen = false;
    derive(&t, TINY_DDP);
    struct setup setup = {.seed = 1, .steps = 1, .first_step = 3, .sequences_per_group = 2};
    struct observer observer = {.data = &seen, .op = look_at_user};
    truth_judge(&t.arena, truth_expect(&t.arena, t.reference, &setup), t.final->job, &observer,
                NULL);
    assert_true(seen);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_show),
        cmocka_unit_test(lost_codes_show),
        cmocka_unit_test(places_that_others_read_show),
        cmocka_unit_test(plans_that_overlap_show),
        cmocka_unit_test(masks_differ),
        cmocka_unit_test(inline_values_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
