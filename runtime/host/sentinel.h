/* A thread that looks after the ranks of a process: it prints the flight recorders when it is asked
 * to (SIGUSR1, SIGQUIT), and ends the process when a rank is stuck. */
#pragma once
#include "runtime/host/flight.h"

struct sentinel;

/* SIGUSR1 and SIGQUIT are held off between the two in this thread and those that it starts, for a
 * sentinel to take: a thread that was there before would be ended by them, and the process with it.
 * The second forgets what no sentinel took. */
void sentinel_hold_requests(void);
void sentinel_release_requests(void);
/* Null: no memory or thread, and nobody looks. `flight` and `log` (which may be null) must outlive
 * it; `processes` that the run has. */
struct sentinel *sentinel_start(const struct flight *flight, const char *log, int processes,
                                double patience_seconds);
void sentinel_stop(struct sentinel *sentinel);

/* Seconds without progress after which a rank is given up: $PLACE_TIMEOUT, or 0 if it says
 * something else. */
double patience_seconds(void);
