/* What a run is asked to write (see outputs.h). A log that emptied the data, or parameters in the
 * place of the program, would be found out too late. */
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "runtime/host/file.h"
#include "runtime/host/folder.h"
#include "runtime/host/kind.h"
#include "runtime/host/progress.h"
#include "runtime/host/outputs.h"
#include "runtime/host/tensors.h"

/* A file of the run, by the option that names it. */
struct named_file {
    const char *option, *path; /* path null: not given */
    bool written, whole;       /* whole: under another name, then renamed; else appended to */
    enum file_kind kind;       /* of what is written */
    int64_t bytes;             /* that it will have, where that is known */
};

static const char *parent_of(const char *path, char *copy, size_t bytes) {
    snprintf(copy, bytes, "%s", path);
    return dirname(copy);
}

/* Whether two paths name one regular file, or would, once it is made. Devices may be shared. */
static bool is_same_file(const char *a, const char *b) {
    struct stat status;
    return is_same_place(a, b) && (stat(a, &status) != 0 || S_ISREG(status.st_mode));
}

static int check_pair(const struct named_file *a, const struct named_file *b, char *message,
                      size_t bytes) {
    if (!a->path || !b->path || !(a->written || b->written) || !is_same_file(a->path, b->path))
        return 0;
    snprintf(
        message, bytes,
        "%s: %s and %s name the same file, which one would destroy for the other; give each its "
        "own",
        b->path, a->option, b->option);
    return -1;
}

/* Checks that outputs are distinct from one another, from the texts of the program, and from the
 * command that is running. */
static int check_distinct(const struct named_file *files, int n, const char *const *texts,
                          char *message, size_t bytes) {
    const struct named_file command = {.option = "the running program", .path = "/proc/self/exe"};
    for (int i = 0; i < n; i++) {
        for (int j = 0; texts && texts[j]; j++) {
            const struct named_file text = {.option = "the program's text", .path = texts[j]};
            if (check_pair(&text, &files[i], message, bytes) != 0)
                return -1;
        }
        for (int j = 0; j < i; j++)
            if (check_pair(&files[j], &files[i], message, bytes) != 0)
                return -1;
        if (check_pair(&command, &files[i], message, bytes) != 0)
            return -1;
    }
    return 0;
}

static int check_room(const struct named_file *file, struct claims *claims, const char *place,
                      char *message, size_t bytes) {
    char copy[4096], need[32], room[32];
    const char *folder = parent_of(place, copy, sizeof copy);
    int64_t there = room_left(claims, folder);
    if (file->bytes <= there) {
        room_claim(claims, folder, file->bytes);
        return 0;
    }
    format_lack(need, room, file->bytes, there);
    snprintf(message, bytes,
             "%s: it will have %s, but its disk has only %s left%s; make room, or name a folder "
             "elsewhere",
             file->path, need, room, room_beside(claims, folder));
    return -1;
}

/* What somebody else's file would lose is said before anything of it is. */
static int check_kind(const struct named_file *file, char *message, size_t bytes) {
    const char *missed = file->written && file->path ? kind_missed(file->kind, file->path) : NULL;
    if (!missed)
        return 0;
    snprintf(message, bytes,
             "%s: it is there and is not %s, so %s does not write over it; name another %s, or "
             "remove this one",
             file->path, missed, file->option, file->kind == FILE_CONFIG ? "folder" : "file");
    return -1;
}

/* A file of a checkpoint, or beside one: whoever goes on from it would find other content than was
 * written. */
static int check_outside(const struct named_file *file, char *message, size_t bytes) {
    char place[FILE_PATH_BYTES], copy[FILE_PATH_BYTES];
    if (!file->written || !file->path || follow_links(file->path, place) != 0 ||
        !folder_is_checkpoint(parent_of(place, copy, sizeof copy)))
        return 0;
    snprintf(message, bytes,
             "%s: its folder is a checkpoint, which %s would damage; name a file elsewhere",
             file->path, file->option);
    return -1;
}

