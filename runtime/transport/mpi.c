/* Ranks in processes that a launcher started, one or several in each, over MPI. A shared object of
 * its own (libplace_mpi.so), so that nothing else needs MPI; launch.c finds it and calls
 * `place_transport_mpi`.
 *
 * A group whose members are all in this process is left to the local transport. Collectives of the
 * others are built from single messages (mpi_flight.h). A start puts them on their way; MPI does
 * not go on by itself, so the rank goes on with them between the tiles of its kernels (`progress`),
 * sums and second exchanges included, and the wait finishes what is left.
 *
 * All ranks start and wait in one order; a rank's flights get room, and those of a group go on, in
 * the order of their starts; and whoever waits, for whatever, goes on with its oldest. So the
 * oldest flight that is not complete everywhere lacks nothing but its own messages, and nobody
 * waits for ever.
 *
 * Failures are noticed outside MPI: a rank that fails stops those of its process, which ends, and
 * with it the job. A rank that waits in a step or at its end, and hears nothing for PLACE_TIMEOUT
 * seconds (600), fails and names whom it did not hear. Between steps another may be at files for as
 * long as its disk takes: there nothing ends a wait but the end of the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/transport/launch.h"
#include "runtime/transport/mpi_ends.h"

enum {
    LOOKED_AFTER = 4,             /* flights of a rank: the oldest, which the others wait for */
    TICKS_BETWEEN_LOOKS = 200000, /* of the processor's clock: some 80 us */
};

/* A group of the program, as this rank belongs to it. */
struct traffic {
    bool is_local; /* all members are in this process */
    uint64_t started;
    struct flight *last;
    int64_t sent_bytes;
};

/* A rank of this process. */
struct mpi_rank {
    const struct transport *local; /* among the ranks of this process */
    struct messages *host;
    struct part *host_parts; /* one for every rank, and one */
    struct flight *flights;  /* by handle */
    struct traffic *traffic; /* of every group */
    const void **sources;
    struct flight *first; /* that is not complete, in the order of their starts */
    struct flight *ends;  /* of messages between parts, that are not waited for yet */
    uint64_t looked;      /* when it last looked after them */
    /* Room is given in a ring, in the order of starts: taken from room_begin to room_end. */
    char *room;
    size_t room_bytes, room_begin, room_end;
};
static struct mpi_rank *mpi_ranks; /* of this process, from the first on */
static int32_t first_rank;

static struct mpi_rank *rank_of(const struct place_context *context) {
    return context->mpi;
}

/* ---- room ----------------------------------------------------------------------------------- */

/* Null: it has to wait until others have given theirs back. */
static char *take_room(struct mpi_rank *self, size_t bytes) {
    if (self->room_begin == self->room_end)
        self->room_begin = self->room_end = 0;
    bool wrapped = self->room_end < self->room_begin;
    size_t at = self->room_end, end = wrapped ? self->room_begin : self->room_bytes + 1;
    if (!wrapped && at + bytes >= end)
        at = 0, end = self->room_begin;
    if (at + bytes >= end)
        return NULL;
    self->room_end = at + bytes;
    return self->room + at;
}

/* What one has that is not the oldest goes to the one before, which gives both back. */
static void give_room_back(struct mpi_rank *self, const struct flight *flight,
                           struct flight *before) {
    *(before ? &before->room_end : &self->room_begin) = flight->room_end;
}

/* ---- going on ------------------------------------------------------------------------------- */

/* Begins the flights that are ready, as far as there is room, in the order of their starts. */
static int32_t begin_flights(struct mpi_rank *self) {
    int32_t status = PLACE_OK;
    for (struct flight *flight = self->first; flight && !status; flight = flight->next) {
        if (flight->stage != FLIGHT_READY)
            continue;
        flight->room = take_room(self, flight->room_bytes);
        if (!flight->room)
            return PLACE_OK;
        flight->room_end = self->room_end;
        status = flight_begin(flight);
    }
    return status;
}

static void forget_complete_flights(struct mpi_rank *self) {
    struct flight **link = &self->first, *before = NULL;
    while (*link) {
        struct flight *flight = *link;
        if (flight->stage == FLIGHT_IDLE) {
            give_room_back(self, flight, before);
            *link = flight->next;
        } else {
            before = flight;
            link = &flight->next;
        }
    }
}

/* Goes on with the oldest flights, and, where one is wanted, with what that depends on; *moved says
 * that one did. */
static int32_t go_on(struct mpi_rank *self, struct flight *wanted, bool *moved) {
    int32_t status = PLACE_OK;
    struct flight *flight = self->first;
    for (int i = 0; i < LOOKED_AFTER && flight && !status; i++, flight = flight->next)
        status = flight_advance(flight, moved);
    if (wanted && !status)
        status = flight_advance(flight_ahead(wanted), moved);
    if (*moved) {
        forget_complete_flights(self);
        status = status ? status : begin_flights(self);
    }
    return status;
}

