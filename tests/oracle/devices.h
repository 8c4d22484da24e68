// The oracle: every device of a mesh executes a final program, naively and in fp64, in one thread.
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
// All devices do each statement together. The statements of a program say nothing about who
// executes them, but for those about what has an owner; so every device executes all: the one way to be stuck is a wait for what was never
// started, which is found where it stands, and so is a start whose handle is still taken.
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
};

struct devices {
    const struct program *program;
    struct arena *arena;
    int64_t n;
    unsigned char *memory[N_TIMINGS][MAX_DEVICES]; // the arenas of each
    struct observer observer;
    const char *stuck; // why they cannot go on; NULL: they can
    struct span stuck_at;
    const struct step *step; // while one runs
    struct flight *flights;
};

// Devices with an arena full of NaN. The program must have passed job_check and
// job_check_plan, and has a plan.
struct devices *devices_new(struct arena *arena, const struct program *program);
// Between steps: only what persists can be relied on. Inputs are put in behind it.
void devices_forget(struct devices *);
// False: they got stuck (`stuck`, `stuck_at`); nothing more can be asked of them.
bool devices_run(struct devices *, enum step_kind);

// ---- logical tensors --------------------------------------------------------------------------

// Writes a logical tensor into an item of a buffer on every device, as the buffer's layout cuts it.
// Padding stays as it is. The same of one item with its logical counterpart, as the axes of the
// batch and the microbatch cut it.
void devices_put(struct devices *, buffer_id, int64_t item, const double *logical);
// Reads it back, from all devices that hold any of it. NULL, or what is wrong with it: elements
// that no device holds, copies with different bits.
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
