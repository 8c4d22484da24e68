// Types through single units: small units written by hand, partitioned from given types of their
// parameters. Which work is cut, what crosses the wire, where, and what the results are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "passes/partition/partition.h"
#include "passes/placement/work.h"

// dp = 2 splits the batch, tp = 2 the dimension ffn; the axis in time has three microbatches.
enum { DP, TP, TIME };

static const struct selector everywhere = {.span = {.source = NO_SOURCE}};
static const struct work_rule rules[] = {
    {.axis = DP, .dimension = DIM_BATCH, .scope = &everywhere},
    {.axis = TIME, .dimension = DIM_BATCH, .scope = &everywhere},
    {.axis = TP, .dimension = DIM_FFN, .scope = &everywhere},
};

struct trial {
    struct arena arena;
    struct config config;
    struct program *reference;
    struct plan plan;
    struct draft draft;
    struct sharding operands[4];
    struct wanted_result wanted[4];
    const struct unit_use *use;
    const struct unit *made;
};

static void begin(struct trial *t) {
    *t = (struct trial){0};
    t->config.strategy.name_span = span_nowhere();
    t->config.mesh.axes[DP] = (struct mesh_axis){.name = "dp", .size = 2};
    t->config.mesh.axes[TP] = (struct mesh_axis){.name = "tp", .size = 2};
    t->config.mesh.n_axes = 2;
    t->reference = program_new(&t->arena, "main");
    job_add_unit(t->reference->job, "unit", span_nowhere());
    t->plan = (struct plan){.arena = &t->arena,
                            .config = &t->config,
                            .reference = t->reference,
                            .placement = {.microbatches = 3,
                                          .rules = (struct work_rule *)rules,
                                          .n_rules = sizeof rules / sizeof *rules},
                            .time = TIME,
                            .token_axes = 1 << DP | 1 << TIME};
    t->draft = (struct draft){
        .plan = &t->plan,
        .arena = &t->arena,
        .program = program_new(&t->arena, "main"),
        .units = {.names.arena = &t->arena, .uses = ARENA_ARRAY(&t->arena, struct unit_use *, 1)}};
    t->draft.program->job->mesh = t->config.mesh;
}

static struct unit *unit_of(struct trial *t) {
    return &t->reference->job->units[0];
}

static value_id parameter(struct trial *t, const char *name, struct dim a, struct dim b) {
    struct tensor_type type = {.dtype = DTYPE_F32, .dims = {a, b}};
    type.rank = (a.size > 0) + (b.size > 0);
    return unit_add_parameter(t->reference->arena, unit_of(t), name, type, false);
}

static value_id op(struct trial *t, enum op_kind kind, const char *name, value_id a, value_id b) {
    value_id operands[2] = {a, b};
    struct op *made = unit_add_op(t->reference->arena, unit_of(t), kind, name, operands,
                                  op_operand_count(kind), span_nowhere());
    const char *why;
    if (kind == OP_EINSUM)
        op_set_word(t->reference->arena, made, ATTRIBUTE_LABELS, "bx,xy->by");
    if (kind == OP_SUM_ROWS)
        op_set_integer(t->reference->arena, made, ATTRIBUTE_KEEP, 1);
    if (kind == OP_GELU)
        op_set_word(t->reference->arena, made, ATTRIBUTE_APPROXIMATE, "tanh");
    assert_true(op_infer_types(t->reference->arena, unit_of(t), made, &why));
    return made->results[0];
}

// As the rules divide it, and by storage summed over the batch.
static void result(struct trial *t, value_id value) {
    const struct tensor_type *type = &unit_of(t)->values[value].type;
    struct sharding *wanted = &t->wanted[unit_of(t)->n_results].type;
    const struct work_rule *by[MAX_AXES];
    wanted->partial = 1 << DP | 1 << TIME;
    work_cuts_of_dims(&t->plan.placement, (struct part){0}, type->dims, type->rank, wanted->cuts,
                      by);
    unit_add_result(t->reference->arena, unit_of(t), value, NO_ID);
}

static void cut(struct trial *t, value_id parameter, unsigned dimension, unsigned axis) {
    struct axis_list *axes = &t->operands[parameter].cuts[dimension];
    axes->axes[axes->n++] = (uint8_t)axis;
}

// Parameters that carry a batch arrive cut by it.
static void make(struct trial *t) {
    struct unit_use request = {.operands = t->operands, .wanted = t->wanted};
    for (uint32_t i = 0; i < unit_of(t)->n_parameters; i++)
        if (unit_of(t)->values[i].type.dims[0].dimension == DIM_BATCH) {
            cut(t, i, 0, DP);
            cut(t, i, 0, TIME);
        }
    t->use = partition_unit(&t->draft, &t->arena, &request);
    t->made = &t->draft.program->job->units[t->draft.program->job->n_units - 1];
}

