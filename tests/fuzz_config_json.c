// Fuzzes the reading of a model's config.json: any bytes give a model or messages, never more.
#define _GNU_SOURCE // memfd_create
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frontend/frontend.h"
#include "ir/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The bytes as a file without a name.
static int memory_file(const uint8_t *data, size_t size) {
    int descriptor = memfd_create("config.json", 0);
    CHECK(descriptor >= 0);
    CHECK(write(descriptor, data, size) == (ssize_t)size);
    return descriptor;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    struct ast_file file;
    struct config config;
    uint32_t source;
    int descriptor = memory_file(data, size);
    const char *text = arena_format(&arena,
                                    "model m from \"/proc/self/fd/%d\" device d { }\n"
                                    "mesh r of d { dp = 2 }\n"
                                    "train { batch = 2  sequence = 8  optimizer = sgd(lr = 1) }\n"
                                    "strategy main { split batch over dp }",
                                    descriptor);
    CHECK(frontend_read_text(&arena, diagnostics, "input", text, strlen(text), &source));
    CHECK(frontend_parse(&arena, diagnostics, source, &file));
    bool good = frontend_resolve(&arena, diagnostics, &file, NULL, &config);
    CHECK(good == (diagnostics->n_errors == 0));
    FILE *nowhere = fopen("/dev/null", "w");
    diagnostics_print(diagnostics, nowhere, true);
    fclose(nowhere);
    close(descriptor);
    arena_free(&arena);
    return 0;
}
