/* All of the data, before the first step (see scan.h).
 *
 * Threads take pieces of a file in order. The first pass reads every byte once, for hashes and
 * bounds; only where it finds masks, or where a file says which tokens count, a second one looks at
 * the windows. Of what is wrong the first place is told: whoever finds something ends the taking of
 * pieces, and all that stand before have been taken. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/content_hash.h"
#include "runtime/host/file.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/scan.h"

enum {
    PIECE_BYTES = 1 << 18,    /* stays in the cache between its reading and its use */
    PIECES_FOR_A_THREAD = 16, /* fewer do not pay for starting it */
    MOST_THREADS = 16,        /* memory is not faster for more */
};

enum finding_kind {
    FOUND_NOTHING,
    FOUND_NO_MEMORY,
    FOUND_UNREADABLE,     /* `other` is errno, or 0: the file ends here */
    FOUND_NOT_TEXT,       /* a byte 0 */
    FOUND_UNKNOWN,        /* `other` is the token */
    FOUND_NO_FLAG,        /* `other` is the byte, neither 0 nor 1 */
    FOUND_MASKED_TARGET,  /* said to count */
    FOUND_MASKED_CONTEXT, /* `other` is the place of the target whose context it is in */
};
struct finding {
    enum finding_kind kind;
    const struct data_file *file;
    int64_t at; /* token, which for flags and text is the byte */
    int64_t other;
};

struct worker;
struct pass {
    const struct dataset *set;
    const struct data_part *part; /* of it */
    const struct data_file *file;
    int width;                /* of a token, in bytes */
    int64_t limit;            /* every token is below, masks apart */
    enum finding_kind beyond; /* what a token is that is not */
    bool refuses_zero;
    void (*look)(struct worker *worker, int64_t piece);
    int64_t pieces, windows_in_piece;
    size_t buffer_bytes;
    _Atomic int64_t next;
    _Atomic bool ended;
};

/* A thread, and what it has found in its pieces. */
struct worker {
    struct pass *pass;
    pthread_t thread;
    unsigned char *buffer;
    uint64_t hash_sum;
    bool has_mask;
    int64_t targets, idle_windows;
    struct finding finding;
};

static void find_in(struct worker *worker, const struct data_file *file, enum finding_kind kind,
                    int64_t at, int64_t other) {
    worker->finding = (struct finding){kind, file, at, other};
    atomic_store(&worker->pass->ended, true);
}

static void find(struct worker *worker, enum finding_kind kind, int64_t at, int64_t other) {
    find_in(worker, worker->pass->file, kind, at, other);
}

/* The content from byte `at` on; whether all of it could be read. */
static bool read_piece(struct worker *worker, const struct data_file *file, int width, int64_t at,
                       unsigned char *to, int64_t bytes) {
    int64_t done = (int64_t)file_read(file->descriptor, to, (size_t)bytes, file->begin + at);
    if (done < bytes)
        find_in(worker, file, FOUND_UNREADABLE, (at + done) / width, errno);
    return done == bytes;
}

/* ---- every byte ----------------------------------------------------------------------------- */

/* The bounds of tokens to each of which one is added, so that the mask becomes 0; or of bytes as
 * they are. */
struct bounds {
    uint64_t least, most;
};
#define BOUNDS(type, added)                                                                        \
    static struct bounds bounds_##type(const unsigned char *bytes, int64_t n) {                    \
        type least = (type)-1, most = 0;                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type token;                                                                            \
            memcpy(&token, bytes + i * (int64_t)sizeof token, sizeof token);                       \
            token = (type)(token + added);                                                         \
            least = token < least ? token : least;                                                 \
            most = token > most ? token : most;                                                    \
        }                                                                                          \
        return (struct bounds){least, most};                                                       \
    }
BOUNDS(uint8_t, 0)
BOUNDS(uint16_t, 1)
BOUNDS(uint32_t, 1)
BOUNDS(uint64_t, 1)
#undef BOUNDS

static struct bounds bounds_of(const unsigned char *bytes, int64_t n, int width) {
    return width == 1   ? bounds_uint8_t(bytes, n)
           : width == 2 ? bounds_uint16_t(bytes, n)
           : width == 4 ? bounds_uint32_t(bytes, n)
                        : bounds_uint64_t(bytes, n);
}