/* Called between two tiles of a kernel. What fails here is told by the next start or wait. */
static void mpi_progress(struct place_context *context) {
    struct mpi_rank *self = rank_of(context);
    bool waits = self->first || self->ends, moved = false;
    uint64_t begin = waits ? profile_clock() : 0;
    if (!waits || begin - self->looked < TICKS_BETWEEN_LOOKS || context->status)
        return;
    go_on(self, NULL, &moved);
    if (self->ends) /* MPI goes on with all of them at once */
        end_poll(context, self->ends->collective.statement, self->ends, &moved);
    self->looked = profile_clock();
    if (context->recorder.profile)
        profile_progressed(context->recorder.profile, begin, self->first != NULL);
}

/* ---- start and wait ------------------------------------------------------------------------- */

static struct flight *flight_of(const struct place_context *context, int32_t handle) {
    return handle >= 0 && handle < context->program->n_handles ? &rank_of(context)->flights[handle]
                                                               : NULL;
}

static int32_t fail_start(struct place_context *context, int32_t statement, const char *why,
                          int32_t handle) {
    return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "handle %d %s", handle, why);
}

static void append_flight(struct mpi_rank *self, struct flight *flight) {
    struct flight **end = &self->first;
    while (*end)
        end = &(*end)->next;
    *end = flight;
    flight->next = NULL;
}

static void tell_profile(const struct place_context *context) {
    if (context->recorder.profile)
        profile_under_way(context->recorder.profile, rank_of(context)->first != NULL);
}

static int32_t mpi_start(struct place_context *context, int32_t handle,
                         const struct collective *collective) {
    struct mpi_rank *self = rank_of(context);
    struct traffic *traffic = &self->traffic[collective->group];
    struct flight *flight = flight_of(context, handle);
    if (context->status)
        return context->status;
    if (!flight)
        return fail_start(context, collective->statement, "is out of range", handle);
    if (flight->in_flight)
        return fail_start(context, collective->statement, "is still in flight", handle);
    bool is_message = collective_is_message(collective);
    flight->is_local =
        is_message ? rank_is_here(collective_peer(context->program, context->rank, collective))
                   : traffic->is_local;
    flight->in_flight = 1;
    flight->is_message = is_message;
    if (flight->is_local)
        return self->local->start(context, handle, collective);
    if (is_message) {
        flight->next = self->ends;
        self->ends = flight;
        return end_start(flight, context, collective, &traffic->sent_bytes);
    }
    if (!flight_prepare(flight, context, collective, traffic->started++))
        return fail_start(context, collective->statement, "has no memory", handle);
    if ((int64_t)flight->room_bytes > context->program->message_bytes)
        return fail_start(context, collective->statement,
                          "needs more room than the program says (an error of the compiler); "
                          "report it",
                          handle);
    flight->sent_bytes = &traffic->sent_bytes;
    flight->before = traffic->last;
    traffic->last = flight;
    append_flight(self, flight);
    int32_t status = begin_flights(self);
    tell_profile(context);
    return status;
}

static int32_t finish_flight(struct place_context *context, int32_t statement,
                             struct flight *flight) {
    struct mpi_rank *self = rank_of(context);
    struct profile *profile = context->recorder.profile;
    struct patience patience = messages_patience();
    int32_t status = context->status;
    while (!status && flight->stage != FLIGHT_IDLE) {
        uint64_t begin = profile_begin_wait(profile);
        bool moved = false;
        status = go_on(self, flight, &moved);
        if (moved)
            patience = messages_patience();
        if (status || moved)
            continue;
        struct flight *ahead = flight->stage == FLIGHT_READY ? self->first : flight_ahead(flight);
        status = messages_be_patient(context, flight_messages(ahead), statement, &patience);
        profile_end_wait(profile, begin);
    }
    return status;
}

static void forget_end(struct mpi_rank *self, const struct flight *flight) {
    struct flight **link = &self->ends;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
}

/* Others may need this rank for their collectives to go on, on which the other end may wait. */
static int32_t finish_message(struct place_context *context, int32_t statement,
                              struct flight *flight) {
    forget_end(rank_of(context), flight);
    struct profile *profile = context->recorder.profile;
    struct patience patience = messages_patience();
    int32_t status = context->status;
    bool done = false;
    while (!status && !done) {
        uint64_t begin = profile_begin_wait(profile);
        bool moved = false;
        status = end_poll(context, statement, flight, &done);
        if (status || done)
            break;
        status = go_on(rank_of(context), NULL, &moved);
        if (moved)
            patience = messages_patience();
        if (!status && !moved)
            status = messages_be_patient(context, flight->meeting, statement, &patience);
        profile_end_wait(profile, begin);
    }
    return status;
}

static int32_t mpi_wait(struct place_context *context, int32_t statement, int32_t handle) {
    struct flight *flight = flight_of(context, handle);
    if (!flight || !flight->in_flight)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "handle %d is waited for but was not started", handle);
    flight->in_flight = 0;
    if (flight->is_local)
        return rank_of(context)->local->wait(context, statement, handle);
    int32_t status = flight->is_message ? finish_message(context, statement, flight)
                                        : finish_flight(context, statement, flight);
    tell_profile(context);
    return status;
}

/* ---- host ----------------------------------------------------------------------------------- */

