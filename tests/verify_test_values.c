// Values of steps of a few statements: how a rule joins parts, what it keeps of summands, padding
// and positions, and what it makes of codes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_builder.h"
#include "tests/verify_small_step.h"
#include "verify/machine/machine.h"
#include "verify/rules/rules.h"

static bool nest(struct abstract_machine *m, const char *outer, unsigned axes, const char *inner) {
    struct axis_list list = {0};
    for (unsigned axis = 0; axis < 2; axis++)
        if (axes >> axis & 1)
            axis_list_add(&list, axis);
    return windows_nest(m, program_find_buffer(m->program, outer), &list,
                        program_find_buffer(m->program, inner));
}

static void windows_nest_by_the_axes_between_them(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    assert_true(nest(&m, "whole", 1, "part.a") && nest(&m, "part.b", 1, "part.ba"));
    assert_true(nest(&m, "whole", 0, "whole") && nest(&m, "part.a", 0, "part.a"));
    assert_false(nest(&m, "part.b", 0, "part.ba") || nest(&m, "whole", 1, "part.ba"));
    assert_false(nest(&m, "whole", 1, "part.b") || nest(&m, "part.a", 2, "part.ba"));
    assert_false(nest(&m, "whole", 2, "part.ba") || nest(&m, "part.b", 1, "part.b"));
    arena_free(&t.arena);
}

// Two parts of one contraction over axis b; of another one too, where one is a summand over a.
static void parts_that_are_joined_are_summands_alike(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "both")];
    const struct op *add = &unit->ops[unit->n_ops - 1];
    form_id rows = initial_judgement(&m, program_find_buffer(t.program, "u"), 0).form;
    struct judgement parts[2], sum;
    parts[0] = parts[1] = initial_judgement(&m, program_find_buffer(t.program, "w"), 0);
    parts[0].coverage =
        coverage_of(m.world, MONOID_SUM, 1, 'x', form_get(&m.world->digits, rows)->key->dims[0]);
    parts[1].coverage = coverage_shift(m.world, parts[0].coverage, 1, 1);
    op_apply(m.proof, BUILDER(m.world->terms), unit, add, parts, &sum);
    assert_true(!sum.fault && sum.coverage == COVERAGE_COMPLETE);
    parts[1].partial = 1;
    op_apply(m.proof, BUILDER(m.world->terms), unit, add, parts, &sum);
    assert_true(sum.fault && sum.fault->code == E412);
    arena_free(&t.arena);
}

// An attention of some queries to some keys is over parts of the keys on one axis only: of the
// pairs of another axis too a device would have no more than some.
static void parts_are_of_one_axis(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "ring")];
    struct judgement operands[5], made[2];
    operands[0] = initial_judgement(&m, program_find_buffer(t.program, "q"), 0);
    operands[1] = operands[2] = initial_judgement(&m, program_find_buffer(t.program, "k"), 0);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[0], NULL, &operands[3]);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[1], NULL, &operands[4]);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[2], operands, made);
    assert_true(!made[0].fault && coverage_axes(m.world, made[0].coverage) == 1);
    for (int i = 0; i < 5; i++)
        assert_null(form_cut(&m.world->digits, &operands[i].form, i < 3, 1));
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[2], operands, made);
    assert_true(made[0].fault && made[0].fault->code == E510);
    arena_free(&t.arena);
}

static const struct op *first_op(struct abstract_machine *m, const char *unit) {
    return m->program->job->units[job_find_unit(m->program->job, unit)].ops;
}

// What the first op of a unit makes.
static struct judgement made_by(struct abstract_machine *m, const char *unit, struct judgement x,
                                struct judgement z) {
    struct judgement operands[2] = {x, z}, made;
    op_apply(m->proof, BUILDER(m->world->terms),
             &m->program->job->units[job_find_unit(m->program->job, unit)], first_op(m, unit),
             operands, &made);
    return made;
}

