// Loading the code generator for a program, and what is said when it cannot be used.
#include "driver/native.h"

#include <stdio.h>

struct backend *native_backend(struct compilation *c, const char **why) {
    *why = NULL;
    struct backend *backend = backend_load(&c->arena, why);
    if (backend)
        *why = backend_refusal(backend, &c->arena, c->final);
    return *why ? NULL : backend;
}

int native_failed(const struct compilation *c, const char *why) {
    fprintf(stderr, "placec: %s: %s\n", c->path, why);
    return STATUS_REFUSED;
}
