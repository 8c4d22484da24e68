// Products and sums over dimensions.
#ifndef PLACE_EQUAL_FX_FOLDS_H
#define PLACE_EQUAL_FX_FOLDS_H

#include "equal/fx/build.h"

fx_build fx_build_mm, fx_build_bmm, fx_build_addmm, fx_build_baddbmm, fx_build_matmul,
    fx_build_linear;
fx_build fx_build_sum, fx_build_mean, fx_build_var, fx_build_var_mean, fx_build_logsumexp;
fx_build fx_build_extreme; // `which` is a primitive
fx_build fx_build_whether; // any, all
fx_build fx_build_norm;    // linalg_vector_norm
fx_build fx_build_softmax, fx_build_log_softmax, fx_build_softmax_backward,
    fx_build_log_softmax_backward;

// The product of the last dimension of the one and the one before the last of the other, batch by batch.
uint32_t fx_product(struct call *, uint32_t, uint32_t);
uint32_t fx_transposed(struct call *, uint32_t); // its last two dimensions
// Over these dimensions, less the largest first.
uint32_t fx_softmax(struct call *, uint32_t, uint32_t dimensions);
uint32_t fx_log_sum(struct call *, uint32_t,
                    uint32_t dimensions); // of exponentials; dimensions are kept
uint32_t fx_log_softmax(struct call *, uint32_t, uint32_t dimensions);
// The dimensions that operand `i` names; all, where it names none.
bool fx_dimensions_given(struct call *, uint32_t i, uint32_t array, uint32_t *dimensions);

#endif
