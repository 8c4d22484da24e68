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
#include "tests/sample.h"
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

// ---- mistakes ---------------------------------------------------------------------------------

enum change_kind { REPLACED, MOVED_BEFORE, DOUBLED };
struct change { // of the first `from` behind both, or of the statement that begins with it
    const char *part, *behind, *from;
    const char *to; // what stands there then; of what is moved, before what, in the same part
    enum change_kind kind;
};
struct wrong_pipeline {
    const char *name;
    struct change changes[8];
    struct expected_verdict expected;
};

static const char *find_behind(const char *text, const char *part, const char *behind,
                               const char *what) {
    const char *at = strstr(text, part);
    at = at ? strstr(at, behind) : NULL;
    at = at ? strstr(at, what) : NULL;
    if (!at)
        fail_msg("no `%s` behind `%s` in `%s`", what, behind, part);
    return at;
}

// To the end of the line in which all brackets are closed.
static size_t length_of_statement(const char *at) {
    size_t length = 0;
    int depth = 0;
    do {
        depth += strchr("([{", at[length]) != NULL;
        depth -= strchr(")]}", at[length]) != NULL;
    } while (at[length++] != '\n' || depth > 0);
    return length;
}

static const char *changed(struct arena *arena, const char *text, const struct change *change) {
    const char *at = find_behind(text, change->part, change->behind, change->from);
    size_t length = length_of_statement(at);
    const char *statement = arena_format(arena, "%.*s", (int)length, at);
    if (change->kind == REPLACED)
        return arena_format(arena, "%.*s%s%s", (int)(at - text), text, change->to,
                            at + strlen(change->from));
    if (change->kind == DOUBLED)
        return arena_format(arena, "%.*s%s%s", (int)(at - text), text, statement, at);
    const char *without = arena_format(arena, "%.*s%s", (int)(at - text), text, at + length);
    const char *to = find_behind(without, change->part, "", change->to);
    return arena_format(arena, "%.*s%s%s", (int)(to - without), without, statement, to);
}

#define CHANGED(part, behind, from, to)                                                            \
    { part, behind, from, to, REPLACED }
#define MOVED(part, behind, from, to)                                                              \
    { part, behind, from, to, MOVED_BEFORE }
#define TWICE(part, behind, from)                                                                  \
    { part, behind, from, NULL, DOUBLED }
#define RECEIVE(slot, into)                                                                        \
    "      start receive over pp from 0 as in[" slot "] { hidden[" into "] }\n"                    \
    "      wait in[" slot "]\n"
#define OUT(m) "      start send over pp to 1 as out[" #m "] { hidden[" #m "][2] }\n"
#define NORM                                                                                       \
    "      start all_reduce over pp as all.norm2[0] { norm2 -> norm2 }\n"                          \
    "      wait all.norm2[0]\n"
#define SAVED "saved.mlp.up : activations f64[batch=6/dp, sequence=7, ffn=14] slots "
#define UNIT_NORM_TABLE                                                                            \
    "unit main.norm_table {\n"                                                                     \
    "  phase update\n"                                                                             \
    "  parameter %x : f64[vocab=18, hidden=10]\n"                                                  \
    "  parameter %sum : f64[]\n"                                                                   \
    "  result %y in %sum\n"                                                                        \
    "  %n = square_sum(%x) : f64[]\n"                                                              \
    "  %y = accumulate(%sum, %n) : f64[]\n"                                                        \
    "}\n"

