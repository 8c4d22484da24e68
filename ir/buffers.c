// What a buffer holds on a device: the type of an item, its bytes, and the axes that cut it.
#include "ir/ir.h"

#include "ir/check.h"

static const enum {
    HAS_ALL,
    HAS_ROWS,
    HAS_COLUMNS
} class_dimensions[N_CLASSES] = {
#define CLASS(name, text, state, persistent, dimensions) HAS_##dimensions,
#include "ir/classes.def"
#undef CLASS
};

unsigned matrix_rows(const struct dim *dims, unsigned rank) {
    CHECK(rank >= 2);
    if (dims[0].dimension == DIM_HIDDEN)
        return 1;
    CHECK(dims[rank - 1].dimension == DIM_HIDDEN);
    return rank - 1;
}

struct side class_side(enum buffer_class class, const struct dim *dims, unsigned rank) {
    switch (class_dimensions[class]) {
    case HAS_ROWS:
        return (struct side){0, matrix_rows(dims, rank)};
    case HAS_COLUMNS:
        return (struct side){matrix_rows(dims, rank), rank};
    default:
        return (struct side){0, rank};
    }
}

// One item before the flat cut: every dimension divided by the axes that cut it, a batch that is
// stacked by microbatches by their number too.
static struct tensor_type whole_type(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = {.dtype = buffer->dtype, .rank = buffer->rank};
    for (unsigned i = 0; i < buffer->rank; i++) {
        type.dims[i] = buffer->dims[i];
        type.dims[i].size /= mesh_group_size(mesh, &buffer->layout.cuts[i]);
        if (buffer->dims[i].dimension == DIM_BATCH)
            type.dims[i].size /= buffer_microbatches(buffer);
    }
    return type;
}

int64_t flat_part(int64_t elements, int64_t parts, int64_t pad_elements) {
    return round_up(round_up(elements, parts) / parts, pad_elements);
}

struct tensor_type buffer_type_on(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = whole_type(mesh, buffer);
    if (buffer->layout.flat.n == 0)
        return type;
    int64_t parts = mesh_group_size(mesh, &buffer->layout.flat);
    int64_t chunk = flat_part(type_elements(&type), parts, buffer->pad_elements);
    return (struct tensor_type){.dtype = buffer->dtype, .rank = 1, .dims = {{DIM_FLAT, chunk}}};
}

struct tensor_type buffer_type(const struct program *program, const struct buffer *buffer) {
    return buffer_type_on(&program->job->mesh, buffer);
}

int64_t buffer_item_bytes_on(const struct mesh *mesh, const struct buffer *buffer) {
    struct tensor_type type = buffer_type_on(mesh, buffer);
    int64_t elements = round_up(type_elements(&type), buffer->pad_elements);
    return size_times(elements, dtype_bytes[buffer->dtype]);
}

int64_t buffer_item_bytes(const struct program *program, const struct buffer *buffer) {
    return buffer_item_bytes_on(&program->job->mesh, buffer);
}

int64_t slots_of_owners(const struct mesh *mesh, const struct axis_list *owners, int64_t count) {
    return round_up(count, mesh_group_size(mesh, owners));
}

int64_t buffer_slots(const struct mesh *mesh, const struct buffer *buffer) {
    int64_t owners = mesh_group_size(mesh, &buffer->layout.owners);
    return (buffer_items(buffer) + owners - 1) / owners;
}

int64_t buffer_bytes(const struct program *program, const struct buffer *buffer) {
    if (buffer->window_of != NO_ID)
        return 0;
    return size_times(buffer_slots(&program->job->mesh, buffer),
                      buffer_item_bytes(program, buffer));
}

struct axis_list buffer_window_axes(const struct program *program, const struct buffer *buffer) {
    struct axis_list axes = {0};
    if (buffer->window_of == NO_ID)
        return axes;
    unsigned outer = program->buffers[buffer->window_of].layout.flat.n;
    for (unsigned i = outer; i < buffer->layout.flat.n; i++)
        axes.axes[axes.n++] = buffer->layout.flat.axes[i];
    return axes;
}

struct axis_list buffer_inner_axes(const struct buffer *buffer) {
    struct axis_list inner = {0};
    for (unsigned i = 0; i < buffer->rank; i++) {
        const struct axis_list *cuts = &buffer->layout.cuts[i];
        if (buffer->dims[i].dimension == DIM_BATCH)
            for (unsigned k = cuts->n - buffer->layout.n_inner; k < cuts->n; k++)
                axis_list_add(&inner, cuts->axes[k]);
    }
    return inner;
}

buffer_id buffer_whole(const struct program *program, buffer_id id) {
    buffer_id whole = program->buffers[id].window_of;
    return whole == NO_ID ? id : whole;
}

// Axes that cut it.
static unsigned count_cuts(const struct buffer *buffer) {
    unsigned n = buffer->layout.flat.n;
    for (unsigned d = 0; d < buffer->rank; d++)
        n += buffer->layout.cuts[d].n;
    return n;
}

bool buffer_is_part(const struct program *program, buffer_id id) {
    const struct buffer *buffer = &program->buffers[id];
    bool part = buffer->window_of != NO_ID;
    for (buffer_id i = 0; i < program->n_buffers && buffer->class == CLASS_GRADIENTS; i++) {
        const struct buffer *other = &program->buffers[i];
        part |= other->class == CLASS_GRADIENTS && other->tensor == buffer->tensor &&
                buffer_first_layer(other) == buffer_first_layer(buffer) &&
                count_cuts(other) < count_cuts(buffer);
    }
    return part;
}

enum tier call_tier(const struct program *program, const struct call *call) {
    const struct statement statement = {.kind = STATEMENT_CALL, .call = *call};
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, &statement, i)).at; i++)
        if (program->buffers[access.at->buffer].rank > 0)
            return program->buffers[access.at->buffer].tier;
    return TIER_DEVICE;
}

bool buffer_is_persistent(const struct buffer *buffer) {
    return class_persistent[buffer->class];
}

bool buffer_outlives_step(const struct buffer *buffer) {
    return buffer_is_persistent(buffer) || buffer->class == CLASS_INPUT ||
           buffer->class == CLASS_OUTPUT;
}
