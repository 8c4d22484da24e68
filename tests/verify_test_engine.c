// The engine on steps of a few statements: what its store holds of bytes that are shared and of
// items that are alike, how a rule joins parts, and what a step costs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/small_step.h"
#include "verify/engine.h"

static void begin_engine(struct trial *t, struct engine *e, const char *statements) {
    small_step_begin(t, statements);
    struct terms *terms = ARENA_NEW(&t->arena, struct terms);
    terms_init(terms, &t->arena, (int32_t)t->program->sizes.microbatches);
    engine_init(e, t->program, terms, &t->arena, t->diagnostics);
}

static buffer_id move_to(struct trial *t, const char *name, int64_t offset) {
    buffer_id id = program_find_buffer(t->program, name);
    t->program->buffers[id].offset_bytes = offset;
    return id;
}

// Of three in a row only neighbours meet; what has no offset meets nobody.
static void bytes_meet_where_they_are_shared(void **state) {
    struct trial t;
    struct engine e;
    small_step_begin(&t, "");
    buffer_id first = move_to(&t, "spare", 0), second = move_to(&t, "whole", 56);
    buffer_id third = move_to(&t, "work", 68), none = move_to(&t, "moved", -1);
    struct terms *terms = ARENA_NEW(&t.arena, struct terms);
    terms_init(terms, &t.arena, 1);
    engine_init(&e, t.program, terms, &t.arena, t.diagnostics);
    assert_true(buffers_meet(&e, first, second) && buffers_meet(&e, second, first));
    assert_true(buffers_meet(&e, second, third) && buffers_meet(&e, third, second));
    assert_false(buffers_meet(&e, first, third) || buffers_meet(&e, third, first));
    assert_false(buffers_meet(&e, first, none) || buffers_meet(&e, none, first));
    struct place low = {first, 0}, high = {first, 3}, at = {second, 0};
    assert_true(bytes_intersect(&e, high, at) && bytes_intersect(&e, at, high));
    assert_false(bytes_intersect(&e, low, at) || bytes_intersect(&e, at, low));
    arena_free(&t.arena);
}

// Neighbours of which one is told what the other is must be alike in all that a run says of both.
static void items_that_differ_in_anything_are_no_run(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e, "");
    struct judgement value = {.partial = 1}, fault, others[10];
    struct span elsewhere = t.program->steps[STEP_TRAIN].span;
    fault = judgement_fault(fault_make(&e, E611, span_nowhere(), NULL, "one"));
    for (size_t i = 0; i < 10; i++)
        others[i] = value;
    others[0].value.scale = value.value.scale + 1;
    others[1].form = value.form + 1;
    others[2].partial = 2;
    others[3].partial_max = 2;
    others[4].bits = 2;
    others[5].coverage = COVERAGE_UNKNOWN;
    others[6].dtype = value.dtype + 1;
    others[7].clean = !value.clean;
    others[8].own = 1;
    others[9] = fault;
    assert_true(judgement_alike(&value, &value) && judgement_alike(&fault, &fault));
    for (size_t i = 0; i < 10; i++)
        assert_false(judgement_alike(&value, &others[i]) || judgement_alike(&others[i], &value));
    struct judgement other = judgement_fault(fault_make(&e, E611, elsewhere, NULL, "other"));
    assert_false(judgement_alike(&fault, &other));
    arena_free(&t.arena);
}

// Two parts of one contraction over axis b; of another one too, where one is a summand over a.
static void parts_that_are_joined_are_summands_alike(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e, "");
    const struct unit *unit = &t.program->units[program_find_unit(t.program, "both")];
    const struct op *add = &unit->ops[unit->n_ops - 1];
    form_id rows = initial_judgement(&e, program_find_buffer(t.program, "u"), 0).form;
    struct judgement parts[2], sum;
    parts[0] = parts[1] = initial_judgement(&e, program_find_buffer(t.program, "w"), 0);
    parts[0].coverage =
        coverage_of(&e, MONOID_SUM, 1, 'x', form_get(&e.digits, rows)->key->dims[0]);
    parts[1].coverage = coverage_shift(&e, parts[0].coverage, 1, 1);
    rule_apply(&e, unit, add, parts, &sum);
    assert_true(!sum.fault && sum.coverage == COVERAGE_COMPLETE);
    parts[1].partial = 1;
    rule_apply(&e, unit, add, parts, &sum);
    assert_true(sum.fault && sum.fault->code == E412);
    arena_free(&t.arena);
}

// An op selects rows by their positions as they are: counted twice as fast they are none.
static void rows_are_selected_by_positions(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e, "");
    const struct unit *unit = &t.program->units[program_find_unit(t.program, "look")];
    struct judgement operands[3], made;
    operands[0] = initial_judgement(&e, program_find_buffer(t.program, "targets"), 0);
    operands[1] = initial_judgement(&e, program_find_buffer(t.program, "table"), 0);
    rule_apply(&e, unit, &unit->ops[0], NULL, &operands[2]);
    rule_apply(&e, unit, &unit->ops[1], operands, &made);
    assert_false(made.fault);
    operands[2].value.scale = scale_rational(e.terms, 2, 1);
    rule_apply(&e, unit, &unit->ops[1], operands, &made);
    assert_true(made.fault && made.fault->code == E512);
    arena_free(&t.arena);
}

// ---- cost -------------------------------------------------------------------------------------

static void what_is_left_to_follow_is_bounded(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e,
                 "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[1]) -> (y = spare[1])\n");
    assert_true(step_execute(&e, STEP_TRAIN));
    e.budget = 1; // the first statement; its unit is remembered
    block_execute(&e, &e.step->body);
    assert_true(e.overrun);
    arena_free(&t.arena);
}

// How often an invariant is looked for in a loop that has none.
static uint32_t attempts(int n_iterations) {
    struct trial t;
    struct engine e;
    char statements[256];
    snprintf(statements, sizeof statements,
             "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[0]) -> (y = spare[1])\n"
             "for i = 0 .. %d {\n"
             "call bend(x = spare[i mod 1]) -> (y = spare[1])\n"
             "call bend(x = spare[1]) -> (y = spare[0])\n}\n",
             n_iterations);
    begin_engine(&t, &e, statements);
    assert_true(step_execute(&e, STEP_TRAIN));
    arena_free(&t.arena);
    return e.n_attempts;
}

static void invariants_are_looked_for_where_that_may_pay(void **state) {
    assert_int_equal(attempts(5), 1); // then fewer iterations are left than a proof costs
    assert_true(attempts(200) < 16);  // at distances that grow
}

// A call that reads a whole parameter beside one microbatch's tokens is evaluated once for all.
static void calls_are_remembered_for_all_microbatches(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e,
                 "for m = 0 .. 8 { call look(t = table, x = targets[m]) -> (y = rows[m]) }\n");
    e.one_by_one = true;
    assert_true(step_execute(&e, STEP_TRAIN));
    assert_int_equal(e.n_memos, 1);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_meet_where_they_are_shared),
        cmocka_unit_test(items_that_differ_in_anything_are_no_run),
        cmocka_unit_test(parts_that_are_joined_are_summands_alike),
        cmocka_unit_test(rows_are_selected_by_positions),
        cmocka_unit_test(what_is_left_to_follow_is_bounded),
        cmocka_unit_test(invariants_are_looked_for_where_that_may_pay),
        cmocka_unit_test(calls_are_remembered_for_all_microbatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
