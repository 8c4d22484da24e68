// What parts of a few statements give each other: what becomes of what they add, of ends that are not
// alike, and of devices of one part that are given different values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/verify_builder.h"
#include "tests/verify_small_step.h"
#include "verify/machine/machine.h"
#include "verify/rules/rules.h"

// ---- what is added ----------------------------------------------------------------------------

struct given {
    struct trial trial;
    struct abstract_machine machine;
    struct judgement values[2];
    int64_t devices[2];
    struct exchange exchange;
};

// Two parts give two scalars of the model's.
static void begin(struct given *g) {
    small_step_begin_machine(&g->trial, &g->machine,
                             "call copy(x = w[0]) -> (y = spare[0])\n"
                             "call bend(x = w[0]) -> (y = spare[1])\n");
    static const struct axis_list axes = {.n = 1};
    step_execute(&g->machine, STEP_TRAIN);
    for (int i = 0; i < 2; i++) {
        g->devices[i] = 1;
        assert_true(store_holds(&g->machine, program_find_buffer(g->trial.program, "spare"), i,
                                &g->values[i]));
    }
    g->exchange = exchange_flat(COLLECTIVE_ALL_REDUCE, &axes);
}

static void end(struct given *g) {
    arena_free(&g->trial.arena);
}

static struct judgement added(struct given *g) {
    return meeting_apply(g->machine.proof, BUILDER(g->machine.world->terms), &g->exchange, 1,
                         g->values, g->devices, 2, span_nowhere());
}

static bool is_refused(struct given *g, enum diagnostic_code code) {
    struct judgement made = added(g);
    return made.fault && made.fault->code == code;
}

static bool is_scaled(const struct given *g, struct judgement made, struct judgement of,
                      int64_t by) {
    scale_id scale = scale_rational(g->machine.world->terms, by, 1);
    return !made.fault && term_equal(made.value.of, of.value.of) &&
           made.value.scale == scale_multiply(g->machine.world->terms, of.value.scale, scale);
}

static struct judgement zero_of(const struct given *g) {
    struct scaled zero = {term_constant(BUILDER(g->machine.world->terms), NODE_ZERO), SCALE_ONE};
    return judgement_of(g->machine.world, zero, FORM_ANY, DTYPE_F32);
}

// Zeros add nothing, and what several devices give counts as often; of what none of a group gives
// nothing is in it.
static void sums_count_what_devices_give(void **state) {
    struct given g;
    begin(&g);
    struct judgement x = g.values[0], y = g.values[1];
    struct judgement both = added(&g);
    assert_true(!both.fault && term_kind(g.machine.world->terms, both.value.of) == NODE_SUM);
    g.values[0] = y;
    g.values[1] = x;
    assert_true(scaled_equal(added(&g).value, both.value));
    g.values[0] = zero_of(&g);
    assert_true(is_scaled(&g, added(&g), x, 1));
    g.devices[1] = 3;
    assert_true(is_scaled(&g, added(&g), x, 3));
    g.values[0] = y;
    g.devices[0] = 0;
    assert_true(is_scaled(&g, added(&g), x, 3));
    g.values[0] = g.values[1] = zero_of(&g);
    assert_int_equal(term_kind(g.machine.world->terms, added(&g).value.of), NODE_ZERO);
    end(&g);
}

// Copies are what they are on whichever device; one that may differ leaves the sum so.
static void sums_have_what_all_have(void **state) {
    struct given g;
    begin(&g);
    g.values[0].bits = g.values[1].bits = 3;
    g.values[1].bits = 1;
    g.values[1].width = width_of(DTYPE_BF16);
    struct judgement made = added(&g);
    assert_true(!made.fault && made.bits == 1 && width_equal(made.width, width_of(DTYPE_BF16)));
    end(&g);
}

