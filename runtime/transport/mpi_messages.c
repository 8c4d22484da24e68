/* Messages by memory and by MPI (see mpi_messages.h).
 *
 * A message inside the process is a letter: it points at the sender's bytes until the receiver, who
 * copies, has read it. A rank waits for all that it has posted before it posts again, so there is
 * one letter from each rank to each other, written by the one and returned by the other. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/transport/mpi_messages.h"

enum { PART_BYTES = 1 << 30 }; /* of one MPI message: its counts are ints */

enum letter_state { LETTER_RETURNED, LETTER_SENT, LETTER_OPEN }; /* open: it is being copied */

struct letter {
    _Atomic enum letter_state state;
    int32_t about;
    const char *data;
    size_t bytes;
};

/* A letter that this rank has sent, or waits for. */
struct post {
    struct letter *letter;
    bool wanted, done;
    int32_t peer, about;
    char *data; /* of a wanted one: where it goes */
    size_t bytes;
};

struct mailbox {
    int32_t rank;
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
    int32_t n_groups;
    double patience_seconds;
    pthread_mutex_t lock; /* of MPI */
    struct mailbox *boxes;
    struct letter *letters; /* [from * ranks + to] */
    _Atomic int aborted;
} office = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool rank_is_here(int32_t rank) {
    return rank >= office.first && rank < office.first + office.ranks;
}

struct mailbox *messages_of(int32_t rank) {
    return &office.boxes[rank - office.first];
}

void messages_abort(void) {
    atomic_store(&office.aborted, 1);
}

/* ---- letters ----------------------------------------------------------------------------------
 */

static struct letter *letter_between(int32_t from, int32_t to) {
    return &office.letters[(from - office.first) * office.ranks + to - office.first];
}

static void send_letter(struct mailbox *box, int32_t to, int32_t about, const void *data,
                        size_t bytes) {
    struct letter *letter = letter_between(box->rank, to);
    letter->about = about;
    letter->data = data;
    letter->bytes = bytes;
    atomic_store(&letter->state, LETTER_SENT);
    box->posts[box->n_posts++] = (struct post){.letter = letter, .peer = to, .about = about};
}

/* Whether there was a letter to read. One about something else stays: its sender is elsewhere. */
static bool read_letter(const struct post *post) {
    struct letter *letter = post->letter;
    enum letter_state sent = LETTER_SENT;
    if (atomic_load(&letter->state) != LETTER_SENT || letter->about != post->about ||
        !atomic_compare_exchange_strong(&letter->state, &sent, LETTER_OPEN))
        return false;
    memcpy(post->data, letter->data, letter->bytes < post->bytes ? letter->bytes : post->bytes);
    atomic_store(&letter->state, LETTER_RETURNED);
    return true;
}

static bool was_returned(const struct post *post) {
    return atomic_load(&post->letter->state) == LETTER_RETURNED;
}

/* Whether all letters are done. */
static bool go_on_with_letters(struct mailbox *box) {
    bool all = true;
    for (int i = 0; i < box->n_posts; i++) {
        struct post *post = &box->posts[i];
        if (!post->done)
            post->done = post->wanted ? read_letter(post) : was_returned(post);
        all &= post->done;
    }
    return all;
}

/* A rank that fails takes back what nobody has opened: its bytes will be gone. What somebody copies
 * at this moment is waited for. */
static void withdraw_letters(struct mailbox *box) {
    for (int i = 0; i < box->n_posts; i++) {
        struct post *post = &box->posts[i];
        enum letter_state sent = LETTER_SENT;
        if (post->done || post->wanted)
            continue;
        atomic_compare_exchange_strong(&post->letter->state, &sent, LETTER_RETURNED);
        while (!was_returned(post))
            sched_yield();
    }
}

/* ---- between processes ------------------------------------------------------------------------
 */

static bool grow_requests(struct mailbox *box) {
    int capacity = box->cap_requests ? box->cap_requests * 2 : 64;
    MPI_Request *requests = realloc(box->requests, (size_t)capacity * sizeof *requests);
    if (requests)
        box->requests = requests;
    int32_t *peers = realloc(box->peers, (size_t)capacity * sizeof *peers);
    if (peers)
        box->peers = peers;
    if (requests && peers)
        box->cap_requests = capacity;
    return requests && peers;
}

/* MPI tells processes apart; the tag tells their ranks, and what the message is about. */
static int tag_of(int32_t about, int32_t from, int32_t to) {
    int32_t topic = about == MESSAGE_OF_HOST ? office.n_groups : about;
    return (topic * office.ranks + from % office.ranks) * office.ranks + to % office.ranks;
}

static bool post_to_process(struct mailbox *box, bool send, int32_t peer, int tag, char *data,
                            size_t bytes) {
    int process = peer / office.ranks;
    for (size_t at = 0; at == 0 || at < bytes; at += PART_BYTES) {
        if (box->n_requests == box->cap_requests && !grow_requests(box)) {
            box->error = MPI_ERR_NO_MEM;
            return false;
        }
        MPI_Request *request = &box->requests[box->n_requests];
        int count = (int)(bytes - at < PART_BYTES ? bytes - at : PART_BYTES);
        pthread_mutex_lock(&office.lock);
        box->error =
            send ? MPI_Isend(data + at, count, MPI_BYTE, process, tag, office.comm, request)
                 : MPI_Irecv(data + at, count, MPI_BYTE, process, tag, office.comm, request);
        pthread_mutex_unlock(&office.lock);
        if (box->error != MPI_SUCCESS)
            return false;
        box->peers[box->n_requests++] = peer;
    }
    return true;
}

