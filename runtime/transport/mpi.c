/* Ranks as processes that a launcher started, over MPI. A shared object of its own
 * (libplace_mpi.so), so that nothing else needs MPI; launch.c finds it and calls
 * `place_transport_mpi`.
 *
 * Collectives are built from MPI_Isend and MPI_Irecv, because MPI's own may send other volumes, add
 * in another order, or be slow; here every chunk is summed by one owner in order of rank, as in the
 * local transport, so both give the same bits. All work is done in the wait (MPI would not overlap
 * by itself). A message is a header, by which the other side sees that it is in the same
 * collective, and the chunks of all pieces packed; bytes are counted where they are handed to MPI,
 * without the header.
 *
 * Failures are noticed outside MPI: a rank that fails ends its process, and with it the job. A rank
 * that hears nothing for PLACE_TIMEOUT seconds (600) fails, and names whom it did not hear. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/transport/launch.h"
#include "runtime/transport/transport.h"

enum {
    PART_BYTES = 1 << 30, /* of one MPI message: its counts are ints */
    HOST_TAG = 0x7fff /* of messages outside groups, which have their index; MPI's least limit */
};

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
};

struct traffic {
    uint64_t started;
    int64_t sent_bytes;
};

/* This process's only rank. */
struct mpi_rank {
    MPI_Comm comm;
    double timeout_s;
    struct flight *flights;
    int32_t n_flights;
    struct traffic *traffic; /* of every group */
    char *out, *in;          /* packed messages; grow to the largest collective, then stay */
    size_t out_bytes, in_bytes;
    MPI_Request *requests;
    int32_t *peers; /* of every request */
    int n_requests, cap_requests;
    const void **sources;
};
static struct mpi_rank self;

/* ---- messages ---------------------------------------------------------------------------------
 */

static bool grow_requests(void) {
    int capacity = self.cap_requests ? self.cap_requests * 2 : 64;
    MPI_Request *requests = realloc(self.requests, (size_t)capacity * sizeof *requests);
    if (requests)
        self.requests = requests;
    int32_t *peers = realloc(self.peers, (size_t)capacity * sizeof *peers);
    if (peers)
        self.peers = peers;
    if (requests && peers)
        self.cap_requests = capacity;
    return requests && peers;
}

static bool push_request(MPI_Request **request, int32_t peer) {
    if (self.n_requests == self.cap_requests && !grow_requests())
        return false;
    self.peers[self.n_requests] = peer;
    *request = &self.requests[self.n_requests++];
    return true;
}

