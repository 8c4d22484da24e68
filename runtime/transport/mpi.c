/* Ranks in processes that a launcher started, one or several in each, over MPI. A shared object of
 * its own (libplace_mpi.so), so that nothing else needs MPI; launch.c finds it and calls
 * `place_transport_mpi`.
 *
 * A group whose members are all in this process is left to the local transport. For the others
 * collectives are built from single messages (mpi_messages.h), because MPI's own may send other
 * volumes, add in another order, or be slow; here every chunk is summed by one owner in the same
 * tree as in the local transport, so both give the same bits. All work is done in the wait (MPI
 * would not overlap by itself). A message is a header, by which the other side sees that it is in
 * the same collective, and the chunks of all pieces packed; bytes are counted where they are handed
 * over, without the header.
 *
 * Failures are noticed outside MPI: a rank that fails stops those of its process, which ends, and
 * with it the job. A rank that hears nothing for PLACE_TIMEOUT seconds (600) fails, and names whom
 * it did not hear. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/transport/launch.h"
#include "runtime/transport/mpi_messages.h"
#include "runtime/transport/transport.h"

struct header {
    int32_t kind, group, dtype, operation, shift, statement;
    uint64_t number; /* of the collective, among those of this group */
    int64_t bytes;   /* behind the header */
};

struct flight {
    int in_flight;
    struct collective collective;
    struct place_piece *pieces;
    int32_t capacity;
    uint64_t number;
    bool is_local; /* the local transport has all the rest */
};

/* A group of the program, as this rank belongs to it. */
struct traffic {
    bool is_local; /* all members are in this process */
    uint64_t started;
    int64_t sent_bytes;
};

/* A rank of this process. */
struct mpi_rank {
    const struct transport *local; /* among the ranks of this process */
    struct mailbox *box;
    struct flight *flights;  /* by handle */
    struct traffic *traffic; /* of every group */
    char *out, *in;          /* packed messages; grow to the largest collective, then stay */
    size_t out_bytes, in_bytes;
    const void **sources;
};
static struct mpi_rank *mpi_ranks; /* of this process, from the first on */
static int32_t first_rank;

static struct mpi_rank *rank_of(const struct place_context *context) {
    return context->mpi;
}

/* ---- start ------------------------------------------------------------------------------------
 */

static struct flight *flight_of(const struct place_context *context, int32_t handle) {
    return handle >= 0 && handle < context->program->n_handles ? &rank_of(context)->flights[handle]
                                                               : NULL;
}

static bool flight_fill(struct flight *flight, const struct collective *collective) {
    if (collective->n_pieces > flight->capacity) {
        struct place_piece *grown =
            realloc(flight->pieces, (size_t)collective->n_pieces * sizeof *grown);
        if (!grown)
            return false;
        flight->pieces = grown;
        flight->capacity = collective->n_pieces;
    }
    memcpy(flight->pieces, collective->pieces,
           (size_t)collective->n_pieces * sizeof *flight->pieces);
    flight->collective = *collective;
    flight->collective.pieces = flight->pieces;
    return true;
}

static int32_t fail_start(struct place_context *context, int32_t statement, const char *why,
                          int32_t handle) {
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "handle %d %s", handle, why);
}

