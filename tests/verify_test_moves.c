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
    MOVE_SLICE,
    N_MOVES
};
static const char *const move_names[N_MOVES] = {"all_reduce", "all_reduce of maxima",
                                                "reduce_scatter", "all_gather", "slice"};

struct group {
    int members[MAX_DEVICES], n, own; // in the order of the axes, and the device's own place
};

static struct group group_of(const struct bench *b, const struct axis_list *axes, int device) {
    struct group group = {.n = 1};
    struct spreading along = {{COPY, COPY}, false};
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

// Copies rows (dimension 0) or columns (dimension 1) [begin, begin + n) of a matrix to those of
// another from `to` on, adding.
static void add_lines(const struct array *from, int64_t begin, struct array *target, int64_t to,
                      int64_t n, int dim) {
    int64_t rows = dim ? from->type.dims[0].size : n;
    int64_t columns = dim ? n : from->type.dims[1].size;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            target->data[(r + (dim ? 0 : to)) * target->type.dims[1].size + c + (dim ? to : 0)] +=
                from->data[(r + (dim ? 0 : begin)) * from->type.dims[1].size + c +
                           (dim ? begin : 0)];
}

// From its definition, on whatever the devices have. The result stands behind the operand.
static void execute_move(struct bench *b, enum move move, const struct axis_list *axes, int dim) {
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int d = 0; d < b->n_devices; d++) {
            struct group group = group_of(b, axes, d);
            struct tensor_type type = b->part[draw][d][0].type;
            int64_t size = type.dims[dim].size;
            if (move == MOVE_ALL_GATHER)
                type.dims[dim].size = size * group.n;
            else if (move == MOVE_REDUCE_SCATTER || move == MOVE_SLICE)
                type.dims[dim].size = size = size / group.n;
            struct array *made = &b->part[draw][d][1];
            *made = array_new(&b->arena, type);
            for (int64_t e = 0; move == MOVE_MAXIMUM && e < type_elements(&type); e++)
                made->data[e] = -INFINITY;
            for (int i = 0; i < group.n; i++) {
                const struct array *from = &b->part[draw][group.members[i]][0];
                if (move == MOVE_ALL_GATHER)
                    add_lines(from, 0, made, i * size, size, dim);
                else if (move == MOVE_MAXIMUM)
                    for (int64_t e = 0; e < type_elements(&type); e++)
                        made->data[e] = fmax(made->data[e], from->data[e]);
                else if (move == MOVE_ALL_REDUCE)
                    add_lines(from, 0, made, 0, size, dim);
                else if (move == MOVE_REDUCE_SCATTER || i == group.own)
                    add_lines(from, group.own * size, made, 0, size, dim);
            }
        }
}

static struct judgement judge_move(struct bench *b, enum move move, const struct axis_list *axes,
                                   int dim) {
    static const enum collective_kind kinds[] = {
        [MOVE_ALL_REDUCE] = COLLECTIVE_ALL_REDUCE,
        [MOVE_MAXIMUM] = COLLECTIVE_ALL_REDUCE,
        [MOVE_REDUCE_SCATTER] = COLLECTIVE_REDUCE_SCATTER,
        [MOVE_ALL_GATHER] = COLLECTIVE_ALL_GATHER,
    };
    struct judgement from = judge_operand(b, 0);
    if (move == MOVE_SLICE)
        return slice_apply(&b->engine, axes, dim, 0, &from, span_nowhere());
    struct exchange exchange = {.kind = kinds[move], .axes = *axes, .dim = dim};
    if (exchange.kind == COLLECTIVE_ALL_REDUCE)
        exchange.dim = -1;
    if (move == MOVE_MAXIMUM)
        exchange.operation = OPERATION_MAX;
    return collective_apply(&b->engine, &exchange, 0, &from, span_nowhere());
}

static void try_move(struct bench *b, enum move move, const struct axis_list *axes, int dim) {
    struct judgement plain = judge_operand(b, 0);
    int64_t members = mesh_group_size(&b->program.mesh, axes);
    int64_t local = part_type(b, &b->whole[0][0].type, &b->spread[0]).dims[dim].size;
    b->judged[0] = judge_move(b, move, axes, dim);
    bool cuts = move == MOVE_REDUCE_SCATTER || move == MOVE_SLICE;
    if (cuts && local % members) {
        b->n_shapes++;
        assert_non_null(b->judged[0].fault);
        return;
    }
    for (unsigned draw = 0; draw < DRAWS; draw++)
        spread_array(b, draw, 0);
    execute_move(b, move, axes, dim);
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
    bool along = move != MOVE_ALL_REDUCE && move != MOVE_MAXIMUM;
    for (int own = MAXIMUM; own < 2; own++)
        for (int other = second ? MAXIMUM : COPY; other < (second ? 2 : COPY + 1); other++)
            for (int list = 0; list < (second ? 4 : 1); list++)
                for (int dim = 0; dim < (along ? 2 : 1); dim++) {
                    b->spread[0] = (struct spreading){{own, other}, false};
                    if (combines(own) && combines(other) && own != other)
                        continue;
                    try_move(b, move, &lists[list], dim);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
