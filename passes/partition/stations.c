// Partition, stations: the buffers in which the states of tensors lie on their routes.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/partition.h"

// ---- buffers ----------------------------------------------------------------------------------

// `whole`: of which it is a window; NO_ID: of none.
static buffer_id add_buffer(struct draft *draft, const struct way *way, int station,
                            buffer_id whole, const char *suffix, int64_t slots) {
    const struct plan *plan = draft->plan;
    const struct placed_tensor *placed = placement_of(&plan->placement, way->reference);
    const struct stationed stationed = {.placement = &plan->placement,
                                        .mesh = &draft->program->job->mesh,
                                        .storage = placed->storage,
                                        .stations = way->route.stations,
                                        .residual = way->route.residual};
    struct axis_list cuts[MAX_RANK];
    placed_cuts(placed, &plan->reference->job->tensors[way->reference->tensor],
                way->reference->class, cuts);
    struct buffer buffer = route_buffer(&stationed, station, way->reference, cuts, slots);
    buffer.name = name_with(draft->arena, way->reference->name, suffix);
    buffer.window_of = whole;
    return program_add_buffer(draft->program, buffer);
}

// A step has wholes of its own, as each of its units does: what another step does with its bytes
// need not fit.
static buffer_id *no_buffers(const struct plan *plan) {
    buffer_id *none = ARENA_ARRAY(plan->arena, buffer_id, plan->reference->job->n_units);
    for (uint32_t unit = 0; unit < plan->reference->job->n_units; unit++)
        none[unit] = NO_ID;
    return none;
}

static uint32_t *each_its_own(const struct plan *plan) {
    uint32_t *own = ARENA_ARRAY(plan->arena, uint32_t, plan->reference->job->n_units);
    for (uint32_t unit = 0; unit < plan->reference->job->n_units; unit++)
        own[unit] = unit;
    return own;
}

// The buffer of the reference program that holds the master copy of parameters.
static buffer_id master_of(const struct plan *plan, const struct buffer *parameters) {
    for (buffer_id id = 0; id < plan->reference->n_buffers; id++) {
        const struct buffer *buffer = &plan->reference->buffers[id];
        if (buffer->class == CLASS_MASTER && buffer->tensor == parameters->tensor &&
            placement_index(&plan->placement, buffer) ==
                placement_index(&plan->placement, parameters))
            return id;
    }
    CHECK(false);
}

static buffer_id make_station(struct draft *draft, struct way *way, int station) {
    const struct station *s = &way->route.stations[station];
    if (s->is_master) {
        buffer_id master = master_of(draft->plan, way->reference);
        if (draft->states[master].buffer == NO_ID)
            make_optimizer_way(draft, master);
        const struct way *kept = way_of(draft, &draft->plan->reference->buffers[master]);
        return kept->buffers[kept->route.owned];
    }
    buffer_id whole = s->window_of >= 0 ? way->buffers[s->window_of] : NO_ID;
    return add_buffer(draft, way, station, whole, s->suffix, s->slots);
}

static void make_way(struct draft *draft, const struct buffer *reference) {
    struct way *way = way_of(draft, reference);
    way->reference = reference;
    way->shared = each_its_own(draft->plan);
    way->squares = NO_ID;
    way->route = route_in(draft->plan, reference, &(struct route_facts){.step = STEP_TRAIN});
    for (unsigned i = 0; i < way->route.n_stations; i++) {
        const struct station *station = &way->route.stations[i];
        way->buffers[i] = NO_ID;
        if (station->of_each_unit)
            way->of_unit[i] = no_buffers(draft->plan);
        else if (station->is_master ||
                 route_stops_at(&way->route, (int)i)) // as far as is known before units are made
            way->buffers[i] = make_station(draft, way, (int)i);
    }
}

// Optimizer states: they are touched by updates only, so their type is their storage.
void make_optimizer_way(struct draft *draft, buffer_id of) {
    const struct buffer *buffer = &draft->plan->reference->buffers[of];
    make_way(draft, buffer);
    const struct way *way = way_of(draft, buffer);
    draft->states[of].buffer = way->buffers[way->route.updated];
    draft->states[of].type = stored_sharding(draft->plan, buffer);
}

