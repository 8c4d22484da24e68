// How verbs end: fixes are tried, what was reported is printed, and the exit status follows from it.
#include <stdio.h>
#include <unistd.h>

#include "driver/compile.h"
#include "runtime/place.h"

bool compilation_has_program(const struct compilation *c) {
    if (c->library)
        fprintf(stderr,
                "placec: %s holds only strategies with parameters: there is nothing to run\n"
                "  write a strategy without parameters that says `use` to one of them\n",
                c->path);
    return !c->library;
}

int compilation_finish(struct compilation *c, const struct options *options) {
    check_fixes(c, options);
    fflush(stdout);
    if (c->diagnostics->n_items && place_speaks(c->diagnostics->n_errors > 0))
        diagnostics_print(c->diagnostics, stderr, option_colour(options, STDERR_FILENO));
    return c->diagnostics->n_errors ? STATUS_REFUSED : STATUS_OK;
}

// The tail of most verbs; those with more to say about a failure (check, opt) go the way
// themselves.
int compile_then(const struct options *options, enum stage stage, compilation_use then) {
    struct compilation c;
    compile(&c, options, stage);
    int status = compilation_finish(&c, options);
    if (status == STATUS_OK && stage > STAGE_RESOLVED && !compilation_has_program(&c))
        status = STATUS_REFUSED;
    if (status == STATUS_OK)
        status = then(&c, options);
    compilation_free(&c);
    return status;
}
