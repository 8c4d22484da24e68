// The nearest changes of a file by which a step sends less.
#ifndef PLACE_DRIVER_CHEAPER_H
#define PLACE_DRIVER_CHEAPER_H

#include "driver/trying.h"

struct cheaper {
    const char *words; // "`train.microbatch = 2`"; NULL: there is none
    struct tried tried;
};

// Larger microbatches; parameters that stay gathered. Compiled, whether they fit the device or not.
struct cheaper with_larger_microbatches(struct compilation *, const struct options *);
struct cheaper with_kept_parameters(struct compilation *, const struct options *);

// The help of W811.
void propose_cheaper(struct compilation *, const struct options *, struct diagnostic *);

#endif
