// Forms as lists of digits, and parts of contractions: what joins, cuts and moves them gives the
// form that is so, and says of everything else that there is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/verify_small_step.h"
#include "verify/machine/machine.h"

enum { A, B, ONE, C }; // axes of 2, 3, 1 and 2 devices
static const struct mesh mesh = {.n_axes = 4,
                                 .axes = {{.size = 2}, {.size = 3}, {.size = 1}, {.size = 2}}};

struct forms {
    struct arena arena;
    struct digits digits;
};

static void begin(struct forms *f) {
    *f = (struct forms){0};
    digits_init(&f->digits, &f->arena, &mesh);
}

static form_id local(struct forms *f, int64_t first, int64_t second) {
    struct dim dims[2] = {{.size = first}, {.size = second}};
    return form_local(&f->digits, dims, second ? 2 : 1);
}

static void cut(struct forms *f, form_id *form, int dim, unsigned axis) {
    assert_null(form_cut(&f->digits, form, dim, axis));
}

static struct axis_list axes_of(int first, int second) {
    struct axis_list axes = {0};
    axis_list_add(&axes, (unsigned)first);
    if (second >= 0)
        axis_list_add(&axes, (unsigned)second);
    return axes;
}

static const char *cut_flat(struct forms *f, form_id *form, int first, int second, int64_t chunk) {
    struct axis_list axes = axes_of(first, second);
    return form_cut_flat(&f->digits, form, &axes, chunk);
}

static const char *join_flat(struct forms *f, form_id *form, int first, int second, int64_t chunk) {
    struct axis_list axes = axes_of(first, second);
    return form_join_flat(&f->digits, form, &axes, chunk);
}

static form_id flat(struct forms *f, int64_t elements, int first, int second, int64_t chunk) {
    form_id form = local(f, elements, 0);
    assert_null(cut_flat(f, &form, first, second, chunk));
    return form;
}

static form_id shifted(struct forms *f, form_id form, unsigned axis) {
    form_shift(&f->digits, &form, axis, 1);
    return form;
}

// What cannot be cut or joined stays as it is.
static void refused(form_id before, form_id after, const char *why, const char *says) {
    assert_non_null(why);
    assert_non_null(strstr(why, says));
    assert_int_equal(before, after);
}

static void dimensions_are_cut_where_they_divide(void **state) {
    struct forms f;
    begin(&f);
    form_id whole = local(&f, 12, 5), form = whole, shards = flat(&f, 12, A, -1, 6);
    refused(whole, form, form_cut(&f.digits, &form, 2, A), "no such");
    refused(whole, form, form_cut(&f.digits, &form, 1, A), "not divisible");
    form = shards;
    refused(shards, form, form_cut(&f.digits, &form, 0, A), "no such");
    form_id all = local(&f, 2, 0);
    cut(&f, &all, 0, A);
    form = all;
    refused(all, form, form_cut(&f.digits, &form, 0, C), "not divisible");
    unsigned n = 0;
    form = local(&f, INT64_C(1) << 40, 0);
    while (!form_cut(&f.digits, &form, 0, A))
        n++;
    assert_int_equal(n, MAX_DIGITS - 1);
    arena_free(&f.arena);
}

static void parts_are_joined_where_they_lie_in_order(void **state) {
    struct forms f;
    begin(&f);
    form_id whole = local(&f, 12, 5), form = whole, shards = flat(&f, 12, A, -1, 6);
    refused(whole, form, form_join(&f.digits, &form, 2, A), "no such");
    refused(whole, form, form_join(&f.digits, &form, 0, A), "does not cut");
    form = shards;
    refused(shards, form, form_join(&f.digits, &form, 0, A), "no such");
    form = whole;
    cut(&f, &form, 0, A);
    form_id once = form, moved = shifted(&f, once, A);
    cut(&f, &form, 0, B);
    form_id twice = form;
    assert_null(form_join(&f.digits, &form, 0, B));
    assert_int_equal(form, once);
    assert_null(form_join(&f.digits, &form, 0, A));
    assert_int_equal(form, whole);
    assert_null(form_join(&f.digits, &twice, 0, A));
    form = twice; // each device has the beginning of both halves
    refused(twice, form, form_join(&f.digits, &form, 0, B), "another order");
    form = moved;
    refused(moved, form, form_join(&f.digits, &form, 0, A), "another order");
    arena_free(&f.arena);
}

