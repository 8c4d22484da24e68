// Losses of classes, from the logarithms of their probabilities.
#ifndef PLACE_EQUAL_FX_LOSSES_H
#define PLACE_EQUAL_FX_LOSSES_H

#include "equal/fx/build.h"

fx_build fx_build_nll_loss; // `which`: 1 gives the weight of all, too
fx_build fx_build_nll_loss_backward;
fx_build fx_build_cross_entropy;
fx_build fx_build_mse_loss, fx_build_mse_loss_backward;

#endif
