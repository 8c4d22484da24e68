// Small models whose sizes are pairwise different, so that a dimension taken for another shows. The
// same ones as in tools/reference_pytorch.py, whose numbers reference_data.h reads.
#ifndef PLACE_TESTS_TINY_MODELS_H
#define PLACE_TESTS_TINY_MODELS_H

#include "ir/config.h"

// GPT-2: LayerNorm, GELU (tanh), learned positions, biases, tied head; two key/value heads for four
// query heads. Llama: RMSNorm, SwiGLU, RoPE with Llama 3.1's scaling, untied head. Both with AdamW,
// clipping and a cosine schedule, in fp64. One optimizer rule, in static memory of the call's own.
struct config tiny_config(struct arena *arena, enum model_family family);

#endif
