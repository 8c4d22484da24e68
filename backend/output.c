// Files of one run of bytes that are there whole or not at all.
#include <signal.h>
#include <stdio.h>

#include "backend/backend.h"
#include "backend/file.h"
#include "runtime/host/file.h"

static bool write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                       const char **why) {
    struct new_file file;
    if (new_file_open(&file, path) == 0 && new_file_write(&file, bytes, size) == 0 &&
        new_file_commit(&file) == 0)
        return true;
    *why = system_error(arena, path);
    new_file_discard(&file);
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
