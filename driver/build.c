// placec build: ahead of time, to an executable (or object, assembly, LLVM text).
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "driver/compile.h"
#include "driver/describe.h"
#include "driver/options.h"
#include "ir/check.h"

static const char *const kinds[] = {"exe", "obj", "asm", "llvm"};
enum { KIND_EXE, N_KINDS = sizeof kinds / sizeof *kinds };

static const char *const levels[] = {"v2", "v3", "v4"}; // of x86-64
enum { N_LEVELS = sizeof levels / sizeof *levels };

static bool write_output(struct compilation *c, const struct backend *backend, int kind,
                         const struct backend_options *options, const char *path,
                         const char **why) {
    static const enum backend_output outputs[N_KINDS] = {
        [1] = BACKEND_OBJECT, [2] = BACKEND_ASSEMBLY, [3] = BACKEND_LLVM};
    if (kind == KIND_EXE)
        return backend_build(backend, &c->arena, c->final, describe_program(c), options, path, why);
    size_t size;
    char *bytes =
        backend_generate(backend, &c->arena, c->final, options, outputs[kind], &size, why);
    return bytes && backend_write_file(&c->arena, path, bytes, size, why);
}

static int write_build(struct compilation *c, int kind, const char *level, const char *path) {
    const char *why = NULL;
    const struct backend_options options = {.level = level};
    struct backend *backend = backend_load(&c->arena, &why);
    if (backend)
        why = backend_refusal(backend, &c->arena, c->final);
    if (backend && !why && write_output(c, backend, kind, &options, path, &why))
        return STATUS_OK;
    fprintf(stderr, "placec: %s: %s\n", c->path, why);
    return STATUS_REFUSED;
}

// What is made takes its name by a rename, which would put a file in the place of a device.
static bool can_take_name(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return true;
    fprintf(stderr, "placec: cannot write `%s`: it is %s\n  give -o the name of a file\n", path,
            S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    return false;
}

int verb_build(const struct options *options) {
    const char *kind_name =
        option_given(options, OPTION_EMIT) ? options->values[OPTION_EMIT] : kinds[KIND_EXE];
    int kind = table_find(kinds, N_KINDS, kind_name);
    const char *path = options->values[OPTION_OUTPUT];
    if (kind < 0 || !path) {
        fprintf(stderr,
                kind < 0 ? "placec: --emit takes exe, obj, asm or llvm, not `%s`\n"
                         : "placec: `build` needs -o FILE: where the %s goes\n",
                kind_name);
        return STATUS_USAGE;
    }
    const char *level = options->values[OPTION_CPU];
    if (level && table_find(levels, N_LEVELS, level) < 0) {
        fprintf(stderr, "placec: --cpu takes v2, v3 or v4, not `%s`\n", level);
        return STATUS_USAGE;
    }
    if (!can_take_name(path))
        return STATUS_REFUSED;
    struct compilation c;
    compile(&c, options, STAGE_JUDGED);
    int status = compilation_finish(&c, options);
    if (status == STATUS_OK && !compilation_has_program(&c))
        status = STATUS_REFUSED;
    if (status == STATUS_OK)
        status = write_build(&c, kind, level, path);
    compilation_free(&c);
    return status;
}
