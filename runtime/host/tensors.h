/* Logical tensors put together from all ranks, and files of them. */
#pragma once
#include <stdint.h>
#include "runtime/context.h"

/* What a file of tensors holds. */
enum tensor_selection {
    TENSORS_PARAMETERS, /* under the names and in the shapes of place_tensor.saved_* */
    TENSORS_ALL_STATES, /* "moment1/NAME/LAYER" ..., logical shapes; gradients whose bytes are their
                           own */
};

/* Writes a safetensors file (8 bytes length, JSON header, data). Called by all ranks; rank 0
 * writes. */
int32_t tensors_write(struct place_context *context, const char *path,
                      enum tensor_selection selection);

/* What its tensors take, without the header. */
int64_t tensors_file_bytes(const struct place_program *program, enum tensor_selection selection);
