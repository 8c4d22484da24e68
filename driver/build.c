// placec build: ahead of time, to an executable (or object, assembly, LLVM text).
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/describe.h"
#include "driver/native.h"
#include "driver/option_tables.h"

static enum choice kind_of(const struct options *options) {
    return option_choice(options, OPTION_EMIT, EMIT_EXE);
}

// An executable is linked from several files; every other form is one run of bytes.
static bool write_output(struct compilation *c, const struct backend *backend, enum choice kind,
                         const struct backend_options *options, const char *path,
                         const char **why) {
    static const enum backend_output outputs[N_CHOICES] = {[EMIT_OBJECT] = BACKEND_OBJECT,
                                                           [EMIT_ASSEMBLY] = BACKEND_ASSEMBLY,
                                                           [EMIT_LLVM] = BACKEND_LLVM};
    if (kind == EMIT_EXE)
        return backend_build(backend, &c->arena, c->final->job, describe_program(c), options, path,
                             why);
    size_t size;
    char *bytes =
        backend_generate(backend, &c->arena, c->final->job, options, outputs[kind], &size, why);
    return bytes && backend_write_file(&c->arena, path, bytes, size, why);
}

static const char elf[] = "\177ELF";

// How what is made begins: what is there and begins otherwise was made by something else.
static const struct {
    const char *begins, *name;
} forms[N_CHOICES] = {[EMIT_EXE] = {elf, "an executable"},
                      [EMIT_OBJECT] = {elf, "an object"},
                      [EMIT_ASSEMBLY] = {"\t.text\n", "assembly of ours"},
                      [EMIT_LLVM] = {"; ModuleID = ", "a text of LLVM"}};

// Objects and executables, libraries among them, begin alike; an executable has an entry point.
static bool is_elf(const Elf64_Ehdr *header, enum choice kind) {
    return kind == EMIT_OBJECT ? header->e_type == ET_REL
                               : header->e_type != ET_REL && header->e_entry != 0;
}

static bool is_of_kind(const char *path, enum choice kind) {
    union {
        char bytes[sizeof(Elf64_Ehdr)];
        Elf64_Ehdr header;
    } file = {{0}};
    size_t length = strlen(forms[kind].begins);
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(file.bytes, 1, sizeof file.bytes, from) : 0;
    if (from)
        fclose(from);
    return n >= length && memcmp(file.bytes, forms[kind].begins, length) == 0 &&
           (forms[kind].begins != elf || is_elf(&file.header, kind));
}

static bool is_text_of_program(struct compilation *c, const struct stat *status) {
    const char *const *texts = native_texts(c);
    struct stat text;
    for (int i = 0; texts[i]; i++)
        if (stat(texts[i], &text) == 0 && text.st_dev == status->st_dev &&
            text.st_ino == status->st_ino)
            return true;
    return false;
}

// What is made takes its name by a rename, which would put a file in the place of a device, of what
// the program was read from (its own text, an import, a config.json), or of anybody's work.
static bool can_take_name(struct compilation *c, const char *path, enum choice kind) {
    struct stat status;
    if (stat(path, &status) != 0)
        return true;
    const char *taken = S_ISDIR(status.st_mode)          ? "it is a folder"
                        : !S_ISREG(status.st_mode)       ? "it is not a regular file"
                        : is_text_of_program(c, &status) ? "it is part of the program that is built"
                        : status.st_size > 0 && !is_of_kind(path, kind)
                            ? arena_format(&c->arena, "it is there and is not %s", forms[kind].name)
                            : NULL;
    if (taken)
        fprintf(stderr, "placec: cannot write `%s`: %s\n  give -o the name of a file of its own\n",
                path, taken);
    return !taken;
}

static int write_build(struct compilation *c, const struct options *options) {
    const char *why = NULL, *path = options->values[OPTION_OUTPUT];
    const struct backend_options generate = {.level = options->values[OPTION_CPU]};
    if (!can_take_name(c, path, kind_of(options)))
        return STATUS_REFUSED;
    struct backend *backend = native_backend(c, &why);
    if (backend && write_output(c, backend, kind_of(options), &generate, path, &why))
        return STATUS_OK;
    return native_failed(c, why);
}

// The command line is judged as a whole before the file is compiled.
int verb_build(const struct options *options) {
    if (!option_given(options, OPTION_OUTPUT)) {
        fprintf(stderr, "placec: `build` needs -o FILE: where the %s goes\n",
                choice_rows[kind_of(options)].word);
        return STATUS_USAGE;
    }
    return compile_then(options, STAGE_JUDGED, write_build);
}
