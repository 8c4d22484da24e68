// Shapes, interned by their element type and sizes, or by their members.
#include "equal/text/known_shapes.h"

#include <string.h>

enum { MAX_SHAPE_BITS = 62 };

struct known_shapes known_shapes_new(struct arena *arena, struct arena *scratch) {
    return (struct known_shapes){.arena = arena, .keys = {.arena = scratch}};
}

// How many elements there are, if their bits can be counted.
static bool count_elements(struct array_shape *shape) {
    int64_t product = 1, bytes = (element_rows[shape->element].bits + 7) / 8;
    shape->n_elements = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size = shape->sizes[i];
        shape->n_elements = size == 0 ? 0 : shape->n_elements;
        if (size && __builtin_mul_overflow(product, size, &product))
            return false;
    }
    if (shape->n_elements)
        shape->n_elements = product;
    return !__builtin_mul_overflow(product, bytes ? bytes : 1, &bytes) &&
           bytes < INT64_C(1) << MAX_SHAPE_BITS;
}

const struct array_shape *known_array(struct known_shapes *shapes, enum element element,
                                      const int64_t *sizes, uint32_t rank) {
    struct array_shape shape = {.element = element, .sizes = sizes, .rank = rank};
    int64_t key[MAX_GRAPH_RANK + 1];
    if (!count_elements(&shape))
        return NULL;
    key[0] = element;
    memcpy(key + 1, sizes, rank * sizeof *key);
    bool added;
    uint32_t number = intern(&shapes->keys, key, (uint32_t)((rank + 1) * sizeof *key), &added);
    if (!added)
        return shapes->known[number];
    struct array_shape *kept = arena_copy(shapes->arena, &shape, sizeof shape);
    kept->sizes = arena_copy(shapes->arena, sizes, rank * sizeof *sizes);
    ARENA_PUSH(shapes->keys.arena, shapes->known, shapes->n, shapes->cap, kept);
    return kept;
}

// A tuple's key cannot be an array's, whose first word is an element type, and is not a pointer.
const struct array_shape *known_tuple(struct known_shapes *shapes,
                                      const struct array_shape *const *members, uint32_t n) {
    static const int32_t of_nothing; // shorter than any array's
    bool added;
    uint32_t number = n ? intern(&shapes->keys, members, (uint32_t)(n * sizeof *members), &added)
                        : intern(&shapes->keys, &of_nothing, sizeof of_nothing, &added);
    if (!added)
        return shapes->known[number];
    struct array_shape *kept = ARENA_NEW(shapes->arena, struct array_shape);
    kept->is_tuple = true;
    kept->n_members = n;
    kept->members = arena_copy(shapes->arena, members, n * sizeof *members);
    ARENA_PUSH(shapes->keys.arena, shapes->known, shapes->n, shapes->cap, kept);
    return kept;
}