// Padding is zeros where ops have made zeros of zeros.
static void padding_is_followed(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m, "buffer pad : parameters f32[vocab=3] flat/a of short at 27648\ntrain {\n");
    struct judgement clean = initial_judgement(&m, program_find_buffer(t.program, "pad"), 0);
    struct judgement whole = initial_judgement(&m, program_find_buffer(t.program, "w"), 0);
    clean.padding = whole.padding = PADDING_ZEROS;
    struct judgement unknown = clean;
    unknown.padding = PADDING_ANY;
    struct scaled nothing = {term_constant(BUILDER(m.world->terms), NODE_ZERO), SCALE_ONE};
    struct judgement zeros = judgement_of(m.world, nothing, FORM_ANY, DTYPE_F32);
    zeros.padding = PADDING_ZEROS;
    assert_int_equal(made_by(&m, "keep", clean, clean).padding, PADDING_ZEROS);
    assert_int_equal(made_by(&m, "keep", unknown, clean).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "keep", zeros, clean).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "copy", whole, clean).padding,
                     PADDING_ANY); // no padding of the value's own
    assert_int_equal(made_by(&m, "plus", clean, clean).padding, PADDING_ZEROS);
    assert_int_equal(made_by(&m, "plus", clean, unknown).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "plus", unknown, clean).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "bend_part", clean, clean).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "bend", whole, whole).padding, PADDING_ANY);
    assert_int_equal(made_by(&m, "add", whole, whole).padding, PADDING_ANY);
    assert_null(made_by(&m, "norm", clean, clean).fault);
    assert_non_null(made_by(&m, "norm", unknown, clean).fault);
    arena_free(&t.arena);
}

// Elements alone arrive, or are cut; padding of flat shards stands among them. What arrives is a
// copy, as what an op makes.
static void transfers_keep_no_more_than_elements(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m,
        "buffer pad : parameters f32[vocab=3] flat/a of short at 27648\n"
        "buffer lost : residual f32[hidden=4] flat/b of line at 28672\ntrain {\n"
        "call copy(x = w[0]) -> (y = spare[0])\n");
    m.cursor->statement = t.program->steps[STEP_TRAIN].body.statements;
    struct judgement part = initial_judgement(&m, program_find_buffer(t.program, "pad"), 0);
    struct judgement whole = initial_judgement(&m, program_find_buffer(t.program, "w"), 0);
    struct judgement own = initial_judgement(&m, program_find_buffer(t.program, "lost"), 0);
    struct exchange permute = {.kind = COLLECTIVE_PERMUTE, .dim = -1, .shift = 1}, gather;
    axis_list_add(&permute.axes, 0);
    gather = permute;
    gather.kind = COLLECTIVE_ALL_GATHER;
    part.padding = whole.padding = PADDING_ZEROS;
    assert_true(
        collective_apply(m.proof, BUILDER(m.world->terms), &permute, 2, &part, span_nowhere())
            .padding);
    assert_false(
        collective_apply(m.proof, BUILDER(m.world->terms), &permute, 4, &whole, span_nowhere())
            .padding);
    assert_false(
        collective_apply(m.proof, BUILDER(m.world->terms), &gather, 2, &part, span_nowhere())
            .padding);
    assert_false(slice_apply(m.proof, &permute.axes, 0, 2, &whole, span_nowhere()).padding);
    assert_true(
        own.own &&
        !collective_apply(m.proof, BUILDER(m.world->terms), &permute, 2, &own, span_nowhere()).own);
    assert_true(own.own && !made_by(&m, "keep", own, own).own);
    assert_true(copy_apply(m.world, &part).padding && !copy_apply(m.world, &whole).padding);
    assert_false(copy_apply(m.world, &own).own);
    arena_free(&t.arena);
}

