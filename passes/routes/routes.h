// Making routes (ir/route.h) of a placement.
#ifndef PLACE_PASSES_ROUTES_ROUTES_H
#define PLACE_PASSES_ROUTES_ROUTES_H

#include "ir/placement.h"
#include "ir/route.h"

// What is known of a tensor's way only when the program is made. Stations do not depend on it.
struct route_facts {
    enum step_kind step;
    bool read_once; // parameters: used once in the step, so that no part need be kept
    uint64_t left;  // gradients: axes of the model on which units leave a summand
};

// The route of a state of tensors that are stored so; activations have none.
struct route route_of(const struct placement *, const struct mesh *, const struct storage *,
                      enum state, const struct route_facts *);
// Whether what is gathered is the tensor alone, for as long as it is used.
bool is_gathered_alone(const struct storage *);
// What goes between all and owners in place of a collective of what is cut, where tensors have owners.
enum collective_kind owners_collective(const struct storage *, enum collective_kind cut);

// The stations of a route, and what it is of.
struct stationed {
    const struct placement *placement;
    const struct mesh *mesh;
    const struct storage *storage;
    const struct station *stations;
    int residual; // as in the route
};
// The buffer that a station is, with its own bytes also where it is a window (buffers.c), of a buffer
// of the reference program whose tensor's dimensions are cut so. What is not stacked has `slots`
// items.
struct buffer route_buffer(const struct stationed *, int station, const struct buffer *reference,
                           const struct axis_list cuts[MAX_RANK], int64_t slots);
// Gives a buffer at least so many slots, a multiple of its owners where it has any, and its windows as
// many as it.
void make_room_for_slots(struct program *, buffer_id whole, int64_t slots);
// How large an item of that buffer is. `whole`: elements of the tensor that is cut by nothing but the
// dimensions' axes.
struct station_size {
    int64_t elements, bytes; // with the padding of the buffer
    enum dtype dtype;
};
struct station_size station_size(const struct stationed *, int station, int64_t whole, enum dtype);

// The axes of `mask` as a sum over them is written, what is summed over first last: data axes, then
// the others; those of one split in its order, splits in the order of the mesh.
struct axis_list placement_sum(const struct placement *, const struct mesh *, uint64_t mask);

#endif
