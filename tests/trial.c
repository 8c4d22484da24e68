// See trial.h.
#include "tests/trial.h"

#include <string.h>

#include "tests/derive.h"

bool trial_derive(struct trial *t, enum pass last) {
    t->reference = derive_program(&t->arena, &t->config, PASS_AVERAGE, NULL);
    t->program = derive_program(&t->arena, &t->config, last, NULL);
    return t->program;
}

bool trial_edit(struct trial *t, const struct edit *edits) {
    const char *before = program_text(t->program, &t->arena);
    t->text = program_try_edit(&t->arena, before, edits);
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
