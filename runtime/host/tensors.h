/* Logical tensors put together from all ranks, and files of them. */
#pragma once
#include <stdint.h>
#include "runtime/host/entries.h"

/* Writes a safetensors file. Called by all ranks; rank 0 writes. */
int32_t tensors_write(struct place_context *context, const char *path,
                      enum entries_selection selection);

/* What its tensors take, without the header. */
int64_t tensors_file_bytes(const struct place_program *program, enum entries_selection selection);
