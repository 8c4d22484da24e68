// Shapes of the text: `f32[2,3]{1,0}`, `(s32[], f32[4])`, `token[]`.
#ifndef PLACE_EQUAL_HLO_SHAPES_H
#define PLACE_EQUAL_HLO_SHAPES_H

#include "equal/text/known_shapes.h"
#include "equal/text/scan.h"

struct shapes {
    struct known_shapes known;
    const struct array_shape **members; // of the tuples that are being read
    uint32_t n_members, members_cap;
};
// A shape, and what is said of how it lies in memory.
struct written_shape {
    const struct array_shape *shape;
    bool is_row_major; // elements, of all members, lie as they are numbered, without tiles
    bool is_dynamic;   // sizes are known only when it runs: those here are bounds
};

bool read_shape(struct scanner *, struct shapes *, struct written_shape *);
// Moves behind a shape without reading it.
bool skip_shape(struct scanner *);

#endif