static void what_lies_differently_is_not_added(void **state) {
    struct given g;
    begin(&g);
    struct judgement other = g.values[1];
    g.values[1].form =
        initial_judgement(&g.machine, program_find_buffer(g.trial.program, "u"), 0).form;
    assert_true(is_refused(&g, E510));
    g.values[1] = other;
    g.values[1].partial = 2;
    assert_true(is_refused(&g, E510));
    g.values[1] = other;
    g.values[1].microbatch = 1;
    assert_true(is_refused(&g, E510));
    g.values[1] = other;
    g.values[1].leaves = 1;
    assert_true(is_refused(&g, E510));
    end(&g);
}

// Parts of a contraction, maxima of parts, and codes are put together by ops of one program.
static void what_is_no_sum_is_not_added(void **state) {
    struct given g;
    begin(&g);
    struct judgement whole = g.values[1];
    g.values[1].coverage = COVERAGE_UNKNOWN;
    assert_true(is_refused(&g, E411));
    g.values[1] = whole;
    g.values[1].partial_max = 2;
    assert_true(is_refused(&g, E411));
    g.values[1] = whole;
    g.values[1].form = form_of_codes(&g.machine.world->digits, whole.form, 2, 1, PADDING_ANY);
    assert_true(is_refused(&g, E411));
    g.values[1] = whole;
    g.exchange.kind = COLLECTIVE_ALL_GATHER;
    assert_true(is_refused(&g, E490));
    end(&g);
}

// Where sums do not commute, what one part alone gives has an order.
static void sums_of_several_parts_have_no_order(void **state) {
    struct given g;
    begin(&g);
    g.machine.proof->ordered = true;
    assert_true(is_refused(&g, E416));
    g.values[1] = zero_of(&g);
    assert_true(is_scaled(&g, added(&g), g.values[0], 1));
    g.devices[0] = 2;
    assert_true(is_refused(&g, E416));
    end(&g);
}

static void the_greatest_of_equal_values_is_known(void **state) {
    struct given g;
    begin(&g);
    struct judgement x = g.values[0], y = g.values[1];
    g.exchange.operation = OPERATION_MAX;
    assert_true(is_refused(&g, E490));
    g.values[1] = x;
    assert_true(is_scaled(&g, added(&g), x, 1));
    g.values[1].microbatch = 1;
    assert_true(is_refused(&g, E490));
    g.values[0] = g.values[1] = x;
    g.values[0].partial = g.values[1].partial = 2;
    assert_true(is_refused(&g, E490));
    g.values[0] = y;
    g.values[1] = x;
    g.devices[0] = 0;
    assert_true(is_scaled(&g, added(&g), x, 1));
    g.values[0] = x;
    g.values[1] = y;
    g.devices[0] = 1;
    g.devices[1] = 0;
    assert_true(is_scaled(&g, added(&g), x, 1));
    end(&g);
}

// ---- steps of a few statements ----------------------------------------------------------------

#define SIZES                                                                                      \
    "  sizes batch = 8 sequence = 2 microbatches = 1 layers = 1 vocab = 4\n"                       \
    "  policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"        \
    "       accumulate = f32 gather = f32 reduce = f32 reproducible = 0 %s\n"                      \
    "  tensor w [hidden=4] role norm init ones\n"
#define UNITS                                                                                      \
    "}\n"                                                                                          \
    "unit main.bend { phase forward parameter %x : " ROW " result %y\n"                            \
    "%y = silu(%x) : " ROW " }\n"                                                                  \
    "unit main.copy { phase forward parameter %x : " ROW " result %y\n"                            \
    "%y = cast(%x) : " ROW " }\n"                                                                  \
    "unit main.narrow { phase forward parameter %x : " ROW " result %y\n"                          \
    "%z = cast(%x) : bf16[hidden=4]\n%y = cast(%z) : " ROW " }\n"                                  \
    "unit main.norm { phase forward parameter %x : " ROW " result %y\n"                            \
    "%y = square_sum(%x) : f64[] }\n"                                                              \
    "unit main.over { phase forward parameter %x : " ROW " result %y\n"                            \
    "%z = all_reduce(%x) {axes=pp} : " ROW "\n%y = wait(%z) : " ROW " }\n"                         \
    "unit main.times { phase forward parameter %x : " ROW " parameter %s : f64[] result %y\n"      \
    "%y = scale(%x, %s) : " ROW " }\n"                                                             \
    "unit main.quarter { phase forward parameter %x : " ROW " parameter %s : f64[] result %y\n"    \
    "%z = scale(%x, %s) : " ROW "\n%y = divide(%z) {divisor=4} : " ROW " }\n"
