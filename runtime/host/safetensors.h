/* Headers of safetensors files: 8 bytes of length, JSON, then the tensors' bytes. One list of
 * tensors has one header, byte by byte, so that a reader who knows what should be there compares
 * it, and parses nothing that others wrote. */
#pragma once
#include <stddef.h>
#include "runtime/host/entries.h"

/* The header of `n` entries whose bytes follow one another, with its length in front, padded to 8
 * bytes; to be freed. Null: no memory. */
char *safetensors_header(const struct entry *entries, int32_t n, size_t *bytes);

/* "F32" and so on. */
const char *safetensors_dtype(enum place_dtype dtype);