static unsigned count(const struct trial *t, enum op_kind kind) {
    unsigned n = 0;
    for (uint32_t i = 0; i < t->made->n_ops; i++)
        n += t->made->ops[i].kind == kind;
    return n;
}

// The op that reads the result of the only wait.
static enum op_kind reader_of_sum(const struct trial *t) {
    value_id summed = NO_ID;
    for (uint32_t i = 0; i < t->made->n_ops; i++) {
        const struct op *op = &t->made->ops[i];
        for (unsigned k = 0; k < op->n_operands; k++)
            if (op->operands[k] == summed)
                return op->kind;
        if (op->kind == OP_WAIT)
            summed = op->results[0];
    }
    return N_OPS;
}

static const struct dim batch = {DIM_BATCH, 12}, hidden = {DIM_HIDDEN, 8}, ffn = {DIM_FFN, 6},
                        none = {DIM_NONE, 0};

// ---- summands ---------------------------------------------------------------------------------

// A column product, a row product: the second one's sum is finished by the op that is not linear.
static void a_row_product_is_summed_before_it_is_needed(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, ffn), w = parameter(&t, "w", ffn, hidden);
    result(&t, op(&t, OP_GELU, "y", op(&t, OP_EINSUM, "product", x, w), 0));
    cut(&t, x, 1, TP);
    cut(&t, w, 0, TP);
    make(&t);
    assert_int_equal(count(&t, OP_ALL_REDUCE), 1);
    assert_int_equal(reader_of_sum(&t), OP_GELU);
    assert_int_equal(t.made->values[w].type.dims[0].size, 3);
    assert_int_equal(t.use->results[0].partial, 0);
    arena_free(&t.arena);
}

static void summands_are_added_before_one_sum(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, ffn), v = parameter(&t, "v", ffn, hidden),
             w = parameter(&t, "w", ffn, hidden);
    value_id a = op(&t, OP_EINSUM, "a", x, v), b = op(&t, OP_EINSUM, "b", x, w);
    result(&t, op(&t, OP_GELU, "y", op(&t, OP_ADD, "sum", a, b), 0));
    cut(&t, x, 1, TP);
    cut(&t, v, 0, TP);
    cut(&t, w, 0, TP);
    make(&t);
    assert_int_equal(count(&t, OP_ALL_REDUCE), 1);
    assert_int_equal(reader_of_sum(&t), OP_GELU);
    arena_free(&t.arena);
}

// The residual stream is a copy: adding it on every device would count it twice.
static void a_summand_is_summed_before_a_copy_is_added(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, ffn), w = parameter(&t, "w", ffn, hidden),
             r = parameter(&t, "r", batch, hidden);
    result(&t, op(&t, OP_ADD, "y", r, op(&t, OP_EINSUM, "product", x, w)));
    cut(&t, x, 1, TP);
    cut(&t, w, 0, TP);
    make(&t);
    assert_int_equal(reader_of_sum(&t), OP_ADD);
    arena_free(&t.arena);
}

// A result that another unit reads is never left a summand on an axis of the model.
static void results_are_summed_over_the_model(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, ffn), w = parameter(&t, "w", ffn, hidden);
    result(&t, op(&t, OP_EINSUM, "y", x, w));
    cut(&t, x, 1, TP);
    cut(&t, w, 0, TP);
    make(&t);
    assert_int_equal(count(&t, OP_WAIT), 1);
    assert_int_equal(t.use->results[0].partial, 0);
    arena_free(&t.arena);
}

// A bias's gradient: summed by the step over the devices, accumulated over the microbatches.
static void sums_over_the_batch_are_accumulated(void **state) {
    struct trial t;
    begin(&t);
    value_id dy = parameter(&t, "dy", batch, hidden);
    result(&t, op(&t, OP_SUM_ROWS, "dbias", dy, 0));
    make(&t);
    assert_int_equal(count(&t, OP_ALL_REDUCE), 0);
    assert_int_equal(count(&t, OP_ACCUMULATE), 1);
    assert_int_equal(t.use->results[0].partial, 1 << DP | 1 << TIME);
    assert_int_equal(t.use->n_extras, 1);
    assert_int_equal(t.made->n_parameters, 2);
    assert_int_equal(t.made->results[0].in_parameter, 1);
    assert_int_equal(t.made->values[0].type.dims[0].size, 2); // 12 / 2 devices / 3 microbatches
    arena_free(&t.arena);
}

// ---- cuts -------------------------------------------------------------------------------------

