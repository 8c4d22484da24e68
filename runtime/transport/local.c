/* Ranks as threads of one process. A start only posts the description of a collective where the
 * peers can see it; the work is done in the waits, where every rank sees its peers' memory:
 *
 *   posted    everybody has posted; descriptions are compared
 *   portions  every rank works off its portion (portion.h), tile by tile, and then what is left of
 *             the others': a rank that the system does not run, or that still computes, is not
 *             waited for, but done without
 *   done      nobody reads or writes for this collective any more
 *
 * A small all_reduce has no portions. Among few members everybody reads what all have given; among
 * many there are rounds (doubling.h), in which a rank looks at those alone that it meets.
 *
 * What others poll stands on cache lines of its own. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "runtime/cores.h"
#include "runtime/team.h"
#include "runtime/transport/doubling.h"
#include "runtime/transport/local.h"
#include "runtime/transport/portion.h"

/* What a rank has posted of a collective. Members look at the first line; at the second the owner,
 * and where there are more pieces or a mistake everybody; at the third who takes tiles; the fourth
 * is polled. The counters of tiles stand behind the number of the collective, so they only grow
 * when the post is used again, and nobody takes a tile of what has been there before. */
struct post {
    /* The collective's number in its group, counted from 1. */
    _Alignas(CACHE_LINE) _Atomic uint64_t number;
    uint64_t digest;
    struct place_piece one;
    _Alignas(CACHE_LINE) struct collective collective;
    struct place_piece *more; /* of more pieces than one: as many as ever, then it stays */
    int32_t most;
    _Alignas(CACHE_LINE) _Atomic uint64_t taken; /* tiles of its rank's portion */
    _Alignas(CACHE_LINE) _Atomic uint64_t done;
};
enum { TILE_BITS = 24 };

static uint64_t tile_of(uint64_t number, int64_t tile) {
    return number << TILE_BITS | (uint64_t)tile;
}

/* One rank's collectives over one group, numbered from 1 in the order of their starts, which is the
 * same for all members. Each handle has two posts in turn: a member may wait late for what the
 * others have done, and looks for its post while the handle is started again, but has seen it
 * before that comes to its end. Some stay in flight while many others come and go, so no post may
 * depend on how many there were. The posts are made by the rank's first start, before any peer may
 * look. */
struct queue {
    _Alignas(CACHE_LINE) _Atomic(struct post *) posts; /* [2 * handle] */
    _Alignas(CACHE_LINE) _Atomic uint64_t posted;      /* the last number */
};

struct flight { /* what a handle stands for */
    int in_flight;
    int32_t group;
    struct post *post;
};

