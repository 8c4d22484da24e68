/* Ranks as threads of one process. A start only posts the description of a collective where the
 * peers can see it; the work is done in the waits, where every rank reads its peers' buffers in
 * place:
 *
 *   posted    everybody has posted; descriptions are compared
 *   phase 1   every rank reads from its peers what it owns, or everything if that is small
 *   phase 2   all_reduce: every rank copies the reduced chunks from their owners
 *
 * Between phases a rank waits until its peers have ended the phase, so a source is never
 * overwritten while a peer may read it. Every condition that a rank can wait for has one form, a
 * counter that has to reach a value, and only ranks that do not wait move counters: so when all
 * live ranks wait for conditions that did not hold since the last move, none ever will, which is a
 * deadlock and is reported at once.
 *
 * Bytes are counted where they are copied: what a rank reads from a peer's buffer was sent by that
 * peer.
 *
 * What others poll stands on cache lines of its own, and a rank writes its own lines only. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/team.h"
#include "runtime/transport/transport.h"

#define CACHE_LINE 64

struct post {
    _Alignas(
        CACHE_LINE) _Atomic uint64_t number; /* of the collective in its group, counted from 1 */
    _Atomic uint64_t ended;                  /* PHASES * number + phases ended; only grows */
    _Alignas(CACHE_LINE) struct collective collective;
    struct place_piece *pieces; /* grows to the largest number of pieces, then stays */
    int32_t capacity;
};
enum { PHASES = 4 };

/* One rank's collectives over one group, numbered from 1 in the order of their starts, which is the
 * same for all members. Each handle has a post: it is free when the handle is started again, since
 * that has been waited for, and so has its collective by all members. Some stay in flight while
 * many others come and go, so no post may depend on how many there were. The posts are made by the
 * rank's first start, before any peer may look. */
struct queue {
    _Alignas(CACHE_LINE) _Atomic uint64_t posted; /* the last number */
    struct post *posts;                           /* by handle */
};

struct flight { /* what a handle stands for */
    int in_flight;
    int32_t group;
    uint64_t number;
};

struct channel { /* host messages from one rank to another */
    _Atomic uint64_t posted, taken;
    const void *data;
    size_t bytes;
};

struct local_rank {
    struct local_world *world;
    struct queue *queues;        /* one for each group of the program */
    _Atomic int64_t *read_bytes; /* [group * n + rank of the process] from whom; by itself alone */
    struct flight *flights;      /* by handle */
    struct post **peers;         /* scratch: posts of a group's members */
    const void **sources;        /* scratch: their addresses */
    _Alignas(CACHE_LINE) _Atomic uint64_t share_posted, share_taken;
    void *shared; /* a copy: what a rank that fails leaves behind may still be read */
    size_t shared_capacity;
    _Atomic int live;
    _Atomic uint64_t moves; /* of any counter, by this rank */
    /* Registered while waiting: moves of all ranks that were seen before the condition was found
     * not to hold, plus one. */
    _Atomic uint64_t waiting_at;
    int32_t waiting_for, waiting_statement;
    const char *waiting_what;
};

struct local_world {
    int32_t first, n; /* ranks of this process */
    int32_t n_groups, n_handles;
    int spins; /* polls of a counter before the rank yields */
    int64_t cache_bytes;
    _Atomic int aborted;
    struct local_rank *ranks;
    struct channel *channels; /* [from * n + to] */
};

