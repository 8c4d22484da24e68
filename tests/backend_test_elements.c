// Elements of 16 bits and of several types in one op: what is rounded, once, and where.
#include "backend_harness.h"
#include "elements.h"
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define F32  DTYPE_F32
#define F64  DTYPE_F64
#define BF16 DTYPE_BF16
#define F16  DTYPE_F16

// A sample takes every fifth mixture and level of code: 5 divides none of their numbers.
static int stride(void) {
    return sample_every() > 1 ? 5 : 1;
}

static value_id as(struct harness *h, struct op *op, enum dtype dtype) {
    h->unit->values[op->results[0]].type.dtype = dtype;
    return harness_infer(h, op);
}

static value_id cast(struct harness *h, value_id x, enum dtype dtype) {
    value_id result = as(h, OP(h, CAST, x), dtype);
    harness_output(h, result);
    return result;
}

// ---- rounding ---------------------------------------------------------------------------------

static struct format format(enum dtype dtype) {
    return dtype == F32 ? format_f32 : dtype == F16 ? format_f16 : format_bf16;
}

static void assert_same_number(double x, double expected, double from) {
    if (isnan(expected) ? !isnan(x) : x != expected || signbit(x) != signbit(expected))
        fail_msg("%.17g became %.17g, not %.17g", from, x, expected);
}

static void assert_rounded(const struct harness *h, value_id x, value_id result) {
    struct format to = format(h->unit->values[result].type.dtype);
    for (int64_t i = 0; i < count(h, x); i++)
        assert_same_number(get(h, result, i), format_round(to, get(h, x, i)), get(h, x, i));
}

enum { PATTERNS = 1 << 16, AROUND = 7 };

// Every number of a format, the middle between it and the next, and what is beside the middle: as
// close as the operand's type allows, and closer than an f32 can be.
static double around(struct format f, uint32_t bits, int i) {
    double x = format_value(f, bits), half = isfinite(x) ? format_unit(f, x) / 2 : 0;
    double middle = x + copysign(half, x);
    const double beside[AROUND] = {x,
                                   middle,
                                   middle * (1 + 0x1p-22),
                                   middle * (1 - 0x1p-22),
                                   middle * (1 + 0x1p-50),
                                   middle * (1 - 0x1p-50),
                                   x * (1 + 0x1p-40)};
    return beside[i];
}

static void fill_around(struct harness *h, value_id x, struct format f) {
    for (uint32_t bits = 0; bits < PATTERNS; bits++)
        for (int i = 0; i < AROUND; i++)
            set(h, x, (int64_t)bits * AROUND + i, around(f, bits, i));
}

static const char *const levels[] = {NULL, "v2", "v3"};

// All of them: ties, what is subnormal, infinite or none, in vectors and behind them.
static void casts_round_once_to_nearest_even(void **state) {
    for (int i = 0; i < 2 * 3; i += stride()) {
        struct harness h;
        enum dtype to = i % 2 ? F16 : BF16;
        harness_open(&h, F32);
        h.level = levels[i / 2];
        value_id single = harness_input(&h, F32, SIZES(PATTERNS * AROUND));
        value_id twice = harness_input(&h, F64, SIZES(PATTERNS * AROUND));
        value_id results[] = {cast(&h, single, to), cast(&h, twice, to), cast(&h, twice, F32)};
        harness_ready(&h);
        fill_around(&h, single, format(to));
        fill_around(&h, twice, format(to));
        harness_run(&h);
        for (int k = 0; k < 3; k++)
            assert_rounded(&h, k ? twice : single, results[k]);
        harness_close(&h);
    }
}

// An integer that an f32 has no digits for: 2^24 + 2^16 + 1 is above the middle of two bf16.
static void integers_are_rounded_once(void **state) {
    struct harness h;
    harness_open(&h, F32);
    value_id x = harness_input(&h, DTYPE_I32, SIZES(64)), narrow = cast(&h, x, BF16);
    harness_ready(&h);
    for (int i = 0; i < 64; i++)
        set(&h, x, i, (i % 2 ? -1 : 1) * ((1 << 24) + (1 << 16) + i / 2));
    harness_run(&h);
    assert_rounded(&h, x, narrow);
    harness_close(&h);
}

