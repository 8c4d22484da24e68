// A tiny model of every kind, read from the config.json that transformers wrote
// (tools/reference_transformers.py), with what transformers made of it.
#ifndef PLACE_TESTS_TINY_KINDS_H
#define PLACE_TESTS_TINY_KINDS_H

#include "ir/config.h"
#include "tests/reference_data.h"

enum { N_TINY_KINDS = 6 };
extern const char *const tiny_kinds[N_TINY_KINDS];

// The configuration of one device, of the numbers' batch and sequence, in fp64. Warnings are none.
struct config tiny_kind_config(struct arena *arena, const char *kind);
struct reference_data tiny_kind_data(struct arena *arena, const char *kind);

#endif
