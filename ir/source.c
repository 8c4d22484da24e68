// Sources and their line tables. Lines end at '\n'; a '\r' before it belongs to the line and is
// not shown.
#include "ir/source.h"
#include "ir/check.h"

#include <string.h>

// Where each line begins; a file without a newline has one line.
static void find_lines(struct source_file *file, struct arena *arena) {
    uint32_t capacity = 0;
    const char *at = file->text, *end = file->text + file->length;
    ARENA_PUSH(arena, file->lines, file->n_lines, capacity, 0);
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        ARENA_PUSH(arena, file->lines, file->n_lines, capacity, (uint32_t)(at - file->text));
    }
}

uint32_t source_add(struct source_files *files, struct arena *arena, const char *name,
                    const char *text, size_t length) {
    CHECK(length < UINT32_MAX);
    struct source_file file = {
        .name = arena_string(arena, name, strlen(name)),
        .text = arena_string(arena, text, length),
        .length = (uint32_t)length,
    };
    find_lines(&file, arena);
    ARENA_PUSH(arena, files->items, files->n_items, files->capacity, file);
    return files->n_items - 1;
}

// The last line that starts at or before the byte.
static uint32_t line_of(const struct source_file *file, uint32_t byte) {
    uint32_t low = 0, high = file->n_lines;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (file->lines[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Spans that are nowhere have no file; the caller asks for that first.
struct source_place source_place(const struct source_files *files, struct span span) {
    if (!files || span.source >= files->n_items)
        return (struct source_place){0};
    const struct source_file *file = &files->items[span.source];
    uint32_t line = line_of(file, span.begin), end_line = line_of(file, span.end);
    return (struct source_place){
        .file = file->name,
        .line = line + 1,
        .column = span.begin - file->lines[line] + 1,
        .end_line = end_line + 1,
        .end_column = span.end - file->lines[end_line] + 1,
    };
}

// The span from the first to the last of both, which are of one source; nowhere adds nothing.
struct span span_join(struct span a, struct span b) {
    if (a.source == NO_SOURCE)
        return b;
    if (b.source == NO_SOURCE)
        return a;
    CHECK(a.source == b.source);
    return span_of(a.source, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end);
}