static void widening_changes_nothing(void **state) {
    for (int i = 0; i < 2 * 3; i += stride()) {
        struct harness h;
        enum dtype from = i % 2 ? F16 : BF16, other = i % 2 ? BF16 : F16;
        harness_open(&h, from);
        h.level = levels[i / 2];
        value_id x = INPUT(&h, PATTERNS);
        value_id results[] = {cast(&h, x, F32), cast(&h, x, F64), cast(&h, x, from)};
        value_id crossed = cast(&h, x, other);
        harness_ready(&h);
        for (uint32_t bits = 0; bits < PATTERNS; bits++)
            set(&h, x, bits, format_value(format(from), bits));
        harness_run(&h);
        for (int k = 0; k < 3; k++)
            for (int64_t at = 0; at < PATTERNS; at++)
                assert_same_number(get(&h, results[k], at), get(&h, x, at), get(&h, x, at));
        assert_rounded(&h, x, crossed);
        harness_close(&h);
    }
}

// ---- ops of several types ---------------------------------------------------------------------

// The types of two operands and a result.
static const enum dtype mixes[][3] = {
    {F32, BF16, F32}, {F32, BF16, BF16}, {BF16, F32, BF16}, {BF16, F32, F32},  {F32, F16, F32},
    {F16, F32, F16},  {BF16, BF16, F32}, {F16, F16, F32},   {F16, BF16, BF16}, {BF16, F16, F16},
    {F32, F32, BF16}, {F64, BF16, F64},  {F64, F32, BF16},  {F16, F64, F16},   {F32, F64, F32}};

static void finish(struct harness *h, struct op *op, enum dtype dtype) {
    harness_output(h, as(h, op, dtype));
}

static void build_mix(struct harness *h, const enum dtype mix[3]) {
    value_id x = harness_input(h, mix[0], SIZES(3, 5, 7));
    value_id y = harness_input(h, mix[1], SIZES(3, 5, 7));
    value_id bias = harness_input(h, mix[1], SIZES(5, 7));
    value_id factor = harness_input(h, F64, SIZES()), parts = harness_iota(h, 5);
    finish(h, OP(h, ADD, x, y), mix[2]);
    finish(h, OP(h, MUL, x, y), mix[2]);
    finish(h, OP(h, ADD_BIAS, x, bias), mix[2]);
    finish(h, OP(h, SCALE, x, factor), mix[2]);
    finish(h, OP(h, SILU, x), mix[2]);
    finish(h, OP(h, SILU_BACKWARD, x, y), mix[2]);
    finish(h, OP(h, ACCUMULATE, x, y), mix[0]);
    struct op *op = OP(h, GELU, x);
    op_set_word(h->program->arena, op, ATTRIBUTE_APPROXIMATE, "tanh");
    finish(h, op, mix[2]);
    op = OP(h, DIVIDE, x);
    op_set_integer(h->program->arena, op, ATTRIBUTE_DIVISOR, 3);
    finish(h, op, mix[2]);
    op = OP(h, WEIGHTED_SUM, x, y);
    op_set_real(h->program->arena, op, ATTRIBUTE_WEIGHT_A, 0.7);
    op_set_real(h->program->arena, op, ATTRIBUTE_WEIGHT_B, -1.3);
    finish(h, op, mix[2]);
    op = OP(h, OVER_ROOT, x, y);
    op_set_real(h->program->arena, op, ATTRIBUTE_MINIMUM, 0.1);
    finish(h, op, mix[2]);
    op = OP(h, TAKE, x, parts);
    op_set_integer(h->program->arena, op, ATTRIBUTE_INDEX, 2);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 1);
    finish(h, op, mix[2]);
}

