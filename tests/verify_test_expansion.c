// Bounded rewriting on terms that are written by hand: what has a normal form and what stays as it
// is, and what of a unit's results is found among what the reference has. That the laws themselves
// are true is verify_test_rewriting's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/verify_rule_bench.h"
#include "verify/algebra/laws.h"
#include "verify/rewriting/expansion.h"
#include "verify/rewriting/rewrite.h"
#include "verify/rules/rule.h"

enum { MAX_STATES = 64, MAX_ASKED = 6, LEAVES = 40 };

struct scene {
    struct bench bench;
    struct terms *terms;
    struct tensor tensors[MAX_STATES];
    struct expansion expansion;
};

static void begin(struct scene *w) {
    memset(w, 0, sizeof *w);
    begin_bench(&w->bench, 2, 0);
    w->terms = w->bench.world.terms;
    w->bench.program->job->tensors = w->tensors;
    w->bench.proof.sought = &w->bench.proof.outcomes;
    expansion_init(&w->expansion, BUILDER(w->terms), w->bench.program, &w->bench.arena);
}

static void end(struct scene *w) {
    arena_free(&w->bench.arena);
}

// ---- terms ------------------------------------------------------------------------------------

static struct scaled value_of(struct term term) {
    return (struct scaled){term, SCALE_ONE};
}

// A parameter of its own; `layer` < 0: it is of none.
static struct scaled state(struct scene *w, unsigned rank, int layer) {
    unsigned i = w->bench.program->job->n_tensors++;
    assert_true(i < MAX_STATES);
    const char *name = arena_format(&w->bench.arena, "%ct%u", 'A' + CLASS_PARAMETERS, i);
    w->tensors[i] = (struct tensor){.name = name + 1, .rank = (uint8_t)rank};
    uint32_t key = intern(&w->terms->attributes, name, (uint32_t)strlen(name) + 1, NULL);
    return value_of(term_leaf(BUILDER(w->terms), NODE_STATE, key, layer >= 0, layer));
}

static struct scaled vector(struct scene *w) {
    return state(w, 1, -1);
}

static struct scaled product(struct scene *w, const char *a, const char *b, const char *c,
                             struct scaled x, struct scaled y) {
    struct op_labels labels = {0};
    strcpy(labels.operands[0], a);
    strcpy(labels.operands[1], b);
    strcpy(labels.results[0], c);
    return law_product(BUILDER(w->terms), &labels, x, y);
}

static struct scaled times(struct scene *w, struct scaled x, struct scaled y) {
    return product(w, "h", "h", "h", x, y);
}

static struct scaled plus(struct scene *w, struct scaled x, struct scaled y) {
    struct sum sum = {0};
    sum_add(BUILDER(w->terms), &sum, x, SCALE_ONE);
    sum_add(BUILDER(w->terms), &sum, y, SCALE_ONE);
    return sum_finish(BUILDER(w->terms), &sum);
}

static struct scaled make(struct scene *w, enum op_kind kind, unsigned result, unsigned n,
                          const struct scaled *operands) {
    struct part parts[MAX_OPERANDS];
    for (unsigned i = 0; i < n; i++)
        parts[i] = part_of(term_with_scale(BUILDER(w->terms), operands[i]));
    return value_of(term_make(BUILDER(w->terms), kind, result, 0, parts, n));
}

static struct scaled silu(struct scene *w, struct scaled x) {
    return make(w, OP_SILU, 0, 1, &x);
}

static struct scaled slope(struct scene *w, struct scaled x, struct scaled dy) {
    return make(w, OP_SILU_BACKWARD, 0, 2, (struct scaled[]){x, dy});
}

static struct scaled sum_rows(struct scene *w, struct scaled x) {
    char keep[1 + sizeof(int64_t)] = {ATTRIBUTE_KEEP, 1};
    struct part part = part_of(x.of);
    uint32_t attributes = intern(&w->terms->attributes, keep, sizeof keep, NULL) + 1;
    return value_of(term_make(BUILDER(w->terms), OP_SUM_ROWS, 0, attributes, &part, 1));
}

// (x + y) z and x z + y z
static struct scaled whole(struct scene *w, const struct scaled *xyz) {
    return times(w, plus(w, xyz[0], xyz[1]), xyz[2]);
}
static struct scaled apart(struct scene *w, const struct scaled *xyz) {
    return plus(w, times(w, xyz[0], xyz[2]), times(w, xyz[1], xyz[2]));
}

