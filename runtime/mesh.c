/* Devices of a mesh (see mesh.h). */
#include "runtime/mesh.h"

int64_t axes_place(const struct place_program *program, const struct place_axes *axes,
                   int32_t rank) {
    int64_t place = 0;
    for (int i = 0; i < axes->n; i++) {
        const struct place_axis *axis = &program->axes[axes->axes[i]];
        place = place * axis->size + rank / axis->stride % axis->size;
    }
    return place;
}

int64_t axes_parts(const struct place_program *program, const struct place_axes *axes) {
    int64_t parts = 1;
    for (int i = 0; i < axes->n; i++)
        parts *= program->axes[axes->axes[i]].size;
    return parts;
}

uint32_t axes_mask(const struct place_axes *axes) {
    uint32_t mask = 0;
    for (int i = 0; i < axes->n; i++)
        mask |= UINT32_C(1) << axes->axes[i];
    return mask;
}

struct place_axes axes_of_mesh(const struct place_program *program) {
    struct place_axes all = {0};
    for (int i = 0; i < program->n_axes; i++)
        if (program->axes[i].size > 1)
            all.axes[all.n++] = (uint8_t)i;
    return all;
}

struct place_axes axes_not_cut(const struct place_buffer *buffer, const struct place_axes *axes) {
    uint32_t cut = axes_mask(&buffer->flat) | axes_mask(&buffer->owners);
    for (int i = 0; i < buffer->rank; i++)
        cut |= axes_mask(&buffer->dims[i].cut);
    struct place_axes left = {0};
    for (int i = 0; i < axes->n; i++)
        if (!(cut >> axes->axes[i] & 1))
            left.axes[left.n++] = axes->axes[i];
    return left;
}

const struct place_part *part_of_rank(const struct place_program *program, int32_t rank) {
    const struct place_part *part = program->parts;
    int64_t place = axes_place(program, &part->axes, rank);
    while (place >= part->end)
        part++;
    return part;
}

int32_t rank_at(const struct place_program *program, const struct place_axes *axes, int64_t place,
                int32_t rank) {
    for (int i = axes->n; i-- > 0;) {
        const struct place_axis *axis = &program->axes[axes->axes[i]];
        rank += (int32_t)((place % axis->size - rank / axis->stride % axis->size) * axis->stride);
        place /= axis->size;
    }
    return rank;
}

const struct place_part *part_that_tells(const struct place_program *program) {
    for (int32_t i = 0; i < program->n_parts; i++)
        if (program->parts[i].wellknown.loss >= 0)
            return &program->parts[i];
    return program->parts;
}

int64_t program_arena_bytes(const struct place_program *program, enum place_tier tier) {
    int64_t most = 0;
    for (int32_t i = 0; i < program->n_parts; i++)
        if (program->parts[i].arena_bytes[tier] > most)
            most = program->parts[i].arena_bytes[tier];
    return most;
}
