// Collectives against execution, as verify_test_rules does it for ops: a matrix spread over one
// axis and over two in all ways, moved as the collective is defined, and compared with what the
// verifier says that it is behind it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verify_rule_bench.h"

enum move {
    MOVE_ALL_REDUCE,
    MOVE_MAXIMUM,
    MOVE_REDUCE_SCATTER,
    MOVE_ALL_GATHER,
    MOVE_ALL_TO_ALL, // from the other dimension to `dim`
    MOVE_PERMUTE,
    MOVE_SLICE,
    N_MOVES
};
static const char *const move_names[N_MOVES] = {
    "all_reduce", "all_reduce of maxima", "reduce_scatter", "all_gather", "all_to_all", "permute",
    "slice"};
struct moving {
    enum move move;
    const struct axis_list *axes;
    int dim, shift;
};

static bool cuts(enum move move) {
    return move == MOVE_REDUCE_SCATTER || move == MOVE_SLICE || move == MOVE_ALL_TO_ALL;
}

struct group {
    int members[MAX_DEVICES], n, own; // in the order of the axes, and the device's own place
};

static struct group group_of(const struct bench *b, const struct axis_list *axes, int device) {
    struct group group = {.n = 1};
    struct spreading along = {.of = {COPY, COPY}};
    for (unsigned i = 0; i < axes->n; i++)
        along.of[axes->axes[i]] = SUMMAND;
    for (unsigned i = 0; i < axes->n; i++) {
        group.n *= axis_size(b, axes->axes[i]);
        group.own = group.own * axis_size(b, axes->axes[i]) + coordinate(b, device, axes->axes[i]);
    }
    for (int other = 0; other < b->n_devices; other++) {
        int place = 0;
        for (unsigned i = 0; i < axes->n; i++)
            place = place * axis_size(b, axes->axes[i]) + coordinate(b, other, axes->axes[i]);
        if (combine_with(b, &along, device, other))
            group.members[place] = other;
    }
    return group;
}

struct corner {
    int64_t at[2];
};

// Adds a block of a matrix, from a corner on, to that of another, or takes the larger of the two.
static void join_block(const struct array *from, struct corner begin, struct array *target,
                       struct corner to, struct corner size, bool largest) {
    for (int64_t r = 0; r < size.at[0]; r++)
        for (int64_t c = 0; c < size.at[1]; c++) {
            double *sum = &target->data[(r + to.at[0]) * target->type.dims[1].size + c + to.at[1]];
            double x = from->data[(r + begin.at[0]) * from->type.dims[1].size + c + begin.at[1]];
            *sum = largest ? fmax(*sum, x) : *sum + x;
        }
}

static bool takes_from(const struct moving *m, const struct group *group, int member) {
    if (m->move == MOVE_SLICE)
        return member == group->own;
    return m->move != MOVE_PERMUTE || (member + m->shift) % group->n == group->own;
}

// What one device gets, from the definition of the move, on whatever the devices have.
static void execute_on(struct bench *b, const struct moving *m, unsigned draw, int device) {
    struct group group = group_of(b, m->axes, device);
    struct tensor_type type = b->part[draw][device][0].type;
    struct corner size = {{type.dims[0].size, type.dims[1].size}}, begin = {{0, 0}};
    int joined = m->move == MOVE_ALL_GATHER ? m->dim : m->move == MOVE_ALL_TO_ALL ? 1 - m->dim : -1;
    if (cuts(m->move)) {
        size.at[m->dim] /= group.n;
        begin.at[m->dim] = group.own * size.at[m->dim];
    }
    for (int d = 0; d < 2; d++)
        type.dims[d].size = size.at[d] * (d == joined ? group.n : 1);
    struct array *made = &b->part[draw][device][1];
    *made = array_new(&b->arena, type);
    for (int64_t e = 0; e < type_elements(&type) && m->move == MOVE_MAXIMUM; e++)
        made->data[e] = -INFINITY;
    for (int i = 0; i < group.n; i++) {
        struct corner to = {{0, 0}};
        if (joined >= 0)
            to.at[joined] = i * size.at[joined];
        if (takes_from(m, &group, i))
            join_block(&b->part[draw][group.members[i]][0], begin, made, to, size,
                       m->move == MOVE_MAXIMUM);
    }
}

