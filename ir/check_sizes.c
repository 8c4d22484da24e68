// Whether what a program is about can be counted. Everything that is computed from sizes later,
// offsets, bytes sent, a tensor whole where its parts are known, is a part, a sum or a small
// multiple of what is compared here, so it fits 63 bits. Sizes may come from a text or be products
// of what a file says, and need not fit themselves (sizes.h).
#include "ir/ir.h"

#include <inttypes.h>

struct size_checker {
    const struct program *program;
    struct arena *arena;
    struct too_large found;
};

static bool is_beyond(int64_t bytes) {
    return bytes > (int64_t)LIMIT_DEVICE_BYTES;
}

static bool has_batch(const struct dim *dims, unsigned rank) {
    for (unsigned i = 0; i < rank; i++)
        if (dims[i].dimension == DIM_BATCH)
            return true;
    return false;
}

// The first that is found stands.
static void found(struct size_checker *c, struct span at, bool batch, const char *what) {
    if (!c->found.what)
        c->found = (struct too_large){what, at, batch};
}

static const char *items_text(struct arena *arena, int64_t items) {
    return items > 1 ? arena_format(arena, ", %" PRId64 " times", items) : "";
}

// `whole`: on all devices together. One that is within the limit has factors that are. `kind` and
// `name` make one name, which is put together for a message only: this is asked after every pass.
static void check_bytes(struct size_checker *c, const struct tensor_type *whole, int64_t items,
                        int64_t bytes, const char *kind, const char *name, struct span at) {
    if (is_beyond(bytes))
        found(c, at, has_batch(whole->dims, whole->rank),
              arena_format(c->arena, "%s %s is too large: %s%s; at most 2^60 bytes can be counted",
                           kind, name, tensor_type_text(c->arena, whole),
                           items_text(c->arena, items)));
}

static void check_tensor(struct size_checker *c, const struct tensor *tensor) {
    struct tensor_type type = {.dtype = DTYPE_F64, .rank = tensor->rank};
    for (unsigned i = 0; i < tensor->rank; i++)
        type.dims[i] = tensor->dims[i];
    int64_t items = tensor->layers ? tensor->layers : 1;
    check_bytes(c, &type, items, size_times(type_bytes(&type), items), "tensor", tensor->name,
                tensor->span);
}

static void check_items(struct size_checker *c, const struct buffer *buffer, int64_t items) {
    if (items > LIMIT_COUNTED)
        found(c, buffer->span, false,
              arena_format(c->arena, "buffer %s has %" PRId64 " items; at most %d can be counted",
                           buffer->name, items, LIMIT_COUNTED));
}

// The bytes on a device, padded. A cut that does not divide is another check's matter: what is
// whole is compared first.
static int64_t check_buffer(struct size_checker *c, const struct buffer *buffer) {
    struct tensor_type whole = {.dtype = buffer->dtype, .rank = buffer->rank};
    for (unsigned i = 0; i < buffer->rank; i++)
        whole.dims[i] = buffer->dims[i];
    static const char kind[] = "buffer";
    const char *name = buffer->name;
    int64_t items = buffer_items(buffer);
    check_bytes(c, &whole, 1, type_bytes(&whole), kind, name, buffer->span);
    check_items(c, buffer, items);
    if (c->found.what)
        return 0;
    int64_t parts = mesh_group_size(&c->program->job->mesh, &buffer->layout.flat);
    int64_t item = buffer_item_bytes(c->program, buffer);
    int64_t all = size_times(item, buffer_slots(&c->program->job->mesh, buffer));
    check_bytes(c, &whole, 1, size_times(item, parts), kind, name, buffer->span); // padded
    check_bytes(c, &whole, items, all, kind, name, buffer->span);
    return buffer->window_of == NO_ID ? all : 0;
}

static void check_buffers(struct size_checker *c) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < c->program->n_buffers && !c->found.what; i++) {
        const struct buffer *buffer = &c->program->buffers[i];
        bytes = size_plus(bytes, check_buffer(c, buffer));
        if (is_beyond(bytes))
            found(c, buffer->span, has_batch(buffer->dims, buffer->rank),
                  arena_format(c->arena,
                               "with buffer %s all buffers together have more than 2^60 "
                               "bytes, which is as far as can be counted",
                               buffer->name));
    }
}

static void check_value(struct size_checker *c, const struct unit *unit, value_id value,
                        struct span at) {
    const struct tensor_type *type = &unit->values[value].type;
    if (is_beyond(type_bytes(type)))
        check_bytes(c, type, 1, type_bytes(type), arena_format(c->arena, "unit %s:", unit->name),
                    arena_format(c->arena, "`%%%s`", unit->values[value].name), at);
}

static void check_unit(struct size_checker *c, const struct unit *unit) {
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        check_value(c, unit, i, unit->span);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (unit->ops[i].results[k] < unit->n_values)
                check_value(c, unit, unit->ops[i].results[k], unit->ops[i].span);
    if (is_beyond(unit->frame_bytes))
        found(c, unit->span, true,
              arena_format(c->arena,
                           "unit %s: its values take more than 2^60 bytes, which is as "
                           "far as can be counted",
                           unit->name));
}

struct too_large job_too_large(const struct job *job, struct arena *arena) {
    struct size_checker c = {.arena = arena};
    for (uint32_t i = 0; i < job->n_tensors; i++)
        check_tensor(&c, &job->tensors[i]);
    for (uint32_t i = 0; i < job->n_programs && !c.found.what; i++) {
        c.program = job->programs[i];
        check_buffers(&c);
    }
    for (uint32_t i = 0; i < job->n_units && !c.found.what; i++)
        check_unit(&c, &job->units[i]);
    return c.found;
}
