// Terms: equal values get equal numbers, different ones do not. Scales, sums over layers and
// microbatches, aliases that hold for some layers only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tests/verify_builder.h"
#include "verify/algebra/attributes.h"
#include "verify/algebra/laws.h"
#include "verify/rewriting/expansion.h"

enum { MICROBATCHES = 8 };

struct table {
    struct arena arena;
    struct terms terms;
};

static int setup(void **state) {
    static struct table table;
    table = (struct table){0};
    terms_init(&table.terms, &table.arena, MICROBATCHES);
    *state = &table;
    return 0;
}

static int teardown(void **state) {
    arena_free(&((struct table *)*state)->arena);
    return 0;
}

static struct scaled leaf(struct terms *t, uint32_t name, int32_t layer) {
    return (struct scaled){term_leaf(BUILDER(t), NODE_STATE, name, layer >= 0, layer), SCALE_ONE};
}

// The largest prime of 63 bits: of its powers it is not known that it is one.
static const int64_t LARGE_PRIME = INT64_MAX - 24;

static void scales_are_fractions_of_scalars(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct term count = leaf(t, 1, -1).of, loss = leaf(t, 2, -1).of;
    scale_id three = scale_rational(t, 6, 2), T = scale_of_term(t, count);
    assert_int_equal(three, scale_rational(t, -3, -1));
    assert_int_not_equal(T, SCALE_ONE);
    assert_int_not_equal(T, scale_invert(t, T));
    assert_int_equal(scale_multiply(t, T, scale_invert(t, T)), SCALE_ONE);
    // Where T is zero, so is what ops make of T and 1/T.
    assert_int_not_equal(scale_product(t, T, scale_invert(t, T)), SCALE_ONE);
    assert_int_equal(scale_product(t, T, T), scale_multiply(t, T, T));
    scale_id mixed = scale_multiply(t, scale_multiply(t, three, T), scale_of_term(t, loss));
    assert_int_equal(scale_multiply(t, mixed, scale_invert(t, mixed)), SCALE_ONE);
    scale_id sum;
    assert_true(scale_add(t, T, T, &sum));
    assert_int_equal(sum, scale_multiply(t, scale_rational(t, 2, 1), T));
    assert_false(scale_add(t, T, three, &sum));
    scale_id huge = scale_rational(t, LARGE_PRIME, 1);
    assert_int_not_equal(scale_multiply(t, huge, huge), scale_multiply(t, huge, huge));
}

// 6889/2000, the first coefficient of Newton and Schulz' iteration in Muon, whose powers do not fit.
static void numbers_that_do_not_fit_are_powers_of_primes(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    scale_id a = scale_rational(t, 6889, 2000), up = SCALE_ONE, squares = SCALE_ONE, sum;
    for (int i = 0; i < 40; i++)
        up = scale_multiply(t, up, a);
    for (int i = 0; i < 20; i++)
        squares = scale_multiply(t, squares, scale_multiply(t, a, a));
    assert_int_equal(up, squares);
    assert_false(scale_is_fraction(scale_get(t, up)));
    assert_true(fabs(scale_number_value(t, scale_get(t, up)) / pow(3.4445, 40) - 1) < 1e-12);
    assert_int_not_equal(up, scale_multiply(t, up, scale_rational(t, -1, 1)));
    assert_int_not_equal(up, scale_multiply(t, up, a));
    // What fits again is what it was.
    assert_int_equal(scale_multiply(t, up, scale_invert(t, up)), SCALE_ONE);
    scale_id back = up;
    for (int i = 0; i < 39; i++)
        back = scale_multiply(t, back, scale_invert(t, a));
    assert_int_equal(back, a);
    // 3 up - up = 2 up, and up - up = 0; of very different ones the sum does not fit.
    bool cancels;
    scale_id twice = scale_multiply(t, up, scale_rational(t, 2, 1));
    assert_true(scale_add(t, up, up, &sum));
    assert_int_equal(sum, twice);
    assert_true(
        scale_total(t, up, scale_multiply(t, up, scale_rational(t, -1, 1)), &sum, &cancels));
    assert_true(cancels);
    assert_false(scale_add(t, up, SCALE_ONE, &sum));
    int64_t high = INT64_C(1) << 40;
    assert_false(scale_add(t, scale_rational(t, 1, high), scale_rational(t, 1, 3 * high), &sum));
    // 2^62 * 2 = 2^63, which is no such integer, and less it is none that can be negated.
    scale_id top = scale_rational(t, INT64_C(1) << 62, 1), two = scale_rational(t, -2, 1);
    assert_int_equal(scale_multiply(t, scale_multiply(t, top, two), scale_invert(t, two)), top);
}

