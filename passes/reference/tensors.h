// Tensors of a model: how large their dimensions are, and what units call them.
#ifndef PLACE_PASSES_TENSORS_H
#define PLACE_PASSES_TENSORS_H

#include "ir/config.h"

// The size that a dimension has in the reference program; 0 of `part`, which is as long as the parts
// of its tensor are. Query heads are cut into groups that share a key/value head: HEADS counts the
// groups, so a mesh that cuts heads cuts queries, keys and values in the same places.
int64_t dimension_size(const struct config *, enum dimension dimension);
// A tensor's name in a unit: without "block.", since a unit of a layer has no others.
const char *name_in_unit(const char *name);

#endif