static void mixed_elements(void **state) {
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i += (size_t)stride()) {
        struct harness h;
        harness_open(&h, F32);
        build_mix(&h, mixes[i]);
        harness_ready(&h);
        harness_compare(&h, 10);
        harness_close(&h);
    }
}

// Added up in f64 where one of two numbers is: 1 + 2^-30 + 2^-9, of which an f32 would make a tie.
static void computes_in_the_wider_type(void **state) {
    struct harness h;
    harness_open(&h, F32);
    value_id x = harness_input(&h, BF16, SIZES(1)), y = harness_input(&h, F64, SIZES(1));
    value_id sum = as(&h, OP(&h, ADD, x, y), F16);
    harness_output(&h, sum);
    harness_ready(&h);
    set(&h, x, 0, 1);
    set(&h, y, 0, 0x1p-11 + 0x1p-40);
    harness_run(&h);
    assert_true(get(&h, sum, 0) == 1 + 0x1p-10);
    harness_close(&h);
}

// ---- kernels of several types -----------------------------------------------------------------

// As the reference makes them: gradients of parameters in f32 or in the narrow type, activations in
// the narrow one. Of norms, sums, attention and the ends of the model.
static void build_norms_of(struct harness *h, enum dtype narrow, enum dtype gradients) {
    value_id x = harness_input(h, narrow, SIZES(2, 3, 10)),
             gain = harness_input(h, narrow, SIZES(10));
    value_id dy = harness_input(h, narrow, SIZES(2, 3, 10));
    value_id mean = harness_input(h, F32, SIZES(2, 3)), rstd = harness_input(h, F32, SIZES(2, 3));
    value_id sum = harness_input(h, gradients, SIZES(2, 3, 10));
    value_id number = harness_input(h, F64, SIZES());
    value_id ids = harness_input(h, DTYPE_I32, SIZES(2, 3)), rows = harness_iota(h, 4);
    struct op *op = OP(h, LAYER_NORM_BACKWARD, x, gain, mean, rstd, dy);
    h->unit->values[op->results[1]].type.dtype = gradients;
    h->unit->values[op->results[2]].type.dtype = gradients;
    harness_infer(h, op);
    for (unsigned i = 0; i < op->n_results; i++)
        harness_output(h, op->results[i]);
    op = OP(h, SUM_ROWS, x);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 1);
    finish(h, op, gradients);
    op = OP(h, SUM_COLUMNS, x);
    op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 1);
    finish(h, op, F32);
    finish(h, OP(h, EMBEDDING_BACKWARD, ids, dy, rows), gradients);
    harness_output(h, harness_infer(h, OP(h, ACCUMULATE_PAIR, sum, dy, number)));
}

static void build_attention_of(struct harness *h, enum dtype narrow, enum dtype other) {
    value_id q = harness_input(h, narrow, SIZES(1, 5, 2, 2, 4));
    value_id k = harness_input(h, narrow, SIZES(1, 5, 2, 4)),
             v = harness_input(h, narrow, SIZES(1, 5, 2, 4));
    value_id d_o = harness_input(h, other, SIZES(1, 5, 2, 2, 4)), positions = harness_iota(h, 5);
    struct op *op = OP(h, ATTENTION, q, k, v, positions, positions);
    op_set_real(h->program->arena, op, ATTRIBUTE_SCALE, 0.5);
    value_id o = as(h, op, other), lse = op->results[1];
    harness_output(h, o);
    harness_output(h, lse);
    op = OP(h, ATTENTION_BACKWARD, q, k, v, o, lse, d_o, positions, positions);
    op_set_real(h->program->arena, op, ATTRIBUTE_SCALE, 0.5);
    h->unit->values[op->results[1]].type.dtype = other;
    harness_infer(h, op);
    for (unsigned i = 0; i < op->n_results; i++)
        harness_output(h, op->results[i]);
}

