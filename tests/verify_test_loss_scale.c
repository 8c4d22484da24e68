// A loss scale that leaves gradients twice, never, or behind the clip, and steps that some devices skip
// alone: mistakes planted into programs that the compiler derived, each refused at its statement. The
// scale is a scalar like any other there, so no rule is about it; what these tests hold is that all its
// ways through a program are followed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tiny_strategies.h"
#include "tests/trial.h"

struct mistake {
    const char *name;
    enum tiny_strategy strategy;
    struct edit edits[7];
    struct expected_verdict expected;
};

#define ACCEPTED                                                                                   \
    { NULL, NULL, NULL }

static const struct mistake mistakes[] = {
    {"as it is", TINY_ZERO1, {{EDIT_END, NULL, NULL, 0, 0}}, ACCEPTED},
    {"the scale and the count of tokens multiplied in another order",
     TINY_ZERO3,
     {REPLACE("mul(%inverse_count, %scale)", "mul(%scale, %inverse_count)")},
     ACCEPTED},
    {"the scale leaves the clip's factor first",
     TINY_ZERO1,
     {REPLACE("mul(%clip, %inverse_scale)", "mul(%inverse_scale, %clip)")},
     ACCEPTED},

    // Once, and before anything is clipped.
    {"gradients keep the scale",
     TINY_ZERO1,
     {REPLACE("%factor = mul(%clip, %inverse_scale)", "%factor = cast(%clip)")},
     {"E413", "%update_factor = update_factor(%factor", "scaled by 1;"}},
    {"gradients are divided by the scale twice",
     TINY_DDP,
     {INSERT("  %twice = mul(%factor, %inverse_scale) : f64[] at 128", "%update_factor ="),
      REPLACE("update_factor(%factor, %norm2)", "update_factor(%twice, %norm2)")},
     {"E413", "%twice = mul", "1/loss_scale(loss_scale)^2"}},
    {"the loss is multiplied by the scale twice",
     TINY_ZERO2,
     {REPLACE("%scaled = mul(%inverse_count, %scale) : f64[] out",
              "%once = mul(%inverse_count, %scale) : f64[] inline\n"
              "  %scaled = mul(%once, %scale) : f64[] out")},
     {"E490", "%scaled = mul(%once", "loss_scale(loss_scale)"}},
    {"the loss is not multiplied by the scale",
     TINY_ZERO2,
     {REPLACE("loss.loss.gradient = loss_gradient", "loss.loss.gradient = inverse_count")},
     {"E490", "%logits.gradient = cross_entropy_backward", "is given 1"}},
    {"clipped before the scale leaves",
     TINY_ZERO3,
     {REPLACE("clip_factor(%norm2.unscaled)", "clip_factor(%norm2)")},
     {"E490", "%clip = clip_factor", "is given ("}},
    {"clipped when the scale has left once of the square",
     TINY_ZERO1,
     {REPLACE("clip_factor(%norm2.unscaled)", "clip_factor(%norm2.once)")},
     {"E490", "%clip = clip_factor", "is given 1/loss_scale(loss_scale) *"}},
    {"a norm with the scale is told",
     TINY_ZERO1,
     {REPLACE("square_root(%norm2.unscaled)", "square_root(%norm2)")},
     {"E490", "%grad_norm = square_root", "is given ("}},
    {"something else leaves",
     TINY_ZERO1,
     {REPLACE("%inverse_scale = reciprocal(%scale)", "%inverse_scale = reciprocal(%good_steps)")},
     {"E413", "%inverse_scale = reciprocal", "1/good_steps"}},

    // All devices skip the same steps, by the sum over all of them.
    {"a skip that each device decides by its own gradients",
     TINY_ZERO1,
     {DELETE("start all_reduce over dp as sum.norm2"), DELETE("wait sum.norm2")},
     {"E410", "%grad_norm = square_root", "over `dp`"}},
    {"a skip of one tensor that its own shard decides",
     TINY_ZERO1,
     {INSERT("  %own = square_sum(%norm.gain.gradient) : f64[]\n"
             "  %own.clip = update_factor(%clip, %own) : f64[]",
             "%norm.gain.updated.p, %norm.gain.updated.m"),
      REPLACE("%norm.gain.gradient, %learning_rate, %clip,",
              "%norm.gain.gradient, %learning_rate, %own.clip,")},
     {"E410", "%own.clip = update_factor", "over `dp`"}},
    {"the loss decides whether a step is skipped",
     TINY_DDP,
     {REPLACE("update_factor(%factor, %norm2)", "update_factor(%factor, %loss)")},
     {"E490", "%update_factor = update_factor", "token_loss"}},
    {"no step is skipped",
     TINY_DDP,
     {REPLACE("%update_factor = update_factor(%factor, %norm2)",
              "%update_factor = mul(%factor, %updates)")},
     {"E490", "%update_factor = mul", "updates"}},
    {"whether a step is skipped is counted by something else",
     TINY_ZERO3,
     {REPLACE("is_finite(%norm2)", "is_finite(%loss)")},
     {"E490", "%is_finite = is_finite", "token_loss"}},
    {"a skipped step counts as an update",
     TINY_ZERO1,
     {REPLACE("accumulate(%updates, %is_finite)", "accumulate(%updates, %updates)")},
     {"E415", "%next_updates = accumulate", "anew"}},
    {"the optimizer counts steps that are skipped",
     TINY_ZERO1,
     {REPLACE_ALL("step = next_updates", "step = step")},
     {"E490", "%embedding.token.updated.p", "is given step"}},
    {"the next scale grows faster",
     TINY_ZERO1,
     {REPLACE("growth=2", "growth=4")},
     {"E490", "%next.scale, %next.good_steps", "growth=4"}},
    {"the first scale is another",
     TINY_ZERO1,
     {REPLACE("{initial=65536}", "{initial=32768}")},
     {"E490", "%scale = loss_scale", "initial=32768"}},
    {"the count of good steps is the host's count of updates",
     TINY_ZERO1,
     {REPLACE("good_steps = good_steps)", "good_steps = updates)")},
     {"E490", "%next.scale, %next.good_steps", "is given updates"}},
};

static bool is_judged_right(const struct mistake *mistake) {
    struct trial t = {0};
    t.config = tiny_strategy_config(&t.arena, FAMILY_LLAMA, mistake->strategy, 2);
    t.config.train.clip = 1;
    t.config.train.loss_scale = (struct loss_scale_config){
        .initial = 65536, .dynamic = true, .growth = 2, .backoff = 0.5, .interval = 2000};
    bool edited = trial_derive(&t, N_PASSES - 1) && trial_edit(&t, mistake->edits);
    if (edited)
        trial_judge(&t);
    bool right = edited && trial_is_as_expected(&t, mistake->expected);
    return trial_end(&t, right, mistake->name, mistake->expected);
}

static void each_mistake_is_told(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        n_failed += !is_judged_right(&mistakes[i]);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
