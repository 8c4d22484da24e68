// The transfer rule against execution (one axis of three devices, and two axes of two and three):
// for every op, the operands are spread over the devices in all ways (copies, parts of each
// dimension, summands, numbers of which the greatest is meant), every device executes the op
// naively on what it has, and what comes out is compared with what the rule claims of it. Where the
// rule says that the result has no meaning, no way of spreading it, with any factor, may describe
// what came out, on three draws of random data.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/sample.h"
#include "tests/verify_rule_bench.h"
#include "verify/algebra/facts.h"

enum { MAX_COMBINATIONS = 4000 };

// ---- ops --------------------------------------------------------------------------------------

static const char *const einsums[] = {"bk,kn->bn", "bk,bn->kn", "a,a->", "ab,ab->ab", "bk,k->b"};

static bool is_integer(const struct op *op, unsigned operand) {
    bool counts = is_index(op, operand);
    bool ids = (op->kind == OP_EMBEDDING || op->kind == OP_EMBEDDING_BACKWARD) && operand == 0;
    bool targets = ((op->kind == OP_CROSS_ENTROPY || op->kind == OP_CROSS_ENTROPY_BACKWARD ||
                     op->kind == OP_PICK) &&
                    operand == 1) ||
                   (op->kind == OP_TOKEN_LOSS && operand == 2) || op->kind == OP_COUNT_TOKENS;
    bool samples = op->kind == OP_DROPOUT && operand == 1;
    return counts || ids || targets || samples;
}

static void set_attributes(struct bench *b, const char *labels) {
    static const struct {
        enum attribute_name name;
        double real;
        int64_t integer;
        const char *word;
    } all[] = {
        {ATTRIBUTE_EPS, 0.1, 0, NULL},          {ATTRIBUTE_SCALE, 0.3, 0, NULL},
        {ATTRIBUTE_THETA, 10, 0, NULL},         {ATTRIBUTE_APPROXIMATE, 0, 0, "tanh"},
        {ATTRIBUTE_BETA1, 0.9, 0, NULL},        {ATTRIBUTE_BETA2, 0.8, 0, NULL},
        {ATTRIBUTE_WEIGHT_DECAY, 0.1, 0, NULL}, {ATTRIBUTE_MOMENTUM, 0.9, 0, NULL},
        {ATTRIBUTE_RATE, 0, 0, "cosine"},       {ATTRIBUTE_BASE, 0.1, 0, NULL},
        {ATTRIBUTE_MINIMUM, 0.7, 0, NULL},      {ATTRIBUTE_WARMUP, 0, 2, NULL},
        {ATTRIBUTE_STEPS, 0, 30, NULL},         {ATTRIBUTE_MAX_NORM, 0.1, 0, NULL},
        {ATTRIBUTE_KEEP, 0, 1, NULL},           {ATTRIBUTE_PROBABILITY, 0.4, 0, NULL},
        {ATTRIBUTE_SITE, 0, 1, NULL},           {ATTRIBUTE_INDEX, 0, 1, NULL},
        {ATTRIBUTE_SHIFT, 0, 1, NULL},          {ATTRIBUTE_DIVISOR, 0, 3, NULL},
        {ATTRIBUTE_WEIGHT_A, 0.7, 0, NULL},     {ATTRIBUTE_WEIGHT_B, -1.3, 0, NULL},
        {ATTRIBUTE_LEVEL, 0, 0, NULL},          {ATTRIBUTE_DECAY, 0, 28, NULL},
        {ATTRIBUTE_EXPONENT, -0.7, 0, NULL},
    };
    char words[256];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(words, sizeof words, " %s ", op_rows[b->op.kind].attributes);
        for (char *c = words; *c; c++)
            *c = *c == '?' ? ' ' : *c;
        char word[64];
        snprintf(word, sizeof word, " %s ", attribute_names[all[i].name]);
        if (strstr(words, word))
            op_set(b->program->arena, &b->op,
                   (struct attribute){.name = all[i].name,
                                      .real = all[i].real,
                                      .integer = all[i].integer,
                                      .word = all[i].word});
    }
    if (b->op.kind == OP_EINSUM)
        op_set_word(b->program->arena, &b->op, ATTRIBUTE_LABELS, labels);
}

// Splits a signature into label lists; capitals stand for one dimension each.
static void set_labels(struct bench *b, const char *signature) {
    unsigned list = 0, n = 0;
    for (const char *c = signature; *c; c++) {
        if (*c == ',' || *c == '>') {
            list++;
            n = 0;
        } else if (*c != '-') {
            b->labels[list][n++] = (char)tolower((unsigned char)*c);
        }
        b->labels[list][n] = 0;
    }
}

