/* The arithmetic of layouts (see layout.h). */
#include <string.h>
#include "runtime/host/layout.h"
#include "runtime/transport/collective.h"

int64_t dimension_element(const struct place_dimension *dimension, int64_t place) {
    if (dimension->chunks == 0)
        return place;
    int64_t number = place / dimension->chunk % dimension->chunks;
    int64_t from = number % 2 ? dimension->chunks - 1 - number / 2 : number / 2;
    return place + (from - number) * dimension->chunk;
}

static int64_t local_elements(const struct place_program *program,
                              const struct place_buffer *buffer) {
    int64_t elements = 1;
    for (int i = 0; i < buffer->rank; i++)
        elements *= buffer->dims[i].size / axes_parts(program, &buffer->dims[i].cut);
    return elements;
}

int64_t layout_item_elements(const struct place_program *program,
                             const struct place_buffer *buffer) {
    return buffer->flat.n ? buffer->stride_bytes / dtype_size(buffer->dtype)
                          : local_elements(program, buffer);
}

bool layout_has_room(const struct place_program *program, const struct place_buffer *buffer) {
    int64_t elements = local_elements(program, buffer), chunks = axes_parts(program, &buffer->flat);
    return chunks * buffer->stride_bytes >= elements * dtype_size(buffer->dtype);
}

int64_t layout_whole_elements(const struct place_buffer *buffer) {
    int64_t elements = 1;
    for (int i = 0; i < buffer->rank; i++)
        elements *= buffer->dims[i].size;
    return elements;
}

bool layout_has_layers_only(const struct place_buffer *buffer) {
    return buffer->stacks[0].kind <= PLACE_STACK_LAYERS &&
           buffer->stacks[1].kind == PLACE_STACK_NONE;
}

int64_t layout_held_bytes(const struct place_buffer *buffer) {
    return buffer->window_of >= 0 ? 0 : buffer->slots * buffer->stride_bytes;
}

bool layout_has_item(const struct place_program *program, const struct place_buffer *buffer,
                     int64_t item, int32_t rank) {
    return item % axes_parts(program, &buffer->owners) ==
           axes_place(program, &buffer->owners, rank);
}

void *layout_item(struct place_context *context, const struct place_buffer *buffer, int64_t item) {
    const struct place_program *program = context->program;
    int64_t inside = 0;
    if (buffer->window_of >= 0) {
        const struct place_buffer *whole = &context->part->buffers[buffer->window_of];
        struct place_axes axes = {.n = buffer->flat.n - whole->flat.n};
        memcpy(axes.axes, buffer->flat.axes + whole->flat.n, (size_t)axes.n);
        inside = axes_place(program, &axes, context->rank) * buffer->stride_bytes;
        buffer = whole;
    }
    item /= axes_parts(program, &buffer->owners);
    return (char *)context->head.arenas[buffer->tier] + buffer->offset_bytes +
           item * buffer->stride_bytes + inside;
}

struct layout_in_fused layout_in_fused(const struct place_tensor *tensor, int64_t element) {
    if (tensor->n_fused == 0)
        return (struct layout_in_fused){0, element, INT64_MAX};
    int64_t planes = element / tensor->plane, inside = element % tensor->plane;
    int i = 0;
    while (inside >= tensor->fused[i].begin + tensor->fused[i].elements)
        i++;
    const struct place_fused *fused = &tensor->fused[i];
    inside -= fused->begin;
    return (struct layout_in_fused){i, planes * fused->elements + inside, fused->elements - inside};
}

/* Parts have their own buffers, so no rank of another part holds a copy. */
int32_t layout_first_copy(const struct place_program *program, const struct place_buffer *buffer,
                          const struct place_axes *apart, int32_t rank) {
    const struct place_part *part = part_of_rank(program, rank);
    int64_t place = part->begin, among_apart = axes_place(program, apart, rank);
    uint32_t used = axes_mask(&buffer->flat) | axes_mask(&buffer->owners) | axes_mask(apart) |
                    axes_mask(&part->axes);
    for (int i = 0; i < buffer->rank; i++)
        used |= axes_mask(&buffer->dims[i].cut);
    for (int i = 0; i < program->n_axes; i++) {
        const struct place_axis *axis = &program->axes[i];
        if (!(used >> i & 1))
            rank -= (int32_t)(rank / axis->stride % axis->size * axis->stride);
    }
    while (axes_place(program, apart, rank_at(program, &part->axes, place, rank)) != among_apart)
        place++;
    return rank_at(program, &part->axes, place, rank);
}

bool layout_is_first_copy(const struct place_program *program, const struct place_buffer *buffer,
                          int32_t rank) {
    static const struct place_axes none;
    return layout_first_copy(program, buffer, &none, rank) == rank;
}

struct layout_walk layout_walk_begin(const struct place_program *program,
                                     const struct place_buffer *buffer, int32_t rank) {
    struct layout_walk walk = {.row = 1, .dims = buffer->dims};
    int64_t stride = 1, local = 1;
    for (int i = buffer->rank - 1; i >= 0; i--) {
        const struct place_dimension *dim = &buffer->dims[i];
        walk.sizes[i] = dim->size / axes_parts(program, &dim->cut);
        walk.begins[i] = axes_place(program, &dim->cut, rank) * walk.sizes[i];
        walk.strides[i] = stride;
        stride *= dim->size;
        if (walk.rank == 0 && dim->chunks) { /* one stretch for each of its elements */
            walk.row = local;
            walk.rank = i + 2;
        }
        local *= walk.sizes[i];
        /* Dimensions behind the last one that is cut are whole: they and its part are one stretch.
         */
        if (walk.rank == 0)
            walk.row = local;
        if (walk.rank == 0 && walk.sizes[i] != dim->size)
            walk.rank = i + 1;
    }
    int64_t chunk = layout_item_elements(program, buffer);
    walk.first = axes_place(program, &buffer->flat, rank) * chunk;
    walk.position = walk.first;
    walk.end = walk.first + chunk < local ? walk.first + chunk : local;
    return walk;
}

bool layout_walk_next(struct layout_walk *walk, struct layout_run *run) {
    if (walk->position >= walk->end)
        return false;
    int64_t row = walk->position / walk->row, inside = walk->position % walk->row;
    int64_t global = inside;
    if (walk->rank > 0)
        global += walk->begins[walk->rank - 1] * walk->strides[walk->rank - 1];
    for (int i = walk->rank - 2; i >= 0; i--) {
        int64_t place = walk->begins[i] + row % walk->sizes[i];
        global += dimension_element(&walk->dims[i], place) * walk->strides[i];
        row /= walk->sizes[i];
    }
    int64_t length = walk->row - inside;
    if (length > walk->end - walk->position)
        length = walk->end - walk->position;
    *run = (struct layout_run){walk->position - walk->first, global, length};
    walk->position += length;
    return true;
}