#define BUFFERS                                                                                    \
    "buffer w : parameters " ROW " of w\n"                                                         \
    "buffer h : transient " ROW " slots 2\nbuffer g : transient " ROW " slots 2\n"                 \
    "buffer pair : transient f32[hidden=4, head_dim=2]\nbuffer s : transient f64[] slots 2\n"

// One device bends the parameters, and multiplies them by their norm.
static const char reference[] =
    "step main {\n" SIZES BUFFERS "train {\n"
    "call bend(x = w) -> (y = h[0])\ncall norm(x = h[0]) -> (y = s[0])\n"
    "call times(x = h[0], s = s[0]) -> (y = w)\n}\n";

struct parts {
    const char *name, *policy; // NULL: what all have
    const char *axes;
    const char *over, *middle; // the axes of parts, and the number at which the second begins
    int n;
    const char *first, *second; // their statements
    const char *code;           // NULL: it is accepted
    const char *at, *says;
};

static struct program *read(struct trial *t, const char *text) {
    struct text_error error = {0};
    uint32_t source = source_add(&t->sources, &t->arena, "parts.place", text, strlen(text));
    struct job *job = job_parse(&t->arena, text, strlen(text), source, &error);
    if (!job)
        fail_msg("%s at `%.80s`", error.message, text + error.span.begin);
    job_number(job);
    t->text = text;
    return job->programs[0];
}

static bool is_as_said(const struct parts *parts) {
    struct trial t = {0};
    struct expected_verdict expected = {parts->code, parts->at, parts->says};
    const char *units = strstr(UNITS, "unit main.times"); // the reference has no axis
    const char *whole = arena_format(&t.arena, reference, "");
    t.reference = read(&t, arena_format(&t.arena, "%s}\n%.*s%s", whole,
                                        (int)(strstr(UNITS, "unit main.over") - UNITS - 2),
                                        &UNITS[2], units));
    const char *head = arena_format(&t.arena, "step main {\n%s\n" SIZES, parts->axes,
                                    parts->policy ? parts->policy : "");
    const char *first = arena_format(&t.arena, "part a over %s 0 .. %s {\n%strain {\n%s}\n}\n",
                                     parts->over, parts->middle, BUFFERS, parts->first);
    const char *second = arena_format(&t.arena, "part b over %s %s .. %d {\n%strain {\n%s}\n}\n",
                                      parts->over, parts->middle, parts->n, BUFFERS, parts->second);
    t.program = read(&t, arena_format(&t.arena, "%s%s%s%s", head, first, second, UNITS));
    trial_judge(&t);
    return trial_end(&t, trial_is_as_expected(&t, expected), parts->name, expected);
}

#define BEND  "call bend(x = w) -> (y = h[0])\n"
#define TIMES "call norm(x = h[0]) -> (y = s[0])\ncall times(x = h[0], s = s[0]) -> (y = w)\n"
#define SEND(to, what)                                                                             \
    "start send over pp to " to " as to" to "[0] { " what " }\nwait to" to "[0]\n"
#define RECEIVE(from, what)                                                                        \
    "start receive over pp from " from " as from" from "[0] { " what " }\nwait from" from "[0]\n"
#define SEND_BOTH(other)                                                                           \
    "start send over pp to 2 as to2[0] { h[0] }\nstart send over pp to 3 as to3[0] { " other       \
    " }\nwait to2[0]\nwait to3[0]\n"
