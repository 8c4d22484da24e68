// Devices that take steps of their own between averages: of every strategy, on two islands of the
// mesh that it is for, what the compiler derives is accepted; and mistakes that join islands within
// a step, deal the batch out otherwise, or average something else are refused.
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

// The strategy on two islands; each has the batch that it is for. The new axis is the innermost of
// the mesh, and so of the batch.
static void divide_into_islands(struct trial *t, bool outer) {
    struct config *config = &t->config;
    struct axis_list island = tiny_axes((int)config->mesh.n_axes, -1);
    tiny_axis(config, "island", 2);
    axis_list_add(&config->strategy.splits[0].axes, island.axes[0]);
    config->train.batch *= 2;
    tiny_mode(&t->arena, config, STATE_GRADIENTS, EXTENT_REPLICATED, island)->reduce = REDUCE_NEVER;
    struct mode_statement *average =
        tiny_mode(&t->arena, config, STATE_PARAMETERS, EXTENT_REPLICATED, island);
    average->average_every = 5;
    if (outer)
        average->outer = (struct optimizer_config){
            .kind = OPTIMIZER_SGD, .rate.base = 0.7, .momentum = 0.9, .nesterov = true};
}

static void derive(struct trial *t, enum model_family family, enum tiny_strategy strategy,
                   int64_t microbatches, bool outer) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, family, strategy, microbatches);
    divide_into_islands(t, outer);
    if (!trial_derive(t, N_PASSES - 1))
        fail_msg("%s on islands has no program", tiny_strategy_names[strategy]);
}

static void expect_accepted(struct trial *t, const char *name) {
    if (t->verdict.kind == VERDICT_ACCEPTED)
        return;
    diagnostics_print(t->diagnostics, stderr, false);
    fail_msg("%s on islands is refused", name);
}

static void all_strategies(enum model_family family, int64_t microbatches, bool outer) {
    static const struct edit none[] = {{EDIT_END, NULL, NULL, 0, 0}};
    int stride = sample_every() > 1 ? 4 : 1;
    for (int i = (int)family % stride; i < N_TINY_STRATEGIES; i += stride) {
        struct trial t;
        derive(&t, family, (enum tiny_strategy)i, microbatches, outer);
        trial_judge(&t);
        expect_accepted(&t, tiny_strategy_names[i]);
        assert_true(trial_edit(&t, none)); // and its text says all that is judged
        trial_judge_one_by_one(&t);
        expect_accepted(&t, tiny_strategy_names[i]);
        arena_free(&t.arena);
    }
}

static void every_strategy_on_islands_is_accepted(void **state) {
    all_strategies(FAMILY_GPT2, 3, false);
    all_strategies(FAMILY_LLAMA, 1, false);
    all_strategies(FAMILY_LLAMA, 3, true);
}

