// Values in finite fields: what holds over the reals holds there, what does not hold does not, kind by kind, also where no
// normal form would show it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "equal/residues/field.h"
#include "equal/residues/residues.h"
#include "equal/values/opaque.h"
#include "equal/values/together.h"

enum { ROWS = 4, COLUMNS = 6, ROW = 0, COLUMN = 1, OTHER = 2 };

struct fixture {
    struct arena arena;
    struct calculus c;
    struct coordinates all;
    struct viewed x, y, row; // of rows and columns, and of columns alone
};

static struct viewed given(struct fixture *f, uint32_t number, bool has_rows) {
    struct space space = {.n = 0};
    struct view view = {.n = 0};
    if (has_rows) {
        space.sizes[space.n++] = ROWS;
        view.of[view.n++] = affine_coordinate(ROW, ROWS);
    }
    space.sizes[space.n++] = COLUMNS;
    view.of[view.n++] = affine_coordinate(COLUMN, COLUMNS);
    return value_input(&f->c, number, &space, &view);
}

static int begin(void **state) {
    struct fixture *f = test_calloc(1, sizeof *f);
    calculus_init(&f->c, &f->arena);
    f->c.products_left = 1000;
    f->all.sizes[ROW] = ROWS;
    f->all.sizes[COLUMN] = COLUMNS;
    f->x = given(f, 0, true);
    f->y = given(f, 1, true);
    f->row = given(f, 2, false);
    *state = f;
    return 0;
}

static int end(void **state) {
    struct fixture *f = *state;
    calculus_free(&f->c);
    arena_free(&f->arena);
    test_free(f);
    return 0;
}

static struct viewed plus(struct fixture *f, struct viewed a, struct viewed b, int64_t times) {
    struct viewed both[] = {a, value_scaled(&f->c, b, times, 1)};
    return value_sum(&f->c, both, 2, &f->all);
}

static struct viewed times(struct fixture *f, struct viewed a, struct viewed b, uint64_t summed) {
    struct viewed both[] = {a, b};
    return value_product(&f->c, both, 2, summed, &f->all);
}

// Without the normal form of exponentials.
static struct viewed exponential(struct fixture *f, struct viewed value) {
    return value_pointwise(&f->c, KIND_EXPONENTIAL, 0, &value, 1, &f->all);
}

static struct viewed function(struct fixture *f, int primitive, struct viewed value) {
    return value_pointwise(&f->c, KIND_POINTWISE + primitive, 0, &value, 1, &f->all);
}

static bool holds(struct fixture *f, struct viewed expected, struct viewed found) {
    struct claim claim = {expected, found, f->all, false};
    claims_evaluate(&f->c, &claim, 1);
    return claim.holds;
}

static void exponentials_of_each_field_are_of_the_one_before(void **state) {
    for (int i = 0; i < N_FIELDS; i++) {
        const struct field *field = &fields[i];
        assert_int_equal(field->prime % 4, 3);
        assert_int_equal(field_power(field, 5, field->prime - 1), 1);
        assert_int_equal(field_multiply(field, field_inverse(field, 12345), 12345), 1);
        uint64_t squared = field_power(field, field_root(field, 12345), 2);
        assert_true(squared == 12345 || squared == field->prime - 12345);
        if (i == 0)
            continue;
        assert_int_not_equal(field->base, 1);
        assert_int_equal(field_power(field, field->base, fields[i - 1].prime), 1);
    }
}

static void fractions_are_found_again(void **state) {
    const struct field *field = &fields[N_FIELDS - 1];
    for (int64_t denominator = 1; denominator <= 64; denominator += 9)
        for (int64_t numerator = -70; numerator < 70; numerator++) {
            uint64_t value =
                field_multiply(field, field_of_integer(field, numerator),
                               field_inverse(field, field_of_integer(field, denominator)));
            int64_t n, d;
            assert_true(field_as_fraction(field, value, &n, &d));
            assert_int_equal(n * denominator, numerator * d);
        }
    int64_t n, d;
    assert_false(field_as_fraction(field, field_draw(field, 1), &n, &d));
}

