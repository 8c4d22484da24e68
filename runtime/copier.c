/* The thread that copies (see copier.h). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/context.h"
#include "runtime/copier.h"
#include "runtime/disk.h"
#include "runtime/calls.h"
#include "runtime/transport/transport.h"

enum {
    CHUNK_BYTES = 1 << 18,      /* between two looks at whether to go on */
    POLL_NANOSECONDS = 1000000, /* a wait looks so often whether others have failed */
    SPINS = 256,
};

enum job_state { JOB_NONE, JOB_STARTED, JOB_DONE };

/* What a handle stands for. */
struct job {
    _Atomic int state; /* enum job_state */
    int reason;        /* DONE: the errno of the piece that failed; 0: all is well */
    enum place_tier failed_to;
    int32_t n, room;
    struct place_copy *pieces;
};

struct copier {
    struct place_context *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t started, done;
    int32_t n_handles;
    struct job *jobs;
    int32_t *queue; /* handles, from `first` on, n_queued of them */
    int32_t first, n_queued;
    _Atomic bool ends;
    _Atomic int64_t copied[PLACE_N_TIERS];
};

/* ---- the thread ----------------------------------------------------------------------------- */

static void count(struct copier *copier, const struct place_copy *copy, int64_t bytes) {
    enum place_tier away = (enum place_tier)(copy->from > copy->to ? copy->from : copy->to);
    atomic_fetch_add_explicit(&copier->copied[away], bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&copier->context->recorder.copied, 1, memory_order_relaxed);
}

/* Where a chunk goes on; of what is on disk an address is an offset in the file. */
static int copy_chunk(struct copier *copier, const struct place_copy *copy, int64_t at,
                      int64_t bytes) {
    struct disk *disk = copier->context->disk;
    const char *src = (const char *)copy->src + at;
    char *dst = (char *)copy->dst + at;
    if (copy->to == PLACE_DISK)
        return disk_write(disk, src, (int64_t)(uintptr_t)dst, bytes);
    if (copy->from == PLACE_DISK)
        return disk_read(disk, dst, (int64_t)(uintptr_t)src, bytes);
    memcpy(dst, src, (size_t)bytes);
    return 0;
}

/* Where the copy's byte 0 lies in a chunk. Of a file chunks begin at their multiples, so that all but
 * the first and the last are whole pages of it. */
static int64_t into_chunk(const struct place_copy *copy) {
    const void *on_disk = copy->to == PLACE_DISK     ? copy->dst
                          : copy->from == PLACE_DISK ? copy->src
                                                     : NULL;
    return (int64_t)((uintptr_t)on_disk % CHUNK_BYTES);
}

/* Returns the errno of what failed, or 0. */
static int copy_piece(struct copier *copier, const struct place_copy *copy) {
    int64_t before = into_chunk(copy);
    for (int64_t at = 0, n; at < copy->bytes && !atomic_load(&copier->ends); at += n) {
        int64_t left = copy->bytes - at, in_chunk = CHUNK_BYTES - (before + at) % CHUNK_BYTES;
        n = left < in_chunk ? left : in_chunk;
        int reason = copy_chunk(copier, copy, at, n);
        if (reason)
            return reason;
        count(copier, copy, n);
    }
    return 0;
}

static void do_job(struct copier *copier, struct job *job) {
    job->reason = 0;
    for (int32_t i = 0; i < job->n && !job->reason; i++) {
        job->reason = copy_piece(copier, &job->pieces[i]);
        job->failed_to = (enum place_tier)job->pieces[i].to;
    }
}

static void *copier_main(void *argument) {
    struct copier *copier = argument;
    pthread_mutex_lock(&copier->mutex);
    for (;;) {
        while (copier->n_queued == 0 && !atomic_load(&copier->ends))
            pthread_cond_wait(&copier->started, &copier->mutex);
        if (atomic_load(&copier->ends))
            break;
        struct job *job = &copier->jobs[copier->queue[copier->first]];
        copier->first = (copier->first + 1) % copier->n_handles;
        copier->n_queued--;
        pthread_mutex_unlock(&copier->mutex);
        do_job(copier, job);
        pthread_mutex_lock(&copier->mutex);
        atomic_store(&job->state, JOB_DONE);
        pthread_cond_signal(&copier->done);
    }
    pthread_mutex_unlock(&copier->mutex);
    return NULL;
}

/* ---- the rank ------------------------------------------------------------------------------- */

static struct job *job_of(struct copier *copier, int32_t handle) {
    return copier && handle >= 0 && handle < copier->n_handles ? &copier->jobs[handle] : NULL;
}

static bool keep_pieces(struct job *job, int32_t n, const struct place_copy *pieces) {
    if (n > job->room) {
        struct place_copy *grown = realloc(job->pieces, (size_t)n * sizeof *grown);
        if (!grown)
            return false;
        job->pieces = grown;
        job->room = n;
    }
    memcpy(job->pieces, pieces, (size_t)n * sizeof *pieces);
    job->n = n;
    return true;
}

