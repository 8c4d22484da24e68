// What libplace_backend.so offers to the static part of the backend, through one exported function.
#ifndef PLACE_BACKEND_GENERATOR_H
#define PLACE_BACKEND_GENERATOR_H

#include "backend/backend.h"

// A function of the runtime that jitted code calls.
struct runtime_symbol {
    const char *name;
    void *address;
};

struct generator {
    const char *(*refusal)(struct arena *, const struct job *);
    struct backend_code *(*jit)(struct arena *, const struct job *, const struct backend_options *,
                                const struct runtime_symbol *, unsigned n_symbols,
                                const char **why);
    place_entry *(*entry)(const struct backend_code *, uint32_t program, enum step_kind);
    void (*code_free)(struct backend_code *);
    char *(*generate)(struct arena *, const struct job *, const struct backend_options *,
                      enum backend_output, size_t *size, const char **why);
};

#define GENERATOR_SYMBOL "place_backend_generator"
__attribute__((visibility("default"))) const struct generator *place_backend_generator(void);

#endif
