// Functional collectives: `torch.ops._c10d_functional.all_reduce.default(x, 'sum', '0')`.
#ifndef PLACE_EQUAL_FX_COLLECTIVES_H
#define PLACE_EQUAL_FX_COLLECTIVES_H

#include "equal/fx/build.h"

fx_build fx_build_all_reduce;     // (x, reduction, group)
fx_build fx_build_all_gather;     // (x, how many, group)
fx_build fx_build_reduce_scatter; // (x, reduction, how many, group)
fx_build fx_build_all_to_all;     // (x, sizes of what is received, of what is sent, group)
fx_build fx_build_exchange;       // (x, dimension to gather, to cut, group): of DTensor

#endif
