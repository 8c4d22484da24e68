// The oracle: every device of a mesh executes its final program, naively and in fp64, in one thread.
//
// It reads what any executor reads, the program alone: its units and steps, and from the memory
// plan where every byte is. So buffers that share bytes overwrite each other here as they would in
// a run. Memory that nobody may rely on is NaN: fresh and freed memory, padding, a frame and the
// places of results when a call begins, what a call consumed, the target of a transfer that is on
// its way.
//
// Everything is done three times, in memories of their own: with transfers performed when they
// start, when they are waited for, and read when they start but delivered when they are waited for.
// A program that is right is right in all; one that reads or writes too early or too late is not,
// in one of them.
//
// All devices of a part do each statement together. The statements of a program say nothing about
// who executes them, but for those about what has an owner; so every device executes all. Alone, a
// part can be stuck in two ways, which are found where they stand: a wait for what was never
// started, and a start whose handle is still taken. Parts of a job are executed side by side
// (cluster.c), and may all wait for each other, too.
//
// Ops are the interpreter's (ir/interpreter); collectives are written out from their definitions.
#ifndef PLACE_TESTS_ORACLE_DEVICES_H
#define PLACE_TESTS_ORACLE_DEVICES_H

#include "ir/interpreter/interpreter.h"
#include "ir/ir.h"

enum timing { AT_START, AT_WAIT, IN_BETWEEN, N_TIMINGS }; // when a transfer is performed
enum { MAX_DEVICES = 64 };

// Where the execution is.
struct moment {
    const struct program *program;     // of the device
    const struct statement *statement; // a call, or the start of a transfer
    const struct op *op;               // of the unit that is called; NULL
    const struct op *user;             // in whose loop it is computed, if it is inline; else itself
    const int64_t *variables;          // of the `depth` loops around the statement
    int depth;
    int64_t device;
    enum timing timing;
};
// Functions that are NULL are not called.
struct observer {
    void *data;
    // An op has run on a device; its operands are not written over yet. A collective of a unit is
    // seen when it is performed.
    void (*op)(void *data, const struct moment *, const struct array *operands,
               const struct array *results);
    // A piece of a transfer has arrived at a device, `at` that statement: the start or its wait.
    void (*arrival)(void *data, const struct moment *, const struct statement *at, uint32_t piece,
                    const struct array *);
    // What a device gives to other parts, when it starts to.
    void (*departure)(void *data, const struct moment *, uint32_t piece, const struct array *);
};

// The devices of a part, which execute one program.
struct devices {
    const struct program *program;
    struct cluster *cluster;
    struct arena *arena;
    uint32_t side;                                 // the part's number in the job
    int64_t n;                                     // of the whole mesh, by which they are numbered
    unsigned char *memory[N_TIMINGS][MAX_DEVICES]; // the arenas of each; NULL: it is no part's
    const struct step *step;                       // while one runs
    struct flight *flights;
    struct position *position;
};
// All devices of a job.
struct cluster {
    const struct job *job;
    struct arena *arena;
    struct devices *parts; // of each program of the job
    uint32_t n_parts;
    struct observer observer;
    const char *stuck; // why they cannot go on; NULL: they can
    struct span *stuck_at;
    uint32_t n_stuck_at, cap_stuck_at; // statements where they stand
    struct between *between;           // what parts give each other while a step runs
};

// Devices with arenas full of NaN. The job must have passed job_check and job_check_plan, and has a
// plan.
struct cluster *cluster_new(struct arena *arena, const struct job *job);
// Between steps: only what persists can be relied on. Inputs are put in behind it.
void cluster_forget(struct cluster *);
// False: they got stuck (`stuck`, `stuck_at`); nothing more can be asked of them.
bool cluster_run(struct cluster *, enum step_kind);

// The devices of a part in turn, from -1 on; behind the last as many as the mesh has.
static inline int64_t devices_next(const struct devices *d, int64_t device) {
    do
        device++;
    while (device < d->n && !d->memory[AT_START][device]);
    return device;
}

// ---- logical tensors --------------------------------------------------------------------------

// Writes a logical tensor into an item of a buffer on every device of a part, as the buffer's layout
// cuts it. Padding stays as it is. The same of one item with its logical counterpart, as the axes of
// the batch and the microbatch cut it.
void devices_put(struct devices *, buffer_id, int64_t item, const double *logical);
// Reads it back, from all devices of the part that hold any of it. NULL, or what is wrong with it:
// elements that no device holds, copies with different bits.
const char *devices_get(const struct devices *, enum timing, buffer_id, int64_t item,
                        double *logical);

// Whether a device has an item: whether it is the owner, if there is one.
bool layout_has_item(const struct program *, buffer_id, int64_t item, int64_t device);
// Where the elements of a device's part of an item stand in the logical tensor; -1: padding, or it has
// no part.
// `places` has room for all elements of the local tensor.
void layout_places(const struct program *, buffer_id, int64_t item, int64_t device,
                   int64_t *places);
int64_t layout_logical_elements(const struct buffer *);
// A device's number among the parts of a list of axes, its coordinates in that order as digits.
int64_t mesh_part_of(const struct mesh *, int64_t device, const struct axis_list *axes);

#endif