static struct judgement sent_by(struct abstract_machine *m, enum collective_kind kind,
                                struct judgement value) {
    struct exchange exchange = {.kind = kind, .dim = -1, .shift = 1};
    axis_list_add(&exchange.axes, 0);
    return collective_apply(m->proof, BUILDER(m->world->terms), &exchange, 2, &value,
                            span_nowhere());
}

// One device of several: `w` it has whole, the result, and `pad` a part of.
static struct judgement begin_with_part(struct trial *t, struct abstract_machine *m,
                                        struct judgement *part) {
    small_step_begin_machine(t, m,
                             "buffer pad : parameters f32[vocab=3] flat/a of short at 27648\ntrain "
                             "{\ncall copy(x = w[0]) -> (y = spare[0])\n");
    m->cursor->statement = t->program->steps[STEP_TRAIN].body.statements;
    *part = initial_judgement(m, program_find_buffer(t->program, "pad"), 0);
    return initial_judgement(m, program_find_buffer(t->program, "w"), 0);
}

// What is sent may be narrower than what reads it needs, if the collective does more than move it.
static void only_what_is_summed_or_joined_is_sent_narrower(void **state) {
    struct trial t;
    struct abstract_machine m;
    struct judgement part, whole = begin_with_part(&t, &m, &part);
    assert_true(sent_by(&m, COLLECTIVE_ALL_GATHER, part).sent);
    assert_true(sent_by(&m, COLLECTIVE_BROADCAST, whole).sent);
    assert_false(sent_by(&m, COLLECTIVE_PERMUTE, whole).sent);
    readings_gradient(m.proof->readings, whole.value.of.node, &t.program->job->tensors[0]);
    assert_false(sent_by(&m, COLLECTIVE_ALL_REDUCE, whole).sent);
    whole.partial = 1;
    assert_true(sent_by(&m, COLLECTIVE_ALL_REDUCE, whole).sent);
    assert_false(sent_by(&m, COLLECTIVE_PERMUTE, whole).sent);
    readings_gradient(m.proof->readings, part.value.of.node, &t.program->job->tensors[0]);
    part.value = sum_microbatch(BUILDER(m.world->terms), part.value, 0);
    assert_false(sent_by(&m, COLLECTIVE_ALL_GATHER, part).sent);
    arena_free(&t.arena);
}

// What others have a part of, or the greatest, or a summand, no one gives them whole.
static void what_is_broadcast_is_whole(void **state) {
    struct trial t;
    struct abstract_machine m;
    struct judgement part, whole = begin_with_part(&t, &m, &part);
    struct judgement summand = whole, greatest = whole, other = whole;
    summand.partial = greatest.partial_max = 1;
    other.bits = 0;
    other.partial = 2; // over the axis along which nothing is given
    assert_null(sent_by(&m, COLLECTIVE_BROADCAST, whole).fault);
    assert_null(sent_by(&m, COLLECTIVE_BROADCAST, other).fault);
    assert_int_equal(sent_by(&m, COLLECTIVE_BROADCAST, other).bits, 1);
    assert_int_equal(sent_by(&m, COLLECTIVE_BROADCAST, summand).fault->code, E410);
    assert_int_equal(sent_by(&m, COLLECTIVE_BROADCAST, greatest).fault->code, E410);
    assert_int_equal(sent_by(&m, COLLECTIVE_BROADCAST, part).fault->code, E510);
    arena_free(&t.arena);
}

// An attention to values that are zeros is zeros, but the sums that it weighs them by are not.
static void zeros_that_are_not_read_make_no_zeros(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "ring")];
    struct judgement operands[5], made[2];
    struct scaled nothing = {term_constant(BUILDER(m.world->terms), NODE_ZERO), SCALE_ONE};
    operands[0] = initial_judgement(&m, program_find_buffer(t.program, "q"), 0);
    operands[1] = initial_judgement(&m, program_find_buffer(t.program, "k"), 0);
    operands[2] = judgement_of(m.world, nothing, FORM_ANY, DTYPE_F32);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[0], NULL, &operands[3]);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[1], NULL, &operands[4]);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[2], operands, made);
    assert_int_equal(term_kind(m.world->terms, made[0].value.of), NODE_ZERO);
    assert_true(made[1].fault || term_kind(m.world->terms, made[1].value.of) != NODE_ZERO);
    arena_free(&t.arena);
}