// The result stands behind the operand.
static void execute_move(struct bench *b, const struct moving *m) {
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int d = 0; d < b->n_devices; d++)
            execute_on(b, m, draw, d);
}

static struct judgement judge_move(struct bench *b, const struct moving *m) {
    static const enum collective_kind kinds[] = {COLLECTIVE_ALL_REDUCE,     COLLECTIVE_ALL_REDUCE,
                                                 COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_GATHER,
                                                 COLLECTIVE_ALL_TO_ALL,     COLLECTIVE_PERMUTE};
    struct judgement from = judge_operand(b, 0);
    if (m->move == MOVE_SLICE)
        return slice_apply(&b->proof, m->axes, m->dim, 0, &from, span_nowhere());
    struct exchange exchange = exchange_flat(kinds[m->move], m->axes);
    if (m->move == MOVE_ALL_GATHER || cuts(m->move))
        exchange.dim = m->dim;
    if (m->move == MOVE_ALL_TO_ALL)
        exchange.concat_dim = 1 - m->dim;
    exchange.shift = m->shift;
    exchange.operation = m->move == MOVE_MAXIMUM ? OPERATION_MAX : OPERATION_SUM;
    return collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 0, &from,
                            span_nowhere());
}

static void try_move(struct bench *b, const struct moving *m) {
    struct judgement plain = judge_operand(b, 0);
    int64_t members = mesh_group_size(&b->program->job->mesh, m->axes);
    int64_t local = part_type(b, &b->whole[0][0].type, &b->spread[0]).dims[m->dim].size;
    b->judged[0] = judge_move(b, m);
    if (cuts(m->move) && local % members) {
        b->n_shapes++;
        assert_non_null(b->judged[0].fault);
        return;
    }
    for (unsigned draw = 0; draw < DRAWS; draw++)
        spread_array(b, draw, 0);
    execute_move(b, m);
    if (!b->judged[0].fault)
        check_claim(b, 0, &plain);
    check_refusals(b, false);
}

static void begin_moves(struct bench *b, int first, int second) {
    begin_bench(b, first, second);
    // An op of no kind, with one operand and one result of the same labels.
    b->op = (struct op){.kind = OP_CAST, .n_operands = 1, .n_results = 1};
    strcpy(b->labels[0], "xy");
    strcpy(b->labels[1], "xy");
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (unsigned i = 0; i < 2; i++)
            b->whole[draw][i] = array_new(&b->arena, whole_type(b, 0, false));
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int64_t e = 0; e < SIZE * SIZE; e++)
            b->whole[draw][1].data[e] = b->whole[draw][0].data[e] = random_between(b, 0.2, 1.2);
}

static void check_move(enum move move, int first, int second) {
    static const struct axis_list lists[] = {{1, {0}}, {1, {1}}, {2, {0, 1}}, {2, {1, 0}}};
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, first, second);
    bool along = move != MOVE_ALL_REDUCE && move != MOVE_MAXIMUM && move != MOVE_PERMUTE;
    for (int own = MAXIMUM; own < 2; own++)
        for (int other = second ? MAXIMUM : COPY; other < (second ? 2 : COPY + 1); other++)
            for (int list = 0; list < (second ? 4 : 1); list++)
                for (int dim = 0; dim < (along ? 2 : 1); dim++)
                    for (int shift = 0; shift < (move == MOVE_PERMUTE ? 7 : 1); shift++) {
                        b->spread[0] = (struct spreading){.of = {own, other}};
                        if (combines(own) && combines(other) && own != other)
                            continue;
                        try_move(b, &(struct moving){move, &lists[list], dim, shift});
                    }
    print_message("%-24s %4u claims hold, %4u refusals right, %5u shapes do not fit\n",
                  move_names[move], b->n_claimed, b->n_refused, b->n_shapes);
    assert_true(b->n_claimed > 0);
    arena_free(&b->arena);
    free(b);
}

