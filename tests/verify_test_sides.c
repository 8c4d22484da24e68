// Jobs of several parts, which are judged side by side: pipelines that are right, and what is told of
// those that are not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/derive.h"
#include "tests/pipeline_text.h"
#include "tests/tiny_strategies.h"
#include "tests/trial.h"

enum { LAYERS = 5, MICROBATCHES = 4 };

// The trial of a pipeline: its reference, and its text.
static struct trial begin(enum model_family family, int stages) {
    struct trial t = {0};
    t.config = tiny_strategy_config(&t.arena, family, TINY_DDP, MICROBATCHES);
    assert_true(trial_derive(&t, PASS_PARTITION));
    struct pipeline pipeline = {.derived = job_text(t.program->job, &t.arena),
                                .stages = stages,
                                .layers = LAYERS,
                                .microbatches = MICROBATCHES,
                                .tied = family == FAMILY_GPT2};
    t.text = pipeline_text(&t.arena, &pipeline);
    return t;
}

static void judge(struct trial *t) {
    struct text_error error = {0};
    uint32_t source = source_add(&t->sources, &t->arena, "edited.place", t->text, strlen(t->text));
    struct job *job = job_parse(&t->arena, t->text, strlen(t->text), source, &error);
    if (!job)
        fail_msg("%s at `%.80s`", error.message, t->text + error.span.begin);
    job_number(job);
    t->program = job->programs[0];
    trial_judge(t);
}

static void pipelines_are_accepted(void **state) {
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++)
        for (int stages = 2; stages <= 4; stages++) {
            struct trial t = begin(family, stages);
            struct expected_verdict accepted = {0};
            judge(&t);
            if (getenv("PRINT"))
                fputs(t.text, stderr);
            assert_true(trial_end(&t, trial_is_as_expected(&t, accepted),
                                  arena_format(&t.arena, "%d stages", stages), accepted));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pipelines_are_accepted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
