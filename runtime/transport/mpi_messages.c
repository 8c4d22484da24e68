/* Messages by memory and by MPI (see mpi_messages.h).
 *
 * A message inside the process is a letter: it points at the sender's parts until the receiver, who
 * copies, has read it. A rank posts to a set again when all of the set is done, so there is one
 * letter in each slot from each rank to each other, written by the one and returned by the other.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/clock.h"
#include "runtime/transport/mpi_messages.h"

enum { PART_BYTES = 1 << 30 }; /* of one MPI message: its counts are ints */

enum letter_state { LETTER_RETURNED, LETTER_SENT, LETTER_OPEN }; /* open: it is being copied */

struct letter {
    _Atomic enum letter_state state;
    const struct part *parts;
    int32_t n_parts;
};

/* A letter that this rank has sent, or waits for. */
struct post {
    struct letter *letter;
    bool wanted, done;
    int32_t peer;
    const struct part *parts; /* of a wanted one: where it goes */
    int32_t n_parts;
};

struct messages {
    int32_t rank, slot;
    struct post *posts; /* room for one to and one from every rank of the process */
    int n_posts;
    MPI_Request *requests;
    int32_t *peers; /* of every request */
    int n_requests, cap_requests;
    int error; /* MPI's, of the last post that failed */
};

/* The process. */
static struct {
    MPI_Comm comm;
    int32_t first, ranks; /* its own */
    int32_t topics, slots;
    double patience_seconds;
    pthread_mutex_t lock;   /* of MPI */
    struct messages *sets;  /* [rank * slots + slot] */
    struct letter *letters; /* [(from * ranks + to) * slots + slot] */
    _Atomic int aborted;
} office = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool rank_is_here(int32_t rank) {
    return rank >= office.first && rank < office.first + office.ranks;
}

struct messages *messages_of(int32_t rank, int32_t slot) {
    return &office.sets[(int64_t)(rank - office.first) * office.slots + slot];
}

void messages_abort(void) {
    atomic_store(&office.aborted, 1);
}

/* ---- letters -------------------------------------------------------------------------------- */

static struct letter *letter_between(int32_t from, int32_t to, int32_t slot) {
    int64_t pair = (int64_t)(from - office.first) * office.ranks + to - office.first;
    return &office.letters[pair * office.slots + slot];
}

static struct post *new_post(struct messages *messages) {
    if (!messages->posts)
        messages->posts = calloc(2 * (size_t)office.ranks, sizeof *messages->posts);
    messages->error = MPI_ERR_NO_MEM; /* if there is none */
    return messages->posts ? &messages->posts[messages->n_posts++] : NULL;
}

static bool send_letter(struct messages *messages, int32_t to, const struct part *parts,
                        int32_t n_parts) {
    struct post *post = new_post(messages);
    if (!post)
        return false;
    struct letter *letter = letter_between(messages->rank, to, messages->slot);
    letter->parts = parts;
    letter->n_parts = n_parts;
    atomic_store(&letter->state, LETTER_SENT);
    *post = (struct post){.letter = letter, .peer = to};
    return true;
}

static bool want_letter(struct messages *messages, int32_t from, const struct part *parts,
                        int32_t n_parts) {
    struct post *post = new_post(messages);
    if (!post)
        return false;
    struct letter *letter = letter_between(from, messages->rank, messages->slot);
    *post = (struct post){
        .letter = letter, .wanted = true, .peer = from, .parts = parts, .n_parts = n_parts};
    return true;
}

/* Whether there was a letter to read. */
static bool read_letter(const struct post *post) {
    struct letter *letter = post->letter;
    enum letter_state sent = LETTER_SENT;
    if (atomic_load(&letter->state) != LETTER_SENT ||
        !atomic_compare_exchange_strong(&letter->state, &sent, LETTER_OPEN))
        return false;
    for (int32_t i = 0; i < letter->n_parts && i < post->n_parts; i++) {
        struct part from = letter->parts[i], to = post->parts[i];
        memcpy(to.data, from.data, from.bytes < to.bytes ? from.bytes : to.bytes);
    }
    atomic_store(&letter->state, LETTER_RETURNED);
    return true;
}

static bool was_returned(const struct post *post) {
    return atomic_load(&post->letter->state) == LETTER_RETURNED;
}

/* Whether all letters are done. */
static bool go_on_with_letters(struct messages *messages) {
    bool all = true;
    for (int i = 0; i < messages->n_posts; i++) {
        struct post *post = &messages->posts[i];
        if (!post->done)
            post->done = post->wanted ? read_letter(post) : was_returned(post);
        all &= post->done;
    }
    return all;
}

/* A rank that fails takes back what nobody has opened: its bytes will be gone. What somebody copies
 * at this moment is waited for. */
