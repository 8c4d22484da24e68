// Arrays that are made of numbers.
#ifndef PLACE_EQUAL_FX_GIVEN_H
#define PLACE_EQUAL_FX_GIVEN_H

#include "equal/fx/build.h"

fx_build fx_build_full;       // (sizes, number, dtype)
fx_build fx_build_full_like;  // (x, number, dtype)
fx_build fx_build_filled;     // (sizes, dtype): `which` is the number
fx_build fx_build_like;       // (x, dtype): `which` is the number
fx_build fx_build_new_filled; // (x, sizes, dtype): `which` is the number
fx_build fx_build_new_full;   // (x, sizes, number, dtype)
fx_build fx_build_scalar;     // (number, dtype)
fx_build
    fx_build_arange; // (end, dtype), (start, end, dtype), (start, end, step, dtype): `which` numbers
fx_build fx_build_iota;     // (n, start, step, dtype)
fx_build fx_build_triangle; // `which`: 0 keeps what is below the diagonal, 1 what is above it

// One where the column, less the row, is at most, or at least, so many.
uint32_t fx_triangle(struct call *, const struct sizes *, bool upper, int64_t diagonal);

#endif
