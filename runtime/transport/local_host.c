/* What the host says between ranks that are threads: a message is read where its sender has it, so
 * the sender stays until it has been read, also where the run fails meanwhile. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/transport/local.h"

static struct channel *channel_between(const struct local_world *world, int32_t from, int32_t to) {
    return &world->channels[(from - world->first) * world->n + to - world->first];
}

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

int32_t local_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    struct local_rank *rank = rank_of(context);
    struct local_world *world = rank->world;
    uint64_t number = atomic_load(&rank->share_posted) + 1;
    if (!copy_shared(rank, mine, bytes))
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "no memory to share %zu bytes",
                            bytes);
    move_counter(rank->world, &rank->share_posted, number);
    for (int32_t i = 0; i < world->n; i++) {
        struct local_rank *peer = &world->ranks[i];
        int32_t status = wait_until(context, -1, world->first + i, "reach the end of the step",
                                    &peer->share_posted, number);
        if (status)
            return status;
        if (bytes)
            memcpy((char *)all + (size_t)i * bytes, peer->shared, bytes);
    }
    move_counter(rank->world, &rank->share_taken, number);
    for (int32_t i = 0; i < world->n; i++) {
        int32_t status = wait_until(context, -1, world->first + i, "reach the end of the step",
                                    &world->ranks[i].share_taken, number);
        if (status)
            return status;
    }
    return PLACE_OK;
}

/* One side alone opens a message: the receiver, who then reads all of it, or the sender. */
static bool open_message(struct channel *channel, uint64_t number) {
    uint64_t before = number - 1;
    return atomic_compare_exchange_strong(&channel->opened, &before, number);
}

/* Called by a sender who fails, and whose bytes will be gone. What the receiver copies at this
 * moment is waited for. */
static void take_back(struct channel *channel, uint64_t number) {
    if (!open_message(channel, number))
        while (atomic_load(&channel->taken) < number)
            sched_yield();
}

int32_t local_send(struct place_context *context, int32_t to, const void *data, size_t bytes) {
    struct local_world *world = rank_of(context)->world;
    struct channel *channel = channel_between(world, context->rank, to);
    uint64_t number = atomic_load(&channel->posted) + 1;
    channel->data = data;
    channel->bytes = bytes;
    move_counter(rank_of(context)->world, &channel->posted, number);
    int32_t status = wait_until(context, -1, to, "receive", &channel->taken, number);
    if (status)
        take_back(channel, number);
    return status;
}

int32_t local_receive(struct place_context *context, int32_t from, void *data, size_t bytes) {
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
    if (!open_message(channel, number))
        return fail_aborted(context, -1);
    memcpy(data, channel->data, bytes);
    move_counter(rank_of(context)->world, &channel->taken, number);
    return PLACE_OK;
}
