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
    return p->reference->job->tensors[buffer->tensor].trainable;
}

// `whole`: of which it is a window; NO_ID: of none.
static buffer_id add_buffer(struct partitioner *p, const struct way *way, int station,
                            buffer_id whole, const char *suffix, int64_t slots) {
    const struct stationed stationed = {.placement = &p->placement,
                                        .mesh = &p->program->job->mesh,
                                        .tensor = placed(p, way->reference),
                                        .reference = way->reference,
                                        .route = &way->route,
                                        .trained = is_trained(p, way->reference)};
    struct buffer buffer = route_buffer(&stationed, station, slots);
    buffer.name = name_with(p->arena, way->reference->name, suffix);
    buffer.window_of = whole;
    return program_add_buffer(p->program, buffer);
}

// A step has wholes of its own, as each of its units does: what another step does with its bytes
// need not fit.
static buffer_id *no_buffers(const struct partitioner *p) {
    buffer_id *none = ARENA_ARRAY(p->arena, buffer_id, p->reference->job->n_units);
    for (uint32_t unit = 0; unit < p->reference->job->n_units; unit++)
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
            way->buffers[i] = add_buffer(p, way, (int)i, whole, station->suffix, station->slots);
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
    return route_of(&p->placement, &p->program->job->mesh, placed(p, way->reference),
                    class_states[way->reference->class], is_trained(p, way->reference), facts);
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
        note_reads(p, way, at.kind, facts.read_once);
    }
}

struct routed routed_way(const struct partitioner *p, const struct buffer *buffer) {
    const struct way *way = way_of(p, buffer);
    uint32_t at = placement_index(&p->placement, buffer);
    struct routed routed = {.route = way->route,
                            .tensor = buffer->tensor,
                            .range = at / p->placement.n_tensors,
                            .n_units = p->reference->job->n_units};
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
            arena_format(p->arena, "%s.%s", s->suffix, p->reference->job->units[unit].name);
        int64_t slots = use_of(p, at, of) == USE_GROUP ? s->slots : 1;
        made[unit] = add_buffer(p, way, station, whole, suffix, slots);
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
