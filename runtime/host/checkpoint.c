/* Writing checkpoints (see checkpoint.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/checkpoint.h"
#include "runtime/host/last_words.h"
#include "runtime/host/log.h"
#include "runtime/host/progress.h"
#include "runtime/host/prune.h"
#include "runtime/host/resumable.h"
#include "runtime/host/segments.h"
#include "runtime/host/session.h"
#include "runtime/transport/transport.h"

/* Files of a checkpoint end before so many bytes (as Hugging Face's do), or as PLACE_SHARD_BYTES
 * says; how many stay, where nobody says it. */
#define MOST_FILE_BYTES INT64_C(5000000000)
enum { KEEP = 3 };

/* What a rank that found it says as an errno; no call that writes gives it. */
enum { NOT_FINITE = EDOM };

/* ---- before the ranks ----------------------------------------------------------------------- */

/* False: what is said is no number. */
static bool most_file_bytes(int64_t *bytes) {
    const char *text = getenv("PLACE_SHARD_BYTES");
    char *end = NULL;
    *bytes = text ? strtoll(text, &end, 10) : MOST_FILE_BYTES;
    return !text || (*text && !*end && *bytes > 0);
}

/* Where to: as was said, or where the checkpoint is from which the run goes on. */
static int folder_path(const struct session *session, char path[FILE_PATH_BYTES]) {
    const struct place_run_options *options = session->options;
    int64_t step;
    const char *said = options->checkpoint ? options->checkpoint : options->resume;
    if (options->checkpoint || !folder_of(session->resumption.path, path, &step))
        snprintf(path, FILE_PATH_BYTES, "%s", said);
    return strlen(said) >= FILE_PATH_BYTES - 128 ? -1 : 0;
}

/* How many more there will be at once than there are: those that stay, and the next, before the
 * first of them goes; and no more than the run writes. */
static int64_t most_new(const struct session *session) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    int64_t steps = session->options->steps - session->resumption.manifest.step;
    int64_t every = checkpoints->every > 0 ? checkpoints->every : steps;
    int64_t written = steps / every + (steps % every != 0);
    int64_t more = checkpoints->keep + 1 - folder_count(checkpoints->folder.path);
    return more < 1 ? 1 : more < written ? more : written;
}

/* Room for one more than there are, before time is spent; a run whose later ones lack it is told,
 * since others may make room meanwhile. */
static int check_room(struct session *session, char *message, size_t message_bytes) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    char need[32], room[32];
    const char *path = checkpoints->folder.path;
    int64_t there = room_left(&session->claims, path);
    int64_t bytes = tensor_files_bytes(&checkpoints->files);
    int64_t fitting = there / bytes, more = most_new(session);
    if (fitting > 0 && fitting < more)
        fprintf(
            stderr,
            "warning: %s: its disk has room for %lld checkpoint%s of %s%s, and there will be %lld "
            "more at once; keep fewer with --keep, make room, or name a folder elsewhere\n",
            path, (long long)fitting, plural_s(fitting), format_bytes(need, sizeof need, bytes),
            room_beside(&session->claims, path), (long long)more);
    if (fitting > 0)
        return 0;
    format_lack(need, room, bytes, there);
    snprintf(
        message, message_bytes,
        "%s: a checkpoint has %s, but its disk has only %s left%s; make room, or name a folder "
        "elsewhere",
        path, need, room, room_beside(&session->claims, path));
    return -1;
}

/* Whether the run goes on from a checkpoint that is in this folder. */
static bool goes_on_inside(const struct session *session) {
    char path[FILE_PATH_BYTES];
    struct stat of_folder, of_last;
    int64_t step;
    return folder_of(session->resumption.path, path, &step) && stat(path, &of_last) == 0 &&
           fstat(session->checkpoints.folder.descriptor, &of_folder) == 0 &&
           of_folder.st_dev == of_last.st_dev && of_folder.st_ino == of_last.st_ino;
}

/* A run goes on behind the last checkpoint of its folder, or begins in one that has none: so none
 * is written over, no other run's is removed, and the last is always the one to go on from. */
