// Ops of elements at their own places.
#ifndef PLACE_EQUAL_FX_POINTWISE_H
#define PLACE_EQUAL_FX_POINTWISE_H

#include "equal/fx/build.h"

// `which` is a primitive.
fx_build fx_build_function; // of reals: of whole numbers it makes these first
fx_build fx_build_one;      // of any numbers
fx_build fx_build_two;      // of two, which meet
fx_build fx_build_scaled;   // add, sub: the other one times alpha
fx_build fx_build_divide;   // gives reals
fx_build fx_build_logical;  // of truths
fx_build fx_build_power;
fx_build fx_build_compare; // `which` is a direction
fx_build fx_build_where, fx_build_masked_fill, fx_build_clamp;
fx_build fx_build_same, fx_build_cast, fx_build_dropout;
fx_build fx_build_addcmul; // `which` is a primitive: addcmul, addcdiv
fx_build fx_build_rsub, fx_build_square, fx_build_reciprocal, fx_build_lerp;
fx_build fx_build_type_as;
fx_build fx_build_opaque; // what is not followed, whatever it is given

// Activations and what they give back.
fx_build fx_build_relu, fx_build_gelu, fx_build_silu, fx_build_sigmoid, fx_build_softplus;
fx_build fx_build_threshold_backward, fx_build_gelu_backward, fx_build_silu_backward,
    fx_build_sigmoid_backward, fx_build_tanh_backward;

uint32_t fx_sigmoid(struct call *, uint32_t);

#endif
