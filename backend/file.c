// What the two libraries of the backend have in common about files.
#include "backend/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

bool is_only_ours(const struct stat *status) {
    return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

void signals_hold(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void signals_release(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