/* Zeroed, on lines of its own. */
static void *lines_new(size_t n, size_t bytes) {
    size_t all = (n * bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *lines = aligned_alloc(CACHE_LINE, all);
    return lines ? memset(lines, 0, all) : NULL;
}

static struct local_rank *rank_of(const struct place_context *context) {
    return context->local;
}
static struct local_rank *rank_numbered(const struct local_world *world, int32_t rank) {
    return &world->ranks[rank - world->first];
}
static struct channel *channel_between(const struct local_world *world, int32_t from, int32_t to) {
    return &world->channels[(from - world->first) * world->n + to - world->first];
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void count_move(struct local_rank *rank) {
    uint64_t moves = atomic_load_explicit(&rank->moves, memory_order_relaxed);
    atomic_store_explicit(&rank->moves, moves + 1, memory_order_release);
}

/* Of counters only this rank moves. Whoever sees the move counted sees the counter moved. */
static void move_counter(struct local_rank *rank, _Atomic uint64_t *counter, uint64_t value) {
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

/* Then all have looked at the same moves, of every rank all that it made before it waited, and each
 * has found its condition not to hold behind them. */
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

static int32_t fail_aborted(struct place_context *context, int32_t statement) {
    return context_fail(context, statement, PLACE_ERROR_ABORTED, "stopped: another rank failed");
}

/* Spins a little, then yields: more ranks than cores is normal, and then spinning keeps the peer
 * away. */
static int32_t spin_until(struct place_context *context, int32_t statement, int32_t peer,
                          const char *what, _Atomic uint64_t *counter, uint64_t value) {
    struct local_rank *self = rank_of(context);
    struct local_world *world = self->world;
    for (int i = 0; i < world->spins; i++) {
        if (atomic_load_explicit(counter, memory_order_acquire) >= value)
            return PLACE_OK;
        __builtin_ia32_pause();
    }
    self->waiting_for = peer;
    self->waiting_statement = statement;
    self->waiting_what = what;
    int32_t status = PLACE_OK;
    for (;;) {
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
        sched_yield();
    }
    atomic_store(&self->waiting_at, 0);
    return status;
}

static int32_t wait_until(struct place_context *context, int32_t statement, int32_t peer,
                          const char *what, _Atomic uint64_t *counter, uint64_t value) {
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile ? profile_clock() : 0;
    int32_t status = spin_until(context, statement, peer, what, counter, value);
    if (profile)
        profile_waited(profile, begin);
    return status;
}

/* ---- start ------------------------------------------------------------------------------------
 */

static struct flight *flight_of(struct local_rank *rank, int32_t handle) {
    return handle >= 0 && handle < rank->world->n_handles ? &rank->flights[handle] : NULL;
}

/* A member's post of its collective with this number, which is posted. Members' programs are the
 * same, so it is found at the handle; elsewhere only where they are not, which is then told. */
static struct post *post_of(const struct local_world *world, const struct queue *queue,
                            int32_t handle, uint64_t number) {
    for (int32_t i = 0; i < world->n_handles; i++) {
        struct post *post = &queue->posts[(handle + i) % world->n_handles];
        if (atomic_load(&post->number) == number)
            return post;
    }
    return NULL;
}

static bool post_fill(struct post *post, const struct collective *collective) {
    if (collective->n_pieces > post->capacity) {
        struct place_piece *grown =
            realloc(post->pieces, (size_t)collective->n_pieces * sizeof *grown);
        if (!grown)
            return false;
        post->pieces = grown;
        post->capacity = collective->n_pieces;
    }
    memcpy(post->pieces, collective->pieces, (size_t)collective->n_pieces * sizeof *post->pieces);
    post->collective = *collective;
    post->collective.pieces = post->pieces;
    return true;
}

static int32_t local_start(struct place_context *context, int32_t handle,
                           const struct collective *collective) {
    struct local_rank *rank = rank_of(context);
    int32_t statement = collective->statement;
    if (atomic_load(&rank->world->aborted))
        return fail_aborted(context, statement);
    struct flight *flight = flight_of(rank, handle);
    if (!flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "handle %d is out of range",
                            handle);
    if (flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is still in flight", handle);
    struct queue *queue = &rank->queues[collective->group];
    uint64_t number = atomic_load(&queue->posted) + 1;
    if (!queue->posts)
        queue->posts = lines_new((size_t)rank->world->n_handles, sizeof *queue->posts);
    if (!queue->posts || !post_fill(&queue->posts[handle], collective))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "out of memory");
    atomic_store_explicit(&queue->posts[handle].number, number, memory_order_release);
    *flight = (struct flight){.in_flight = 1, .group = collective->group, .number = number};
    move_counter(rank, &queue->posted, number);
    return PLACE_OK;
}

/* ---- wait -------------------------------------------------------------------------------------
 */

/* What the phases of one wait share. */
struct meeting {
    struct place_context *context;
    struct local_world *world;
    int32_t statement;
    struct group group;
    int32_t handle;
    uint64_t number;
    struct post *mine;
    struct post **posts; /* of all members, in order */
    const void **sources;
    int64_t element; /* bytes */
    bool streams;    /* more than the caches hold goes around */
};

static struct queue *member_queue(const struct meeting *meeting, int32_t place) {
    int32_t rank = group_member(meeting->context->program, &meeting->group, place);
    return &rank_numbered(meeting->world, rank)->queues[meeting->mine->collective.group];
}

/* Bytes read from a member, unless it is this rank itself. */
static void count_read(const struct meeting *meeting, int32_t place, int64_t bytes) {
    const struct local_world *world = meeting->world;
    if (place == meeting->group.place)
        return;
    int32_t rank = group_member(meeting->context->program, &meeting->group, place);
    _Atomic int64_t *count =
        &rank_of(meeting->context)
             ->read_bytes[meeting->mine->collective.group * world->n + rank - world->first];
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + bytes,
                          memory_order_relaxed);
}

static int32_t fail_mismatch(const struct meeting *meeting, int32_t peer,
                             const struct collective *other, const char *difference) {
    char where[256];
    context_describe_statement(meeting->context->program, other->statement, where, sizeof where);
    return context_fail(meeting->context, meeting->mine->collective.statement, PLACE_ERROR_MISMATCH,
                        "this %s meets a different collective: rank %d has started %s at %s; they "
                        "differ in their %s",
                        collective_name(meeting->mine->collective.kind), peer,
                        collective_name(other->kind), where, difference);
}

/* Waits until every member has posted this collective, and compares what they posted. */
static int32_t meet(struct meeting *meeting) {
    for (int32_t i = 0; i < meeting->group.size; i++) {
        int32_t peer = group_member(meeting->context->program, &meeting->group, i);
        struct queue *queue = member_queue(meeting, i);
        int32_t status = wait_until(meeting->context, meeting->statement, peer,
                                    "start the same collective", &queue->posted, meeting->number);
        if (status)
            return status;
        struct post *post = post_of(meeting->world, queue, meeting->handle, meeting->number);
        if (!post) /* it failed where it met somebody else, and has gone on */
            return fail_aborted(meeting->context, meeting->statement);
        const char *difference =
            collective_difference(&meeting->mine->collective, &post->collective);
        if (difference)
            return fail_mismatch(meeting, peer, &post->collective, difference);
        meeting->posts[i] = post;
    }
    return PLACE_OK;
}

/* Says that this rank has ended phase `phase`, and waits until all members have. */
static int32_t end_phase(const struct meeting *meeting, uint64_t phase) {
    uint64_t ended = PHASES * meeting->number + phase;
    move_counter(rank_of(meeting->context), &meeting->mine->ended, ended);
    for (int32_t i = 0; i < meeting->group.size; i++) {
        int32_t peer = group_member(meeting->context->program, &meeting->group, i);
        int32_t status =
            wait_until(meeting->context, meeting->statement, peer, "wait for the same collective",
                       &meeting->posts[i]->ended, ended);
        if (status)
            return status;
    }
    return PLACE_OK;
}

/* Long rows are shared out on the rank's team. */
enum { TEAM_GRAIN = 1 << 15 }; /* elements of a tile */

static void run_on_team(const struct meeting *meeting, int64_t count, team_function function,
                        void *arguments) {
    if (meeting->context->team && count > TEAM_GRAIN)
        team_run(meeting->context->team, count, TEAM_GRAIN, function, arguments);
    else
        function(arguments, 0, count, NULL);
}

struct reduction {
    const struct meeting *meeting;
    char *dst;
};

static void reduce_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct reduction *reduction = arguments;
    const struct meeting *meeting = reduction->meeting;
    collective_reduce(&meeting->mine->collective, reduction->dst, meeting->sources,
                      meeting->group.size, begin, end, meeting->streams);
}

/* dst[0..row) = sum (or maximum) over members of their sources at `offset` bytes, for one row of a
 * piece. */
static void reduce_row(const struct meeting *meeting, int32_t piece, char *dst, int64_t offset,
                       int64_t row) {
    for (int32_t i = 0; i < meeting->group.size; i++) {
        meeting->sources[i] =
            (const char *)meeting->posts[i]->collective.pieces[piece].src + offset;
        count_read(meeting, i, row * meeting->element);
    }
    struct reduction reduction = {meeting, dst};
    run_on_team(meeting, row, reduce_tile, &reduction);
}

/* The wire's unit is a whole chunk: its padding is sent too, although nobody needs to read it here.
 */
static void count_padding(const struct meeting *meeting, int64_t pad) {
    for (int32_t i = 0; pad && i < meeting->group.size; i++)
        count_read(meeting, i, pad * meeting->element);
}

/* This rank's chunk of every piece, reduced, into `dst` where a part lies (reduce_scatter) or into
 * its place in the whole (all_reduce). */
static void reduce_own_chunk(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        struct chunk_range range =
            collective_range(collective, i, meeting->group.size, meeting->group.place);
        char *dst = collective->pieces[i].dst;
        if (collective->kind == PLACE_ALL_REDUCE)
            dst += range.begin * meeting->element;
        for (int64_t row = 0; row < range.outer; row++)
            reduce_row(meeting, i, dst + row * range.row * meeting->element,
                       (range.begin + row * range.stride) * meeting->element, range.row);
        count_padding(meeting, range.pad);
        if (collective->kind == PLACE_REDUCE_SCATTER)
            memset(dst + range.row * meeting->element, 0, (size_t)(range.pad * meeting->element));
    }
}