static void scales_that_are_not_held_are_equal_to_none(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    scale_id T = scale_of_term(t, leaf(t, 1, -1).of), L = scale_of_term(t, leaf(t, 2, -1).of);
    scale_id two = scale_rational(t, 2, 1), huge = scale_rational(t, LARGE_PRIME, 1), sum;
    scale_id tiny = scale_invert(t, huge), unknown = scale_multiply(t, huge, huge);
    scale_id many[2] = {SCALE_ONE, SCALE_ONE};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k <= MAX_FACTORS; k++)
            many[i] = scale_multiply(t, many[i], scale_of_term(t, leaf(t, 3 + k, -1).of));
    assert_int_not_equal(many[0], many[1]);
    assert_int_not_equal(scale_multiply(t, tiny, tiny), scale_multiply(t, tiny, tiny));
    assert_int_not_equal(scale_multiply(t, unknown, two), two);
    assert_int_not_equal(scale_multiply(t, two, unknown), two);
    assert_int_equal(scale_multiply(t, SCALE_ONE, unknown), unknown);
    assert_int_equal(scale_multiply(t, unknown, SCALE_ONE), unknown);
    assert_int_not_equal(scale_invert(t, unknown), scale_invert(t, unknown));
    assert_false(scale_add(t, unknown, two, &sum) || scale_add(t, two, unknown, &sum));
    assert_false(scale_add(t, T, L, &sum));
    assert_false(scale_add(t, T, scale_multiply(t, T, L), &sum));
    assert_false(scale_add(t, huge, huge, &sum));
    assert_false(scale_add(t, huge, scale_rational(t, 1, 3), &sum));
    assert_false(scale_add(t, scale_rational(t, 1, 3), huge, &sum));
    scale_id high = scale_multiply(t, T, T);
    for (int power = 2; power < MAX_POWER; power *= 2)
        high = scale_multiply(t, high, high);
    assert_int_equal(scale_multiply(t, scale_invert(t, high), high), SCALE_ONE);
    assert_int_not_equal(scale_multiply(t, high, T), scale_multiply(t, high, T));
    assert_int_equal(scale_common(t, T, scale_invert(t, T)), SCALE_ONE);
    assert_int_equal(scale_of_term(t, term_constant(BUILDER(t), NODE_ONE)), SCALE_ONE);
}

static struct scaled add(struct terms *t, struct scaled a, struct scaled b) {
    struct sum sum = {0};
    sum_add(BUILDER(t), &sum, a, SCALE_ONE);
    sum_add(BUILDER(t), &sum, b, SCALE_ONE);
    return sum_finish(BUILDER(t), &sum);
}

static void sums_do_not_depend_on_order(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled a = leaf(t, 1, -1), b = leaf(t, 2, -1), c = leaf(t, 3, -1);
    assert_true(scaled_equal(add(t, add(t, a, b), c), add(t, c, add(t, b, a))));
    assert_false(scaled_equal(add(t, a, b), add(t, a, c)));
    assert_false(scaled_equal(add(t, add(t, a, b), b), add(t, a, b)));
    struct scaled twice = add(t, a, a);
    assert_true(term_equal(twice.of, a.of));
    assert_int_equal(twice.scale, scale_rational(t, 2, 1));
    struct scaled minus = {a.of, scale_rational(t, -1, 1)}, minus_b = {b.of, minus.scale};
    struct scaled one = add(t, add(t, a, b), minus), other = add(t, minus, add(t, b, a));
    assert_true(scaled_equal(one, other));
    // A large a leaves nothing of b's digits.
    assert_false(scaled_equal(one, b));
    assert_true(
        scaled_equal(add(t, add(t, minus, minus_b), minus), add(t, minus_b, add(t, minus, minus))));
}

static struct scaled scale(struct terms *t, struct scaled value, scale_id by) {
    return (struct scaled){value.of, scale_product(t, value.scale, by)};
}

// (a + T b) / T is a / T + b, but where T is zero.
static void sums_lose_no_scalar(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled a = leaf(t, 1, -1), b = leaf(t, 2, -1), c = leaf(t, 3, -1);
    scale_id T = scale_of_term(t, leaf(t, 4, -1).of), inverse = scale_invert(t, T);
    struct scaled mixed = add(t, a, scale(t, b, T)), parts = add(t, scale(t, a, inverse), b);
    assert_false(scaled_equal(scale(t, mixed, inverse), parts));
    assert_false(scaled_equal(add(t, scale(t, mixed, inverse), c), add(t, parts, c)));
    assert_false(scaled_equal(add(t, scale(t, parts, T), c), add(t, mixed, c)));
    struct scaled both = add(t, scale(t, a, T), scale(t, b, T));
    assert_true(scaled_equal(both, scale(t, add(t, a, b), T)));
    both = add(t, scale(t, a, inverse), scale(t, b, scale_product(t, inverse, inverse)));
    assert_true(scaled_equal(both, scale(t, add(t, a, scale(t, b, inverse)), inverse)));
}

// ---- laws -------------------------------------------------------------------------------------