struct mistake {
    const char *name;
    struct edit edits[4];
    const char *code;
    const char *at;
};
static const struct mistake mistakes[] = {
    {"the islands' parameters are not summed",
     {DELETE("start all_reduce over island as sum.average["), DELETE("wait sum.average[")},
     "E410",
     "embedding.token :"},
    {"they are summed twice",
     {DOUBLE("wait sum.average["),
      BEFORE("start all_reduce over island as sum.average[", "wait sum.average["),
      {EDIT_INSERT_BEHIND, "wait sum.average[",
       "start all_reduce over island as sum.average[0] { norm.gain.window -> norm.gain.window }", 0,
       0}},
     "E413",
     "norm.gain :"},
    {"the sum is divided by another number",
     {REPLACE("%norm.gain.average = divide(%norm.gain) {divisor=2}",
              "%norm.gain.average = divide(%norm.gain) {divisor=3}")},
     "E413",
     "%norm.gain.average = divide"},
    {"devices of one island are averaged, not the islands",
     {REPLACE("start all_reduce over island as sum.average[",
              "start all_reduce over dp as sum.average[")},
     "E411",
     "start all_reduce over dp as sum.average["},
    {"what is averaged is not gathered",
     {DELETE("start all_gather over dp as gather.average["), DELETE("wait gather.average[")},
     "E511",
     "embedding.token :"},
    {"the average reaches an optimizer's state",
     {{EDIT_INSERT_BEHIND, "wait sum.average[",
       "start all_reduce over island as sum.average[0] { norm.gain.moment1 -> norm.gain.moment1 }\n"
       "wait sum.average[0]",
       0, 0}},
     "E515",
     "norm.gain.moment1 :"},
    {"an optimizer's states are divided",
     {{EDIT_INSERT_BEHIND, "wait sum.average[",
       "call average(embedding.token = embedding.token.moment1, norm.gain = norm.gain.moment1,\n"
       "     head.weight = head.weight.moment1)",
       0, 0}},
     "E515",
     "embedding.token.moment1 :"},
    {"devices of an island exchange an optimizer's state",
     {{EDIT_INSERT_BEHIND, "wait sum.average[",
       "start permute over dp shift 1 as round[0] {\n"
       "     norm.gain.moment1 -> norm.gain.gradient.window }\n"
       "wait round[0]\n"
       "start permute over dp shift 1 as round[0] {\n"
       "     norm.gain.gradient.window -> norm.gain.moment1 }\n"
       "wait round[0]",
       0, 0}},
     "E515",
     "norm.gain.moment1 :"},
    {"islands exchange an optimizer's state",
     {{EDIT_INSERT_BEHIND, "wait sum.average[",
       "start permute over island shift 1 as round[0] {\n"
       "     norm.gain.moment1 -> norm.gain.gradient.window }\n"
       "wait round[0]\n"
       "start permute over island shift 0 as round[0] {\n"
       "     norm.gain.gradient.window -> norm.gain.moment1 }\n"
       "wait round[0]",
       0, 0}},
     "E515",
     "norm.gain.moment1 :"},
    {"an optimizer's state is freed",
     {{EDIT_INSERT_BEHIND, "wait sum.average[", "free norm.gain.moment1", 0, 0}},
     "E611",
     "free norm.gain.moment1"},
    {"nothing waits for a sum of what is no state",
     {{EDIT_INSERT_BEHIND, "wait sum.average[",
       "start all_reduce over dp as late[0] { token_count -> token_count }", 0, 0}},
     "E612",
     "start all_reduce over dp as late"},
    {"a sum of all islands within a step",
     {REPLACE("start all_reduce over dp as sum.token_count[0]",
              "start all_reduce over dp*island as sum.token_count[0]")},
     "E515",
     "start all_reduce over dp*island as sum.token_count"},
    {"a loss of the next island, in an evaluation",
     {{EDIT_INSERT_BEFORE, "call mean_loss",
       "start permute over island shift 1 as round[0] { loss_sum -> norm2 }\nwait round[0]\n"
       "start permute over island shift 0 as round[0] { norm2 -> loss_sum }\nwait round[0]",
       0, 0}},
     "E515",
     "start permute over island shift 1"},
    {"the same within a unit",
     {REPLACE("%rows = iota() {dimension=vocab}", "%rows = iota() {dimension=vocab, axes=island}")},
     "E515",
     "%rows = iota"},
    {"every island has all of the batch",
     {REPLACE("buffer targets : input i32[batch=36/dp*island,",
              "buffer targets : input i32[batch=18/dp,")},
     "E515",
     "targets"},
    {"every island has all of all",
     {REPLACE_ALL("input i32[batch=36/dp*island,", "input i32[batch=18/dp,"),
      REPLACE("activations f64[batch=12/dp*island, sequence=7, vocab=18] host",
              "activations f64[batch=6/dp, sequence=7, vocab=18] host")},
     "E515",
     "targets"},
    {"tokens and targets dealt out in different orders",
     {REPLACE("buffer targets : input i32[batch=36/dp*island,",
              "buffer targets : input i32[batch=36/island*dp,")},
     "E515",
     "targets"},
    {"targets dealt out in zigzag",
     {REPLACE("buffer targets : input i32[batch=36/dp*island,",
              "buffer targets : input i32[batch=36/dp*island zigzag island,")},
     "E515",
     "targets"},
    {"a buffer is cut flat among islands",
     {INSERT("buffer idle : transient f64[hidden=10] flat/island of norm.gain at 0\n",
             "buffer targets :")},
     "E515",
     "idle :"},
    {"islands with parts of sequences",
     {REPLACE_ALL("batch=36/dp*island, sequence=7] host",
                  "batch=36/dp*island, sequence=14/island] host")},
     "E515",
     "targets"},
    {"activations are said to lie otherwise among islands, each of which has its own",
     {REPLACE("hidden : activations f64[batch=12/dp*island,",
              "hidden : activations f64[batch=12/island*dp,")},
     NULL,
     NULL},
};