static void begin_op(struct bench *b, enum op_kind kind, const char *signature) {
    b->op = (struct op){.kind = kind,
                        .n_operands = (uint8_t)op_operand_count(kind),
                        .n_results = (uint8_t)op_result_count(kind),
                        .span = span_nowhere()};
    memset(b->labels, 0, sizeof b->labels);
    set_labels(b, signature);
    set_attributes(b, signature);
    unsigned n = b->op.n_operands + b->op.n_results;
    b->unit = (struct unit){.name = "u", .n_values = n, .n_parameters = b->op.n_operands};
    b->unit.values = ARENA_ARRAY(&b->arena, struct value, n);
    for (unsigned i = 0; i < n; i++) {
        b->unit.values[i].name = arena_format(&b->arena, "v%u", i);
        if (i < b->op.n_operands)
            b->op.operands[i] = i;
        else
            b->op.results[i - b->op.n_operands] = i;
    }
}

static double random_number(struct bench *b, unsigned operand, int64_t element, unsigned draw) {
    const struct op *op = &b->op;
    if (is_index(op, operand))
        return (double)element;
    if (op->kind == OP_DROPOUT && operand > 0)
        return operand == 1 ? (double)(3 + element) : 5 + draw; // all differ, and nothing is off
    if (is_integer(op, operand))
        return floor(random_between(
            b, op->kind == OP_EMBEDDING || op->kind == OP_EMBEDDING_BACKWARD ? 0 : -2, SIZE));
    bool step = (op->kind == OP_LEARNING_RATE && operand == 0) ||
                ((op->kind == OP_ADAMW || op->kind == OP_ADAM) && operand == 6) ||
                (op->kind == OP_SGD_MOMENTUM && operand == 5);
    return step ? 1 + draw : random_between(b, 0.2, 1.2); // momentum is different at step 1
}

// The whole operands, and what one device with all of them computes.
static void draw_wholes(struct bench *b) {
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        unsigned n = b->op.n_operands;
        for (unsigned i = 0; i < n; i++) {
            struct array *whole = &b->whole[draw][i];
            *whole = array_new(&b->arena, whole_type(b, i, is_integer(&b->op, i)));
            for (int64_t e = 0; e < type_elements(&whole->type); e++)
                whole->data[e] = random_number(b, i, e, draw);
        }
        for (unsigned i = 0; i < b->op.n_results; i++)
            b->whole[draw][n + i] = array_new(&b->arena, whole_type(b, n + i, false));
        interpret_op(&b->op, b->whole[draw], b->whole[draw] + n);
    }
}

// ---- what the rule says -----------------------------------------------------------------------

static void judge(struct bench *b, struct judgement *results) {
    struct judgement operands[MAX_OPERANDS];
    for (unsigned i = 0; i < b->op.n_operands; i++)
        operands[i] = judge_operand(b, i);
    op_apply(&b->proof, BUILDER(b->world.terms), &b->unit, &b->op, operands, results);
}

// The types of one device's operands and results. False: they do not fit the op.
static bool set_types(struct bench *b) {
    for (unsigned i = 0; i < b->op.n_operands; i++)
        b->unit.values[i].type = part_type(b, &b->whole[0][i].type, &b->spread[i]);
    const char *why;
    return op_infer_types(b->program->arena, &b->unit, &b->op, &why);
}

static void execute(struct bench *b) {
    unsigned n = b->op.n_operands;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        for (unsigned i = 0; i < n; i++)
            spread_array(b, draw, i);
        for (int d = 0; d < b->n_devices; d++) {
            for (unsigned i = 0; i < b->op.n_results; i++)
                b->part[draw][d][n + i] = array_new(&b->arena, b->unit.values[n + i].type);
            interpret_op(&b->op, b->part[draw][d], b->part[draw][d] + n);
        }
    }
}

