// A walk over multi-indices, the last dimension fastest, that keeps where they lie in two arrays.
#ifndef PLACE_EQUAL_INTERPRETER_WALK_H
#define PLACE_EQUAL_INTERPRETER_WALK_H

#include "equal/graph/graph.h"

enum { WALK_SIDES = 2 };

struct walk {
    uint32_t rank;
    int64_t sizes[MAX_GRAPH_RANK];
    int64_t index[MAX_GRAPH_RANK];
    int64_t strides[WALK_SIDES][MAX_GRAPH_RANK];
    int64_t at[WALK_SIDES]; // before the walk: where index zero lies
};

// for (bool on = walk_begin(&walk); on; on = walk_step(&walk)); false: there is none, or no more. Behind the last
// index the walk is at the first again.
bool walk_begin(struct walk *);
bool walk_step(struct walk *);
// A dimension more, behind those that the walk has.
void walk_add(struct walk *, int64_t size, int64_t stride, int64_t other_stride);

// A walk over all of an array, whose first side is where it is there.
struct walk walk_over(const struct array_shape *);

// How far apart in a row-major array neighbours of each dimension are.
void shape_strides(const struct array_shape *, int64_t strides[MAX_GRAPH_RANK]);

// Where in an array the indices lie that some of its dimensions can have, the last one fastest.
struct offsets {
    int64_t *of;
    int64_t n;
};
struct offsets offsets_over(const struct array_shape *, struct number_list dimensions,
                            struct arena *);
// The dimensions below `rank` that are in neither list, in order.
struct number_list dimensions_beside(uint32_t rank, struct number_list, struct number_list,
                                     struct arena *);

#endif
