/* Waits of ranks that are threads: turns at the cores, and how a deadlock is found (local.h). */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include "runtime/clock.h"
#include "runtime/transport/local.h"

/* Polls of a counter, with a pause between them, or where ranks outnumber the cores as good as none;
 * then such with a yield. Behind these the wait is a long one. */
enum { SPINS = 128, SPINS_AMONG_MANY = 2, YIELDS = 4 };

/* Looks of a rank that waits for long, where ranks outnumber the cores, before it sleeps: to sleep and
 * to be woken takes the system longer than a small collective. */
enum { LOOKS = 16 };
#define LONG_LOOK_SECONDS 1e-3

static bool has_come(const struct local_wait *wait) {
    return atomic_load(wait->counter) >= wait->value;
}

/* ---- turns ------------------------------------------------------------------------------------
 * All of this by who holds the world's lock. */

enum { ANY_CORE = -1 };

/* The ranks that are ready go on in their order, as long as there is a turn; the first where this
 * core is left to it. The system would let it wait where it ran last, behind another rank. */
static void give_turns(struct local_world *world, int core) {
    while (world->first_ready && world->running < world->turns) {
        struct local_rank *rank = world->first_ready;
        world->first_ready = rank->wait.next_ready;
        rank->wait.state = WAIT_NONE;
        rank->wait.is_moved = core != ANY_CORE && CPU_ISSET((size_t)core, &world->cores);
        if (rank->wait.is_moved) {
            cpu_set_t alone;
            CPU_ZERO(&alone);
            CPU_SET((size_t)core, &alone);
            pthread_setaffinity_np(rank->thread, sizeof alone, &alone);
        }
        core = ANY_CORE;
        world->running++;
        sem_post(&rank->turn);
    }
}

static void make_ready(struct local_world *world, struct local_rank *rank) {
    rank->wait.state = WAIT_FOR_TURN;
    rank->wait.next_ready = NULL;
    *(world->first_ready ? &world->last_ready->wait.next_ready : &world->first_ready) = rank;
    world->last_ready = rank;
    atomic_fetch_sub(&world->asleep, 1);
}

/* Where no rank can move a counter any more, one of those that wait is woken to tell it. */
static void find_deadlock(struct local_world *world) {
    if (world->running > 0 || world->first_ready)
        return;
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *rank = &world->ranks[i];
        if (rank->wait.state == WAIT_FOR_COUNTER) {
            rank->wait.in_vain = true;
            make_ready(world, rank);
            break;
        }
    }
}

static void stop_running(struct local_world *world) {
    world->running--;
    find_deadlock(world);
    give_turns(world, sched_getcpu());
}

/* Wakes the ranks whose counters have come; in a world that is aborted, all. */
static void wake(struct local_world *world) {
    pthread_mutex_lock(&world->lock);
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *rank = &world->ranks[i];
        if (rank->wait.state == WAIT_FOR_COUNTER &&
            (atomic_load(&world->aborted) || has_come(&rank->wait)))
            make_ready(world, rank);
    }
    give_turns(world, ANY_CORE);
    pthread_mutex_unlock(&world->lock);
}

/* A rank that falls asleep says so before it looks at its counter for the last time, and who moves
 * a counter does that before looking whether any rank sleeps: one of the two sees the other. */
void counters_moved(struct local_world *world) {
    if (atomic_load(&world->asleep) > 0)
        wake(world);
}

void move_counter(struct local_world *world, _Atomic uint64_t *counter, uint64_t value) {
    atomic_store(counter, value);
    counters_moved(world);
}

void local_waits_end(struct local_world *world) {
    pthread_mutex_lock(&world->lock);
    atomic_store(&world->aborted, 1);
    world->turns = world->n; /* a rank that has failed may never give its own back */
    pthread_mutex_unlock(&world->lock);
    wake(world);
}

