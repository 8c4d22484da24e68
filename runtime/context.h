/* One rank's state, as the runtime's own files see it. Generated code sees the head alone. */
#pragma once
#include <stdint.h>
#include "runtime/place.h"
#include "runtime/recorder.h"

struct team;      /* the rank's threads: runtime/team.h */
struct kernels;   /* the version of the kernels that this CPU runs: runtime/kernels/kernels.h */
struct transport; /* runtime/transport/transport.h */
struct live;      /* runtime/live.h */
struct disk;      /* its bytes on disk: runtime/disk.h */
struct copier;    /* its thread that copies between tiers: runtime/copier.h */

enum { CONTEXT_MESSAGE_BYTES = 1024 };

struct place_context {
    struct place_context_head head; /* must be first */
    const struct place_program *program;
    const struct place_part *part; /* of this rank */
    int32_t rank;
    struct team *team;
    const struct kernels *kernels;
    const struct transport *transport;
    struct local_rank *local; /* its place among the ranks of this process (transport/local.c) */
    struct mpi_rank *mpi;     /* and between processes (transport/mpi.c); null: there is one */
    struct live *live;        /* what its statements make alive; null: nobody counts */
    struct disk *disk;        /* null: it keeps nothing there */
    struct copier *copier;    /* null: its program copies nothing */
    struct recorder recorder;
    /* The first failure of this rank; later ones are consequences. While `holds` is set a failure
     * is taken down in `held`, and nobody is told: the ranks go on together until they can all end
     * behind a whole step. */
    _Atomic enum place_status status;
    int holds;
    enum place_status held;
    int in_pace; /* all ranks come to what it waits for at about the same time */
    char message[CONTEXT_MESSAGE_BYTES];
};

/* Records the first failure as "rank 2, step 3, file.place:13:5 (reduce_scatter dp): ...", tells
 * the other ranks to stop, and returns `status`. Statement -1: the failure belongs to none. */
int32_t context_fail(struct place_context *context, int32_t statement, enum place_status status,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Makes a failure that was held one of the rank. Returns the rank's status. */
int32_t context_release(struct place_context *context);

/* Writes "file.place:13:5 (text)" of a statement, or "statement 7" if its line is not known. */
void context_describe_statement(const struct place_program *program, int32_t statement, char *text,
                                size_t bytes);

/* Sets rank, coordinates and part. */
void context_set_rank(struct place_context *context, int32_t rank);
