// Routes: the way of one state of one tensor, in one range of its layers, from where it is stored to
// where it is used and back. A route is a value: stations, at which the state lies in some way, and
// hops between them, each at an event of the step. It follows from the placement and a few facts
// alone; who makes a program puts its hops in at their events (passes/partition/hops.c), and who
// asks what a strategy sends, when and over which axes reads them.
//
// Gradients that are kept in parts over `dp`, by two microbatches or more:
//
//   stations   ""            cut over dp       at rest; sums are kept here
//              ".unreduced"  a summand over dp units write it, for one microbatch
//              ".reduced"    cut over dp       the microbatch's sum
//   hops       zero          ""                        before the microbatches
//              scatter_each  .unreduced -> .reduced    behind backward
//              add           .reduced -> ""            behind backward
//              release       .unreduced, .reduced      behind backward
#ifndef PLACE_PASSES_ROUTES_ROUTES_H
#define PLACE_PASSES_ROUTES_ROUTES_H

#include "ir/placement.h"

enum event {
#define EVENT(NAME, words) EVENT_##NAME,
#include "passes/routes/events.def"
#undef EVENT
    N_EVENTS
};

enum action {
    ACTION_GATHER,  // all_gather
    ACTION_SCATTER, // reduce_scatter
    ACTION_REDUCE,  // all_reduce, in place
    ACTION_KEEP,    // a copy of this device's part
    ACTION_ADD,     // to what is there
    ACTION_CARRY,   // the same, as a binary tree over microbatches
    ACTION_ENCODE,
    ACTION_DECODE,
    ACTION_ZERO,
    ACTION_RELEASE
};

enum hop_kind {
#define HOP(NAME, ACTION, state, handle, words) HOP_##NAME,
#include "passes/routes/hops.def"
#undef HOP
    N_HOPS
};

struct hop_row {
    enum action action;
    enum state cause;
    const char *handle, *words;
};
extern const struct hop_row hop_rows[N_HOPS];

// A buffer, or a window in one, in which the state lies cut as its tensor is and then, flattened, over
// `flat`.
struct station {
    const char *suffix; // behind the name of the tensor's buffer
    enum buffer_class class;
    struct axis_list flat;
    uint64_t summand;  // axes on which it is one of the numbers that are to be summed
    int window_of;     // station whose bytes it is a part of; -1: it has its own
    bool stacked;      // one item for each layer; else:
    int64_t slots;     // items that are used in turn, for the layers that are taken at once
    bool coded;        // codes of elements in place of elements
    bool of_each_unit; // one for each unit that reads it, so that lifetimes are apart
};

struct hop {
    enum hop_kind kind;
    enum event event;
    int from, to;          // stations; the same: in place
    struct axis_list axes; // of what travels
    int64_t bucket_bytes;  // the most that one collective carries; NO_BUCKET: all that is there
};
#define NO_BUCKET INT64_MAX
// Whether a collective that carries `filled` bytes may carry so many more.
static inline bool bucket_has_room(int64_t bucket_bytes, int64_t filled, int64_t bytes) {
    return filled <= bucket_bytes - bytes;
}

enum { MAX_STATIONS = 9, MAX_ROUTE_HOPS = 12 };

struct route {
    enum state state;
    struct station stations[MAX_STATIONS]; // the first is where it is stored; windows behind wholes
    unsigned n_stations;
    struct hop hops[MAX_ROUTE_HOPS]; // by kind
    unsigned n_hops;
    int used;         // station that units of forward and backward read or write; -1: they do not
    int owned;        // station that the update reads or writes
    int sum;          // of gradients: station at which microbatches are added up
    int residual;     // of gradients that travel as codes: what the last code lacked; -1: none
    uint64_t summand; // axes over which it sums gradients: units must leave a summand there
};

// What is known of a tensor's way only when the program is made. Stations do not depend on it.
struct route_facts {
    enum step_kind step;
    bool read_once; // parameters: by one call of the step, so that no part need be kept
    uint64_t left;  // gradients: axes of the model on which units leave a summand
};

// The route of a state of a tensor; activations have none. `trained`: not frozen.
struct route route_of(const struct placement *, const struct mesh *, const struct placed_tensor *,
                      enum state, bool trained, const struct route_facts *);
// Whether two tensors, both trained or neither, have the same routes by the same facts.
bool routes_alike(const struct placement *, const struct placed_tensor *,
                  const struct placed_tensor *);
// The first hop of the kind; NULL: there is none.
const struct hop *route_hop(const struct route *, enum hop_kind);

// A route, and what it is of: the reference program's buffer of the state.
struct stationed {
    const struct placement *placement;
    const struct mesh *mesh;
    const struct placed_tensor *tensor;
    const struct buffer *reference;
    const struct route *route;
    bool trained;
};
// The buffer that a station is, with its own bytes also where it is a window (buffers.c). What is not
// stacked has `slots` items.
struct buffer route_buffer(const struct stationed *, int station, int64_t slots);
// How large an item of that buffer is. `whole`: elements of the tensor that is cut by nothing but the
// dimensions' axes.
struct station_size {
    int64_t elements, bytes; // with the padding of the buffer
    enum dtype dtype;
};
struct station_size station_size(const struct stationed *, int station, int64_t whole);

// The axes of `mask` as a sum over them is written, what is summed over first last: data axes, then
// the others; those of one split in its order, splits in the order of the mesh.
struct axis_list placement_sum(const struct placement *, const struct mesh *, uint64_t mask);

// Over which axes a tensor's gradient is summed, in this order: in every microbatch, to the owners
// of its parts and between what are copies then, and the same after the last. A scope may give a
// data axis to a dimension of the tensor; then each device has all tokens' part of what is its own.
//
// Where sums are ordered, these are data axes. Over axes of the model on which units leave it a
// summand (parts of sequences) it is summed before, in every microbatch; then devices of those
// among the owners' axes keep their parts: `keep_first` of what is summed over data axes, all
// others of what has been.
struct gradient_sums {
    struct axis_list keep_first, scatter_each, reduce_each, scatter_last, reduce_last;
};
struct gradient_sums gradient_sums(const struct placement *, const struct placed_tensor *);

#endif
