// The way from a judged program to code, which `run`, `build` and `emit --as=llvm` share.
#ifndef PLACE_DRIVER_NATIVE_H
#define PLACE_DRIVER_NATIVE_H

#include "backend/backend.h"
#include "driver/compile.h"

// The code generator, loaded, if it can make code for the final program. NULL: `*why` says why not.
struct backend *native_backend(struct compilation *, const char **why);
// The files that the program's text was read from: its own, imports, a config.json; a null behind
// the last.
const char *const *native_texts(struct compilation *);
// Says why there is no code; returns the exit status.
int native_failed(const struct compilation *, const char *why);

#endif
