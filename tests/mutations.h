// Programs spoilt at random, as mistakes of people and compilers would: a statement deleted,
// doubled or moved, an index or a buffer exchanged, a loop changed, an op left out.
#ifndef PLACE_TESTS_MUTATIONS_H
#define PLACE_TESTS_MUTATIONS_H

#include "ir/ir.h"

// Changes the program once; what was done, in words, or NULL: nothing.
const char *mutate(struct program *program, uint64_t *random);
// Whether the verifier may be asked about it.
bool is_well_formed(const struct program *program, struct arena *arena);

#endif
