// Partition, stations: the buffers in which the states of tensors lie on their routes.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/partition/partition.h"

static const struct placed_tensor *placed(const struct partitioner *p,
                                          const struct buffer *buffer) {
    return placement_of(&p->placement, buffer);
}

// ---- buffers ----------------------------------------------------------------------------------

// Every cut of a tensor's storage begins with the coarser ones, so all are padded for the finest:
// shards of a shard are shards of the whole. What is not trained is cut for its gathers only.
static int64_t finest_parts(const struct partitioner *p, const struct buffer *reference) {
    bool trained = p->reference->tensors[reference->tensor].trainable;
    const struct axis_list *finest =
        &placed(p, reference)->shards[trained ? STATE_OPTIMIZER : STATE_PARAMETERS];
    return mesh_group_size(&p->program->mesh, finest);
}

static struct buffer tensor_buffer(const struct partitioner *p, const struct way *way,
                                   const struct station *station) {
    struct buffer buffer = *way->reference;
    buffer.class = station->class;
    memcpy(buffer.layout.cuts, placed(p, way->reference)->cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat = station->flat;
    int64_t pad =
        finest_parts(p, way->reference) / mesh_group_size(&p->program->mesh, &station->flat);
    buffer.pad_elements = pad > 1 ? pad : 0;
    return buffer;
}

// Of codes there are as many words as all members of the wire's group send.
static struct buffer code_buffer(const struct partitioner *p, const struct way *way,
                                 const struct station *station) {
    struct buffer buffer = *way->reference;
    const struct axis_list *wire = &placed(p, way->reference)->wire;
    struct tensor_type sent =
        buffer_type(p->program, &p->program->buffers[way->buffers[way->route.residual]]);
    int64_t words = wire_words(p->placement.wire, type_elements(&sent));
    buffer.class = station->class;
    buffer.dtype = DTYPE_I32;
    buffer.rank = 1;
    buffer.dims[0] =
        (struct dim){DIM_FLAT, size_times(words, mesh_group_size(&p->program->mesh, wire))};
    buffer.layout = (struct layout){.flat = station->flat};
    buffer.pad_elements = 0;
    return buffer;
}

// `whole`: of which it is a window; NO_ID: of none.
static buffer_id add_buffer(struct partitioner *p, const struct way *way,
                            const struct station *station, buffer_id whole, const char *suffix,
                            int64_t slots) {
    struct buffer buffer =
        station->coded ? code_buffer(p, way, station) : tensor_buffer(p, way, station);
    buffer.name = name_with(p->arena, way->reference->name, suffix);
    buffer.window_of = whole;
    if (!station->stacked) {
        buffer.count = slots;
        buffer.stack = slots > 1 ? STACK_SLOTS : STACK_NONE;
        buffer.first_layer = buffer.layer_step = 0;
    }
    return program_add_buffer(p->program, buffer);
}

// A step has wholes of its own, as each of its units does: what another step does with its bytes
// need not fit.
static buffer_id *no_buffers(const struct partitioner *p) {
    buffer_id *none = ARENA_ARRAY(p->arena, buffer_id, p->reference->n_units);
    for (uint32_t unit = 0; unit < p->reference->n_units; unit++)
        none[unit] = NO_ID;
    return none;
}

static void make_way(struct partitioner *p, const struct buffer *reference) {
    struct way *way = way_of(p, reference);
    way->reference = reference;
    way->route = route_in(p, way, &(struct route_facts){.step = STEP_TRAIN});
    for (unsigned i = 0; i < way->route.n_stations; i++) {
        const struct station *station = &way->route.stations[i];
        way->buffers[i] = NO_ID;
        if (!station->of_each_unit) {
            buffer_id whole = station->window_of >= 0 ? way->buffers[station->window_of] : NO_ID;
            way->buffers[i] = add_buffer(p, way, station, whole, station->suffix, station->slots);
            continue;
        }
        way->of_unit[i] = no_buffers(p);
    }
}

void make_stations(struct partitioner *p) {
    uint32_t n = p->placement.n_ranges * p->placement.n_tensors;
    p->ways = ARENA_ARRAY(p->arena, struct way, 2 * n + 1);
    for (uint32_t b = 0; b < p->reference->n_buffers; b++)
        if (is_tensor_state(&p->reference->buffers[b]))
            make_way(p, &p->reference->buffers[b]);
}

// ---- routes -----------------------------------------------------------------------------------

struct way *way_of(const struct partitioner *p, const struct buffer *buffer) {
    return &p->ways[2 * placement_index(&p->placement, buffer) +
                    (buffer->class == CLASS_GRADIENTS)];
}

struct route route_in(const struct partitioner *p, const struct way *way,
                      const struct route_facts *facts) {
    bool trained = p->reference->tensors[way->reference->tensor].trainable;
    return route_of(&p->placement, &p->program->mesh, placed(p, way->reference),
                    class_states[way->reference->class], trained, facts);
}

// Of a parameter that is used once no part need be kept.
void begin_routes(struct partitioner *p, struct cursor at) {
    for (buffer_id b = 0; b < p->reference->n_buffers; b++) {
        const struct buffer *buffer = &p->reference->buffers[b];
        if (!is_tensor_state(buffer))
            continue;
        struct way *way = way_of(p, buffer);
        struct route_facts facts = {.step = at.kind, .read_once = at.reach->uses[b] == 1};
        way->route = route_in(p, way, &facts);
    }
}

struct routed routed_way(const struct partitioner *p, const struct buffer *buffer) {
    const struct way *way = way_of(p, buffer);
    uint32_t at = placement_index(&p->placement, buffer);
    struct routed routed = {.route = way->route,
                            .tensor = buffer->tensor,
                            .range = at / p->placement.n_tensors,
                            .n_units = p->reference->n_units};
    memcpy(routed.buffers, way->buffers, sizeof routed.buffers);
    memcpy(routed.of_unit, way->of_unit, sizeof routed.of_unit);
    return routed;
}

struct sharding stored_sharding(const struct partitioner *p, const struct buffer *buffer) {
    struct sharding type = {0};
    memcpy(type.cuts, placed(p, buffer)->cuts, sizeof type.cuts);
    type.flat = placed(p, buffer)->shards[class_states[buffer->class]];
    return type;
}

// ---- items ------------------------------------------------------------------------------------

buffer_id station_buffer(struct partitioner *p, struct cursor at, struct way *way, int station,
                         struct reference of, uint32_t unit) {
    const struct station *s = &way->route.stations[station];
    if (!s->of_each_unit)
        return way->buffers[station];
    buffer_id *made = way->of_unit[station];
    if (continues_use(p, at, of))
        made[unit] = made[at.before->call.unit];
    if (made[unit] == NO_ID) {
        buffer_id whole =
            s->window_of >= 0 ? station_buffer(p, at, way, s->window_of, of, unit) : NO_ID;
        const char *suffix =
            arena_format(p->arena, "%s.%s", s->suffix, p->reference->units[unit].name);
        int64_t slots = use_of(p, at, of) == USE_GROUP ? s->slots : 1;
        made[unit] = add_buffer(p, way, s, whole, suffix, slots);
    }
    return made[unit];
}

void share_stations(struct way *way, uint32_t unit, uint32_t with) {
    for (unsigned i = 0; i < way->route.n_stations; i++)
        if (way->route.stations[i].of_each_unit)
            way->of_unit[i][unit] = way->of_unit[i][with];
}

struct reference item_at(const struct partitioner *p, struct cursor at, buffer_id buffer,
                         struct reference of) {
    const struct buffer *stacked = &p->program->buffers[buffer];
    struct reference item = {buffer, moved_index(at, of.index)};
    if (stacked->stack == STACK_SLOTS)
        item.index.modulus = stacked->count;
    else if (stacked->stack != STACK_LAYERS)
        item.index = index_constant(0);
    return item;
}

struct reference station_item(struct partitioner *p, struct cursor at, struct way *way, int station,
                              struct reference of, uint32_t unit) {
    return item_at(p, at, station_buffer(p, at, way, station, of, unit), of);
}

struct span state_span(const struct partitioner *p, const struct buffer *buffer, enum state state,
                       const struct axis_list *axes) {
    unsigned axis = axes->axes[0];
    const struct origin *origin = axes->n ? placed_origin(placed(p, buffer), state, axis) : NULL;
    return origin ? origin_span(origin) : split_span(p, axis);
}
