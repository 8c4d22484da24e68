/* A team of threads: what every kernel and every generated loop of one rank runs on. */
#pragma once
#include <stdint.h>

struct team;
struct profile; /* runtime/profile.h */

/* Works on tiles [begin, end). `workspace` is the calling thread's own memory, as large as the
 * team's workspace, aligned to 64 bytes, with unknown content. */
typedef void (*team_function)(void *arguments, int64_t begin, int64_t end, void *workspace);

/* A team of the calling thread and threads - 1 more (none for 1). The caller must be the only one
 * that runs jobs on it. Null when threads or memory cannot be had. */
struct team *team_create(int threads, int64_t workspace_bytes);

/* Ends the threads. No job may be running. Null is allowed. */
void team_destroy(struct team *team);

int team_threads(const struct team *team);
int64_t team_workspace_bytes(const struct team *team);

/* Calls function for ranges of `grain` tiles (the last may be shorter) that cover [0, count)
 * exactly once, and returns when all are done. A thread takes neighbouring ranges while it can,
 * in every job the same share of them, but which thread takes which range is left open. The ranges
 * are not, so that a result which depends on its range depends on count and grain only. */
void team_run(struct team *team, int64_t count, int64_t grain, team_function function,
              void *arguments);

/* From the next job on the owner calls this behind each of its ranges: what has to go on while the
 * rank computes. It runs no job itself. */
void team_interleave(struct team *team, void (*function)(void *argument), void *argument);

/* From the next job on helpers tell this profile what they work; null: none. Not while a job runs.
 */
void team_profile(struct team *team, struct profile *profile);
