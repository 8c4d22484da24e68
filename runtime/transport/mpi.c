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
 * that hears nothing for PLACE_TIMEOUT seconds (600) fails. */
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
    int32_t kind, group, dtype, statement;
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
    int n_requests, cap_requests;
    const void **sources;
};
static struct mpi_rank self;

/* ---- messages ---------------------------------------------------------------------------------
 */

static bool push_request(MPI_Request **request) {
    if (self.n_requests == self.cap_requests) {
        int capacity = self.cap_requests ? self.cap_requests * 2 : 64;
        MPI_Request *grown = realloc(self.requests, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        self.requests = grown;
        self.cap_requests = capacity;
    }
    *request = &self.requests[self.n_requests++];
    return true;
}

/* Posts one message in parts. MPI's error, if any. */
static int post_message(bool send, int32_t peer, int tag, char *data, size_t bytes) {
    for (size_t at = 0; at == 0 || at < bytes; at += PART_BYTES) {
        MPI_Request *request;
        if (!push_request(&request))
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
            return context_fail(context, statement, PLACE_ERROR_TRANSPORT,
                                "no answer for %.0f seconds; set PLACE_TIMEOUT to wait longer",
                                self.timeout_s);
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

/* Payload bytes of one message: a chunk of every piece, or everything when small. */
static int64_t message_bytes_of(const struct collective *collective, int64_t n) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective_is_small(collective)
                        ? collective->pieces[i].valid
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

/* Chunk `number` of every piece, from where the pieces' sources or results lie as wholes; padding
 * as zeros. Returns the end. */
static char *pack_chunks(const struct meeting *meeting, bool results, int32_t number, char *to) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        const char *whole = results ? piece->dst : piece->src;
        struct chunk_range range = collective_range(collective, i, meeting->group.size, number);
        for (int64_t row = 0; row < range.outer; row++) {
            size_t bytes = (size_t)(range.row * meeting->element);
            memcpy(to, whole + (range.begin + row * range.stride) * meeting->element, bytes);
            to += bytes;
        }
        memset(to, 0, (size_t)(range.pad * meeting->element));
        to += range.pad * meeting->element;
    }
    return to;
}

/* All of every piece's source, which is contiguous: parts of an all_gather, or a small all_reduce.
 */
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
    const char *difference = other.kind != own->kind       ? "kind"
                             : other.dtype != own->dtype   ? "element type"
                             : other.bytes != own->bytes   ? "size of a piece"
                             : other.number != own->number ? "place in the order"
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

/* Sends slot `place` (or, if `same`, this rank's own slot) to every other member, and receives
 * theirs. */
static int32_t exchange(const struct meeting *meeting, bool same) {
    const struct group *group = &meeting->group;
    size_t bytes = sizeof(struct header) + (size_t)meeting->header.bytes;
    int tag = meeting->collective->group, error = MPI_SUCCESS;
    for (int32_t i = 0; i < group->size && error == MPI_SUCCESS; i++)
        if (i != group->place)
            error = post_message(false, group_member(meeting->context->program, group, i), tag,
                                 in_slot(meeting, i), bytes);
    for (int32_t i = 0; i < group->size && error == MPI_SUCCESS; i++) {
        if (i == group->place)
            continue;
        char *slot = out_slot(meeting, same ? group->place : i);
        memcpy(slot, &meeting->header, sizeof meeting->header);
        /* The first part carries at least the header. */
        error =
            post_message(true, group_member(meeting->context->program, group, i), tag, slot, bytes);
        meeting->traffic->sent_bytes += meeting->header.bytes;
    }
    if (error != MPI_SUCCESS)
        return context_fail(meeting->context, meeting->statement, PLACE_ERROR_TRANSPORT,
                            "MPI cannot send: error %d", error);
    int32_t status = finish_messages(meeting->context, meeting->statement);
    for (int32_t i = 0; i < group->size && !status; i++)
        if (i != group->place)
            status = check_header(meeting, group_member(meeting->context->program, group, i),
                                  in_slot(meeting, i));
    return status;
}

/* Sums the packed messages of all members, in their order, into `to`. Own slot must be packed too.
 */
static void sum_slots(const struct meeting *meeting, char *to) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        self.sources[i] =
            payload(i == meeting->group.place ? out_slot(meeting, i) : in_slot(meeting, i));
    collective_sum(meeting->collective->dtype, to, self.sources, meeting->group.size, 0,
                   meeting->header.bytes / meeting->element);
}