static struct scaled op_term(struct terms *t, int kind, unsigned result, uint32_t attributes,
                             const struct scaled *operands, uint32_t n) {
    struct part parts[5];
    for (uint32_t i = 0; i < n; i++)
        parts[i] = part_of(term_with_scale(BUILDER(t), operands[i]));
    return (struct scaled){term_make(BUILDER(t), kind, result, attributes, parts, n), SCALE_ONE};
}

// The sums of exponentials by which an attention is weighed are its own: of the same queries, keys
// and positions, under the same attributes.
static void statistics_are_of_their_attention(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled q = leaf(t, 1, -1), k = leaf(t, 2, -1), v = leaf(t, 3, -1);
    struct scaled at = leaf(t, 4, -1), keys = leaf(t, 5, -1), other = leaf(t, 6, -1);
    struct scaled all[] = {q, k, v, at, keys}, read[] = {q, k, at, keys};
    struct scaled o = op_term(t, OP_ATTENTION, 0, 1, all, 5);
    struct scaled lse = op_term(t, OP_ATTENTION, 1, 1, read, 4);
    assert_true(law_is_statistic(BUILDER(t), o, lse));
    assert_false(law_is_statistic(BUILDER(t), op_term(t, OP_ROPE, 0, 1, all, 5), lse));
    assert_false(law_is_statistic(BUILDER(t), op_term(t, OP_ATTENTION, 2, 1, all, 5), lse));
    assert_false(law_is_statistic(BUILDER(t), o, op_term(t, OP_ROPE, 1, 1, read, 4)));
    assert_false(law_is_statistic(BUILDER(t), o, op_term(t, OP_ATTENTION, 2, 1, read, 4)));
    assert_false(law_is_statistic(BUILDER(t), o, op_term(t, OP_ATTENTION, 1, 2, read, 4)));
    for (int i = 0; i < 4; i++) {
        struct scaled others[] = {q, k, at, keys};
        others[i] = other;
        assert_false(law_is_statistic(BUILDER(t), o, op_term(t, OP_ATTENTION, 1, 1, others, 4)));
    }
    lse.scale = scale_rational(t, 2, 1);
    assert_false(law_is_statistic(BUILDER(t), o, lse));
}

static void shifts_cancel_where_they_are_the_greatest(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled x = leaf(t, 1, -1), most = op_term(t, OP_ROW_MAX, 0, 0, &x, 1);
    struct scaled lse = op_term(t, OP_CROSS_ENTROPY, 1, 0, &x, 1), pair[] = {x, most};
    struct scaled sum = op_term(t, OP_SUM_EXP, 0, 0, pair, 2);
    assert_true(scaled_equal(law_log_shift(BUILDER(t), sum, most), lse));
    most.scale = scale_rational(t, 2, 1);
    pair[1] = most;
    sum = op_term(t, OP_SUM_EXP, 0, 0, pair, 2);
    assert_false(scaled_equal(law_log_shift(BUILDER(t), sum, most), lse));
    pair[0] = op_term(t, OP_SQUARE_SUM, 0, 0, &x, 1);
    assert_int_equal(term_kind(t, law_log_shift(BUILDER(t), pair[0], most).of), OP_LOG_SHIFT);
}

static struct scaled moved(struct terms *t, enum op_kind kind, struct scaled x, int rank) {
    int64_t key[2] = {DIM_HEADS, 3};
    struct op op = {.kind = kind};
    op_set_integer(t->arena, &op, ATTRIBUTE_INDEX, 1);
    op_set_integer(t->arena, &op, ATTRIBUTE_KEEP, 0);
    uint32_t places = intern(&t->attributes, key, sizeof key, NULL) + 1;
    struct term iota = term_leaf(BUILDER(t), OP_IOTA, places, false, 0);
    return law_moved(BUILDER(t), &op, rank, x, iota, iota);
}

// The sum of the rows of what was put.
static struct scaled rows_of(struct terms *t, struct scaled put) {
    struct op op = {.kind = OP_SUM_ROWS};
    op_set_integer(t->arena, &op, ATTRIBUTE_KEEP, 1);
    return op_term(t, OP_SUM_ROWS, 0, attributes_of(t, &op), &put, 1);
}

// Sums over layers are not taken apart: they are not a layer's summands.
static void sums_over_layers_are_moved_as_they_are(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled x = {term_constant(BUILDER(t), NODE_ZERO), SCALE_ONE}, put = x,
                  first = leaf(t, 1, 0);
    for (int32_t l = 0; l < 4; l++) {
        x = add(t, x, leaf(t, 1, l));
        put = add(t, put, moved(t, OP_PUT, leaf(t, 1, l), 1));
    }
    assert_false(scaled_equal(moved(t, OP_TAKE, x, 2), moved(t, OP_TAKE, first, 2)));
    struct scaled of_all = rows_of(t, moved(t, OP_PUT, x, 1));
    struct scaled of_first = rows_of(t, moved(t, OP_PUT, first, 1));
    assert_false(scaled_equal(moved(t, OP_TAKE, of_all, 1), moved(t, OP_TAKE, of_first, 1)));
    struct op_labels labels = {.operands = {"ap", "p"}, .results = {"a"}};
    struct scaled one = moved(t, OP_PUT, first, 1), other = leaf(t, 2, -1);
    assert_false(scaled_equal(law_product(BUILDER(t), &labels, put, other),
                              law_product(BUILDER(t), &labels, one, other)));
}

