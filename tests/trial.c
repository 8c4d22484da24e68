// See trial.h.
#include "tests/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/derive.h"

bool trial_derive(struct trial *t, enum pass last) {
    t->reference = derive_program(&t->arena, &t->config, PASS_AVERAGE, NULL);
    t->program = derive_program(&t->arena, &t->config, last, NULL);
    return t->program;
}

static uint32_t add_text(struct trial *t, const char *text) {
    t->text = text;
    return source_add(&t->sources, &t->arena, "edited.place", text, strlen(text));
}

bool trial_edit(struct trial *t, const struct edit *edits) {
    const char *before = job_text(t->program->job, &t->arena);
    const char *text = program_try_edit(&t->arena, before, edits);
    if (!text || (edits->kind != EDIT_END && strcmp(text, before) == 0))
        return false;
    struct text_error error;
    uint32_t source = add_text(t, text);
    struct program *program = job_only(job_parse(&t->arena, text, strlen(text), source, &error));
    if (!program)
        return false;
    job_number(program->job);
    t->program = program;
    return true;
}

void trial_read(struct trial *t, const char *text) {
    uint32_t source = add_text(t, text);
    t->program = program_read(&t->arena, text, source);
}

void trial_judge(struct trial *t) {
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    t->verdict = verify(t->reference, t->program->job, &t->arena, t->diagnostics);
}

void trial_judge_one_by_one(struct trial *t) {
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    t->verdict = verify_one_by_one(t->reference, t->program->job, &t->arena, t->diagnostics);
}

const char *trial_place(const struct trial *t) {
    return t->text + t->diagnostics->items[0]->span.begin;
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool trial_is_as_expected(const struct trial *t, struct expected_verdict expected) {
    bool accepted = t->verdict.kind == VERDICT_ACCEPTED;
    bool warns = expected.code && expected.code[0] == 'W';
    if (accepted != (!expected.code || warns))
        return false;
    if (!expected.code || t->diagnostics->n_items == 0)
        return !expected.code && t->diagnostics->n_items == 0;
    const struct diagnostic *first = t->diagnostics->items[0];
    return strcmp(diagnostic_rows[first->code].text, expected.code) == 0 &&
           (!expected.at || begins_with(trial_place(t), expected.at)) &&
           (!expected.says || strstr(first->message, expected.says));
}

bool trial_end(struct trial *t, bool right, const char *name, struct expected_verdict expected) {
    if (!right)
        fprintf(stderr, "%s: expected %s at `%s`\n", name,
                expected.code ? expected.code : "to be accepted", expected.at ? expected.at : "");
    if (!right || getenv("PRINT"))
        diagnostics_print(t->diagnostics, stderr, false);
    arena_free(&t->arena);
    return right;
}
