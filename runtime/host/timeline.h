/* What is alive at every statement of a step, as a file of JSON lines: `--memory FILE`. */
#pragma once
#include "runtime/context.h"
#include "runtime/host/file.h"

struct timeline {
    const struct place_program *program;
    struct new_file file;
    int failed; /* errno of the first write that failed */
};

/* Both return 0, or -1 with errno set. Between them every statement that `context` executes is
 * written; the file has its name when it is whole. */
int timeline_begin(struct timeline *timeline, struct place_context *context, const char *path);
int timeline_end(struct timeline *timeline, struct place_context *context);
