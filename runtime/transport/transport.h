/* The table of functions between a program and its wires. Nothing above it assumes shared pointers,
 * files, allocators or counters: a rank reaches another through these alone.
 *
 * All functions return an enum place_status and report the failure themselves (context_fail); a
 * caller passes it on. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "runtime/context.h"
#include "runtime/transport/collective.h"

struct transport {
    const char *name; /* "local", "mpi" */

    /* Collectives of the program. Start copies its description. */
    int32_t (*start)(struct place_context *context, int32_t handle,
                     const struct collective *collective);
    int32_t (*wait)(struct place_context *context, int32_t statement, int32_t handle);
    /* Goes on with what was started, without waiting: called by the rank's thread between tiles,
     * and while it waits for something else. Null: nothing goes on outside of waits. */
    void (*progress)(struct place_context *context);
    /* Bytes that left this rank so far in collectives of this group. Stable only when no rank is
     * inside a collective, as after `share`. */
    int64_t (*sent_bytes)(struct place_context *context, int32_t group);

    /* Messages of the host, which are not counted. Share: every rank gives `bytes` bytes, all get
     * all, in order of rank; it is also a barrier. Send and receive block until the other side has
     * come. When one of them comes back, failed or not, no other rank of the process looks at what
     * it was given. */
    int32_t (*share)(struct place_context *context, const void *mine, void *all, size_t bytes);
    int32_t (*send)(struct place_context *context, int32_t to, const void *data, size_t bytes);
    int32_t (*receive)(struct place_context *context, int32_t from, void *data, size_t bytes);

    /* Tells all other ranks that this one has failed: their waits end with PLACE_ERROR_ABORTED. */
    void (*abort)(struct place_context *context);
    /* Whether another has told it, for who waits for something else. */
    int (*is_aborted)(const struct place_context *context);
    /* This rank will not communicate again. Whoever waits for it now waits in vain, and is told. */
    void (*leave)(struct place_context *context);
};

/* What the host calls, so that it is recorded: the functions of the same names above. */
int32_t host_share(struct place_context *context, const void *mine, void *all, size_t bytes);
/* A share at which all ranks arrive at about the same time, so that one that does not is missed
 * after PLACE_TIMEOUT. Before the others one may have had files to write, which take any time. */
int32_t host_share_in_pace(struct place_context *context, const void *mine, void *all,
                           size_t bytes);
int32_t host_send(struct place_context *context, int32_t to, const void *data, size_t bytes);
int32_t host_receive(struct place_context *context, int32_t from, void *data, size_t bytes);

/* The ranks of this process: threads that read and write each other's buffers in place. `ranks` of
 * them, from `first` on; of what they are told, they reach these alone. `running` of them run at a
 * time, where these are fewer: the others wait for a turn. So ranks that wait for one of another
 * process, or for each other by other means than these, must all run. */
struct local_world;
struct local_world *local_world_new(const struct place_program *program, int32_t first,
                                    int32_t ranks, int32_t running);
void local_world_free(struct local_world *world);
/* Makes `context` (whose rank is set) a member of the world. */
void local_join(struct local_world *world, struct place_context *context);