static void moves_hold(void **state) {
    for (enum move move = 0; move < N_MOVES; move++) {
        check_move(move, 3, 0);
        check_move(move, 2, 3);
    }
}

static struct judgement permute(struct bench *b, const struct judgement *from, int shift) {
    struct exchange exchange = exchange_flat(COLLECTIVE_PERMUTE, &(struct axis_list){1, {0}});
    exchange.shift = shift;
    return collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 0, from, span_nowhere());
}

static bool gathers(struct bench *b, const struct judgement *from, int dim, int64_t chunk) {
    struct exchange exchange = exchange_flat(COLLECTIVE_ALL_GATHER, &(struct axis_list){1, {0}});
    exchange.dim = dim;
    return !collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, chunk, from,
                             span_nowhere())
                .fault;
}

// Parts that have been passed on are gathered in another order, until they are home again.
static void shifted_parts_are_gathered_at_home_only(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 3, 0);
    b->spread[0] = (struct spreading){.of = {0, COPY}};
    struct judgement cut = judge_operand(b, 0);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement flat = judge_operand(b, 0);
    assert_null(form_cut_flat(&b->world.digits, &flat.form, &(struct axis_list){1, {0}}, 12));
    for (int shift = -4; shift < 5; shift++) {
        struct judgement moved = permute(b, &cut, shift), moved_flat = permute(b, &flat, shift);
        assert_true(gathers(b, &moved, 0, 0) == (shift % 3 == 0));
        assert_true(gathers(b, &moved_flat, -1, 12) == (shift % 3 == 0));
        assert_int_equal(permute(b, &moved, 3 - shift).form, cut.form);
        assert_int_equal(permute(b, &moved_flat, 3 - shift).form, flat.form);
    }
    arena_free(&b->arena);
    free(b);
}

// 36 elements over both axes: in chunks of 18 the first device of b has all, the others zeros.
static void zeros_behind_all_elements_are_summands(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement whole = judge_operand(b, 0);
    int64_t elements = form_get(&b->world.digits, whole.form)->elements;
    struct exchange exchange = exchange_flat(COLLECTIVE_ALL_REDUCE, &(struct axis_list){1, {1}});
    for (int64_t chunk = elements / 6; chunk <= elements / 2 + 1; chunk++) {
        struct judgement cut = whole, expected = whole, found;
        const struct axis_list ba = {2, {1, 0}}, a_only = {1, {0}};
        assert_null(form_cut_flat(&b->world.digits, &cut.form, &ba, chunk));
        found = collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 0, &cut,
                                 span_nowhere());
        assert_non_null(found.fault); // nobody said that they are zeros
        cut.padding = PADDING_ZEROS;
        found = collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 0, &cut,
                                 span_nowhere());
        assert_true((found.fault == NULL) == (chunk * 2 >= elements));
        if (found.fault)
            continue;
        assert_null(form_cut_flat(&b->world.digits, &expected.form, &a_only, chunk));
        assert_int_equal(found.form, expected.form);
        assert_int_equal(found.partial, 0);
        assert_int_equal(found.bits & 2, 2);
        assert_true(scaled_same(b->world.terms, found.value, whole.value));
    }
    arena_free(&b->arena);
    free(b);
}

static const char *slice(struct bench *b, struct judgement *value, int axis, int dim,
                         int64_t chunk) {
    struct axis_list axes = {1, {(uint8_t)axis}};
    *value = slice_apply(&b->proof, &axes, dim, chunk, value, span_nowhere());
    return value->fault ? diagnostic_rows[value->fault->code].text : "right";
}

