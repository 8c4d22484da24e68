// The buffers that the stations of a route are: how much a device holds at each.
#include <string.h>

#include "ir/check.h"
#include "passes/routes/routes.h"

// Every cut of a tensor's storage begins with the coarser ones, so all are padded for the finest:
// shards of a shard are shards of the whole. What is not trained is cut for its gathers only.
static int64_t finest_parts(const struct stationed *s) {
    return mesh_group_size(s->mesh,
                           &s->tensor->shards[s->trained ? STATE_OPTIMIZER : STATE_PARAMETERS]);
}

static struct buffer tensor_buffer(const struct stationed *s, const struct station *station) {
    struct buffer buffer = *s->reference;
    buffer.class = station->class;
    memcpy(buffer.layout.cuts, s->tensor->cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat = station->flat;
    int64_t pad = finest_parts(s) / mesh_group_size(s->mesh, &station->flat);
    buffer.pad_elements = pad > 1 ? pad : 0;
    return buffer;
}

// Of codes there are as many words as all members of the wire's group send.
static struct buffer code_buffer(const struct stationed *s, const struct station *station) {
    CHECK(s->route->residual >= 0);
    struct buffer buffer = tensor_buffer(s, &s->route->stations[s->route->residual]);
    struct tensor_type sent = buffer_type_on(s->mesh, &buffer);
    int64_t words = wire_words(s->placement->wire, type_elements(&sent));
    buffer.class = station->class;
    buffer.dtype = DTYPE_I32;
    buffer.rank = 1;
    buffer.dims[0] =
        (struct dim){DIM_FLAT, size_times(words, mesh_group_size(s->mesh, &s->tensor->wire))};
    buffer.layout = (struct layout){.flat = station->flat};
    buffer.pad_elements = 0;
    return buffer;
}

struct buffer route_buffer(const struct stationed *s, int station, int64_t slots) {
    const struct station *of = &s->route->stations[station];
    struct buffer buffer = of->coded ? code_buffer(s, of) : tensor_buffer(s, of);
    if (!of->stacked) {
        buffer.count = slots;
        buffer.stack = slots > 1 ? STACK_SLOTS : STACK_NONE;
        buffer.first_layer = buffer.layer_step = 0;
    }
    return buffer;
}