int32_t copier_start(struct copier *copier, int32_t statement, int32_t handle, int32_t n,
                     const struct place_copy *pieces) {
    struct job *job = job_of(copier, handle);
    struct place_context *context = copier->context;
    if (!job || atomic_load(&job->state) != JOB_NONE)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            job ? "handle %d is still in flight" : "handle %d is out of range",
                            handle);
    if (!keep_pieces(job, n, pieces))
        return context_fail(context, statement, PLACE_ERROR_HOST, "no memory for a copy");
    pthread_mutex_lock(&copier->mutex);
    atomic_store(&job->state, JOB_STARTED);
    copier->queue[(copier->first + copier->n_queued++) % copier->n_handles] = handle;
    pthread_cond_signal(&copier->started);
    pthread_mutex_unlock(&copier->mutex);
    return PLACE_OK;
}

/* A moment asleep, or until something is done. */
static void sleep_a_moment(struct copier *copier, struct job *job) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until); /* which nobody sets back, as `done` has it */
    until.tv_nsec += POLL_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&copier->mutex);
    if (atomic_load(&job->state) != JOB_DONE)
        pthread_cond_timedwait(&copier->done, &copier->mutex, &until);
    pthread_mutex_unlock(&copier->mutex);
}

static int32_t fail_copy(struct place_context *context, int32_t statement, const struct job *job) {
    bool written = job->failed_to == PLACE_DISK;
    return context_fail(context, statement, PLACE_ERROR_HOST,
                        "the file of what is kept on disk cannot be %s: %s; %sname a folder "
                        "elsewhere with --offload DIR",
                        written ? "written" : "read", strerror(job->reason),
                        written ? disk_remedy(job->reason) : "");
}

int32_t copier_wait(struct copier *copier, int32_t statement, int32_t handle) {
    struct job *job = job_of(copier, handle);
    struct place_context *context = copier->context;
    if (!job || atomic_load(&job->state) == JOB_NONE)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "nothing is in flight at handle %d", handle);
    for (int i = 0; i < SPINS && atomic_load(&job->state) != JOB_DONE; i++)
        __builtin_ia32_pause();
    while (atomic_load(&job->state) != JOB_DONE) {
        if (context->transport && context->transport->is_aborted(context))
            return context_fail(context, statement, PLACE_ERROR_ABORTED,
                                "stopped: another rank failed");
        if (context->transport && context->transport->progress)
            context->transport->progress(context);
        sleep_a_moment(copier, job);
    }
    atomic_store(&job->state, JOB_NONE);
    return job->reason ? fail_copy(context, statement, job) : PLACE_OK;
}

int64_t copier_copied_bytes(const struct copier *copier, enum place_tier away) {
    return copier ? atomic_load(&copier->copied[away]) : 0;
}

/* ---- what generated code calls -------------------------------------------------------------- */

static int32_t fail_no_copier(struct place_context *context, int32_t statement) {
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                        "a copy of a program that keeps nothing on host or disk");
}

int32_t place_copy_start(struct place_context *context, int32_t statement, int32_t handle,
                         int32_t n_pieces, const void *pieces) {
    RECORD_CALL(copy_start);
    const struct place_copy *copies = pieces;
    int64_t bytes = 0;
    for (int32_t i = 0; i < n_pieces; i++)
        bytes += copies[i].bytes;
    recorder_describe(&recording, handle, bytes);
    if (!context->copier)
        return fail_no_copier(context, statement);
    return copier_start(context->copier, statement, handle, n_pieces, copies);
}

int32_t place_copy_wait(struct place_context *context, int32_t statement, int32_t handle) {
    RECORD_CALL(copy_wait);
    recorder_describe(&recording, handle, 0);
    if (!context->copier)
        return fail_no_copier(context, statement);
    return copier_wait(context->copier, statement, handle);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void release(struct copier *copier) {
    for (int32_t i = 0; copier->jobs && i < copier->n_handles; i++)
        free(copier->jobs[i].pieces);
    free(copier->jobs);
    free(copier->queue);
    free(copier);
}

struct copier *copier_new(struct place_context *context) {
    struct copier *copier = calloc(1, sizeof *copier);
    if (!copier)
        return NULL;
    copier->context = context;
    copier->n_handles = context->program->n_handles;
    copier->jobs = calloc((size_t)copier->n_handles + 1, sizeof *copier->jobs);
    copier->queue = calloc((size_t)copier->n_handles + 1, sizeof *copier->queue);
    pthread_mutex_init(&copier->mutex, NULL);
    pthread_cond_init(&copier->started, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&copier->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (copier->jobs && copier->queue &&
        pthread_create(&copier->thread, NULL, copier_main, copier) == 0)
        return copier;
    release(copier);
    return NULL;
}

void copier_free(struct copier *copier) {
    if (!copier)
        return;
    pthread_mutex_lock(&copier->mutex);
    atomic_store(&copier->ends, true);
    pthread_cond_signal(&copier->started);
    pthread_mutex_unlock(&copier->mutex);
    pthread_join(copier->thread, NULL);
    release(copier);
}
