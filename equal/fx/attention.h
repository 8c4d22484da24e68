// Scaled products of queries and keys, and of their softmax with values.
#ifndef PLACE_EQUAL_FX_ATTENTION_H
#define PLACE_EQUAL_FX_ATTENTION_H

#include "equal/fx/build.h"

fx_build fx_build_attention;    // scaled_dot_product_attention
fx_build fx_build_flash_on_cpu; // gives the logarithms of sums, too
fx_build fx_build_flash_on_cpu_backward;

#endif