// 36 elements in two chunks of 18 or more; a chunk has no dimensions.
static void flat_shards_hold_all_and_have_no_dimensions(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement small = judge_operand(b, 0), flat = small;
    assert_string_equal(slice(b, &small, 0, -1, 17), "E510");
    assert_string_equal(slice(b, &flat, 0, -1, 18), "right");
    assert_string_equal(slice(b, &flat, 1, 0, 6), "E510");
    arena_free(&b->arena);
    free(b);
}

// What stands behind elements is zeros where it was, or where nothing does: 36 elements, cut in two and these in
// three, by a slice and by a reduce_scatter.
static void what_stands_behind_elements_stays_unknown(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement whole = judge_operand(b, 0);
    struct exchange exchange =
        exchange_flat(COLLECTIVE_REDUCE_SCATTER, &(struct axis_list){1, {1}});
    for (int64_t chunk = 18; chunk <= 19; chunk++)
        for (int clean = 0; clean < 2; clean++) {
            struct judgement half = whole, part;
            half.padding = clean ? PADDING_ZEROS : PADDING_ANY;
            assert_string_equal(slice(b, &half, 0, -1, chunk), "right");
            assert_int_equal(half.padding == PADDING_ZEROS, clean || chunk == 18);
            half.partial = 1u << 1;
            part = collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 7, &half,
                                    span_nowhere());
            assert_null(part.fault);
            assert_int_equal(part.padding == PADDING_ZEROS, clean || chunk == 18);
        }
    arena_free(&b->arena);
    free(b);
}

// 36 elements in chunks of 18 over one axis, and those in chunks of 6 or more over another. One
// gather over both puts chunk behind chunk, padding included, so there may be none in between.
static void padding_inside_is_gathered_apart(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement whole = judge_operand(b, 0), halves = whole;
    const struct axis_list both = {2, {0, 1}}, outer = {1, {0}}, inner = {1, {1}};
    struct digits *digits = &b->world.digits;
    assert_null(form_cut_flat(digits, &halves.form, &outer, 18));
    for (int64_t chunk = 6; chunk <= 9; chunk++) {
        form_id cut = halves.form, together, apart;
        assert_null(form_cut_flat(digits, &cut, &inner, chunk));
        together = apart = cut;
        assert_true((form_join_flat(digits, &together, &both, chunk) == NULL) == (chunk == 6));
        assert_null(form_join_flat(digits, &apart, &inner, chunk));
        assert_int_equal(apart, halves.form);
        assert_null(form_join_flat(digits, &apart, &outer, 18));
        assert_int_equal(apart, whole.form);
        assert_true(chunk > 6 || together == whole.form);
    }
    arena_free(&b->arena);
    free(b);
}

// Where one axis cuts two dimensions a device has blocks i and i. What a gather brings together
// along one of them are other blocks of the other.
static void blocks_of_the_diagonal_are_not_gathered(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    form_id whole = judge_operand(b, 0).form, rows = whole, blocks, form;
    const struct axis_list over = {1, {0}};
    struct digits *digits = &b->world.digits;
    assert_null(form_cut(digits, &rows, 0, 0));
    blocks = rows;
    assert_null(form_cut(digits, &blocks, 1, 0));
    for (int dim = 0; dim < 2; dim++)
        assert_non_null(form_join(digits, &(form_id){blocks}, dim, 0));
    form = rows;
    assert_null(form_join(digits, &form, 0, 0));
    assert_int_equal(form, whole);
    int64_t half = form_get(digits, rows)->elements / 2;
    form = rows;
    assert_null(form_cut_flat(digits, &form, &over, half));
    assert_non_null(form_join_flat(digits, &form, &over, half));
    form = rows;
    assert_null(form_cut_flat(digits, &form, &over, 2 * half));
    assert_false(form_leave_idle(digits, &form, 0));
    arena_free(&b->arena);
    free(b);
}

