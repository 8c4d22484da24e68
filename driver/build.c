// placec build: ahead of time, to an executable (or object, assembly, LLVM text).
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "driver/describe.h"
#include "driver/native.h"
#include "driver/option_tables.h"
#include "driver/overwrite.h"

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

static bool is_of_form(const char *path, int kind) {
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
           (forms[kind].begins != elf || is_elf(&file.header, (enum choice)kind));
}

static int write_build(struct compilation *c, const struct options *options) {
    const char *why = NULL, *path = options->values[OPTION_OUTPUT];
    const struct backend_options generate = {.level = options->values[OPTION_CPU]};
    enum choice kind = kind_of(options);
    const struct output_kind output = {forms[kind].name, "-o", (int)kind, is_of_form};
    if (!can_take_name(c, path, &output))
        return STATUS_REFUSED;
    struct backend *backend = native_backend(c, &why);
    if (backend && write_output(c, backend, kind, &generate, path, &why))
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