// The pipeline has three stages, of which the first two have two layers.
static const struct wrong_pipeline mistakes[] = {
    {"messages in another order",
     {CHANGED("part stage0", "task F 0 0", OUT(0), ""),
      CHANGED("part stage0", "task F 0 1", OUT(1), OUT(1) OUT(0))},
     {"E512", "start send over pp to 1 as out[0]", "microbatch 0, in a task of microbatch 1"}},
    {"a message of another layer",
     {CHANGED("part stage0", "task F 0 0", "{ hidden[0][2] }", "{ hidden[0][1] }")},
     {"E512", "start receive over pp from 0 as in[0]", "values of different layers meet"}},
    {"a message that nobody sends",
     {CHANGED("part stage0", "task F 0 1", OUT(1), "")},
     {"E512", "start receive over pp from 0 as in[i+1", "microbatch 2, in a task of microbatch 1"}},
    {"a message that nobody receives",
     {CHANGED("part stage1", "task F 1 0", RECEIVE("0", "0][0"), "")},
     {"E611", "call block_forward", "`hidden[0][0]` is read, but nothing was written there"}},
    {"a last message that nobody receives",
     {CHANGED("part stage2", "task B 2",
              "      start send over pp to 1 as up[0] { dhidden[0] }\n"
              "      wait up[0]\n",
              "")},
     {"E517", NULL, NULL}},
    {"a receive that nothing waits for",
     {CHANGED("part stage1", "task F 1 0", "      wait in[0]\n", "")},
     {"E610", "call block_forward", "`hidden[0][0]` is read while it is still on its way"}},
    {"a send that nothing waits for",
     {CHANGED("part stage1", "task B 1 3", "      wait up[0]\n", "")},
     {"E612", "start send over pp to 0 as up[0]", NULL}},
    {"what is sent is written before its wait",
     {CHANGED("part stage1", "task B 1 3", "      wait up[0]",
              "      zero dhidden[0]\n      wait up[0]")},
     {"E610", "start send over pp to 0 as up[0]", "is written while a transfer still reads it"}},
    {"what is received is written before its wait",
     {CHANGED("part stage1", "task F 1 0", "      wait in[0]",
              "      zero hidden[0][0]\n      wait in[0]")},
     {"E610", "zero hidden[0][0]", "is written while a transfer still fills it"}},
    {"tokens of another microbatch",
     {CHANGED("part stage0", "task F 0 1", "tokens = tokens[1]", "tokens = tokens[0]")},
     {"E512", "call embedding_forward(tokens = tokens[0]", NULL}},
    {"a backward of another microbatch",
     {CHANGED("part stage1", "task B 1 3", "x = hidden[1][l]", "x = hidden[0][l]")},
     {"E512", "call block_backward(x = hidden[0][l]", NULL}},
    {"a slot too few",
     {CHANGED("part stage0", "", SAVED "3", SAVED "2"),
      CHANGED("part stage0", "task F 0 i+2", "saved.mlp.up[i+2 mod 3]", "saved.mlp.up[i mod 2]"),
      CHANGED("part stage0", "task B 0 i", "saved.mlp.up[i mod 3]", "saved.mlp.up[i mod 2]"),
      CHANGED("part stage0", "task B 0 2", "saved.mlp.up[2]", "saved.mlp.up[0]"),
      CHANGED("part stage0", "task B 0 3", "saved.mlp.up[0]", "saved.mlp.up[1]"),
      CHANGED("part stage0", "evaluate", "saved.mlp.up[m mod 3]", "saved.mlp.up[m mod 2]")},
     {"E512", "call block_backward(x = hidden[i mod 3][l]", NULL}},
    {"a table's gradient of one end only",
     {CHANGED("part stage0", "wait table.out",
              "      call add_table(x = other.gradient, sum = embedding.token.gradient)\n", "")},
     {"E412", "start all_reduce over dp as reduce.embedding_backward", "lacks"}},
    {"a table's gradient that neither end adds",
     {CHANGED("part stage0", "wait table.out",
              "      call add_table(x = other.gradient, sum = embedding.token.gradient)\n", ""),
      CHANGED("part stage2", "wait table.out",
              "      call add_table(x = other.gradient, sum = embedding.token.gradient)\n", "")},
     {"E412", "start all_reduce over dp as reduce.", "lacks"}},
    {"squares that are added before their sum is cleared",
     {MOVED("part stage1", "zero norm2", "      for l = 0 .. 2", "      zero norm2")},
     {"E611", "call norm_block", "`norm2` is read, but nothing was written there"}},
    {"a norm that lacks a layer of another stage",
     {CHANGED("part stage1", "zero norm2", "for l = 0 .. 2", "for l = 0 .. 1")},
     {"E412", "for l = 0 .. 1", "4 of the 5 layers'"}},
    {"a norm of one stage's own",
     {CHANGED("part stage0", "zero norm2", NORM, ""),
      CHANGED("part stage1", "zero norm2", NORM, ""),
      CHANGED("part stage2", "zero norm2", NORM, "")},
     {"E412", "call finish", "no all_reduce over `pp`"}},
    {"a norm that counts the table twice",
     {CHANGED("part stage2", "zero norm2", "zero norm2\n",
              "zero norm2\n      call norm_table(x = embedding.token.gradient, sum = norm2)\n"),
      CHANGED("unit main.add_table", "", "unit main.add_table",
              UNIT_NORM_TABLE "unit main.add_table")},
     {"E412", "start all_reduce over pp as all.norm2[0]", NULL}},
    {"both ends send before they receive",
     {MOVED("part stage0", "task B 0 3", "      wait table.out",
            "      start receive over pp from 2"),
      MOVED("part stage2", "task B 2", "      wait table.out",
            "      start receive over pp from 0 as tab")},
     {"E517", "wait table.out[0]", "`stage2` waits for part `stage0` to receive it"}},
    {"a layer that is never updated",
     {CHANGED("part stage1", "call finish", "for l = 0 .. 2", "for l = 0 .. 1")},
     {"E511", "block.attention.norm.gain :", "of layer 3 ends the step as it began it"}},
    {"a layer that is updated twice",
     {TWICE("part stage1", "call finish", "      for l = 0 .. 2")},
     {"E490", "%attention.norm.gain.updated.p", NULL}},
    {"an update before the last backward",
     {MOVED("part stage0", "task B 0 3", "      for l = 0 .. 2", "    }\n    evaluate"),
      MOVED("part stage0", "task B 0 3", "      call embedding_backward", "    }\n    evaluate")},
     {"E412", "start all_reduce over dp as reduce.embedding_backward", "holds microbatch 0 to 2"}},
    {"a first backward that adds to something else",
     {CHANGED("part stage0", "task B 0 i", "embedding.token.sum = embedding.token.gradient",
              "embedding.token.sum = other.gradient")},
     {"E412", "call embedding_backward", "holds microbatch 2 to 3 when"}},
    {"a stage that has other layers",
     {CHANGED("part stage1", "buffer block.attention.q.bias :", "layers 2 from 2",
              "layers 2 from 1")},
     {"E412", NULL, "block.attention.q.bias[1]"}},
    {"a gradient of another shape than what is sent",
     {CHANGED("part stage0", "task B 0 3", "{ dhidden[0] }", "{ other.gradient }")},
     {"E518", "start send over pp to 0 as up[0]", NULL}},
    {"a stage that does not come to a sum",
     {CHANGED("part stage1", "zero norm2", NORM, "for z = 0 .. 0 {\n" NORM "}\n")},
     {"E518", "start all_reduce over pp as all.", "comes to another collective"}},
    {"sums in another order",
     {CHANGED("part stage1", "zero norm2", NORM, ""),
      CHANGED("part stage1", "zero norm2", "      wait all.loss_sum[0]\n",
              "      wait all.loss_sum[0]\n" NORM)},
     {"E518", "start all_reduce over pp as all.", "comes to another collective"}},
    {"a stage that comes to a sum with more",
     {CHANGED("part stage1", "zero norm2", "{ norm2 -> norm2 }",
              "{ norm2 -> norm2, loss_sum -> loss_sum }")},
     {"E518", "start all_reduce over pp as all.norm2[0]", NULL}},
    {"a sum of something else",
     {CHANGED("part stage0", "zero norm2", "{ loss_sum -> loss_sum }",
              "{ token_count -> loss_sum }")},
     {"E490", "start all_reduce over pp as all.loss_sum[0]", NULL}},
};

