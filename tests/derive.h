// Programs derived from a test's configuration, and what their texts are held to.
#ifndef PLACE_TESTS_DERIVE_H
#define PLACE_TESTS_DERIVE_H

#include "ir/diagnostic.h"
#include "passes/passes.h"

// The program after the passes up to `last`, numbered, in `arena`. NULL: a pass refused it, as
// `diagnostics` says if they are given.
struct program *derive_program(struct arena *arena, const struct config *config, enum pass last,
                               struct diagnostics *diagnostics);

// The program's text; it fails the test unless it reads back and prints the same: it says all there
// is to say.
char *checked_text(struct arena *arena, const struct program *program);

// Compares with golden/NAME.program, where that is there: some are to be read. Of the others there is
// a digest in golden/passes.digests. Writes either anew where PLACE_UPDATE_GOLDENS is in the
// environment.
void check_golden(struct arena *arena, const char *name, const char *text);

#endif
