/* The runtime's public header: what a generated program and the command see of it. */
#pragma once
#include <stdint.h>

/* Changes whenever a row of runtime/calls.def or a structure of this header changes its meaning. */
#define PLACE_ABI_VERSION 1

/* Result of every runtime call; generated code passes on what is not PLACE_OK. */
enum place_status {
    PLACE_OK = 0,
    PLACE_ERROR_ARGUMENT,  /* a call that the compiler should not have made */
    PLACE_ERROR_LIBRARY,   /* no product library */
    PLACE_ERROR_TRANSPORT, /* another rank cannot be reached */
    PLACE_ERROR_ABORTED,   /* another rank failed, or Ctrl-C */
};

/* Element types; the numbers are part of the ABI. */
enum place_dtype {
    PLACE_F32 = 0,
    PLACE_F64 = 1,
    PLACE_BF16 = 2, /* named, not yet computed with */
    PLACE_I32 = 3,
};

/* Learning rate over the steps. */
enum place_schedule {
    PLACE_CONSTANT = 0,
    PLACE_COSINE = 1,
};

/* One rank's state. Generated code knows only that its first member is the arena's base address. */
struct place_context;
