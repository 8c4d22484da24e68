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
#ifndef PLACE_IR_ROUTE_H
#define PLACE_IR_ROUTE_H

#include "ir/ir.h"

enum route_event {
#define EVENT(NAME, words) EVENT_##NAME,
#include "ir/events.def"
#undef EVENT
    N_EVENTS
};

extern const char *const event_words[N_EVENTS];

enum action {
    ACTION_GATHER,  // all_gather
    ACTION_SCATTER, // reduce_scatter
    ACTION_REDUCE,  // all_reduce, in place
    ACTION_KEEP,    // a copy of this device's part
    ACTION_COPY,    // from one tier to another
    ACTION_ADD,     // to what is there
    ACTION_CARRY,   // the same, as a binary tree over microbatches
    ACTION_ENCODE,
    ACTION_DECODE,
    ACTION_ZERO,
    ACTION_RELEASE
};

enum hop_kind {
#define HOP(NAME, ACTION, state, handle, words) HOP_##NAME,
#include "ir/hops.def"
#undef HOP
    N_HOPS
};

struct hop_row {
    enum action action;
    enum state cause;
    const char *handle, *words;
};
extern const struct hop_row hop_rows[N_HOPS];

// A buffer, or a window in one, in which the state lies cut as its tensor is and then, flattened or along
// the dimension of its storage, over `flat`, in one tier.
struct station {
    const char *suffix; // behind the name of the tensor's buffer
    int64_t slots;      // where it is not stacked: items that are used in turn
    struct axis_list flat;
    enum buffer_class class : 8;
    enum dtype dtype : 8; // of its elements; NONE: as the tensor's state is stored
    signed window_of : 8; // station whose bytes it is a part of; -1: it has its own
    enum tier tier : 8;   // a window's is its whole's
    bool stacked;         // one item for each layer
    bool coded;           // codes of elements in place of elements
    bool of_each_unit;    // each that reads it has its own, with slots for what it takes at once
    bool is_master;       // the optimizer's copy, whose bytes are counted there
};

struct hop {
    int64_t bucket_bytes;  // the most that one collective carries; NO_BUCKET: all that is there
    struct axis_list axes; // of what travels
    enum hop_kind kind : 8;
    enum route_event event : 8;
    signed from : 8, to : 8; // stations; the same: in place
};
#define NO_BUCKET INT64_MAX
// Whether a collective that carries `filled` bytes may carry so many more.
static inline bool bucket_has_room(int64_t bucket_bytes, int64_t filled, int64_t bytes) {
    return filled <= bucket_bytes - bytes;
}

enum { MAX_STATIONS = 16, MAX_ROUTE_HOPS = 24 };

struct route {
    enum state state;
    struct station stations[MAX_STATIONS]; // the first is where it is stored; windows behind wholes
    unsigned n_stations;
    struct hop hops[MAX_ROUTE_HOPS]; // by kind
    unsigned n_hops;
    int used;         // station that units of forward and backward read or write; -1: they do not
    int owned;        // station at which a device has what it updates
    int updated;      // station that the update reads or writes: that, or one where the update runs
    int sum;          // of gradients: station at which microbatches are added up
    int normed;       // of gradients: station that the norm reads
    int residual;     // of gradients that travel as codes: what the last code lacked; -1: none
    uint64_t summand; // axes over which it sums gradients: units must leave a summand there
};

// The buffers of a station of which units have their own.
struct station_buffers {
    buffer_id *items;
    uint32_t n, capacity;
};

// The routes of a program's training step, and where their stations are in it.
struct routed {
    struct route route;
    uint32_t tensor, range;                        // of the placement
    buffer_id buffers[MAX_STATIONS];               // NO_ID: every unit has its own
    struct station_buffers of_units[MAX_STATIONS]; // those then
};
struct routes {
    struct routed *items;
    uint32_t n;
};

// The first hop of the kind; NULL: there is none.
const struct hop *route_hop(const struct route *, enum hop_kind);
// Whether the state stops at a station that not each unit has its own of. What axes of the model leave
// of a gradient may need one more than is known before units are made.
bool route_stops_at(const struct route *, int station);
// Is what travels summed over the hop's axes? Codes are by whoever has gathered them.
bool hop_sums(const struct hop *);

#endif