static void copy_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    chunk_copy_part(arguments, begin, end);
}

/* Of what member `owner` has at `src`, the elements of one range into those of another at `dst`. */
static void take(const struct meeting *meeting, int32_t owner, void *dst, struct chunk_range to,
                 const void *src, struct chunk_range from) {
    struct chunk_copy copy = {dst, src, to, from, meeting->element, meeting->streams};
    int64_t count = from.outer * from.row;
    bool in_place =
        (char *)dst + to.begin * copy.element == (char *)src + from.begin * copy.element;
    if (!in_place)
        run_on_team(meeting, count, copy_tile, &copy);
    count_read(meeting, owner, count * meeting->element);
}

/* all_reduce: the other members' reduced chunks, from their owners' results. */
static void copy_reduced_chunks(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    for (int32_t owner = 0; owner < meeting->group.size; owner++) {
        if (owner == meeting->group.place)
            continue;
        for (int32_t i = 0; i < collective->n_pieces; i++) {
            struct chunk_range range = collective_range(collective, i, meeting->group.size, owner);
            take(meeting, owner, collective->pieces[i].dst, range,
                 meeting->posts[owner]->collective.pieces[i].dst, range);
            count_read(meeting, owner, range.pad * meeting->element);
        }
    }
}

/* Every member's part into its place in the whole: of an all_gather all of it, padding and all; of
 * an all_to_all the chunk that is for this rank. */
