/* What a rank has beyond its device's memory: the file of what is kept on disk, and the thread that
 * copies. */
#pragma once
#include "runtime/host/session.h"

/* The folder of the files: what was asked for, else where temporary files are that may be large. */
const char *offload_folder(const struct place_run_options *options);
/* Whether it can take the files of so many ranks of this machine: 0, or -1 with a message. */
int offload_check(struct session *session, int ranks, char *message, size_t message_bytes);

/* Warns of a folder that is on no disk of this machine. */
void offload_warn(const struct session *session);

/* Opens what the rank's program needs of these; behind the last step both are closed, before the
 * rank's memory goes. */
int32_t offload_begin(struct session *session, struct place_context *context);
void offload_end(struct place_context *context);
