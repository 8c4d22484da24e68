// The limits of limits.def as constants: LIMIT_NAME. One enum each, so that each has the type its
// value needs.
#ifndef PLACE_IR_LIMITS_H
#define PLACE_IR_LIMITS_H

#include <stdint.h>

#define LIMIT(name, value, unit, why) enum { LIMIT_##name = (value) };
#include "ir/limits.def"
#undef LIMIT

#endif
