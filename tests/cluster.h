// A mesh of devices that execute a partitioned program, naively and in fp64: the interpreter's ops,
// and collectives written out from their definitions. All devices do each statement together, so
// order and overlap do not matter here, but what is in flight, freed or never written is NaN: a
// value that is read too early or too late shows.
#ifndef PLACE_TESTS_CLUSTER_H
#define PLACE_TESTS_CLUSTER_H

#include "ir/ir.h"

struct cluster {
    const struct program *program;
    struct arena *arena;
    int64_t n_devices;
    double ***buffers;      // [device][buffer]: all items, each padded to its capacity
    struct flight *flights; // of the running step's handles and their slots
    double bytes_sent;      // by one device, as DESIGN.md 3 counts, in elements
};

// Persistent buffers are zero, all others NaN.
struct cluster *cluster_new(struct arena *arena, const struct program *program);
// Writes a logical tensor's item into its parameter (or other) buffer on every device, cut as the
// layout says, and reads it back, from the devices that hold it: all copies must be equal.
void cluster_scatter(struct cluster *, buffer_id buffer, int64_t item, const double *logical);
void cluster_gather(const struct cluster *, buffer_id buffer, int64_t item, double *logical);
void cluster_run(struct cluster *, enum step_kind step);
// A scalar that all devices hold equally.
double cluster_scalar(const struct cluster *, buffer_id buffer);

#endif