void make_stations(struct draft *draft) {
    const struct plan *plan = draft->plan;
    uint32_t n = plan->placement.n_ranges * plan->placement.n_tensors;
    draft->ways = ARENA_ARRAY(draft->arena, struct way, 2 * n + plan->reference->n_buffers + 1);
    for (uint32_t b = 0; b < plan->reference->n_buffers; b++)
        if (is_tensor_state(&plan->reference->buffers[b]))
            make_way(draft, &plan->reference->buffers[b]);
}

// ---- routes -----------------------------------------------------------------------------------

struct way *way_of(const struct draft *draft, const struct buffer *buffer) {
    const struct plan *plan = draft->plan;
    if (!is_tensor_state(buffer))
        return &draft->ways[2 * plan->placement.n_ranges * plan->placement.n_tensors +
                            (size_t)(buffer - plan->reference->buffers)];
    return &draft->ways[2 * placement_index(&draft->plan->placement, buffer) +
                        (buffer->class == CLASS_GRADIENTS)];
}

// Routes depend on the step: a parameter that is used once in it need not keep a part.
void begin_routes(struct draft *draft, struct cursor at) {
    const struct plan *plan = draft->plan;
    for (buffer_id b = 0; b < plan->reference->n_buffers; b++) {
        const struct buffer *buffer = &plan->reference->buffers[b];
        if (!is_tensor_state(buffer))
            continue;
        struct way *way = way_of(draft, buffer);
        struct route_facts facts = {.step = at.kind, .read_once = at.reach->uses[b] == 1};
        way->route = route_in(plan, buffer, &facts);
        note_reads(draft, way, at.kind, facts.read_once);
    }
}

struct routed routed_way(const struct draft *draft, const struct buffer *buffer) {
    const struct plan *plan = draft->plan;
    const struct way *way = way_of(draft, buffer);
    uint32_t at = placement_index(&plan->placement, buffer);
    struct routed routed = {
        .route = way->route, .tensor = buffer->tensor, .range = at / plan->placement.n_tensors};
    memcpy(routed.buffers, way->buffers, sizeof routed.buffers);
    memcpy(routed.of_units, way->of_units, sizeof routed.of_units);
    return routed;
}

// ---- items ------------------------------------------------------------------------------------

buffer_id station_buffer(struct draft *draft, struct cursor at, struct way *way, int station,
                         struct reference of, uint32_t unit) {
    const struct plan *plan = draft->plan;
    const struct station *s = &way->route.stations[station];
    if (!s->of_each_unit && way->buffers[station] == NO_ID)
        way->buffers[station] = make_station(draft, way, station);
    if (!s->of_each_unit)
        return way->buffers[station];
    buffer_id *made = way->of_unit[station];
    int64_t slots = layers_of_use(plan, at, use_of(plan, at, of));
    unit = way->shared[unit];
    if (made[unit] == NO_ID) {
        buffer_id whole =
            s->window_of >= 0 ? station_buffer(draft, at, way, s->window_of, of, unit) : NO_ID;
        const char *suffix =
            arena_format(draft->arena, "%s.%s", s->suffix, plan->reference->job->units[unit].name);
        made[unit] = add_buffer(draft, way, station, whole, suffix, slots);
        struct station_buffers *all = &way->of_units[station];
        ARENA_PUSH(draft->arena, all->items, all->n, all->capacity, made[unit]);
    }
    make_room_for_slots(draft->program, buffer_whole(draft->program, made[unit]), slots);
    return made[unit];
}

struct reference item_at(const struct draft *draft, struct cursor at, buffer_id buffer,
                         struct reference of) {
    const struct buffer *stacked = &draft->program->buffers[buffer];
    const struct stack *slots = buffer_stack(stacked, STACK_SLOTS);
    struct index index = moved_index(at, of.indices[0]);
    if (!slots && !buffer_stack(stacked, STACK_LAYERS))
        return reference_to(buffer);
    if (slots)
        index = index_in_slots(index, slots->count);
    return reference_at(buffer, index);
}

struct reference station_item(struct draft *draft, struct cursor at, struct way *way, int station,
                              struct reference of, uint32_t unit) {
    return item_at(draft, at, station_buffer(draft, at, way, station, of, unit), of);
}
