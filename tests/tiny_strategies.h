// The strategies of examples/, for tiny models and written without the frontend: small meshes whose
// axes have different sizes, so that one taken for another shows.
#ifndef PLACE_TESTS_TINY_STRATEGIES_H
#define PLACE_TESTS_TINY_STRATEGIES_H

#include "ir/config.h"

enum tiny_strategy {
    TINY_DDP,
    TINY_ZERO1,
    TINY_ZERO2,
    TINY_ZERO3,
    TINY_HSDP,
    TINY_HYBRID,
    TINY_FSDP_KEEP,
    TINY_GATHER_ONCE,
    TINY_KEEP_PART,
    TINY_ACCUMULATE_WHOLE,
    TINY_SCATTER_EACH,
    TINY_REDUCE_EACH,
    TINY_LAYERWISE,
    TINY_ZERO3_TP,
    TINY_RECOMPUTE,
    TINY_ZERO1_TP_SP,
    TINY_HSDP_TP_SP,
    TINY_ZERO1_CP_TP_SP,
    TINY_ZERO3_ULYSSES,
    TINY_ZERO1_RING,
    TINY_ZERO3_RING_TP_SP,
    TINY_RING_ULYSSES,
    TINY_SCOPES,
    TINY_ZERO2_TP_COPIES,
    TINY_ZERO1_TP_VOCAB,
    TINY_ZERO3_TP_VOCAB_SP,
    TINY_TP_CHECKPOINTS,
    TINY_LAYERWISE_TP,
    TINY_DROPOUT,
    TINY_RECOMPUTE_LAYERS,
    TINY_GATHER_LAYERS,
    TINY_TURNS,
    N_TINY_STRATEGIES,
};
extern const char *const tiny_strategy_names[N_TINY_STRATEGIES];

// tests/tiny_models.h's configuration with the strategy on a mesh of dp = 3 (hsdp, hybrid,
// keep_part: replica 2, shard 3; zero1_cp_tp_sp, zero1_ring, zero3_ring_tp_sp: dp 2, cp 3) and a
// batch of that many times `microbatches` sequences. Of the axes of the model cp = 2 or 3 stands
// inside, then tp = 2. Where sequences are cut they have 12 tokens. zero2_tp_copies: dp 2, tp 6,
// where three devices share a key and value head.
struct config tiny_strategy_config(struct arena *arena, enum model_family family,
                                   enum tiny_strategy strategy, int64_t microbatches);

// A strategy made up from `seed`: one to three data axes, perhaps a tensor axis, products in every
// order, consistent triples of extents mostly (four in five have a program), some with selectors,
// random options, optimizers and sizes.
struct config random_strategy_config(struct arena *arena, uint64_t seed);

// The same where training is reproducible: mostly axes and sizes of which trees can be made, splits
// of parts of the model, and `reproducible` from 1 on, of all dimensions or some.
struct config random_reproducible_config(struct arena *arena, uint64_t seed);

// Building blocks, for strategies that a test makes up. Axes by number in the mesh.
struct mode_statement *tiny_mode(struct arena *, struct config *, enum state, enum extent,
                                 struct axis_list axes);
struct mode_statement *tiny_recomputed(struct arena *, struct config *, struct selector selector);
struct split_statement *tiny_split(struct arena *, struct config *, enum dimension,
                                   struct axis_list axes);
void tiny_axis(struct config *, const char *name, int64_t size);
struct axis_list tiny_axes(int first, int second); // -1: none

#endif