static void withdraw_letters(struct messages *messages) {
    for (int i = 0; i < messages->n_posts; i++) {
        struct post *post = &messages->posts[i];
        enum letter_state sent = LETTER_SENT;
        if (post->done || post->wanted)
            continue;
        atomic_compare_exchange_strong(&post->letter->state, &sent, LETTER_RETURNED);
        while (!was_returned(post))
            sched_yield();
    }
}

/* ---- between processes ---------------------------------------------------------------------- */

static bool grow_requests(struct messages *messages) {
    int capacity = messages->cap_requests ? messages->cap_requests * 2 : 64;
    MPI_Request *requests = realloc(messages->requests, (size_t)capacity * sizeof *requests);
    if (requests)
        messages->requests = requests;
    int32_t *peers = realloc(messages->peers, (size_t)capacity * sizeof *peers);
    if (peers)
        messages->peers = peers;
    if (requests && peers)
        messages->cap_requests = capacity;
    return requests && peers;
}

/* MPI tells processes apart; the tag tells their ranks, and what the message is about. The host's
 * are the same in every program, so that processes with different ones can tell each other. */
static int tag_of(int32_t about, int32_t from, int32_t to) {
    int32_t topic = about == MESSAGE_OF_HOST ? 0 : about + 1;
    return (topic * office.ranks + from % office.ranks) * office.ranks + to % office.ranks;
}

static bool post_part(struct messages *messages, bool send, int32_t peer, int tag,
                      struct part part) {
    int process = peer / office.ranks;
    for (size_t at = 0; at == 0 || at < part.bytes; at += PART_BYTES) {
        if (messages->n_requests == messages->cap_requests && !grow_requests(messages)) {
            messages->error = MPI_ERR_NO_MEM;
            return false;
        }
        MPI_Request *request = &messages->requests[messages->n_requests];
        int count = (int)(part.bytes - at < PART_BYTES ? part.bytes - at : PART_BYTES);
        char *data = part.data + at;
        pthread_mutex_lock(&office.lock);
        messages->error =
            send ? MPI_Isend(data, count, MPI_BYTE, process, tag, office.comm, request)
                 : MPI_Irecv(data, count, MPI_BYTE, process, tag, office.comm, request);
        pthread_mutex_unlock(&office.lock);
        if (messages->error != MPI_SUCCESS)
            return false;
        messages->peers[messages->n_requests++] = peer;
    }
    return true;
}

static bool post_parts(struct messages *messages, bool send, int32_t peer, int tag,
                       const struct part *parts, int32_t n_parts) {
    bool posted = true;
    for (int32_t i = 0; i < n_parts && posted; i++)
        posted = post_part(messages, send, peer, tag, parts[i]);
    return posted;
}

bool message_send(struct messages *messages, int32_t to, int32_t about, const struct part *parts,
                  int32_t n_parts) {
    if (rank_is_here(to))
        return send_letter(messages, to, parts, n_parts);
    return post_parts(messages, true, to, tag_of(about, messages->rank, to), parts, n_parts);
}

bool message_receive(struct messages *messages, int32_t from, int32_t about,
                     const struct part *parts, int32_t n_parts) {
    if (rank_is_here(from))
        return want_letter(messages, from, parts, n_parts);
    return post_parts(messages, false, from, tag_of(about, from, messages->rank), parts, n_parts);
}

static void forget_messages(struct messages *messages) {
    withdraw_letters(messages);
    messages->n_posts = messages->n_requests = 0;
}

int32_t messages_fail(struct place_context *context, struct messages *messages, int32_t statement) {
    forget_messages(messages);
    return context_fail(context, statement, PLACE_ERROR_TRANSPORT, "MPI cannot send: error %d",
                        messages->error);
}

/* ---- going on, and waiting ------------------------------------------------------------------ */