static void layers_join_to_ranges(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled up = leaf(t, 1, 0), down = leaf(t, 1, 4);
    for (int32_t l = 1; l < 5; l++)
        up = add(t, up, leaf(t, 1, l));
    for (int32_t l = 3; l >= 0; l--)
        down = add(t, down, leaf(t, 1, l));
    assert_true(scaled_equal(up, down));
    assert_false(scaled_equal(up, add(t, up, leaf(t, 1, 2))));
    assert_false(scaled_equal(up, add(t, add(t, leaf(t, 1, 0), leaf(t, 1, 1)), leaf(t, 1, 3))));
}

// Two ranges whose scales are no multiples of each other both stay, in one order.
static void ranges_of_other_scales_stay_apart(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    scale_id T = scale_of_term(t, leaf(t, 2, -1).of), three = scale_rational(t, 3, 1);
    struct scaled zero = {term_constant(BUILDER(t), NODE_ZERO), SCALE_ONE};
    struct scaled all = zero, begin = zero, end = zero, rest = zero;
    for (int32_t l = 0; l < 6; l++) {
        struct scaled counted = {leaf(t, 1, l).of, T}, tripled = {counted.of, three};
        all = l < 4 ? add(t, all, counted) : all;
        begin = l < 2 ? add(t, begin, counted) : begin;
        rest = l >= 2 ? add(t, rest, tripled) : rest;
        end = l == 2 || l == 3 ? add(t, end, tripled) : end;
    }
    assert_int_equal(t->nodes[all.of.node].n_parts, 1);
    assert_false(scaled_equal(add(t, all, rest), add(t, begin, rest)));
    assert_true(scaled_equal(add(t, all, rest), add(t, rest, all)));
    assert_true(scaled_equal(add(t, all, end), add(t, end, all))); // they end alike
    struct scaled tripled = {leaf(t, 1, 0).of, three};
    assert_true(scaled_equal(add(t, all, tripled), add(t, tripled, all))); // and begin
    struct scaled one = sum_microbatch(BUILDER(t), tripled, 1);
    struct scaled other = sum_microbatch(BUILDER(t), (struct scaled){tripled.of, T}, 2);
    assert_true(scaled_equal(add(t, one, other), add(t, other, one)));
    struct sum sum = {0};
    assert_false(sum_plain(BUILDER(t), &sum, one));
}

// The layers of a range, in microbatches of a range.
static struct scaled ranges(struct terms *t, int32_t l, int32_t l_end, int32_t m, int32_t m_end) {
    struct scaled sum = {term_constant(BUILDER(t), NODE_ZERO), SCALE_ONE};
    for (; l < l_end; l++)
        for (int32_t i = m; i < m_end; i++)
            sum = add(t, sum, sum_microbatch(BUILDER(t), leaf(t, 1, l), i));
    return sum;
}

static void ranges_that_do_not_join_have_one_order(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled all = ranges(t, 0, 4, 1, 2);
    struct scaled others[] = {ranges(t, 0, 2, 1, 3), ranges(t, 2, 4, 1, 3), ranges(t, 0, 4, 3, 4)};
    for (int i = 0; i < 3; i++)
        assert_true(scaled_equal(add(t, all, others[i]), add(t, others[i], all)));
}

// Beyond a bound nothing is claimed of a sum.
static void sums_of_very_many_are_unknown(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    static const uint32_t counts[] = {3000, 5000};
    static const int kinds[] = {NODE_SUM, NODE_UNKNOWN};
    for (int i = 0; i < 2; i++) {
        struct sum sum = {0};
        for (uint32_t k = 0; k < counts[i]; k++)
            sum_add(BUILDER(t), &sum, leaf(t, 1 + k, 0), SCALE_ONE);
        assert_int_equal(term_kind(t, sum_finish(BUILDER(t), &sum).of), kinds[i]);
    }
    struct sum sum = {0}; // every other layer, and then those in between: too late
    for (int32_t k = 0; k < 10000; k++)
        sum_add(BUILDER(t), &sum, leaf(t, 1, k < 5000 ? 2 * k : 2 * (k - 5000) + 1), SCALE_ONE);
    assert_int_equal(term_kind(t, sum_finish(BUILDER(t), &sum).of), NODE_UNKNOWN);
}