// Where all is multiplied by ones it stays what it is.
static void what_is_multiplied_by_ones_stays(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct judgement x = initial_judgement(&m, program_find_buffer(t.program, "u"), 0), ones = x;
    ones.value = (struct scaled){term_constant(BUILDER(m.world->terms), NODE_ONE),
                                 scale_rational(m.world->terms, 1, 3)};
    struct scaled third = {x.value.of, ones.value.scale};
    const struct op *mul = first_op(&m, "square");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "square")];
    for (int i = 0; i < 2; i++) {
        struct judgement operands[2] = {i ? ones : x, i ? x : ones}, made;
        op_apply(m.proof, BUILDER(m.world->terms), unit, mul, operands, &made);
        assert_true(!made.fault && scaled_same(m.world->terms, made.value, third));
    }
    arena_free(&t.arena);
}

// Ones that a product sums over are counted, whichever factor they are.
static void ones_that_are_summed_count(void **state) {
    static char *const labels[] = {"n,h->h", "h,n->h"};
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "mix")];
    struct judgement x = initial_judgement(&m, program_find_buffer(t.program, "w"), 0), ones = x;
    ones.value = (struct scaled){term_constant(BUILDER(m.world->terms), NODE_ONE), SCALE_ONE};
    for (int i = 0; i < 2; i++) {
        struct op product = unit->ops[0];
        struct attribute attribute = *op_attribute(&product, ATTRIBUTE_LABELS);
        attribute.word = labels[i];
        product.attributes = &attribute;
        struct judgement operands[2] = {i ? x : ones, i ? ones : x}, made;
        op_apply(m.proof, BUILDER(m.world->terms), unit, &product, operands, &made);
        assert_true(!made.fault && !scaled_same(m.world->terms, made.value, x.value));
    }
    arena_free(&t.arena);
}

// A product of two sums is no sum of the products that devices have.
static void summands_are_multiplied_by_copies(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct judgement x = initial_judgement(&m, program_find_buffer(t.program, "w"), 0), part = x;
    part.partial = 1;
    assert_int_equal(made_by(&m, "times", part, x).partial, 1);
    assert_non_null(made_by(&m, "times", part, part).fault);
    arena_free(&t.arena);
}

// Sums over some microbatches may be added to each other, and may go into what is linear in one of
// them.
static void sums_over_some_microbatches_are_passed_on(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct judgement x = initial_judgement(&m, program_find_buffer(t.program, "w"), 0), some = x;
    struct judgement z = initial_judgement(&m, program_find_buffer(t.program, "w"), 1);
    some.value = sum_microbatch(BUILDER(m.world->terms), some.value, 3);
    struct judgement count =
        judgement_of(m.world, x.value, form_make(&m.world->digits, NULL, 0), DTYPE_F64);
    struct judgement counted = count;
    counted.value = some.value;
    struct judgement made = made_by(&m, "times", some, z);
    struct scaled product =
        sum_microbatch(BUILDER(m.world->terms), made_by(&m, "times", x, z).value, 3);
    assert_true(!made.fault && scaled_same(m.world->terms, made.value, product));
    made = made_by(&m, "times", z, some);
    assert_true(!made.fault && scaled_same(m.world->terms, made.value, product));
    assert_null(made_by(&m, "scaled", some, count).fault);
    assert_non_null(made_by(&m, "scaled", x, counted).fault);
    assert_non_null(made_by(&m, "times", some, some).fault);
    assert_non_null(made_by(&m, "bend", some, some).fault);
    arena_free(&t.arena);
}

