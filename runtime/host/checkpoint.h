/* Writing checkpoints: all ranks write their parts of the states side by side, into files that have
 * their full size from the start; of copies each writes some. What was written goes to the disk
 * behind the steps that follow (the system's page cache is the copy that these do not change), and
 * when all of it is there, rank 0 writes the manifest and gives the checkpoint its name. A
 * checkpoint that cannot be written leaves nothing behind. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/host/folder.h"
#include "runtime/host/manifest.h"

struct session;

/* What the ranks of a process share. */
struct checkpoints {
    int is_on;
    int64_t every, keep; /* steps, 0: at the end alone; how many stay */
    char path[FILE_PATH_BYTES];
    struct tensor_files files; /* what one has; the same for all */
    /* Rank 0 alone has: */
    struct folder folder;
    int64_t last;                      /* step of the last that is whole; -1: there is none */
    uint64_t last_sum;                 /* its manifest's own */
    char failure[3 * FILE_PATH_BYTES]; /* why the last that was tried is not; empty: it is */
    char stays[FILE_PATH_BYTES + 512]; /* which old one, and why; empty: none that should not */
};
/* What a checkpoint of this program holds, for whoever reads one or writes some: first. 0, or -1
 * with one line in `message`. */
int checkpoints_list(struct session *session, char *message, size_t message_bytes);
/* To be called before there are ranks. The folder is opened where rank 0 is. 0, or -1 with one line
 * in `message`. To be closed in any case. */
int checkpoints_open(struct session *session, int has_first_rank, char *message,
                     size_t message_bytes);
void checkpoints_close(struct session *session);

/* How far a rank's last checkpoint is. */
enum { CHECKPOINT_NONE = 0, CHECKPOINT_ON_ITS_WAY = 1, CHECKPOINT_ON_DISK = 2 };

/* A rank's part in the one that is being written; all zero at first. */
struct checkpoint_writer {
    int64_t step, samples;
    struct carried *carried; /* of each island */
    int64_t written;         /* step of the last whose parts were all written; 0: none */
    int *descriptors;        /* of the files, and then -1 */
    content_sum *sums;       /* of all ranks together */
    pthread_t thread;
    int has_thread;
    /* Negative: the errno of a failure. */
    _Atomic int64_t state;
};

/* Called by all ranks. Only what ends the run is a failure: a disk that is full is not, but said in
 * `failure`. `samples`: that were taken up to this step; `carried`: what it left,
 * of each island. */
int32_t checkpoint_begin(struct session *session, struct place_context *context,
                         struct checkpoint_writer *writer, int64_t step, int64_t samples,
                         const struct carried *carried);
/* Waits for what is on its way, and ends it. */
int32_t checkpoint_finish(struct session *session, struct place_context *context,
                          struct checkpoint_writer *writer);
/* Ends it by what all ranks know: the least of their states, none of which is on its way. */
int32_t checkpoint_settle(struct session *session, struct place_context *context,
                          struct checkpoint_writer *writer, int64_t state);
/* Forgets what is on its way, in a run that fails. */
void checkpoint_abandon(struct checkpoint_writer *writer);
