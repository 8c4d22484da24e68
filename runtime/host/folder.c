/* A folder of checkpoints (see folder.h). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/folder.h"
#include "runtime/host/kind.h"
#include "runtime/host/manifest.h"

#define LOCK_NAME ".lock"
#define STEM      "step-"
/* What stands behind the name of a checkpoint, with a dot in front of it: on its way in, and out.
 * */
#define UNFINISHED ".part"
#define REMOVED    ".removed"

/* The number of a checkpoint's name, or -1. */
static int64_t step_of(const char *name) {
    char expected[64];
    if (strncmp(name, STEM, sizeof STEM - 1) != 0)
        return -1;
    long long step = strtoll(name + sizeof STEM - 1, NULL, 10);
    snprintf(expected, sizeof expected, STEM "%09lld", step);
    return step >= 0 && strcmp(name, expected) == 0 ? step : -1;
}

void folder_name(char *name, size_t bytes, const char *path, int64_t step) {
    snprintf(name, bytes, "%s/" STEM "%09lld", path, (long long)step);
}

static void strip_slashes(char *path) {
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
}

bool folder_of(const char *checkpoint, char folder[FILE_PATH_BYTES], int64_t *step) {
    if (strlen(checkpoint) >= FILE_PATH_BYTES)
        return false;
    strcpy(folder, checkpoint);
    strip_slashes(folder);
    char *slash = strrchr(folder, '/');
    *step = step_of(slash ? slash + 1 : folder);
    if (*step < 0)
        return false;
    if (!slash)
        strcpy(folder, ".");
    else if (slash == folder)
        slash[1] = 0;
    else
        *slash = 0;
    strip_slashes(folder);
    return true;
}

bool folder_is_checkpoint(const char *path) {
    char manifest[FILE_PATH_BYTES + sizeof MANIFEST_NAME];
    struct stat status;
    snprintf(manifest, sizeof manifest, "%s/" MANIFEST_NAME, path);
    return stat(manifest, &status) == 0 && status.st_size > 0 &&
           !kind_missed(FILE_MANIFEST, manifest);
}

/* ---- removing ------------------------------------------------------------------------------- */

DIR *folder_list(int descriptor) {
    int again = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    if (!list && again >= 0)
        close(again);
    return list;
}

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* What runs that have died left half made or half removed. */
static void remove_stale(int descriptor) {
    DIR *list = folder_list(descriptor);
    struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (strncmp(entry->d_name, "." STEM, sizeof STEM) == 0 &&
            (ends_with(entry->d_name, UNFINISHED) || ends_with(entry->d_name, REMOVED)))
            part_folder_remove(descriptor, entry->d_name);
    if (list)
        closedir(list);
}

void folder_removed(char *removed, size_t bytes, const char *name) {
    snprintf(removed, bytes, ".%s" REMOVED, name);
}

/* ---- the folder ----------------------------------------------------------------------------- */

static int fail(struct folder *folder, const char *what, char *message, size_t message_bytes) {
    snprintf(message, message_bytes,
             "%s: %s: %s; name a folder for checkpoints that may be written", folder->path, what,
             strerror(errno));
    folder_close(folder);
    return -1;
}

int folder_open(struct folder *folder, const char *path, char *message, size_t message_bytes) {
    *folder = (struct folder){.descriptor = -1, .lock = -1, .told = -1};
    snprintf(folder->path, sizeof folder->path, "%s", path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return fail(folder, "cannot be made", message, message_bytes);
    folder->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->descriptor < 0)
        return fail(folder, "cannot be opened", message, message_bytes);
    folder->lock = openat(folder->descriptor, LOCK_NAME,
                          O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (folder->lock < 0)
        return fail(folder, "cannot be written", message, message_bytes);
    if (!file_lock(folder->lock)) {
        snprintf(message, message_bytes,
                 "%s: another run writes its checkpoints there; give this one a folder of its own",
                 path);
        folder_close(folder);
        return -1;
    }
    remove_stale(folder->descriptor);
    if (folder_begin(folder, 0) != 0) /* its lock may be older than what it is protected by */
        return fail(folder, "cannot be written", message, message_bytes);
    folder_discard(folder);
    return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool folder_is_in_place(const struct folder *folder) {
    struct stat opened, named, locked, lock;
    return folder->descriptor >= 0 && fstat(folder->descriptor, &opened) == 0 &&
           stat(folder->path, &named) == 0 && is_same_file(&opened, &named) &&
           fstat(folder->lock, &locked) == 0 &&
           fstatat(folder->descriptor, LOCK_NAME, &lock, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_same_file(&locked, &lock);
}

void folder_close(struct folder *folder) {
    folder_discard(folder);
    if (folder->lock >= 0)
        close(folder->lock);
    if (folder->descriptor >= 0)
        close(folder->descriptor);
    folder->lock = folder->descriptor = -1;
}

int64_t folder_last(const char *path) {
    return folder_last_before(path, INT64_MAX);
}

int64_t folder_last_before(const char *path, int64_t before) {
    DIR *list = opendir(path);
    struct dirent *entry;
    int64_t last = -1;
    while (list && (entry = readdir(list))) {
        int64_t step = step_of(entry->d_name);
        last = step > last && step < before ? step : last;
    }
    if (list)
        closedir(list);
    errno = list ? 0 : errno;
    return last;
}

int64_t folder_count(const char *path) {
    DIR *list = opendir(path);
    struct dirent *entry;
    int64_t n = 0;
    while (list && (entry = readdir(list)))
        n += step_of(entry->d_name) >= 0;
    if (list)
        closedir(list);
    return n;
}

/* ---- making one ----------------------------------------------------------------------------- */

void folder_unfinished(char *name, size_t bytes, int64_t step) {
    snprintf(name, bytes, "." STEM "%09lld" UNFINISHED, (long long)step);
}

int folder_begin(struct folder *folder, int64_t step) {
    char name[sizeof folder->unfinished];
    folder_unfinished(name, sizeof name, step);
    if (mkdirat(folder->descriptor, name, 0777) != 0)
        return -1;
    strcpy(folder->unfinished, name);
    return 0;
}

void folder_discard(struct folder *folder) {
    int reason = errno;
    if (*folder->unfinished)
        part_folder_remove(folder->descriptor, folder->unfinished);
    *folder->unfinished = 0;
    errno = reason;
}

/* Gives the unfinished folder its name, and not a second one: what is there is never written over.
 * */
int folder_commit(struct folder *folder, int64_t step) {
    char name[64];
    snprintf(name, sizeof name, STEM "%09lld", (long long)step);
    if (renameat(folder->descriptor, folder->unfinished, folder->descriptor, name) != 0)
        return -1;
    *folder->unfinished = 0;
    return 0;
}
