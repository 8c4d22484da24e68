/* Waits of ranks that are threads, and how a deadlock among them is found (local.h). */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include "runtime/cores.h"
#include "runtime/transport/local.h"

/* Polls of a counter: between them a pause, or where ranks outnumber the cores as good as none, and
 * then the rank yields between them. Behind these the wait is a long one. */
enum { SPINS = 128, SPINS_AMONG_MANY = 2, YIELDS = 4 };

/* A rank that waits for long, where ranks outnumber the cores, sleeps between its looks: a core whose ranks only yield
 * to each other is busy to the system, which then leaves two that work on another one. */
enum { LOOKS_AWAKE = 16, NANOSECONDS_ASLEEP = 50000 };

int local_spins(int32_t ranks) {
    return ranks <= available_cores() ? SPINS : SPINS_AMONG_MANY;
}

void count_move(struct local_rank *rank) {
    uint64_t moves = atomic_load_explicit(&rank->moves, memory_order_relaxed);
    atomic_store_explicit(&rank->moves, moves + 1, memory_order_release);
}

/* Moves a counter that only this rank moves. Whoever sees the move counted sees the counter moved.
 * */
void move_counter(struct local_rank *rank, _Atomic uint64_t *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_release);
    count_move(rank);
}

/* One by one: what a second look finds unchanged was so for every rank, since none goes down. */
static uint64_t all_moves(struct local_world *world) {
    uint64_t moves = 0;
    for (int32_t i = 0; i < world->n; i++)
        moves += atomic_load(&world->ranks[i].moves);
    return moves;
}

/* Whether all wait at the same moves: then all have looked at these, of every rank all that it made
 * before it waited, and each has found its condition not to hold behind them. */
static bool all_wait_at(struct local_world *world, uint64_t moves) {
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *rank = &world->ranks[i];
        if (atomic_load(&rank->live) && atomic_load(&rank->waiting_at) != moves + 1)
            return false;
    }
    return all_moves(world) == moves;
}

/* Who waits where for whom, for the first few ranks. */
static int32_t fail_deadlock(struct place_context *context, int32_t statement) {
    struct local_world *world = rank_of(context)->world;
    char text[CONTEXT_MESSAGE_BYTES - 300] = "";
    size_t used = 0;
    for (int32_t i = 0; i < world->n && used < sizeof text - 200; i++) {
        struct local_rank *rank = &world->ranks[i];
        char where[160];
        if (atomic_load(&rank->live)) {
            context_describe_statement(context->program, rank->waiting_statement, where,
                                       sizeof where);
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "\n  rank %d waits for rank %d to %s, at %s", world->first + i,
                                     rank->waiting_for, rank->waiting_what, where);
        } else {
            used += (size_t)snprintf(text + used, sizeof text - used, "\n  rank %d has ended",
                                     world->first + i);
        }
    }
    return context_fail(context, statement, PLACE_ERROR_DEADLOCK,
                        "deadlock: every rank waits for another%s", text);
}

int32_t fail_aborted(struct place_context *context, int32_t statement) {
    return context_fail(context, statement, PLACE_ERROR_ABORTED, "stopped: another rank failed");
}

bool comes_soon(const struct place_context *context, _Atomic uint64_t *counter, uint64_t value) {
    const int spins = rank_of(context)->world->spins;
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

/* Between two looks, of which there have been so many. Who has transfers to drive stays awake. */
static void rest(const struct place_context *context, int looks) {
    bool are_many = rank_of(context)->world->spins == SPINS_AMONG_MANY;
    if (are_many && looks >= LOOKS_AWAKE && !context->transport->progress)
        nanosleep(&(struct timespec){.tv_nsec = NANOSECONDS_ASLEEP}, NULL);
    else
        sched_yield();
}

/* A wait that is worth some care. */
static int32_t wait_long(struct place_context *context, int32_t statement, int32_t peer,
                         const char *what, _Atomic uint64_t *counter, uint64_t value) {
    struct local_rank *self = rank_of(context);
    struct local_world *world = self->world;
    self->waiting_for = peer;
    self->waiting_statement = statement;
    self->waiting_what = what;
    int32_t status = PLACE_OK;
    for (int looks = 0;; looks += looks < LOOKS_AWAKE) {
        uint64_t moves = all_moves(world);
        if (atomic_load(counter) >= value)
            break;
        if (atomic_load(&world->aborted)) {
            status = fail_aborted(context, statement);
            break;
        }
        if (context->transport->progress)
            context->transport->progress(context);
        atomic_store(&self->waiting_at, moves + 1);
        if (all_wait_at(world, moves)) {
            status = fail_deadlock(context, statement);
            break;
        }
        rest(context, looks);
    }
    atomic_store(&self->waiting_at, 0);
    return status;
}

int32_t wait_until(struct place_context *context, int32_t statement, int32_t peer, const char *what,
                   _Atomic uint64_t *counter, uint64_t value) {
    if (comes_soon(context, counter, value))
        return PLACE_OK;
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile_begin_wait(profile);
    int32_t status = wait_long(context, statement, peer, what, counter, value);
    profile_end_wait(profile, begin);
    return status;
}
