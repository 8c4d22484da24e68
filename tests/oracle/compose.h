// Random `.place` files: models with pairwise different sizes, training of several kinds, meshes of
// axes of size 2 and 3, and strategies put together from the parts of the language (parts.def),
// most of which have a program.
#ifndef PLACE_TESTS_ORACLE_COMPOSE_H
#define PLACE_TESTS_ORACLE_COMPOSE_H

#include <stdbool.h>

#include "ir/arena.h"

// Sizes of a model and what it is trained on: different from one another, also
// after division by 2 and 3.
struct dims {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, sequence, sequence_limit;
    int64_t max_batch, max_microbatches, max_devices; // of the training and the mesh
};
extern const struct dims full_dims, small_dims, small_pipeline_dims;

// Compositions come in families of so many that share model, training and global batch, so that one
// device need do its work only once for all of them.
enum { FAMILY_SIZE = 12 };

struct composition {
    const char *text;
    int64_t microbatch;
};
struct composition compose(struct arena *, uint64_t seed, const struct dims *);
// The same with pipelines, of another sequence of draws.
struct composition compose_pipeline(struct arena *, uint64_t seed, const struct dims *);

// One strategy on two data axes, or on a data and a tensor axis, that keeps the states on one of
// them as the letters say ("R", "S", "S*", "M", "O"; parameters, optimizer, gradients,
// activations).
struct composition compose_tuple(struct arena *, const char *const letters[4], bool tensor_axis,
                                 const struct dims *);

#endif