static int check_writable(const struct named_file *file, struct claims *claims, char *message,
                          size_t bytes) {
    if (file->path && !*file->path) {
        snprintf(message, bytes, "%s names no file; give it a name, or leave it out", file->option);
        return -1;
    }
    char place[FILE_PATH_BYTES];
    if (!file->path || !file->whole)
        return 0;
    if (new_file_probe(file->path, place) == 0)
        return check_room(file, claims, place, message, bytes);
    snprintf(message, bytes,
             "%s: cannot be written: %s; name a regular file in a folder that exists and may be "
             "written",
             file->path, strerror(errno));
    return -1;
}

/* Checks that outputs are distinct from what is read. */
static int check_inputs(const struct named_file *files, int n, const struct data_files *inputs,
                        const char *option, char *message, size_t bytes) {
    for (int32_t i = 0; i < inputs->n; i++) {
        const struct named_file input = {.option = option, .path = inputs->paths[i]};
        for (int j = 0; j < n; j++)
            if (check_pair(&input, &files[j], message, bytes) != 0)
                return -1;
    }
    return 0;
}

static int check_data(const struct named_file *files, int n, const struct dataset *set,
                      char *message, size_t bytes) {
    const struct data_request *request = &set->request;
    return check_inputs(files, n, &set->files, request->option, message, bytes) != 0
               ? -1
               : check_inputs(files, n, &set->target_files, request->targets_option, message,
                              bytes);
}

enum { N_FILES = 8 };
static void list_files(const struct session *session, struct named_file files[N_FILES]) {
    const struct place_program *program = session->program;
    const struct place_run_options *options = session->options;
    const struct saved_model *saved = &session->saved;
    const struct named_file listed[N_FILES] = {
        {.option = "--resume", .path = options->resume},
        {.option = "--checkpoint", .path = options->checkpoint},
        {"--save", *saved->weights ? saved->weights : options->save, true, true, FILE_TENSORS,
         tensors_file_bytes(program, ENTRIES_PARAMETERS)},
        {"--save", *saved->config ? saved->config : NULL, true, true, FILE_CONFIG, 0},
        {"--dump", options->dump, true, true, FILE_TENSORS,
         tensors_file_bytes(program, ENTRIES_STATES)},
        {"--memory", options->memory, true, true, FILE_TIMELINE, 0},
        {"--trace", options->trace, true, true, FILE_TRACE, 0},
        {"--log", options->log, true, false, FILE_LOG, 0},
    };
    memcpy(files, listed, sizeof listed);
}

int run_outputs_check(struct session *session, char *message, size_t message_bytes) {
    struct named_file files[N_FILES];
    list_files(session, files);
    for (int i = 0; i < N_FILES; i++)
        if (check_writable(&files[i], &session->claims, message, message_bytes) != 0)
            return -1;
    if (check_data(files, N_FILES, &session->data, message, message_bytes) != 0 ||
        check_data(files, N_FILES, &session->eval, message, message_bytes) != 0 ||
        check_distinct(files, N_FILES, session->options->texts, message, message_bytes) != 0)
        return -1;
    for (int i = 0; i < N_FILES; i++)
        if (check_outside(&files[i], message, message_bytes) != 0 ||
            check_kind(&files[i], message, message_bytes) != 0)
            return -1;
    return 0;
}

int run_weights_check(const struct session *session, char *message, size_t message_bytes) {
    struct named_file files[N_FILES];
    list_files(session, files);
    for (int32_t i = 0; i < session->weights.files.n_files; i++) {
        const struct named_file input = {.option = "--from",
                                         .path = session->weights.files.files[i].path};
        for (int j = 0; j < N_FILES; j++)
            if (check_pair(&input, &files[j], message, message_bytes) != 0)
                return -1;
    }
    return 0;
}