/* The least rank above `named` whose message is not done; INT32_MAX: none. */
static int32_t next_silent_peer(struct messages *messages, int32_t named) {
    int32_t next = INT32_MAX;
    for (int i = 0; i < messages->n_posts; i++)
        if (!messages->posts[i].done && messages->posts[i].peer > named &&
            messages->posts[i].peer < next)
            next = messages->posts[i].peer;
    pthread_mutex_lock(&office.lock);
    for (int i = 0; i < messages->n_requests; i++) {
        int done = 1;
        if (messages->peers[i] > named && messages->peers[i] < next &&
            MPI_Test(&messages->requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            next = messages->peers[i];
    }
    pthread_mutex_unlock(&office.lock);
    return next;
}

static int32_t fail_silence(struct place_context *context, struct messages *messages,
                            int32_t statement) {
    char silent[256] = "rank";
    size_t used = strlen(silent);
    int32_t named = -1, next;
    while (used < sizeof silent - 16 && (next = next_silent_peer(messages, named)) != INT32_MAX) {
        used += (size_t)snprintf(silent + used, sizeof silent - used, "%s %d", named < 0 ? "" : ",",
                                 next);
        named = next;
    }
    return context_fail(context, statement, PLACE_ERROR_TRANSPORT,
                        "no answer from %s for %.0f seconds: it hangs, or is gone. Set "
                        "PLACE_TIMEOUT to wait longer",
                        silent, office.patience_seconds);
}

static int32_t fail_error(struct place_context *context, int32_t statement, int error) {
    int class = MPI_ERR_OTHER;
    pthread_mutex_lock(&office.lock);
    MPI_Error_class(error, &class);
    pthread_mutex_unlock(&office.lock);
    return context_fail(context, statement, PLACE_ERROR_TRANSPORT,
                        class == MPI_ERR_TRUNCATE || class == MPI_ERR_IN_STATUS
                            ? "a peer is in a collective of another size"
                            : "MPI reports error class %d",
                        class);
}

/* MPI goes on with all messages meanwhile. What another rank of the process has MPI for goes on as
 * well, and is found to be done the next time. */
static int go_on_with_requests(struct messages *messages, bool *done) {
    int all = 1, error = MPI_SUCCESS;
    if (messages->n_requests > 0) {
        all = 0;
        if (pthread_mutex_trylock(&office.lock) == 0) {
            error =
                MPI_Testall(messages->n_requests, messages->requests, &all, MPI_STATUSES_IGNORE);
            pthread_mutex_unlock(&office.lock);
        }
    }
    *done = all;
    return error;
}

int32_t messages_poll(struct place_context *context, struct messages *messages, int32_t statement,
                      bool *done) {
    bool letters = go_on_with_letters(messages), requests;
    int error = go_on_with_requests(messages, &requests);
    *done = letters && requests && error == MPI_SUCCESS;
    if (*done)
        messages->n_posts = messages->n_requests = 0;
    return error == MPI_SUCCESS ? PLACE_OK : fail_error(context, statement, error);
}

struct patience messages_patience(void) {
    return patience_from(clock_seconds());
}

int32_t messages_be_patient(struct place_context *context, struct messages *messages,
                            int32_t statement, struct patience *patience) {
    if (atomic_load(&office.aborted))
        return context_fail(context, statement, PLACE_ERROR_ABORTED,
                            "stopped: another rank failed");
    if (patience && patience_look(patience, clock_seconds()) > office.patience_seconds)
        return fail_silence(context, messages, statement);
    sched_yield();
    return PLACE_OK;
}

int32_t messages_finish(struct place_context *context, struct messages *messages, int32_t statement,
                        bool timed) {
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile_begin_wait(profile);
    struct patience patience = messages_patience();
    bool done = false;
    int32_t status = PLACE_OK;
    while (!status && !done) {
        status = messages_poll(context, messages, statement, &done);
        if (!status && !done)
            status = messages_be_patient(context, messages, statement, timed ? &patience : NULL);
    }
    profile_end_wait(profile, begin);
    if (status)
        forget_messages(messages);
    return status;
}

/* ---- the process ---------------------------------------------------------------------------- */

static bool tags_suffice(void) {
    int *limit, is_set = 0;
    MPI_Comm_get_attr(office.comm, MPI_TAG_UB, &limit, &is_set);
    int64_t most = is_set ? *limit : 32767; /* what the standard warrants */
    return ((int64_t)office.topics + 1) * office.ranks * office.ranks <= most;
}

static bool open_sets(void) {
    size_t ranks = (size_t)office.ranks, slots = (size_t)office.slots;
    office.letters = calloc(ranks * ranks * slots, sizeof *office.letters);
    office.sets = calloc(ranks * slots, sizeof *office.sets);
    for (size_t i = 0; office.sets && i < ranks * slots; i++) {
        office.sets[i].rank = office.first + (int32_t)(i / slots);
        office.sets[i].slot = (int32_t)(i % slots);
    }
    return office.letters && office.sets;
}

int messages_begin(const struct place_program *program, int32_t processes, double patience_seconds,
                   int32_t topics, int32_t slots, int32_t *first, char *message,
                   size_t message_bytes) {
    int provided, size = 0, number = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_SERIALIZED) {
        snprintf(message, message_bytes,
                 "MPI cannot be started for several threads; use one that has "
                 "MPI_THREAD_SERIALIZED");
        return -1;
    }
    office.comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(office.comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(office.comm, &size);
    MPI_Comm_rank(office.comm, &number);
    office.patience_seconds = patience_seconds;
    office.topics = topics;
    office.slots = slots;
    office.ranks = (int32_t)(program->devices / processes);
    office.first = number * office.ranks;
    *first = office.first;
    if (size != processes) /* they would all be number 0, and train and save side by side */
        snprintf(message, message_bytes,
                 "the launcher started %d processes, but MPI sees %d; start this with the mpirun "
                 "of the MPI that libplace_mpi.so was built with",
                 processes, size);
    else if (!tags_suffice() || !open_sets())
        snprintf(message, message_bytes,
                 "no room for %d groups of %d ranks in a process; start more processes",
                 program->n_groups, office.ranks);
    else
        return 0;
    return -1;
}

void messages_end(void) {
    MPI_Finalize();
}
