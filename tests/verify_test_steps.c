// Steps of a few statements, each with one mistake: the step as it should be is accepted, and is
// the reference; the edited one is refused as what it is, at its place. Without the rule that says
// so it would be accepted, or refused as something else (tools/verifier_rules.py deletes each).
// Here: what the next step finds, types as declared, and what no text can say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define EVALUATE "}\nevaluate {\ncall bend(x = w[0]) -> (y = spare[0])\n"
#define RING_TYPES                                                                                 \
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2],\n"                                  \
    "  f32[batch=1, sequence=2, heads=1, group=1]\n"
// Layers in several buffers.
#define LAYERS_OF_W "buffer w : parameters f32[hidden=4] of w layers 4 at 1024"
#define IN_RANGES                                                                                  \
    REPLACE(LAYERS_OF_W, "buffer w.low : parameters f32[hidden=4] of w layers 2 at 1024\n"         \
                         "buffer w.high : parameters f32[hidden=4] of w layers 2 from 2 at 1056")
#define IN_TURNS                                                                                   \
    REPLACE(LAYERS_OF_W,                                                                           \
            "buffer w.even : parameters f32[hidden=4] of w layers 2 by 2 at 1024\n"                \
            "buffer w.odd : parameters f32[hidden=4] of w layers 2 from 1 by 2 at 1056")
#define THROUGH_SPARE(layers, to)                                                                  \
    "for i = 0 .. " #layers " { call copy(x = " to "[i]) -> (y = spare[i]) }\n"                    \
    "for i = 0 .. " #layers " { call copy(x = spare[i]) -> (y = " to "[i]) }\n"
#define BEND_LAST "call bend(x = w[3]) -> (y = other)\ncall copy(x = other) -> (y = w[3])\n"

