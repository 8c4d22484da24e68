// What the fuzzers of texts hold: what is understood prints to a text that is understood again, and
// prints the same.
#ifndef PLACE_TESTS_FUZZ_H
#define PLACE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Reads a text and prints it again, into memory that the caller frees. NULL: it was refused.
typedef char *(*canonical_text)(const char *text, size_t length);

static inline int hold_canonical(canonical_text canonical, const uint8_t *data, size_t size) {
    char *once = canonical((const char *)data, size);
    if (!once)
        return 0;
    char *twice = canonical(once, strlen(once));
    CHECK(twice && strcmp(once, twice) == 0);
    free(once);
    free(twice);
    return 0;
}

#endif
