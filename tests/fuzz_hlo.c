// Fuzzes the reading of HLO text: any bytes give one message, or a graph of which all that equal/graph/graph.h says
// holds, in memory that the text's length bounds.
#include "equal/hlo/read.h"
#include "tests/fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena = {0}, kept = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    uint32_t source = source_add(&sources, &arena, "input", (const char *)data, size);
    hold_reading(hlo_read(source, &kept, diagnostics), diagnostics, &kept, size);
    arena_free(&kept);
    arena_free(&arena);
    return 0;
}
