// Element types: what the rows of ops.def say, and what follows from them for operands and results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ir/ir.h"

// A letter for each operand and result, in two groups.
static void rows_say_all_of_them(void **state) {
    for (int kind = 0; kind < N_OPS; kind++) {
        const char *elements = op_rows[kind].elements, *arrow = strstr(elements, "->");
        assert_non_null(arrow);
        assert_int_equal(arrow - elements, op_operand_count(kind));
        assert_int_equal(strlen(arrow + 2), op_result_count(kind));
        assert_int_equal(strspn(elements, "abcdegimnptvw.->"), strlen(elements));
    }
}

static void wider_types_hold_narrower_ones(void **state) {
    static const struct {
        enum dtype dtype, held;
        bool holds;
    } cases[] = {
        {DTYPE_F64, DTYPE_F32, true},   {DTYPE_F32, DTYPE_F64, false},
        {DTYPE_F32, DTYPE_F16, true},   {DTYPE_F32, DTYPE_BF16, true},
        {DTYPE_F16, DTYPE_BF16, false}, // it has fewer exponents,
        {DTYPE_BF16, DTYPE_F16, false}, // and fewer digits
        {DTYPE_BF16, DTYPE_BF16, true}, {DTYPE_F64, DTYPE_I32, true},
        {DTYPE_F32, DTYPE_I32, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dtype_holds(cases[i].dtype, cases[i].held), cases[i].holds);
}

struct trial {
    struct arena arena;
    struct unit unit;
};

static value_id parameter(struct trial *t, enum dtype dtype, unsigned rank) {
    struct tensor_type type = {.dtype = dtype, .rank = (uint8_t)rank};
    for (unsigned i = 0; i < rank; i++)
        type.dims[i] = (struct dim){DIM_HIDDEN, 4};
    return unit_add_parameter(&t->arena, &t->unit, "x", type, false);
}

static struct op *op(struct trial *t, enum op_kind kind, const value_id *operands, unsigned n) {
    struct op *made = unit_add_op(&t->arena, &t->unit, kind, "y", operands, n, span_nowhere());
    if (kind == OP_EINSUM)
        op_set_word(&t->arena, made, ATTRIBUTE_LABELS, "ab,bc->ac");
    return made;
}

// The type of a result, which may have been given one before its shape is inferred.
static enum dtype made_of(enum op_kind kind, enum dtype a, enum dtype b, enum dtype given,
                          const char *expected) {
    struct trial t = {0};
    value_id operands[] = {parameter(&t, a, 2), parameter(&t, b, 2)};
    struct op *made = op(&t, kind, operands, op_operand_count(kind));
    const char *why;
    t.unit.values[made->results[0]].type.dtype = given;
    assert_true(op_infer_types(&t.arena, &t.unit, made, &why));
    const char *wrong = op_wrong_elements(&t.unit, made);
    enum dtype dtype = t.unit.values[made->results[0]].type.dtype;
    assert_int_equal(!wrong, !expected);
    if (wrong)
        assert_string_equal(wrong, expected);
    arena_free(&t.arena);
    return dtype;
}

static void results_have_the_type_that_their_maker_says(void **state) {
    assert_int_equal(made_of(OP_ADD, DTYPE_F32, DTYPE_F32, DTYPE_NONE, NULL), DTYPE_F32);
    assert_int_equal(made_of(OP_ADD, DTYPE_BF16, DTYPE_F32, DTYPE_NONE, NULL), DTYPE_BF16);
    assert_int_equal(made_of(OP_ADD, DTYPE_BF16, DTYPE_F32, DTYPE_F32, NULL), DTYPE_F32);
    assert_int_equal(made_of(OP_EINSUM, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, NULL), DTYPE_F32);
    made_of(OP_EINSUM, DTYPE_BF16, DTYPE_F32, DTYPE_F32, "is given elements of several types");
    // A sum has the type of what it is added to.
    assert_int_equal(made_of(OP_ACCUMULATE, DTYPE_F32, DTYPE_BF16, DTYPE_BF16, NULL), DTYPE_F32);
    made_of(OP_ADD, DTYPE_F32, DTYPE_I32, DTYPE_F32, "is given integers where it wants numbers");
    made_of(OP_CAST, DTYPE_F32, DTYPE_F32, DTYPE_I32, NULL);
}

static void statistics_are_in_what_is_computed_in(void **state) {
    static const enum dtype given[][2] = {{DTYPE_BF16, DTYPE_F32},
                                          {DTYPE_F16, DTYPE_F32},
                                          {DTYPE_F32, DTYPE_F32},
                                          {DTYPE_F64, DTYPE_F64}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct trial t = {0};
        value_id operands[] = {parameter(&t, given[i][0], 2), parameter(&t, given[i][0], 1)};
        struct op *made = op(&t, OP_RMS_NORM, operands, 2);
        const char *why;
        assert_true(op_infer_types(&t.arena, &t.unit, made, &why));
        assert_null(op_wrong_elements(&t.unit, made));
        assert_int_equal(t.unit.values[made->results[0]].type.dtype, given[i][0]);
        assert_int_equal(t.unit.values[made->results[1]].type.dtype, given[i][1]);
        assert_int_equal(op_computes_in(&t.unit, made), given[i][1]);
        t.unit.values[made->results[1]].type.dtype = DTYPE_BF16;
        assert_string_equal(op_wrong_elements(&t.unit, made),
                            "is given elements of another type than it computes in");
        arena_free(&t.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_say_all_of_them),
        cmocka_unit_test(wider_types_hold_narrower_ones),
        cmocka_unit_test(results_have_the_type_that_their_maker_says),
        cmocka_unit_test(statistics_are_in_what_is_computed_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
