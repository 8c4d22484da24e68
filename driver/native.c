// Loading the code generator for a program, and what is said when it cannot be used.
#include "driver/native.h"

#include <stdio.h>
#include <unistd.h>

struct backend *native_backend(struct compilation *c, const char **why) {
    *why = NULL;
    struct backend *backend = backend_load(&c->arena, why);
    if (backend)
        *why = backend_refusal(backend, &c->arena, c->final->job);
    return *why ? NULL : backend;
}

// Standard input and what -D says are sources too, and no files.
const char *const *native_texts(struct compilation *c) {
    const char **texts = ARENA_ARRAY(&c->arena, const char *, c->sources.n_items + 1);
    for (uint32_t i = 0, n = 0; i < c->sources.n_items; i++)
        if (access(c->sources.items[i].name, F_OK) == 0)
            texts[n++] = c->sources.items[i].name;
    return texts;
}

int native_failed(const struct compilation *c, const char *why) {
    fprintf(stderr, "placec: %s: %s\n", c->path, why);
    return STATUS_REFUSED;
}
