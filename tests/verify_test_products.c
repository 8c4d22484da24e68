// Laws of one-hot products against execution: values are made of a few inputs by takes, puts,
// moves, products and sums. Each has a term, in whose normal form the laws have had their say, and
// a number for every element. Values of one term must have the same numbers, whatever they were
// made by: of values that are made at random, and of two ways to one value for each law, which must
// meet in one term, and something slightly different not.
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

static value_id input(struct pool *p, unsigned rank, const int64_t *sizes) {
    struct world *w = &p->bench.world;
    struct tensor_type type = type_of(rank, sizes);
    struct array array = array_new(&p->bench.arena, type);
    for (int64_t i = 0; i < type_elements(&type); i++)
        array.data[i] = random_between(&p->bench, -1, 1);
    struct scaled value = {term_leaf(BUILDER(w->terms), NODE_INPUT, p->n + 1, false, 0), SCALE_ONE};
    form_id form = form_local(&w->digits, type.dims, rank);
    p->unit.values[p->n].type = type;
    p->arrays[p->n] = array;
    p->judged[p->n] = judgement_of(w, value, form, DTYPE_F64);
    return p->n++;
}

static void add_input(struct pool *p) {
    int64_t sizes[RANK];
    unsigned rank = 1 + pick(p, RANK);
    for (unsigned d = 0; d < rank; d++)
        sizes[d] = 2 + pick(p, COUNTS);
    input(p, rank, sizes);
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
    if (!op_infer_types(p->bench.program->arena, &p->unit, op, &why))
        return;
    p->arrays[p->n] = array_new(&p->bench.arena, p->unit.values[p->n].type);
    interpret_op(op, operands, &p->arrays[p->n]);
    op_apply(&p->bench.proof, BUILDER(p->bench.world.terms), &p->unit, op, judged,
             &p->judged[p->n]);
    bool zero = false; // of which alone no form is known
    for (unsigned i = 0; i < op->n_operands; i++)
        zero |= term_kind(p->bench.world.terms, judged[i].value.of) == NODE_ZERO;
    assert_true(zero || !p->judged[p->n].fault);
    p->n += !p->judged[p->n].fault;
}

