// Walks over multi-indices: an odometer.
#include "equal/interpreter/walk.h"

#include <string.h>

bool walk_begin(struct walk *walk) {
    memset(walk->index, 0, sizeof walk->index);
    for (uint32_t d = 0; d < walk->rank; d++)
        if (walk->sizes[d] <= 0)
            return false;
    return true;
}

bool walk_step(struct walk *walk) {
    for (uint32_t d = walk->rank; d-- > 0;) {
        bool is_within = ++walk->index[d] < walk->sizes[d];
        int64_t steps = is_within ? 1 : 1 - walk->sizes[d];
        for (int side = 0; side < WALK_SIDES; side++)
            walk->at[side] += steps * walk->strides[side][d];
        if (is_within)
            return true;
        walk->index[d] = 0;
    }
    return false;
}

void walk_add(struct walk *walk, int64_t size, int64_t stride, int64_t other_stride) {
    walk->sizes[walk->rank] = size;
    walk->strides[0][walk->rank] = stride;
    walk->strides[1][walk->rank] = other_stride;
    walk->rank++;
}

void shape_strides(const struct array_shape *shape, int64_t strides[MAX_GRAPH_RANK]) {
    int64_t stride = 1;
    for (uint32_t d = shape->rank; d-- > 0;) {
        strides[d] = stride;
        stride *= shape->sizes[d];
    }
}

struct walk walk_over(const struct array_shape *shape) {
    int64_t strides[MAX_GRAPH_RANK];
    shape_strides(shape, strides);
    struct walk walk = {0};
    for (uint32_t d = 0; d < shape->rank; d++)
        walk_add(&walk, shape->sizes[d], strides[d], 0);
    return walk;
}

struct offsets offsets_over(const struct array_shape *shape, struct number_list dimensions,
                            struct arena *arena) {
    int64_t strides[MAX_GRAPH_RANK], n = 1;
    shape_strides(shape, strides);
    struct walk walk = {0};
    for (uint32_t i = 0; i < dimensions.n; i++) {
        int64_t d = dimensions.of[i];
        walk_add(&walk, shape->sizes[d], strides[d], 0);
        n *= shape->sizes[d];
    }
    struct offsets offsets = {ARENA_ARRAY(arena, int64_t, n), 0};
    for (bool on = walk_begin(&walk); on; on = walk_step(&walk))
        offsets.of[offsets.n++] = walk.at[0];
    return offsets;
}

struct number_list dimensions_beside(uint32_t rank, struct number_list some,
                                     struct number_list others, struct arena *arena) {
    int64_t *beside = ARENA_ARRAY(arena, int64_t, rank);
    uint32_t n = 0;
    for (uint32_t d = 0; d < rank; d++)
        if (!list_has(&some, d) && !list_has(&others, d))
            beside[n++] = d;
    return (struct number_list){beside, n};
}
