// What instructions mean: the value of each, made of those of its operands, in one pass in the text's order.
#ifndef PLACE_EQUAL_MEANING_MEANING_H
#define PLACE_EQUAL_MEANING_MEANING_H

#include "equal/values/value.h"

struct meaning {
    struct viewed value;           // over the array's dimensions and the device's number
    const struct meaning *members; // of a tuple; of an array NULL
};

// The places of an array on every device.
static inline struct coordinates coordinates_of(const struct array_shape *shape,
                                                uint32_t n_devices) {
    struct coordinates all = {{0}};
    for (uint32_t k = 0; k < shape->rank; k++)
        all.sizes[k] = shape->sizes[k];
    all.sizes[COORDINATE_DEVICE] = n_devices;
    return all;
}

// What has no rule, and so equals nothing but itself.
struct unread {
    const struct instruction *instruction;
    const char *why;
    uint32_t serial; // of the unknown value
};

struct reading {
    struct calculus *c;
    const struct graph *graph;
    const struct meaning *parameters; // of the entry computation
    const struct meaning *meanings;   // by instruction of the entry computation, once read
    struct unread *unread;
    uint32_t n_unread, cap_unread;
    int64_t n_read; // instructions of what is called, those of loops each turn
    uint32_t depth;
};

enum { MOST_INSTRUCTIONS_CALLED = 2 * 1000 * 1000 }; // beyond them calls and loops are not followed

// Reads a computation once more, of which the parameters' meanings are given: by instruction. NULL: it takes more than
// may be read.
const struct meaning *meanings_of_call(struct reading *, uint32_t computation,
                                       const struct meaning *parameters);

// Reads the entry computation, of which `parameters` are given.
void meanings_read(struct reading *);

#endif
