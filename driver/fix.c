// A help that proposes edits is tried before it is shown: the edited text is compiled as the file
// would be. A fix that leaves as many errors as before is no fix, and its edits are taken back.
#include <string.h>

#include "driver/compile.h"

// Compiles `text` under the file's name; returns how many errors there are.
static uint32_t errors_of(const struct compilation *original, const struct options *options,
                          const char *text, size_t length) {
    struct compilation trial;
    compile_text(&trial, options, original->path, text, length, STAGE_JUDGED);
    uint32_t errors = trial.diagnostics->n_errors;
    compilation_free(&trial);
    return errors;
}

// The edited text is compiled to its end. It need not be without errors, only with fewer: a file
// may have two mistakes, of which this help mends one.
static void try_fix(struct compilation *c, const struct options *options, struct diagnostic *d) {
    size_t length;
    // Edits to another file, an imported library say, are for people to judge.
    char *text = diagnostic_apply_edits(d, &c->arena, c->file.source, &length);
    if (text && errors_of(c, options, text, length) < c->diagnostics->n_errors)
        d->help_checked = true;
    else
        d->n_edits = 0;
}

void check_fixes(struct compilation *c, const struct options *options) {
    if (c->trial)
        return;
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++) {
        struct diagnostic *d = c->diagnostics->items[i];
        if (d->severity == SEVERITY_ERROR && d->n_edits && !d->help_checked)
            try_fix(c, options, d);
    }
}
