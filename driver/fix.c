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

static bool spans_meet(struct span a, struct span b) {
    return a.source == b.source && a.begin < b.end && b.begin < a.end;
}

static bool points_at(const struct diagnostic *error, struct span text) {
    bool points = spans_meet(error->span, text);
    for (uint32_t i = 0; i < error->n_labels && !points; i++)
        points = spans_meet(error->labels[i].span, text);
    return points;
}

// Does an error of the edited text point at what an edit has put there?
static bool is_blamed(const struct diagnostic *d, const struct compilation *trial) {
    for (uint32_t k = 0; k < trial->diagnostics->n_items; k++) {
        const struct diagnostic *error = trial->diagnostics->items[k];
        for (uint32_t i = 0; i < d->n_edits && error->severity == SEVERITY_ERROR; i++) {
            struct span text = edited_span(d, &d->edits[i]);
            text.source = trial->file.source;
            if (points_at(error, text))
                return true;
        }
    }
    return false;
}

// Is what the help is about still told of the edited text?
static bool is_told_again(const struct diagnostic *d, const struct compilation *trial) {
    for (uint32_t k = 0; k < trial->diagnostics->n_items; k++) {
        const struct diagnostic *other = trial->diagnostics->items[k];
        if (other->code == d->code && strcmp(other->message, d->message) == 0)
            return true;
    }
    return false;
}

// The edited text is compiled to its end. It need not be without errors, only with fewer: a file
// may have two mistakes, of which this help mends one. What is wrong hides what is wrong behind it,
// at the next stage or at this one, which is no fault of the fix unless it is about what the fix has
// written.
static bool is_better(const struct compilation *c, const struct options *options,
                      const struct diagnostic *d, const char *text, size_t length) {
    struct compilation trial;
    compile_text(&trial, options, c->path, text, length, STAGE_JUDGED);
    uint32_t errors = c->diagnostics->n_errors, left = trial.diagnostics->n_errors;
    bool further = trial.entered > c->entered ||
                   (trial.entered == c->entered && left == errors && !is_told_again(d, &trial));
    bool better =
        (further && !is_blamed(d, &trial)) || (trial.entered >= c->entered && left < errors);
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

// What fixes have made of the file.
struct fixed_text {
    const char *text;
    size_t length;
    const struct fixed_text *before; // NULL: the file's own
};

static bool was_there(const struct fixed_text *last, const char *text, size_t length) {
    for (; last; last = last->before)
        if (last->length == length && memcmp(last->text, text, length) == 0)
            return true;
    return false;
}

// The text with one fix more, of which is told; NULL: there is none. In the arena.
static const struct fixed_text *fix_once(const struct options *options,
                                         const struct fixed_text *last, struct arena *texts,
                                         FILE *to) {
    const struct fixed_text *next = NULL;
    struct compilation c;
    size_t length;
    if (last)
        compile_text(&c, options, options->operand, last->text, last->length, STAGE_JUDGED);
    else
        compile(&c, options, STAGE_JUDGED);
    c.trial = false;
    check_fixes(&c, options);
    const struct diagnostic *fix = first_fix(&c);
    const char *text = fix ? diagnostic_apply_edits(fix, &c.arena, c.file.source, &length) : NULL;
    if (text && !was_there(last, text, length)) {
        const struct fixed_text made = {arena_copy(texts, text, length), length, last};
        next = arena_copy(texts, &made, sizeof made);
        print_fix(&c, fix, to);
    }
    compilation_free(&c);
    return next;
}

// Each fix leaves fewer errors, leads to a later stage, or to another error. Two that lead to each
// other would have no end, so a text that was there before is none.
int fix_file(const struct options *options) {
    const char *path = options->operand;
    struct arena texts = {0};
    const struct fixed_text *last = NULL, *next;
    if (strcmp(path, "-") == 0) {
        fprintf(stderr, "placec: --fix writes into the file, and `-` is none\n  name a file\n");
        return STATUS_USAGE;
    }
    char *told = NULL; // said when it is written
    size_t told_bytes = 0;
    FILE *to = open_memstream(&told, &told_bytes);
    CHECK(to);
    while ((next = fix_once(options, last, &texts, to)))
        last = next;
    fclose(to);
    int status = last ? overwrite(path, last->text, last->length) : STATUS_OK;
    if (status == STATUS_OK)
        fputs(told, stdout);
    free(told);
    arena_free(&texts);
    return status;
}