static int check_order(struct session *session, char *message, size_t message_bytes) {
    struct checkpoints *checkpoints = &session->checkpoints;
    const char *path = checkpoints->folder.path;
    int64_t last = folder_last(path);
    checkpoints->last = -1;
    if (last < 0)
        return 0;
    if (!goes_on_inside(session)) {
        snprintf(message, message_bytes,
                 "%s: there are checkpoints of another run in it; go on from them with --resume "
                 "%s, or name another folder",
                 path, path);
        return -1;
    }
    if (last > session->resumption.manifest.step) {
        snprintf(message, message_bytes,
                 "%s: it has a later checkpoint, of step %lld, than the one to go on from; name "
                 "another folder with --checkpoint DIR",
                 path, (long long)last);
        return -1;
    }
    checkpoints->last = last;
    checkpoints->last_sum = session->resumption.manifest.own_sum;
    return 0;
}

int checkpoints_list(struct session *session, char *message, size_t message_bytes) {
    const struct place_buffer *forgotten = entries_forgotten(session->program);
    struct entries *entries = &session->checkpoints.files.entries;
    if (forgotten)
        snprintf(message, message_bytes,
                 "%s can be in no checkpoint (an error of the compiler); report it",
                 forgotten->name);
    else if (entries_list(session->program, ENTRIES_RESUMABLE, entries))
        return 0;
    else
        snprintf(message, message_bytes, "no memory to list what a checkpoint holds");
    return -1;
}

int checkpoints_open(struct session *session, int has_first_rank, char *message,
                     size_t message_bytes) {
    const struct place_run_options *options = session->options;
    struct checkpoints *checkpoints = &session->checkpoints;
    char *path = checkpoints->path;
    int64_t most_bytes;
    checkpoints->is_on = (options->checkpoint || options->resume) &&
                         options->steps > session->resumption.manifest.step;
    checkpoints->every = options->save_every;
    checkpoints->keep = options->keep ? options->keep : KEEP;
    if (!checkpoints->is_on)
        return 0;
    if (!most_file_bytes(&most_bytes))
        snprintf(message, message_bytes,
                 "PLACE_SHARD_BYTES is not a number of bytes above 0; unset it, or set it as in "
                 "PLACE_SHARD_BYTES=%lld",
                 (long long)MOST_FILE_BYTES);
    else if (folder_path(session, path) != 0)
        snprintf(message, message_bytes, "%s: %s", path, strerror(ENAMETOOLONG));
    else if (folder_is_checkpoint(path))
        snprintf(message, message_bytes,
                 "%s: it is a checkpoint itself, which others inside would damage; name the folder "
                 "for further ones with --checkpoint DIR",
                 path);
    else if (!tensor_files_divide(&checkpoints->files, most_bytes))
        snprintf(message, message_bytes, "%s: no memory to list what it will hold", path);
    else if (!has_first_rank)
        return 0;
    else
        return folder_open(&checkpoints->folder, path, message, message_bytes) != 0 ||
                       check_order(session, message, message_bytes) != 0 ||
                       check_room(session, message, message_bytes) != 0
                   ? -1
                   : 0;
    return -1;
}

void checkpoints_close(struct session *session) {
    folder_close(&session->checkpoints.folder);
    tensor_files_free(&session->checkpoints.files);
}

/* ---- rank 0's part -------------------------------------------------------------------------- */

/* Says why there will be no checkpoint, and leaves nothing of it. */
static void give_up_for(struct checkpoints *checkpoints, int64_t step, const char *why) {
    folder_discard(&checkpoints->folder);
    snprintf(checkpoints->failure, sizeof checkpoints->failure,
             "%s: the checkpoint of step %lld cannot be written: %s", checkpoints->path,
             (long long)step, why);
}

static void give_up(struct checkpoints *checkpoints, int64_t step, const char *what, int reason) {
    char why[256];
    snprintf(why, sizeof why, "%s%s%s", what, *what ? ": " : "",
             reason == NOT_FINITE ? "parameters are not finite numbers" : strerror(reason));
    give_up_for(checkpoints, step, why);
}

/* Whether the last checkpoint of the folder is the one that this run wrote last, or goes on from;
 * or there is none. */
