// See trial.h.
#include "tests/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct program *compile(struct trial *t, enum pass last) {
    struct pass_context context = {&t->config, diagnostics_new(&t->arena, &t->sources)};
    struct program *program = program_new(&t->arena, "main");
    if (!passes_run(program, &context, PASS_BUILD, last))
        return NULL;
    program_number(program);
    return program;
}

bool trial_derive(struct trial *t, enum pass last) {
    t->reference = compile(t, PASS_UPDATE);
    t->program = compile(t, last);
    return t->program;
}

static const char *print(struct arena *arena, const struct program *program) {
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    program_print(program, to, NULL);
    fclose(to);
    const char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

bool trial_edit(struct trial *t, const struct edit *edits) {
    const char *before = print(&t->arena, t->program);
    t->text = program_edit(&t->arena, before, edits);
    if (!t->text || (edits->kind != EDIT_END && strcmp(t->text, before) == 0))
        return false;
    uint32_t source = source_add(&t->sources, &t->arena, "edited.place", t->text, strlen(t->text));
    struct text_error error;
    struct program *program = program_parse(&t->arena, t->text, strlen(t->text), source, &error);
    if (!program)
        return false;
    program_number(program);
    t->program = program;
    return true;
}

void trial_judge(struct trial *t) {
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    t->verdict = verify(t->reference, t->program, &t->arena, t->diagnostics);
}

void trial_judge_one_by_one(struct trial *t) {
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    t->verdict = verify_one_by_one(t->reference, t->program, &t->arena, t->diagnostics);
}

const char *trial_place(const struct trial *t) {
    return t->text + t->diagnostics->items[0]->span.begin;
}
