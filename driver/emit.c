// placec emit: what the compiler makes of a file, at each stage of the way. Programs are printed as
// texts that can be read back, edited, and put into the file (docs/program.md).
#include <stdio.h>

#include "driver/emit_pipeline.h"
#include "driver/native.h"
#include "driver/report.h"

// A program is printed as far as it was derived: what the verifier refuses can be looked at.
static const enum stage stages[N_CHOICES] = {
    [AS_AST] = STAGE_PARSED,   [AS_PROGRAM] = STAGE_REFERENCE, [AS_STEP] = STAGE_FINAL,
    [AS_ROUTES] = STAGE_FINAL, [AS_PIPELINE] = STAGE_FINAL,    [AS_LLVM] = STAGE_JUDGED,
    [AS_JSON] = STAGE_JUDGED};

// The one form that needs the code generator; it is for reading, and not what `run` executes, which
// is cut into modules and made for this machine.
static int emit_llvm(struct compilation *c) {
    const char *why = NULL;
    size_t size;
    char *text = NULL;
    struct backend *backend = native_backend(c, &why);
    if (backend)
        text = backend_generate(backend, &c->arena, c->final->job, &(struct backend_options){0},
                                BACKEND_LLVM, &size, &why);
    if (!text)
        return native_failed(c, why);
    fwrite(text, 1, size, stdout);
    return STATUS_OK;
}

static enum choice kind_of(const struct options *options) {
    return option_choice(options, OPTION_AS, AS_STEP);
}

static int emit_as(struct compilation *c, const struct options *options) {
    const struct print_options print = {.sources = option_given(options, OPTION_SPANS) ? &c->sources
                                                                                       : NULL};
    switch (kind_of(options)) {
    case AS_AST:
        ast_print(&c->file, stdout);
        return STATUS_OK;
    case AS_PROGRAM:
        job_print(c->reference->job, stdout, &print);
        return STATUS_OK;
    case AS_STEP:
        job_print(c->final->job, stdout, &print);
        return STATUS_OK;
    case AS_ROUTES:
        report_routes(c, stdout);
        return STATUS_OK;
    case AS_PIPELINE:
        return emit_pipeline(c, option_given(options, OPTION_COMMS), stdout);
    case AS_LLVM:
        return emit_llvm(c);
    case AS_JSON:
        report_json(c, stdout);
        return STATUS_OK;
    default: // words of other options
        return STATUS_USAGE;
    }
}

int verb_emit(const struct options *options) {
    if (option_given(options, OPTION_COMMS) && kind_of(options) != AS_PIPELINE) {
        fprintf(
            stderr,
            "placec: --comms changes nothing without --as pipeline: it is about messages of its "
            "ranks\n  give --as pipeline, or leave --comms out\n");
        return STATUS_USAGE;
    }
    return compile_then(options, stages[kind_of(options)], emit_as);
}