/* The piece has such a token: where? */
static void find_token(struct worker *worker, const unsigned char *bytes, int64_t first,
                       int64_t n) {
    const struct pass *pass = worker->pass;
    for (int64_t i = 0; i < n; i++) {
        int64_t token = data_token(bytes + i * pass->width, pass->width);
        if (token >= pass->limit)
            find(worker, pass->beyond, first + i, token);
        if (token == 0 && pass->refuses_zero)
            find(worker, FOUND_NOT_TEXT, first + i, 0);
        if (worker->finding.kind)
            return;
    }
}

static void look_at_bytes(struct worker *worker, int64_t piece) {
    const struct pass *pass = worker->pass;
    int64_t at = piece * PIECE_BYTES, left = pass->file->bytes - at;
    int64_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES, n = bytes / pass->width;
    if (!read_piece(worker, pass->file, pass->width, at, worker->buffer, bytes))
        return;
    worker->hash_sum += content_hash_part(worker->buffer, at, bytes);
    struct bounds bounds = bounds_of(worker->buffer, n, pass->width);
    bool has_zero = n > 0 && bounds.least == 0;
    int added = pass->width > 1; /* see struct bounds */
    worker->has_mask |= added && has_zero;
    if (bounds.most >= (uint64_t)(pass->limit + added) || (pass->refuses_zero && has_zero))
        find_token(worker, worker->buffer, at / pass->width, n);
}

/* ---- every window --------------------------------------------------------------------------- */

/* How many of the n tokens are masked, or are not, up to the first that is otherwise. */
#define RUN_LENGTH(type)                                                                           \
    static int64_t run_length_##type(const unsigned char *bytes, int64_t n, bool masked) {         \
        int64_t i = 0;                                                                             \
        for (type token; i < n; i++) {                                                             \
            memcpy(&token, bytes + i * (int64_t)sizeof token, sizeof token);                       \
            if ((token == (type)-1) != masked)                                                     \
                break;                                                                             \
        }                                                                                          \
        return i;                                                                                  \
    }
RUN_LENGTH(uint16_t)
RUN_LENGTH(uint32_t)
RUN_LENGTH(uint64_t)
#undef RUN_LENGTH

static int64_t run_length(const unsigned char *tokens, int width, int64_t n, bool masked) {
    return width == 1   ? (masked ? 0 : n) /* a byte is no mask */
           : width == 2 ? run_length_uint16_t(tokens, n, masked)
           : width == 4 ? run_length_uint32_t(tokens, n, masked)
                        : run_length_uint64_t(tokens, n, masked);
}

/* How many of tokens begin .. end - 1 count. */
static int64_t count_targets(const unsigned char *flags, int64_t begin, int64_t end) {
    if (!flags)
        return end > begin ? end - begin : 0;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++)
        n += flags[i];
    return n;
}

/* The first of tokens begin .. end - 1 that counts, or -1; `flags` is null where all do. */
static int64_t first_that_counts(const unsigned char *flags, int64_t begin, int64_t end) {
    if (begin >= end)
        return -1;
    if (!flags)
        return begin;
    const unsigned char *at = memchr(flags + begin, 1, (size_t)(end - begin));
    return at ? at - flags : -1;
}

/* The window that begins with token `first` of the file, and the last one's target. Tokens that
 * follow each other predict each other; then come masks, and tokens again, which nothing that
 * counts may be among. */
static void look_at_window(struct worker *worker, const unsigned char *tokens,
                           const unsigned char *flags, int64_t first) {
    int width = worker->pass->part->width;
    int64_t n = worker->pass->set->sequence + 1, masked = -1, targets = 0;
    for (int64_t i = 0; i < n;) {
        int64_t end = i + run_length(tokens + i * width, width, n - i, false);
        int64_t target = first_that_counts(flags, i + 1, end);
        if (target >= 0 && masked >= 0)
            return find(worker, FOUND_MASKED_CONTEXT, first + masked, first + target);
        targets += count_targets(flags, i + 1, end);
        if (masked < 0)
            masked = end;
        i = end + run_length(tokens + end * width, width, n - end, true);
        /* What counts at the window's first place was looked at in the window before. */
        target = flags ? first_that_counts(flags, end > 0 ? end : 1, i) : -1;
        if (target >= 0)
            return find(worker, FOUND_MASKED_TARGET, first + target, 0);
    }
    worker->targets += targets;
    worker->idle_windows += targets == 0;
}