// The shift of a sum of exponentials cancels only where it is the greatest of what is summed, or
// what is warned of where it was made: of anything else, equal as it may be, nothing might be left.
static void only_maxima_cancel_as_shifts(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled x = leaf(t, 1, -1);
    struct part of_x = part_of(x.of);
    struct term shifts[] = {term_make(BUILDER(t), OP_ROW_MAX, 0, 0, &of_x, 1),
                            term_fresh(BUILDER(t), NODE_MAXIMA),
                            term_fresh(BUILDER(t), NODE_UNKNOWN), leaf(t, 2, -1).of};
    struct term lse = term_make(BUILDER(t), OP_CROSS_ENTROPY, 1, 0, &of_x, 1);
    for (int i = 0; i < 4; i++) {
        struct scaled shift = {shifts[i], SCALE_ONE};
        struct part parts[2] = {of_x, part_of(shift.of)};
        struct scaled sum = {term_make(BUILDER(t), OP_SUM_EXP, 0, 0, parts, 2), SCALE_ONE};
        assert_int_equal(term_equal(law_log_shift(BUILDER(t), sum, shift).of, lse), i < 2);
    }
}

// A gradient is whole when every microbatch is in it once, in any order, and in no other case.
static void microbatches_must_all_be_there_once(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled g = leaf(t, 1, 3), sum = {term_constant(BUILDER(t), NODE_ZERO), SCALE_ONE};
    static const int32_t order[MICROBATCHES] = {3, 0, 7, 1, 6, 4, 2, 5};
    for (int i = 0; i < MICROBATCHES; i++) {
        sum = add(t, sum, sum_microbatch(BUILDER(t), g, order[i]));
        assert_int_equal(term_is_collected(t, sum.of), i + 1 < MICROBATCHES);
    }
    assert_true(scaled_equal(sum, g));
    struct scaled twice = add(t, sum, sum_microbatch(BUILDER(t), g, 2)),
                  other = sum_microbatch(BUILDER(t), g, 1);
    assert_false(scaled_equal(twice, sum));
    for (int32_t m = 2; m < MICROBATCHES; m++)
        other = add(t, other, sum_microbatch(BUILDER(t), g, m));
    assert_true(term_is_collected(t, other.of));
    other = add(t, other, sum_microbatch(BUILDER(t), g, 1));
    assert_true(term_is_collected(t, other.of));
    other.scale = scale_rational(t, 1, 2);
    assert_true(term_is_collected(t, add(t, other, sum_microbatch(BUILDER(t), g, 0)).of));
}

// A step of one microbatch collects nothing: the value itself is the sum, although one scalar in it
// has its reciprocal outside.
static void one_microbatch_is_all(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    t->microbatches = 1;
    scale_id T = scale_of_term(t, leaf(t, 3, -1).of);
    struct scaled mixed = add(t, leaf(t, 1, -1), scale(t, leaf(t, 2, -1), T));
    mixed = scale(t, mixed, scale_invert(t, T));
    assert_true(scaled_equal(sum_microbatch(BUILDER(t), mixed, 0), mixed));
}

static void nodes_hold_for_every_layer(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct part a[] = {part_of(leaf(t, 1, 3).of), part_of(leaf(t, 2, 4).of)};
    struct part b[] = {part_of(leaf(t, 1, 7).of), part_of(leaf(t, 2, 8).of)};
    struct part c[] = {part_of(leaf(t, 1, 7).of), part_of(leaf(t, 2, 7).of)};
    struct term x = term_make(BUILDER(t), OP_MUL, 0, 0, a, 2),
                y = term_make(BUILDER(t), OP_MUL, 0, 0, b, 2);
    struct term z = term_make(BUILDER(t), OP_MUL, 0, 0, c, 2);
    assert_int_equal(x.node, y.node);
    assert_int_equal(y.at - x.at, 4);
    assert_int_not_equal(x.node, z.node);
}

static void aliases_hold_where_they_were_made(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    for (int32_t l = 2; l < 5; l++) {
        struct part part = part_of(leaf(t, 1, l).of);
        struct term made = term_make(BUILDER(t), OP_GELU, 0, 0, &part, 1);
        term_alias(t, made, leaf(t, 9, l + 1).of);
    }
    for (int32_t l = 0; l < 8; l++) {
        struct part part = part_of(leaf(t, 1, l).of);
        struct term made = term_make(BUILDER(t), OP_GELU, 0, 0, &part, 1);
        bool named = term_equal(made, leaf(t, 9, l + 1).of);
        assert_int_equal(named, l >= 2 && l < 5);
    }
}

static struct term gelu(struct terms *t, int32_t layer) {
    struct part part = part_of(leaf(t, 1, layer).of);
    return term_make(BUILDER(t), OP_GELU, 0, 0, &part, 1);
}