// What an op computes is cut by the rules, whatever the type in which it finds its operands.
static void a_copy_is_sliced_where_work_is_cut(void **state) {
    struct trial t;
    begin(&t);
    value_id a = parameter(&t, "a", batch, ffn), b = parameter(&t, "b", batch, ffn);
    result(&t, op(&t, OP_MUL, "y", a, b));
    cut(&t, a, 1, TP);
    make(&t);
    assert_int_equal(count(&t, OP_SLICE), 1);
    assert_int_equal(t.made->ops[0].kind, OP_SLICE);
    assert_int_equal(op_integer(&t.made->ops[0], ATTRIBUTE_DIM, -1), 1);
    assert_int_equal(t.use->results[0].cuts[1].n, 1);
    arena_free(&t.arena);
}

static void a_part_is_gathered_once_where_it_is_wanted_whole(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, hidden), w = parameter(&t, "w", hidden, ffn);
    value_id y = op(&t, OP_EINSUM, "y", x, w);
    result(&t, op(&t, OP_MUL, "z", y, op(&t, OP_EINSUM, "again", x, w)));
    cut(&t, x, 1, TP);
    cut(&t, w, 1, TP);
    make(&t);
    assert_int_equal(count(&t, OP_ALL_GATHER), 1);
    assert_int_equal(op_integer(&t.made->ops[0], ATTRIBUTE_DIM, -1), 1);
    assert_int_equal(t.use->results[0].cuts[1].n, 1);
    arena_free(&t.arena);
}

// A sum of which each device wants a part goes over the wire once, not twice.
static void a_summand_is_scattered_where_work_is_cut(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", batch, ffn), w = parameter(&t, "w", ffn, ffn),
             r = parameter(&t, "r", batch, ffn);
    // Contracted over ffn by the first product, cut over ffn by the sum.
    result(&t, op(&t, OP_ADD, "y", r, op(&t, OP_EINSUM, "product", x, w)));
    cut(&t, x, 1, TP);
    cut(&t, w, 0, TP);
    cut(&t, r, 1, TP);
    make(&t);
    assert_int_equal(count(&t, OP_REDUCE_SCATTER), 1);
    assert_int_equal(count(&t, OP_ALL_REDUCE), 0);
    assert_int_equal(reader_of_sum(&t), OP_ADD);
    arena_free(&t.arena);
}

// Squares of gradients that lie differently go to accumulators of their own.
static void square_sums_are_kept_apart_by_type(void **state) {
    struct trial t;
    begin(&t);
    value_id norm2 = parameter(&t, "norm2", none, none), g = parameter(&t, "g", hidden, ffn),
             h = parameter(&t, "h", hidden, none);
    unit_of(&t)->values[norm2].type.dtype = DTYPE_F64;
    value_id first = op(&t, OP_ACCUMULATE, "first", norm2, op(&t, OP_SQUARE_SUM, "a", g, 0));
    value_id sum = op(&t, OP_ACCUMULATE, "sum", first, op(&t, OP_SQUARE_SUM, "b", h, 0));
    unit_add_result(t.reference->arena, unit_of(&t), sum, norm2);
    t.operands[norm2].zero = true;
    cut(&t, g, 1, TP);
    make(&t);
    assert_int_equal(count(&t, OP_ALL_REDUCE), 0);
    assert_int_equal(t.made->n_results, 2);
    assert_int_equal(t.use->operands[norm2].partial, 1 << TP);
    assert_int_equal(t.use->n_extras, 1);
    assert_true(t.use->extras[0].kind == EXTRA_VARIANT);
    assert_int_equal(t.use->extras[0].type.partial, 0);
    arena_free(&t.arena);
}

// The same use twice is one unit; another type is another unit.
static void a_use_is_made_once(void **state) {
    struct trial t;
    begin(&t);
    value_id x = parameter(&t, "x", hidden, ffn);
    result(&t, op(&t, OP_GELU, "y", x, 0));
    make(&t);
    const struct unit_use *first = t.use;
    make(&t);
    assert_ptr_equal(t.use, first);
    cut(&t, x, 1, TP);
    make(&t);
    assert_ptr_not_equal(t.use, first);
    assert_string_equal(t.made->name, "unit_2");
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_product_is_summed_before_it_is_needed),
        cmocka_unit_test(summands_are_added_before_one_sum),
        cmocka_unit_test(a_summand_is_summed_before_a_copy_is_added),
        cmocka_unit_test(results_are_summed_over_the_model),
        cmocka_unit_test(sums_over_the_batch_are_accumulated),
        cmocka_unit_test(a_copy_is_sliced_where_work_is_cut),
        cmocka_unit_test(a_part_is_gathered_once_where_it_is_wanted_whole),
        cmocka_unit_test(a_summand_is_scattered_where_work_is_cut),
        cmocka_unit_test(square_sums_are_kept_apart_by_type),
        cmocka_unit_test(a_use_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
