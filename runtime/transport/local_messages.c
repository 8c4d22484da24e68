/* Messages between parts, where ranks are threads. A send shows where its bytes are; the receiver
 * copies them from there in its own wait, and only then the sender's wait is over. So nothing is
 * kept in between, and a rank that is not there yet costs no memory.
 *
 * What a rank sends to another is numbered in the order of starts, as is what that one receives from
 * it: equal numbers are one message. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "runtime/team.h"
#include "runtime/transport/local.h"

/* One end of a message; by handle. A sender's is looked at by the receiver. */
struct local_end {
    int in_flight;
    int32_t peer;
    uint64_t number;
    struct collective collective;
    struct place_piece *pieces;
    int32_t most; /* room for so many pieces */
    /* A send's: for whom, and which, once all above is written; whether it has been copied. */
    _Alignas(CACHE_LINE) _Atomic uint64_t address;
    int64_t copied; /* bytes, by the receiver */
    _Atomic uint64_t taken;
};

enum { NUMBER_BITS = 40, TILE_BYTES = 1 << 18 };

static uint64_t address_of(int32_t to, uint64_t number) {
    return ((uint64_t)to + 1) << NUMBER_BITS | number;
}

static struct local_line *line_between(const struct local_world *world, int32_t from, int32_t to) {
    return &world->lines[(from - world->first) * world->n + to - world->first];
}

static struct local_end *end_of(const struct local_rank *rank, int32_t handle) {
    return handle >= 0 && handle < rank->world->n_handles ? &rank->ends[handle] : NULL;
}

bool local_ends_open(struct local_world *world, struct local_rank *rank) {
    size_t bytes = ((size_t)world->n_handles + 1) * sizeof *rank->ends;
    rank->ends = aligned_alloc(CACHE_LINE, bytes);
    if (rank->ends)
        memset(rank->ends, 0, bytes);
    rank->message_bytes = calloc((size_t)world->n_groups + 1, sizeof *rank->message_bytes);
    return rank->ends && rank->message_bytes;
}

void local_ends_close(struct local_rank *rank) {
    for (int32_t i = 0; rank->ends && i < rank->world->n_handles; i++)
        free(rank->ends[i].pieces);
    free(rank->ends);
    free(rank->message_bytes);
}

bool local_is_message(const struct local_rank *rank, int32_t handle) {
    const struct local_end *end = end_of(rank, handle);
    return end && end->in_flight;
}

static bool take_down(struct local_end *end, const struct collective *collective) {
    size_t bytes = (size_t)collective->n_pieces * sizeof *end->pieces;
    if (collective->n_pieces > end->most) {
        struct place_piece *grown = realloc(end->pieces, bytes);
        if (!grown)
            return false;
        end->pieces = grown;
        end->most = collective->n_pieces;
    }
    memcpy(end->pieces, collective->pieces, bytes);
    end->collective = *collective;
    end->collective.pieces = end->pieces;
    return true;
}

int32_t local_message_start(struct place_context *context, int32_t handle,
                            const struct collective *collective) {
    struct local_rank *rank = rank_of(context);
    struct local_end *end = end_of(rank, handle);
    if (!end || end->in_flight)
        return context_fail(context, collective->statement, PLACE_ERROR_ARGUMENT, "handle %d is %s",
                            handle, end ? "still in flight" : "out of range");
    if (!take_down(end, collective))
        return context_fail(context, collective->statement, PLACE_ERROR_ARGUMENT, "out of memory");
    end->in_flight = 1;
    end->peer = collective_peer(context->program, context->rank, collective);
    if (collective->kind == PLACE_RECEIVE) {
        end->number = ++line_between(rank->world, end->peer, context->rank)->received;
        return PLACE_OK;
    }
    struct local_line *line = line_between(rank->world, context->rank, end->peer);
    end->number = atomic_load_explicit(&line->sent, memory_order_relaxed) + 1;
    end->copied = 0;
    atomic_store_explicit(&end->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&end->address, address_of(end->peer, end->number), memory_order_release);
    move_counter(rank->world, &line->sent, end->number);
    return PLACE_OK;
}

/* The other end, which has been started; first where a handle of the same number has it. */
static struct local_end *find_sent(const struct local_rank *sender, const struct local_end *end,
                                   int32_t handle, int32_t receiver) {
    int32_t n = sender->world->n_handles;
    for (int32_t i = 0; i < n; i++) {
        struct local_end *sent = &sender->ends[(handle + i) % n];
        if (atomic_load_explicit(&sent->address, memory_order_acquire) ==
            address_of(receiver, end->number))
            return sent;
    }
    return NULL;
}

struct copied {
    char *to;
    const char *from;
    int64_t bytes;
};

static void copy_tiles(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct copied *copied = arguments;
    int64_t first = begin * TILE_BYTES, behind = end * TILE_BYTES;
    behind = behind < copied->bytes ? behind : copied->bytes;
    memcpy(copied->to + first, copied->from + first, (size_t)(behind - first));
}

static int64_t copy_pieces(struct place_context *context, const struct local_end *sent,
                           const struct local_end *end) {
    int64_t element = dtype_size(end->collective.dtype), all = 0;
    for (int32_t i = 0; i < end->collective.n_pieces; i++) {
        struct copied copied = {end->pieces[i].dst, sent->pieces[i].src,
                                end->pieces[i].valid * element};
        int64_t tiles = (copied.bytes + TILE_BYTES - 1) / TILE_BYTES;
        if (context->team && tiles > 1)
            team_run(context->team, tiles, 1, copy_tiles, &copied);
        else
            copy_tiles(&copied, 0, tiles, NULL);
        all += copied.bytes;
    }
    return all;
}

static int32_t fail_other(struct place_context *context, const struct local_end *sent,
                          const struct local_end *end) {
    char where[256];
    context_describe_statement(context->program, sent->collective.statement, where, sizeof where);
    return context_fail(context, end->collective.statement, PLACE_ERROR_MISMATCH,
                        "this receive meets another message: rank %d has sent it at %s; they "
                        "differ in their %s",
                        end->peer, where, message_difference(&sent->collective, &end->collective));
}

static int32_t receive(struct place_context *context, int32_t statement, int32_t handle,
                       const struct local_end *end) {
    struct local_rank *rank = rank_of(context);
    struct local_world *world = rank->world;
    const struct local_rank *sender = rank_numbered(world, end->peer);
    int32_t status = wait_until(context, statement, end->peer, "send a message",
                                &line_between(world, end->peer, context->rank)->sent, end->number);
    if (status)
        return status;
    struct local_end *sent = find_sent(sender, end, handle, context->rank);
    if (!sent) /* it has failed, and left */
        return fail_aborted(context, statement);
    if (message_difference(&sent->collective, &end->collective))
        return fail_other(context, sent, end);
    sent->copied = copy_pieces(context, sent, end);
    move_counter(rank->world, &sent->taken, 1);
    return PLACE_OK;
}

/* Until the other has copied. */
static int32_t stay(struct place_context *context, int32_t statement, struct local_end *end) {
    int32_t status = wait_until(context, statement, end->peer, "receive a message", &end->taken, 1);
    if (!status)
        rank_of(context)->message_bytes[end->collective.group] += end->copied;
    return status;
}

int32_t local_message_wait(struct place_context *context, int32_t statement, int32_t handle) {
    struct local_end *end = end_of(rank_of(context), handle);
    int32_t status = end->collective.kind == PLACE_RECEIVE
                         ? receive(context, statement, handle, end)
                         : stay(context, statement, end);
    end->in_flight = 0;
    return status;
}