static void three(struct scene *w, struct scaled *xyz, int layer) {
    for (int i = 0; i < 3; i++)
        xyz[i] = state(w, 1, layer);
}

static struct scaled of_layers(struct scene *w, unsigned rank) {
    struct part part = part_of(state(w, rank, 0).of);
    part.end = 3;
    return value_of(term_make(BUILDER(w->terms), NODE_SUM, 0, 0, &part, 1));
}

// More factors than a product may have, and so many that it may not have two more.
static struct scaled long_product(struct scene *w, const char *labels, unsigned n) {
    struct scaled all = state(w, (unsigned)strlen(labels), -1);
    for (unsigned i = 1; i < n; i++)
        all = product(w, labels, labels, labels, all, state(w, (unsigned)strlen(labels), -1));
    return all;
}

static struct scaled normal_of(struct scene *w, struct scaled value) {
    struct scaled normal;
    assert_true(expand_value(&w->expansion, value, &normal));
    return normal;
}

static bool same_normal(struct scene *w, struct scaled a, struct scaled b) {
    return scaled_equal(normal_of(w, a), normal_of(w, b));
}

// ---- normal forms -----------------------------------------------------------------------------

static void what_no_law_fits_stays_an_op(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled x = state(&w, 2, -1), g = vector(&w), b = vector(&w), m = vector(&w);
    struct scaled many = long_product(&w, "b", MAX_FLAT - 1), sum = of_layers(&w, 1);
    struct scaled long_gain = long_product(&w, "h", MAX_FLAT);
    const struct scaled values[] = {
        times(&w, g, sum),
        slope(&w, g, sum),
        make(&w, OP_LAYER_NORM, 0, 3, (struct scaled[]){x, g, sum}),
        make(&w, OP_LAYER_NORM, 0, 3, (struct scaled[]){x, long_gain, b}),
        make(&w, OP_RMS_NORM, 0, 2, (struct scaled[]){x, long_gain}),
        make(&w, OP_LAYER_NORM_BACKWARD, 1, 4, (struct scaled[]){x, many, m, x}),
        make(&w, OP_RMS_NORM_BACKWARD, 1, 3, (struct scaled[]){x, many, many}),
    };
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        struct scaled normal = normal_of(&w, values[i]);
        assert_int_equal(term_kind(w.terms, normal.of), term_kind(w.terms, values[i].of));
        assert_int_equal(normal.scale, SCALE_ONE);
    }
    end(&w);
}

// A product of flat parts has other labels than the tensors that were cut.
static void what_is_flat_is_of_no_rank(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled x = state(&w, 2, -1), flat = product(&w, "a", "a", "a", x, x);
    assert_false(same_normal(&w, sum_rows(&w, flat), flat));
    end(&w);
}

static struct scaled repeated(struct scene *w, int64_t rows, struct scaled bias) {
    struct part part = part_of(bias.of);
    uint32_t sizes = intern(&w->terms->attributes, &rows, sizeof rows, NULL);
    return value_of(term_make(BUILDER(w->terms), NODE_BROADCAST, 0, sizes, &part, 1));
}

// Puts each row in the place of two, the second of which is zeros, and sums them.
static struct scaled put_rows(struct scene *w, struct scaled x) {
    char bytes[2 * (1 + sizeof(int64_t))] = {ATTRIBUTE_KEEP, 0};
    bytes[1] = 1;
    bytes[1 + sizeof(int64_t)] = ATTRIBUTE_INDEX;
    struct part parts[2] = {part_of(x.of),
                            part_of(iota_term(BUILDER(w->bench.world.terms), DIM_PART, 2).of)};
    uint32_t attributes = intern(&w->terms->attributes, bytes, sizeof bytes, NULL) + 1;
    return sum_rows(w, value_of(term_make(BUILDER(w->terms), OP_PUT, 0, attributes, parts, 2)));
}

static struct scaled bias_gradient(struct scene *w, struct scaled dy) {
    return make(w, OP_LAYER_NORM_BACKWARD, 2, 1, &dy);
}

static struct scaled of_squares(struct scene *w, struct scaled x) {
    return sum_rows(w, product(w, "bh", "bh", "bh", x, x));
}

static struct scaled of_nothing_but_rows(struct scene *w, struct scaled x) {
    return sum_rows(w, silu(w, x));
}

