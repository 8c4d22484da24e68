// Writing files, for the parts of the backend that do.
#ifndef PLACE_BACKEND_FILE_H
#define PLACE_BACKEND_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "ir/arena.h"

// "cannot write `PATH`: what errno says", and on a line of its own the remedy.
const char *system_error(struct arena *arena, const char *path);
// Writes to an open file (or to none: -1, false) and closes it; errno says what went wrong.
bool fill_file(int file, const void *bytes, size_t size);

// Does it belong to this user, and may no one else write it? (Where there are access lists, the
// group's permission is the most that they give.)
bool is_only_ours(const struct stat *);

// No signal ends this thread between the two: what is half written can be removed first. A signal
// that came meanwhile acts at the release.
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

#endif
