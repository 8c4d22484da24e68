// Files that are there whole or not at all: written under a new name, then renamed. Part of both
// libraries of the backend.
#include "backend/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/backend.h"

// Says the name that the user gave, not the temporary one.
const char *system_error(struct arena *arena, const char *path) {
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return arena_format(arena, "cannot write `%s`: %s\n  %s", path, strerror(errno),
                        full ? "make room, or name a file elsewhere"
                             : "name a file in a folder that exists and may be written");
}

// write may take less than it was given, as on a disk that has just become full.
static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

// Writes and closes; what a full disk holds back is said by one of the two.
bool fill_file(int file, const void *bytes, size_t size) {
    bool good = file >= 0 && write_all(file, bytes, size);
    int error = errno;
    if (file >= 0 && close(file) != 0 && good)
        return false;
    if (!good)
        errno = error;
    return good;
}

// A new file with the permissions that the user's umask leaves (mkstemp would give fewer).
static int open_new(struct arena *arena, const char *path, char **name) {
    uint64_t random;
    int file = -1;
    do {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -1;
        *name = arena_format(arena, "%s.%016" PRIx64, path, random);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EEXIST);
    return file;
}

bool is_only_ours(const struct stat *status) {
    return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

void signals_hold(sigset_t *before) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, before);
}

void signals_release(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                       const char **why) {
    char *temporary = NULL;
    int file = open_new(arena, path, &temporary);
    if (fill_file(file, bytes, size) && rename(temporary, path) == 0)
        return true;
    *why = system_error(arena, path);
    if (file >= 0)
        unlink(temporary);
    return false;
}

bool backend_write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                        const char **why) {
    sigset_t before;
    signals_hold(&before);
    bool good = write_file(arena, path, bytes, size, why);
    signals_release(&before);
    return good;
}