static int32_t mpi_start(struct place_context *context, int32_t handle,
                         const struct collective *collective) {
    struct mpi_rank *self = rank_of(context);
    struct traffic *traffic = &self->traffic[collective->group];
    struct flight *flight = flight_of(context, handle);
    if (!flight)
        return fail_start(context, collective->statement, "is out of range", handle);
    if (flight->in_flight)
        return fail_start(context, collective->statement, "is still in flight", handle);
    if (!traffic->is_local && !flight_fill(flight, collective))
        return fail_start(context, collective->statement, "has no memory", handle);
    flight->in_flight = 1;
    flight->is_local = traffic->is_local;
    flight->number = traffic->started++;
    return flight->is_local ? self->local->start(context, handle, collective) : PLACE_OK;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

/* What the phases of one wait share. */
struct meeting {
    struct place_context *context;
    struct mpi_rank *self;
    int32_t statement;
    const struct collective *collective;
    struct traffic *traffic;
    struct group group;
    struct header header;
    int64_t element;
    size_t slot_bytes; /* of one message with its header */
};

static char *out_slot(const struct meeting *meeting, int32_t place) {
    return meeting->self->out + (size_t)place * meeting->slot_bytes;
}
static char *in_slot(const struct meeting *meeting, int32_t place) {
    return meeting->self->in + (size_t)place * meeting->slot_bytes;
}
static char *payload(char *slot) {
    return slot + sizeof(struct header);
}

static bool grow(char **buffer, size_t *capacity, size_t bytes) {
    if (bytes <= *capacity)
        return true;
    char *grown = realloc(*buffer, bytes);
    if (!grown)
        return false;
    *buffer = grown;
    *capacity = bytes;
    return true;
}

/* Payload bytes of one message: a chunk of every piece, or everything when small or permuted. */
static int64_t message_bytes_of(const struct collective *collective, int64_t n) {
    bool whole = collective_is_small(collective) || collective->kind == PLACE_PERMUTE;
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += whole ? collective->pieces[i].valid
                          : collective->pieces[i].outer * collective_chunk(collective, i, n);
    return elements * dtype_size(collective->dtype);
}

static int32_t meeting_prepare(struct meeting *meeting) {
    int64_t bytes = message_bytes_of(meeting->collective, meeting->group.size);
    meeting->header.bytes = bytes;
    meeting->slot_bytes = ((size_t)bytes + sizeof(struct header) + 63) / 64 * 64;
    size_t all = meeting->slot_bytes * (size_t)meeting->group.size;
    struct mpi_rank *self = meeting->self;
    if (!grow(&self->out, &self->out_bytes, all) || !grow(&self->in, &self->in_bytes, all))
        return context_fail(meeting->context, meeting->statement, PLACE_ERROR_TRANSPORT,
                            "no memory for messages of %zu bytes", all);
    return PLACE_OK;
}

static struct chunk_range packed_range(int64_t count) {
    return chunk_range_of(1, count, 1, 0);
}

/* Chunk `number` of every piece, from where the pieces' sources lie as wholes; padding as zeros. */
static void pack_chunks(const struct meeting *meeting, int32_t number, char *to) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        struct chunk_range range = collective_range(collective, i, meeting->group.size, number);
        int64_t count = range.outer * range.row;
        struct chunk_copy copy = {to,    collective->pieces[i].src, packed_range(count),
                                  range, meeting->element,          false};
        chunk_copy_part(&copy, 0, count);
        to += count * meeting->element;
        memset(to, 0, (size_t)(range.pad * meeting->element));
        to += range.pad * meeting->element;
    }
}

/* All of every piece's source, which is contiguous: parts of an all_gather, or what is not cut. */
static void pack_sources(const struct meeting *meeting, char *to) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        int64_t elements =
            collective->kind == PLACE_ALL_GATHER ? piece->outer * piece->chunk : piece->valid;
        memcpy(to, piece->src, (size_t)(elements * meeting->element));
        to += elements * meeting->element;
    }
}

/* ---- exchange ---------------------------------------------------------------------------------
 */

static int32_t check_header(const struct meeting *meeting, int32_t peer, const char *slot) {
    struct header other;
    memcpy(&other, slot, sizeof other);
    const struct header *own = &meeting->header;
    const char *difference = other.kind != own->kind             ? "kind"
                             : other.dtype != own->dtype         ? "element type"
                             : other.operation != own->operation ? "operation"
                             : other.shift != own->shift         ? "shift"
                             : other.bytes != own->bytes         ? "size of a piece"
                             : other.number != own->number       ? "place in the order"
                                                                 : NULL;
    if (!difference)
        return PLACE_OK;
    char where[256];
    context_describe_statement(meeting->context->program, other.statement, where, sizeof where);
    return context_fail(meeting->context, own->statement, PLACE_ERROR_MISMATCH,
                        "this %s meets a different collective: rank %d has started %s at %s; they "
                        "differ in their %s",
                        collective_name(meeting->collective->kind), peer,
                        collective_name((enum place_collective)other.kind), where, difference);
}

static int32_t peer_of(const struct meeting *meeting, int32_t place) {
    return group_member(meeting->context->program, &meeting->group, place);
}

static size_t message_bytes(const struct meeting *meeting) {
    return sizeof(struct header) + (size_t)meeting->header.bytes;
}