static void flat_shards_are_cut_into_chunks(void **state) {
    struct forms f;
    begin(&f);
    form_id whole = local(&f, 12, 5), form = whole;
    refused(whole, form, cut_flat(&f, &form, A, -1, 29), "too small");
    assert_null(cut_flat(&f, &form, ONE, -1, 60));
    assert_int_equal(form, whole);
    form_id by_a = whole, by_both = whole;
    assert_null(cut_flat(&f, &by_a, A, -1, 30));
    assert_null(cut_flat(&f, &by_both, ONE, A, 30));
    assert_int_equal(by_a, by_both);
    unsigned n = 0;
    for (form = whole; !cut_flat(&f, &form, A, -1, 60); n++)
        continue;
    assert_int_equal(n, MAX_LEVELS);
    arena_free(&f.arena);
}

static void flat_shards_are_joined_as_they_were_cut(void **state) {
    struct forms f;
    begin(&f);
    form_id whole = local(&f, 12, 0), form = whole;
    form_id by_a = flat(&f, 12, A, -1, 6), by_ab = flat(&f, 12, A, B, 2);
    assert_null(join_flat(&f, &form, ONE, -1, 12));
    assert_int_equal(form, whole);
    refused(whole, form, join_flat(&f, &form, A, -1, 6), "does not cut");
    form = by_ab;
    assert_null(join_flat(&f, &form, B, -1, 2));
    assert_int_equal(form, by_a);
    assert_null(join_flat(&f, &form, A, -1, 6));
    assert_int_equal(form, whole);
    form = by_ab;
    assert_null(join_flat(&f, &form, A, B, 2));
    assert_int_equal(form, whole);
    form = by_ab;
    refused(by_ab, form, join_flat(&f, &form, A, -1, 2), "another order");
    refused(by_ab, form, join_flat(&f, &form, B, -1, 3), "another order");
    form_id moved = shifted(&f, by_a, A);
    form = moved;
    refused(moved, form, join_flat(&f, &form, A, -1, 6), "another order");
    arena_free(&f.arena);
}

static bool leaves(struct forms *f, form_id form, unsigned axis, form_id left) {
    form_id found = form;
    bool idle = form_leave_idle(&f->digits, &found, axis);
    assert_int_equal(found, idle ? left : form);
    return idle;
}

// The first device of an axis has all where the chunks are so large.
static void devices_beyond_the_elements_are_idle(void **state) {
    struct forms f;
    begin(&f);
    form_id whole = local(&f, 12, 0), by_a = flat(&f, 12, A, -1, 12);
    assert_true(leaves(&f, by_a, A, whole));
    assert_false(leaves(&f, by_a, C, whole));
    assert_false(leaves(&f, flat(&f, 12, A, -1, 6), A, whole));
    assert_false(leaves(&f, shifted(&f, by_a, A), A, whole));
    assert_true(leaves(&f, flat(&f, 12, C, A, 6), C, flat(&f, 12, A, -1, 6)));
    arena_free(&f.arena);
}

// What has digits has no level of any axis, though the first form of all has fewer elements.
static void no_device_of_a_digit_is_idle(void **state) {
    struct forms f;
    begin(&f);
    form_id one = local(&f, 1, 0), rows = local(&f, 12, 0);
    cut(&f, &rows, 0, C);
    assert_false(leaves(&f, rows, A, one) || leaves(&f, rows, C, one));
    arena_free(&f.arena);
}

static void scalars_are_not_flat(void **state) {
    struct forms f;
    begin(&f);
    form_id scalar = form_make(&f.digits, NULL, 0), shards = scalar;
    assert_null(cut_flat(&f, &shards, A, -1, 1)); // makes the first of all dimensions
    assert_true(form_is_flat(&f.digits, shards));
    assert_false(form_is_flat(&f.digits, scalar));
    arena_free(&f.arena);
}