static void gather_parts(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    int32_t n = meeting->group.size;
    for (int32_t owner = 0; owner < n; owner++)
        for (int32_t i = 0; i < collective->n_pieces; i++) {
            const struct place_piece *piece = &collective->pieces[i];
            struct chunk_range to = collective_result_range(collective, i, n, owner);
            struct chunk_range from = chunk_range_of(1, piece->outer * piece->chunk, 1, 0);
            if (collective->kind == PLACE_ALL_TO_ALL)
                from = chunk_range_of(piece->outer, piece->chunk, n, meeting->group.place);
            take(meeting, owner, piece->dst, to, meeting->posts[owner]->collective.pieces[i].src,
                 from);
        }
}

/* permute: all of every piece of the member that is `shift` places before. */
static void take_from_before(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    int32_t before = group_before(&meeting->group, collective->shift);
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        struct chunk_range all = chunk_range_of(1, collective->pieces[i].valid, 1, 0);
        take(meeting, before, collective->pieces[i].dst, all,
             meeting->posts[before]->collective.pieces[i].src, all);
    }
}

/* A small all_reduce: everybody reduces everything into `block`, which is copied out when all have
 * read. */
static int32_t reduce_small(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    _Alignas(16) char block[COLLECTIVE_SMALL_BYTES];
    int64_t used = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        reduce_row(meeting, i, block + used, 0, collective->pieces[i].valid);
        used += collective->pieces[i].valid * meeting->element;
    }
    int32_t status = end_phase(meeting, 1);
    if (status)
        return status;
    used = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        int64_t bytes = collective->pieces[i].valid * meeting->element;
        memcpy(collective->pieces[i].dst, block + used, (size_t)bytes);
        used += bytes;
    }
    return PLACE_OK;
}