static bool post_receive(const struct meeting *meeting, int32_t place) {
    return message_receive(meeting->self->box, peer_of(meeting, place), meeting->collective->group,
                           in_slot(meeting, place), message_bytes(meeting));
}

/* The first part of a message carries at least the header. */
static bool post_send(const struct meeting *meeting, int32_t place, char *slot) {
    memcpy(slot, &meeting->header, sizeof meeting->header);
    meeting->traffic->sent_bytes += meeting->header.bytes;
    return message_send(meeting->self->box, peer_of(meeting, place), meeting->collective->group,
                        slot, message_bytes(meeting));
}

/* Waits for what was posted, if it could be. */
static int32_t finish(const struct meeting *meeting, bool posted) {
    if (!posted)
        return messages_fail(meeting->context, meeting->self->box, meeting->statement);
    return messages_finish(meeting->context, meeting->self->box, meeting->statement);
}

/* Sends slot `place` (or, if `same`, this rank's own slot) to every other member, and receives
 * theirs. */
static int32_t exchange(const struct meeting *meeting, bool same) {
    int32_t n = meeting->group.size, own = meeting->group.place;
    bool posted = true;
    for (int32_t i = 0; i < n && posted; i++)
        if (i != own)
            posted = post_receive(meeting, i);
    for (int32_t i = 0; i < n && posted; i++)
        if (i != own)
            posted = post_send(meeting, i, out_slot(meeting, same ? own : i));
    int32_t status = finish(meeting, posted);
    for (int32_t i = 0; i < n && !status; i++)
        if (i != own)
            status = check_header(meeting, peer_of(meeting, i), in_slot(meeting, i));
    return status;
}

/* Reduces the packed messages of all members, in their order, into `to`. Own slot must be packed
 * too. */
static void reduce_slots(const struct meeting *meeting, char *to) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        meeting->self->sources[i] =
            payload(i == meeting->group.place ? out_slot(meeting, i) : in_slot(meeting, i));
    collective_reduce(meeting->collective, to, meeting->self->sources, meeting->group.size, 0,
                      meeting->header.bytes / meeting->element, false);
}

/* Packed chunks into the results, where what comes from member `number` lies. */
static void unpack_chunks(const struct meeting *meeting, int32_t number, const char *from) {
    const struct collective *collective = meeting->collective;
    int32_t n = meeting->group.size;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        struct chunk_range range = collective->kind == PLACE_ALL_REDUCE
                                       ? collective_range(collective, i, n, number)
                                       : collective_result_range(collective, i, n, number);
        int64_t count = range.outer * range.row;
        struct chunk_copy copy = {collective->pieces[i].dst, from, range, packed_range(count),
                                  meeting->element,          false};
        chunk_copy_part(&copy, 0, count);
        from += (count + range.pad) * meeting->element;
    }
}

/* A packed message into results that are contiguous: reduced parts, whose padding becomes zero, or
 * wholes. */
static void unpack_results(const struct meeting *meeting, const char *from) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        int64_t elements =
            collective->kind == PLACE_REDUCE_SCATTER ? piece->outer * piece->chunk : piece->valid;
        memcpy(piece->dst, from, (size_t)(elements * meeting->element));
        from += elements * meeting->element;
    }
}

/* ---- the collectives --------------------------------------------------------------------------
 */

static void unpack_all_slots(const struct meeting *meeting) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        unpack_chunks(
            meeting, i,
            payload(i == meeting->group.place ? out_slot(meeting, i) : in_slot(meeting, i)));
}

static int32_t run_all_gather(const struct meeting *meeting) {
    pack_sources(meeting, payload(out_slot(meeting, meeting->group.place)));
    int32_t status = exchange(meeting, true);
    if (!status)
        unpack_all_slots(meeting);
    return status;
}

static void pack_all_slots(const struct meeting *meeting) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        pack_chunks(meeting, i, payload(out_slot(meeting, i)));
}

static int32_t run_all_to_all(const struct meeting *meeting) {
    pack_all_slots(meeting);
    int32_t status = exchange(meeting, false);
    if (!status)
        unpack_all_slots(meeting);
    return status;
}

