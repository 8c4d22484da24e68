// See compiled.h.
#include "tests/oracle/compiled.h"

#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"
#include "ir/check.h"
#include "passes/passes.h"

const char *const judgement_names[N_JUDGEMENTS] = {"accepted", "rules", "refuted", "unproved",
                                                   "unsupported"};

static const struct diagnostic *first_error(const struct diagnostics *diagnostics) {
    for (uint32_t i = 0; i < diagnostics->n_items; i++)
        if (diagnostics->items[i]->severity == SEVERITY_ERROR)
            return diagnostics->items[i];
    return NULL;
}

const char *first_code(const struct diagnostics *diagnostics) {
    const struct diagnostic *error = first_error(diagnostics);
    return error ? diagnostic_rows[error->code].text : "";
}

// A text that says nothing, other than one that says what has no meaning.
static bool is_mistake(const struct diagnostic *d) {
    return d->severity == SEVERITY_ERROR && (d->code <= E118 || d->code == E120 || d->code == E123);
}

// Unsupported is what is nothing else as well.
static enum judgement_kind refusal(const struct diagnostics *diagnostics) {
    bool unsupported = true;
    for (uint32_t i = 0; i < diagnostics->n_items; i++) {
        const struct diagnostic *d = diagnostics->items[i];
        if (is_mistake(d))
            diagnostics_print(diagnostics, stderr, false);
        CHECK(!is_mistake(d));
        unsupported = unsupported && (d->severity != SEVERITY_ERROR || d->code == E199);
    }
    return unsupported ? JUDGED_UNSUPPORTED : JUDGED_RULES;
}

static bool resolve(struct compiled *c, uint32_t source, const char *library_directory) {
    struct ast_file file;
    struct frontend_options options = {.library_directory = library_directory};
    return frontend_parse(&c->arena, c->diagnostics, source, &file) &&
           frontend_resolve(&c->arena, c->diagnostics, &file, &options, &c->config);
}

static struct program *derive(struct compiled *c, enum pass last) {
    struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    struct program *program = program_new(&c->arena, "main");
    if (!passes_run(program->job, &context, PASS_BUILD, last))
        return NULL;
    job_number(program->job);
    return program;
}

enum judgement_kind judge_job(const struct program *reference, const struct job *final,
                              struct arena *arena, struct diagnostics *diagnostics) {
    struct verdict verdict = verify(reference, final, arena, diagnostics);
    return verdict.kind == VERDICT_ACCEPTED  ? JUDGED_ACCEPTED
           : verdict.kind == VERDICT_REFUTED ? JUDGED_REFUTED
                                             : JUDGED_UNPROVED;
}

static void begin(struct compiled *c) {
    *c = (struct compiled){0};
    c->diagnostics = diagnostics_new(&c->arena, &c->sources);
}

static void derive_both(struct compiled *c) {
    c->reference = derive(c, PASS_BLOCKS);
    struct program *final = c->reference ? derive(c, N_PASSES - 1) : NULL;
    c->final = final ? final->job : NULL;
}

void derive_text(struct compiled *c, const char *text) {
    uint32_t source;
    begin(c);
    if (frontend_read_text(&c->arena, c->diagnostics, "composed.place", text, strlen(text),
                           &source) &&
        resolve(c, source, NULL))
        derive_both(c);
}

void derive_file(struct compiled *c, const char *path, const char *library_directory) {
    uint32_t source;
    begin(c);
    if (frontend_read(&c->arena, c->diagnostics, path, &source) &&
        resolve(c, source, library_directory))
        derive_both(c);
}

void compile_text(struct compiled *c, const char *text) {
    derive_text(c, text);
    c->judgement = c->final ? judge_job(c->reference, c->final, &c->arena, c->diagnostics)
                            : refusal(c->diagnostics);
}
