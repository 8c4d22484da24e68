/* A rank's memory: exactly what the plan says, filled with a pattern that nobody computes; and, of what
 * is on disk, a file. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "runtime/context.h"
#include "runtime/live.h"

/* Maps the arenas of device and host and fills them with the canary: a NaN in every type, so that reading
 * what was never written shows, and the touched extent can be measured. That of the disk is the
 * context's file, if it has one, which holds zeros. */
int32_t arena_map(struct place_context *context);
void arena_unmap(struct place_context *context);

/* End of the last byte of a tier that differs from the canary; of the disk, that was written. */
int64_t arena_touched_bytes(const struct place_context *context, enum place_tier tier);

/* Initial values: parameters (and their master copies) by their tensor's rule, moments and all else
 * that lives from step to step with zeros, padding included. */
int32_t arena_initialize(struct place_context *context, uint64_t seed);

/* Zeros in all that lives from step to step, padding included. */
void arena_clear(struct place_context *context);

/* Bytes of the buffers of a state, as they are bound, on the device that has most. */
int64_t arena_held_bytes(const struct place_program *program, enum live_state state);