// A bias that is added to four rows and to two, and summed.
static void how_often_is_repeated_counts(void **state_) {
    static struct scaled (*const sums[])(struct scene *, struct scaled) = {
        sum_rows, put_rows, bias_gradient, of_squares, of_nothing_but_rows};
    struct scene w;
    begin(&w);
    struct scaled b = vector(&w), c = vector(&w), four = state(&w, 2, -1), two = state(&w, 2, -1);
    struct scaled four_b = repeated(&w, 4, b), two_b = repeated(&w, 2, b);
    struct scaled four_both = plus(&w, four_b, repeated(&w, 4, c));
    struct scaled two_both = plus(&w, two_b, repeated(&w, 2, c));
    for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++) {
        struct scaled to_four = plus(&w, sums[i](&w, plus(&w, four, four_b)), sums[i](&w, two));
        struct scaled to_two = plus(&w, sums[i](&w, four), sums[i](&w, plus(&w, two, two_b)));
        assert_false(same_normal(&w, to_four, to_two));
        assert_false(same_normal(&w, sums[i](&w, four_b), sums[i](&w, two_b)));
        assert_false(same_normal(&w, sums[i](&w, four_both), sums[i](&w, two_both)));
    }
    assert_false(same_normal(&w, four_b, two_b));
    struct scaled zero = value_of(term_constant(BUILDER(w.terms), NODE_ZERO));
    assert_false(same_normal(&w, of_nothing_but_rows(&w, repeated(&w, 4, zero)),
                             of_nothing_but_rows(&w, repeated(&w, 2, zero))));
    end(&w);
}

// A value and its reciprocal make no one, since it may be zero.
static void an_unknown_scale_stays_unknown(void **state_) {
    struct scene w;
    begin(&w);
    scale_id s = scale_of_term(w.terms, state(&w, 0, -1).of);
    struct scaled x = vector(&w);
    x.scale = scale_product(w.terms, s, scale_invert(w.terms, s));
    assert_int_not_equal(normal_of(&w, x).scale, SCALE_ONE);
    end(&w);
}

static void what_stands_in_a_value_often_is_expanded_once(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled x = vector(&w);
    for (int i = 0; i < 20; i++)
        x = silu(&w, times(&w, x, x));
    normal_of(&w, x);
    end(&w);
}

// What the reference calls by name outside of the layer stays a name.
static void names_of_no_layer_are_leaves(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    three(&w, xyz, 0);
    struct scaled name = value_of(term_leaf(BUILDER(w.terms), NODE_RESULT, 0, true, 0));
    term_alias(w.terms, apart(&w, xyz).of, name.of);
    assert_true(scaled_equal(normal_of(&w, name), name));
    end(&w);
}

// ---- what is found ----------------------------------------------------------------------------

static void note(struct scene *w, struct scaled value) {
    struct judgement judged = {.value = value};
    note_outcome(&w->bench.proof, &judged);
}

// What is made from here on is the final program's.
static void begin_own(struct scene *w) {
    w->bench.proof.first_own_node = w->terms->n_nodes;
}

static void begin_layer(struct scene *w, int layer) {
    w->bench.cursor.depth = 1;
    w->bench.cursor.variables[0] = layer;
}

// What values become that a unit makes.
static void ask(struct scene *w, struct judgement *judged, unsigned n) {
    struct value names[MAX_ASKED] = {{.name = "v"}};
    struct unit_result results[MAX_ASKED] = {{0}};
    struct unit unit = {
        .name = "u", .values = names, .n_values = 1, .results = results, .n_results = n};
    rewrite_results(&w->bench.proof, BUILDER(w->bench.world.terms), &unit, judged);
}

static struct scaled found(struct scene *w, struct scaled value) {
    struct judgement judged = {.value = value};
    ask(w, &judged, 1);
    return judged.value;
}

static void each_result_is_found(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[MAX_ASKED][3], expected[MAX_ASKED];
    struct judgement judged[MAX_ASKED] = {{0}};
    for (int i = 0; i < MAX_ASKED; i++) {
        three(&w, xyz[i], -1);
        note(&w, expected[i] = apart(&w, xyz[i]));
    }
    begin_own(&w);
    for (int i = 0; i < MAX_ASKED; i++)
        judged[i].value = whole(&w, xyz[i]);
    ask(&w, judged, MAX_ASKED);
    for (int i = 0; i < MAX_ASKED; i++)
        assert_true(scaled_equal(judged[i].value, expected[i]));
    end(&w);
}