static const struct mistake outer_mistakes[] = {
    {"the outer optimizer steps from what an island has",
     {BEHIND("wait sum.average[", "call outer("),
      BEHIND("start all_reduce over island as sum.average[", "call outer(")},
     "E410",
     "%embedding.token.moved = weighted_sum"},
    {"it takes another step",
     {REPLACE("%norm.gain.stepped = weighted_sum(%norm.gain.anchor, %norm.gain.step) "
              "{weight_a=1, weight_b=-0.7}",
              "%norm.gain.stepped = weighted_sum(%norm.gain.anchor, %norm.gain.step) "
              "{weight_a=1, weight_b=-0.6}")},
     "E490",
     "%norm.gain.stepped = weighted_sum"},
    {"its momentum is that of an island",
     {REPLACE("norm.gain.outer_momentum = norm.gain.outer_momentum",
              "norm.gain.outer_momentum = norm.gain.moment1")},
     "E410",
     "%norm.gain.momentum = weighted_sum"},
    {"it does not step", {DELETE("call outer(")}, "E511", "embedding.token :"},
    {"a step of training moves where it steps from",
     {INSERT("zero norm.gain.anchor", "call update_head(")},
     "E490",
     "norm.gain.anchor :"},
};

static unsigned count_unrefused(const struct mistake *all, size_t n, bool outer) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct trial t;
        derive(&t, FAMILY_LLAMA, TINY_ZERO1, 3, outer);
        if (!trial_edit(&t, all[i].edits))
            fail_msg("%s: the edits find nothing, or make no program", all[i].name);
        trial_judge(&t);
        struct expected_verdict expected = {all[i].code, all[i].at, NULL};
        n_failed += !trial_end(&t, trial_is_as_expected(&t, expected), all[i].name, expected);
    }
    return n_failed;
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void mistakes_are_refused(void **state) {
    assert_int_equal(count_unrefused(mistakes, LENGTH(mistakes), false), 0);
}

static void mistakes_of_outer_optimizers_are_refused(void **state) {
    assert_int_equal(count_unrefused(outer_mistakes, LENGTH(outer_mistakes), true), 0);
}

// A program of islands is none of a model that is trained as a whole, and the other way round.
static void relaxing_is_not_the_programs_own_choice(void **state) {
    struct trial t = {0}, whole = {0};
    derive(&t, FAMILY_LLAMA, TINY_ZERO1, 3, false);
    whole.config = tiny_strategy_config(&whole.arena, FAMILY_LLAMA, TINY_ZERO1, 3);
    assert_true(trial_derive(&whole, N_PASSES - 1));
    struct program *program = t.program;
    t.program = whole.program;
    trial_judge(&t);
    assert_int_not_equal(t.verdict.kind, VERDICT_ACCEPTED);
    whole.program = program;
    trial_judge(&whole);
    assert_int_not_equal(whole.verdict.kind, VERDICT_ACCEPTED);
    arena_free(&t.arena);
    arena_free(&whole.arena);
}

// The average and its reference, slowed by what the host gives; `in`: where the final one has it.
#define SLOWED(in)                                                                                 \
    REPLACE("call average(", "call average(step = step, "),                                        \
        REPLACE("unit main.average {\n  phase update\n",                                           \
                "unit main.average {\n  phase update\n  parameter %step : f64[]\n"),               \
        REPLACE("%norm.gain.average = divide(%norm.gain)",                                         \
                "%slowed = scale(%norm.gain, %step) : f64[hidden=10] " in "\n"                     \
                "  %norm.gain.average = divide(%slowed)")

// What the host gives is the same on all islands, and is no summand of a sum over them.
static void inputs_are_no_summands(void **state) {
    static const struct edit reference[] = {SLOWED(""), {EDIT_END, NULL, NULL, 0, 0}};
    static const struct edit final[] = {SLOWED("in %norm.gain"), {EDIT_END, NULL, NULL, 0, 0}};
    static const struct edit summed[] = {
        REPLACE("call average(step = step,",
                "start all_reduce over island as steps[0] { step -> token_count }\n"
                "wait steps[0]\ncall average(step = token_count,"),
        {EDIT_END, NULL, NULL, 0, 0}};
    struct trial t;
    derive(&t, FAMILY_LLAMA, TINY_DDP, 3, false);
    struct program *derived = t.program;
    t.program = t.reference;
    assert_true(trial_edit(&t, reference));
    t.reference = t.program;
    t.program = derived;
    assert_true(trial_edit(&t, final));
    trial_judge(&t);
    expect_accepted(&t, "an average that is slowed");
    assert_true(trial_edit(&t, summed));
    trial_judge(&t);
    struct expected_verdict expected = {"E413", "norm.gain :", "2 times too large"};
    assert_true(trial_end(&t, trial_is_as_expected(&t, expected), "a sum of inputs", expected));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_on_islands_is_accepted),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(mistakes_of_outer_optimizers_are_refused),
        cmocka_unit_test(relaxing_is_not_the_programs_own_choice),
        cmocka_unit_test(inputs_are_no_summands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
