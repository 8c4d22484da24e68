// Loads the code generator when it is needed, and hands it the addresses of the runtime's
// functions.
#include "backend/generator.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/file.h"
#include "backend/installation.h"
#include "ir/check.h"
#include "runtime/calls.h"

struct backend {
    const struct generator *generator;
};
// The executable's own runtime: jitted code must call the one that holds its ranks.
static const struct runtime_symbol runtime_symbols[] = {
#define CALL(name, since, effect, work, text) {"place_" #name, (void *)place_##name},
#include "runtime/calls.def"
};

// Symbols are bound at once, so that a library that does not fit fails here.
struct backend *backend_load(struct arena *arena, const char **why) {
    const char *path = arena_format(arena, "%s/libplace_backend.so", library_directory(arena));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); // stays until the process ends
    const struct generator *(*open)(void) = NULL;
    if (library)
        *(void **)&open = dlsym(library, GENERATOR_SYMBOL);
    if (!open) {
        *why = arena_format(arena, "the code generator cannot be loaded: %s", dlerror());
        return NULL;
    }
    struct backend *backend = ARENA_NEW(arena, struct backend);
    backend->generator = open();
    return backend;
}

static const char *cache_directory(struct arena *arena) {
    const char *own = getenv("PLACE_CACHE"), *common = getenv("XDG_CACHE_HOME");
    if (own)
        return *own ? own : NULL;
    if (common && *common)
        return arena_format(arena, "%s/place", common);
    const char *home = getenv("HOME");
    return home && *home ? arena_format(arena, "%s/.cache/place", home) : NULL;
}

const char *backend_cache_directory(struct arena *arena, const char **why) {
    struct stat status;
    const char *path = cache_directory(arena);
    *why = NULL;
    if (!path || stat(path, &status) != 0 || !S_ISDIR(status.st_mode) || is_only_ours(&status))
        return path;
    bool own = status.st_uid == geteuid();
    *why = arena_format(arena,
                        "`%s` is not used for compiled objects: %s\n  %s%s, or name a folder of "
                        "your own in PLACE_CACHE",
                        path, own ? "others may write there" : "it belongs to another user",
                        own ? "chmod go-w " : "leave it to them", own ? path : "");
    return NULL;
}

const char *backend_refusal(const struct backend *backend, struct arena *arena,
                            const struct job *job) {
    return backend->generator->refusal(arena, job);
}

struct backend_code *backend_jit(const struct backend *backend, struct arena *arena,
                                 const struct job *job, const struct backend_options *options,
                                 const char **why) {
    unsigned n = sizeof runtime_symbols / sizeof runtime_symbols[0];
    return backend->generator->jit(arena, job, options, runtime_symbols, n, why);
}

place_entry *backend_entry(const struct backend *backend, const struct backend_code *code,
                           uint32_t program, enum step_kind kind) {
    return backend->generator->entry(code, program, kind);
}

// The parts are the descriptor's own, which only the runtime may not write.
void backend_set_entries(const struct backend *backend, const struct backend_code *code,
                         struct place_program *descriptor) {
    struct place_part *parts = (struct place_part *)descriptor->parts;
    for (uint32_t i = 0; i < (uint32_t)descriptor->n_parts; i++) {
        parts[i].train = backend_entry(backend, code, i, STEP_TRAIN);
        parts[i].evaluate = backend_entry(backend, code, i, STEP_EVALUATE);
        parts[i].average = backend_entry(backend, code, i, STEP_AVERAGE);
    }
}

void backend_code_free(const struct backend *backend, struct backend_code *code) {
    backend->generator->code_free(code);
}

char *backend_generate(const struct backend *backend, struct arena *arena, const struct job *job,
                       const struct backend_options *options, enum backend_output output,
                       size_t *size, const char **why) {
    struct backend_options levelled = *options;
    levelled.level = backend_level(options, why);
    if (!levelled.level)
        return NULL;
    // cppcheck-suppress returnDanglingLifetime ; what is returned lives in the arena
    return backend->generator->generate(arena, job, &levelled, output, size, why);
}