// Values 0, 1 and 2 count 2, 3 and 4 places.
static void add_counts(struct pool *p) {
    for (int64_t size = 2; size < 2 + COUNTS; size++) {
        struct op op = {.kind = OP_IOTA};
        op_set(p->bench.program->arena, &op,
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
    op_set_integer(p->bench.program->arena, op, range ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX, number);
    op_set_integer(p->bench.program->arena, op, ATTRIBUTE_KEEP,
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
    op_set_word(p->bench.program->arena, op, ATTRIBUTE_LABELS,
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
        op_set_integer(p->bench.program->arena, op, ATTRIBUTE_KEEP, 1 + pick(p, rank - 1));
    }
    add_result(p, op);
}

// ---- what must be alike -----------------------------------------------------------------------

static void check_alike(struct pool *p, unsigned a, unsigned b) {
    const struct terms *terms = p->bench.world.terms;
    double x = scale_number_value(terms, scale_get(terms, p->judged[a].value.scale));
    double y = scale_number_value(terms, scale_get(terms, p->judged[b].value.scale));
    assert_true(type_equal(&p->arrays[a].type, &p->arrays[b].type));
    for (int64_t i = 0; i < type_elements(&p->arrays[a].type); i++) {
        double difference = p->arrays[a].data[i] / x - p->arrays[b].data[i] / y;
        if (!(fabs(difference) <= 1e-9 * (1 + fabs(p->arrays[a].data[i] / x))))
            fail_msg("two values of one term differ by %g", difference);
    }
}

static void check_terms(struct pool *p) {
    const struct terms *terms = p->bench.world.terms;
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

static struct pool *pool_new(uint64_t seed) {
    struct pool *p = calloc(1, sizeof *p);
    assert_non_null(p);
    begin_bench(&p->bench, 2, 0);
    p->bench.random = seed;
    p->unit = (struct unit){.name = "u", .n_values = VALUES};
    p->unit.values = ARENA_ARRAY(&p->bench.arena, struct value, VALUES);
    for (unsigned i = 0; i < VALUES; i++)
        p->unit.values[i].name = arena_format(&p->bench.arena, "v%u", i);
    add_counts(p);
    return p;
}

static void pool_free(struct pool *p) {
    arena_free(&p->bench.arena);
    free(p);
}

static void what_meets_is_equal(void **state) {
    unsigned met = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pool *p = pool_new(100 + round);
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
        pool_free(p);
    }
    print_message("%u of %u values met another of their term\n", met, ROUNDS * VALUES);
    assert_true(met > ROUNDS * VALUES / 50);
}

// ---- laws, one by one -------------------------------------------------------------------------

static value_id make(struct pool *p, struct op *op) {
    add_result(p, op);
    assert_int_equal(op->results[0] + 1, p->n);
    return op->results[0];
}

static value_id moving(struct pool *p, enum op_kind kind, value_id x, int64_t number, int64_t keep,
                       int64_t places) {
    const struct tensor_type *type = &p->unit.values[x].type;
    struct op op = {.kind = kind, .operands = {x}};
    op.operands[1] = count_of(kind == OP_PUT ? places : type->dims[type->rank - 1 - keep].size);
    op.operands[2] = count_of(kind == OP_MOVE ? places : 2);
    op_set_integer(p->bench.program->arena, &op,
                   kind == OP_MOVE ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX, number);
    op_set_integer(p->bench.program->arena, &op, ATTRIBUTE_KEEP, keep);
    return make(p, &op);
}

static value_id take(struct pool *p, value_id x, int64_t index, int64_t keep) {
    return moving(p, OP_TAKE, x, index, keep, 0);
}

static value_id put(struct pool *p, value_id x, int64_t index, int64_t keep, int64_t places) {
    return moving(p, OP_PUT, x, index, keep, places);
}

static value_id move(struct pool *p, value_id x, int64_t shift, int64_t keep, int64_t places) {
    return moving(p, OP_MOVE, x, shift, keep, places);
}

static value_id product(struct pool *p, const char *labels, value_id a, value_id b) {
    struct op op = {.kind = OP_EINSUM, .operands = {a, b}};
    op_set_word(p->bench.program->arena, &op, ATTRIBUTE_LABELS, labels);
    return make(p, &op);
}

static value_id sum(struct pool *p, enum op_kind kind, value_id a, value_id b) {
    return make(p, &(struct op){.kind = kind, .operands = {a, b}});
}

static value_id rows(struct pool *p, value_id x, int64_t keep) {
    struct op op = {.kind = OP_SUM_ROWS, .operands = {x}};
    op_set_integer(p->bench.program->arena, &op, ATTRIBUTE_KEEP, keep);
    return make(p, &op);
}

#define INPUT(...)                                                                                 \
    input(p, sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

// Two ways to a value, and one to something else.
struct ways {
    value_id one, other, wrong;
};

static struct ways taken_of_a_product(struct pool *p) {
    value_id x = INPUT(3, 2), w = INPUT(2, 4), all = product(p, "ab,bc->ac", x, w);
    return (struct ways){take(p, all, 1, 1), product(p, "b,bc->c", take(p, x, 1, 1), w),
                         take(p, all, 2, 1)};
}

static struct ways taken_of_rows(struct pool *p) {
    value_id x = INPUT(2, 3, 4), all = rows(p, x, 2);
    return (struct ways){take(p, all, 1, 1), rows(p, take(p, x, 1, 1), 1), take(p, all, 2, 1)};
}

static struct ways taken_with_its_bias(struct pool *p) {
    value_id x = INPUT(2, 3, 4), b = INPUT(3, 4), all = sum(p, OP_ADD_BIAS, x, b);
    return (struct ways){take(p, all, 1, 1),
                         sum(p, OP_ADD_BIAS, take(p, x, 1, 1), take(p, b, 1, 1)),
                         sum(p, OP_ADD_BIAS, take(p, x, 1, 1), take(p, b, 2, 1))};
}

static struct ways taken_beside_its_bias(struct pool *p) {
    value_id x = INPUT(2, 3, 4), b = put(p, INPUT(4), 0, 1, 3), all = sum(p, OP_ADD_BIAS, x, b);
    return (struct ways){take(p, all, 1, 1), take(p, x, 1, 1), take(p, all, 0, 1)};
}

static struct ways taken_of_what_was_put(struct pool *p) {
    value_id x = INPUT(4), y = INPUT(4),
             both = sum(p, OP_ADD, put(p, x, 0, 1, 2), put(p, y, 1, 1, 2));
    return (struct ways){take(p, both, 1, 1), y, take(p, both, 0, 1)};
}

static struct ways moved_to_where_it_is(struct pool *p) {
    value_id x = INPUT(3, 4);
    return (struct ways){move(p, x, 0, 0, 4), x, move(p, x, 1, 0, 4)};
}

static struct ways moved_and_back(struct pool *p) {
    value_id x = INPUT(3, 2), wide = move(p, x, -1, 0, 4);
    return (struct ways){move(p, wide, 1, 0, 2), x, move(p, wide, 2, 0, 2)};
}

static struct ways moved_out_of_sight(struct pool *p) {
    value_id x = INPUT(4), y = INPUT(4), once = move(p, x, 2, 0, 4);
    return (struct ways){sum(p, OP_ADD, y, move(p, once, 2, 0, 4)), y, sum(p, OP_ADD, y, once)};
}

static struct ways multiplied_where_it_was_put(struct pool *p) {
    value_id x = INPUT(2), w = INPUT(3, 4), all = put(p, x, 1, 0, 3);
    return (struct ways){product(p, "ab,bc->ac", all, w),
                         product(p, "a,c->ac", x, take(p, w, 1, 1)),
                         product(p, "a,c->ac", x, take(p, w, 2, 1))};
}

// The same, of the other operand, and of several elements.
static struct ways multiplied_where_it_was_moved(struct pool *p) {
    value_id x = INPUT(2, 2), w = INPUT(4, 3), all = move(p, x, -1, 0, 4);
    return (struct ways){product(p, "bc,ab->ac", w, all),
                         product(p, "ab,bc->ac", x, move(p, w, 1, 1, 2)),
                         product(p, "ab,bc->ac", x, move(p, w, 0, 1, 2))};
}

// Two projections by one product, whose weights were put side by side.
static struct ways two_projections_by_one(struct pool *p) {
    value_id x = INPUT(2, 3), w = INPUT(3, 4), v = INPUT(3, 4);
    value_id both = sum(p, OP_ADD, put(p, w, 0, 2, 2), put(p, v, 1, 2, 2));
    value_id all = product(p, "sh,phf->psf", x, both);
    return (struct ways){take(p, all, 1, 2), product(p, "sh,hf->sf", x, v), take(p, all, 0, 2)};
}

static void each_law_holds(void **state) {
    static const struct {
        const char *name;
        struct ways (*make)(struct pool *);
    } laws[] = {
        {"what is taken of a product", taken_of_a_product},
        {"what is taken of a sum of rows", taken_of_rows},
        {"what is taken where there is a bias", taken_with_its_bias},
        {"what is taken where there is none", taken_beside_its_bias},
        {"what is taken of what was put", taken_of_what_was_put},
        {"what is moved to where it is", moved_to_where_it_is},
        {"what is moved and back", moved_and_back},
        {"what is moved until nothing is left", moved_out_of_sight},
        {"a product with what was put", multiplied_where_it_was_put},
        {"a product with what was moved", multiplied_where_it_was_moved},
        {"two projections by one", two_projections_by_one},
    };
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        struct pool *p = pool_new(7);
        struct ways ways = laws[i].make(p);
        struct scaled one = p->judged[ways.one].value;
        if (!scaled_equal(one, p->judged[ways.other].value))
            fail_msg("%s has two terms", laws[i].name);
        check_alike(p, ways.one, ways.other);
        if (scaled_equal(one, p->judged[ways.wrong].value))
            fail_msg("%s has the term of something else", laws[i].name);
        check_terms(p);
        pool_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_law_holds),
                                       cmocka_unit_test(what_meets_is_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
