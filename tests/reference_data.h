// The numbers that PyTorch computed for the tiny models (tools/reference_pytorch.py), read from
// tests/expected: parameters, tokens, gradients, losses, by the names that the script's title
// lists.
#ifndef PLACE_TESTS_REFERENCE_DATA_H
#define PLACE_TESTS_REFERENCE_DATA_H

#include <stdint.h>

#include "ir/arena.h"

struct reference_data {
    char *header; // safetensors' JSON
    const unsigned char *data;
};

// Reads a safetensors file as the script writes it (no spaces in the header); NULL data:
// unreadable.
struct reference_data reference_data_read(struct arena *arena, const char *path);

// A tensor's elements as doubles, whatever their type in the file. CHECKs that there are `n`.
double *reference_tensor(struct arena *arena, const struct reference_data *data, const char *name,
                         int64_t n);

#endif
