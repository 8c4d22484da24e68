/* Devices of a mesh: their numbers along axes, and the part that each is of. */
#pragma once
#include <stdint.h>
#include "runtime/place.h"

/* A rank's place along a list of axes, outermost most significant, and the product of their sizes.
 */
int64_t axes_place(const struct place_program *program, const struct place_axes *axes,
                   int32_t rank);
int64_t axes_parts(const struct place_program *program, const struct place_axes *axes);

/* The axes as a set: bits 1 << axis. */
uint32_t axes_mask(const struct place_axes *axes);
/* The axes of the mesh that have more than one device. */
struct place_axes axes_of_mesh(const struct place_program *program);
/* The axes of `axes` along which the buffer is not cut. */
struct place_axes axes_not_cut(const struct place_buffer *buffer, const struct place_axes *axes);

const struct place_part *part_of_rank(const struct place_program *program, int32_t rank);
/* The rank that has this place along a list of axes, and is where `rank` is along all others. */
int32_t rank_at(const struct place_program *program, const struct place_axes *axes, int64_t place,
                int32_t rank);
/* The part that tells the host of a step: the first that has its loss, else the first. */
const struct place_part *part_that_tells(const struct place_program *program);
/* The most bytes that a device's arena of a tier has. */
int64_t program_arena_bytes(const struct place_program *program, enum place_tier tier);