// The sum of squares of what is left of a mean, and the sum of squares without that of the mean.
static void moments_are_what_is_centred(void **state) {
    struct fixture *f = *state;
    uint64_t columns = UINT64_C(1) << COLUMN;
    struct viewed one = value_fraction(&f->c, 1, 1);
    struct viewed mean = value_scaled(&f->c, times(f, f->x, one, columns), 1, COLUMNS);
    struct viewed centred = plus(f, f->x, mean, -1);
    struct viewed squares = times(f, centred, centred, columns);
    struct viewed moments = times(f, f->x, f->x, columns), of_mean = times(f, mean, mean, 0);
    assert_true(holds(f, squares, plus(f, moments, of_mean, -COLUMNS)));
    assert_false(holds(f, squares, plus(f, moments, of_mean, 1 - COLUMNS)));
    assert_false(holds(f, squares, moments));
    struct viewed by_moments =
        value_power(&f->c, plus(f, moments, of_mean, -COLUMNS), -1, 2, &f->all);
    assert_true(holds(f, value_power(&f->c, squares, -1, 2, &f->all), by_moments));
    assert_false(holds(f, value_power(&f->c, squares, 1, 2, &f->all), by_moments));
    assert_false(holds(f, value_power(&f->c, moments, -1, 2, &f->all), by_moments));
}

// As deep as there are fields.
static void exponentials_turn_sums_into_products(void **state) {
    struct fixture *f = *state;
    struct viewed sum = plus(f, f->x, f->y, 1), wrong = plus(f, f->x, f->y, 2);
    struct viewed product = times(f, exponential(f, f->x), exponential(f, f->y), 0);
    assert_true(holds(f, exponential(f, sum), product));
    assert_false(holds(f, exponential(f, wrong), product));
    sum = exponential(f, sum);
    wrong = exponential(f, wrong);
    for (int i = 2; i < N_FIELDS; i++) {
        sum = function(f, PRIM_SINE, exponential(f, sum));
        product = function(f, PRIM_SINE, exponential(f, product));
        wrong = function(f, PRIM_SINE, exponential(f, wrong));
        assert_true(holds(f, sum, product));
        assert_false(holds(f, sum, wrong));
        sum = plus(f, sum, f->y, 1);
        product = plus(f, f->y, product, 1);
    }
}

static void functions_are_of_their_values(void **state) {
    struct fixture *f = *state;
    uint64_t columns = UINT64_C(1) << COLUMN;
    struct viewed sum = plus(f, f->x, f->y, 1), difference = plus(f, f->x, f->y, -1);
    struct viewed squares = plus(f, times(f, f->x, f->x, 0), times(f, f->y, f->y, 0), -1);
    struct viewed both = times(f, sum, difference, 0);
    assert_true(holds(f, function(f, PRIM_TANH, both), function(f, PRIM_TANH, squares)));
    assert_false(holds(f, function(f, PRIM_TANH, both), function(f, PRIM_SINE, squares)));
    assert_false(holds(f, function(f, PRIM_TANH, both), function(f, PRIM_TANH, sum)));
    struct viewed largest = value_fold(&f->c, KIND_LARGEST, both, columns, &f->all);
    assert_true(holds(f, largest, value_fold(&f->c, KIND_LARGEST, squares, columns, &f->all)));
    assert_false(holds(f, largest, value_fold(&f->c, KIND_LEAST, squares, columns, &f->all)));
    assert_false(holds(f, largest, value_fold(&f->c, KIND_LARGEST, squares, 1, &f->all)));
    assert_false(holds(f, largest, value_fold(&f->c, KIND_LARGEST, sum, columns, &f->all)));
}

