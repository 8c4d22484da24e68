// The place where the compiler runs (see installation.h).
#include "backend/backend.h"
#include "backend/installation.h"
#include "runtime/kernels/kernels.h"

#include <unistd.h>

const char *library_directory(struct arena *arena) {
    char *path = arena_alloc(arena, 4096);
    ssize_t length = readlink("/proc/self/exe", path, 4095);
    for (int up = 0; up < 2 && length > 0; up++) // the file's name, then `bin`
        while (length > 0 && path[--length] != '/')
            ;
    path[length > 0 ? length : 0] = 0;
    return arena_format(arena, "%s/lib", path);
}

// What is built runs on every machine of this one's level, and is told apart from jitted code,
// which runs here and now.
const char *backend_level(const struct backend_options *options, const char **why) {
    const struct kernels *kernels = options->level ? NULL : kernels_select(why);
    return kernels ? kernels->level : options->level;
}
