/* Going on from a checkpoint: what the next step needs, read by any mesh, each rank the bytes that
 * it holds. Opened once for each process, then read by all of its ranks. */
#pragma once
#include "runtime/host/resumable.h"

/* Opens what --resume names: a checkpoint, or a folder of them, whose last it is. A folder that has
 * none, or is not there yet, is none to go on from, unless --checkpoint names it too: then the run
 * begins anew. Looks at everything but the content of tensors. 0, or -1 with one line in `message`.
 * To be closed in any case. `wanted`: the program's ENTRIES_RESUMABLE, which outlive it. */
int resumption_open(struct resumption *resumption, const struct place_run_options *options,
                    const struct place_program *program, const struct entries *wanted,
                    char *message, size_t message_bytes);

/* Fills the rank's states, which are zero, and holds what was read against the manifest's sums.
 * Called by all ranks. */
int32_t resumption_read(const struct resumption *resumption, struct place_context *context);