static bool is_of_this_run(const struct checkpoints *checkpoints) {
    struct resumption there = {.path = ""};
    char unused[FILE_PATH_BYTES + 256];
    int64_t last = folder_last(checkpoints->path);
    if (last < 0 || last != checkpoints->last)
        return last < 0;
    folder_name(there.path, sizeof there.path, checkpoints->path, last);
    bool same = resumption_read_manifest(&there, unused, sizeof unused) == 0 &&
                there.manifest.own_sum == checkpoints->last_sum;
    resumption_close(&there);
    return same;
}

/* A folder that was moved, removed or mounted over is made or opened again by its path, so that no
 * more is lost than was in it. What is there now may be somebody else's. */
static bool return_to_folder(struct session *session, int64_t step) {
    struct checkpoints *checkpoints = &session->checkpoints;
    char why[FILE_PATH_BYTES + 256];
    if (folder_is_in_place(&checkpoints->folder))
        return true;
    folder_close(&checkpoints->folder);
    if (folder_open(&checkpoints->folder, checkpoints->path, why, sizeof why) != 0) {
        give_up_for(checkpoints, step, why);
        return false;
    }
    if (!is_of_this_run(checkpoints)) {
        folder_close(&checkpoints->folder);
        give_up_for(checkpoints, step,
                    "the folder is another than before, and has checkpoints that are not this "
                    "run's; put the former back, or move these away");
        return false;
    }
    checkpoints->last = folder_last(checkpoints->path);
    last_words_prepare(session, true);
    return true;
}

static void path_in(const struct checkpoints *checkpoints, const char *name,
                    char path[2 * FILE_PATH_BYTES]) {
    snprintf(path, 2 * FILE_PATH_BYTES, "%s/%s/%s", checkpoints->folder.path,
             checkpoints->folder.unfinished, name);
}

/* A file that is there as a whole, and on the disk, when this returns 0. */
static int write_text(const struct checkpoints *checkpoints, const char *name, const char *text,
                      size_t bytes) {
    char path[2 * FILE_PATH_BYTES];
    path_in(checkpoints, name, path);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool whole = descriptor >= 0 && file_write(descriptor, text, bytes, 0) == 0 &&
                 file_flush(descriptor) == 0;
    int reason = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = reason;
    return whole ? 0 : -1;
}

/* Makes a file at its full size, so that a disk that is full is noticed here. */
static int make_file(const struct checkpoints *checkpoints, const struct tensor_file *file) {
    char path[2 * FILE_PATH_BYTES];
    path_in(checkpoints, file->name, path);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return -1;
    int reason;
    do
        reason = posix_fallocate(descriptor, 0, file->bytes);
    while (reason == EINTR);
    if (!reason && file_write(descriptor, file->header, file->header_bytes, 0) != 0)
        reason = errno;
    close(descriptor);
    errno = reason;
    return reason ? -1 : 0;
}

/* Which file each tensor of a group is in, as Hugging Face's libraries look it up. */
static int write_index(const struct checkpoints *checkpoints, const char *stem, int32_t first,
                       int32_t n) {
    const struct tensor_files *files = &checkpoints->files;
    char name[64];
    int64_t total = 0;
    size_t used = 0;
    char *text = malloc(256 + (size_t)n * (6 * ENTRY_NAME_BYTES + TENSOR_FILE_NAME_BYTES + 16));
    if (!text)
        return -1;
    for (int32_t i = first; i < first + n; i++)
        total += entry_bytes(&files->entries.items[i]);
    used += (size_t)sprintf(text, "{\"metadata\": {\"total_size\": %lld},\n\"weight_map\": {",
                            (long long)total);
    for (int32_t i = first; i < first + n; i++) {
        used += (size_t)sprintf(text + used, "%s\n", i > first ? "," : "");
        used += quote_json(text + used, 6 * ENTRY_NAME_BYTES, files->entries.items[i].name);
        used +=
            (size_t)sprintf(text + used, ": \"%s\"", files->items[tensor_files_of(files, i)].name);
    }
    used += (size_t)sprintf(text + used, "}}\n");
    snprintf(name, sizeof name, "%s" TENSOR_INDEX_SUFFIX, stem);
    int status = write_text(checkpoints, name, text, used);
    free(text);
    return status;
}