// An alias grows by its neighbours only, of the same leaf as far away.
static void aliases_of_other_leaves_are_others(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct term plain = gelu(t, 0);
    static const int32_t at[] = {20, 22, 21, 23, 40, 46, 60, 54};
    static const uint32_t name[] = {8, 8, 9, 8, 8, 8, 8, 8};
    static const int32_t moved[] = {20, 22, 21, 24, 40, 46, 60, 54};
    for (int i = 0; i < 8; i++)
        term_alias(t, (struct term){plain.node, at[i]}, leaf(t, name[i], moved[i]).of);
    for (int i = 0; i < 8; i++)
        assert_true(term_equal(gelu(t, at[i]), leaf(t, name[i], moved[i]).of));
    assert_true(term_equal(gelu(t, 43), (struct term){plain.node, 43}));
    assert_true(term_equal(gelu(t, 57), (struct term){plain.node, 57}));
}

// Aliases of iterations that stand for many are kept if their layers follow one another.
static void aliases_of_every_other_layer_do_not_fit(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    for (int32_t step = -2; step <= 2; step++) {
        int32_t x = symbol_begin(&t->symbols, 100, step, 5);
        uint32_t begun = aliases_begin(t);
        term_alias(t, (struct term){gelu(t, 0).node, x}, leaf(t, 9, x).of);
        const struct symbol *symbol = &t->symbols.list[t->symbols.n - 1];
        assert_int_equal(aliases_fit(t, symbol), step * step <= 1);
        aliases_end(t, begun, symbol, 0);
        symbol_end(&t->symbols);
    }
}

// A name that is made in an iteration that stands for many is that of one value in each of them, so
// not of what has the symbol inside.
static struct term held_by_symbol(struct terms *t, int which, int32_t x) {
    struct part range = part_of(leaf(t, 1, 0).of);
    range.end = x;
    struct term sum = term_make(BUILDER(t), NODE_SUM, 0, 0, &range, 1),
                scalars[] = {leaf(t, 2, x).of, sum};
    struct part operand = part_of(sum);
    if (which == 0)
        return sum;
    if (which == 1)
        return term_make(BUILDER(t), OP_GELU, 0, 0, &operand, 1);
    struct scaled value = {leaf(t, 3, -1).of, scale_of_term(t, scalars[which - 2])};
    return term_with_scale(BUILDER(t), value);
}

static void what_holds_a_symbol_has_no_name_in_other_iterations(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    for (int which = 0; which < 5; which++) {
        int32_t x = symbol_begin(&t->symbols, 3, 1, 5);
        uint32_t begun = aliases_begin(t);
        struct term of = which < 4 ? held_by_symbol(t, which, x) : leaf(t, 3, x).of;
        term_alias(t, of, leaf(t, 9, of.at).of);
        aliases_end(t, begun, &t->symbols.list[0], 0);
        assert_int_equal(symbol_end(&t->symbols).iterations, which < 4 ? 1 : 5);
    }
}

static void symbols_are_replaced_in_sums(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    int32_t x = symbol_begin(&t->symbols, 3, 1, 5);
    struct scaled sum = {held_by_symbol(t, 0, x), SCALE_ONE}, all = {leaf(t, 1, 0).of, SCALE_ONE};
    struct scaled op = {held_by_symbol(t, 1, x), SCALE_ONE};
    for (int32_t l = 1; l < 6; l++)
        all = add(t, all, leaf(t, 1, l));
    assert_true(scaled_equal(sum_replace(BUILDER(t), sum, 6), all));
    assert_int_equal(term_kind(t, sum_replace(BUILDER(t), op, 6).of),
                     OP_GELU); // is not what it is of
    // Nor is what no symbol is in made anew, in which one scalar would meet its reciprocal.
    scale_id T = scale_of_term(t, leaf(t, 4, -1).of);
    struct scaled mixed = add(t, leaf(t, 2, -1), scale(t, leaf(t, 3, -1), T));
    mixed = scale(t, mixed, scale_invert(t, T));
    assert_true(scaled_equal(sum_replace(BUILDER(t), mixed, 6), mixed));
    symbol_end(&t->symbols);
}

// What the aliases answer is noted for a builder that wants it: of terms without a name where they
// may get one. Normal forms of rewriting have no names.
static void answers_of_aliases_are_noted(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct alias_log log = {0};
    struct builder builder = {.terms = t, .log = &log};
    struct term made = gelu(t, 2), name = leaf(t, 9, 2).of;
    struct part part = part_of(leaf(t, 1, 2).of);
    term_alias(t, made, name);
    assert_true(term_equal(term_make(&builder, OP_GELU, 0, 0, &part, 1), name) && log.n == 1);
    assert_true(term_equal(log.uses[0].of, made) && term_equal(log.uses[0].as, name));
    term_make(&builder, OP_SILU, 0, 0, &part, 1);
    assert_int_equal(log.n, 1);
    builder.names = NAMES_GIVEN;
    term_make(&builder, OP_SILU, 0, 0, &part, 1);
    assert_int_equal(log.n, 2);
    builder.names = NAMES_LEFT;
    assert_true(term_equal(term_make(&builder, OP_GELU, 0, 0, &part, 1), made) && log.n == 2);
}

// ---- numbers ----------------------------------------------------------------------------------