static const struct mistake mistakes[] = {
    // What the next step finds.
    {"parts that are left with another device",
     "start permute over b shift 1 as away[0] { u -> moved }\nwait away[0]\n"
     "start permute over b shift 1 as back[0] { moved -> u }\nwait back[0]\n",
     {REPLACE("shift 1 as back", "shift 0 as back")},
     "E510",
     "u : parameters",
     "begins the step as"},
    {"the first layer's parameters in all layers",
     THROUGH_SPARE(4, "w"),
     {REPLACE("x = spare[i]", "x = spare[0]")},
     "E512",
     "w : parameters",
     "layer 1 ends the step as"},
    {"an update of the last layer that is left out",
     BEND_LAST,
     {DELETE("call copy(x = other)")},
     "E511",
     "w : parameters",
     "layer 3 ends the step as it began it"},
    {"a layer whose bytes another buffer has",
     "call copy(x = w[0]) -> (y = other)\n",
     {REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 1056")},
     "E611",
     NULL,
     "`w` of layer 2 is lost"},
    {"parameters that are freed",
     "free other\n",
     {REPLACE("free other", "free w[0]")},
     "E611",
     "free w",
     NULL},
    {"layers in two ranges, of which each has a buffer",
     BEND_LAST,
     {IN_RANGES, REPLACE("x = w[3]", "x = w.high[1]"), REPLACE("y = w[3]", "y = w.high[1]")},
     NULL,
     NULL,
     NULL},
    {"an update of a range's last layer that is left out",
     BEND_LAST,
     {IN_RANGES, REPLACE("x = w[3]", "x = w.high[1]"), DELETE("call copy(x = other)")},
     "E511",
     "w.high : parameters",
     "layer 3 ends the step as it began it"},
    {"layers that take turns between two buffers",
     "",
     {IN_TURNS, REPLACE("train {", "train {\n" THROUGH_SPARE(2, "w.even"))},
     NULL,
     NULL,
     NULL},
    {"the parameters of one layer in the turn of the next",
     "",
     {IN_TURNS, REPLACE("train {", "train {\n" THROUGH_SPARE(2, "w.even")),
      INSERT("call copy(x = w.odd[0]) -> (y = spare[1])", "for i = 0 .. 2 { call copy(x = spare")},
     "E512",
     "w.even : parameters",
     "layer 2 ends the step as"},
    {"copies that are merged in another order on every device",
     RING,
     {WHOLE_QUERIES},
     "E513",
     "q : parameters",
     NULL},
    {"an attention to the keys of one device only",
     RING,
     {REPLACE("%o, %lse = attention_merge(",
              "%o = cast(%o.0) : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] out\n"
              "%all, %lse = attention_merge(")},
     "E412",
     "q : parameters",
     "lacks keys"},
    {"parts of an attention, weighed by the sums of another",
     RING,
     {REPLACE("%o.0, %lse.0 = attention(%q, %k, %k, %p, %at)",
              "%w.0, %lse.0 = attention(%q, %k, %k, %p, %at) {scale=0.25} :\n" RING_TYPES
              "%o.0, %m.0 = attention(%q, %k, %k, %p, %at)"),
      REPLACE("%o.1, %lse.1 = attention(%q, %k.1, %k.1, %p, %at.1)",
              "%w.1, %lse.1 = attention(%q, %k.1, %k.1, %p, %at.1) {scale=0.25} :\n" RING_TYPES
              "%o.1, %m.1 = attention(%q, %k.1, %k.1, %p, %at.1)")},
     "E490",
     "%w.0, %lse.0 = attention",
     "is given {scale=0.25}"},
    {"the greatest of every device's own part",
     "call greatest(x = cube) -> (y = face)\n",
     {REPLACE("%y = wait(%all)", "%rest = wait(%all) : f32[ffn=4, heads=4]\n%y = cast(%own)")},
     "E410",
     "face : parameters",
     "the greatest"},
    {"all microbatches but one",
     COUNT,
     {REPLACE("m = 0 .. 8", "m = 0 .. 7")},
     "E412",
     "for m = 0 .. 7 {",
     "each of the 8 microbatches"},
    {"the sum of every device's own microbatches",
     COUNT,
     {DELETE("start all_reduce over a"), DELETE("wait sum[0]")},
     "E410",
     "token_count : output",
     "still a summand"},
    {"an output that nothing holds",
     COUNT,
     {REPLACE("host token_count", "")},
     "E514",
     "train {",
     "nothing holds the output"},
    {"targets that nobody writes",
     COUNT,
     {REPLACE("host targets", "")},
     "E514",
     "targets : input",
     "nobody writes"},
    {"a parameter that nothing holds",
     "",
     {REPLACE("line : parameters", "line : transient")},
     "E514",
     "train {",
     "nothing holds"},
    {"a layer that nothing holds",
     "",
     {REPLACE("of w layers 4", "of w layers 3")},
     "E514",
     "train {",
     "nothing holds parameter `w` of layer 3"},
    {"a layer that nothing holds, between those of every other",
     "",
     {IN_TURNS, REPLACE("w layers 2 from 1 by 2", "w layers 1 from 3")},
     "E514",
     "train {",
     "nothing holds parameter `w` of layer 1"},
    {"a master copy beside parameters",
     "",
     {REPLACE("train {", "buffer line.master : master f32[hidden=4/b] of line at 27648\ntrain {")},
     NULL,
     NULL,
     NULL},
    {"no evaluation", EVALUATE, {REPLACE(EVALUATE, "")}, "E514", NULL, "there is no step"},
    {"an evaluation where there should be none",
     "",
     {REPLACE("train {", "train {" EVALUATE)},
     "E514",
     "evaluate {",
     "has no step"},
    {"an evaluation that trains",
     EVALUATE,
     {{EDIT_REPLACE, "x = w[0]) -> (y = spare[0])", "x = w[0]) -> (y = w[1])", 0, 0}},
     "E490",
     NULL,
     NULL},
    {"a moment that the training has not",
     "",
     {REPLACE("train {", "buffer m : moment1 f32[hidden=4] of w layers 4 at 15360\ntrain {")},
     "E514",
     "m : moment1",
     NULL},
    {"a larger model", "", {REPLACE_ALL("hidden=4", "hidden=8")}, "E514", "w : parameters", NULL},
    {"a state of other dimensions",
     "",
     {REPLACE("line : parameters f32[hidden=4/b]", "line : parameters f32[ffn=4/b]")},
     "E514",
     "line : parameters",
     "no state of the model's training"},
    {"a state of fewer dimensions",
     "",
     {REPLACE("line : parameters f32[hidden=4/b]", "line : parameters f32[]")},
     "E514",
     "line : parameters",
     "no state of the model's training"},
    {"a layer that the model has not",
     "",
     {REPLACE("norm layers 4", "norm layers 7"),
      REPLACE("train {", "buffer x : parameters f32[hidden=4] of w layers 1 from 6 at 15360\n"
                         "train {")},
     "E514",
     "x : parameters",
     NULL},
    {"more targets than there are",
     "",
     {REPLACE("i32[batch=16/a", "i32[batch=32/a")},
     "E514",
     "targets : input",
     NULL},
    {"an input that the training has not",
     "",
     {REPLACE("train {", "buffer key : input f64[] host step at 27648\ntrain {")},
     "E514",
     "key : input",
     "not what the training on one device reads"},
    {"an output that the training has not",
     "",
     {REPLACE("train {", "buffer rate : output f64[] host learning_rate at 27648\ntrain {\n"
                         "zero rate")},
     "E514",
     "rate : output",
     "not what the training on one device reports"},
    {"targets that are freed when nothing reads them any more",
     "free spare[0]\n",
     {REPLACE("free spare[0]", "free targets[0]")},
     NULL,
     NULL,
     NULL},

    // Types as declared.
    {"narrow parameters",
     "",
     {REPLACE("parameters = f32", "parameters = f64")},
     "E415",
     "w : parameters",
     NULL},
    {"parameters in whole numbers",
     "",
     {REPLACE("line : parameters f32", "line : parameters i32")},
     "E415",
     "line : parameters",
     "kept in i32"},
    {"narrow gradients of no tensor",
     "",
     {REPLACE("train {", "buffer orphan : gradients bf16[hidden=4/b] at 27648\ntrain {")},
     "E415",
     "orphan : gradients",
     "narrower than f32"},
    {"a narrow product",
     "call times(x = w[0], z = w[1]) -> (y = w[2])\n",
     {REPLACE("compute = f32", "compute = f64")},
     "E415",
     "%y = einsum",
     NULL},
    {"a narrow sum",
     "call times(x = w[0], z = w[2]) -> (y = w[1])\n",
     {REPLACE("accumulate = f32", "accumulate = f64")},
     "E415",
     "%y = einsum",
     NULL},
    {"a narrow gather",
     GATHER_V,
     {REPLACE("gather = f32", "gather = f64")},
     "E415",
     "start all_gather",
     NULL},
    {"a narrow reduction",
     "start all_reduce over a as sum[0] { w[0] -> w[0] }\nwait sum[0]\n",
     {REPLACE("reduce = f32", "reduce = f64")},
     "E415",
     "start all_reduce",
     NULL},
    {"a state through a narrow type",
     "call copy(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = cast(%x)", "%n = cast(%x) : bf16[hidden=4]\n%y = cast(%n)")},
     "E415",
     "%n = cast",
     "ends the step rounded to bf16"},
    {"a state through a narrow type, beside one that is copied as it is",
     "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[1]) -> (y = spare[1])\n"
     "call copy(x = spare[1]) -> (y = w[1])\n",
     {REPLACE("call copy(x = w[1])", "call copy_short(x = w[1])"),
      REPLACE("unit main.bend {", "unit main.copy_short { phase forward parameter %x : " ROW
                                  " result %y\n%n = cast(%x) : bf16[hidden=4]\n%y = cast(%n) : " ROW
                                  " out }\nunit main.bend {")},
     "E415",
     "%n = cast",
     "ends the step rounded to bf16"},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