static void tests_are_of_their_values(void **state) {
    struct fixture *f = *state;
    struct viewed sum = plus(f, f->x, f->y, 1), difference = plus(f, f->x, f->y, -1);
    struct viewed both = times(f, sum, difference, 0), one = value_fraction(&f->c, 1, 1);
    struct viewed squares = plus(f, times(f, f->x, f->x, 0), times(f, f->y, f->y, 0), -1);
    for (int integers = 0; integers < 2; integers++)
        for (int kind = KIND_AT_LEAST; kind <= KIND_IS_ZERO; kind++) {
            struct viewed of_both =
                value_pointwise(&f->c, kind, (uint32_t)integers, &both, 1, &f->all);
            struct viewed of_squares =
                value_pointwise(&f->c, kind, (uint32_t)integers, &squares, 1, &f->all);
            assert_true(holds(f, of_both, of_squares));
            assert_false(holds(f, of_both, value_test(&f->c, kind, sum, integers, &f->all)));
            assert_false(holds(f, of_both, one));
            for (int other = KIND_AT_LEAST; other <= KIND_IS_ZERO; other++)
                if (other != kind)
                    assert_false(holds(
                        f, of_both,
                        value_pointwise(&f->c, other, (uint32_t)integers, &squares, 1, &f->all)));
        }
    // Not x >= 0 is -x > 0; of integers -x - 1 >= 0.
    struct viewed opposite = value_scaled(&f->c, squares, -1, 1),
                  below = plus(f, opposite, one, -1);
    struct viewed least = value_pointwise(&f->c, KIND_AT_LEAST, 0, &both, 1, &f->all);
    struct viewed above = value_pointwise(&f->c, KIND_ABOVE, 0, &opposite, 1, &f->all);
    assert_true(holds(f, least, plus(f, one, above, -1)));
    least = value_pointwise(&f->c, KIND_AT_LEAST, 1, &both, 1, &f->all);
    assert_true(holds(
        f, least, plus(f, one, value_pointwise(&f->c, KIND_AT_LEAST, 1, &below, 1, &f->all), -1)));
    assert_false(
        holds(f, least,
              plus(f, one, value_pointwise(&f->c, KIND_AT_LEAST, 1, &opposite, 1, &f->all), -1)));
}

static void choices_are_sums(void **state) {
    struct fixture *f = *state;
    struct viewed test = value_test(&f->c, KIND_ABOVE, f->row, false, &f->all);
    struct viewed chosen = value_select(&f->c, test, f->x, f->y, &f->all);
    struct viewed either =
        plus(f, times(f, test, f->x, 0), times(f, value_not(&f->c, test, &f->all), f->y, 0), 1);
    assert_true(holds(f, chosen, either));
    assert_false(holds(f, chosen, value_select(&f->c, test, f->y, f->x, &f->all)));
}

// Places at and below the diagonal, minus infinity above it.
static struct viewed masked(struct fixture *f, struct viewed value, int64_t shift) {
    struct affine index = affine_constant(shift);
    affine_push(&index, (struct piece){1, 1, ROWS, 0, ROW});
    affine_push(&index, (struct piece){-1, 1, COLUMNS, 0, COLUMN});
    affine_normal(&index);
    struct viewed test = value_pointwise(
        &f->c, KIND_AT_LEAST, 1,
        &(struct viewed){value_index(&f->c, &index).of, value_index(&f->c, &index).view}, 1,
        &f->all);
    struct viewed operands[] = {test, value, value_real(&f->c, -INFINITY, 24)};
    return value_pointwise(&f->c, KIND_POINTWISE + PRIM_SELECT, 0, operands, 3, &f->all);
}

static void masks_take_away(void **state) {
    struct fixture *f = *state;
    uint64_t columns = UINT64_C(1) << COLUMN;
    struct viewed sum = plus(f, f->x, f->y, 1), one = value_fraction(&f->c, 1, 1);
    struct viewed product = times(f, exponential(f, f->x), exponential(f, masked(f, f->y, 0)), 0);
    assert_true(holds(f, exponential(f, masked(f, sum, 0)), product));
    assert_false(holds(f, exponential(f, masked(f, sum, 1)), product));
    assert_false(holds(f, exponential(f, sum), product));
    struct viewed largest = value_fold(&f->c, KIND_LARGEST, masked(f, sum, 0), columns, &f->all);
    struct viewed shifted = exponential(f, plus(f, masked(f, sum, 0), largest, -1));
    struct viewed back = times(f, shifted, exponential(f, largest), 0);
    assert_true(holds(f, times(f, product, one, columns), times(f, back, one, columns)));
    // Nothing holds of what is infinite itself.
    struct viewed all = value_fold(&f->c, KIND_LARGEST, masked(f, sum, -ROWS), columns, &f->all);
    assert_false(holds(f, exponential(f, plus(f, f->x, all, -1)), exponential(f, f->x)));
}

