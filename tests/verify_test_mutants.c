// Mistakes that people and compilers make, planted one at a time into programs that the compiler
// derived: each is refused with its code at the statement that is wrong or that is the first to
// meet the wrong value; and changes that change nothing are accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutants.h"
#include "tests/sample.h"
#include "tests/trial.h"

// Begins a trial; the program that is to be spoilt.
static struct program *derive(struct trial *t, enum model_family family,
                              enum tiny_strategy strategy) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, family, strategy, 3);
    for (uint32_t i = 0; i < t->config.strategy.n_modes; i++)
        t->config.strategy.modes[i].prefetch = 1;
    assert_true(trial_derive(t, N_PASSES - 1));
    return t->program;
}

static void try_mutant(struct trial *t, const struct known_mutant *mutant) {
    derive(t, mutant->family, mutant->strategy);
    if (!trial_edit(t, mutant->edits))
        fail_msg("%s: the edits find nothing, or make no program", mutant->name);
    trial_judge(t);
}

// Where two terms differ, the numbers that they stand for do too.
static bool has_witness(const struct trial *t) {
    enum diagnostic_code code = t->diagnostics->items[0]->code;
    // In the text of a unit, that is, where an op reads what is not whole.
    bool part = code == E410 && *trial_place(t) == '%';
    bool terms = code == E413 || code == E490 || part;
    return !terms || t->verdict.kind == VERDICT_REFUTED;
}

static void mistakes_are_refused_where_they_are(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < n_wrong_mutants; i += (size_t)sample_every()) {
        struct trial t;
        try_mutant(&t, &wrong_mutants[i]);
        struct expected_verdict expected = {wrong_mutants[i].code, wrong_mutants[i].at, NULL};
        bool right = trial_is_as_expected(&t, expected) && has_witness(&t);
        n_failed += !trial_end(&t, right, wrong_mutants[i].name, expected);
    }
    assert_int_equal(n_failed, 0);
}

// The plan is proved too: a buffer, or a value of a frame, that is put where another still is.
static void plans_that_overlap_are_refused(void **state) {
    for (size_t i = 0; i < n_overlaps; i++) {
        struct trial t;
        struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
        overlap_buffers(program, &overlaps[i]);
        trial_judge(&t);
        if (t.verdict.kind == VERDICT_ACCEPTED || t.diagnostics->items[0]->code != E611)
            fail_msg("%s where %s is", overlaps[i].moved, overlaps[i].to);
        arena_free(&t.arena);
    }
}

static void frames_that_overlap_are_refused(void **state) {
    struct trial t;
    struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
    overlap_keys_and_queries(program);
    trial_judge(&t);
    assert_int_not_equal(t.verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(t.diagnostics->items[0]->code, E611);
    arena_free(&t.arena);
}

// The top-level loop over layers of the train step that calls the unit.
static uint32_t find_loop(const struct program *program, const char *unit) {
    const struct block *body = &program->steps[STEP_TRAIN].body;
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *loop = &body->statements[i];
        if (loop->kind != STATEMENT_LOOP || loop->loop.body.n != 1 ||
            loop->loop.body.statements[0].kind != STATEMENT_CALL)
            continue;
        uint32_t called = loop->loop.body.statements[0].call.unit;
        if (strcmp(program->job->units[called].name, unit) == 0)
            return i;
    }
    fail_msg("no loop calls %s", unit);
    return NO_ID;
}

// The norm is begun twice, the second time with layer 3 where 2 was the first time: what is
// remembered of the call on (layers 0 and 1) and layer 2 must not serve for the one on (layers 0
// and 1) and 3.
static void sums_over_layers_are_not_mixed_up(void **state) {
    struct trial t;
    struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
    struct block *body = &program->steps[STEP_TRAIN].body;
    static const int64_t ranges[][2] = {{0, 3}, {0, 2}, {3, 4}, {3, 5}};
    uint32_t at = find_loop(program, "norm_block");
    struct statement loop = body->statements[at];
    struct statement zero = {.kind = STATEMENT_ZERO,
                             .span = span_nowhere(),
                             .zero = reference_to(program_find_buffer(program, "norm2"))};
    struct statement head = {0}; // norm_embedding, which the second sum has to begin with again
    for (uint32_t i = 0; i < at; i++)
        if (body->statements[i].kind == STATEMENT_CALL &&
            strcmp(program->job->units[body->statements[i].call.unit].name, "norm_embedding") == 0)
            head = body->statements[i];
    for (int i = 3; i >= 0; i--) {
        struct statement part = loop;
        part.loop.begin = ranges[i][0];
        part.loop.end = ranges[i][1];
        if (i == 3)
            body->statements[at] = part;
        else
            block_insert(program->arena, body, at, part);
        if (i == 1) {
            block_insert(program->arena, body, at, head);
            block_insert(program->arena, body, at, zero);
        }
    }
    job_number(program->job);
    trial_judge(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUTED);
    assert_int_equal(t.diagnostics->items[0]->code, E412);
    arena_free(&t.arena);
}

static void harmless_changes_are_accepted(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < n_harmless_mutants; i += (size_t)sample_every()) {
        struct trial t;
        try_mutant(&t, &harmless_mutants[i]);
        bool right = t.verdict.kind == VERDICT_ACCEPTED;
        n_failed += !trial_end(&t, right, harmless_mutants[i].name, (struct expected_verdict){0});
    }
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_refused_where_they_are),
        cmocka_unit_test(plans_that_overlap_are_refused),
        cmocka_unit_test(frames_that_overlap_are_refused),
        cmocka_unit_test(sums_over_layers_are_not_mixed_up),
        cmocka_unit_test(harmless_changes_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