static int write_indices(const struct checkpoints *checkpoints) {
    const struct tensor_files *files = &checkpoints->files;
    int32_t model = files->entries.parameters;
    int32_t of_model = 0;
    while (of_model < files->n && files->items[of_model].first < model)
        of_model++;
    if (of_model > 1 && write_index(checkpoints, "model", 0, model) != 0)
        return -1;
    return files->n - of_model > 1
               ? write_index(checkpoints, "states", model, files->entries.n - model)
               : 0;
}

/* Whether there is a place for the parts now. */
static bool prepare(struct session *session, int64_t step) {
    struct checkpoints *checkpoints = &session->checkpoints;
    *checkpoints->failure = 0;
    if (!return_to_folder(session, step))
        return false;
    if (folder_begin(&checkpoints->folder, step) != 0) {
        give_up(checkpoints, step, "", errno);
        return false;
    }
    for (int32_t i = 0; i < checkpoints->files.n; i++)
        if (make_file(checkpoints, &checkpoints->files.items[i]) != 0) {
            give_up(checkpoints, step, checkpoints->files.items[i].name, errno);
            return false;
        }
    if (write_indices(checkpoints) != 0) {
        give_up(checkpoints, step, "its index", errno);
        return false;
    }
    const char *config = session->program->config_json;
    if (config && write_text(checkpoints, CONFIG_NAME, config, strlen(config)) != 0) {
        give_up(checkpoints, step, CONFIG_NAME, errno);
        return false;
    }
    return true;
}

/* What lies in the folder is on the disk; so is then that it does. */
static int sync_folder(const struct checkpoints *checkpoints) {
    int descriptor = openat(checkpoints->folder.descriptor, checkpoints->folder.unfinished,
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = descriptor < 0 ? -1 : folder_flush(descriptor);
    int reason = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = reason;
    return status;
}

static int write_manifest(struct session *session, const struct checkpoint_writer *writer,
                          uint64_t *sum) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    const struct place_program *program = session->program;
    struct manifest manifest = {.step = writer->step,
                                .samples = writer->samples,
                                .seed = session->seed,
                                .is_scaled = carries(program),
                                .n_carried = axes_parts(program, &program->islands),
                                .carried = writer->carried,
                                .data_tokens = session->data.tokens,
                                .data_hash = dataset_hash(&session->data),
                                .batch = program->batch,
                                .sequence = program->sequence,
                                .islands = axes_parts(program, &program->islands),
                                .files = checkpoints->files,
                                .sums = writer->sums};
    snprintf(manifest.strategy, sizeof manifest.strategy, "%s", program->name);
    snprintf(manifest.plan_hash, sizeof manifest.plan_hash, "%s", program->plan_hash);
    snprintf(manifest.model, sizeof manifest.model, "%s", program->model ? program->model : "");
    snprintf(manifest.training, sizeof manifest.training, "%s",
             program->training ? program->training : "");
    size_t bytes;
    char *text = manifest_print(&manifest, program, &bytes);
    int status = text ? write_text(checkpoints, MANIFEST_NAME, text, bytes) : -1;
    *sum = text ? manifest_sum(text, bytes) : 0;
    free(text);
    return status;
}

static void commit(struct session *session, const struct checkpoint_writer *writer) {
    struct checkpoints *checkpoints = &session->checkpoints;
    uint64_t sum;
    if (!folder_is_in_place(&checkpoints->folder)) {
        give_up_for(checkpoints, writer->step,
                    "its folder was moved or removed while it was written");
        return;
    }
    if (write_manifest(session, writer, &sum) != 0 || sync_folder(checkpoints) != 0 ||
        folder_commit(&checkpoints->folder, writer->step) != 0) {
        give_up(checkpoints, writer->step, "", errno);
        return;
    }
    checkpoints->last = writer->step;
    checkpoints->last_sum = sum;
    last_words_prepare(session, true);
    if (folder_flush(checkpoints->folder.descriptor) != 0) {
        snprintf(
            checkpoints->stays, sizeof checkpoints->stays,
            "%s: the name of the checkpoint of step %lld may not be on the disk yet: %s; those "
            "before it stay",
            checkpoints->path, (long long)writer->step, strerror(errno));
        return;
    }
    folder_prune(&checkpoints->folder, checkpoints->keep, checkpoints->stays,
                 sizeof checkpoints->stays);
}

/* ---- every rank's part ---------------------------------------------------------------------- */

