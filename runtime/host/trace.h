/* What the threads of all ranks did when, as a file that Chrome's and Perfetto's trace viewers read
 * (the Trace Event Format's complete events): a process for each rank, a row for each thread. */
#pragma once
#include "runtime/context.h"

/* All ranks meet; the first writes `path`. Their profiles keep spans. Returns the context's status.
 */
int32_t trace_write(struct place_context *context, const char *path, double ticks_per_microsecond);
