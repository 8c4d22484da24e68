// A help that proposes edits is tried before it is shown: the edited text is compiled as the file
// would be. A fix that leaves as many errors as before is no fix, and its edits are taken back.
//
// `check --fix` writes them into the file: one after the other, since what one mends may be what
// the next was about, until nothing is wrong or nobody knows what to write.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cheaper.h"
#include "driver/compile.h"
#include "driver/fits.h"
#include "driver/overwrite.h"
#include "ir/check.h"

// Where an edit's text stands in the edited text, behind what the edits before it have moved.
static struct span edited_span(const struct diagnostic *d, const struct diagnostic_edit *edit) {
    int64_t moved = 0;
    for (uint32_t i = 0; i < d->n_edits; i++) {
        const struct diagnostic_edit *other = &d->edits[i];
        if (other->span.source == edit->span.source && other->span.begin < edit->span.begin)
            moved += (int64_t)strlen(other->text) - (other->span.end - other->span.begin);
    }
    uint32_t begin = (uint32_t)(edit->span.begin + moved);
    return span_of(edit->span.source, begin, begin + (uint32_t)strlen(edit->text));
}

// Does an error of the edited text point at what an edit has put there?
static bool is_blamed(const struct diagnostic *d, const struct compilation *trial) {
    for (uint32_t k = 0; k < trial->diagnostics->n_items; k++) {
        const struct diagnostic *error = trial->diagnostics->items[k];
        for (uint32_t i = 0; i < d->n_edits && error->severity == SEVERITY_ERROR; i++) {
            struct span text = edited_span(d, &d->edits[i]);
            if (error->span.source == trial->file.source && error->span.begin < text.end &&
                text.begin < error->span.end)
                return true;
        }
    }
    return false;
}

// The edited text is compiled to its end. It need not be without errors, only with fewer: a file
// may have two mistakes, of which this help mends one. What is wrong at one stage hides what is
// wrong at the next, which is no fault of the fix unless it is about what the fix has written.
static bool is_better(const struct compilation *c, const struct options *options,
                      const struct diagnostic *d, const char *text, size_t length) {
    struct compilation trial;
    compile_text(&trial, options, c->path, text, length, STAGE_JUDGED);
    bool further = trial.entered > c->entered && !is_blamed(d, &trial);
    bool better = further || (trial.entered >= c->entered &&
                              trial.diagnostics->n_errors < c->diagnostics->n_errors);
    compilation_free(&trial);
    return better;
}

static void try_fix(struct compilation *c, const struct options *options, struct diagnostic *d) {
    size_t length;
    // Edits to another file, an imported library say, are for people to judge.
    char *text = diagnostic_apply_edits(d, &c->arena, c->file.source, &length);
    if (text && is_better(c, options, d, text, length))
        d->help_checked = true;
    else
        d->n_edits = 0;
}

void check_fixes(struct compilation *c, const struct options *options) {
    if (c->trial)
        return;
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++) {
        struct diagnostic *d = c->diagnostics->items[i];
        bool asked = options->verb == VERB_CHECK; // who runs it wants no search for what is better
        if (d->code == E701 || (d->code == W801 && asked))
            propose_fits(c, options, d);
        else if (d->code == W811)
            propose_cheaper(c, options, d);
        else if (d->severity == SEVERITY_ERROR && d->n_edits && !d->help_checked)
            try_fix(c, options, d);
    }
}

// ---- into the file ------------------------------------------------------------------------------

// The first that has been tried and found good; NULL: none.
static const struct diagnostic *first_fix(const struct compilation *c) {
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++)
        if (c->diagnostics->items[i]->help_checked)
            return c->diagnostics->items[i];
    return NULL;
}

// Where it was, what was wrong there, and what has been done.
static void print_fix(const struct compilation *c, const struct diagnostic *d, FILE *to) {
    struct source_place place = source_place(&c->sources, d->span);
    if (place.file)
        fprintf(to, "%s:%u:%u: ", place.file, place.line, place.column);
    fprintf(to, "fixed[%s]: %s\n  by: %s\n", diagnostic_rows[d->code].text, d->message, d->help);
}

// Each fix leaves fewer errors, or leads to a later stage, so there is an end.
int fix_file(const struct options *options) {
    const char *path = options->operand;
    struct arena texts = {0};
    const char *text = NULL;
    size_t length = 0;
    bool more = true;
    if (strcmp(path, "-") == 0) {
        fprintf(stderr, "placec: --fix writes into the file, and `-` is none\n  name a file\n");
        return STATUS_USAGE;
    }
    char *told = NULL; // said when it is written
    size_t told_bytes = 0;
    FILE *to = open_memstream(&told, &told_bytes);
    CHECK(to);
    while (more) {
        struct compilation c;
        if (text)
            compile_text(&c, options, path, text, length, STAGE_JUDGED);
        else
            compile(&c, options, STAGE_JUDGED);
        c.trial = false;
        check_fixes(&c, options);
        const struct diagnostic *fix = first_fix(&c);
        more = fix != NULL;
        if (more) {
            const char *fixed = diagnostic_apply_edits(fix, &c.arena, c.file.source, &length);
            text = arena_copy(&texts, fixed, length);
            print_fix(&c, fix, to);
        }
        compilation_free(&c);
    }
    fclose(to);
    int status = text ? overwrite(path, text, length) : STATUS_OK;
    if (status == STATUS_OK)
        fputs(told, stdout);
    free(told);
    arena_free(&texts);
    return status;
}