struct line { // a * symbol + b
    int32_t a, b;
};

static int32_t number_of_line(int32_t symbol, struct line line) {
    return line.a * symbol + line.b;
}

static int64_t value_in(struct line line, struct symbol symbol, int64_t iteration) {
    return line.a * (symbol.first + iteration * symbol.step) + line.b;
}

enum question { IS_BEFORE, IS_EQUAL, IS_MODULO, N_QUESTIONS };

static int64_t answer_in(enum question question, struct line x, struct line y, struct symbol symbol,
                         int64_t iteration) {
    int64_t a = value_in(x, symbol, iteration), b = value_in(y, symbol, iteration);
    if (question == IS_MODULO) // the round, if it is not the symbol that goes round
        return symbol.step * x.a % 5 == 0 ? 0 : (a + 5000) / 5;
    return question == IS_BEFORE ? a < b : a == b;
}

static int64_t ask(struct symbols *symbols, enum question question, int32_t a, int32_t b) {
    if (question == IS_BEFORE)
        return number_before(symbols, a, b);
    if (question == IS_EQUAL)
        return number_equal(symbols, a, b);
    return number_first(symbols, number_modulo(symbols, a, 5));
}

// Asks about numbers that are made with a symbol, or with its multiple by the factor.
static void check_question(enum question question, struct line x, struct line y,
                           struct symbol symbol, int32_t factor) {
    struct symbols symbols = {0};
    int32_t number = symbol_begin(&symbols, symbol.first, symbol.step, symbol.iterations);
    if (factor > 1)
        symbol_multiply(&symbols, factor);
    number = number_times(&symbols, number, factor);
    symbol.first *= factor;
    symbol.step *= factor;
    int64_t found = ask(&symbols, question, number_of_line(number, x), number_of_line(number, y));
    if (question == IS_MODULO)
        assert_int_equal(found, (value_in(x, symbol, 0) + 5000) % 5);
    else
        assert_int_equal(found, answer_in(question, x, y, symbol, 0));
    int64_t iterations = symbol_end(&symbols).iterations, alike = 0;
    while (alike < symbol.iterations &&
           answer_in(question, x, y, symbol, alike) == answer_in(question, x, y, symbol, 0))
        alike++;
    assert_int_equal(iterations, alike);
}

// An answer is that of the first iteration, and as many iterations are noted as have the same one.
static void answers_hold_for_as_many_iterations_as_are_noted(void **state) {
    static const int64_t steps[] = {1, -1, 2, -2, 5};
    static const struct line constants[] = {{0, 0}, {0, 7}, {0, -3}, {0, 12}};
    static const struct line moving[] = {{1, 0}, {1, 1}, {1, -2}, {-1, 9}, {2, -4}, {2, 3}};
    for (unsigned s = 0; s < 5; s++)
        for (int64_t first = 0; first < 12; first++)
            for (unsigned m = 0; m < 6; m++)
                for (unsigned k = 0; k < 10; k++)
                    for (int question = 0; question < N_QUESTIONS; question++) {
                        struct symbol symbol = {.first = first, .step = steps[s], .iterations = 9};
                        struct line other = k < 4 ? constants[k] : moving[k - 4];
                        check_question(question, moving[m], other, symbol, 1);
                        check_question(question, moving[m], other, symbol, 3);
                    }
}

static void numbers_are_sums_of_symbols(void **state) {
    struct symbols symbols = {0};
    int32_t x = symbol_begin(&symbols, 100, 1, 50), y = symbol_begin(&symbols, 7, -1, 5);
    assert_int_equal(number_first(&symbols, x + y - 3), 104);
    assert_int_equal(number_first(&symbols, y - x), -93);
    assert_int_equal(number_replace(&symbols, x + y - 3, 20), x + 17);
    assert_int_equal(number_replace(&symbols, x - 3, 20), x - 3);
    assert_int_equal(number_replace(&symbols, 2 * y, y - 1), 2 * y - 2);
    assert_true(number_is_symbolic(x - MAX_NUMBER) && number_is_symbolic(y - x));
    assert_false(number_is_symbolic(2 * MAX_NUMBER) || number_is_symbolic(-2 * MAX_NUMBER));
    // With two symbols at once no more is claimed than the first iteration of the inner one.
    assert_true(number_before(&symbols, y, x));
    assert_int_equal(symbol_end(&symbols).iterations, 1);
    assert_int_equal(symbol_end(&symbols).iterations, 50);
}

// Slots come round only if they do so with every symbol.
static void slots_come_round_with_all_symbols(void **state) {
    struct symbols symbols = {0};
    int32_t x = symbol_begin(&symbols, 3, 1, 50), y = symbol_begin(&symbols, 8, 4, 5);
    assert_int_equal(number_modulo(&symbols, y + 1, 4), 1);
    assert_int_equal(symbols.list[1].iterations, 5);
    assert_int_equal(number_modulo(&symbols, x + 3, 4), x - 1);
    assert_int_equal(symbols.list[0].iterations, 2);
    assert_int_equal(number_modulo(&symbols, x + y, 4), x + y - 8);
    assert_int_equal(symbols.list[1].iterations, 1);
}

