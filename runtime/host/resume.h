/* Going on from a checkpoint: what the next step needs, read by any mesh, each rank the bytes that
 * it holds. Opened once for each process, then read by all of its ranks. */
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

/* Of what --resume names: a checkpoint, or a folder of them, whose last it is. A folder that has
 * none, or is not there yet, is none to go on from, unless --checkpoint names it too: then the run
 * begins anew. Looks at everything but the content of tensors. 0, or -1 with one line in `message`.
 * To be closed in any case.
 * `wanted`: the program's ENTRIES_RESUMABLE, which outlive it. */
int resumption_open(struct resumption *resumption, const struct place_run_options *options,
                    const struct place_program *program, const struct entries *wanted,
                    char *message, size_t message_bytes);
/* The same of the checkpoint at `path`, whatever the options say; `wanted` is set. */
int resumption_open_named(struct resumption *resumption, const struct place_program *program,
                          char *message, size_t message_bytes);
/* Reads the manifest of the checkpoint at `path` alone. 0, or -1 with one line in `message`. */
int resumption_read_manifest(struct resumption *resumption, char *message, size_t message_bytes);
/* Whether the manifest that was read is of this program's model, in whatever shapes do not show. 0,
 * or -1 as above. */
int resumption_match_model(const struct resumption *resumption, const struct place_program *program,
                           char *message, size_t message_bytes);
void resumption_close(struct resumption *resumption);

/* Fills the rank's states, which are zero, and holds what was read against the manifest's sums.
 * Called by all ranks. */
int32_t resumption_read(const struct resumption *resumption, struct place_context *context);
