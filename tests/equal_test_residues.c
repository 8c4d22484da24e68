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
        assert_int_equal(field_power(field, 5, field->prime - 1), 1);
        assert_int_equal(field_multiply(field, field_inverse(field, 12345), 12345), 1);
        if (i == 0)
            continue;
        assert_true(field->base >
                    INT32_MAX); // no number that programs write is the exponential of another
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
    // Numbers have exponentials that are no numbers; and whichever side is deeper.
    struct viewed one = value_fraction(&f->c, 1, 1);
    for (int64_t number = 1; number < 5000; number++)
        assert_false(holds(f, exponential(f, one), value_fraction(&f->c, number, 1)));
    struct viewed inverse = times(f, exponential(f, value_scaled(&f->c, f->x, -1, 1)),
                                  exponential(f, value_scaled(&f->c, f->y, -1, 1)), 0);
    struct viewed canceled = times(f, exponential(f, sum), inverse, 0);
    assert_true(holds(f, canceled, one));
    assert_true(holds(f, one, canceled));
    // As scalars they are factors of scales.
    uint64_t all = UINT64_C(1) << ROW | UINT64_C(1) << COLUMN;
    struct viewed a = times(f, f->x, one, all), b = times(f, f->y, one, all);
    struct viewed scalar = exponential(f, plus(f, a, b, 1)),
                  factors[] = {exponential(f, a), exponential(f, b)};
    struct viewed scaled = times(f, times(f, factors[0], factors[1], 0), f->x, 0);
    assert_true(holds(f, times(f, scalar, f->x, 0), scaled));
    assert_true(holds(f, scaled, times(f, scalar, f->x, 0)));
    assert_false(holds(f, times(f, scalar, f->y, 0), scaled));
    sum = exponential(f, sum);
    wrong = exponential(f, wrong);
    for (int i = 3; i < N_FIELDS; i++) {
        sum = function(f, PRIM_SINE, exponential(f, sum));
        product = function(f, PRIM_SINE, exponential(f, product));
        wrong = function(f, PRIM_SINE, exponential(f, wrong));
        assert_true(holds(f, sum, product));
        assert_false(holds(f, sum, wrong));
        sum = plus(f, sum, f->y, 1);
        product = plus(f, f->y, product, 1);
    }
}

// What the reals have of roots, and what only a field's own would have.
static void roots_are_of_what_is_not_negative(void **state) {
    struct fixture *f = *state;
    struct viewed opposite = value_scaled(&f->c, f->x, -1, 1), minus = value_fraction(&f->c, -1, 1);
    struct viewed square = times(f, f->x, f->x, 0), sum = plus(f, f->x, f->y, 1);
    struct viewed squares =
        plus(f, plus(f, square, times(f, f->x, f->y, 0), 2), times(f, f->y, f->y, 0), 1);
    const int64_t exponents[] = {-3, -1, 1, 3, 5};
    for (int i = 0; i < 5; i++) {
        struct viewed root = value_power(&f->c, f->x, exponents[i], 2, &f->all);
        struct viewed turned = value_power(&f->c, opposite, exponents[i], 2, &f->all);
        assert_false(holds(f, root, turned));
        assert_false(holds(f, root, value_scaled(&f->c, turned, -1, 1)));
        assert_true(
            holds(f, times(f, root, root, 0), value_power(&f->c, f->x, exponents[i], 1, &f->all)));
        assert_true(holds(f, times(f, times(f, root, root, 0), root, 0),
                          value_power(&f->c, f->x, 3 * exponents[i], 2, &f->all)));
    }
    struct viewed of_squares = value_power(&f->c, squares, 1, 2, &f->all);
    assert_false(holds(f, of_squares, sum));
    assert_false(holds(f, of_squares, value_scaled(&f->c, sum, -1, 1)));
    assert_true(holds(f, times(f, of_squares, of_squares, 0), times(f, sum, sum, 0)));
    assert_false(holds(f, value_power(&f->c, minus, 1, 2, &f->all), minus));
    struct viewed third = value_power(&f->c, sum, 1, 3, &f->all);
    assert_false(holds(f, third, value_power(&f->c, sum, 2, 3, &f->all)));
    // Roots at other places are other factors.
    struct affine row = affine_coordinate(ROW, ROWS);
    struct substitution by = {.of = {[COLUMN] = &row}, .sizes = {[COLUMN] = COLUMNS}};
    struct viewed of_column = value_power(&f->c, f->row, 1, 2, &f->all), of_row;
    assert_true(value_move(&f->c, of_column, &by, &of_row));
    assert_false(holds(f, times(f, of_column, of_row, 0), f->row));
    assert_true(holds(f, times(f, of_column, of_column, 0), f->row));
}