// Rows that say less than is true, and so refuse what has a meaning: `linear` leaves out operands
// in which the op is linear beside, or jointly with, another; `whole` holds labels that need be
// whole only because no strategy cuts them yet (with lse given, backward works on parts of the keys
// and of the vocabulary). A row that is made more precise leaves this list. And the lesser of two numbers is
// not seldom the sum of the lesser ones of their summands, three times in a row.
static bool is_excused(const struct bench *b) {
    static const struct {
        enum op_kind kind;
        const char *summands; // operands
        const char *cut;      // labels
    } rows[] = {
        {OP_LAYER_NORM, "12", ""},
        {OP_RMS_NORM, "1", ""},
        {OP_LAYER_NORM_BACKWARD, "1", ""},
        {OP_RMS_NORM_BACKWARD, "1", ""},
        {OP_SGD, "01", ""},
        {OP_LION, "012", ""},
        {OP_SGD_MOMENTUM, "012", ""},
        {OP_ATTENTION_MERGE, "02", ""},
        {OP_TOKEN_LOSS, "01", ""},
        {OP_WEIGHTED_SUM, "01", ""},
        {OP_LESSER, "01", ""},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (unsigned i = 0; i < b->op.n_operands && rows[r].kind == b->op.kind; i++)
            for (int a = 0; a < b->n_axes; a++) {
                int of = b->spread[i].of[a];
                if (of == SUMMAND && strchr(rows[r].summands, (char)('0' + i)))
                    return true;
                if (of >= 0 && strchr(rows[r].cut, b->labels[i][of]))
                    return true;
            }
    return false;
}

// ---- all combinations -------------------------------------------------------------------------

static void try_combination(struct bench *b, const struct judgement *plain) {
    bool fits = set_types(b);
    if (!fits) { // result types as on one device: only their number is read
        for (unsigned i = 0; i < b->op.n_results; i++)
            b->unit.values[b->op.n_operands + i].type = whole_type(b, b->op.n_operands + i, false);
    }
    judge(b, b->judged);
    if (!fits) {
        b->n_shapes++;
        for (unsigned i = 0; i < b->op.n_results; i++)
            if (!b->judged[i].fault)
                fail_msg("%s: shapes do not fit, but the rule claims a result",
                         combination_text(b));
        return;
    }
    execute(b);
    for (unsigned i = 0; i < b->op.n_results; i++)
        if (!b->judged[i].fault)
            check_claim(b, i, &plain[i]);
    check_refusals(b, is_excused(b));
}

static int spreads_of(const struct bench *b, unsigned operand) {
    int rank = (int)strlen(b->labels[operand]);
    return is_integer(&b->op, operand) ? 1 + rank : 3 + rank;
}

static int nth_spread(const struct bench *b, unsigned operand, int n) {
    static const int shared[] = {COPY, SUMMAND, MAXIMUM};
    if (is_integer(&b->op, operand))
        return n == 0 ? COPY : n - 1;
    return n < 3 ? shared[n] : n - 3;
}

// Sums of maxima and maxima of sums are two things; no value is either.
static void separate_monoids(struct bench *b) {
    for (unsigned i = 0; i < b->op.n_operands; i++) {
        int *of = b->spread[i].of;
        if (combines(of[0]) && combines(of[1]) && of[0] != of[1])
            of[1] = COPY;
    }
}

// Cuts one label in all operands that have it, and changes one operand in half of the cases: what
// is right, and what is nearly right.
static void random_combination(struct bench *b) {
    for (int a = 0; a < b->n_axes; a++) {
        unsigned chosen = (unsigned)random_bits(&b->random) % b->op.n_operands;
        size_t rank = strlen(b->labels[chosen]);
        char label = rank ? b->labels[chosen][random_bits(&b->random) % rank] : 0;
        bool cut = label && random_bits(&b->random) % 4;
        int shift = random_bits(&b->random) % 3 ? 0 : 1;
        for (unsigned i = 0; i < b->op.n_operands; i++) {
            const char *found = cut ? strchr(b->labels[i], label) : NULL;
            b->spread[i].of[a] = found ? (int)(found - b->labels[i]) : COPY;
            b->spread[i].shift[a] = found ? shift : 0;
        }
        for (int changes = (int)(random_bits(&b->random) % 3); changes > 0; changes--) {
            unsigned i = (unsigned)random_bits(&b->random) % b->op.n_operands;
            int n = (int)(random_bits(&b->random) % (uint64_t)spreads_of(b, i));
            b->spread[i].of[a] = nth_spread(b, i, n);
            b->spread[i].shift[a] = b->spread[i].of[a] < 0        ? 0
                                    : random_bits(&b->random) % 2 ? 0
                                                                  : b->spread[i].shift[a];
        }
    }
    separate_monoids(b);
}

static void all_copies(struct bench *b) {
    for (unsigned i = 0; i < MAX_OPERANDS; i++)
        b->spread[i] = (struct spreading){.of = {COPY, COPY}};
}

static void check_op(enum op_kind kind, const char *signature, int first, int second) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, first, second);
    begin_op(b, kind, signature);
    draw_wholes(b);
    all_copies(b);
    set_types(b);
    struct judgement plain[MAX_RESULTS];
    judge(b, plain);
    int64_t combinations = 1;
    for (unsigned i = 0; i < b->op.n_operands && combinations <= MAX_COMBINATIONS; i++)
        combinations *= spreads_of(b, i);
    bool all = combinations <= MAX_COMBINATIONS && !second;
    bool heavy = kind == OP_ATTENTION || kind == OP_ATTENTION_BACKWARD;
    int64_t n = all ? combinations : heavy ? 150 : 600;
    int64_t stride = sample_every() > 1 ? 11 : 1; // no operand has as many spreads
    for (int64_t c = 0; c < n; c += stride) {
        int64_t rest = c;
        for (unsigned i = 0; all && i < b->op.n_operands; i++) {
            b->spread[i].of[0] = nth_spread(b, i, (int)(rest % spreads_of(b, i)));
            rest /= spreads_of(b, i);
        }
        if (!all)
            random_combination(b);
        try_combination(b, plain);
    }
    print_message("%-24s %-28s %4u claims hold, %4u refusals right, %5u shapes do not fit\n",
                  op_rows[kind].text, signature, b->n_claimed, b->n_refused, b->n_shapes);
    assert_true(b->n_claimed > 0);
    arena_free(&b->arena);
    free(b);
}