// What no text can say, but a program that is made in another way.
static void expect_refused(struct trial *t, enum diagnostic_code code) {
    struct program *made = t->program;
    trial_read(t, t->text);
    t->reference = t->program;
    t->program = made;
    trial_judge(t);
    assert_int_not_equal(t->verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(t->diagnostics->items[0]->code, code);
    arena_free(&t->arena);
}

static void loops_below_what_is_counted_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "for i = 0 .. 2 { call copy(x = w[0]) -> (y = spare[0]) }\n" MOVE_SPARE);
    struct loop *loop = &t.program->steps[STEP_TRAIN].body.statements[0].loop;
    loop->begin = -(1 << 21);
    loop->end = loop->begin + 2;
    expect_refused(&t, E491);
}

static void handles_of_more_slots_than_are_counted_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = spare[0])\n" MOVE_SPARE);
    t.program->steps[STEP_TRAIN].handles[0].slots = 1 << 21;
    expect_refused(&t, E491);
}

static void buffers_of_more_items_than_are_counted_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = spare[0])\n");
    t.program->buffers[program_find_buffer(t.program, "spare")].stacks.list[0].count = 1 << 21;
    expect_refused(&t, E491);
}

// `value`: of a unit with one operand and one result.
static void expect_size_refused(value_id value) {
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = w[1])\n");
    t.program->job->units[job_find_unit(t.program->job, "copy")].values[value].type.dims[0].size =
        3;
    expect_refused(&t, E510);
}

