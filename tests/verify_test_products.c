// Laws of one-hot products against execution: random values are made of a few inputs by takes,
// puts, moves, products and sums. Each has a term, in whose normal form the laws have had their
// say, and a number for every element. Values of one term must have the same numbers, whatever they
// were made by; and the laws must have something to say, so that values made differently meet in
// one term.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/verify_rule_bench.h"

enum { VALUES = 300, INPUTS = 6, COUNTS = 3, RANK = 3, ROUNDS = 300 };

struct pool {
    struct bench bench;
    struct unit unit;
    struct array arrays[VALUES];
    struct judgement judged[VALUES];
    unsigned n, met; // values; of them, with a term that another op had made
};

static unsigned pick(struct pool *p, unsigned n) {
    return (unsigned)(random_bits(&p->bench.random) % n);
}

// ---- values -----------------------------------------------------------------------------------

static struct tensor_type type_of(unsigned rank, const int64_t *sizes) {
    struct tensor_type type = {.dtype = DTYPE_F64, .rank = (uint8_t)rank};
    for (unsigned d = 0; d < rank; d++)
        type.dims[d] = (struct dim){DIM_PART, sizes[d]};
    return type;
}

static void add_input(struct pool *p) {
    struct engine *e = &p->bench.engine;
    int64_t sizes[RANK];
    unsigned rank = 1 + pick(p, RANK);
    for (unsigned d = 0; d < rank; d++)
        sizes[d] = 2 + pick(p, COUNTS);
    struct tensor_type type = type_of(rank, sizes);
    struct array array = array_new(&p->bench.arena, type);
    for (int64_t i = 0; i < type_elements(&type); i++)
        array.data[i] = random_between(&p->bench, -1, 1);
    struct scaled value = {term_leaf(e->terms, NODE_INPUT, p->n + 1, false, 0), SCALE_ONE};
    form_id form = form_local(&e->digits, type.dims, rank);
    p->unit.values[p->n].type = type;
    p->arrays[p->n] = array;
    p->judged[p->n++] = judgement_of(e, value, form, DTYPE_F64);
}

// Runs the op, and asks what it is.
static void add_result(struct pool *p, struct op *op) {
    const char *why;
    op->n_operands = (uint8_t)op_operand_count(op->kind);
    op->n_results = 1;
    op->results[0] = p->n;
    op->span = span_nowhere();
    struct array operands[MAX_OPERANDS];
    struct judgement judged[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++) {
        operands[i] = p->arrays[op->operands[i]];
        judged[i] = p->judged[op->operands[i]];
    }
    if (!op_infer_types(&p->bench.program, &p->unit, op, &why))
        return;
    p->arrays[p->n] = array_new(&p->bench.arena, p->unit.values[p->n].type);
    interpret_op(op, operands, &p->arrays[p->n]);
    rule_apply(&p->bench.engine, &p->unit, op, judged, &p->judged[p->n]);
    bool zero = false; // of which alone no form is known
    for (unsigned i = 0; i < op->n_operands; i++)
        zero |= term_kind(p->bench.engine.terms, judged[i].value.of) == NODE_ZERO;
    assert_true(zero || !p->judged[p->n].fault);
    p->n += !p->judged[p->n].fault;
}

// Values 0, 1 and 2 count 2, 3 and 4 places.
static void add_counts(struct pool *p) {
    for (int64_t size = 2; size < 2 + COUNTS; size++) {
        struct op op = {.kind = OP_IOTA};
        op_set(&p->bench.program, &op,
               (struct attribute){.name = ATTRIBUTE_DIMENSION, .integer = DIM_PART});
        p->unit.values[p->n].type = type_of(1, &size);
        p->unit.values[p->n].type.dtype = DTYPE_I32;
        add_result(p, &op);
    }
}

// ---- ops --------------------------------------------------------------------------------------

// One with dimensions: inputs have some.
static value_id any_value(struct pool *p) {
    unsigned n = p->n - COUNTS, recent = pick(p, 2) ? 8 : n; // so that laws follow one another
    value_id value = p->n - 1 - pick(p, recent < n ? recent : n);
    return p->unit.values[value].type.rank ? value : COUNTS + pick(p, INPUTS);
}

static value_id count_of(int64_t size) {
    return (value_id)(size - 2);
}

static void make_moved(struct pool *p, struct op *op) {
    static const enum op_kind kinds[] = {OP_TAKE, OP_PUT, OP_MOVE};
    op->kind = kinds[pick(p, 3)];
    op->operands[0] = any_value(p);
    const struct tensor_type *type = &p->unit.values[op->operands[0]].type;
    unsigned at = pick(p, type->rank + (op->kind == OP_PUT));
    bool range = op->kind == OP_MOVE;
    int64_t number = (int64_t)pick(p, range ? 5 : 4) - (range ? 2 : 0);
    if (op->kind == OP_PUT ? type->rank == RANK : type->dims[at].size < 2)
        return;
    op->operands[1] = op->kind == OP_PUT ? pick(p, COUNTS) : count_of(type->dims[at].size);
    op->operands[2] = pick(p, COUNTS);
    op_set_integer(&p->bench.program, op, range ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX, number);
    op_set_integer(&p->bench.program, op, ATTRIBUTE_KEEP,
                   (int64_t)type->rank - at - (op->kind != OP_PUT));
    add_result(p, op);
}

