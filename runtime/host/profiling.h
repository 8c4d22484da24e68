/* Where the time of a run went, told at its end: `--profile` prints a table, `--trace FILE` writes
 * what every thread did when, as Chrome's and Perfetto's trace viewers read it. */
#pragma once
#include "runtime/host/session.h"

/* A profile for the rank if the options ask for one, known to its recorder and its team from here
 * on. Returns the context's status. */
int32_t profiling_begin(const struct session *session, struct place_context *context);

/* Whether this step is one of those that are profiled: all but the first, which touches memory for
 * the first time, unless it is the only one. */
bool profiling_counts_step(const struct session *session, int64_t step);

/* All ranks meet; the first prints and writes. */
int32_t profiling_report(const struct session *session, struct place_context *context);

void profiling_end(struct place_context *context);
