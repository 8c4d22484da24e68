// The buffers that the stations of a route are: how much a device holds at each.
#include <string.h>

#include "ir/check.h"
#include "passes/routes/routes.h"

// Every cut of a tensor's storage begins with the coarser ones, so all are padded for the finest:
// shards of a shard are shards of the whole. What is not trained is cut for its gathers only.
static int64_t finest_parts(const struct stationed *s) {
    const struct storage *storage = s->tensor->storage;
    return mesh_group_size(s->mesh,
                           &storage->shards[storage->trained ? STATE_OPTIMIZER : STATE_PARAMETERS]);
}

static int64_t padding_of(const struct stationed *s, const struct station *station) {
    int64_t pad = finest_parts(s) / mesh_group_size(s->mesh, &station->flat);
    return pad > 1 ? pad : 0;
}

static struct buffer tensor_buffer(const struct stationed *s, const struct station *station) {
    struct buffer buffer = *s->reference;
    buffer.class = station->class;
    memcpy(buffer.layout.cuts, s->tensor->cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat = station->flat;
    buffer.pad_elements = padding_of(s, station);
    return buffer;
}

// The buffer of codes has as many words as all members of the wire's group send.
static struct buffer code_buffer(const struct stationed *s, const struct station *station) {
    CHECK(s->route->residual >= 0);
    struct buffer buffer = tensor_buffer(s, &s->route->stations[s->route->residual]);
    struct tensor_type sent = buffer_type_on(s->mesh, &buffer);
    int64_t words = wire_words(s->placement->wire, type_elements(&sent));
    buffer.class = station->class;
    buffer.dtype = DTYPE_I32;
    buffer.rank = 1;
    buffer.dims[0] = (struct dim){
        DIM_FLAT, size_times(words, mesh_group_size(s->mesh, &s->tensor->storage->wire))};
    buffer.layout = (struct layout){.flat = station->flat};
    buffer.pad_elements = 0;
    return buffer;
}

struct buffer route_buffer(const struct stationed *s, int station, int64_t slots) {
    const struct station *of = &s->route->stations[station];
    struct buffer buffer = of->coded ? code_buffer(s, of) : tensor_buffer(s, of);
    if (!of->stacked) {
        buffer.stacks = stacked_in_slots(slots);
    }
    return buffer;
}

static struct station_size size_of(int64_t elements, int64_t pad, enum dtype dtype) {
    int64_t bytes = size_times(round_up(elements, pad), dtype_bytes[dtype]);
    return (struct station_size){elements, bytes, dtype};
}

struct station_size station_size(const struct stationed *s, int station, int64_t whole) {
    const struct station *of = &s->route->stations[station];
    if (of->coded) {
        struct buffer buffer = code_buffer(s, of);
        struct tensor_type type = buffer_type_on(s->mesh, &buffer);
        return size_of(type_elements(&type), 0, type.dtype);
    }
    int64_t pad = padding_of(s, of);
    if (of->flat.n)
        whole = flat_part(whole, mesh_group_size(s->mesh, &of->flat), pad);
    return size_of(whole, pad, s->reference->dtype);
}