static void scalars_are_factors(void **state) {
    struct fixture *f = *state;
    uint64_t both = UINT64_C(1) << ROW | UINT64_C(1) << COLUMN;
    struct viewed one = value_fraction(&f->c, 1, 1), sum = times(f, f->x, one, both);
    struct viewed root = value_power(&f->c, sum, 1, 2, &f->all);
    assert_true(holds(f, times(f, times(f, root, root, 0), f->y, 0), times(f, sum, f->y, 0)));
    assert_false(holds(f, times(f, root, f->y, 0), times(f, sum, f->y, 0)));
    // Numbers of which only the powers of primes are known, and scales of which nothing is.
    struct viewed large = value_fraction(&f->c, 3, 1), larger = large;
    for (int i = 0; i < 6; i++) {
        large.of.scale = scale_multiply(&f->c.terms, large.of.scale, large.of.scale);
        larger.of.scale = scale_multiply(&f->c.terms, larger.of.scale, larger.of.scale);
    }
    larger = value_scaled(&f->c, larger, 3, 1);
    assert_int_not_equal(scale_get(&f->c.terms, large.of.scale)->primes, 0);
    assert_false(holds(f, times(f, large, f->x, 0), times(f, larger, f->x, 0)));
    assert_true(holds(f, times(f, larger, f->x, 0),
                      plus(f, times(f, large, f->x, 0), times(f, large, f->x, 0), 2)));
    struct viewed unknown = f->x;
    unknown.of.scale =
        scale_product(&f->c.terms, scale_of_term(&f->c.terms, sum.of.of),
                      scale_invert(&f->c.terms, scale_of_term(&f->c.terms, sum.of.of)));
    assert_int_not_equal(scale_get(&f->c.terms, unknown.of.scale)->serial, 0);
    assert_false(holds(f, unknown, f->x));
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
    struct viewed opposite = value_scaled(&f->c, squares, -1, 1);
    assert_true(holds(f, function(f, PRIM_ABS, both), function(f, PRIM_ABS, opposite)));
    assert_false(holds(f, function(f, PRIM_TANH, both), function(f, PRIM_TANH, opposite)));
    int kind = KIND_POINTWISE + PRIM_FLOOR;
    assert_false(holds(f, value_pointwise(&f->c, kind, 1, &both, 1, &f->all),
                       value_pointwise(&f->c, kind, 2, &squares, 1, &f->all)));
    struct viewed largest = value_fold(&f->c, KIND_LARGEST, both, columns, &f->all);
    assert_true(holds(f, largest, value_fold(&f->c, KIND_LARGEST, squares, columns, &f->all)));
    assert_false(holds(f, largest, value_fold(&f->c, KIND_LEAST, squares, columns, &f->all)));
    assert_false(holds(f, largest, value_fold(&f->c, KIND_LARGEST, squares, 1, &f->all)));
    struct viewed least = value_fold(&f->c, KIND_LEAST, opposite, columns, &f->all);
    assert_true(holds(f, largest, value_scaled(&f->c, least, -1, 1)));
    // The largest of two rows that are equal is that of one.
    struct viewed repeated =
        plus(f, times(f, plus(f, f->row, f->x, 1), plus(f, f->row, f->x, -1), 0),
             times(f, f->x, f->x, 0), 1);
    uint64_t all = columns | UINT64_C(1) << ROW;
    assert_true(
        holds(f, value_fold(&f->c, KIND_LARGEST, repeated, all, &f->all),
              value_fold(&f->c, KIND_LARGEST, times(f, f->row, f->row, 0), columns, &f->all)));
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

// Places at and below the diagonal, another number above it.
static struct viewed chosen_below(struct fixture *f, struct viewed value, int64_t shift,
                                  double other) {
    struct affine index = affine_constant(shift);
    affine_push(&index, (struct piece){1, 1, ROWS, 0, ROW});
    affine_push(&index, (struct piece){-1, 1, COLUMNS, 0, COLUMN});
    affine_normal(&index);
    struct viewed test = value_pointwise(
        &f->c, KIND_AT_LEAST, 1,
        &(struct viewed){value_index(&f->c, &index).of, value_index(&f->c, &index).view}, 1,
        &f->all);
    struct viewed operands[] = {test, value, value_real(&f->c, other, 24)};
    return value_pointwise(&f->c, KIND_POINTWISE + PRIM_SELECT, 0, operands, 3, &f->all);
}

static struct viewed masked(struct fixture *f, struct viewed value, int64_t shift) {
    return chosen_below(f, value, shift, -INFINITY);
}

static struct viewed masked_by(struct fixture *f, struct viewed value, double other) {
    return chosen_below(f, value, 0, other);
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
    // What is above all is no mask, and no number.
    assert_false(holds(f, exponential(f, masked_by(f, sum, INFINITY)), product));
    assert_false(holds(f, exponential(f, masked_by(f, sum, INFINITY)),
                       exponential(f, masked_by(f, plus(f, f->y, f->x, 1), INFINITY))));
    struct viewed least =
        value_fold(&f->c, KIND_LEAST, masked_by(f, sum, INFINITY), columns, &f->all);
    struct viewed opposite = value_scaled(&f->c, sum, -1, 1);
    struct viewed of_opposite =
        value_fold(&f->c, KIND_LARGEST, masked(f, opposite, 0), columns, &f->all);
    assert_true(holds(f, least, value_scaled(&f->c, of_opposite, -1, 1)));
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
    // It is another number at each place, and one that maps over rows is one of each row.
    uint64_t all = UINT64_C(1) << ROW | UINT64_C(1) << COLUMN;
    struct viewed one = value_fraction(&f->c, 1, 1);
    assert_false(
        holds(f, times(f, expected, one, all), value_scaled(&f->c, expected, ROWS * COLUMNS, 1)));
    struct viewed same_rows = plus(f, f->row, f->row, 1);
    same_rows = times(f, same_rows, same_rows, 0);
    struct viewed widened = plus(f, plus(f, same_rows, f->x, 1), f->x, -1);
    from =
        (struct opaque_operand){.value = widened, .sizes = sizes, .rank = 2, .mapped = {ROW, -1}};
    struct viewed of_rows = value_opaque(&f->c, 1, &from, 1, &f->all);
    from.value = both;
    struct viewed of_each = value_opaque(&f->c, 1, &from, 1, &f->all);
    from.value = squares;
    assert_true(holds(f, of_each, value_opaque(&f->c, 1, &from, 1, &f->all)));
    assert_false(holds(f, of_each, of_rows));
    struct affine last = affine_constant(0);
    struct substitution at_first = {.of = {[ROW] = &last}, .sizes = {[ROW] = ROWS}};
    struct viewed first;
    assert_true(value_move(&f->c, of_each, &at_first, &first));
    assert_false(holds(f, of_each, first));
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
    // Nothing is known of it where something else is zero, either.
    assert_false(holds(f, times(f, zero, inverse, 0), value_zero(&f->c)));
}

// Numbers are whole, of few digits, or any; places are told from each other, and tests of them decided at zero.
static void constants_are_their_numbers(void **state) {
    struct fixture *f = *state;
    double reals[ROWS * COLUMNS], halves[ROWS * COLUMNS], turned[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        reals[i] = i % 5 + 0.25;
        halves[i] = 2 * reals[i];
        turned[i] = i % 2 ? 0.1 : -0.1;
    }
    struct literal first = {.reals = reals, .n = ROWS * COLUMNS},
                   second = {.reals = halves, .n = ROWS * COLUMNS};
    struct viewed a = value_array(&f->c, &first, &f->all), b = value_array(&f->c, &second, &f->all);
    assert_true(holds(f, plus(f, a, a, 1), b));
    assert_false(holds(f, a, b));
    struct literal signs = {.reals = turned, .n = ROWS * COLUMNS};
    struct viewed c = value_array(&f->c, &signs, &f->all);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        reals[i] = 0.1;
    struct viewed d = value_array(&f->c, &first, &f->all);
    assert_false(holds(f, c, d));
    assert_true(holds(f, times(f, c, c, 0), times(f, d, d, 0)));
    struct affine index = affine_coordinate(COLUMN, COLUMNS);
    struct viewed place = value_index(&f->c, &index), one = value_fraction(&f->c, 1, 1);
    struct viewed above = value_pointwise(&f->c, KIND_ABOVE, 0, &place, 1, &f->all);
    struct viewed is_zero = value_pointwise(&f->c, KIND_IS_ZERO, 0, &place, 1, &f->all);
    assert_true(holds(f, above, plus(f, one, is_zero, -1)));
    assert_false(holds(f, above, one));
}

// A fraction that only the last field tells from others, as it has many digits.
static void tests_of_numbers_are_decided_in_the_last_field(void **state) {
    struct fixture *f = *state;
    int64_t numbers[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        numbers[i] = i % 3 ? (int64_t)fields[0].prime : -(int64_t)fields[0].prime;
    struct literal literal = {.integers = numbers, .n = ROWS * COLUMNS};
    struct viewed array = value_array(&f->c, &literal, &f->all), one = value_fraction(&f->c, 1, 1);
    struct viewed test = value_pointwise(&f->c, KIND_IS_ZERO, 1, &array, 1, &f->all);
    assert_false(holds(f, test, one));
}

// Numbers that are nothing in a field are something in the next.
static void multiples_of_primes_are_no_zeros(void **state) {
    struct fixture *f = *state;
    for (int i = 0; i < N_FIELDS; i++) {
        struct viewed multiple = value_fraction(&f->c, (int64_t)fields[i].prime, 1);
        assert_false(holds(f, plus(f, f->x, times(f, multiple, f->y, 0), 1), f->x));
    }
}

// Shapes that would take more steps than are made are not looked at.
static void what_takes_long_is_left(void **state) {
    struct fixture *f = *state;
    struct coordinates large = {.sizes = {INT64_C(1) << 30, INT64_C(1) << 30}};
    struct viewed a = value_unknown(&f->c, &large);
    struct claim claims[] = {{a, a, large, false}, {f->x, f->x, f->all, false}};
    claims_evaluate(&f->c, claims, 2);
    assert_false(claims[0].holds);
    assert_true(claims[1].holds);
    // Also of what is made of few numbers.
    const int64_t sizes[] = {ROWS, COLUMNS};
    struct opaque_operand from = {.value = f->x, .sizes = sizes, .rank = 2, .mapped = {-1, -1}};
    struct viewed drawn = value_opaque(&f->c, 1, &from, 1, &large);
    claims[0] = (struct claim){drawn, drawn, f->all, false};
    claims_evaluate(&f->c, claims, 1);
    assert_false(claims[0].holds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_of_each_field_are_of_the_one_before),
        cmocka_unit_test(fractions_are_found_again),
        cmocka_unit_test_setup_teardown(moments_are_what_is_centred, begin, end),
        cmocka_unit_test_setup_teardown(exponentials_turn_sums_into_products, begin, end),
        cmocka_unit_test_setup_teardown(roots_are_of_what_is_not_negative, begin, end),
        cmocka_unit_test_setup_teardown(scalars_are_factors, begin, end),
        cmocka_unit_test_setup_teardown(functions_are_of_their_values, begin, end),
        cmocka_unit_test_setup_teardown(constants_are_their_numbers, begin, end),
        cmocka_unit_test_setup_teardown(tests_of_numbers_are_decided_in_the_last_field, begin, end),
        cmocka_unit_test_setup_teardown(tests_are_of_their_values, begin, end),
        cmocka_unit_test_setup_teardown(choices_are_sums, begin, end),
        cmocka_unit_test_setup_teardown(masks_take_away, begin, end),
        cmocka_unit_test_setup_teardown(arrays_stand_one_behind_the_other, begin, end),
        cmocka_unit_test_setup_teardown(ops_without_rules_are_of_whole_arrays, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_itself_alone, begin, end),
        cmocka_unit_test_setup_teardown(multiples_of_primes_are_no_zeros, begin, end),
        cmocka_unit_test_setup_teardown(what_takes_long_is_left, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