static void a_form_fits_its_local_sizes(void **state) {
    struct forms f;
    begin(&f);
    struct tensor_type type = {.rank = 2, .dims = {{.size = 12}, {.size = 5}}};
    assert_true(form_fits(&f.digits, local(&f, 12, 5), &type));
    assert_true(form_fits(&f.digits, FORM_ANY, &type));
    assert_false(form_fits(&f.digits, local(&f, 12, 4), &type));
    assert_false(form_fits(&f.digits, local(&f, 12, 0), &type));
    arena_free(&f.arena);
}

static void what_is_held_at_a_time_has_no_digit_of_time(void **state) {
    struct forms f;
    begin(&f);
    struct axis_list a = axes_of(A, -1);
    dim_id all = dim_cut(&f.digits, &a, -1, 4, 3), one = dim_cut(&f.digits, &a, -1, 1, 3);
    form_id form = form_make(&f.digits, &all, 1), shards = form;
    assert_int_equal(form_at_a_time(&f.digits, form), form_make(&f.digits, &one, 1));
    assert_null(cut_flat(&f, &shards, B, -1, 1));
    assert_int_equal(form_at_a_time(&f.digits, shards), shards);
    arena_free(&f.arena);
}

// ---- parts of contractions --------------------------------------------------------------------

static void parts_are_joined_of_one_contraction_only(void **state) {
    struct trial t;
    struct abstract_machine m;
    struct coverage_join join;
    small_step_begin_machine(&t, &m, "");
    struct axis_list a = axes_of(0, -1), b = axes_of(1, -1);
    dim_id by_a = dim_cut(&m.world->digits, &a, -1, 1, 4),
           by_b = dim_cut(&m.world->digits, &b, -1, 1, 4);
    coverage_id part = coverage_of(m.world, MONOID_SUM, 0, 'x', by_a);
    coverage_id next = coverage_shift(m.world, part, 0, 1);
    assert_true(coverage_join(m.world, MONOID_SUM, part, next, &join));
    assert_true(join.both == COVERAGE_COMPLETE && join.twice < 0);
    const coverage_id others[] = {
        coverage_of(m.world, MONOID_SUM, 1, 'x', by_a),
        coverage_of(m.world, MONOID_SUM, 0, 'x', by_b),
        coverage_of(m.world, MONOID_SUM, 0, 'y', by_a),
        coverage_of(m.world, MONOID_ATTENTION, 0, 'x', by_a),
        COVERAGE_COMPLETE,
        COVERAGE_UNKNOWN,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(coverage_join(m.world, MONOID_SUM, part, others[i], &join));
        assert_false(coverage_join(m.world, MONOID_SUM, others[i], part, &join));
    }
    assert_false(coverage_join(m.world, MONOID_ATTENTION, part, next, &join));
    assert_int_equal(coverage_shift(m.world, COVERAGE_UNKNOWN, 0, 1), COVERAGE_UNKNOWN);
    t.program->job->mesh.axes[0].size = LIMIT_RING + 1;
    assert_int_equal(coverage_of(m.world, MONOID_SUM, 0, 'x', by_b), COVERAGE_UNKNOWN);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_are_cut_where_they_divide),
        cmocka_unit_test(parts_are_joined_where_they_lie_in_order),
        cmocka_unit_test(flat_shards_are_cut_into_chunks),
        cmocka_unit_test(flat_shards_are_joined_as_they_were_cut),
        cmocka_unit_test(devices_beyond_the_elements_are_idle),
        cmocka_unit_test(no_device_of_a_digit_is_idle),
        cmocka_unit_test(scalars_are_not_flat),
        cmocka_unit_test(a_form_fits_its_local_sizes),
        cmocka_unit_test(what_is_held_at_a_time_has_no_digit_of_time),
        cmocka_unit_test(parts_are_joined_of_one_contraction_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