static void mistakes_are_found(void **state) {
    const char *only = getenv("ONLY");
    size_t n = sizeof mistakes / sizeof *mistakes, n_found = 0;
    size_t stride = sample_every() > 1 ? 5 : 1, n_tried = 0;
    for (size_t i = 0; i < n; i += stride) {
        if (only && atoi(only) != (int)i)
            continue;
        const struct wrong_pipeline *wrong = &mistakes[i];
        n_tried++;
        struct trial t = begin(FAMILY_GPT2, 3);
        for (int k = 0; k < 8 && wrong->changes[k].part; k++)
            t.text = changed(&t.arena, t.text, &wrong->changes[k]);
        judge(&t);
        n_found +=
            trial_end(&t, trial_is_as_expected(&t, wrong->expected), wrong->name, wrong->expected);
    }
    assert_int_equal(n_found, n_tried);
}

// ---- every statement ---------------------------------------------------------------------------

// Whether a statement begins there that does something. The loss that it divides is read from the last
// stage only.
static bool does_something(const char *line, const char *last_stage) {
    static const char *const words[] = {"call ", "start ", "wait ", "zero ", "for ", NULL};
    const char *at = line + strspn(line, " ");
    if (line < last_stage && strncmp(at, "call divisor", strlen("call divisor")) == 0)
        return false;
    for (int i = 0; words[i]; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

// A pipeline of which any statement is left out, with all that is in it, is refused, and no text is so
// wrong that nothing is told of it.
static void no_statement_may_be_missing(void **state) {
    int every = sample_every() > 1 ? 29 : 7;
    struct trial whole = begin(FAMILY_GPT2, 3);
    const char *end = strstr(whole.text, "unit main."), *last = strstr(whole.text, "part stage2");
    int n = 0;
    for (const char *line = whole.text; line < end; line = strchr(line, '\n') + 1) {
        if (!does_something(line, last) || n++ % (getenv("PLACE_TEST_FULL") ? 1 : every))
            continue;
        struct trial t = begin(FAMILY_GPT2, 3);
        size_t at = (size_t)(line - whole.text), length = length_of_statement(line);
        t.text = arena_format(&t.arena, "%.*s%s", (int)at, t.text, t.text + at + length);
        struct text_error error = {0};
        if (job_parse(&t.arena, t.text, strlen(t.text), 0, &error)) { // else it is no text at all
            judge(&t);
            if (t.verdict.kind == VERDICT_ACCEPTED || t.diagnostics->n_items == 0)
                fail_msg("it is accepted without %.*s", (int)length, line);
        }
        arena_free(&t.arena);
    }
    arena_free(&whole.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pipelines_are_accepted),
                                       cmocka_unit_test(no_statement_may_be_missing),
                                       cmocka_unit_test(mistakes_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
