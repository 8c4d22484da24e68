// Files of one run of bytes that are there whole or not at all.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/file.h"
#include "runtime/host/file.h"

// Its lock is let go when it has its name.
static bool write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                       const char **why) {
    char part[FILE_PATH_BYTES];
    int file = part_open(path, PART_FILE, 0666, part);
    bool good = file >= 0 && fill_file(dup(file), bytes, size) && rename(part, path) == 0;
    if (!good)
        *why = system_error(arena, path);
    if (file >= 0 && !good)
        unlink(part);
    if (file >= 0)
        close(file);
    return good;
}

bool backend_write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                        const char **why) {
    sigset_t before;
    signals_hold(&before);
    bool good = write_file(arena, path, bytes, size, why);
    signals_release(&before);
    return good;
}