/* One message goes out, one comes in. */
static int32_t run_permute(const struct meeting *meeting) {
    int32_t shift = meeting->collective->shift, own = meeting->group.place;
    int32_t before = group_before(&meeting->group, shift);
    char *slot = out_slot(meeting, own);
    pack_sources(meeting, payload(slot));
    if (before == own) {
        unpack_results(meeting, payload(slot));
        return PLACE_OK;
    }
    bool posted = post_receive(meeting, before) &&
                  post_send(meeting, group_behind(&meeting->group, shift), slot);
    int32_t status = finish(meeting, posted);
    if (!status)
        status = check_header(meeting, peer_of(meeting, before), in_slot(meeting, before));
    if (!status)
        unpack_results(meeting, payload(in_slot(meeting, before)));
    return status;
}

static int32_t run_small_all_reduce(const struct meeting *meeting) {
    char sums[COLLECTIVE_SMALL_BYTES];
    pack_sources(meeting, payload(out_slot(meeting, meeting->group.place)));
    int32_t status = exchange(meeting, true);
    if (status)
        return status;
    reduce_slots(meeting, sums);
    unpack_results(meeting, sums);
    return PLACE_OK;
}

/* This rank's chunk of the sum, packed, in its own out slot. */
static int32_t reduce_chunks(const struct meeting *meeting) {
    pack_all_slots(meeting);
    int32_t status = exchange(meeting, false);
    if (!status)
        reduce_slots(meeting, payload(out_slot(meeting, meeting->group.place)));
    return status;
}

static int32_t run_reduce_scatter(const struct meeting *meeting) {
    int32_t status = reduce_chunks(meeting);
    if (!status)
        unpack_results(meeting, payload(out_slot(meeting, meeting->group.place)));
    return status;
}

static int32_t run_all_reduce(const struct meeting *meeting) {
    if (collective_is_small(meeting->collective))
        return run_small_all_reduce(meeting);
    int32_t status = reduce_chunks(meeting);
    if (status)
        return status;
    unpack_chunks(meeting, meeting->group.place, payload(out_slot(meeting, meeting->group.place)));
    status = exchange(meeting, true);
    for (int32_t i = 0; i < meeting->group.size && !status; i++)
        if (i != meeting->group.place)
            unpack_chunks(meeting, i, payload(in_slot(meeting, i)));
    return status;
}

static int32_t run_collective(const struct meeting *meeting) {
    switch (meeting->collective->kind) {
    case PLACE_ALL_REDUCE:
        return run_all_reduce(meeting);
    case PLACE_REDUCE_SCATTER:
        return run_reduce_scatter(meeting);
    case PLACE_ALL_GATHER:
        return run_all_gather(meeting);
    case PLACE_ALL_TO_ALL:
        return run_all_to_all(meeting);
    case PLACE_PERMUTE:
        return run_permute(meeting);
    }
    return PLACE_ERROR_ARGUMENT; /* collective_check refuses all others */
}

static int32_t mpi_wait(struct place_context *context, int32_t statement, int32_t handle) {
    struct mpi_rank *self = rank_of(context);
    struct flight *flight = flight_of(context, handle);
    if (!flight || !flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is waited for but was not started", handle);
    flight->in_flight = 0;
    if (flight->is_local)
        return self->local->wait(context, statement, handle);
    const struct place_program *program = context->program;
    const struct collective *collective = &flight->collective;
    struct meeting meeting = {
        .context = context,
        .self = self,
        .statement = statement,
        .collective = collective,
        .traffic = &self->traffic[collective->group],
        .group = group_of(program, context->rank, &program->groups[collective->group].axes),
        .header = {.kind = (int32_t)collective->kind,
                   .group = collective->group,
                   .dtype = (int32_t)collective->dtype,
                   .operation = (int32_t)collective->operation,
                   .shift = collective->shift,
                   .statement = collective->statement,
                   .number = flight->number},
        .element = dtype_size(collective->dtype),
    };
    int32_t status = meeting_prepare(&meeting);
    return status ? status : run_collective(&meeting);
}

/* ---- host -------------------------------------------------------------------------------------
 */

static int64_t mpi_sent_bytes(struct place_context *context, int32_t group) {
    const struct mpi_rank *self = rank_of(context);
    const struct traffic *traffic = &self->traffic[group];
    return traffic->is_local ? self->local->sent_bytes(context, group) : traffic->sent_bytes;
}

/* Waits for what the host has posted, if it could be. */
static int32_t finish_host(struct place_context *context, bool posted) {
    struct mailbox *box = rank_of(context)->box;
    return posted ? messages_finish(context, box, -1) : messages_fail(context, box, -1);
}

/* From single messages, as all else, so that a rank that is silent can be named. */
static int32_t mpi_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    static char nothing;
    struct mailbox *box = rank_of(context)->box;
    bool posted = true;
    for (int32_t peer = 0; peer < context->program->devices && posted; peer++)
        if (peer != context->rank)
            posted =
                message_receive(box, peer, MESSAGE_OF_HOST,
                                bytes ? (char *)all + (size_t)peer * bytes : &nothing, bytes) &&
                message_send(box, peer, MESSAGE_OF_HOST, bytes ? mine : &nothing, bytes);
    if (bytes)
        memcpy((char *)all + (size_t)context->rank * bytes, mine, bytes);
    return finish_host(context, posted);
}

