/* Waits of ranks that are threads: turns at the cores, and how a deadlock is found (local.h). */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include "runtime/clock.h"
#include "runtime/transport/local.h"

/* Polls of a counter, with a pause between them, or where ranks outnumber the cores as good as none;
 * then such with a yield. Behind these the wait is a long one. */
enum { SPINS = 128, SPINS_AMONG_MANY = 2, YIELDS = 4 };

/* Looks of a rank that waits for long, before others are told that it does, and a long look. Where
 * ranks outnumber the cores they look a few times before they sleep, as to sleep and to be woken
 * takes longer than a small collective; else for as long as one long look, as to tell takes a lock. */
enum { LOOKS_AMONG_MANY = 16 };
#define LONG_LOOK_SECONDS 1e-3

static bool has_come(const struct local_wait *wait) {
    return atomic_load(wait->counter) >= wait->value;
}

/* ---- turns ------------------------------------------------------------------------------------
 * All of this by who holds the world's lock. */

enum { ANY_CORE = -1 };

/* A rank that sleeps will go on at this core. The system would let it wait where it ran last, behind
 * another rank. */
static bool move_to(int core, struct local_rank *rank) {
    cpu_set_t alone;
    if (core == ANY_CORE ||
        pthread_getaffinity_np(rank->thread, sizeof rank->cores, &rank->cores) != 0 ||
        !CPU_ISSET((size_t)core, &rank->cores))
        return false;
    CPU_ZERO(&alone);
    CPU_SET((size_t)core, &alone);
    return pthread_setaffinity_np(rank->thread, sizeof alone, &alone) == 0;
}

/* The ranks that are ready go on in their order, as long as there is a turn; the first of them at
 * the core that has been left. */
static void give_turns(struct local_world *world, int core) {
    while (world->first_ready && world->running < world->turns) {
        struct local_rank *rank = world->first_ready;
        world->first_ready = rank->wait.next_ready;
        rank->wait.is_moved = move_to(core, rank);
        core = ANY_CORE;
        world->running++;
        sem_post(&rank->turn);
    }
}

/* A rank that sleeps joins the queue for turns. */
static void make_ready(struct local_world *world, struct local_rank *rank) {
    rank->wait.is_asleep = false;
    rank->wait.next_ready = NULL;
    if (world->first_ready)
        world->last_ready->wait.next_ready = rank;
    else
        world->first_ready = rank;
    world->last_ready = rank;
    atomic_fetch_sub(&world->asleep, 1);
}

/* Where no rank can move a counter any more, one of those that wait is woken to tell it. */
static void find_deadlock(struct local_world *world) {
    if (world->running > 0 || world->first_ready)
        return;
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *rank = &world->ranks[i];
        if (rank->wait.is_asleep) {
            rank->wait.in_vain = true;
            make_ready(world, rank);
            break;
        }
    }
}

/* The caller's rank sleeps from here on, or has left. */
static void leave_turn(struct local_world *world) {
    world->running--;
    find_deadlock(world);
    give_turns(world, sched_getcpu());
}

/* Wakes the ranks whose counters have come; in a world that is aborted, all. */
static void wake(struct local_world *world) {
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *rank = &world->ranks[i];
        if (rank->wait.is_asleep && (atomic_load(&world->aborted) || has_come(&rank->wait)))
            make_ready(world, rank);
    }
    give_turns(world, ANY_CORE);
}

/* A rank that falls asleep says so before it looks at its counter for the last time, and who moves
 * a counter does that before looking whether any rank sleeps: one of the two sees the other. */
void counters_moved(struct local_world *world) {
    if (atomic_load(&world->asleep) == 0)
        return;
    pthread_mutex_lock(&world->lock);
    wake(world);
    pthread_mutex_unlock(&world->lock);
}

void move_counter(struct local_world *world, _Atomic uint64_t *counter, uint64_t value) {
    atomic_store(counter, value);
    counters_moved(world);
}

void local_waits_end(struct local_world *world) {
    pthread_mutex_lock(&world->lock);
    atomic_store(&world->aborted, 1);
    world->turns = world->n; /* a rank that has failed may never give its own back */
    wake(world);
    pthread_mutex_unlock(&world->lock);
}

void local_rank_leave(struct local_rank *rank) {
    struct local_world *world = rank->world;
    pthread_mutex_lock(&world->lock);
    if (rank->lives) {
        rank->lives = false;
        leave_turn(world);
    }
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
    const struct local_world *world = rank_of(context)->world;
    const int spins = world->are_many ? SPINS_AMONG_MANY : SPINS;
    const int polls = spins + (world->takes_turns ? 0 : YIELDS); /* with turns, all that may run do */
    if (atomic_load_explicit(counter, memory_order_acquire) >= value)
        return true;
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile_begin_wait(profile);
    bool came = false;
    for (int i = 0; i < polls && !came; i++) {
        if (i < spins)
            __builtin_ia32_pause();
        else
            sched_yield();
        came = atomic_load_explicit(counter, memory_order_acquire) >= value;
    }
    profile_end_wait(profile, begin);
    return came;
}

/* Whether it comes while the rank looks, letting others go first and driving its transfers. A few looks
 * are enough where one of these others goes on for long: that one computes. */
static bool comes_in_looks(struct place_context *context, const struct local_wait *wait) {
    const bool are_many = rank_of(context)->world->are_many;
    double begin = clock_seconds(), before = begin, now = begin;
    bool came = false;
    for (int i = 0; !came && now - (are_many ? before : begin) < LONG_LOOK_SECONDS; i++) {
        if (are_many && i == LOOKS_AMONG_MANY)
            break;
        if (context->transport->progress)
            context->transport->progress(context);
        sched_yield();
        came = has_come(wait);
        before = now;
        now = clock_seconds();
    }
    return came;
}

/* Registers the wait and leaves the rank's turn. False: it need not wait, since the counter has come
 * by now, or the world is aborted. */
static bool falls_asleep(struct local_rank *self, const struct local_wait *wait) {
    struct local_world *world = self->world;
    pthread_mutex_lock(&world->lock);
    self->wait = *wait;
    self->wait.is_asleep = true;
    self->thread = pthread_self();
    atomic_fetch_add(&world->asleep, 1);
    bool sleeps = !has_come(wait) && !atomic_load(&world->aborted);
    if (sleeps) {
        leave_turn(world);
    } else {
        self->wait.is_asleep = false;
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
        pthread_setaffinity_np(self->thread, sizeof self->cores, &self->cores);
}

/* A wait that is worth some care. */
static int32_t wait_long(struct place_context *context, const struct local_wait *wait) {
    struct local_rank *self = rank_of(context);
    if (!self->world->takes_turns && comes_in_looks(context, wait))
        return PLACE_OK;
    if (falls_asleep(self, wait))
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
