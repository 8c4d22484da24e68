// Arrays one behind the other.
#ifndef PLACE_EQUAL_VALUES_TOGETHER_H
#define PLACE_EQUAL_VALUES_TOGETHER_H

#include "equal/values/value.h"

#endif