static void kernels_of_mixed_elements(void **state) {
    static const enum dtype pairs[][2] = {{BF16, F32}, {BF16, BF16}, {F16, F32}, {F32, BF16}};
    static void (*const builds[])(struct harness *, enum dtype, enum dtype) = {build_norms_of,
                                                                               build_attention_of};
    for (int i = 0; i < 8; i++) {
        struct harness h;
        bool attends = builds[i % 2] == build_attention_of;
        harness_open(&h, F32);
        builds[i % 2](&h, pairs[i / 2][0], pairs[i / 2][1]);
        harness_ready(&h);
        harness_compare(&h, attends ? harness_attention_scale(pairs[i / 2][0]) : 50);
        harness_close(&h);
    }
}

// ---- updates ----------------------------------------------------------------------------------

enum { N_UPDATED = 2 };

// Two tensors with master copies, whose casts take the parameters' places; behind both updates, as
// far as order says. `apart`: the parameters are read in between, so that they may not change yet.
static void build_updates(struct harness *h, enum dtype narrow, bool apart) {
    const enum dtype dtypes[] = {F32, narrow, F32, narrow, narrow}; // p, m, v, g, and p rounded
    value_id s[3], states[N_UPDATED][5], masters[N_UPDATED];
    for (int k = 0; k < 3; k++)
        s[k] = harness_input(h, F64, SIZES());
    for (int k = 0; k < 5 * N_UPDATED; k++)
        states[k / 5][k % 5] = harness_input(h, dtypes[k % 5], SIZES(5, 77));
    for (int i = 0; i < N_UPDATED; i++) {
        value_id *x = states[i];
        struct op *op = OP(h, ADAMW, x[0], x[1], x[2], x[3], s[0], s[1], s[2]);
        op_set_real(h->program->arena, op, ATTRIBUTE_BETA1, 0.9);
        op_set_real(h->program->arena, op, ATTRIBUTE_BETA2, 0.95);
        op_set_real(h->program->arena, op, ATTRIBUTE_EPS, 1e-8);
        op_set_real(h->program->arena, op, ATTRIBUTE_WEIGHT_DECAY, 0.1);
        masters[i] = harness_infer(h, op);
        for (unsigned k = 0; k < 3; k++)
            harness_update(h, op->results[k], x[k]);
    }
    if (apart)
        finish(h, OP(h, ADD, states[0][4], states[1][4]), F32);
    for (int i = 0; i < N_UPDATED; i++)
        harness_update(h, as(h, OP(h, CAST, masters[i]), narrow), states[i][4]);
}

// With its cast in the same call, an update is all there is; else loops stand behind it.
static void updates_round_parameters(void **state) {
    for (int i = 0; i < 4; i++) {
        struct harness h;
        bool apart = i / 2;
        harness_open(&h, F32);
        build_updates(&h, i % 2 ? F16 : BF16, apart);
        harness_ready(&h);
        for (value_id x = 0; x < 3; x++) // the rate, the clip factor, the step
            set(&h, x, 0, x == 2 ? 3 : 0.5);
        for (value_id x = 3; x < h.unit->n_parameters; x++)
            for (int64_t k = 0; k < count(&h, x); k++)
                set(&h, x, k, 0.25 + get(&h, x, k) * 0.125);
        harness_compare(&h, 10);
        struct flight_call calls[RECORDER_LENGTH];
        int n = recorder_read(&h.ranks.contexts[0].recorder, calls, RECORDER_LENGTH), loops = 0;
        for (int k = 0; k < n; k++)
            loops += calls[k].call == RECORDED_parallel;
        assert_int_equal(loops, apart ? 3 : 0);
        harness_close(&h);
    }
}

// ---- chains -----------------------------------------------------------------------------------

enum { MAX_INLINE = 12 };
struct chain {
    value_id inlined[MAX_INLINE];
    int n;
};

static value_id inside(struct harness *h, struct chain *chain, struct op *op, enum dtype dtype) {
    return chain->inlined[chain->n++] = as(h, op, dtype);
}