// What a device has left of its gradient when it has coded it.
static struct judgement left_of(struct abstract_machine *m, struct judgement gradient,
                                struct judgement residual, struct judgement *code) {
    struct judgement operands[2] = {gradient, residual}, made[2];
    op_apply(m->proof, BUILDER(m->world->terms),
             &m->program->job->units[job_find_unit(m->program->job, "send")], first_op(m, "send"),
             operands, made);
    assert_true(!made[0].fault == !made[1].fault);
    *code = made[0];
    return made[1];
}

static bool is_coded(struct abstract_machine *m, struct judgement gradient,
                     struct judgement residual) {
    struct judgement code, left = left_of(m, gradient, residual, &code);
    return !left.fault;
}

// Coded are whole summands over exactly the axes of the wire, with the residual that is the
// device's own as the step found it.
static void codes_are_of_whole_summands(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m, "buffer lost : residual f32[hidden=4] flat/b of line at 27648\ntrain {\n");
    struct judgement r = initial_judgement(&m, program_find_buffer(t.program, "lost"), 0);
    struct judgement g = r, other;
    g.value = initial_judgement(&m, program_find_buffer(t.program, "w"), 0).value;
    g.partial = 2;
    assert_true(is_coded(&m, g, r));
    other = g;
    other.partial = 0;
    assert_false(is_coded(&m, other, r));
    other.partial = 3;
    assert_false(is_coded(&m, other, r));
    other = g;
    other.value = sum_microbatch(BUILDER(m.world->terms), g.value, 3);
    assert_false(is_coded(&m, other, r));
    other = r;
    other.value.of = g.value.of;
    assert_false(is_coded(&m, g, other));
    struct part part = part_of(r.value.of);
    uint32_t name = m.world->terms->nodes[r.value.of.node].key->attributes;
    other.value.of = term_make(BUILDER(m.world->terms), OP_SILU, 0, name, &part, 1);
    assert_false(is_coded(&m, g, other));
    other = r;
    other.value.scale = scale_rational(m.world->terms, 2, 1);
    assert_false(is_coded(&m, g, other));
    other = r;
    other.own = 0;
    assert_false(is_coded(&m, g, other));
    struct judgement code, clean = g, kept = r;
    clean.padding = kept.padding = PADDING_ZEROS;
    g.padding = r.padding = PADDING_ANY;
    assert_int_equal(left_of(&m, clean, kept, &code).padding, PADDING_ZEROS);
    assert_false(left_of(&m, g, kept, &code).padding || left_of(&m, clean, r, &code).padding);
    struct judgement made = made_by(&m, "keep", code, code);
    assert_true(made.fault && made.fault->code == E516);
    arena_free(&t.arena);
}

