/* The job that a launcher has made of several processes. */
#pragma once
#include <stdbool.h>

/* Sees to it, before this process ends for a failure, that the job ends too. A launcher ends it
 * when it sees that a process has failed, but waits for ever for hosts that it cannot reach; one
 * that is still there after `seconds`, or a minute if they are more, is ended. False: it is not
 * known, and left alone. */
bool job_end_after(double seconds);