// Copies over `b` are equal to the bit, those over `a` are not; over `a * b` the last of b takes
// from the first of another row.
static void copies_that_are_mixed_may_differ(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 2, 3);
    b->spread[0] = (struct spreading){.of = {COPY, COPY}};
    struct judgement from = judge_operand(b, 0);
    struct exchange exchange = exchange_flat(COLLECTIVE_PERMUTE, &(struct axis_list){2, {0, 1}});
    from.bits = 2;
    for (int shift = 0; shift < 6; shift++) {
        exchange.shift = shift;
        uint32_t bits = collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 0, &from,
                                         span_nowhere())
                            .bits;
        assert_int_equal(bits, shift % 3 ? 0 : 2);
    }
    arena_free(&b->arena);
    free(b);
}

// Which rule refuses, of one axis and dimension 0: what is wrong, not that something is.
static void refusals_say_what_is_wrong(void **state) {
    static const struct {
        int spread;
        const char *codes[N_MOVES]; // NULL: it is right
    } rows[] = {
        {COPY, {NULL, NULL, NULL, "E510", "E510", NULL, NULL}},
        {SUMMAND, {NULL, "E410", NULL, "E410", "E410", NULL, "E410"}},
        {MAXIMUM, {NULL, NULL, "E411", "E410", "E410", NULL, "E410"}},
        {0, {"E411", "E411", "E411", NULL, "E510", NULL, "E510"}},
        {1, {"E411", "E411", "E411", "E510", NULL, NULL, "E510"}},
    };
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 3, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (enum move move = 0; move < N_MOVES; move++) {
            b->spread[0] = (struct spreading){.of = {rows[i].spread, COPY}};
            struct judgement judged =
                judge_move(b, &(struct moving){move, &(struct axis_list){1, {0}}, 0, 1});
            const char *found = judged.fault ? diagnostic_rows[judged.fault->code].text : "right";
            const char *expected = rows[i].codes[move] ? rows[i].codes[move] : "right";
            if (strcmp(found, expected))
                fail_msg("%s of spread %d is %s, not %s", move_names[move], rows[i].spread, found,
                         expected);
        }
    arena_free(&b->arena);
    free(b);
}

// Zeros are of every form, and stay zeros.
static void zeros_go_anywhere(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, 3, 0);
    struct scaled zero = {term_constant(BUILDER(b->world.terms), NODE_ZERO), SCALE_ONE};
    struct judgement zeros = judgement_of(&b->world, zero, FORM_ANY, DTYPE_F64);
    struct axis_list axes = {1, {0}};
    for (enum collective_kind kind = 0; kind < COLLECTIVE_COPY; kind++) {
        struct exchange exchange = exchange_flat(kind, &axes);
        struct judgement moved = collective_apply(&b->proof, BUILDER(b->world.terms), &exchange, 4,
                                                  &zeros, span_nowhere());
        assert_null(moved.fault);
        assert_true(scaled_equal(moved.value, zero) && moved.form == FORM_ANY && !moved.partial);
    }
    assert_null(slice_apply(&b->proof, &axes, 0, 4, &zeros, span_nowhere()).fault);
    arena_free(&b->arena);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_hold),
        cmocka_unit_test(shifted_parts_are_gathered_at_home_only),
        cmocka_unit_test(zeros_behind_all_elements_are_summands),
        cmocka_unit_test(flat_shards_hold_all_and_have_no_dimensions),
        cmocka_unit_test(what_stands_behind_elements_stays_unknown),
        cmocka_unit_test(padding_inside_is_gathered_apart),
        cmocka_unit_test(blocks_of_the_diagonal_are_not_gathered),
        cmocka_unit_test(copies_that_are_mixed_may_differ),
        cmocka_unit_test(refusals_say_what_is_wrong),
        cmocka_unit_test(zeros_go_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
