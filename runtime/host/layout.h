/* Where the elements of a logical tensor lie: the arithmetic of layouts for any rank of the mesh.
 *
 * A device's part of a tensor is walked as *runs*: stretches that are contiguous both on the device
 * and in the whole row-major tensor. Initialisation, saving and input all go through them, so that
 * each has one definition of which index is where. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/context.h"
#include "runtime/mesh.h"

/* Which element of the dimension stands at a place of the order in which axes cut it. */
int64_t dimension_element(const struct place_dimension *dimension, int64_t place);

/* Elements that one device holds of one item, padding included. */
int64_t layout_item_elements(const struct place_program *program,
                             const struct place_buffer *buffer);
/* Whether the items of all devices together have room for all elements. */
bool layout_has_room(const struct place_program *program, const struct place_buffer *buffer);
/* Elements of the whole logical tensor of one item. */
int64_t layout_whole_elements(const struct place_buffer *buffer);
/* Whether its items are layers, or it is one item. */
bool layout_has_layers_only(const struct place_buffer *buffer);
/* Bytes of all items on one device; 0 for a window. */
int64_t layout_held_bytes(const struct place_buffer *buffer);

/* Whether the rank has an item: whether it is the owner, if there is one. */
bool layout_has_item(const struct place_program *program, const struct place_buffer *buffer,
                     int64_t item, int32_t rank);

/* First byte of an item, which the rank has, in the rank's own arena; of one on disk no address (items.h). */
void *layout_item(struct place_context *context, const struct place_buffer *buffer, int64_t item);

/* The fused tensor to which an element of the whole belongs, its index there, and how many elements
 * follow side by side in both, this one among them. A tensor that is not fused is one. */
struct layout_in_fused {
    int fused;
    int64_t index, length;
};
struct layout_in_fused layout_in_fused(const struct place_tensor *tensor, int64_t element);

/* The first, along the axes that cut nothing, of the ranks of a part that hold copies of the same
 * piece as `rank`. Along the axes `apart` nothing is taken for a copy. */
int32_t layout_first_copy(const struct place_program *program, const struct place_buffer *buffer,
                          const struct place_axes *apart, int32_t rank);
/* Whether it is `rank` itself. */
bool layout_is_first_copy(const struct place_program *program, const struct place_buffer *buffer,
                          int32_t rank);

struct layout_run {
    int64_t local, global, length; /* first element in the item, in the whole tensor; elements */
};
struct layout_walk {
    const struct place_dimension *dims;
    /* The local tensor's dimensions, up to the last that is cut; behind one that is cut in zigzag
     * the next, of which a stretch is. */
    int64_t sizes[PLACE_RANK_LIMIT + 1];
    int64_t begins[PLACE_RANK_LIMIT + 1];
    int64_t strides[PLACE_RANK_LIMIT + 1];
    int rank;
    int64_t row;           /* longest contiguous stretch */
    int64_t first;         /* position of the item's element 0 in the local tensor */
    int64_t position, end; /* in the local tensor */
};
/* Starts the walk over what `rank` holds of an item of the buffer. */
struct layout_walk layout_walk_begin(const struct place_program *program,
                                     const struct place_buffer *buffer, int32_t rank);
/* The next run; false: that was all. What lies behind the last run is padding. */
bool layout_walk_next(struct layout_walk *walk, struct layout_run *run);
