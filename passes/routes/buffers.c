// The buffers that the stations of a route are: how much a device holds at each.
#include <string.h>

#include "ir/check.h"
#include "passes/routes/routes.h"

// Every cut of a tensor's storage begins with the coarser ones, so all are padded for the finest:
// shards of a shard are shards of the whole.
static int64_t finest_parts(const struct stationed *s) {
    struct axis_list flat = flat_axes(s->storage, &s->storage->shards[STATE_OPTIMIZER]);
    return mesh_group_size(s->mesh, &flat);
}

// How a station cuts a tensor, flat: the number of parts, and what the elements of each are padded to
// a multiple of.
struct flat_cut {
    int64_t parts, pad;
};

static struct flat_cut cut_of(const struct stationed *s, const struct station *station) {
    struct axis_list flat = flat_axes(s->storage, &station->flat);
    int64_t parts = mesh_group_size(s->mesh, &flat);
    int64_t pad =
        s->storage->along ? 0 : finest_parts(s) / parts; // a dimension is cut into equal parts
    return (struct flat_cut){parts, pad > 1 ? pad : 0};
}

static int64_t elements_of(struct flat_cut cut, const struct station *station, int64_t whole) {
    return cut.parts > 1 ? flat_part(whole, cut.parts, cut.pad) : whole;
}

// All words of codes: as many as the members of the wire's group send.
static int64_t all_words(const struct stationed *s, int64_t whole) {
    CHECK(s->residual >= 0);
    const struct station *residual = &s->stations[s->residual];
    int64_t sent = elements_of(cut_of(s, residual), residual, whole);
    return size_times(wire_words(s->placement->wire, sent),
                      mesh_group_size(s->mesh, &s->storage->wire));
}

static struct buffer tensor_buffer(const struct stationed *s, const struct station *station,
                                   const struct buffer *reference,
                                   const struct axis_list cuts[MAX_RANK]) {
    struct buffer buffer = *reference;
    if (class_states[station->class] != STATE_OPTIMIZER) // of which there are several, stored alike
        buffer.class = station->class;
    buffer.tier = station->tier;
    if (station->dtype != DTYPE_NONE)
        buffer.dtype = station->dtype;
    memcpy(buffer.layout.cuts, cuts, sizeof buffer.layout.cuts);
    if (s->storage->along)
        axis_list_add_all(&buffer.layout.cuts[s->storage->along - 1], &station->flat);
    else
        buffer.layout.flat = flat_axes(s->storage, &station->flat);
    buffer.layout.owners = owner_axes(s->storage, &station->flat);
    buffer.pad_elements = cut_of(s, station).pad;
    return buffer;
}

static struct buffer code_buffer(const struct stationed *s, const struct station *station,
                                 const struct buffer *reference,
                                 const struct axis_list cuts[MAX_RANK]) {
    static const struct station uncut = {0};
    struct buffer buffer = tensor_buffer(s, &uncut, reference, cuts);
    struct tensor_type whole = buffer_type_on(s->mesh, &buffer);
    buffer.class = station->class;
    buffer.dtype = DTYPE_I32;
    buffer.rank = 1;
    buffer.dims[0] = (struct dim){DIM_FLAT, all_words(s, type_elements(&whole))};
    buffer.layout = (struct layout){.flat = station->flat};
    buffer.pad_elements = 0;
    return buffer;
}

struct buffer route_buffer(const struct stationed *s, int station, const struct buffer *reference,
                           const struct axis_list cuts[MAX_RANK], int64_t slots) {
    const struct station *of = &s->stations[station];
    struct buffer buffer =
        of->coded ? code_buffer(s, of, reference, cuts) : tensor_buffer(s, of, reference, cuts);
    slots = slots_of_owners(s->mesh, &buffer.layout.owners, slots);
    if (!of->stacked)
        buffer.stacks = stacked_in_slots(slots);
    return buffer;
}

void make_room_for_slots(struct program *program, buffer_id whole, int64_t slots) {
    slots = slots_of_owners(&program->job->mesh, &program->buffers[whole].layout.owners, slots);
    if (buffer_items(&program->buffers[whole]) >= slots)
        return;
    for (buffer_id id = 0; id < program->n_buffers; id++)
        if (id == whole || program->buffers[id].window_of == whole)
            program->buffers[id].stacks = stacked_in_slots(slots);
}

static struct station_size size_of(int64_t elements, int64_t pad, enum dtype dtype) {
    int64_t bytes = size_times(round_up(elements, pad), dtype_bytes[dtype]);
    return (struct station_size){elements, bytes, dtype};
}

struct station_size station_size(const struct stationed *s, int station, int64_t whole,
                                 enum dtype dtype) {
    const struct station *of = &s->stations[station];
    if (of->coded)
        return size_of(flat_part(all_words(s, whole), mesh_group_size(s->mesh, &of->flat), 0), 0,
                       DTYPE_I32);
    struct flat_cut cut = cut_of(s, of);
    return size_of(elements_of(cut, of, whole), cut.pad,
                   of->dtype != DTYPE_NONE ? of->dtype : dtype);
}
