// Partition, stations: the buffers in which the states of tensors lie on their routes.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/partition/partition.h"

static const struct placed_tensor *placed(const struct partitioner *p,
                                          const struct buffer *buffer) {
    return placement_of(&p->placement, buffer);
}

// ---- buffers ----------------------------------------------------------------------------------

static bool is_trained(const struct partitioner *p, const struct buffer *buffer) {
    return p->reference->tensors[buffer->tensor].trainable;
}

static buffer_id add_buffer(struct partitioner *p, const struct way *way, int station,
                            const char *suffix, int64_t slots) {
    const struct stationed stationed = {.placement = &p->placement,
                                        .mesh = &p->program->mesh,
                                        .tensor = placed(p, way->reference),
                                        .reference = way->reference,
                                        .route = &way->route,
                                        .trained = is_trained(p, way->reference)};
    struct buffer buffer = route_buffer(&stationed, station, slots);
    int window_of = way->route.stations[station].window_of;
    buffer.name = name_with(p->arena, way->reference->name, suffix);
    if (window_of >= 0)
        buffer.window_of = way->buffers[window_of];
    return program_add_buffer(p->program, buffer);
}

static void make_way(struct partitioner *p, const struct buffer *reference) {
    struct way *way = way_of(p, reference);
    way->reference = reference;
    way->route = route_in(p, way, &(struct route_facts){.step = STEP_TRAIN});
    for (unsigned i = 0; i < way->route.n_stations; i++) {
        const struct station *station = &way->route.stations[i];
        way->buffers[i] = NO_ID;
        if (!station->of_each_unit) {
            way->buffers[i] = add_buffer(p, way, (int)i, station->suffix, station->slots);
            continue;
        }
        way->of_unit = ARENA_ARRAY(p->arena, buffer_id, p->reference->n_units);
        for (uint32_t unit = 0; unit < p->reference->n_units; unit++)
            way->of_unit[unit] = NO_ID;
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
    return route_of(&p->placement, &p->program->mesh, placed(p, way->reference),
                    class_states[way->reference->class], is_trained(p, way->reference), facts);
}

// Of a parameter that one call reads no part need be kept.
void begin_routes(struct partitioner *p, struct cursor at) {
    for (buffer_id b = 0; b < p->reference->n_buffers; b++) {
        const struct buffer *buffer = &p->reference->buffers[b];
        if (!is_tensor_state(buffer))
            continue;
        struct way *way = way_of(p, buffer);
        struct route_facts facts = {
            .step = at.kind, .read_once = at.reach->first_reader[b] == at.reach->last_reader[b]};
        way->route = route_in(p, way, &facts);
        note_reads(p, way, at.kind, facts.read_once);
    }
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
    if (way->of_unit[unit] == NO_ID) {
        const char *suffix =
            arena_format(p->arena, "%s.%s", s->suffix, p->reference->units[unit].name);
        int64_t slots = use_of(p, at, of) == USE_GROUP ? s->slots : 1;
        way->of_unit[unit] = add_buffer(p, way, station, suffix, slots);
    }
    return way->of_unit[unit];
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