void local_rank_leave(struct local_rank *rank) {
    struct local_world *world = rank->world;
    pthread_mutex_lock(&world->lock);
    if (rank->lives)
        stop_running(world);
    rank->lives = false;
    pthread_mutex_unlock(&world->lock);
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* Who waits where for whom, for the first few ranks. */
static int32_t fail_deadlock(struct place_context *context, int32_t statement) {
    struct local_world *world = rank_of(context)->world;
    char text[CONTEXT_MESSAGE_BYTES - 300] = "";
    size_t used = 0;
    pthread_mutex_lock(&world->lock);
    for (int32_t i = 0; i < world->n && used < sizeof text - 200; i++) {
        const struct local_rank *rank = &world->ranks[i];
        const struct local_wait *wait = &rank->wait;
        char where[160];
        if (rank->lives) {
            context_describe_statement(context->program, wait->statement, where, sizeof where);
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "\n  rank %d waits for rank %d to %s, at %s", world->first + i,
                                     wait->peer, wait->what, where);
        } else {
            used += (size_t)snprintf(text + used, sizeof text - used, "\n  rank %d has ended",
                                     world->first + i);
        }
    }
    pthread_mutex_unlock(&world->lock);
    return context_fail(context, statement, PLACE_ERROR_DEADLOCK,
                        "deadlock: every rank waits for another%s", text);
}

int32_t fail_aborted(struct place_context *context, int32_t statement) {
    return context_fail(context, statement, PLACE_ERROR_ABORTED, "stopped: another rank failed");
}

bool comes_soon(const struct place_context *context, _Atomic uint64_t *counter, uint64_t value) {
    const int spins = rank_of(context)->world->are_many ? SPINS_AMONG_MANY : SPINS;
    if (atomic_load_explicit(counter, memory_order_acquire) >= value)
        return true;
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile_begin_wait(profile);
    bool came = false;
    for (int i = 0; i < spins + YIELDS && !came; i++) {
        if (i < spins)
            __builtin_ia32_pause();
        else
            sched_yield();
        came = atomic_load_explicit(counter, memory_order_acquire) >= value;
    }
    profile_end_wait(profile, begin);
    return came;
}

/* Whether it comes while the rank looks, letting others go first. It looks no more when one of these
 * has gone on for long: that one computes. */
static bool comes_in_looks(const struct local_wait *wait) {
    double now = clock_seconds(), before = now;
    bool came = false;
    for (int i = 0; i < LOOKS && now - before < LONG_LOOK_SECONDS && !came; i++) {
        sched_yield();
        came = has_come(wait);
        before = now;
        now = clock_seconds();
    }
    return came;
}

/* Whether it has to: not if the counter has come by now. */
static bool fall_asleep(struct local_rank *self, const struct local_wait *wait) {
    struct local_world *world = self->world;
    pthread_mutex_lock(&world->lock);
    self->wait = *wait;
    self->wait.state = WAIT_FOR_COUNTER;
    self->thread = pthread_self();
    atomic_fetch_add(&world->asleep, 1);
    bool sleeps = !has_come(wait) && !atomic_load(&world->aborted);
    if (sleeps) {
        stop_running(world);
    } else {
        self->wait.state = WAIT_NONE;
        atomic_fetch_sub(&world->asleep, 1);
    }
    pthread_mutex_unlock(&world->lock);
    return sleeps;
}

/* A rank that has a core to itself, or transfers to drive, is awake meanwhile: the system wakes
 * late. */
static void sleep_until_woken(struct place_context *context) {
    struct local_rank *self = rank_of(context);
    void (*progress)(struct place_context *) = context->transport->progress;
    bool stays_awake = progress || !self->world->are_many;
    while (stays_awake ? sem_trywait(&self->turn) : sem_wait(&self->turn)) {
        if (progress)
            progress(context);
        sched_yield();
    }
    if (self->wait.is_moved)
        pthread_setaffinity_np(self->thread, sizeof self->world->cores, &self->world->cores);
}

/* A wait that is worth some care. */
static int32_t wait_long(struct place_context *context, const struct local_wait *wait) {
    struct local_rank *self = rank_of(context);
    if (self->world->are_many && comes_in_looks(wait))
        return PLACE_OK;
    if (fall_asleep(self, wait))
        sleep_until_woken(context);
    if (self->wait.in_vain)
        return fail_deadlock(context, wait->statement);
    return has_come(wait) ? PLACE_OK : fail_aborted(context, wait->statement);
}

int32_t wait_until(struct place_context *context, int32_t statement, int32_t peer, const char *what,
                   _Atomic uint64_t *counter, uint64_t value) {
    if (comes_soon(context, counter, value))
        return PLACE_OK;
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile_begin_wait(profile);
    struct local_wait wait = {
        .counter = counter, .value = value, .peer = peer, .statement = statement, .what = what};
    int32_t status = wait_long(context, &wait);
    profile_end_wait(profile, begin);
    return status;
}
