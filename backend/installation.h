// What the backend asks about the place where it runs.
#ifndef PLACE_BACKEND_INSTALLATION_H
#define PLACE_BACKEND_INSTALLATION_H

struct arena;
struct backend_options;

// `lib` beside the directory of the running executable, in the build tree as when installed.
const char *library_directory(struct arena *arena);
// The level of x86-64 that code leaving the process is made for. NULL: see `why`.
const char *backend_level(const struct backend_options *options, const char **why);

#endif