bool message_send(struct mailbox *box, int32_t to, int32_t about, const void *data, size_t bytes) {
    if (!rank_is_here(to))
        return post_to_process(box, true, to, tag_of(about, box->rank, to), (char *)data, bytes);
    send_letter(box, to, about, data, bytes);
    return true;
}

bool message_receive(struct mailbox *box, int32_t from, int32_t about, void *data, size_t bytes) {
    if (!rank_is_here(from))
        return post_to_process(box, false, from, tag_of(about, from, box->rank), data, bytes);
    box->posts[box->n_posts++] = (struct post){.letter = letter_between(from, box->rank),
                                               .wanted = true,
                                               .peer = from,
                                               .about = about,
                                               .data = data,
                                               .bytes = bytes};
    return true;
}

static void forget_messages(struct mailbox *box) {
    withdraw_letters(box);
    box->n_posts = box->n_requests = 0;
}

int32_t messages_fail(struct place_context *context, struct mailbox *box, int32_t statement) {
    forget_messages(box);
    return context_fail(context, statement, PLACE_ERROR_TRANSPORT, "MPI cannot send: error %d",
                        box->error);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least rank above `named` whose message is not done; INT32_MAX: none. */
static int32_t next_silent_peer(struct mailbox *box, int32_t named) {
    int32_t next = INT32_MAX;
    for (int i = 0; i < box->n_posts; i++)
        if (!box->posts[i].done && box->posts[i].peer > named && box->posts[i].peer < next)
            next = box->posts[i].peer;
    pthread_mutex_lock(&office.lock);
    for (int i = 0; i < box->n_requests; i++) {
        int done = 1;
        if (box->peers[i] > named && box->peers[i] < next &&
            MPI_Test(&box->requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            next = box->peers[i];
    }
    pthread_mutex_unlock(&office.lock);
    return next;
}

static int32_t fail_silence(struct place_context *context, struct mailbox *box, int32_t statement) {
    char silent[256] = "rank";
    size_t used = strlen(silent);
    int32_t named = -1, next;
    while (used < sizeof silent - 16 && (next = next_silent_peer(box, named)) != INT32_MAX) {
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

/* Whether all messages of other processes are done; MPI goes on with them meanwhile. */
static int go_on_with_requests(struct mailbox *box, bool *done) {
    int all = 1, error = MPI_SUCCESS;
    if (box->n_requests > 0) {
        pthread_mutex_lock(&office.lock);
        error = MPI_Testall(box->n_requests, box->requests, &all, MPI_STATUSES_IGNORE);
        pthread_mutex_unlock(&office.lock);
    }
    *done = all;
    return error;
}

static int32_t poll_until_all(struct place_context *context, struct mailbox *box,
                              int32_t statement) {
    double begin = now_seconds();
    for (;;) {
        bool letters = go_on_with_letters(box), requests;
        int error = go_on_with_requests(box, &requests);
        if (error != MPI_SUCCESS)
            return fail_error(context, statement, error);
        if (letters && requests)
            return PLACE_OK;
        if (atomic_load(&office.aborted))
            return context_fail(context, statement, PLACE_ERROR_ABORTED,
                                "stopped: another rank failed");
        if (now_seconds() - begin > office.patience_seconds)
            return fail_silence(context, box, statement);
        sched_yield();
    }
}

static int32_t wait_for_all(struct place_context *context, struct mailbox *box, int32_t statement) {
    struct profile *profile = context->recorder.profile;
    uint64_t begin = profile ? profile_clock() : 0;
    int32_t status = poll_until_all(context, box, statement);
    if (profile)
        profile_waited(profile, begin);
    return status;
}

int32_t messages_finish(struct place_context *context, struct mailbox *box, int32_t statement) {
    int32_t status = wait_for_all(context, box, statement);
    if (status)
        forget_messages(box);
    box->n_posts = box->n_requests = 0;
    return status;
}

/* ---- the process ------------------------------------------------------------------------------
 */

static bool tags_suffice(const struct place_program *program) {
    int *limit, is_set = 0;
    MPI_Comm_get_attr(office.comm, MPI_TAG_UB, &limit, &is_set);
    int64_t most = is_set ? *limit : 32767; /* what the standard warrants */
    return ((int64_t)program->n_groups + 1) * office.ranks * office.ranks <= most;
}

static bool open_boxes(void) {
    size_t n = (size_t)office.ranks;
    office.letters = calloc(n * n, sizeof *office.letters);
    office.boxes = calloc(n, sizeof *office.boxes);
    bool enough = office.letters && office.boxes;
    for (size_t i = 0; enough && i < n; i++) {
        office.boxes[i].rank = office.first + (int32_t)i;
        office.boxes[i].posts = calloc(2 * n, sizeof *office.boxes[i].posts);
        enough = office.boxes[i].posts;
    }
    return enough;
}

int messages_begin(const struct place_program *program, int32_t processes, double patience_seconds,
                   int32_t *first, char *message, size_t message_bytes) {
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
    office.n_groups = program->n_groups;
    office.ranks = (int32_t)(program->devices / processes);
    office.first = number * office.ranks;
    *first = office.first;
    if (size != processes) /* they would all be number 0, and train and save side by side */
        snprintf(message, message_bytes,
                 "the launcher started %d processes, but MPI sees %d; start this with the mpirun "
                 "of the MPI that libplace_mpi.so was built with",
                 processes, size);
    else if (!tags_suffice(program) || !open_boxes())
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