/* Posts one message in parts. MPI's error, if any. */
static int post_message(bool send, int32_t peer, int tag, char *data, size_t bytes) {
    for (size_t at = 0; at == 0 || at < bytes; at += PART_BYTES) {
        MPI_Request *request;
        if (!push_request(&request, peer))
            return MPI_ERR_NO_MEM;
        int count = (int)(bytes - at < PART_BYTES ? bytes - at : PART_BYTES);
        int error = send ? MPI_Isend(data + at, count, MPI_BYTE, peer, tag, self.comm, request)
                         : MPI_Irecv(data + at, count, MPI_BYTE, peer, tag, self.comm, request);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of messages that did not come: "rank 1, 3". Each rank stands once. */
static void name_silent_peers(char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "rank");
    int32_t named = -1;
    for (;;) { /* the next larger number of one that is silent */
        int32_t next = INT32_MAX;
        for (int i = 0; i < self.n_requests; i++) {
            int done = 1;
            if (self.peers[i] > named && self.peers[i] < next &&
                MPI_Test(&self.requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
                next = self.peers[i];
        }
        if (next == INT32_MAX || used >= bytes - 16)
            return;
        used += (size_t)snprintf(text + used, bytes - used, "%s %d", named < 0 ? "" : ",", next);
        named = next;
    }
}

static int32_t fail_silence(struct place_context *context, int32_t statement) {
    char silent[256];
    name_silent_peers(silent, sizeof silent);
    return context_fail(context, statement, PLACE_ERROR_TRANSPORT,
                        "no answer from %s for %.0f seconds: it hangs, or is gone. Set "
                        "PLACE_TIMEOUT to wait longer",
                        silent, self.timeout_s);
}

/* Waits for all posted messages. */
static int32_t finish_messages(struct place_context *context, int32_t statement) {
    double begin = now_seconds();
    int done = 0;
    while (!done) {
        int error = MPI_Testall(self.n_requests, self.requests, &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS) {
            int class = MPI_ERR_OTHER;
            MPI_Error_class(error, &class);
            return context_fail(context, statement, PLACE_ERROR_TRANSPORT,
                                class == MPI_ERR_TRUNCATE || class == MPI_ERR_IN_STATUS
                                    ? "a peer is in a collective of another size"
                                    : "MPI reports error class %d",
                                class);
        }
        if (!done && now_seconds() - begin > self.timeout_s)
            return fail_silence(context, statement);
        if (!done)
            sched_yield();
    }
    self.n_requests = 0;
    return PLACE_OK;
}

/* ---- start ------------------------------------------------------------------------------------
 */

static struct flight *flight_of(int32_t handle) {
    if (handle < 0 || handle >= 1 << 20)
        return NULL;
    if (handle >= self.n_flights) {
        int32_t n = handle + 64;
        struct flight *grown = realloc(self.flights, (size_t)n * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + self.n_flights, 0, (size_t)(n - self.n_flights) * sizeof *grown);
        self.flights = grown;
        self.n_flights = n;
    }
    return &self.flights[handle];
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

static int32_t mpi_start(struct place_context *context, int32_t handle,
                         const struct collective *collective) {
    struct flight *flight = flight_of(handle);
    if (!flight || flight->in_flight || !flight_fill(flight, collective))
        return context_fail(context, collective->statement, PLACE_ERROR_ARGUMENT,
                            flight && flight->in_flight ? "handle %d is still in flight"
                                                        : "no room for handle %d",
                            handle);
    flight->in_flight = 1;
    flight->number = self.traffic[collective->group].started++;
    return PLACE_OK;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

/* What the phases of one wait share. */
struct meeting {
    struct place_context *context;
    int32_t statement;
    const struct collective *collective;
    struct traffic *traffic;
    struct group group;
    struct header header;
    int64_t element;
    size_t slot_bytes; /* of one message with its header */
};

static char *out_slot(const struct meeting *meeting, int32_t place) {
    return self.out + (size_t)place * meeting->slot_bytes;
}
static char *in_slot(const struct meeting *meeting, int32_t place) {
    return self.in + (size_t)place * meeting->slot_bytes;
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
    if (!grow(&self.out, &self.out_bytes, all) || !grow(&self.in, &self.in_bytes, all))
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
        struct chunk_copy copy = {to, collective->pieces[i].src, packed_range(count), range,
                                  meeting->element};
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

static int post_receive(const struct meeting *meeting, int32_t place) {
    return post_message(false, peer_of(meeting, place), meeting->collective->group,
                        in_slot(meeting, place), message_bytes(meeting));
}

/* The first part of a message carries at least the header. */
static int post_send(const struct meeting *meeting, int32_t place, char *slot) {
    memcpy(slot, &meeting->header, sizeof meeting->header);
    meeting->traffic->sent_bytes += meeting->header.bytes;
    return post_message(true, peer_of(meeting, place), meeting->collective->group, slot,
                        message_bytes(meeting));
}

static int32_t fail_send(const struct meeting *meeting, int error) {
    return context_fail(meeting->context, meeting->statement, PLACE_ERROR_TRANSPORT,
                        "MPI cannot send: error %d", error);
}

/* Sends slot `place` (or, if `same`, this rank's own slot) to every other member, and receives
 * theirs. */
static int32_t exchange(const struct meeting *meeting, bool same) {
    int32_t n = meeting->group.size, own = meeting->group.place;
    int error = MPI_SUCCESS;
    for (int32_t i = 0; i < n && error == MPI_SUCCESS; i++)
        if (i != own)
            error = post_receive(meeting, i);
    for (int32_t i = 0; i < n && error == MPI_SUCCESS; i++)
        if (i != own)
            error = post_send(meeting, i, out_slot(meeting, same ? own : i));
    if (error != MPI_SUCCESS)
        return fail_send(meeting, error);
    int32_t status = finish_messages(meeting->context, meeting->statement);
    for (int32_t i = 0; i < n && !status; i++)
        if (i != own)
            status = check_header(meeting, peer_of(meeting, i), in_slot(meeting, i));
    return status;
}

/* Reduces the packed messages of all members, in their order, into `to`. Own slot must be packed
 * too. */
static void reduce_slots(const struct meeting *meeting, char *to) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        self.sources[i] =
            payload(i == meeting->group.place ? out_slot(meeting, i) : in_slot(meeting, i));
    collective_reduce(meeting->collective, to, self.sources, meeting->group.size, 0,
                      meeting->header.bytes / meeting->element);
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
                                  meeting->element};
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
    int error = post_receive(meeting, before);
    if (error == MPI_SUCCESS)
        error = post_send(meeting, group_behind(&meeting->group, shift), slot);
    if (error != MPI_SUCCESS)
        return fail_send(meeting, error);
    int32_t status = finish_messages(meeting->context, meeting->statement);
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
    struct flight *flight = flight_of(handle);
    if (!flight || !flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is waited for but was not started", handle);
    const struct place_program *program = context->program;
    const struct collective *collective = &flight->collective;
    struct meeting meeting = {
        .context = context,
        .statement = statement,
        .collective = collective,
        .traffic = &self.traffic[collective->group],
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
    flight->in_flight = 0;
    int32_t status = meeting_prepare(&meeting);
    return status ? status : run_collective(&meeting);
}

/* ---- host -------------------------------------------------------------------------------------
 */

static int64_t mpi_sent_bytes(struct place_context *context, int32_t group) {
    return self.traffic[group].sent_bytes;
}

/* From single messages, as all else, so that a rank that is silent can be named. */
static int32_t mpi_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    static char nothing;
    int32_t n = (int32_t)context->program->devices;
    int error = MPI_SUCCESS;
    for (int32_t peer = 0; peer < n && error == MPI_SUCCESS; peer++) {
        if (peer == context->rank)
            continue;
        char *from = bytes ? (char *)all + (size_t)peer * bytes : &nothing;
        error = post_message(false, peer, HOST_TAG, from, bytes);
        if (error == MPI_SUCCESS)
            error = post_message(true, peer, HOST_TAG, bytes ? (char *)mine : &nothing, bytes);
    }
    if (error != MPI_SUCCESS)
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "MPI cannot send: error %d", error);
    if (bytes)
        memcpy((char *)all + (size_t)context->rank * bytes, mine, bytes);
    return finish_messages(context, -1);
}

static int32_t mpi_send(struct place_context *context, int32_t to, const void *data, size_t bytes) {
    if (post_message(true, to, HOST_TAG, (char *)data, bytes) != MPI_SUCCESS)
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "MPI cannot send");
    return finish_messages(context, -1);
}

static int32_t mpi_receive(struct place_context *context, int32_t from, void *data, size_t bytes) {
    if (post_message(false, from, HOST_TAG, data, bytes) != MPI_SUCCESS)
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "MPI cannot receive");
    return finish_messages(context, -1);
}

/* The process is about to end with an error, which ends the job (module_end). */
static void mpi_abort(struct place_context *context) {
}
static void mpi_leave(struct place_context *context) {
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

static int module_begin(const struct place_program *program, int32_t *rank, char *message,
                        size_t message_bytes) {
    int provided, size = 0, number = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(message, message_bytes, "MPI cannot be started");
        return -1;
    }
    self.comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(self.comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(self.comm, &size);
    MPI_Comm_rank(self.comm, &number);
    const char *timeout = getenv("PLACE_TIMEOUT");
    self.timeout_s = timeout && atof(timeout) > 0 ? atof(timeout) : 600;
    self.sources = calloc((size_t)size, sizeof *self.sources);
    self.traffic = calloc((size_t)program->n_groups + 1, sizeof *self.traffic);
    *rank = number;
    if (size != program->devices)
        snprintf(message, message_bytes, "MPI has %d process%s, but the mesh has %lld device%s",
                 size, size == 1 ? "" : "es", (long long)program->devices,
                 program->devices == 1 ? "" : "s");
    else if (!self.sources || !self.traffic || program->n_groups > HOST_TAG)
        snprintf(message, message_bytes, "no room for %d groups", program->n_groups);
    else
        return 0;
    return -1;
}

static void module_join(struct place_context *context) {
    context->transport = &mpi_transport;
    context->endpoint = &self;
}

/* Without MPI_Abort: when several ranks call it at once, Open MPI's launcher may crash, or hang
 * after all processes are gone. A process that ends without MPI_Finalize ends the job as well. */
static void module_end(int status) {
    fflush(NULL);
    if (status == 0 || status == 130)
        MPI_Finalize();
    else
        _exit(status);
}

__attribute__((visibility("default"))) const struct transport_module place_transport_mpi = {
    .abi_version = PLACE_ABI_VERSION,
    .begin = module_begin,
    .join = module_join,
    .end = module_end,
};