static int32_t mpi_send(struct place_context *context, int32_t to, const void *data, size_t bytes) {
    return finish_host(context,
                       message_send(rank_of(context)->box, to, MESSAGE_OF_HOST, data, bytes));
}

static int32_t mpi_receive(struct place_context *context, int32_t from, void *data, size_t bytes) {
    return finish_host(context,
                       message_receive(rank_of(context)->box, from, MESSAGE_OF_HOST, data, bytes));
}

/* Those of this process are told; it is about to end with an error, which ends the job
 * (module_end). */
static void mpi_abort(struct place_context *context) {
    rank_of(context)->local->abort(context);
    messages_abort();
}

static void mpi_leave(struct place_context *context) {
    rank_of(context)->local->leave(context);
}

static const struct transport mpi_transport = {
    .name = "mpi",
    .start = mpi_start,
    .wait = mpi_wait,
    .sent_bytes = mpi_sent_bytes,
    .share = mpi_share,
    .send = mpi_send,
    .receive = mpi_receive,
    .abort = mpi_abort,
    .leave = mpi_leave,
};

/* ---- the module -------------------------------------------------------------------------------
 */

static bool group_is_here(const struct place_program *program, int32_t rank, int32_t number) {
    struct group group = group_of(program, rank, &program->groups[number].axes);
    bool here = true;
    for (int32_t i = 0; i < group.size; i++)
        here &= rank_is_here(group_member(program, &group, i));
    return here;
}

static bool open_rank(const struct place_program *program, struct mpi_rank *self, int32_t rank) {
    self->box = messages_of(rank);
    self->sources = calloc((size_t)program->devices, sizeof *self->sources);
    self->flights = calloc((size_t)program->n_handles + 1, sizeof *self->flights);
    self->traffic = calloc((size_t)program->n_groups + 1, sizeof *self->traffic);
    if (!self->sources || !self->flights || !self->traffic)
        return false;
    for (int32_t i = 0; i < program->n_groups; i++)
        self->traffic[i].is_local = group_is_here(program, rank, i);
    return true;
}

static int module_begin(const struct place_program *program, int32_t processes,
                        double patience_seconds, int32_t *first, char *message,
                        size_t message_bytes) {
    if (messages_begin(program, processes, patience_seconds, first, message, message_bytes) != 0)
        return -1;
    int32_t ranks = (int32_t)(program->devices / processes);
    first_rank = *first;
    mpi_ranks = calloc((size_t)ranks, sizeof *mpi_ranks);
    bool enough = mpi_ranks;
    for (int32_t i = 0; i < ranks && enough; i++)
        enough = open_rank(program, &mpi_ranks[i], *first + i);
    if (!enough)
        snprintf(message, message_bytes, "no memory for %d ranks", ranks);
    return enough ? 0 : -1;
}

static void module_join(struct place_context *context) {
    context->mpi = &mpi_ranks[context->rank - first_rank];
    context->mpi->local = context->transport;
    context->transport = &mpi_transport;
}

/* Without MPI_Abort: when several ranks call it at once, Open MPI's launcher may crash, or hang
 * after all processes are gone. A process that ends without MPI_Finalize ends the job as well. */
static void module_end(int status) {
    fflush(NULL);
    if (status == 0 || status == 130)
        messages_end();
    else
        _exit(status);
}

__attribute__((visibility("default"))) const struct transport_module place_transport_mpi = {
    .abi_version = PLACE_ABI_VERSION,
    .begin = module_begin,
    .join = module_join,
    .end = module_end,
};
