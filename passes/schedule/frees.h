// What is freed behind a statement, until it stands in the text. Shared by frees.c, release.c and
// spots.c.
#ifndef PLACE_PASSES_FREES_H
#define PLACE_PASSES_FREES_H

#include "passes/schedule/shorten.h"

// A number of items from one on, layer by layer. Indices that are numbers are of the short step,
// until frees_of_whole.
struct freed {
    struct reference first;
    int64_t count;
};
struct frees {
    struct freed *list;
    uint32_t n, cap;
};

// Where frees come to stand: behind a statement with so many loops around it, of these names.
struct frees_at {
    struct program *program;
    int depth;
    const char *loops[LIMIT_LOOP_DEPTH];
};

// The items of a buffer are added one behind the other.
void frees_add(struct program *, struct frees *, int depth, struct reference item);
// False: some items of the whole step, for which one of the short step stands, have no free.
bool frees_of_whole(const struct program *, const struct shortened *, struct frees *);
// Few statements: one for all single items, and a loop for each range of layers.
void frees_push(const struct frees_at *, struct block *to, const struct frees *, struct span);

#endif