// What these do depends on whether a number is finite, or zero, which the numbers here all are or are
// not (passes_test_pytorch.c).
static bool is_of_loss_scale(enum op_kind kind) {
    return kind == OP_LOSS_SCALE || kind == OP_IS_FINITE || kind == OP_UPDATE_FACTOR ||
           kind == OP_NEXT_LOSS_SCALE || kind == OP_UNLESS_SKIPPED;
}

// Codes hold less than what they are of, the first bins of these numbers' squares hold nothing, and
// what a counter's ops do depends on a number that the host gives, so that no rule about them is
// one of any numbers (verify_test_wire.c, verify_test_order.c).
static bool has_rule(enum op_kind kind) {
    bool other = kind == OP_COMPRESS || kind == OP_DECOMPRESS || kind == OP_CARRY ||
                 kind == OP_ACCUMULATE_PAIR || kind == OP_SQUARE_BINS || is_of_loss_scale(kind);
    return op_operand_count(kind) > 0 && op_rows[kind].signature[0] && kind != OP_CAST && !other;
}

// What is said to count rows must be known to count them.
static void index_operands_must_count(void **state) {
    for (enum op_kind kind = 0; kind < N_OPS; kind++)
        for (unsigned index = 0; index < MAX_OPERANDS; index++) {
            struct bench *b = malloc(sizeof *b);
            assert_non_null(b);
            begin_bench(b, 3, 0);
            if (op_rows[kind].index[0] && index < op_operand_count(kind)) {
                begin_op(b, kind, op_rows[kind].signature);
                draw_wholes(b);
                all_copies(b);
                set_types(b);
                struct judgement operands[MAX_OPERANDS];
                for (unsigned i = 0; i < b->op.n_operands; i++)
                    operands[i] = judge_operand(b, i);
                operands[index].value.of = judge_operand(b, 0).value.of;
                op_apply(&b->proof, BUILDER(b->world.terms), &b->unit, &b->op, operands, b->judged);
                assert_int_equal(b->judged[0].fault != NULL, is_index(&b->op, index));
            }
            arena_free(&b->arena);
            free(b);
        }
}

// What a result does not read decides nothing about it, whatever it is.
enum oddity { ODD_ZERO, ODD_PART, N_ODDITIES };

static bool same_judgement(const struct judgement *a, const struct judgement *b) {
    return !a->fault && !b->fault && scaled_equal(a->value, b->value) && a->form == b->form &&
           a->partial == b->partial && a->bits == b->bits && a->coverage == b->coverage;
}

static unsigned compare_unread(struct bench *b, const struct judgement *plain, unsigned odd,
                               enum oddity oddity) {
    struct judgement operands[MAX_OPERANDS], results[MAX_RESULTS];
    unsigned n = 0;
    for (unsigned i = 0; i < b->op.n_operands; i++)
        operands[i] = judge_operand(b, i);
    if (oddity == ODD_ZERO)
        operands[odd].value =
            (struct scaled){term_constant(BUILDER(b->world.terms), NODE_ZERO), SCALE_ONE};
    else
        operands[odd].coverage = COVERAGE_UNKNOWN;
    op_apply(&b->proof, BUILDER(b->world.terms), &b->unit, &b->op, operands, results);
    for (unsigned r = 0; r < b->op.n_results; r++)
        if (!op_reads(b->op.kind, r, odd)) {
            n++;
            if (!same_judgement(&results[r], &plain[r]))
                fail_msg("%s: result %u depends on operand %u, which it does not read",
                         op_rows[b->op.kind].text, r, odd);
        }
    return n;
}