// A gated mlp's middle, with biases, casts, parts and dropout, every value of another type than its
// neighbours; in the order of `types`.
static value_id build_chain(struct harness *h, struct chain *chain, const enum dtype *types) {
    value_id x = harness_input(h, types[0], SIZES(3, 4, 2, 21));
    value_id bias = harness_input(h, types[1], SIZES(2, 21));
    value_id y = harness_input(h, types[2], SIZES(3, 4, 21));
    value_id samples = harness_input(h, DTYPE_I32, SIZES(3));
    value_id layer = harness_input(h, F64, SIZES()), key = harness_input(h, F64, SIZES());
    value_id parts = harness_iota(h, 2), positions = harness_iota(h, 4);
    value_id columns = harness_iota(h, 21);
    value_id biased = inside(h, chain, OP(h, ADD_BIAS, x, bias), types[3]);
    value_id taken[2];
    for (int i = 0; i < 2; i++) {
        struct op *op = OP(h, TAKE, biased, parts);
        op_set_integer(h->program->arena, op, ATTRIBUTE_INDEX, i);
        op_set_integer(h->program->arena, op, ATTRIBUTE_KEEP, 1);
        taken[i] = inside(h, chain, op, types[i]);
    }
    value_id opened = inside(h, chain, OP(h, SILU, taken[0]), types[2]);
    value_id product = inside(h, chain, OP(h, MUL, opened, taken[1]), types[0]);
    value_id scaled = inside(h, chain, OP(h, SCALE, product, layer), types[3]);
    struct op *op = OP(h, DROPOUT, scaled, samples, positions, columns, layer, key);
    op_set_real(h->program->arena, op, ATTRIBUTE_PROBABILITY, 0.3);
    op_set_integer(h->program->arena, op, ATTRIBUTE_SITE, 1);
    value_id dropped = inside(h, chain, op, types[1]);
    value_id crossed = inside(h, chain, OP(h, CAST, dropped), types[2]);
    value_id sum = as(h, OP(h, ADD, crossed, y), types[3]);
    harness_output(h, sum);
    return sum;
}

// In one loop or in as many as there are ops: the same bits.
static void fusing_changes_no_bit(void **state) {
    static const enum dtype chains[][4] = {{BF16, BF16, BF16, BF16}, {F16, F16, F16, F16},
                                           {BF16, F32, BF16, F32},   {F32, BF16, F32, BF16},
                                           {F16, F32, BF16, F16},    {F64, BF16, F32, F16},
                                           {F32, F32, F32, F32},     {BF16, F16, F32, F64}};
    for (size_t i = 0; i < 3 * sizeof chains / sizeof *chains; i += (size_t)stride()) {
        struct harness h[2];
        value_id sums[2];
        for (int fused = 0; fused < 2; fused++) {
            struct chain chain = {.n = 0};
            harness_open(&h[fused], F32);
            h[fused].level = levels[i % 3];
            sums[fused] = build_chain(&h[fused], &chain, chains[i / 3]);
            for (int k = 0; k < chain.n; k++)
                if (fused)
                    harness_inline(&h[fused], chain.inlined[k]);
                else
                    h[fused].unit->values[chain.inlined[k]].storage = STORAGE_UNPLANNED;
            harness_ready(&h[fused]);
            harness_run(&h[fused]);
        }
        for (int64_t at = 0; at < count(&h[0], sums[0]); at++)
            assert_same_number(get(&h[1], sums[1], at), get(&h[0], sums[0], at), 0);
        harness_close(&h[0]);
        harness_close(&h[1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_round_once_to_nearest_even),
        cmocka_unit_test(integers_are_rounded_once),
        cmocka_unit_test(widening_changes_nothing),
        cmocka_unit_test(mixed_elements),
        cmocka_unit_test(computes_in_the_wider_type),
        cmocka_unit_test(kernels_of_mixed_elements),
        cmocka_unit_test(updates_round_parameters),
        cmocka_unit_test(fusing_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
