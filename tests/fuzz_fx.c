// Fuzzes the reading of PyTorch's FX text, as that of one device and of each of a mesh: any bytes give one message, or a
// graph of which all that equal/graph/graph.h says holds, in memory that the text's length bounds.
#include <string.h>

#include "equal/fx/read.h"
#include "ir/check.h"
#include "tests/fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const uint8_t *data, size_t size, const char *mesh) {
    struct arena arena = {0}, kept = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    struct layout_given given;
    CHECK(layout_given_read(&given, NO_SOURCE, mesh, &arena, diagnostics));
    uint32_t source = source_add(&sources, &arena, "input", (const char *)data, size);
    const struct graph *graph = fx_read(source, mesh ? &given : NULL, &kept, diagnostics);
    hold_reading(graph, diagnostics, &kept, size);
    arena_free(&kept);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    take(data, size, NULL);
    take(data, size, "tp=2"); // texts of both ranks, too
    take(data, size, "dp=2,tp=3");
    return 0;
}