/* Zeroed, on lines of its own. */
static void *lines_new(size_t n, size_t bytes) {
    size_t all = (n * bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *lines = aligned_alloc(CACHE_LINE, all);
    return lines ? memset(lines, 0, all) : NULL;
}

/* ---- start ---------------------------------------------------------------------------------- */

static struct flight *flight_of(struct local_rank *rank, int32_t handle) {
    return handle >= 0 && handle < rank->world->n_handles ? &rank->flights[handle] : NULL;
}

static size_t posts_of(const struct local_world *world) {
    return 2 * (size_t)world->n_handles;
}

/* A member's post of its collective with this number, which is posted. A collective has the same
 * handle in all programs, so it is found where this rank's is; elsewhere only where it is another
 * collective, which is then told. */
static struct post *post_of(const struct local_world *world, const struct queue *queue,
                            size_t place, uint64_t number) {
    struct post *posts = atomic_load_explicit(&queue->posts, memory_order_acquire);
    size_t n = posts_of(world);
    for (size_t i = 0; i < n; i++) {
        struct post *post = &posts[(place + i) % n];
        if (atomic_load_explicit(&post->number, memory_order_acquire) == number)
            return post;
    }
    return NULL;
}

/* The post, of the two at a handle, whose turn it is: the older. Null: no memory. */
static struct post *post_in_turn(const struct local_world *world, struct queue *queue,
                                 int32_t handle) {
    struct post *posts = atomic_load_explicit(&queue->posts, memory_order_relaxed);
    if (!posts) {
        posts = lines_new(posts_of(world), sizeof *posts);
        atomic_store_explicit(&queue->posts, posts, memory_order_release);
    }
    if (!posts)
        return NULL;
    struct post *both = &posts[2 * (size_t)handle];
    return atomic_load_explicit(&both[0].number, memory_order_relaxed) <=
                   atomic_load_explicit(&both[1].number, memory_order_relaxed)
               ? &both[0]
               : &both[1];
}

/* Null: no memory. */
static struct place_piece *room_for_pieces(struct post *post, int32_t n) {
    if (n == 1)
        return &post->one;
    if (n > post->most) {
        struct place_piece *grown = realloc(post->more, (size_t)n * sizeof *grown);
        if (!grown)
            return NULL;
        post->more = grown;
        post->most = n;
    }
    return post->more;
}

static bool post_fill(struct post *post, const struct collective *collective) {
    struct place_piece *pieces = room_for_pieces(post, collective->n_pieces);
    if (!pieces)
        return false;
    memcpy(pieces, collective->pieces, (size_t)collective->n_pieces * sizeof *pieces);
    post->collective = *collective;
    post->collective.pieces = pieces;
    post->digest = collective_digest(collective);
    return true;
}

static int32_t local_start(struct place_context *context, int32_t handle,
                           const struct collective *collective) {
    struct local_rank *rank = rank_of(context);
    int32_t statement = collective->statement;
    if (atomic_load(&rank->world->aborted))
        return fail_aborted(context, statement);
    if (collective_is_message(collective))
        return local_message_start(context, handle, collective);
    struct flight *flight = flight_of(rank, handle);
    if (!flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "handle %d is out of range",
                            handle);
    if (flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is still in flight", handle);
    struct queue *queue = &rank->queues[collective->group];
    uint64_t number = atomic_load(&queue->posted) + 1;
    struct post *post = post_in_turn(rank->world, queue, handle);
    if (!post || !post_fill(post, collective))
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "out of memory");
    atomic_store_explicit(&post->taken, tile_of(number, 0), memory_order_relaxed);
    atomic_store_explicit(&post->done, tile_of(number, 0), memory_order_relaxed);
    atomic_store_explicit(&post->number, number, memory_order_release);
    *flight = (struct flight){.in_flight = 1, .group = collective->group, .post = post};
    move_counter(rank->world, &queue->posted, number);
    return PLACE_OK;
}

/* ---- wait ----------------------------------------------------------------------------------- */

/* One rank's wait. */
struct meeting {
    struct place_context *context;
    struct local_world *world;
    int32_t statement;
    struct group group;
    uint64_t number;
    struct post *mine;
    size_t turn;         /* where it is among this rank's posts, and so among others' */
    struct post **posts; /* of all members, in order */
    struct portions portions;
    int64_t tiles; /* of a portion */
};

static struct queue *member_queue(const struct meeting *meeting, int32_t place) {
    int32_t rank = group_member(meeting->context->program, &meeting->group, place);
    return &rank_numbered(meeting->world, rank)->queues[meeting->mine->collective.group];
}

static int32_t fail_mismatch(const struct meeting *meeting, int32_t place) {
    const struct collective *mine = &meeting->mine->collective;
    const struct collective *other = &meeting->posts[place]->collective;
    char where[256];
    context_describe_statement(meeting->context->program, other->statement, where, sizeof where);
    return context_fail(meeting->context, mine->statement, PLACE_ERROR_MISMATCH,
                        "this %s meets a different collective: rank %d has started %s at %s; they "
                        "differ in their %s",
                        collective_name(mine->kind),
                        group_member(meeting->context->program, &meeting->group, place),
                        collective_name(other->kind), where, collective_difference(mine, other));
}

/* Waits for a member's post: a moment for the post itself, which says everything, and else for the
 * count of posts. */
static int32_t find_post(struct meeting *meeting, int32_t place) {
    struct queue *queue = member_queue(meeting, place);
    struct post *posts = atomic_load_explicit(&queue->posts, memory_order_acquire);
    if (posts && comes_soon(meeting->context, &posts[meeting->turn].number, meeting->number) &&
        atomic_load_explicit(&posts[meeting->turn].number, memory_order_relaxed) ==
            meeting->number) {
        meeting->posts[place] = &posts[meeting->turn];
        return PLACE_OK;
    }
    int32_t peer = group_member(meeting->context->program, &meeting->group, place);
    int32_t status = wait_until(meeting->context, meeting->statement, peer,
                                "start the same collective", &queue->posted, meeting->number);
    if (status)
        return status;
    meeting->posts[place] = post_of(meeting->world, queue, meeting->turn, meeting->number);
    if (!meeting->posts[place]) /* it failed where it met somebody else, and has gone on */
        return fail_aborted(meeting->context, meeting->statement);
    return PLACE_OK;
}

/* Waits until a member has posted this collective, and compares what it posted. */
static int32_t meet(struct meeting *meeting, int32_t place) {
    int32_t status = find_post(meeting, place);
    if (!status && meeting->posts[place]->digest != meeting->mine->digest)
        status = fail_mismatch(meeting, place);
    return status;
}

static int32_t meet_all(struct meeting *meeting) {
    int32_t status = PLACE_OK;
    for (int32_t i = 0; i < meeting->group.size && !status; i++)
        status = meet(meeting, i);
    return status;
}

/* Makes room for as many addresses of each kind. */
static bool addresses_fit(struct local_rank *rank, size_t n) {
    if (n <= rank->n_addresses)
        return true;
    const void **sources = realloc(rank->sources, n * sizeof *sources);
    rank->sources = sources ? sources : rank->sources;
    void **results = sources ? realloc(rank->results, n * sizeof *results) : NULL;
    rank->results = results ? results : rank->results;
    rank->n_addresses = results ? n : rank->n_addresses;
    return results;
}

/* Makes portions of what all have posted: later they may post other things. */
static bool prepare_portions(struct meeting *meeting) {
    struct local_rank *rank = rank_of(meeting->context);
    const struct collective *collective = &meeting->mine->collective;
    int32_t n = meeting->group.size;
    if (!addresses_fit(rank, (size_t)n * (size_t)collective->n_pieces))
        return false;
    for (int32_t place = 0; place < n; place++) {
        const struct post *post = meeting->posts[place];
        const struct place_piece *pieces = collective->n_pieces == 1 ? &post->one : post->more;
        for (int32_t i = 0; i < collective->n_pieces; i++) {
            rank->sources[i * n + place] = pieces[i].src;
            rank->results[i * n + place] = pieces[i].dst;
        }
    }
    meeting->portions = (struct portions){
        .collective = collective,
        .n = n,
        .sources = rank->sources,
        .results = rank->results,
        .sent_bytes = &rank->sent_bytes[collective->group * meeting->world->n],
        .streams = portions_bytes(collective, n) > meeting->world->cached_bytes,
    };
    meeting->tiles = portion_tiles(collective, n);
    return true;
}

/* Waits until so many tiles of a member's portion are done. */
static int32_t wait_for_member(const struct meeting *meeting, int32_t place, int64_t tiles) {
    return wait_until(meeting->context, meeting->statement,
                      group_member(meeting->context->program, &meeting->group, place),
                      "wait for the same collective", &meeting->posts[place]->done,
                      tile_of(meeting->number, tiles));
}

static int32_t wait_for_tiles(const struct meeting *meeting, int64_t tiles) {
    int32_t status = PLACE_OK;
    for (int32_t i = 0; i < meeting->group.size && !status; i++)
        status = wait_for_member(meeting, i, tiles);
    return status;
}

/* ---- portions ------------------------------------------------------------------------------- */

struct task {
    const struct meeting *meeting;
    int32_t place; /* whose portion it is */
};

/* A tile that nobody has taken, or -1. */
static int64_t take_tile(const struct task *task) {
    const struct meeting *meeting = task->meeting;
    struct post *post = meeting->posts[task->place];
    uint64_t taken = atomic_load_explicit(&post->taken, memory_order_relaxed);
    while (taken < tile_of(meeting->number, meeting->tiles))
        if (atomic_compare_exchange_weak_explicit(&post->taken, &taken, taken + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return (int64_t)(taken - tile_of(meeting->number, 0));
    return -1;
}

/* Does as many tiles as are asked for, as long as others leave any. */
static void do_tiles(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct task *task = arguments;
    const struct meeting *meeting = task->meeting;
    for (; begin < end; begin++) {
        int64_t tile = take_tile(task);
        if (tile < 0)
            return;
        portion_do_tile(&meeting->portions, task->place, tile);
        atomic_fetch_add(&meeting->posts[task->place]->done, 1);
    }
}

static void do_portion(const struct meeting *meeting, int32_t place) {
    struct task task = {meeting, place};
    if (meeting->context->team)
        team_run(meeting->context->team, meeting->tiles, 1, do_tiles, &task);
    else
        do_tiles(&task, 0, meeting->tiles, NULL);
    counters_moved(meeting->world);
}

/* Does this rank's own portion, then what is left of those that take longer. */
static void do_portions(const struct meeting *meeting) {
    int32_t n = meeting->group.size, own = meeting->group.place;
    do_portion(meeting, own);
    for (int32_t i = own + 1; i < own + n; i++)
        if (!comes_soon(meeting->context, &meeting->posts[i % n]->done,
                        tile_of(meeting->number, meeting->tiles)))
            do_portion(meeting, i % n);
}

/* ---- small all_reduces ---------------------------------------------------------------------- */

/* Reduces among few: everybody reduces everything into `block`, which is copied out when all have
 * read. */
static int32_t reduce_small(const struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    const struct portions *portions = &meeting->portions;
    _Alignas(CACHE_LINE) char block[COLLECTIVE_SMALL_BYTES];
    int64_t element = dtype_size(collective->dtype), used = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        collective_reduce(collective, block + used, &portions->sources[i * portions->n],
                          portions->n, 0, collective->pieces[i].valid, false);
        used += collective->pieces[i].valid * element;
    }
    for (int32_t i = 0; i < portions->n; i++)
        if (i != meeting->group.place)
            atomic_fetch_add_explicit(&portions->sent_bytes[i], used, memory_order_relaxed);
    move_counter(meeting->world, &meeting->mine->done, tile_of(meeting->number, 1));
    int32_t status = wait_for_tiles(meeting, 1);
    used = 0;
    for (int32_t i = 0; i < collective->n_pieces && !status; i++) {
        int64_t bytes = collective->pieces[i].valid * element;
        memcpy(collective->pieces[i].dst, block + used, (size_t)bytes);
        used += bytes;
    }
    return status;
}

/* What a member's seat has before round `round`. Each round writes where the one before the last
 * has read. */
static char *partial_of(const struct meeting *meeting, int32_t place, int32_t seat, int32_t round) {
    int32_t member = group_member(meeting->context->program, &meeting->group, place);
    return rank_numbered(meeting->world, member)->partials +
           (round % 2 * DOUBLING_SEATS + seat) * DOUBLING_PARTIAL_BYTES;
}

static struct doubling_turn turn_of(const struct meeting *meeting, int32_t seat, int32_t round) {
    return doubling_turn_of(meeting->group.size, meeting->group.place, seat, round);
}

/* What the other seat has given, in its memory; what this one has afterwards goes into this rank's.
 */
static int32_t take_turn(struct meeting *meeting, int32_t seat, int32_t round) {
    const struct collective *collective = &meeting->mine->collective;
    struct local_rank *rank = rank_of(meeting->context);
    struct doubling_turn turn = turn_of(meeting, seat, round);
    int32_t own = meeting->group.place;
    if (turn.gets && turn.partner != own) {
        int32_t status = meet(meeting, turn.partner);
        if (!status)
            status = wait_for_member(meeting, turn.partner, round + 1);
        if (status)
            return status;
        atomic_fetch_add_explicit(
            &rank->sent_bytes[collective->group * meeting->world->n + turn.partner],
            doubling_partial_bytes(collective), memory_order_relaxed);
    }
    doubling_join(collective, &turn, partial_of(meeting, own, seat, round + 1),
                  partial_of(meeting, own, seat, round),
                  partial_of(meeting, turn.partner, turn.seat, round));
    return PLACE_OK;
}

/* Waits until those who read in round `round` what this rank has given have done so. */
static int32_t wait_for_readers(struct meeting *meeting, int32_t seats, int32_t round) {
    int32_t status = PLACE_OK;
    for (int32_t seat = 0; seat < seats && !status; seat++) {
        struct doubling_turn turn = turn_of(meeting, seat, round);
        if (!turn.gives || turn.partner == meeting->group.place)
            continue;
        status = meet(meeting, turn.partner);
        if (!status)
            status = wait_for_member(meeting, turn.partner, round + 2);
    }
    return status;
}

/* Reduces among many: in the count of what is done, `round + 1` says that what a rank gives in that
 * round is there. */
static int32_t reduce_by_doubling(struct meeting *meeting) {
    const struct collective *collective = &meeting->mine->collective;
    int32_t n = meeting->group.size, own = meeting->group.place, status = PLACE_OK;
    int32_t rounds = doubling_rounds(n), seats = doubling_seats(n, own);
    doubling_take_leaf(collective, partial_of(meeting, own, 0, 0));
    for (int32_t round = 0; round <= rounds && !status; round++) {
        move_counter(meeting->world, &meeting->mine->done, tile_of(meeting->number, round + 1));
        if (round > 0)
            status = wait_for_readers(meeting, seats, round - 1);
        for (int32_t seat = 0; seat < seats && round < rounds && !status; seat++)
            status = take_turn(meeting, seat, round);
    }
    if (!status)
        doubling_give_root(collective, partial_of(meeting, own, 0, rounds));
    return status;
}

static int32_t run_meeting(struct meeting *meeting) {
    if (doubling_serves(meeting->context->program, &meeting->mine->collective, meeting->group.size))
        return reduce_by_doubling(meeting);
    int32_t status = meet_all(meeting);
    if (status)
        return status;
    if (!prepare_portions(meeting))
        return context_fail(meeting->context, meeting->statement, PLACE_ERROR_ARGUMENT,
                            "out of memory");
    if (collective_is_small(&meeting->mine->collective))
        return reduce_small(meeting);
    do_portions(meeting);
    return wait_for_tiles(meeting, meeting->tiles);
}

static int32_t local_wait(struct place_context *context, int32_t statement, int32_t handle) {
    struct local_rank *rank = rank_of(context);
    if (local_is_message(rank, handle))
        return local_message_wait(context, statement, handle);
    struct flight *flight = flight_of(rank, handle);
    if (!flight || !flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is waited for but was not started", handle);
    const struct place_program *program = context->program;
    struct meeting meeting = {
        .context = context,
        .world = rank->world,
        .statement = statement,
        .group = group_of(program, context->rank, &program->groups[flight->group].axes),
        .number = atomic_load_explicit(&flight->post->number, memory_order_relaxed),
        .mine = flight->post,
        .turn = (size_t)(flight->post - rank->queues[flight->group].posts),
        .posts = rank->peers,
    };
    int32_t status = run_meeting(&meeting);
    flight->in_flight = 0;
    return status;
}

static bool is_here(const struct local_world *world, int32_t rank) {
    return rank >= world->first && rank < world->first + world->n;
}

/* All that moves what a rank has sent are members of its group, and in this process. Of a group that
 * is not, collectives are another transport's, but for messages between two that are here. */
static int64_t local_sent_bytes(struct place_context *context, int32_t number) {
    const struct local_world *world = rank_of(context)->world;
    const struct place_program *program = context->program;
    struct group group = group_of(program, context->rank, &program->groups[number].axes);
    int64_t sent = rank_of(context)->message_bytes[number];
    for (int32_t i = 0; i < group.size; i++)
        if (!is_here(world, group_member(program, &group, i)))
            return sent;
    for (int32_t i = 0; i < group.size; i++) {
        int32_t member = group_member(program, &group, i);
        sent += atomic_load_explicit(
            &rank_numbered(world, member)->sent_bytes[number * world->n + group.place],
            memory_order_relaxed);
    }
    return sent;
}

static void local_abort(struct place_context *context) {
    local_waits_end(rank_of(context)->world);
}

static int local_is_aborted(const struct place_context *context) {
    return atomic_load(&rank_of(context)->world->aborted);
}

static void local_leave(struct place_context *context) {
    local_rank_leave(rank_of(context));
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
    .is_aborted = local_is_aborted,
    .leave = local_leave,
};

/* ---- the world ------------------------------------------------------------------------------ */

static bool rank_allocate(struct local_world *world, struct local_rank *rank,
                          int32_t direct_members) {
    bool doubles = world->n > direct_members;
    rank->world = world;
    rank->lives = true;
    sem_init(&rank->turn, 0, 0);
    rank->peers = calloc((size_t)world->n, sizeof *rank->peers);
    rank->flights = calloc((size_t)world->n_handles + 1, sizeof *rank->flights);
    rank->queues = lines_new((size_t)world->n_groups + 1, sizeof *rank->queues);
    rank->sent_bytes =
        lines_new((size_t)world->n * (size_t)(world->n_groups + 1), sizeof *rank->sent_bytes);
    rank->partials = doubles ? lines_new(2 * DOUBLING_SEATS, DOUBLING_PARTIAL_BYTES) : NULL;
    return local_ends_open(world, rank) && rank->peers && rank->flights && rank->queues &&
           rank->sent_bytes && (rank->partials || !doubles);
}

struct local_world *local_world_new(const struct place_program *program, int32_t first,
                                    int32_t ranks, int32_t running) {
    struct local_world *world = lines_new(1, sizeof *world);
    if (!world)
        return NULL;
    world->first = first;
    world->n = ranks;
    world->n_groups = program->n_groups;
    world->n_handles = program->n_handles;
    world->cached_bytes = portions_cached_bytes();
    world->turns = running < ranks ? running : ranks;
    world->running = ranks;
    world->takes_turns = ranks > running;
    world->are_many = ranks > available_cores() || world->takes_turns;
    pthread_mutex_init(&world->lock, NULL);
    world->ranks = lines_new((size_t)ranks, sizeof *world->ranks);
    world->channels = calloc((size_t)ranks * (size_t)ranks, sizeof *world->channels);
    world->lines = calloc((size_t)ranks * (size_t)ranks, sizeof *world->lines);
    bool enough = world->ranks && world->channels && world->lines;
    for (int32_t i = 0; enough && i < ranks; i++)
        enough = rank_allocate(world, &world->ranks[i], program->direct_members);
    if (enough)
        return world;
    local_world_free(world);
    return NULL;
}

static void rank_free(struct local_rank *rank) {
    for (int32_t i = 0; rank->queues && i < rank->world->n_groups; i++) {
        struct post *posts = rank->queues[i].posts;
        for (size_t j = 0; posts && j < posts_of(rank->world); j++)
            free(posts[j].more);
        free(posts);
    }
    free(rank->queues);
    free(rank->sent_bytes);
    free(rank->partials);
    free(rank->shared);
    free(rank->flights);
    local_ends_close(rank);
    free(rank->peers);
    free(rank->sources);
    free(rank->results);
    sem_destroy(&rank->turn);
}

void local_world_free(struct local_world *world) {
    if (!world)
        return;
    for (int32_t i = 0; world->ranks && i < world->n; i++)
        rank_free(&world->ranks[i]);
    pthread_mutex_destroy(&world->lock);
    free(world->ranks);
    free(world->channels);
    free(world->lines);
    free(world);
}

void local_join(struct local_world *world, struct place_context *context) {
    context->transport = &local_transport;
    context->local = rank_numbered(world, context->rank);
}
