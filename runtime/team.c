/* A team of threads that spin for work.
 *
 * A step runs hundreds of jobs of some ten microseconds each, so handing out a job must cost well
 * under one. A job is published by one store; idle threads look for it by spinning a little, then
 * by yielding (ranks may outnumber cores), and sleep only after milliseconds without work, when the
 * rank waits for data or for others.
 *
 * One word, `state`, holds the job's number, whether it is open, and how many helpers are inside. A
 * helper joins by compare-and-exchange while the job is open; the owner closes the job when no
 * range is left and waits for those inside. So a helper that the system has not scheduled in time
 * is not waited for.
 *
 * Each thread takes the ranges of its own share first, those of others when that is done. Shares
 * are stretches of neighbouring ranges in the order of threads, so that what a job writes is mostly
 * in the cache of the core that reads it in the next job. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include "runtime/profile.h"
#include "runtime/team.h"

#define CACHE_LINE 64

enum {
    SPINS_BEFORE_YIELD = 200,    /* some microseconds */
    YIELDS_BEFORE_SLEEP = 20000, /* some milliseconds */
};

#define STATE_OPEN      UINT64_C(1)
#define STATE_ONE       UINT64_C(2) /* one helper inside */
#define STATE_INSIDE    UINT64_C(0xfffffffe)
#define STATE_JOB_SHIFT 32

/* Ranges next .. end - 1 are not taken. */
struct share {
    _Alignas(CACHE_LINE) _Atomic int64_t next;
    int64_t end;
};

struct helper {
    struct team *team;
    pthread_t thread;
};

struct team {
    /* The job; written by the owner while the state is closed and empty. */
    team_function function;
    void *arguments;
    int64_t count;
    int64_t grain;
    struct profile *profile; /* null: none */
    void (*between)(void *argument);
    void *between_argument;

    struct share *shares; /* of each thread, the owner's first */

    _Alignas(CACHE_LINE) _Atomic uint64_t state;
    _Alignas(CACHE_LINE) _Atomic int sleepers;
    _Atomic bool ending;
    pthread_mutex_t mutex; /* of sleep alone */
    pthread_cond_t wake;

    int threads;
    int64_t workspace_bytes;
    char *workspaces;
    struct helper helpers[];
};

static void share_out(struct team *team, int64_t ranges) {
    for (int thread = 0; thread < team->threads; thread++) {
        struct share *share = &team->shares[thread];
        atomic_store_explicit(&share->next, ranges * thread / team->threads, memory_order_relaxed);
        share->end = ranges * (thread + 1) / team->threads;
    }
}

/* A range that nobody else takes; -1: none is left. */
static int64_t next_range(struct team *team, int thread) {
    for (int i = 0; i < team->threads; i++) {
        struct share *share = &team->shares[(thread + i) % team->threads];
        if (atomic_load_explicit(&share->next, memory_order_relaxed) >= share->end)
            continue;
        int64_t range = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (range < share->end)
            return range;
    }
    return -1;
}

static void *workspace_of(const struct team *team, int thread) {
    return team->workspaces + thread * team->workspace_bytes;
}

/* False: none is left. */
static bool take_range(struct team *team, int thread) {
    int64_t range = next_range(team, thread);
    if (range < 0)
        return false;
    int64_t begin = range * team->grain, left = team->count - begin;
    int64_t end = begin + (left < team->grain ? left : team->grain);
    team->function(team->arguments, begin, end, workspace_of(team, thread));
    return true;
}

/* True when the state shows an open job that this helper has not seen; joins it then. */
static bool try_to_join(struct team *team, uint64_t *seen) {
    uint64_t state = atomic_load_explicit(&team->state, memory_order_acquire);
    while ((state & STATE_OPEN) && state >> STATE_JOB_SHIFT != *seen) {
        if (!atomic_compare_exchange_weak_explicit(&team->state, &state, state + STATE_ONE,
                                                   memory_order_acquire, memory_order_acquire))
            continue;
        *seen = state >> STATE_JOB_SHIFT;
        return true;
    }
    return false;
}

/* The owner raises the state before it reads `sleepers`, a helper raises `sleepers` before it reads
 * the state, both in the one order of sequentially consistent operations: one of them sees the
 * other. */
static void sleep_until_work(struct team *team, uint64_t seen) {
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->sleepers, 1);
    for (;;) {
        uint64_t state = atomic_load(&team->state);
        if (atomic_load(&team->ending) ||
            ((state & STATE_OPEN) && state >> STATE_JOB_SHIFT != seen))
            break;
        pthread_cond_wait(&team->wake, &team->mutex);
    }
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->mutex);
}

