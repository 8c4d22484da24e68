// The texts that a compilation has read. Spans are bytes in them; people want lines and columns,
// which are found here, from a table of line starts.
#ifndef PLACE_IR_SOURCE_H
#define PLACE_IR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/span.h"

struct source_file {
    const char *name; // as printed in messages: the path as the user wrote it
    const char *text; // NUL-terminated copy; may contain NUL bytes of its own
    uint32_t length;  // bytes
    uint32_t *lines;  // byte at which each line starts; lines[0] == 0
    uint32_t n_lines;
};

struct source_files {
    struct source_file *items;
    uint32_t n_items, capacity;
};

// Copies name and text into the arena; `length` is below UINT32_MAX. Returns the source's id.
uint32_t source_add(struct source_files *files, struct arena *arena, const char *name,
                    const char *text, size_t length);

// The first byte of what a file says: a byte order mark in front is no part of it.
static inline uint32_t text_begin(const char *text, size_t length) {
    return length >= 3 && __builtin_memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

// UTF-8: a byte at which no character begins.
static inline bool continues_character(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

// A span in words: lines and columns count from 1, columns count bytes, the end is exclusive.
struct source_place {
    const char *file; // NULL when the span is nowhere
    uint32_t line, column, end_line, end_column;
};
struct source_place source_place(const struct source_files *files, struct span span);

// The smallest span that holds both, which must be in one source; one of them may be nowhere.
struct span span_join(struct span a, struct span b);
static inline struct span span_nowhere(void) {
    return (struct span){NO_SOURCE, 0, 0};
}
static inline struct span span_of(uint32_t source, uint32_t begin, uint32_t end) {
    return (struct span){source, begin, end};
}

#endif
