// Shapes of a program, equal ones once, so that they compare as pointers.
#ifndef PLACE_EQUAL_TEXT_KNOWN_SHAPES_H
#define PLACE_EQUAL_TEXT_KNOWN_SHAPES_H

#include "equal/graph/graph.h"
#include "verify/algebra/intern.h"

struct known_shapes {
    struct arena *arena; // for the shapes
    struct intern keys;  // each shape's number is its key's
    const struct array_shape **known;
    uint32_t n, cap;
};

struct known_shapes known_shapes_new(struct arena *, struct arena *scratch);
// An array's, of at most MAX_GRAPH_RANK sizes that are not negative. NULL: it has more bytes than can be counted.
const struct array_shape *known_array(struct known_shapes *, enum element, const int64_t *sizes,
                                      uint32_t rank);
const struct array_shape *known_tuple(struct known_shapes *,
                                      const struct array_shape *const *members, uint32_t n);

#endif
