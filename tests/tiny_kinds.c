// See tiny_kinds.h.
#include "tests/tiny_kinds.h"

#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"
#include "ir/check.h"
#include "ir/diagnostic.h"

const char *const tiny_kinds[N_TINY_KINDS] = {"gpt2", "llama", "mistral", "qwen2", "qwen3", "phi3"};

struct config tiny_kind_config(struct arena *arena, const char *kind) {
    struct source_files *sources = ARENA_NEW(arena, struct source_files);
    struct diagnostics *diagnostics = diagnostics_new(arena, sources);
    struct frontend_options options = {0};
    struct ast_file file;
    struct config config;
    uint32_t source;
    const char *text = arena_format(arena,
                                    "model tiny from \"tiny_%s.json\"\n"
                                    "device core { memory = 1 GiB }\n"
                                    "mesh one of core { dp = 1 }\n"
                                    "train { batch = 2  sequence = 5  precision = fp64\n"
                                    "        optimizer = sgd(lr = 0.1) }\n"
                                    "strategy main { split batch over dp }\n",
                                    kind);
    bool good = frontend_read_text(arena, diagnostics, "inputs/models/text.place", text,
                                   strlen(text), &source) &&
                frontend_parse(arena, diagnostics, source, &file) &&
                frontend_resolve(arena, diagnostics, &file, &options, &config);
    diagnostics_print(diagnostics, stderr, false);
    CHECK(good && diagnostics->n_warnings == 0);
    return config;
}

struct reference_data tiny_kind_data(struct arena *arena, const char *kind) {
    struct reference_data data = reference_data_read(
        arena, arena_format(arena, "expected/transformers_%s.safetensors", kind));
    data.has_saved_names = true;
    return data;
}
