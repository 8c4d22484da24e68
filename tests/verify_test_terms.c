// Terms: equal values get equal numbers, different ones do not. Scales, sums over layers and
// microbatches, aliases that hold for some layers only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "verify/term.h"

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
    return (struct scaled){term_leaf(t, NODE_STATE, name, layer >= 0, layer), SCALE_ONE};
}

static void scales_are_fractions_of_scalars(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct term count = leaf(t, 1, -1).of, loss = leaf(t, 2, -1).of;
    scale_id three = scale_rational(t, 6, 2), T = scale_of_term(t, count);
    assert_int_equal(three, scale_rational(t, -3, -1));
    assert_int_not_equal(T, SCALE_ONE);
    assert_int_not_equal(T, scale_invert(t, T));
    assert_int_equal(scale_multiply(t, T, scale_invert(t, T)), SCALE_ONE);
    scale_id mixed = scale_multiply(t, scale_multiply(t, three, T), scale_of_term(t, loss));
    assert_int_equal(scale_multiply(t, mixed, scale_invert(t, mixed)), SCALE_ONE);
    scale_id sum;
    assert_true(scale_add(t, T, T, &sum));
    assert_int_equal(sum, scale_multiply(t, scale_rational(t, 2, 1), T));
    assert_false(scale_add(t, T, three, &sum));
    scale_id huge = scale_rational(t, INT64_MAX, 1);
    assert_int_not_equal(scale_multiply(t, huge, huge), scale_multiply(t, huge, huge));
}

static struct scaled add(struct terms *t, struct scaled a, struct scaled b) {
    struct sum sum = {0};
    sum_add(t, &sum, a, SCALE_ONE);
    sum_add(t, &sum, b, SCALE_ONE);
    return sum_finish(t, &sum);
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
    struct scaled minus = {a.of, scale_rational(t, -1, 1)};
    assert_true(scaled_equal(add(t, add(t, a, b), minus), b));
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

// A gradient is whole when every microbatch is in it once, in any order, and in no other case.
static void microbatches_must_all_be_there_once(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct scaled g = leaf(t, 1, 3), sum = {term_constant(t, NODE_ZERO), SCALE_ONE};
    static const int32_t order[MICROBATCHES] = {3, 0, 7, 1, 6, 4, 2, 5};
    for (int i = 0; i < MICROBATCHES; i++) {
        sum = add(t, sum, sum_microbatch(t, g, order[i]));
        assert_int_equal(term_is_collected(t, sum.of), i + 1 < MICROBATCHES);
    }
    assert_true(scaled_equal(sum, g));
    struct scaled twice = add(t, sum, sum_microbatch(t, g, 2)), other = sum_microbatch(t, g, 1);
    assert_false(scaled_equal(twice, sum));
    for (int32_t m = 2; m < MICROBATCHES; m++)
        other = add(t, other, sum_microbatch(t, g, m));
    assert_true(term_is_collected(t, other.of));
    other = add(t, other, sum_microbatch(t, g, 1));
    assert_true(term_is_collected(t, other.of));
    other.scale = scale_rational(t, 1, 2);
    assert_true(term_is_collected(t, add(t, other, sum_microbatch(t, g, 0)).of));
}

static void nodes_hold_for_every_layer(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    struct part a[] = {part_of(leaf(t, 1, 3).of), part_of(leaf(t, 2, 4).of)};
    struct part b[] = {part_of(leaf(t, 1, 7).of), part_of(leaf(t, 2, 8).of)};
    struct part c[] = {part_of(leaf(t, 1, 7).of), part_of(leaf(t, 2, 7).of)};
    struct term x = term_make(t, OP_MUL, 0, 0, a, 2), y = term_make(t, OP_MUL, 0, 0, b, 2);
    struct term z = term_make(t, OP_MUL, 0, 0, c, 2);
    assert_int_equal(x.node, y.node);
    assert_int_equal(y.at - x.at, 4);
    assert_int_not_equal(x.node, z.node);
}

static void aliases_hold_where_they_were_made(void **state) {
    struct terms *t = &((struct table *)*state)->terms;
    for (int32_t l = 2; l < 5; l++) {
        struct part part = part_of(leaf(t, 1, l).of);
        struct term made = term_make(t, OP_GELU, 0, 0, &part, 1);
        term_alias(t, made, leaf(t, 9, l + 1).of);
    }
    for (int32_t l = 0; l < 8; l++) {
        struct part part = part_of(leaf(t, 1, l).of);
        struct term made = term_make(t, OP_GELU, 0, 0, &part, 1);
        bool named = term_equal(made, leaf(t, 9, l + 1).of);
        assert_int_equal(named, l >= 2 && l < 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scales_are_fractions_of_scalars, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_do_not_depend_on_order, setup, teardown),
        cmocka_unit_test_setup_teardown(layers_join_to_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(microbatches_must_all_be_there_once, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_hold_for_every_layer, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_hold_where_they_were_made, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
