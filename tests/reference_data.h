// The numbers that PyTorch computed for the tiny models (tools/reference_pytorch.py), and those
// that transformers did (tools/reference_transformers.py), read from tests/expected: parameters,
// tokens, gradients, losses, by the names that the script's title lists.
#ifndef PLACE_TESTS_REFERENCE_DATA_H
#define PLACE_TESTS_REFERENCE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ir.h"

struct reference_data {
    char *header; // safetensors' JSON
    const unsigned char *data;
    bool has_saved_names; // tensors lie as others save them: by layer, [out, in], side by side
};

// Reads a safetensors file as the script writes it (no spaces in the header); NULL data:
// unreadable.
struct reference_data reference_data_read(struct arena *arena, const char *path);

// A tensor's elements as doubles, whatever their type in the file. CHECKs that there are `n`.
double *reference_tensor(struct arena *arena, const struct reference_data *data, const char *name,
                         int64_t n);

// What the file has of a tensor of the program ("gradient/NAME"), of all its layers; of a fused
// one, whose parts the file has, these put together. CHECKs that the shape is as it should be.
double *reference_state(struct arena *arena, const struct reference_data *data, const char *what,
                        const struct tensor *tensor);

// The largest entry of the first step's gradients of one layer: of all tensors that have layers if
// this one has, else of those of its first role. A key bias has a true gradient of zero, so that
// its own largest entry is no scale.
double reference_gradient_scale(struct arena *arena, const struct reference_data *data,
                                const struct program *program, const struct tensor *tensor,
                                int64_t layer);

// How many elements all tensors have of which the file has `what`.
int64_t reference_elements(const struct reference_data *data, const char *what);

#endif