static void values_of_other_sizes_are_refused(void **state) {
    expect_size_refused(0);
    expect_size_refused(1);
}

static void results_bound_elsewhere_than_they_are_made_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "call add(x = w[0], sum = w[1])\n");
    struct reference *result = &t.program->steps[STEP_TRAIN].body.statements[0].call.results[0];
    result->indices[0] = index_constant(2);
    expect_refused(&t, E611);
    small_step_begin(&t, "call add(x = w[0], sum = w[1])\n");
    result = &t.program->steps[STEP_TRAIN].body.statements[0].call.results[0];
    result->buffer = program_find_buffer(t.program, "spare");
    expect_refused(&t, E611);
}

static uint32_t axes_gathered(const char *statements) {
    struct trial t;
    small_step_begin(&t, statements);
    trial_judge(&t);
    assert_int_equal(t.verdict.kind, VERDICT_ACCEPTED);
    uint32_t axes = t.verdict.buffers[0][program_find_buffer(t.program, "v")].gathered;
    arena_free(&t.arena);
    return axes;
}

// The letters of a strategy are of what training does.
static void an_evaluation_says_nothing_of_how_training_stores(void **state) {
    assert_int_equal(axes_gathered(GATHER_V), 2);
    assert_int_equal(
        axes_gathered("}\nevaluate {\nstart all_gather over b as gather[0] { v -> whole }\n"
                      "wait gather[0]\ncall bend(x = whole) -> (y = spare[0])\n"),
        0);
}

static void whatever_persists_is_as_wide_as_declared(void **state) {
    for (enum buffer_class class = 0; class < N_CLASSES; class ++) {
        struct trial t;
        if (!class_persistent[class] && class != CLASS_GRADIENTS)
            continue;
        small_step_begin(&t, "");
        const struct edit edits[] = {
            REPLACE("train {", arena_format(&t.arena,
                                            "buffer line.kept : %s bf16[hidden=4/b] of line at "
                                            "27648\ntrain {",
                                            class_names[class])),
            REPLACE("master = none", "master = f32"),
            {EDIT_END, NULL, NULL, 0, 0}};
        trial_read(&t, program_edit(&t.arena, t.text, edits));
        trial_judge(&t);
        struct expected_verdict expected = {"E415", "line.kept :", "narrower than f32"};
        assert_true(
            trial_end(&t, trial_is_as_expected(&t, expected), class_names[class], expected));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_found),
        cmocka_unit_test(whatever_persists_is_as_wide_as_declared),
        cmocka_unit_test(loops_below_what_is_counted_are_refused),
        cmocka_unit_test(handles_of_more_slots_than_are_counted_are_refused),
        cmocka_unit_test(buffers_of_more_items_than_are_counted_are_refused),
        cmocka_unit_test(values_of_other_sizes_are_refused),
        cmocka_unit_test(results_bound_elsewhere_than_they_are_made_are_refused),
        cmocka_unit_test(an_evaluation_says_nothing_of_how_training_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
