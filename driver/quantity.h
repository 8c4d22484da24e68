// Numbers for people: three digits and a prefix.
#ifndef PLACE_DRIVER_QUANTITY_H
#define PLACE_DRIVER_QUANTITY_H

#include "ir/arena.h"

enum quantity {
    COUNTS,         // "8.03 B"
    FLOPS_A_SECOND, // "989 TFLOP/s"
    BYTES_A_SECOND, // "50 GB/s"
    SECONDS,        // "16.7 s"
};

const char *quantity_text(struct arena *, double value, enum quantity);

#endif
