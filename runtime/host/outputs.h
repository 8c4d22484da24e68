/* The files that a run writes, looked at before time is spent: each can be written, is none that
 * the run reads or writes under another option, and its folder has room for what is known to come.
 */
#pragma once
#include <stddef.h>
#include "runtime/host/session.h"

/* Checks outputs, once the inputs are open: 0, or -1 with one line in `message`. */
int run_outputs_check(struct session *session, char *message, size_t message_bytes);
/* The same of the weights that the run starts from, once they are open: none is written over. */
int run_weights_check(const struct session *session, char *message, size_t message_bytes);
