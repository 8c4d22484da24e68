// placec emit: what the compiler makes of a file, at each stage of the way.
#include <stdio.h>

#include "backend/backend.h"
#include "driver/compile.h"
#include "driver/options.h"
#include "driver/report.h"

enum kind { AS_AST, AS_PROGRAM, AS_STEP, AS_LLVM, AS_JSON, N_KINDS };
static const char *const kinds[N_KINDS] = {"ast", "program", "step", "llvm", "json"};
// A program is printed as far as it was derived: what the verifier refuses can be looked at.
static const enum stage stages[N_KINDS] = {STAGE_PARSED, STAGE_REFERENCE, STAGE_FINAL, STAGE_JUDGED,
                                           STAGE_JUDGED};

static int emit_llvm(struct compilation *c) {
    const char *why = NULL;
    size_t size;
    char *text = NULL;
    struct backend *backend = backend_load(&c->arena, &why);
    if (backend)
        why = backend_refusal(backend, &c->arena, c->final);
    if (backend && !why)
        text = backend_generate(backend, &c->arena, c->final, &(struct backend_options){0},
                                BACKEND_LLVM, &size, &why);
    if (!text) {
        fprintf(stderr, "placec: %s: %s\n", c->path, why);
        return STATUS_REFUSED;
    }
    fwrite(text, 1, size, stdout);
    return STATUS_OK;
}

static int emit_as(struct compilation *c, const struct options *options, enum kind kind) {
    const struct print_options print = {.sources = option_given(options, OPTION_SPANS) ? &c->sources
                                                                                       : NULL};
    switch (kind) {
    case AS_AST:
        ast_print(&c->file, stdout);
        return STATUS_OK;
    case AS_PROGRAM:
        program_print(c->reference, stdout, &print);
        return STATUS_OK;
    case AS_STEP:
        program_print(c->final, stdout, &print);
        return STATUS_OK;
    case AS_LLVM:
        return emit_llvm(c);
    case AS_JSON:
        report_json(c, stdout);
        return STATUS_OK;
    case N_KINDS:
        break;
    }
    return STATUS_USAGE;
}

int verb_emit(const struct options *options) {
    const char *name = options->values[OPTION_AS];
    int kind = name ? table_find(kinds, N_KINDS, name) : AS_STEP;
    if (kind < 0) {
        fprintf(stderr, "placec: --as takes ast, program, step, llvm or json, not `%s`\n", name);
        return STATUS_USAGE;
    }
    struct compilation c;
    compile(&c, options, stages[kind]);
    int status = compilation_finish(&c, options);
    if (status == STATUS_OK && kind != AS_AST && !compilation_has_program(&c))
        status = STATUS_REFUSED;
    if (status == STATUS_OK)
        status = emit_as(&c, options, kind);
    compilation_free(&c);
    return status;
}
