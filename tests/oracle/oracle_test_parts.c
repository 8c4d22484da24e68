// Pipelines by the oracle: what is right is right whichever part goes first, and what is planted into
// one shows, as another result or as parts that all wait for each other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/oracle/compiled.h"
#include "tests/oracle/truth.h"

// Three ranks of one stage each, in the order 1F1B; the table of the embedding is the head's, too.
static const char pipeline[] =
    "model tiny : gpt2 { layers = 5  hidden = 10  heads = 2  head_dim = 5  ffn = 14  vocab = 18\n"
    "  sequence_limit = 8  tied = true }\n"
    "device core { memory = 1 GiB }\n"
    "mesh ranks of core { pp = 3  dp = 2 }\n"
    "train { batch = 16  sequence = 7  microbatch = 2  precision = fp64\n"
    "  optimizer = adamw(lr = 0.05, eps = 1e-2)  clip = 0.01\n"
    "}\n"
    "strategy main { split batch over dp\n"
    "  split layers over pp schedule one_f_one_b(stages = [embedding + 2, 2, 1 + head]) }\n";

struct edit { // of the first `from` behind both
    const char *part, *behind, *from, *to;
};
struct mistake {
    const char *name;
    struct edit edits[4];
    enum outcome outcome;
};

#define SEND_UP "      start send over pp to 0 as send.B1.B0[0] { dhidden[0] }\n"
#define GIVE    "      wait embedding.token.gradient.give[0]\n"
#define GET     "      start receive over pp from 2 as embedding.token.gradient.get[0] {\n"
#define NORM    "      start all_reduce over pp as sum.norm2[0] { norm2 -> norm2 }\n"

static const struct mistake mistakes[] = {
    {"a label does nothing",
     {{"part rank1", "train {", "task B 1 0", "task F 2 3"}},
     OUTCOME_RIGHT},
    {"what is sent is cleared before it is received", // where transfers are performed late
     {{"part rank0", "task F 0 0", "start send over pp to 1 as send.F0.F1[0] { hidden[0][2] }",
       "start send over pp to 1 as send.F0.F1[0] { hidden[0][2] }\n      zero hidden[0][2]"}},
     OUTCOME_WRONG},
    {"what is received is cleared before its wait", // where they are performed early
     {{"part rank1", "task F 1 0", "wait receive.F0.F1[0]",
       "zero hidden[0][0]\n      wait receive.F0.F1[0]"}},
     OUTCOME_WRONG},
    {"an item of another microbatch",
     {{"part rank0", "task F 0 m", "{ hidden[m mod 3][2] }", "{ hidden[m-1 mod 3][2] }"}},
     OUTCOME_WRONG},
    {"a send that nobody receives",
     {{"part rank1", "task B 1 3", SEND_UP, SEND_UP "      wait send.B1.B0[0]\n" SEND_UP}},
     OUTCOME_STUCK},
    {"both ends wait until the other has received",
     {{"part rank0", "train {", GET, GIVE GET},
      {"part rank2", "train {",
       "      start receive over pp from 0 as embedding.token.gradient.get[0] {\n",
       GIVE "      start receive over pp from 0 as embedding.token.gradient.get[0] {\n"}},
     OUTCOME_STUCK},
    {"a part that comes to another sum",
     {{"part rank1", "train {", NORM,
       "      start all_reduce over pp as sum.norm2[0] { loss_sum -> loss_sum }\n"}},
     OUTCOME_WRONG},
    {"a part that does not come to a sum",
     {{"part rank1", "train {", NORM, "      for z = 0 .. 0 {\n" NORM "      }\n"},
      {"part rank1", "train {", "      wait sum.norm2[0]\n", ""}},
     OUTCOME_STUCK},
};

static char *edited(struct arena *arena, char *text, const struct edit *edit) {
    const char *at = strstr(text, edit->part);
    at = at ? strstr(at, edit->behind) : NULL;
    at = at ? strstr(at, edit->from) : NULL;
    if (!at)
        fail_msg("no `%s` behind `%s` in `%s`", edit->from, edit->behind, edit->part);
    return arena_format(arena, "%.*s%s%s", (int)(at - text), text, edit->to,
                        at + strlen(edit->from));
}

static struct finding judge(struct arena *arena, const struct compiled *compiled,
                            const struct mistake *mistake) {
    static const struct setup setup = {
        .seed = 3, .steps = 2, .first_step = 3, .sequences_per_group = 2};
    char *text = job_text(compiled->final, arena);
    struct text_error error;
    for (int i = 0; mistake && i < 4 && mistake->edits[i].part; i++)
        text = edited(arena, text, &mistake->edits[i]);
    struct job *job = job_parse(arena, text, strlen(text), 0, &error);
    if (!job)
        fail_msg("%s at `%.60s`", error.message, text + error.span.begin);
    assert_false(job_needs_plan(job));
    job_number(job);
    return truth_judge(arena, truth_expect(arena, compiled->reference, &setup), job, NULL, NULL);
}

static void pipelines_train_as_one_device(void **state) {
    struct compiled compiled;
    struct arena arena = {0};
    compile_text(&compiled, pipeline);
    assert_int_equal(compiled.final->n_programs, 3);
    struct finding finding = judge(&arena, &compiled, NULL);
    if (finding.outcome != OUTCOME_RIGHT)
        fail_msg("it is %s: %s", outcome_names[finding.outcome], finding.what);
    arena_free(&arena);
    arena_free(&compiled.arena);
}

static void mistakes_show(void **state) {
    struct compiled compiled;
    compile_text(&compiled, pipeline);
    int n_wrong = 0;
    if (getenv("PRINT"))
        job_print(compiled.final, stderr, NULL);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct arena arena = {0};
        struct finding finding = judge(&arena, &compiled, &mistakes[i]);
        if (finding.outcome != mistakes[i].outcome) {
            fprintf(stderr, "%s: %s, %s\n", mistakes[i].name, outcome_names[finding.outcome],
                    finding.what);
            n_wrong++;
        }
        arena_free(&arena);
    }
    arena_free(&compiled.arena);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pipelines_train_as_one_device),
                                       cmocka_unit_test(mistakes_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