#define TWO_SUMS                                                                                   \
    "zero s[0]\nzero s[1]\nstart all_reduce over pp as x[0] { s[0] -> s[0] }\n"                    \
    "start all_reduce over pp as y[0] { s[1] -> s[1] }\n"
#define SUM(what) "start all_reduce over pp as sum[0] { " what " -> " what " }\nwait sum[0]\n"
#define ONE_AXIS  "axis pp = 2", "pp", "1", 2
#define TWO_EACH  "axis pp = 4", "pp", "2", 4
#define SQUARE    "axis pp = 2\naxis qq = 2", "pp*qq", "3", 4
#define ROUND     "axis pp = 2\naxis qq = 2", "pp*qq", "2", 4

static const struct parts steps[] = {
    {"both do all", NULL, ONE_AXIS, BEND TIMES, BEND TIMES, NULL, NULL, NULL},
    {"one does it for both", NULL, ONE_AXIS, BEND SEND("1", "h[0]") TIMES,
     RECEIVE("0", "h[0]") TIMES, NULL, NULL, NULL},
    {"two pieces", NULL, ONE_AXIS,
     BEND "call norm(x = h[0]) -> (y = s[0])\n"
          "start send over pp to 1 as x[0] { h[0], h[0] }\nwait x[0]\n"
          "call times(x = h[0], s = s[0]) -> (y = w)\n",
     "start receive over pp from 0 as x[0] { h[0], g[0] }\nwait x[0]\n" TIMES, NULL, NULL, NULL},
    {"a piece too few", NULL, ONE_AXIS,
     BEND "start send over pp to 1 as x[0] { h[0], h[0] }\nwait x[0]\n" TIMES,
     RECEIVE("0", "h[0]") TIMES, "E518", "start receive",
     "has 2 pieces at its other end, and 1 here"},
    {"a piece too many", NULL, ONE_AXIS, BEND SEND("1", "h[0]") TIMES,
     "start receive over pp from 0 as x[0] { h[0], g[0] }\nwait x[0]\n" TIMES, "E518",
     "start receive", "has 1 pieces at its other end, and 2 here"},
    {"another type", NULL, ONE_AXIS, BEND SEND("1", "h[0]") TIMES, RECEIVE("0", "pair") BEND TIMES,
     "E518", "start receive", "f32[hidden=4] is sent"},
    {"one norm for both", NULL, ONE_AXIS,
     BEND "call norm(x = h[0]) -> (y = s[0])\n" SUM(
         "s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n",
     BEND "zero s[0]\n" SUM("s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n", NULL, NULL,
     NULL},
    {"copies of the norm", NULL, ONE_AXIS,
     BEND "call norm(x = h[0]) -> (y = s[0])\n" SUM(
         "s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n",
     BEND "call norm(x = h[0]) -> (y = s[0])\n" SUM(
         "s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n",
     "E413", NULL, NULL},
    {"a sum and the greatest", NULL, ONE_AXIS, BEND TIMES "zero s[1]\n" SUM("s[1]"),
     BEND TIMES "zero s[1]\nstart all_reduce over pp operation max as sum[0] { s[1] -> s[1] }\n"
                "wait sum[0]\n",
     "E518", "start all_reduce over pp operation max", "with another collective"},
    {"a sum and a permute", NULL, ONE_AXIS, BEND TIMES "zero s[1]\n" SUM("s[1]"),
     BEND TIMES
     "zero s[1]\nstart permute over pp shift 1 as sum[0] { s[1] -> s[0] }\nwait sum[0]\n",
     "E518", "start permute", "with another collective"},
    {"sums of other types", NULL, ONE_AXIS, BEND TIMES "zero s[1]\n" SUM("s[1]"),
     BEND TIMES "zero g[1]\n" SUM("g[1]"), "E518", "start all_reduce", "comes to this with f64[]"},
    {"sums in other slots", NULL, ONE_AXIS, BEND TIMES "zero s[1]\n" SUM("s[1]"),
     BEND TIMES "zero s[1]\nstart all_reduce over pp as sum[1] { s[1] -> s[1] }\nwait sum[1]\n",
     "E518", "start all_reduce over pp as sum[1]", "`sum[0]`"},
    {"a permute over parts", NULL, ONE_AXIS,
     BEND TIMES "start permute over pp shift 1 as x[0] { h[0] -> g[0] }\nwait x[0]\n"
                "call copy(x = g[0]) -> (y = h[1])\ncall norm(x = h[1]) -> (y = s[0])\n"
                "call times(x = h[1], s = s[0]) -> (y = w)\n",
     BEND TIMES "start permute over pp shift 1 as x[0] { h[0] -> g[0] }\nwait x[0]\n", "E490",
     "start permute", "only an all_reduce"},
    {"a unit that goes over parts", NULL, ONE_AXIS,
     BEND TIMES "call over(x = h[0]) -> (y = g[0])\n", BEND TIMES, "E518", "%z = all_reduce",
     "goes over the axes of parts"},
    {"codes over parts", "wire over pp way = topk kept = 1", ONE_AXIS, BEND TIMES, BEND TIMES,
     "E518", NULL, "over the axes of parts, too"},
    {"a send that nobody waits for or receives", NULL, ONE_AXIS,
     BEND "start send over pp to 1 as x[0] { h[0] }\n" TIMES, BEND TIMES, "E612", NULL, NULL},
    {"a receive that nobody waits for or sends", NULL, ONE_AXIS,
     BEND "start receive over pp from 1 as x[0] { g[0] }\n" TIMES, BEND TIMES, "E612", NULL, NULL},
    {"a send that nobody receives", NULL, ONE_AXIS, BEND SEND("1", "h[0]") TIMES, BEND TIMES,
     "E518", "start send", "part `b` ends its step without receiving this"},
    {"a receive that nobody sends", NULL, ONE_AXIS, BEND RECEIVE("1", "g[0]") TIMES, BEND TIMES,
     "E518", "start receive", "part `b` ends its step without sending this"},
    {"two of each", NULL, TWO_EACH, BEND SEND_BOTH("h[0]") TIMES,
     RECEIVE("0", "h[0]") RECEIVE("1", "h[1]") TIMES, NULL, NULL, NULL},
    {"devices of a part that are given other values", NULL, TWO_EACH,
     BEND "call bend(x = h[0]) -> (y = g[0])\n" SEND_BOTH("g[0]") TIMES,
     RECEIVE("0", "h[0]") RECEIVE("1", "h[1]") TIMES, "E518", "start receive over pp from 0",
     "devices of part `b` receive different values"},
    {"a device of a part that is given zeros", NULL, TWO_EACH,
     BEND "zero g[0]\n" SEND_BOTH("g[0]") TIMES, RECEIVE("0", "h[0]") RECEIVE("1", "h[1]") TIMES,
     "E518", "start receive over pp from 0", "devices of part `b` receive different values"},
    {"a device of a part that is given fewer digits", NULL, TWO_EACH,
     BEND "call narrow(x = h[0]) -> (y = g[0])\n" SEND_BOTH("g[0]") TIMES,
     RECEIVE("0", "h[0]") RECEIVE("1", "h[1]") TIMES, "E518", "start receive over pp from 0",
     "devices of part `b` receive different values"},
    {"sums over other axes in another order", NULL, ROUND,
     BEND "zero s[1]\nstart all_reduce over qq as x[0] { s[1] -> s[1] }\n"
          "call norm(x = h[0]) -> (y = s[0])\n"
          "start all_reduce over pp*qq as y[0] { s[0] -> s[0] }\nwait x[0]\nwait y[0]\n"
          "call quarter(x = h[0], s = s[0]) -> (y = w)\n",
     BEND "call norm(x = h[0]) -> (y = s[0])\nzero s[1]\n"
          "start all_reduce over pp*qq as y[0] { s[0] -> s[0] }\n"
          "start all_reduce over qq as x[0] { s[1] -> s[1] }\nwait y[0]\nwait x[0]\n"
          "call quarter(x = h[0], s = s[0]) -> (y = w)\n",
     NULL, NULL, NULL},
    {"sums that are waited for in another order", NULL, ONE_AXIS,
     BEND TIMES TWO_SUMS "wait x[0]\nwait y[0]\n", BEND TIMES TWO_SUMS "wait y[0]\nwait x[0]\n",
     "E517", "wait x[0]", "here part `a` waits for part `b` to wait for the same collective"},
    {"sums that are waited for one by one, or both behind", NULL, ONE_AXIS,
     BEND TIMES TWO_SUMS "wait x[0]\nwait y[0]\n",
     BEND TIMES
     "zero s[0]\nzero s[1]\nstart all_reduce over pp as x[0] { s[0] -> s[0] }\nwait x[0]\n"
     "start all_reduce over pp as y[0] { s[1] -> s[1] }\nwait y[0]\n",
     NULL, NULL, NULL},
    {"more messages than are followed", NULL, ONE_AXIS,
     BEND TIMES "for i = 0 .. 1000000 { for k = 0 .. 50 {\n" SEND("1", "h[0]") "} }\n",
     BEND TIMES "for i = 0 .. 1000000 { for k = 0 .. 50 {\n" RECEIVE("0", "g[0]") "} }\n", "E491",
     "for i", NULL},
    {"one of two gives a message", NULL, TWO_EACH, BEND SEND("2", "h[0]") TIMES,
     RECEIVE("0", "h[0]") TIMES, "E517", NULL, NULL},
    {"copies in a part count as often", NULL, TWO_EACH,
     BEND "call norm(x = h[0]) -> (y = s[0])\n" SUM(
         "s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n",
     BEND "zero s[0]\n" SUM("s[0]") "call times(x = h[0], s = s[0]) -> (y = w)\n", "E413", NULL,
     NULL},
    {"groups of one part's devices and of several parts'", NULL, SQUARE,
     BEND TIMES "zero s[1]\nstart all_reduce over qq as x[0] { s[1] -> s[1] }\nwait x[0]\n"
                "call norm(x = h[0]) -> (y = s[0])\ncall times(x = h[0], s = s[1]) -> (y = w)\n",
     BEND TIMES "zero s[1]\nstart all_reduce over qq as x[0] { s[1] -> s[1] }\nwait x[0]\n", "E518",
     "start all_reduce over qq", "in groups of other parts"},
    {"groups of each part's own devices", NULL, ROUND,
     BEND "zero s[0]\ncall norm(x = h[0]) -> (y = s[1])\n"
          "start all_reduce over qq as x[0] { s[0] -> s[0] }\nwait x[0]\n"
          "call times(x = h[0], s = s[1]) -> (y = w)\n",
     BEND "zero s[0]\n"
          "start all_reduce over qq as x[0] { s[0] -> s[0] }\nwait x[0]\n" TIMES,
     NULL, NULL, NULL},
};

static void parts_meet_or_are_told(void **state) {
    size_t n = sizeof steps / sizeof *steps, n_right = 0;
    for (size_t i = 0; i < n; i++)
        n_right += is_as_said(&steps[i]);
    assert_int_equal(n_right, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_count_what_devices_give),
                                       cmocka_unit_test(sums_have_what_all_have),
                                       cmocka_unit_test(what_lies_differently_is_not_added),
                                       cmocka_unit_test(what_is_no_sum_is_not_added),
                                       cmocka_unit_test(sums_of_several_parts_have_no_order),
                                       cmocka_unit_test(the_greatest_of_equal_values_is_known),
                                       cmocka_unit_test(parts_meet_or_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