static void arrays_stand_one_behind_the_other(void **state) {
    struct fixture *f = *state;
    struct viewed sum = plus(f, f->x, f->y, 1), difference = plus(f, f->x, f->y, -1), left, right;
    struct affine low = affine_coordinate(COLUMN, COLUMNS / 2), high = low;
    high.base = COLUMNS / 2;
    struct substitution first = {.of = {[COLUMN] = &low}, .sizes = {[COLUMN] = COLUMNS}};
    struct substitution second = {.of = {[COLUMN] = &high}, .sizes = {[COLUMN] = COLUMNS}};
    assert_true(value_move(&f->c, times(f, sum, sum, 0), &first, &left));
    assert_true(value_move(&f->c, times(f, difference, sum, 0), &second, &right));
    struct viewed parts[] = {left, right}, turned[] = {right, left};
    int64_t sizes[] = {COLUMNS / 2, COLUMNS / 2};
    struct viewed both = value_together(&f->c, parts, sizes, 2, COLUMN, &f->all);
    struct viewed wrong = value_together(&f->c, turned, sizes, 2, COLUMN, &f->all);
    struct affine index = affine_constant(-COLUMNS / 2);
    affine_push(&index, (struct piece){1, 1, COLUMNS, 0, COLUMN});
    struct viewed place = value_index(&f->c, &index);
    struct viewed test = value_pointwise(&f->c, KIND_AT_LEAST, 1, &place, 1, &f->all);
    struct viewed parted = plus(f, times(f, sum, f->x, 0), times(f, sum, f->y, 0), 1);
    struct viewed change = times(f, test, times(f, f->y, sum, 0), 0);
    assert_true(holds(f, both, plus(f, parted, change, -2)));
    assert_false(holds(f, wrong, plus(f, parted, change, -2)));
    assert_false(holds(f, both, plus(f, parted, change, -1)));
}

static void ops_without_rules_are_of_whole_arrays(void **state) {
    struct fixture *f = *state;
    struct viewed sum = plus(f, f->x, f->y, 1), difference = plus(f, f->x, f->y, -1);
    struct viewed both = times(f, sum, difference, 0);
    struct viewed squares = plus(f, times(f, f->x, f->x, 0), times(f, f->y, f->y, 0), -1);
    const int64_t sizes[] = {ROWS, COLUMNS};
    struct opaque_operand from = {.value = both, .sizes = sizes, .rank = 2, .mapped = {-1, -1}};
    struct viewed expected = value_opaque(&f->c, 1, &from, 1, &f->all);
    assert_false(holds(f, expected, value_opaque(&f->c, 2, &from, 1, &f->all)));
    from.value = squares;
    assert_true(holds(f, expected, value_opaque(&f->c, 1, &from, 1, &f->all)));
    from.value = sum;
    assert_false(holds(f, expected, value_opaque(&f->c, 1, &from, 1, &f->all)));
}

static void what_is_not_known_is_itself_alone(void **state) {
    struct fixture *f = *state;
    struct viewed a = value_unknown(&f->c, &f->all), b = value_unknown(&f->c, &f->all);
    assert_true(holds(f, times(f, plus(f, a, b, 1), f->x, 0),
                      plus(f, times(f, b, f->x, 0), times(f, a, f->x, 0), 1)));
    assert_false(holds(f, a, b));
    struct viewed zero = plus(f, times(f, plus(f, f->x, f->y, 1), f->x, 0),
                              plus(f, times(f, f->x, f->x, 0), times(f, f->x, f->y, 0), 1), -1);
    struct viewed inverse = value_power(&f->c, zero, -1, 1, &f->all);
    assert_false(holds(f, inverse, inverse));
}

// Shapes that would take more steps than are made are not looked at.
static void what_takes_long_is_left(void **state) {
    struct fixture *f = *state;
    struct coordinates large = {.sizes = {INT64_C(1) << 30, INT64_C(1) << 30}};
    struct viewed a = value_unknown(&f->c, &large);
    struct claim claim = {a, a, large, false};
    claims_evaluate(&f->c, &claim, 1);
    assert_false(claim.holds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_of_each_field_are_of_the_one_before),
        cmocka_unit_test(fractions_are_found_again),
        cmocka_unit_test_setup_teardown(moments_are_what_is_centred, begin, end),
        cmocka_unit_test_setup_teardown(exponentials_turn_sums_into_products, begin, end),
        cmocka_unit_test_setup_teardown(functions_are_of_their_values, begin, end),
        cmocka_unit_test_setup_teardown(tests_are_of_their_values, begin, end),
        cmocka_unit_test_setup_teardown(choices_are_sums, begin, end),
        cmocka_unit_test_setup_teardown(masks_take_away, begin, end),
        cmocka_unit_test_setup_teardown(arrays_stand_one_behind_the_other, begin, end),
        cmocka_unit_test_setup_teardown(ops_without_rules_are_of_whole_arrays, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_itself_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_takes_long_is_left, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