static int64_t mpi_sent_bytes(struct place_context *context, int32_t group) {
    const struct mpi_rank *self = rank_of(context);
    const struct traffic *traffic = &self->traffic[group];
    return self->local->sent_bytes(context, group) + traffic->sent_bytes;
}

/* Waits for what the host has posted, if it could be. */
static int32_t finish_host(struct place_context *context, bool posted) {
    struct messages *host = rank_of(context)->host;
    return posted ? messages_finish(context, host, -1, context->in_pace)
                  : messages_fail(context, host, -1);
}

/* Shares by single messages, as all else, so that a rank that is silent can be named. */
static int32_t mpi_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    struct mpi_rank *self = rank_of(context);
    int32_t devices = (int32_t)context->program->devices;
    struct part *parts = self->host_parts, *own = &parts[devices];
    static char nothing;
    bool posted = true;
    *own = (struct part){bytes ? (char *)mine : &nothing, bytes};
    for (int32_t peer = 0; peer < devices && posted; peer++) {
        if (peer == context->rank)
            continue;
        parts[peer] = (struct part){bytes ? (char *)all + (size_t)peer * bytes : &nothing, bytes};
        posted = message_receive(self->host, peer, MESSAGE_OF_HOST, &parts[peer], 1) &&
                 message_send(self->host, peer, MESSAGE_OF_HOST, own, 1);
    }
    if (bytes)
        memcpy((char *)all + (size_t)context->rank * bytes, mine, bytes);
    return finish_host(context, posted);
}

static int32_t mpi_send(struct place_context *context, int32_t to, const void *data, size_t bytes) {
    struct part part = {(char *)data, bytes};
    return finish_host(context,
                       message_send(rank_of(context)->host, to, MESSAGE_OF_HOST, &part, 1));
}

static int32_t mpi_receive(struct place_context *context, int32_t from, void *data, size_t bytes) {
    struct part part = {data, bytes};
    return finish_host(context,
                       message_receive(rank_of(context)->host, from, MESSAGE_OF_HOST, &part, 1));
}

/* Tells the ranks of this process; it is about to end with an error, which ends the job
 * (module_end). */
static void mpi_abort(struct place_context *context) {
    rank_of(context)->local->abort(context);
    messages_abort();
}

static int mpi_is_aborted(const struct place_context *context) {
    return rank_of(context)->local->is_aborted(context);
}

static void mpi_leave(struct place_context *context) {
    rank_of(context)->local->leave(context);
}

static const struct transport mpi_transport = {
    .name = "mpi",
    .start = mpi_start,
    .wait = mpi_wait,
    .progress = mpi_progress,
    .sent_bytes = mpi_sent_bytes,
    .share = mpi_share,
    .send = mpi_send,
    .receive = mpi_receive,
    .abort = mpi_abort,
    .is_aborted = mpi_is_aborted,
    .leave = mpi_leave,
};

/* ---- the module ----------------------------------------------------------------------------- */

static bool group_is_here(const struct place_program *program, int32_t rank, int32_t number) {
    struct group group = group_of(program, rank, &program->groups[number].axes);
    bool here = true;
    for (int32_t i = 0; i < group.size; i++)
        here &= rank_is_here(group_member(program, &group, i));
    return here;
}

static bool open_rank(const struct place_program *program, struct mpi_rank *self, int32_t rank) {
    size_t devices = (size_t)program->devices;
    self->host = messages_of(rank, FLIGHT_SLOTS * program->n_handles);
    self->host_parts = calloc(devices + 1, sizeof *self->host_parts);
    self->sources = calloc(devices, sizeof *self->sources);
    self->flights = calloc((size_t)program->n_handles + 1, sizeof *self->flights);
    self->traffic = calloc((size_t)program->n_groups + 1, sizeof *self->traffic);
    self->room_bytes = (size_t)launch_message_bytes(program);
    self->room = malloc(self->room_bytes);
    if (!self->host_parts || !self->sources || !self->flights || !self->traffic || !self->room)
        return false;
    for (int32_t i = 0; i < program->n_handles; i++) {
        self->flights[i].meeting = messages_of(rank, FLIGHT_SLOTS * i);
        self->flights[i].moving = messages_of(rank, FLIGHT_SLOTS * i + 1);
        self->flights[i].sources = self->sources;
    }
    for (int32_t i = 0; i < program->n_groups; i++)
        self->traffic[i].is_local = group_is_here(program, rank, i);
    return true;
}

static int module_begin(const struct place_program *program, int32_t processes,
                        double patience_seconds, int32_t *first, char *message,
                        size_t message_bytes) {
    if (messages_begin(program, processes, patience_seconds, FLIGHT_TOPICS * program->n_groups,
                       FLIGHT_SLOTS * program->n_handles + 1, first, message, message_bytes) != 0)
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

/* Ends without MPI_Abort: when several ranks call it at once, Open MPI's launcher may crash, or
 * hang after all processes are gone. A process that ends without MPI_Finalize ends the job as well.
 * */
static void module_end(int status, int together) {
    fflush(NULL);
    if (together)
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