/* Writes what this rank has to write of an entry: where there are copies, every holder writes some
 * tensors. A model that nothing can be made of replaces none that is whole. */
static int write_entry(struct place_context *context, struct panel *panel,
                       const struct entries *entries, int32_t number,
                       const struct place_in_file *file, content_sum *sum) {
    const struct entry *entry = &entries->items[number];
    for (const struct component *c = entry->components; c; c = c->next) {
        int64_t copies, copy = entry_copy(context->program, entry, c, context->rank, &copies);
        if (c->again || copy < 0 || copy != number % copies)
            continue;
        bool finite = true;
        if (number < entries->parameters && part_is_finite(context, entry, c, &finite) != 0)
            return -1;
        if (!finite) {
            errno = NOT_FINITE;
            return -1;
        }
        if (part_write(context, panel, entry, c, file, sum) != 0)
            return -1;
    }
    return 0;
}

static int open_files(const struct checkpoints *checkpoints, struct checkpoint_writer *writer) {
    char path[2 * FILE_PATH_BYTES], unfinished[64];
    folder_unfinished(unfinished, sizeof unfinished, writer->step);
    for (int32_t i = 0; i < checkpoints->files.n; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", checkpoints->path, unfinished,
                 checkpoints->files.items[i].name);
        writer->descriptors[i] = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (writer->descriptors[i] < 0)
            return -1;
    }
    return 0;
}

/* Negative: the errno of a failure. */
static int64_t write_parts(const struct checkpoints *checkpoints, struct place_context *context,
                           struct checkpoint_writer *writer, content_sum *sums) {
    const struct tensor_files *files = &checkpoints->files;
    struct panel *panel = panel_new();
    int status = panel ? open_files(checkpoints, writer) : -1;
    for (int32_t i = 0; i < files->entries.n && status == 0; i++) {
        struct place_in_file file = {.descriptor = writer->descriptors[tensor_files_of(files, i)],
                                     .offset = files->offsets[i]};
        status = write_entry(context, panel, &files->entries, i, &file, &sums[i]);
    }
    int64_t reason = status == 0 ? 0 : -errno;
    panel_free(panel);
    return reason;
}

/* Brings the files to the disk, behind the steps that follow. */
static void *flush(void *argument) {
    struct checkpoint_writer *writer = argument;
    int64_t state = CHECKPOINT_ON_DISK;
    for (int i = 0; writer->descriptors[i] >= 0; i++)
        if (file_flush(writer->descriptors[i]) != 0)
            state = -errno;
    atomic_store(&writer->state, state);
    return NULL;
}

static void close_files(struct checkpoint_writer *writer) {
    if (writer->has_thread)
        pthread_join(writer->thread, NULL);
    writer->has_thread = 0;
    for (int i = 0; writer->descriptors && writer->descriptors[i] >= 0; i++)
        close(writer->descriptors[i]);
    free(writer->descriptors);
    free(writer->sums);
    free(writer->carried);
    writer->descriptors = NULL;
    writer->sums = NULL;
    writer->carried = NULL;
    atomic_store(&writer->state, CHECKPOINT_NONE);
}

void checkpoint_abandon(struct checkpoint_writer *writer) {
    close_files(writer);
}

/* What every rank says of its parts: how it went, and the sums. */
struct parts {
    int64_t reason;
    content_sum sums[];
};

/* Adds up the ranks' sums. The first failure of any, or 0. */
static int64_t merge_parts(const char *all, size_t bytes, int64_t devices, int32_t n,
                           content_sum *sums, int64_t *who) {
    int64_t reason = 0;
    for (int64_t rank = devices - 1; rank >= 0; rank--) {
        const struct parts *parts = (const struct parts *)(all + (size_t)rank * bytes);
        if (parts->reason) {
            reason = parts->reason;
            *who = rank;
        }
        for (int32_t i = 0; i < n; i++)
            sums[i] += parts->sums[i];
    }
    return reason;
}

static void start_flush(struct checkpoint_writer *writer) {
    atomic_store(&writer->state, CHECKPOINT_ON_ITS_WAY);
    writer->has_thread = pthread_create(&writer->thread, NULL, flush, writer) == 0;
    if (!writer->has_thread)
        flush(writer);
}

