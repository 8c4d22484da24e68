// Lookups. PyTorch refuses an index that an array does not have, so nothing is said here of what such a one gives: a
// lookup is the sum over all rows of those whose number the index is.
#ifndef PLACE_EQUAL_FX_INDEXED_H
#define PLACE_EQUAL_FX_INDEXED_H

#include "equal/fx/build.h"

fx_build fx_build_embedding, fx_build_embedding_backward;
fx_build fx_build_index, fx_build_index_put, fx_build_index_select, fx_build_index_add;
fx_build fx_build_gather, fx_build_scatter_add;
fx_build fx_build_scatter; // of one index; `which`: 1 of an array, 0 of a number

// Truths: behind the dimensions of the indices one of `size`, true where its place is the index.
uint32_t fx_is_index(struct call *, uint32_t indices, int64_t size);

#endif
