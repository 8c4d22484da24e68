// See driver_check.h.
#include "tests/driver_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/native.h"
#include "driver/report.h"
#include "ir/check.h"

static FILE *nowhere(void) {
    FILE *to = fopen("/dev/null", "w");
    CHECK(to);
    return to;
}

// Code is made of what is accepted, or it is said why none can be.
static void generate(struct compilation *c) {
    const char *why;
    size_t size;
    const struct backend *backend = native_backend(c, &why);
    CHECK(backend
              ? backend_generate(backend, &c->arena, c->final->job, &(struct backend_options){0},
                                 BACKEND_LLVM, &size, &why) != NULL
              : why != NULL);
}

bool driver_check(const char *text, size_t length, bool generates) {
    static const struct options options;
    struct compilation c;
    FILE *to = nowhere();
    bool accepted = compile_text(&c, &options, "input.place", text, length, STAGE_JUDGED);
    c.trial = false; // its fixes are tried
    check_fixes(&c, &options);
    if (accepted)
        report_text(&c, &options, to);
    report_json(&c, to);
    if (accepted && generates)
        generate(&c);
    diagnostics_print(c.diagnostics, to, true);
    CHECK(accepted == (c.diagnostics->n_errors == 0));
    compilation_free(&c);
    fclose(to);
    return accepted;
}

char *driver_paste(struct arena *arena, const char *text, size_t *written) {
    static const struct options options;
    struct compilation c;
    char *pasted = NULL;
    if (compile_text(&c, &options, "input.place", text, strlen(text), STAGE_FINAL) && c.final) {
        *written = strlen(text);
        pasted = arena_format(arena, "%s%s", text, job_text(c.final->job, arena));
    }
    compilation_free(&c);
    return pasted;
}