static void what_is_not_read_does_not_matter(void **state) {
    unsigned n = 0;
    for (enum op_kind kind = 0; kind < N_OPS; kind++) {
        if (!has_rule(kind) || kind == OP_EINSUM)
            continue;
        struct bench *b = malloc(sizeof *b);
        assert_non_null(b);
        begin_bench(b, 3, 0);
        begin_op(b, kind, op_rows[kind].signature);
        draw_wholes(b);
        all_copies(b);
        set_types(b);
        struct judgement plain[MAX_RESULTS];
        judge(b, plain);
        for (unsigned odd = 0; odd < b->op.n_operands; odd++)
            for (enum oddity oddity = 0; oddity < N_ODDITIES && !is_integer(&b->op, odd); oddity++)
                n += compare_unread(b, plain, odd, oddity);
        arena_free(&b->arena);
        free(b);
    }
    assert_true(n > 30);
}

// 6 elements in chunks of 3 on three devices: the third has only padding.
static void padding_must_be_zeros(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, 3, 0);
    begin_op(b, OP_SQUARE_SUM, "X->");
    draw_wholes(b);
    all_copies(b);
    struct judgement flat = judge_operand(b, 0);
    assert_null(form_cut_flat(&b->world.digits, &flat.form, &(struct axis_list){1, {0}}, 3));
    b->unit.values[0].type = (struct tensor_type){DTYPE_F64, 1, {{DIM_FLAT, 3}}};
    op_apply(&b->proof, BUILDER(b->world.terms), &b->unit, &b->op, &flat, b->judged);
    assert_non_null(b->judged[0].fault);
    flat.padding = PADDING_ZEROS;
    op_apply(&b->proof, BUILDER(b->world.terms), &b->unit, &b->op, &flat, b->judged);
    assert_null(b->judged[0].fault);
    assert_int_equal(b->judged[0].partial, 1);
    arena_free(&b->arena);
    free(b);
}

static void flat_shards_join_in_order(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, 2, 3);
    struct digits *digits = &b->world.digits;
    const struct axis_list ab = {2, {0, 1}}, ba = {2, {1, 0}}, a_only = {1, {0}}, b_only = {1, {1}};
    form_id whole = form_local(digits, &(struct dim){DIM_HIDDEN, 10}, 1), form = whole;
    assert_non_null(form_cut_flat(digits, &form, &ab, 1)); // 6 elements do not hold 10
    assert_null(form_cut_flat(digits, &form, &ab, 2));
    form_id cut = form, other = whole;
    assert_null(form_cut_flat(digits, &other, &ba, 2));
    assert_int_not_equal(cut, other);
    assert_non_null(form_join_flat(digits, &form, &ba, 2));
    form = cut;
    assert_non_null(form_join_flat(digits, &form, &a_only, 2));
    form = cut;
    assert_non_null(form_join_flat(digits, &form, &ab, 3));
    form = cut;
    assert_null(form_join_flat(digits, &form, &b_only, 2));
    assert_int_not_equal(form, whole);
    assert_null(form_join_flat(digits, &form, &a_only, 6));
    assert_int_equal(form, whole);
    form = cut;
    assert_null(form_join_flat(digits, &form, &ab, 2));
    assert_int_equal(form, whole);
    arena_free(&b->arena);
    free(b);
}

static void check_all(int first, int second) {
    for (enum op_kind kind = 0; kind < N_OPS; kind++) {
        if (kind == OP_EINSUM)
            for (size_t i = 0; i < sizeof einsums / sizeof *einsums; i++)
                check_op(kind, einsums[i], first, second);
        else if (has_rule(kind))
            check_op(kind, op_rows[kind].signature, first, second);
    }
}

static void rules_hold_on_one_axis(void **state) {
    check_all(3, 0);
}

static void rules_hold_on_two_axes(void **state) {
    check_all(2, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_hold_on_one_axis),
        cmocka_unit_test(rules_hold_on_two_axes),
        cmocka_unit_test(index_operands_must_count),
        cmocka_unit_test(what_is_not_read_does_not_matter),
        cmocka_unit_test(padding_must_be_zeros),
        cmocka_unit_test(flat_shards_join_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