/* Packed chunks into the results, as chunk `number` of wholes. */
static void unpack_chunks(const struct meeting *meeting, int32_t number, const char *from) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        struct chunk_range range = collective_range(collective, i, meeting->group.size, number);
        if (collective->kind == PLACE_ALL_GATHER) { /* padding and all */
            range.row += range.pad;
            range.pad = 0;
        }
        for (int64_t row = 0; row < range.outer; row++) {
            size_t bytes = (size_t)(range.row * meeting->element);
            memcpy((char *)collective->pieces[i].dst +
                       (range.begin + row * range.stride) * meeting->element,
                   from, bytes);
            from += bytes;
        }
        from += range.pad * meeting->element;
    }
}

/* Packed sums into results that are contiguous: parts, whose padding becomes zero, or small wholes.
 */
static void unpack_results(const struct meeting *meeting, const char *from) {
    const struct collective *collective = meeting->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        int64_t elements =
            collective->kind == PLACE_ALL_REDUCE ? piece->valid : piece->outer * piece->chunk;
        memcpy(piece->dst, from, (size_t)(elements * meeting->element));
        from += elements * meeting->element;
    }
}

/* ---- the collectives --------------------------------------------------------------------------
 */

static int32_t run_all_gather(const struct meeting *meeting) {
    pack_sources(meeting, payload(out_slot(meeting, meeting->group.place)));
    int32_t status = exchange(meeting, true);
    for (int32_t i = 0; i < meeting->group.size && !status; i++)
        unpack_chunks(
            meeting, i,
            payload(i == meeting->group.place ? out_slot(meeting, i) : in_slot(meeting, i)));
    return status;
}

static int32_t run_small_all_reduce(const struct meeting *meeting) {
    char sums[COLLECTIVE_SMALL_BYTES];
    pack_sources(meeting, payload(out_slot(meeting, meeting->group.place)));
    int32_t status = exchange(meeting, true);
    if (status)
        return status;
    sum_slots(meeting, sums);
    unpack_results(meeting, sums);
    return PLACE_OK;
}

/* This rank's chunk of the sum, packed, in its own out slot. */
static int32_t reduce_chunks(const struct meeting *meeting) {
    for (int32_t i = 0; i < meeting->group.size; i++)
        pack_chunks(meeting, false, i, payload(out_slot(meeting, i)));
    int32_t status = exchange(meeting, false);
    if (!status)
        sum_slots(meeting, payload(out_slot(meeting, meeting->group.place)));
    return status;
}

static int32_t run_collective(const struct meeting *meeting) {
    if (collective_is_small(meeting->collective))
        return run_small_all_reduce(meeting);
    if (meeting->collective->kind == PLACE_ALL_GATHER)
        return run_all_gather(meeting);
    int32_t status = reduce_chunks(meeting);
    if (status)
        return status;
    const char *own = payload(out_slot(meeting, meeting->group.place));
    if (meeting->collective->kind == PLACE_REDUCE_SCATTER) {
        unpack_results(meeting, own);
        return PLACE_OK;
    }
    unpack_chunks(meeting, meeting->group.place, own);
    status = exchange(meeting, true);
    for (int32_t i = 0; i < meeting->group.size && !status; i++)
        if (i != meeting->group.place)
            unpack_chunks(meeting, i, payload(in_slot(meeting, i)));
    return status;
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
        .header = {(int32_t)collective->kind, collective->group, (int32_t)collective->dtype,
                   collective->statement, flight->number, 0},
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

static int32_t mpi_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    MPI_Request *request;
    static char nothing;
    if (!push_request(&request))
        return context_fail(context, -1, PLACE_ERROR_TRANSPORT, "no memory");
    MPI_Iallgather(mine ? mine : &nothing, (int)bytes, MPI_BYTE, all ? all : &nothing, (int)bytes,
                   MPI_BYTE, self.comm, request);
    int32_t status = finish_messages(context, -1);
    return status;
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
