// Norms of layers, and what they give back.
#ifndef PLACE_EQUAL_FX_NORMS_H
#define PLACE_EQUAL_FX_NORMS_H

#include "equal/fx/build.h"

fx_build fx_build_layer_norm; // `which`: 1 gives mean and the inverse deviation, too
fx_build fx_build_layer_norm_backward;
fx_build fx_build_rms_norm; // `which`: 1 gives the inverse root of squares, too
fx_build fx_build_rms_norm_backward;

#endif
