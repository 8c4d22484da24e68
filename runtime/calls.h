/* C prototypes of the functions that generated code calls, made from runtime/calls.def. */
#pragma once
#include <stdint.h>
#include "runtime/place.h"

#define PLACE_CALL_TYPE_PTR void *
#define PLACE_CALL_TYPE_I32 int32_t
#define PLACE_CALL_TYPE_I64 int64_t
#define PLACE_CALL_TYPE_F64 double

#define PLACE_CALL_CONST_READ const
#define PLACE_CALL_CONST_WRITE
#define PLACE_CALL_CONST_UPDATE
#define PLACE_CALL_CONST_CODE
#define PLACE_CALL_CONST_VALUE

#define CALL(name, since, effect, work, text)                                                      \
    int32_t place_##name(struct place_context *context, int32_t statement
#define ARGUMENT(kind, name, access, text) , PLACE_CALL_CONST_##access PLACE_CALL_TYPE_##kind name
#define END_CALL(name) );
#include "runtime/calls.def"
