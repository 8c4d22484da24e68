// Ops without rules.
#ifndef PLACE_EQUAL_VALUES_OPAQUE_H
#define PLACE_EQUAL_VALUES_OPAQUE_H

#include "equal/values/value.h"

struct opaque_operand {
    struct viewed value; // over its dimensions and the device's number
    const int64_t *sizes;
    uint32_t rank;
    int8_t mapped[MAX_GRAPH_RANK]; // by dimension: that of the result over which the op maps, or -1
};

// The result, of the sizes in `all`; `what`: equal numbers mean equal ops with equal attributes.
struct viewed value_opaque(struct calculus *, uint32_t what, const struct opaque_operand *,
                           uint32_t n, const struct coordinates *all);

#endif
