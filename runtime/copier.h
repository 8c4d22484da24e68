/* Copies between the tiers of a rank, by a thread of its own: a start puts one into a queue, in the
 * order in which they are done; a wait waits for it. */
#pragma once
#include <stdint.h>
#include "runtime/place.h"

struct copier;

/* A copier for the rank, with as many handles as its program has. Null: no memory, or no thread. The
 * context, its arenas and its disk must outlive it. */
struct copier *copier_new(struct place_context *context);
/* Ends the thread behind the copy in hand; others are forgotten. Or null. */
void copier_free(struct copier *copier);

/* What place_copy_start and place_copy_wait do; see runtime/calls.def. */
int32_t copier_start(struct copier *copier, int32_t statement, int32_t handle, int32_t n,
                     const struct place_copy *pieces);
int32_t copier_wait(struct copier *copier, int32_t statement, int32_t handle);

/* Bytes copied so far between the device and the host, or to and from the disk. Stable where nothing
 * is in flight. */
int64_t copier_copied_bytes(const struct copier *copier, enum place_tier away);