static int32_t run_phases(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    if (collective_is_small(collective))
        return reduce_small(meeting);
    if (collective->kind == PLACE_PERMUTE)
        take_from_before(meeting);
    else if (collective->kind == PLACE_ALL_GATHER || collective->kind == PLACE_ALL_TO_ALL)
        gather_parts(meeting);
    else
        reduce_own_chunk(meeting);
    int32_t status = end_phase(meeting, 1);
    if (status || collective->kind != PLACE_ALL_REDUCE)
        return status;
    copy_reduced_chunks(meeting);
    return end_phase(meeting, 2);
}

/* Sources and results of all members, against the last cache: what a peer reads next should still
 * be there, and what would push out other things should not come in. */
static bool overflows_caches(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return 2 * meeting->group.size * elements * meeting->element > meeting->world->cache_bytes;
}

static int32_t local_wait(struct place_context *context, int32_t statement, int32_t handle) {
    struct local_rank *rank = rank_of(context);
    struct flight *flight = flight_of(rank, handle);
    if (!flight || !flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is waited for but was not started", handle);
    const struct place_program *program = context->program;
    struct post *mine = &rank->queues[flight->group].posts[handle];
    struct meeting meeting = {
        .context = context,
        .world = rank->world,
        .statement = statement,
        .group = group_of(program, context->rank, &program->groups[flight->group].axes),
        .handle = handle,
        .number = flight->number,
        .mine = mine,
        .posts = rank->peers,
        .sources = rank->sources,
        .element = dtype_size(mine->collective.dtype),
    };
    meeting.streams = overflows_caches(&meeting);
    int32_t status = meet(&meeting);
    if (!status)
        status = run_phases(&meeting);
    flight->in_flight = 0;
    return status;
}

static int64_t local_sent_bytes(struct place_context *context, int32_t group) {
    const struct local_world *world = rank_of(context)->world;
    int64_t sent = 0;
    for (int32_t i = 0; i < world->n; i++)
        sent += atomic_load_explicit(
            &world->ranks[i].read_bytes[group * world->n + context->rank - world->first],
            memory_order_relaxed);
    return sent;
}

/* ---- host -------------------------------------------------------------------------------------
 */

static bool copy_shared(struct local_rank *rank, const void *mine, size_t bytes) {
    if (bytes > rank->shared_capacity) {
        void *grown = realloc(rank->shared, bytes);
        if (!grown)
            return false;
        rank->shared = grown;
        rank->shared_capacity = bytes;
    }
    if (bytes)
        memcpy(rank->shared, mine, bytes);
    return true;
}

static int32_t local_share(struct place_context *context, const void *mine, void *all,
                           size_t bytes) {
    struct local_rank *rank = rank_of(context);
    struct local_world *world = rank->world;
    uint64_t number = atomic_load(&rank->share_posted) + 1;
    if (!copy_shared(rank, mine, bytes))
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "no memory to share %zu bytes",
                            bytes);
    move_counter(rank, &rank->share_posted, number);
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *peer = &world->ranks[i];
        int32_t status = wait_until(context, -1, world->first + i, "reach the end of the step",
                                    &peer->share_posted, number);
        if (status)
            return status;
        if (bytes)
            memcpy((char *)all + (size_t)i * bytes, peer->shared, bytes);
    }
    move_counter(rank, &rank->share_taken, number);
    for (int32_t i = 0; i < world->n; i++) {
        int32_t status = wait_until(context, -1, world->first + i, "reach the end of the step",
                                    &world->ranks[i].share_taken, number);
        if (status)
            return status;
    }
    return PLACE_OK;
}