// Codes are brought together over the axes of their summands, and all of them are taken for the
// sum.
static void codes_are_gathered_and_decompressed(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m,
        "buffer lost : residual f32[hidden=4] flat/b of line at 27648\ntrain {\n"
        "call copy(x = w[0]) -> (y = spare[0])\n");
    m.cursor->statement = t.program->steps[STEP_TRAIN].body.statements;
    struct judgement r = initial_judgement(&m, program_find_buffer(t.program, "lost"), 0);
    struct judgement g = r, code, sum;
    g.value = initial_judgement(&m, program_find_buffer(t.program, "w"), 0).value;
    assert_true(left_of(&m, g, r, &code).own && !code.own); // but what it lacks is the device's
    struct exchange gather = {.kind = COLLECTIVE_ALL_GATHER, .dim = -1};
    axis_list_add(&gather.axes, 1);
    struct judgement all =
        collective_apply(m.proof, BUILDER(m.world->terms), &gather, 2, &code, span_nowhere());
    assert_true(!all.fault && !all.own);
    sum = made_by(&m, "receive", all, g);
    assert_true(!sum.fault && sum.form == g.form && sum.partial == 0);
    for (padding_id padding = PADDING_ANY; padding <= PADDING_OF_STATES;
         padding++) { // its type and its padding are the gradient's
        struct judgement part = g, kept = r;
        part.padding = kept.padding = padding;
        left_of(&m, part, kept, &all);
        all = collective_apply(m.proof, BUILDER(m.world->terms), &gather, 2, &all, span_nowhere());
        all.padding = padding + 1; // behind the codes' own elements
        sum = made_by(&m, "receive", all, g);
        assert_int_equal(sum.padding, padding);
        assert_int_equal(sum.dtype, DTYPE_F32);
    }
    sum = made_by(&m, "receive", code, g);
    assert_true(sum.fault && sum.fault->code == E516);
    r.partial = 0;
    sum = made_by(&m, "receive", r, g);
    assert_true(sum.fault && sum.fault->code == E516);
    struct exchange other = gather;
    other.kind = COLLECTIVE_PERMUTE;
    all = collective_apply(m.proof, BUILDER(m.world->terms), &other, 2, &code, span_nowhere());
    assert_true(all.fault && all.fault->code == E516);
    other = (struct exchange){.kind = COLLECTIVE_ALL_GATHER, .dim = -1};
    axis_list_add(&other.axes, 0); // of as many devices
    all = collective_apply(m.proof, BUILDER(m.world->terms), &other, 2, &code, span_nowhere());
    assert_true(all.fault && all.fault->code == E516);
    arena_free(&t.arena);
}

// An op selects rows by their positions as they are: counted twice as fast they are none.
static void rows_are_selected_by_positions(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct unit *unit = &t.program->job->units[job_find_unit(t.program->job, "look")];
    struct judgement operands[3], made;
    operands[0] = initial_judgement(&m, program_find_buffer(t.program, "targets"), 0);
    operands[1] = initial_judgement(&m, program_find_buffer(t.program, "table"), 0);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[0], NULL, &operands[2]);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[1], operands, &made);
    assert_false(made.fault);
    operands[2].value.scale = scale_rational(m.world->terms, 2, 1);
    op_apply(m.proof, BUILDER(m.world->terms), unit, &unit->ops[1], operands, &made);
    assert_true(made.fault && made.fault->code == E512);
    arena_free(&t.arena);
}

// What two values are may hang on what they were rounded to, and whether that was to be sent.
static void values_differ_by_their_digits(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct judgement value = initial_judgement(&m, program_find_buffer(t.program, "w"), 0);
    struct judgement sent = value, narrow = value, narrow_before = value;
    sent.sent = true;
    narrow.width = width_of(DTYPE_BF16);
    narrow_before.before = width_of(DTYPE_BF16);
    assert_true(judgement_alike(&value, &value));
    assert_false(judgement_alike(&value, &sent));
    assert_false(judgement_alike(&value, &narrow));
    assert_false(judgement_alike(&value, &narrow_before));
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_nest_by_the_axes_between_them),
        cmocka_unit_test(parts_that_are_joined_are_summands_alike),
        cmocka_unit_test(parts_are_of_one_axis),
        cmocka_unit_test(padding_is_followed),
        cmocka_unit_test(transfers_keep_no_more_than_elements),
        cmocka_unit_test(only_what_is_summed_or_joined_is_sent_narrower),
        cmocka_unit_test(what_is_broadcast_is_whole),
        cmocka_unit_test(zeros_that_are_not_read_make_no_zeros),
        cmocka_unit_test(what_is_multiplied_by_ones_stays),
        cmocka_unit_test(ones_that_are_summed_count),
        cmocka_unit_test(summands_are_multiplied_by_copies),
        cmocka_unit_test(sums_over_some_microbatches_are_passed_on),
        cmocka_unit_test(codes_are_of_whole_summands),
        cmocka_unit_test(codes_are_gathered_and_decompressed),
        cmocka_unit_test(rows_are_selected_by_positions),
        cmocka_unit_test(values_differ_by_their_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
