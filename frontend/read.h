// Reading files that a text refers to. Private to frontend/.
#ifndef PLACE_FRONTEND_READ_H
#define PLACE_FRONTEND_READ_H

#include <stdio.h>

#include "frontend/parser.h"

// `from` is the text that asks for the file, nowhere when the command line does.
bool read_source(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                 struct span from, uint32_t *source);
bool read_text(struct arena *arena, struct diagnostics *diagnostics, const char *name,
               const char *text, size_t length, struct span from, uint32_t *source);
// The same of files of other kinds. `remedy`: what to do about one that is larger.
struct text_limit {
    size_t bytes;
    const char *remedy;
};
bool read_source_within(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                        const struct text_limit *limit, struct span from, uint32_t *source);
// All bytes of a file, from malloc; stops somewhere above `limit`. NULL: reported.
char *read_path(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                size_t limit, struct span from, size_t *length);
char *read_bytes(FILE *file, size_t limit, size_t *length);

#endif
