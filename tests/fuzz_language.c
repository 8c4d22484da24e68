// Fuzzes the language: any bytes are refused with messages or understood, never more; and what
// parses without a message prints to a text that parses again and prints the same, and is laid out
// anew to a text that stays.
#include <stdio.h>

#include "frontend/frontend.h"
#include "tests/fuzz.h"

// The canonical text, owned by the caller; NULL if there was a message.
static char *canonical(const char *text, size_t length) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    uint32_t source;
    struct ast_file file;
    struct config config;
    char *printed = NULL;
    bool read = frontend_read_text(&arena, diagnostics, "input", text, length, &source);
    bool parsed = read && frontend_parse(&arena, diagnostics, source, &file);
    if (read) // what could be parsed is resolved too, as the command does
        frontend_resolve(&arena, diagnostics, &file, NULL, &config);
    if (parsed) {
        size_t printed_length;
        FILE *out = open_memstream(&printed, &printed_length);
        ast_print(&file, out);
        fclose(out);
    }
    // Messages are part of what must not fall over: carets, tabs, long lines, broken UTF-8.
    char *messages = NULL;
    size_t messages_length;
    FILE *out = open_memstream(&messages, &messages_length);
    diagnostics_print(diagnostics, out, true);
    fclose(out);
    CHECK(printed || messages_length > 0);
    free(messages);
    arena_free(&arena);
    return printed;
}

// The text laid out anew, owned by the caller; NULL if there was a message.
static char *formatted(const char *text, size_t length) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    uint32_t source;
    char *laid_out = NULL;
    if (frontend_read_text(&arena, diagnostics, "input", text, length, &source))
        laid_out = frontend_format(&arena, diagnostics, source, &length);
    char *kept = laid_out ? strdup(laid_out) : NULL;
    arena_free(&arena);
    return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hold_canonical(formatted, data, size);
    return hold_canonical(canonical, data, size);
}
