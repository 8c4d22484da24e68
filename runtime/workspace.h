/* Scratch memory of kernels: one block per thread of a team, allocated with the team, so that
 * nothing is allocated in a step. Attention needs it, products of our own, and gradients of tables
 * whose blocks are joined as a tree; the memory plan counts it as a constant per thread. */
#pragma once

/* Attention works on tiles of this many queries by this many keys. */
#define PLACE_ATTENTION_TILE 64

/* Longest head that the workspace has room for; the compiler refuses a longer one. */
#define PLACE_HEAD_DIM_LIMIT 256

/* Gradients of keys that the backward pass has room for: one, and one for each level of a tree over
 * PLACE_BLOCKS_LIMIT blocks of queries. */
#define PLACE_ATTENTION_SUMS 7

/* What both directions need at most, the backward pass with `keys` loaded: two matrices of the keys
 * transposed, in whole tiles, and one that is not; three matrices of a tile of queries; two tiles
 * of scores, and one in half as many numbers; four statistics per query; sums for k and for v. */
#define PLACE_ATTENTION_WHOLE_TILES(keys)                                                          \
    (((keys) + PLACE_ATTENTION_TILE - 1) / PLACE_ATTENTION_TILE * PLACE_ATTENTION_TILE)
#define PLACE_ATTENTION_WORKSPACE_ELEMENTS(head_dim, keys)                                         \
    ((2 * PLACE_ATTENTION_WHOLE_TILES(keys) + (keys) + 3 * PLACE_ATTENTION_TILE +                  \
      PLACE_ATTENTION_SUMS * 2 * (keys)) *                                                         \
         (head_dim) +                                                                              \
     PLACE_ATTENTION_TILE * PLACE_ATTENTION_TILE * 5 / 2 + 4 * PLACE_ATTENTION_TILE)

/* Products of our own copy what they need of both operands for this many terms of a sum at a time:
 * of some rows, and of a tile's columns and some that fill up the last panel of them. */
#define PLACE_PRODUCT_DEPTH        256
#define PLACE_PRODUCT_ROW_BYTES    576
#define PLACE_PRODUCT_COLUMN_BYTES 2048
#define PLACE_PRODUCT_PANEL_BYTES                                                                  \
    (PLACE_PRODUCT_DEPTH * (PLACE_PRODUCT_ROW_BYTES + PLACE_PRODUCT_COLUMN_BYTES + 192))

/* What one thread needs for any program: attention of the longest head in double precision takes
 * less, with half a tile of keys in the backward pass, and products have room for sums of some rows
 * for each level of a tree. */
#define PLACE_WORKSPACE_BYTES_PER_THREAD (1 << 21)
#if PLACE_ATTENTION_WORKSPACE_ELEMENTS(PLACE_HEAD_DIM_LIMIT, PLACE_ATTENTION_TILE / 2) * 8 >       \
    PLACE_WORKSPACE_BYTES_PER_THREAD
#error "attention needs more"
#endif
