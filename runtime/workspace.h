/* Scratch memory of kernels: one block per thread of a team, allocated with the team, so that
 * nothing is allocated in a step. Only attention needs it; the memory plan counts it as a constant
 * per thread. */
#pragma once

/* Attention works on tiles of this many queries by this many keys. */
#define PLACE_ATTENTION_TILE 64

/* Longest head that the workspace has room for; the compiler refuses a longer one. */
#define PLACE_HEAD_DIM_LIMIT 256

/* Two transposed tiles [head_dim, TILE], two tiles of scores, four statistics per query. */
#define PLACE_ATTENTION_WORKSPACE_ELEMENTS(head_dim)                                               \
    (2 * (head_dim)*PLACE_ATTENTION_TILE + 2 * PLACE_ATTENTION_TILE * PLACE_ATTENTION_TILE +       \
     4 * PLACE_ATTENTION_TILE)

/* What one thread needs for any program: the longest head, in double precision. */
#define PLACE_WORKSPACE_BYTES_PER_THREAD                                                           \
    (PLACE_ATTENTION_WORKSPACE_ELEMENTS(PLACE_HEAD_DIM_LIMIT) * 8)
