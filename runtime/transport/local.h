/* Ranks as threads of one process: what they know of each other, and how they wait. Shared by
 * local.c, local_host.c, local_messages.c, local_waits.c, which define _GNU_SOURCE before any header.
 */
#pragma once
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "runtime/transport/transport.h"

#define CACHE_LINE 64

/* Private to local.c: what a rank has posted, and has in flight. */
struct queue;
struct flight;
struct post;
/* Private to local_messages.c. */
struct local_end;

struct local_line { /* messages of the program from one rank to another, counted where they start */
    _Atomic uint64_t sent;
    uint64_t received; /* the receiver's own */
};

struct channel { /* host messages from one rank to another */
    /* Opened: the last that the receiver has begun to read, or that a sender who fails took back.
     */
    _Atomic uint64_t posted, opened, taken;
    const void *data;
    size_t bytes;
};

struct local_wait { /* of a rank, for what the peer is to do; once begun, under the world's lock */
    bool is_asleep; /* its counter has not come */
    _Atomic uint64_t *counter;
    uint64_t value; /* that it has to reach */
    int32_t peer, statement;
    const char *what;
    bool in_vain;                  /* it never will */
    bool is_moved;                 /* the rank goes on at another core than the system chose */
    struct local_rank *next_ready; /* behind this one in the queue for turns */
};

struct local_rank {
    struct local_world *world;
    struct queue *queues;        /* one for each group of the program */
    _Atomic int64_t *sent_bytes; /* [group * n + place] what it has moved that a member has sent */
    struct flight *flights;      /* by handle */
    struct local_end *ends;      /* of messages; by handle */
    int64_t *message_bytes;      /* by group: of its messages that others have copied */
    struct post **peers;         /* scratch: posts of a group's members */
    const void **sources;        /* scratch: addresses in their pieces; n_addresses of them */
    void **results;
    size_t n_addresses;
    /* What this rank's seats have in the small all_reduce in which it is (doubling.h), after even
     * rounds and after odd ones. Peers read it; null: no group of this process has so many members.
     * */
    char *partials;
    _Alignas(CACHE_LINE) _Atomic uint64_t share_posted, share_taken;
    void *shared; /* a copy: what a rank that fails leaves behind may still be read */
    size_t shared_capacity;
    struct local_wait wait;
    /* Under the world's lock: whether it has not left; of who waits, its thread, and where that may
     * run when it has been moved to a core. */
    bool lives;
    pthread_t thread;
    cpu_set_t cores;
    sem_t turn; /* given to it when its wait is over */
};

struct local_world {
    int32_t first, n; /* ranks of this process */
    int32_t n_groups, n_handles;
    int64_t cached_bytes; /* of a collective that goes through the caches */
    _Atomic int aborted;
    bool are_many; /* more than cores, or than may run at a time: */
    bool takes_turns;
    struct local_rank *ranks;
    struct channel *channels; /* [from * n + to] */
    struct local_line *lines; /* the same */
    /* Ranks that are asleep: who moves a counter looks whether there are any. */
    _Alignas(CACHE_LINE) _Atomic int32_t asleep;
    /* What follows, and all waits, are of who holds the lock: how many ranks may run at a time, and
     * do, which at the start are all; and a queue of those whose wait is over but for a turn. */
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    int32_t turns, running;
    struct local_rank *first_ready, *last_ready;
};

static inline struct local_rank *rank_of(const struct place_context *context) {
    return context->local;
}
static inline struct local_rank *rank_numbered(const struct local_world *world, int32_t rank) {
    return &world->ranks[rank - world->first];
}

/* ---- waits ------------------------------------------------------------------------------------
 * Every condition that a rank can wait for has one form, a counter that has to reach a value, and
 * only ranks that do not wait move counters: so when all that live wait, they do so for ever, which
 * is a deadlock and is reported at once.
 *
 * Where not all ranks of a world run at a time they take turns: a rank that has to wait leaves its
 * turn to the one whose wait has been over for longest, and its core, too. So a task, once begun,
 * takes as long as it would alone, which the system's own schedule of threads does not give: that
 * stops a rank in the midst of a task that others wait for, and wakes it behind another rank while
 * a core is idle. */

/* To be called behind all moves of counters, by any thread of the rank that made them, when no other
 * of its threads goes on moving them. */
void counters_moved(struct local_world *world);
/* Moves a counter that no other rank moves. */
void move_counter(struct local_world *world, _Atomic uint64_t *counter, uint64_t value);

void local_rank_leave(struct local_rank *rank);
/* All that wait are told that the world is aborted, and so is who comes to wait. By any thread. */
void local_waits_end(struct local_world *world);

/* Whether it comes while this rank polls: it spins a little, then lets others go first a few times. */
bool comes_soon(const struct place_context *context, _Atomic uint64_t *counter, uint64_t value);

/* Waits for a counter of a peer, which is to `what`; fails where it never will, or where another
 * rank has failed. */
int32_t wait_until(struct place_context *context, int32_t statement, int32_t peer, const char *what,
                   _Atomic uint64_t *counter, uint64_t value);
int32_t fail_aborted(struct place_context *context, int32_t statement);

/* ---- messages of the program ---------------------------------------------------------------- */

bool local_ends_open(struct local_world *world, struct local_rank *rank);
void local_ends_close(struct local_rank *rank);
/* Whether the handle is in flight with one. */
bool local_is_message(const struct local_rank *rank, int32_t handle);
int32_t local_message_start(struct place_context *context, int32_t handle,
                            const struct collective *message);
int32_t local_message_wait(struct place_context *context, int32_t statement, int32_t handle);

/* ---- the host's messages (transport.h) ------------------------------------------------------ */

int32_t local_share(struct place_context *context, const void *mine, void *all, size_t bytes);
int32_t local_send(struct place_context *context, int32_t to, const void *data, size_t bytes);
int32_t local_receive(struct place_context *context, int32_t from, void *data, size_t bytes);