static void what_the_reference_has_stays_as_it_is(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    three(&w, xyz, -1);
    struct scaled first = apart(&w, xyz), second = whole(&w, xyz);
    note(&w, first);
    note(&w, second);
    begin_own(&w);
    assert_true(scaled_equal(found(&w, second), second));
    end(&w);
}

static void what_has_no_meaning_stays_as_it_is(void **state_) {
    static const struct fault fault;
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    three(&w, xyz, -1);
    note(&w, apart(&w, xyz));
    begin_own(&w);
    struct judgement judged = {.fault = &fault, .value = whole(&w, xyz)};
    struct scaled before = judged.value;
    ask(&w, &judged, 1);
    assert_true(scaled_equal(judged.value, before));
    end(&w);
}

static void parts_of_flat_vectors_are_found(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    three(&w, xyz, -1);
    struct scaled expected = apart(&w, xyz);
    note(&w, expected);
    begin_own(&w);
    struct dim dims[1] = {{DIM_PART, 4}};
    struct axis_list axes = {0};
    axis_list_add(&axes, 0);
    struct judgement judged = {.value = whole(&w, xyz)};
    judged.form = form_local(&w.bench.world.digits, dims, 1);
    assert_null(form_cut_flat(&w.bench.world.digits, &judged.form, &axes, 2));
    ask(&w, &judged, 1);
    assert_true(scaled_equal(judged.value, expected));
    end(&w);
}

// Something short that all the leaves stand in.
static struct scaled make_short(struct scene *w, struct scaled *leaves) {
    for (int i = 0; i < LEAVES; i++)
        leaves[i] = vector(w);
    struct scaled sum = leaves[0];
    for (int i = 1; i < LEAVES; i++)
        sum = plus(w, sum, leaves[i]);
    return silu(w, sum);
}

// A product of as many summands as are not made for one normal form.
static struct scaled make_long(struct scene *w, const struct scaled *leaves) {
    struct scaled all = {{0, 0}, SCALE_ONE};
    for (int i = 0; i < LEAVES; i += 8) {
        struct scaled sum = leaves[i];
        for (int k = 1; k < 8; k++)
            sum = plus(w, sum, leaves[i + k]);
        all = i > 0 ? times(w, all, sum) : sum;
    }
    return all;
}

// What is left where the budget ends is not the value.
static void what_is_cut_off_is_not_found(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled leaves[LEAVES], of_all = make_short(&w, leaves);
    note(&w, of_all);
    begin_own(&w);
    struct scaled value = plus(&w, make_long(&w, leaves), of_all);
    assert_true(scaled_equal(found(&w, value), value));
    assert_non_null(w.bench.proof.given_up);
    end(&w);
}

static void nothing_is_found_in_what_is_cut_off(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled leaves[LEAVES], of_all = make_short(&w, leaves);
    struct scaled xyz[3] = {leaves[0], leaves[1], of_all}, left = apart(&w, xyz);
    note(&w, plus(&w, left, make_long(&w, leaves)));
    begin_own(&w);
    struct scaled value = whole(&w, xyz);
    assert_true(scaled_equal(found(&w, value), value));
    assert_non_null(w.bench.proof.given_up);
    end(&w);
}

// The reference calls the value by name in a layer.
static struct scaled named(struct scene *w, struct scaled value, uint32_t name, int layer) {
    struct term leaf = term_leaf(BUILDER(w->terms), NODE_RESULT, name, true, layer);
    term_alias(w->terms, value.of, leaf);
    return value_of(leaf);
}

static void what_is_made_of_states_is_found_in_their_layer(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    three(&w, xyz, 2);
    struct scaled expected = named(&w, apart(&w, xyz), 1, 2);
    begin_own(&w);
    begin_layer(&w, 2);
    assert_true(scaled_equal(found(&w, whole(&w, xyz)), expected));
    end(&w);
}

static void what_is_made_of_results_is_found_in_their_layer(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled xyz[3];
    for (uint32_t i = 0; i < 3; i++)
        xyz[i] = named(&w, silu(&w, state(&w, 1, 2)), 1 + i, 2);
    struct scaled expected = named(&w, apart(&w, xyz), 4, 2);
    begin_own(&w);
    begin_layer(&w, 2);
    assert_true(scaled_equal(found(&w, whole(&w, xyz)), expected));
    end(&w);
}

