/* Whether this process is one of several that a launcher started, and its way to the others. The
 * devices are dealt out in order, as many ranks to each process.
 *
 * The MPI transport is a shared object of its own, loaded when a launcher's variables are found in
 * the environment, so that a program that runs alone needs no MPI. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "runtime/context.h"

/* What collectives between processes take of a rank's memory beside its arena: room for several at once, and for
 * the one that needs most. */
static inline int64_t launch_message_bytes(const struct place_program *program) {
    const int64_t several = INT64_C(64) << 20;
    return program->message_bytes > several ? program->message_bytes : several;
}

struct launch {
    int32_t first, ranks;                        /* of this process; without a launcher all */
    int32_t processes, neighbours;               /* in all; on this machine */
    void (*join)(struct place_context *context); /* null: no launcher; after local_join */
    void (*end)(int status, int together);
    double patience_seconds;
};

/* What the shared object exports as `place_transport_mpi`. */
struct transport_module {
    int32_t abi_version;
    /* `processes` as the launcher says. 0 with the first of this one's ranks, or -1 with one line
     * in `message`. */
    int (*begin)(const struct place_program *program, int32_t processes, double patience_seconds,
                 int32_t *first, char *message, size_t message_bytes);
    void (*join)(struct place_context *context);
    /* `together`: all processes end now, and leave in peace; else this one ends them all. */
    void (*end)(int status, int together);
};

int launch_find(const struct place_program *program, double patience_seconds, struct launch *launch,
                char *message, size_t message_bytes);
void launch_end(const struct launch *launch, int status, int together);