static void wake_sleepers(struct team *team) {
    if (atomic_load(&team->sleepers) == 0)
        return;
    pthread_mutex_lock(&team->mutex);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->mutex);
}

static void pause_or_yield(int round) {
    if (round < SPINS_BEFORE_YIELD)
        __builtin_ia32_pause();
    else
        sched_yield();
}

static void help(struct helper *helper) {
    struct team *team = helper->team;
    int thread = (int)(helper - team->helpers) + 1;
    struct profile *profile = team->profile;
    uint64_t begin = profile ? profile_clock() : 0;
    while (take_range(team, thread))
        ;
    if (profile)
        profile_helped(profile, thread, begin);
}

static void *helper_main(void *argument) {
    struct helper *helper = argument;
    struct team *team = helper->team;
    uint64_t seen = 0;
    int round = 0;
    while (!atomic_load_explicit(&team->ending, memory_order_relaxed)) {
        if (try_to_join(team, &seen)) {
            help(helper);
            atomic_fetch_sub_explicit(&team->state, STATE_ONE, memory_order_release);
            round = 0;
        } else if (round < SPINS_BEFORE_YIELD + YIELDS_BEFORE_SLEEP) {
            pause_or_yield(round++);
        } else {
            sleep_until_work(team, seen);
            round = 0;
        }
    }
    return NULL;
}

static void take_ranges_as_owner(struct team *team) {
    while (take_range(team, 0))
        if (team->between)
            team->between(team->between_argument);
}

void team_run(struct team *team, int64_t count, int64_t grain, team_function function,
              void *arguments) {
    if (count <= 0)
        return;
    team->function = function;
    team->arguments = arguments;
    team->count = count;
    team->grain = grain;
    share_out(team, (count + grain - 1) / grain);
    if (team->threads == 1 || count <= grain) {
        take_ranges_as_owner(team);
        return;
    }
    uint64_t job =
        (atomic_load_explicit(&team->state, memory_order_relaxed) >> STATE_JOB_SHIFT) + 1;
    atomic_store(&team->state, job << STATE_JOB_SHIFT | STATE_OPEN);
    wake_sleepers(team);
    take_ranges_as_owner(team);
    atomic_fetch_and_explicit(&team->state, ~STATE_OPEN, memory_order_relaxed);
    for (int round = 0; atomic_load_explicit(&team->state, memory_order_acquire) & STATE_INSIDE;
         round++)
        pause_or_yield(round < SPINS_BEFORE_YIELD ? round : SPINS_BEFORE_YIELD);
}

static bool start_helpers(struct team *team, int threads) {
    for (team->threads = 1; team->threads < threads; team->threads++) {
        struct helper *helper = &team->helpers[team->threads - 1];
        helper->team = team;
        if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0)
            return false;
    }
    return true;
}

struct team *team_create(int threads, int64_t workspace_bytes) {
    size_t bytes = sizeof(struct team) + (size_t)(threads - 1) * sizeof(struct helper);
    struct team *team =
        aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (team == NULL)
        return NULL;
    *team = (struct team){.workspace_bytes =
                              (workspace_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE};
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->wake, NULL);
    size_t workspaces = (size_t)threads * (size_t)team->workspace_bytes;
    team->workspaces = aligned_alloc(CACHE_LINE, workspaces > 0 ? workspaces : CACHE_LINE);
    team->shares = aligned_alloc(CACHE_LINE, (size_t)threads * sizeof *team->shares);
    if (team->workspaces == NULL || team->shares == NULL || !start_helpers(team, threads)) {
        team_destroy(team);
        return NULL;
    }
    return team;
}

void team_destroy(struct team *team) {
    if (team == NULL)
        return;
    atomic_store(&team->ending, true);
    wake_sleepers(team);
    for (int i = 0; i + 1 < team->threads; i++)
        pthread_join(team->helpers[i].thread, NULL);
    pthread_mutex_destroy(&team->mutex);
    pthread_cond_destroy(&team->wake);
    free(team->workspaces);
    free(team->shares);
    free(team);
}

int team_threads(const struct team *team) {
    return team->threads;
}

int64_t team_workspace_bytes(const struct team *team) {
    return team->workspace_bytes;
}

void team_interleave(struct team *team, void (*function)(void *argument), void *argument) {
    team->between = function;
    team->between_argument = argument;
}

void team_profile(struct team *team, struct profile *profile) {
    team->profile = profile;
}
