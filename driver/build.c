// placec build: ahead of time, to an executable (or object, assembly, LLVM text).
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/describe.h"
#include "driver/native.h"

enum { KIND_EXE, KIND_OBJECT, KIND_ASSEMBLY, KIND_LLVM, N_KINDS };
static const char *const kinds[N_KINDS] = {"exe", "obj", "asm", "llvm"};
static int kind_of(const struct options *options) {
    return option_choice(options, OPTION_EMIT, kinds, N_KINDS, KIND_EXE);
}

enum { N_LEVELS = 3 };
static const char *const levels[N_LEVELS] = {"v2", "v3", "v4"}; // of x86-64

// An executable is linked from several files; every other form is one run of bytes.
static bool write_output(struct compilation *c, const struct backend *backend, int kind,
                         const struct backend_options *options, const char *path,
                         const char **why) {
    static const enum backend_output outputs[N_KINDS] = {[KIND_OBJECT] = BACKEND_OBJECT,
                                                         [KIND_ASSEMBLY] = BACKEND_ASSEMBLY,
                                                         [KIND_LLVM] = BACKEND_LLVM};
    if (kind == KIND_EXE)
        return backend_build(backend, &c->arena, c->final, describe_program(c), options, path, why);
    size_t size;
    char *bytes =
        backend_generate(backend, &c->arena, c->final, options, outputs[kind], &size, why);
    return bytes && backend_write_file(&c->arena, path, bytes, size, why);
}

// What is made takes its name by a rename, which would put a file in the place of a device, or of
// what the program was read from: its own text, an import, a config.json.
static bool can_take_name(struct compilation *c, const char *path) {
    struct stat status, read;
    if (stat(path, &status) != 0)
        return true;
    const char *taken = S_ISDIR(status.st_mode)    ? "a folder"
                        : !S_ISREG(status.st_mode) ? "not a regular file"
                                                   : NULL;
    const char *const *texts = native_texts(c);
    for (int i = 0; texts[i] && !taken; i++)
        if (stat(texts[i], &read) == 0 && read.st_dev == status.st_dev &&
            read.st_ino == status.st_ino)
            taken = "part of the program that is built";
    if (taken)
        fprintf(stderr,
                "placec: cannot write `%s`: it is %s\n  give -o the name of a file of its own\n",
                path, taken);
    return !taken;
}

static int write_build(struct compilation *c, const struct options *options) {
    const char *why = NULL, *path = options->values[OPTION_OUTPUT];
    const struct backend_options generate = {.level = options->values[OPTION_CPU]};
    if (!can_take_name(c, path))
        return STATUS_REFUSED;
    struct backend *backend = native_backend(c, &why);
    if (backend && write_output(c, backend, kind_of(options), &generate, path, &why))
        return STATUS_OK;
    return native_failed(c, why);
}

// The command line is judged as a whole before the file is compiled.
int verb_build(const struct options *options) {
    int kind = kind_of(options);
    if (kind < 0 || option_choice(options, OPTION_CPU, levels, N_LEVELS, 0) < 0)
        return STATUS_USAGE;
    if (!option_given(options, OPTION_OUTPUT)) {
        fprintf(stderr, "placec: `build` needs -o FILE: where the %s goes\n", kinds[kind]);
        return STATUS_USAGE;
    }
    return compile_then(options, STAGE_JUDGED, write_build);
}