static int32_t local_send(struct place_context *context, int32_t to, const void *data,
                          size_t bytes) {
    struct local_world *world = rank_of(context)->world;
    struct channel *channel = channel_between(world, context->rank, to);
    uint64_t number = atomic_load(&channel->posted) + 1;
    channel->data = data;
    channel->bytes = bytes;
    move_counter(rank_of(context), &channel->posted, number);
    return wait_until(context, -1, to, "receive", &channel->taken, number);
}

static int32_t local_receive(struct place_context *context, int32_t from, void *data,
                             size_t bytes) {
    struct local_world *world = rank_of(context)->world;
    struct channel *channel = channel_between(world, from, context->rank);
    uint64_t number = atomic_load(&channel->taken) + 1;
    int32_t status = wait_until(context, -1, from, "send", &channel->posted, number);
    if (status)
        return status;
    if (channel->bytes != bytes)
        return context_fail(context, -1, PLACE_ERROR_MISMATCH,
                            "rank %d sent %zu bytes where %zu were expected", from, channel->bytes,
                            bytes);
    memcpy(data, channel->data, bytes);
    move_counter(rank_of(context), &channel->taken, number);
    return PLACE_OK;
}

static void local_abort(struct place_context *context) {
    atomic_store(&rank_of(context)->world->aborted, 1);
}

static void local_leave(struct place_context *context) {
    struct local_rank *rank = rank_of(context);
    atomic_store(&rank->live, 0);
    count_move(rank);
}

static const struct transport local_transport = {
    .name = "local",
    .start = local_start,
    .wait = local_wait,
    .sent_bytes = local_sent_bytes,
    .share = local_share,
    .send = local_send,
    .receive = local_receive,
    .abort = local_abort,
    .leave = local_leave,
};

/* ---- the world --------------------------------------------------------------------------------
 */

static bool rank_allocate(struct local_world *world, struct local_rank *rank) {
    rank->world = world;
    atomic_init(&rank->live, 1);
    rank->peers = calloc((size_t)world->n, sizeof *rank->peers);
    rank->sources = calloc((size_t)world->n, sizeof *rank->sources);
    rank->flights = calloc((size_t)world->n_handles + 1, sizeof *rank->flights);
    rank->queues = lines_new((size_t)world->n_groups + 1, sizeof *rank->queues);
    rank->read_bytes =
        lines_new((size_t)world->n * (size_t)(world->n_groups + 1), sizeof *rank->read_bytes);
    return rank->peers && rank->sources && rank->flights && rank->queues && rank->read_bytes;
}

struct local_world *local_world_new(const struct place_program *program, int32_t first,
                                    int32_t ranks) {
    struct local_world *world = lines_new(1, sizeof *world);
    if (!world)
        return NULL;
    world->first = first;
    world->n = ranks;
    world->n_groups = program->n_groups;
    world->n_handles = program->n_handles;
    world->cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (world->cache_bytes <= 0)
        world->cache_bytes = 32 << 20;
    world->spins = ranks <= sysconf(_SC_NPROCESSORS_ONLN) ? 128 : 16;
    world->ranks = lines_new((size_t)ranks, sizeof *world->ranks);
    world->channels = calloc((size_t)ranks * (size_t)ranks, sizeof *world->channels);
    bool enough = world->ranks && world->channels;
    for (int32_t i = 0; enough && i < ranks; i++)
        enough = rank_allocate(world, &world->ranks[i]);
    if (enough)
        return world;
    local_world_free(world);
    return NULL;
}

static void rank_free(struct local_rank *rank) {
    for (int32_t i = 0; rank->queues && i < rank->world->n_groups; i++) {
        for (int32_t j = 0; rank->queues[i].posts && j < rank->world->n_handles; j++)
            free(rank->queues[i].posts[j].pieces);
        free(rank->queues[i].posts);
    }
    free(rank->queues);
    free(rank->read_bytes);
    free(rank->shared);
    free(rank->flights);
    free(rank->peers);
    free(rank->sources);
}

void local_world_free(struct local_world *world) {
    if (!world)
        return;
    for (int32_t i = 0; world->ranks && i < world->n; i++)
        rank_free(&world->ranks[i]);
    free(world->ranks);
    free(world->channels);
    free(world);
}

void local_join(struct local_world *world, struct place_context *context) {
    context->transport = &local_transport;
    context->local = rank_numbered(world, context->rank);
}