// A symbol and its multiple move together: what is asked of both is decided as of one.
static void multiples_move_with_their_symbol(void **state) {
    struct symbols symbols = {0};
    int32_t x = symbol_begin(&symbols, 4, 2, 50);
    symbol_multiply(&symbols, 3);
    int32_t y = number_times(&symbols, x, 3);
    assert_int_equal(number_times(&symbols, x + 2, 3), y + 6);
    assert_int_equal(number_first(&symbols, y - x), 8);
    assert_int_equal(number_replace(&symbols, y - x + 1, 5), 11);
    assert_int_equal(number_replace(&symbols, y, x + 2), y + 6);
    assert_true(number_equal(&symbols, 2 * x, 2 * x) && number_before(&symbols, x, y));
    assert_int_equal(symbols.list[0].iterations, 50);
    assert_true(number_before(&symbols, y - x, 20)); // 8 + 4 i
    assert_int_equal(symbols.list[0].iterations, 3);
    int64_t product;
    assert_false(number_multiple(&symbols, x, 2, &product));
    assert_false(number_multiple(&symbols, y, 3, &product));
    int32_t z = symbol_begin(&symbols, 7, 1, 9); // at a place of its own
    assert_int_equal(number_first(&symbols, z + y - x), 15);
    assert_int_equal(number_replace(&symbols, z + y - x, 1), y - x + 1);
    assert_false(symbols_have_room(&symbols, false) || number_multiple(&symbols, z, 3, &product));
    assert_false(number_is_known(&(struct symbols){0}, y));
}

// A multiple for which there is no symbol is claimed for the first iteration only.
static void multiples_are_of_one_iteration(void **state) {
    struct symbols symbols = {0};
    int32_t x = symbol_begin(&symbols, 3, 2, 50);
    assert_int_equal(number_times(&symbols, 7, 3), 21);
    assert_int_equal(number_times(&symbols, x + 1, 1), x + 1);
    assert_int_equal(symbols.list[0].iterations, 50);
    assert_int_equal(number_times(&symbols, x + 1, 3), 12);
    assert_int_equal(symbols.list[0].iterations, 1);
}

// ---- products ---------------------------------------------------------------------------------

// New labels are counted on from the last one in use, as far as labels go.
static void products_of_too_many_labels_are_none(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct flat from = {.factors = {leaf(t, 1, 0).of}, .labels = {{1, 2, 3}}, .n = 1, .last = 3};
    struct flat most = {.last = 117}, more = {.last = 118};
    assert_true(flat_append(&most, &from, ""));
    assert_false(flat_append(&more, &from, ""));
}

// A product of scalars alone is a scale of one.
static void products_of_scalars_are_scales(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct term scalar = leaf(t, 1, 0).of;
    struct flat flat = {.factors = {scalar, scalar}, .n = 2};
    struct scaled product = flat_finish(BUILDER(t), &flat);
    scale_id one = scale_of_term(t, scalar);
    assert_int_equal(term_kind(t, product.of), NODE_ONE);
    assert_int_equal(product.scale, scale_multiply(t, one, one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scales_are_fractions_of_scalars, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_do_not_fit_are_powers_of_primes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(scales_that_are_not_held_are_equal_to_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ranges_of_other_scales_stay_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(ranges_that_do_not_join_have_one_order, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_of_other_leaves_are_others, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_of_every_other_layer_do_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_do_not_depend_on_order, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_lose_no_scalar, setup, teardown),
        cmocka_unit_test_setup_teardown(statistics_are_of_their_attention, setup, teardown),
        cmocka_unit_test_setup_teardown(shifts_cancel_where_they_are_the_greatest, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_over_layers_are_moved_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(layers_join_to_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_of_very_many_are_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(only_maxima_cancel_as_shifts, setup, teardown),
        cmocka_unit_test_setup_teardown(microbatches_must_all_be_there_once, setup, teardown),
        cmocka_unit_test_setup_teardown(one_microbatch_is_all, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_hold_for_every_layer, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_hold_where_they_were_made, setup, teardown),
        cmocka_unit_test_setup_teardown(what_holds_a_symbol_has_no_name_in_other_iterations, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(symbols_are_replaced_in_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_of_aliases_are_noted, setup, teardown),
        cmocka_unit_test(answers_hold_for_as_many_iterations_as_are_noted),
        cmocka_unit_test(numbers_are_sums_of_symbols),
        cmocka_unit_test(slots_come_round_with_all_symbols),
        cmocka_unit_test(multiples_move_with_their_symbol),
        cmocka_unit_test(multiples_are_of_one_iteration),
        cmocka_unit_test_setup_teardown(products_of_too_many_labels_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(products_of_scalars_are_scales, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