static void look_at_windows(struct worker *worker, int64_t piece) {
    const struct pass *pass = worker->pass;
    const struct data_part *part = pass->part;
    int64_t sequence = pass->set->sequence;
    int64_t window = piece * pass->windows_in_piece, left = part->windows - window;
    int64_t windows = left < pass->windows_in_piece ? left : pass->windows_in_piece;
    int64_t first = window * sequence, n = windows * sequence + 1;
    unsigned char *tokens = worker->buffer, *flags = NULL;
    if (!read_piece(worker, &part->file, part->width, first * part->width, tokens, n * part->width))
        return;
    if (part->targets.path) {
        flags = tokens + n * part->width;
        if (!read_piece(worker, &part->targets, 1, first, flags, n))
            return;
    }
    for (int64_t i = 0; i < windows && !worker->finding.kind; i++)
        look_at_window(worker, tokens + i * sequence * part->width,
                       flags ? flags + i * sequence : NULL, first + i * sequence);
}

/* ---- a pass --------------------------------------------------------------------------------- */

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct pass *pass = worker->pass;
    worker->buffer = malloc(pass->buffer_bytes);
    if (!worker->buffer)
        find(worker, FOUND_NO_MEMORY, 0, 0);
    while (!atomic_load(&pass->ended) && !interrupts_seen()) {
        int64_t piece = atomic_fetch_add(&pass->next, 1);
        if (piece >= pass->pieces)
            break;
        pass->look(worker, piece);
    }
    free(worker->buffer);
    return NULL;
}

static void merge(struct worker *all, const struct worker *one) {
    all->hash_sum += one->hash_sum;
    all->has_mask |= one->has_mask;
    all->targets += one->targets;
    all->idle_windows += one->idle_windows;
    if (one->finding.kind && (!all->finding.kind || one->finding.at < all->finding.at))
        all->finding = one->finding;
}

/* Runs a pass by this thread and up to `threads` - 1 more, or as many as can be had. */
static struct worker pass_run(struct pass *pass, int threads) {
    struct worker workers[MOST_THREADS] = {{0}}, all = {0};
    int64_t useful = pass->pieces / PIECES_FOR_A_THREAD + 1;
    int n = threads < MOST_THREADS ? threads : MOST_THREADS, started = 1;
    n = useful < n ? (int)useful : n;
    for (int i = 0; i < n; i++)
        workers[i].pass = pass;
    while (started < n &&
           pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) == 0)
        started++;
    worker_main(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < started; i++)
        merge(&all, &workers[i]);
    return all;
}

/* ---- what is told --------------------------------------------------------------------------- */

/* Where a token is, as those look for it who made the file: "byte 12, window 3". The last window's
 * last target has no other, and what is behind it none. */
struct place_text {
    char text[64];
};
static struct place_text place_of(const struct pass *pass, int64_t position) {
    const struct data_part *part = pass->part;
    struct place_text place;
    int64_t byte = part->file.begin + position * part->width;
    int64_t sequence = pass->set->sequence, window = position / sequence;
    if (position > part->windows * sequence)
        snprintf(place.text, sizeof place.text, "byte %lld, behind the last window",
                 (long long)byte);
    else
        snprintf(place.text, sizeof place.text, "byte %lld, window %lld", (long long)byte,
                 (long long)(window < part->windows ? window : part->windows - 1));
    return place;
}

static void tell_unknown(const struct pass *pass, const struct finding *found, char *message,
                         size_t bytes) {
    int length = snprintf(
        message, bytes,
        "%s: token %lld%s at position %lld (%s) is not below the vocabulary's %lld; ",
        pass->file->path, (long long)found->other, found->other == INT64_MAX ? " or more" : "",
        (long long)found->at, place_of(pass, found->at).text, (long long)pass->limit);
    if (length < 0 || (size_t)length >= bytes)
        return;
    snprintf(message + length, bytes - (size_t)length, "%s",
             pass->part->kind == DATA_TEXT
                 ? "text needs a model.vocab of 256, or give tokens made for this model"
                 : "use data made for this model or set model.vocab");
}

static void tell_context(const struct pass *pass, const struct finding *found, char *message,
                         size_t bytes) {
    snprintf(message, bytes,
             "%s: position %lld (%s) is masked, but the target at position %lld is predicted from "
             "it, and there is no token; give all tokens, and say with %s FILE which count as "
             "targets (a byte each: 1, or 0)",
             pass->file->path, (long long)found->at, place_of(pass, found->at).text,
             (long long)found->other, pass->set->request.targets_option);
}

static void tell_unreadable(const struct finding *found, char *message, size_t bytes) {
    if (found->other)
        snprintf(message, bytes, "%s: cannot be read: %s", found->file->path,
                 strerror((int)found->other));
    else
        snprintf(message, bytes,
                 "%s: token %lld is gone: the file was cut short while this run reads it; give "
                 "the run a file that nobody changes",
                 found->file->path, (long long)found->at);
}