// Letters of the second operand are those of the first where sizes allow, or new ones; some of them
// are the result's.
static void make_product(struct pool *p, struct op *op) {
    char labels[32] = "", result[8] = "";
    unsigned n = 0, n_result = 0;
    for (unsigned i = 0; i < 2; i++)
        op->operands[i] = any_value(p);
    const struct tensor_type *a = &p->unit.values[op->operands[0]].type;
    const struct tensor_type *b = &p->unit.values[op->operands[1]].type;
    for (unsigned d = 0; d < a->rank; d++)
        labels[n++] = (char)('a' + d);
    labels[n++] = ',';
    for (unsigned d = 0; d < b->rank; d++) {
        unsigned like = pick(p, RANK);
        bool same = like < a->rank && a->dims[like].size == b->dims[d].size &&
                    !memchr(labels + a->rank, 'a' + (int)like, n - a->rank);
        labels[n++] = (char)(same ? 'a' + like : 'p' + d);
    }
    for (unsigned i = 0, end = n; i < end && n_result < RANK; i++)
        if (labels[i] != ',' && !strchr(result, labels[i]) && pick(p, 2))
            result[n_result++] = labels[i];
    if (n_result == 0)
        return;
    op->kind = OP_EINSUM;
    op_set_word(&p->bench.program, op, ATTRIBUTE_LABELS,
                arena_format(&p->bench.arena, "%s->%s", labels, result));
    add_result(p, op);
}

static void make_sum(struct pool *p, struct op *op) {
    op->operands[0] = any_value(p);
    op->operands[1] = any_value(p);
    unsigned rank = p->unit.values[op->operands[0]].type.rank;
    op->kind = rank == p->unit.values[op->operands[1]].type.rank ? OP_ADD : OP_ADD_BIAS;
    if (pick(p, 4) == 0) {
        op->kind = OP_SUM_ROWS;
        if (rank < 2)
            return;
        op_set_integer(&p->bench.program, op, ATTRIBUTE_KEEP, 1 + pick(p, rank - 1));
    }
    add_result(p, op);
}

// ---- what must be alike -----------------------------------------------------------------------

static double scale_number(const struct terms *terms, scale_id id) {
    const struct scale *scale = scale_get(terms, id);
    return (double)scale->numerator / (double)scale->denominator;
}

static void check_alike(struct pool *p, unsigned a, unsigned b) {
    const struct terms *terms = p->bench.engine.terms;
    double x = scale_number(terms, p->judged[a].value.scale);
    double y = scale_number(terms, p->judged[b].value.scale);
    assert_true(type_equal(&p->arrays[a].type, &p->arrays[b].type));
    for (int64_t i = 0; i < type_elements(&p->arrays[a].type); i++) {
        double difference = p->arrays[a].data[i] / x - p->arrays[b].data[i] / y;
        if (!(fabs(difference) <= 1e-9 * (1 + fabs(p->arrays[a].data[i] / x))))
            fail_msg("two values of one term differ by %g", difference);
    }
}

static void check_terms(struct pool *p) {
    const struct terms *terms = p->bench.engine.terms;
    for (unsigned i = COUNTS; i < p->n; i++) {
        struct scaled value = p->judged[i].value;
        if (term_kind(terms, value.of) == NODE_ZERO) {
            for (int64_t k = 0; k < type_elements(&p->arrays[i].type); k++)
                assert_true(fabs(p->arrays[i].data[k]) <= 1e-12);
            continue;
        }
        for (unsigned k = COUNTS; k < i; k++)
            if (term_equal(p->judged[k].value.of, value.of)) {
                check_alike(p, k, i);
                p->met++;
                break;
            }
    }
}

static void laws_hold(void **state) {
    unsigned met = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pool *p = calloc(1, sizeof *p);
        assert_non_null(p);
        begin_bench(&p->bench, 2, 0);
        p->bench.random = 100 + round;
        p->unit = (struct unit){.name = "u", .n_values = VALUES};
        p->unit.values = ARENA_ARRAY(&p->bench.arena, struct value, VALUES);
        for (unsigned i = 0; i < VALUES; i++)
            p->unit.values[i].name = arena_format(&p->bench.arena, "v%u", i);
        add_counts(p);
        while (p->n < COUNTS + INPUTS)
            add_input(p);
        while (p->n < VALUES) {
            struct op op = {0};
            unsigned kind = pick(p, 8);
            if (kind < 4)
                make_moved(p, &op);
            else if (kind < 6)
                make_product(p, &op);
            else
                make_sum(p, &op);
        }
        check_terms(p);
        met += p->met;
        arena_free(&p->bench.arena);
        free(p);
    }
    print_message("%u of %u values met another of their term\n", met, ROUNDS * VALUES);
    assert_true(met > ROUNDS * VALUES / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(laws_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
