/* Signals and stuck ranks (see sentinel.h).
 *
 * A rank that waits for others is the transport's business: among threads a deadlock is noticed at
 * once, among processes an answer that does not come in time. What nobody else can notice is a rank
 * that never comes back from a call. It is stuck when it is inside a step, does not wait, and has
 * made no call, and its copier moved nothing, for $PLACE_TIMEOUT seconds (on a slow disk a copy takes
 * longer); its thread cannot be ended, so the process is. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime/clock.h"
#include "runtime/host/file.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/memory.h"
#include "runtime/host/progress.h"
#include "runtime/host/sentinel.h"
#include "runtime/patience.h"
#include "runtime/product.h"
#include "runtime/transport/job.h"

enum { DEFAULT_PATIENCE_SECONDS = 600 };

/* What was last seen of a rank. */
struct sight {
    uint64_t calls, copied;
    struct patience patience;
};

struct sentinel {
    const struct flight *flight;
    const char *log;
    int processes;
    double patience_seconds;
    struct sight *sights;
    bool told; /* that the job is ended from outside */
    _Atomic int ending;
    pthread_t thread;
};

double patience_seconds(void) {
    const char *said = getenv("PLACE_TIMEOUT");
    char *end;
    if (!said || !*said)
        return DEFAULT_PATIENCE_SECONDS;
    double seconds = strtod(said, &end);
    return *end || !(seconds > 0) || isinf(seconds) ? 0 : seconds;
}

static sigset_t requests(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGQUIT);
    return set;
}

static sigset_t mask_before; /* as in file.c: signals belong to a process */

void sentinel_hold_requests(void) {
    sigset_t set = requests();
    pthread_sigmask(SIG_BLOCK, &set, &mask_before);
}

void sentinel_release_requests(void) {
    sigset_t set = requests();
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
        ; /* came when there was nothing left to look at; it would end the process now */
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

/* Whether the rank is at work, and not waiting for others. */
static int is_at_work(struct place_context *context) {
    struct flight_call last;
    if (!atomic_load(&context->recorder.in_step))
        return 0;
    return recorder_read(&context->recorder, &last, 1) == 0 || !last.inside ||
           !is_waiting_call(last.call);
}

/* A library that may not map what it works in may try again for ever. */
static void say_what_lacks(void) {
    char left[32];
    int64_t bytes = addresses_free_bytes();
    if (bytes < PLACE_PRODUCT_ADDRESSES_PER_THREAD)
        fprintf(stderr,
                "note: this process may map only %s of memory more, which may be why: raise the "
                "limit (ulimit -v, ulimit -d), or use fewer ranks or threads here\n",
                format_bytes(left, sizeof left, bytes));
}

static void give_up(const struct sentinel *sentinel, struct place_context *context) {
    char where[400];
    flight_describe_last(context, where, sizeof where);
    flight_report(sentinel->flight, sentinel->log, sentinel->processes, stderr);
    fprintf(stderr,
            "error: rank %d, step %lld: %s for %.0f seconds; it is stuck, so the run ends. Set "
            "PLACE_TIMEOUT to wait longer\n",
            context->rank, (long long)atomic_load(&context->recorder.step), where,
            sentinel->patience_seconds);
    say_what_lacks();
    if (sentinel->processes > 1)
        job_end_after(sentinel->patience_seconds);
    new_file_abandon();
    _exit(1);
}

static void look(struct sentinel *sentinel) {
    double now = clock_seconds();
    for (int i = 0; i < sentinel->flight->n; i++) {
        struct place_context *context = sentinel->flight->contexts[i];
        struct sight *sight = &sentinel->sights[i];
        uint64_t calls = atomic_load(&context->recorder.calls);
        uint64_t copied = atomic_load(&context->recorder.copied);
        if (calls != sight->calls || copied != sight->copied || !is_at_work(context))
            *sight = (struct sight){calls, copied, patience_from(now)};
        else if (patience_look(&sight->patience, now) > sentinel->patience_seconds)
            give_up(sentinel, context);
    }
}

/* A launcher ends all processes when one is gone, and does not say where the others were. Those
 * that then wait, wait for it; after a Ctrl-C nobody does for long. */
static void tell_end(struct sentinel *sentinel) {
    char where[400];
    for (int i = 0; i < sentinel->flight->n; i++) {
        struct place_context *context = sentinel->flight->contexts[i];
        if (!atomic_load(&context->recorder.step) || is_at_work(context) ||
            atomic_load(&context->recorder.calls) != sentinel->sights[i].calls)
            continue;
        sentinel->told = true;
        flight_describe_last(context, where, sizeof where);
        fprintf(stderr, "rank %d, step %lld: told to end %s\n", context->rank,
                (long long)atomic_load(&context->recorder.step), where);
    }
}

static void *sentinel_main(void *argument) {
    struct sentinel *sentinel = argument;
    sigset_t set = requests();
    for (int i = 0; i < sentinel->flight->n; i++)
        sentinel->sights[i] = (struct sight){.patience = patience_from(clock_seconds())};
    while (!atomic_load(&sentinel->ending)) {
        int received = sigtimedwait(&set, NULL, &(struct timespec){0, 200000000});
        if (atomic_load(&sentinel->ending))
            break;
        if (received > 0)
            flight_report(sentinel->flight, sentinel->log, sentinel->processes, stderr);
        if (sentinel->processes > 1 && !sentinel->told && interrupts_seen())
            tell_end(sentinel);
        look(sentinel);
    }
    return NULL;
}

struct sentinel *sentinel_start(const struct flight *flight, const char *log, int processes,
                                double patience_seconds) {
    struct sentinel *sentinel = calloc(1, sizeof *sentinel);
    if (!sentinel)
        return NULL;
    *sentinel = (struct sentinel){.flight = flight,
                                  .log = log,
                                  .processes = processes,
                                  .patience_seconds = patience_seconds,
                                  .sights = calloc((size_t)flight->n, sizeof(struct sight))};
    if (sentinel->sights && pthread_create(&sentinel->thread, NULL, sentinel_main, sentinel) == 0)
        return sentinel;
    free(sentinel->sights);
    free(sentinel);
    return NULL;
}

void sentinel_stop(struct sentinel *sentinel) {
    if (!sentinel)
        return;
    atomic_store(&sentinel->ending, 1);
    pthread_kill(sentinel->thread, SIGUSR1);
    pthread_join(sentinel->thread, NULL);
    free(sentinel->sights);
    free(sentinel);
}