// However much of the first of four layers stands in it, and beside it of none.
static void what_is_of_four_layers_is_found_in_the_last(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled sum = vector(&w), z = vector(&w), distributed = times(&w, sum, z);
    for (int i = 0; i < 8; i++) {
        struct scaled part = state(&w, 1, i < 5 ? 1 : i - 3);
        sum = plus(&w, sum, part);
        distributed = plus(&w, distributed, times(&w, part, z));
    }
    struct scaled expected = named(&w, distributed, 1, 4);
    begin_own(&w);
    begin_layer(&w, 4);
    assert_true(scaled_equal(found(&w, times(&w, sum, z)), expected));
    end(&w);
}

static void what_is_collected_is_found(void **state_) {
    struct scene w;
    begin(&w);
    w.terms->microbatches = 8;
    struct scaled xyz[3];
    three(&w, xyz, -1);
    struct scaled expected = apart(&w, xyz);
    note(&w, expected);
    begin_own(&w);
    struct scaled value = sum_microbatch(BUILDER(w.terms), whole(&w, xyz), 2);
    assert_true(scaled_equal(found(&w, value), sum_microbatch(BUILDER(w.terms), expected, 2)));
    end(&w);
}

// Beside an operand of which nothing is known, the other one says the shape.
static void what_is_beside_the_unknown_is_found(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled u = value_of(term_fresh(BUILDER(w.terms), NODE_UNKNOWN)), xyz[3];
    three(&w, xyz, -1);
    const struct scaled unknown[] = {
        u,
        silu(&w, u),
        make(&w, OP_ROPE, 0, 2, (struct scaled[]){u, u}),
        make(&w, OP_LAYER_NORM_BACKWARD, 0, 5, (struct scaled[]){u, u, u, u, u}),
    };
    enum { N = sizeof unknown / sizeof *unknown };
    struct scaled expected[N];
    for (unsigned i = 0; i < N; i++)
        note(&w, expected[i] = slope(&w, unknown[i], apart(&w, xyz)));
    begin_own(&w);
    for (unsigned i = 0; i < N; i++)
        assert_true(scaled_equal(found(&w, slope(&w, unknown[i], whole(&w, xyz))), expected[i]));
    end(&w);
}

// The gradient of a gain does not read the gain.
static void gradients_of_gains_are_found(void **state_) {
    struct scene w;
    begin(&w);
    struct scaled x = state(&w, 2, -1), a = state(&w, 2, -1), b = state(&w, 2, -1);
    struct scaled m = vector(&w), r = vector(&w);
    enum op_kind kind = OP_LAYER_NORM_BACKWARD;
    struct scaled expected = plus(&w, make(&w, kind, 1, 4, (struct scaled[]){x, m, r, a}),
                                  make(&w, kind, 1, 4, (struct scaled[]){x, m, r, b}));
    note(&w, expected);
    begin_own(&w);
    struct scaled value = make(&w, kind, 1, 4, (struct scaled[]){x, m, r, plus(&w, a, b)});
    assert_true(scaled_equal(found(&w, value), expected));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_law_fits_stays_an_op),
        cmocka_unit_test(what_is_flat_is_of_no_rank),
        cmocka_unit_test(how_often_is_repeated_counts),
        cmocka_unit_test(an_unknown_scale_stays_unknown),
        cmocka_unit_test(what_stands_in_a_value_often_is_expanded_once),
        cmocka_unit_test(names_of_no_layer_are_leaves),
        cmocka_unit_test(each_result_is_found),
        cmocka_unit_test(what_the_reference_has_stays_as_it_is),
        cmocka_unit_test(what_has_no_meaning_stays_as_it_is),
        cmocka_unit_test(parts_of_flat_vectors_are_found),
        cmocka_unit_test(what_is_cut_off_is_not_found),
        cmocka_unit_test(nothing_is_found_in_what_is_cut_off),
        cmocka_unit_test(what_is_made_of_states_is_found_in_their_layer),
        cmocka_unit_test(what_is_made_of_results_is_found_in_their_layer),
        cmocka_unit_test(what_is_of_four_layers_is_found_in_the_last),
        cmocka_unit_test(what_is_collected_is_found),
        cmocka_unit_test(what_is_beside_the_unknown_is_found),
        cmocka_unit_test(gradients_of_gains_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