/* Waits for rank 0, which has had files to write or to remove: in the next step the others would
 * miss it. */
static int32_t wait_for_first(struct place_context *context) {
    return host_share(context, NULL, NULL, 0);
}

static int32_t write_and_share(struct session *session, struct place_context *context,
                               struct checkpoint_writer *writer, struct parts *mine, char *all,
                               size_t bytes) {
    struct checkpoints *checkpoints = &session->checkpoints;
    int32_t n = checkpoints->files.entries.n;
    int64_t devices = session->program->devices, who = 0;
    mine->reason = write_parts(checkpoints, context, writer, mine->sums);
    int32_t status = host_share(context, mine, all, bytes);
    if (status)
        return status;
    int64_t reason = merge_parts(all, bytes, devices, n, writer->sums, &who);
    if (!reason) {
        writer->written = writer->step;
        start_flush(writer);
        return PLACE_OK;
    }
    close_files(writer);
    if (context->rank == 0) {
        char rank[32];
        snprintf(rank, sizeof rank, "rank %lld", (long long)who);
        give_up(checkpoints, writer->step, rank, (int)-reason);
    }
    return wait_for_first(context);
}

/* What rank 0 has prepared, all fill. */
static int32_t agree_to_write(struct session *session, struct place_context *context, int64_t step,
                              bool *ready) {
    int64_t mine = context->rank == 0 && prepare(session, step);
    int64_t *all = malloc((size_t)session->program->devices * sizeof *all);
    int32_t status = all ? host_share(context, &mine, all, sizeof mine)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory to agree");
    *ready = !status && all[0];
    free(all);
    return status;
}

int32_t checkpoint_begin(struct session *session, struct place_context *context,
                         struct checkpoint_writer *writer, int64_t step, int64_t samples,
                         const struct carried *carried) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    size_t n = (size_t)checkpoints->files.entries.n;
    size_t bytes = sizeof(struct parts) + n * sizeof(content_sum);
    bool ready = false;
    int32_t status = agree_to_write(session, context, step, &ready);
    if (status || !ready)
        return status;
    writer->step = step;
    writer->samples = samples;
    size_t islands = (size_t)axes_parts(session->program, &session->program->islands);
    writer->carried = malloc(islands * sizeof *carried);
    writer->sums = calloc(n + 1, sizeof *writer->sums);
    writer->descriptors = malloc(((size_t)checkpoints->files.n + 1) * sizeof(int));
    struct parts *mine = calloc(1, bytes);
    char *all = malloc(bytes * (size_t)session->program->devices);
    for (int32_t i = 0; writer->descriptors && i <= checkpoints->files.n; i++)
        writer->descriptors[i] = -1;
    if (writer->carried)
        memcpy(writer->carried, carried, islands * sizeof *carried);
    if (writer->carried && writer->sums && writer->descriptors && mine && all)
        status = write_and_share(session, context, writer, mine, all, bytes);
    else
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory to write a checkpoint");
    free(mine);
    free(all);
    return status;
}

int32_t checkpoint_settle(struct session *session, struct place_context *context,
                          struct checkpoint_writer *writer, int64_t state) {
    if (context->rank == 0 && state == CHECKPOINT_ON_DISK)
        commit(session, writer);
    else if (context->rank == 0)
        give_up(&session->checkpoints, writer->step, "", (int)-state);
    if (state != CHECKPOINT_ON_DISK)
        writer->written = 0;
    close_files(writer);
    return wait_for_first(context);
}

int32_t checkpoint_finish(struct session *session, struct place_context *context,
                          struct checkpoint_writer *writer) {
    if (atomic_load(&writer->state) == CHECKPOINT_NONE)
        return PLACE_OK;
    if (writer->has_thread)
        pthread_join(writer->thread, NULL);
    writer->has_thread = 0;
    int64_t devices = session->program->devices, mine = atomic_load(&writer->state), least = mine;
    int64_t *all = malloc((size_t)devices * sizeof *all);
    int32_t status = all ? host_share(context, &mine, all, sizeof mine)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory to agree");
    for (int64_t i = 0; i < devices && !status; i++)
        least = all[i] < least ? all[i] : least;
    free(all);
    return status ? status : checkpoint_settle(session, context, writer, least);
}
