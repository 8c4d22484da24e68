/* A checkpoint on disk, opened and held against what a program needs, whoever asks: a run that goes
 * on from it, or that looks for one to go on from. */
#pragma once
#include "runtime/host/file.h"
#include "runtime/host/manifest.h"

struct resumption {
    const struct place_run_options *options;
    char path[FILE_PATH_BYTES]; /* of the checkpoint; empty: the run begins anew */
    bool is_damaged;            /* its files are not what was written */
    struct manifest manifest;
    int *descriptors;             /* of its files; null: none is open */
    const struct entries *wanted; /* what this program has to get */
    int32_t *sources;             /* of each, which tensor of the manifest it is */
};

/* Opens the checkpoint at `path`, whatever the options say; `wanted` is set. Looks at everything but
 * the content of tensors. 0, or -1 with one line in `message`. To be closed in any case. */
int resumption_open_named(struct resumption *resumption, const struct place_program *program,
                          char *message, size_t message_bytes);
/* Reads the manifest of the checkpoint at `path` alone. 0, or -1 with one line in `message`. */
int resumption_read_manifest(struct resumption *resumption, char *message, size_t message_bytes);
/* Whether the manifest that was read is of this program's model, in whatever shapes do not show. 0,
 * or -1 as above. */
int resumption_match_model(const struct resumption *resumption, const struct place_program *program,
                           char *message, size_t message_bytes);
void resumption_close(struct resumption *resumption);