static void tell(const struct pass *pass, const struct finding *found, char *message,
                 size_t bytes) {
    const struct data_part *part = pass->part;
    switch (found->kind) {
    case FOUND_NOTHING:
        break;
    case FOUND_NO_MEMORY:
        snprintf(message, bytes, "%s: no memory to look through it", found->file->path);
        break;
    case FOUND_UNREADABLE:
        tell_unreadable(found, message, bytes);
        break;
    case FOUND_NOT_TEXT:
        snprintf(
            message, bytes,
            "%s: %s, is 0, which text has not; take it out, or say that all bytes are meant with "
            "--data-type text",
            part->file.path, place_of(pass, found->at).text);
        break;
    case FOUND_UNKNOWN:
        tell_unknown(pass, found, message, bytes);
        break;
    case FOUND_NO_FLAG:
        snprintf(message, bytes,
                 "%s: byte %lld is %lld; a token that counts as a target has the byte 1 here, any "
                 "other 0 (not the digits)",
                 part->targets.path, (long long)found->at, (long long)found->other);
        break;
    case FOUND_MASKED_TARGET:
        snprintf(message, bytes,
                 "%s: byte %lld says that a token counts as a target which is masked in %s; make "
                 "it 0",
                 part->targets.path, (long long)found->at, part->file.path);
        break;
    case FOUND_MASKED_CONTEXT:
        tell_context(pass, found, message, bytes);
        break;
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static struct pass pass_over_bytes(const struct dataset *set, const struct data_part *part,
                                   const struct data_file *file, int width) {
    return (struct pass){.set = set,
                         .part = part,
                         .file = file,
                         .width = width,
                         .look = look_at_bytes,
                         .pieces = (file->bytes + PIECE_BYTES - 1) / PIECE_BYTES,
                         .buffer_bytes = PIECE_BYTES};
}

static struct pass pass_over_windows(const struct dataset *set, const struct data_part *part) {
    int64_t bytes =
        (set->sequence + 1) * (part->width + 1); /* of a window and its flags, at most */
    int64_t windows = bytes < PIECE_BYTES ? PIECE_BYTES / bytes : 1;
    return (struct pass){.set = set,
                         .part = part,
                         .file = &part->file,
                         .width = part->width,
                         .look = look_at_windows,
                         .pieces = (part->windows + windows - 1) / windows,
                         .windows_in_piece = windows,
                         .buffer_bytes = (size_t)(windows * bytes)};
}

static enum scan_end scan_pass(struct pass *pass, int threads, struct worker *found, char *message,
                               size_t message_bytes) {
    *found = pass_run(pass, threads);
    if (found->finding.kind) {
        tell(pass, &found->finding, message, message_bytes);
        return SCAN_REFUSED;
    }
    return interrupts_seen() ? SCAN_INTERRUPTED : SCAN_DONE;
}

static enum scan_end scan_part(struct dataset *set, struct data_part *part, int64_t vocab,
                               int threads, char *message, size_t message_bytes) {
    struct pass pass = pass_over_bytes(set, part, &part->file, part->width);
    pass.limit = vocab;
    pass.beyond = FOUND_UNKNOWN;
    pass.refuses_zero = part->kind == DATA_TEXT && !set->request.type;
    struct worker tokens, flags, windows = {.targets = part->windows * set->sequence};
    enum scan_end end = scan_pass(&pass, threads, &tokens, message, message_bytes);
    if (!end)
        part->file.hash = content_hash_whole(tokens.hash_sum, part->file.bytes);
    if (!end && part->targets.path) {
        pass = pass_over_bytes(set, part, &part->targets, 1);
        pass.limit = 2;
        pass.beyond = FOUND_NO_FLAG;
        end = scan_pass(&pass, threads, &flags, message, message_bytes);
        if (!end)
            part->targets.hash = content_hash_whole(flags.hash_sum, part->targets.bytes);
    }
    if (!end && (tokens.has_mask || part->targets.path)) {
        pass = pass_over_windows(set, part);
        end = scan_pass(&pass, threads, &windows, message, message_bytes);
    }
    set->targets_that_count += windows.targets;
    set->idle_windows += windows.idle_windows;
    return end;
}

enum scan_end dataset_scan(struct dataset *set, int64_t vocab, int threads, char *message,
                           size_t message_bytes) {
    enum scan_end end = SCAN_DONE;
    for (int32_t i = 0; i < set->n_parts && !end; i++)
        end = scan_part(set, &set->parts[i], vocab, threads, message, message_bytes);
    return end;
}
