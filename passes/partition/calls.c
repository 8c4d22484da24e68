// Partition, calls: from a call of the reference program to one of the local unit, its operands and
// results at the places where they are now.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"

// The station of a tensor's state that a call touches: what the update works on, what is gathered
// for this call, what the norm reads, or what is stored.
static int station_of(const struct making_call *c, const struct way *way) {
    bool gradient = way->route.state == STATE_GRADIENTS;
    if (c->updates)
        return way->route.updated;
    return gradient && !c->per_microbatch ? way->route.normed : way->route.used;
}

// The type in which a tensor's state lies at a station: as work cuts it, and inside as storage does.
static struct sharding placed_sharding(const struct draft *draft, const struct way *way,
                                       int station) {
    const struct placed_tensor *placed = placement_of(&draft->plan->placement, way->reference);
    struct sharding type = {.flat = flat_axes(placed->storage, &way->route.stations[station].flat),
                            .along = placed->storage->along};
    placed_cuts(placed, &draft->plan->reference->job->tensors[way->reference->tensor],
                way->reference->class, type.cuts);
    return type;
}

static struct reference tensor_operand(struct draft *draft, const struct making_call *c,
                                       struct reference r, struct sharding *type) {
    const struct buffer *buffer = reference_buffer(draft->plan, r);
    bool gradient = buffer->class == CLASS_GRADIENTS;
    struct way *way = way_of(draft, buffer);
    struct reference item =
        station_item(draft, c->at, way, station_of(c, way), r, c->whole->call.unit);
    *type = placed_sharding(draft, way, station_of(c, way));
    if (draft->program->buffers[item.buffer].dtype != buffer->dtype)
        type->dtype = draft->program->buffers[item.buffer].dtype;
    // A gradient that backward adds to is a summand still; one that norms read has been reduced.
    // So is a parameter of which every island has its own, until they have been averaged.
    if (!gradient || c->per_microbatch)
        type->partial = draft->states[r.buffer].type.partial;
    return item;
}

// Does the unit only add to this parameter, in its place?
static bool is_added_to(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// What one piece of a unit hands on to another is as it is made: a summand on axes of the model, as
// it would be in the whole, to which the next piece may add before the sum is needed. But what a
// ring reads is as the ring wants it.
static bool crosses_pieces(const struct plan *plan, struct reference r) {
    const struct buffer *buffer = reference_buffer(plan, r);
    return buffer->class == CLASS_TRANSIENT && buffer->stacks.n == 0 && buffer->rank > 0 &&
           !plan->divisions[r.buffer].for_ring;
}

// Finds an operand's place and type. What it reads must be a whole sum first, unless it is only
// added to: then the sum can wait for its last summand.
static void bind_operand(struct draft *draft, struct making_call *c, uint32_t i) {
    struct reference r = c->from->call.operands[i];
    const struct buffer *buffer = reference_buffer(draft->plan, r);
    if (is_tensor_state(buffer)) {
        c->operands[i] = tensor_operand(draft, c, r, &c->types[i]);
        return;
    }
    struct buffer_state *state = &draft->states[r.buffer];
    if (state->type.zero && is_added_to(c->unit, i)) {
        c->types[i] = state->type;
        c->operands[i] = reference_to(NO_ID);
        return; // which copy is known when the unit is made
    }
    if (!state->type.zero)
        ensure_buffer(draft, r.buffer);
    if (!is_added_to(c->unit, i) && !crosses_pieces(draft->plan, r))
        finish_sum(draft, c->at, r.buffer);
    c->types[i] = state->type;
    c->operands[i] = value_reference(draft, c->at, r);
}

// A new value's buffer, or the one it has from an earlier call or step, whose type must be the
// same.
static struct reference bind_value_result(struct draft *draft, const struct making_call *c,
                                          struct reference r, const struct sharding *type) {
    struct buffer_state *state = &draft->states[r.buffer];
    if (state->buffer == NO_ID)
        make_value_buffer(draft, r.buffer, type);
    for (unsigned d = 0; d < MAX_RANK; d++)
        CHECK(axis_list_equal(&state->type.cuts[d], &type->cuts[d]));
    state->type = *type;
    return value_reference(draft, c->at, r);
}

// Finds a result's place and notes its type, by which later calls and collectives go.
static struct reference bind_result(struct draft *draft, struct making_call *c,
                                    const struct unit_use *use, uint32_t i) {
    struct reference r = c->from->call.results[i];
    const struct buffer *buffer = reference_buffer(draft->plan, r);
    uint32_t in_parameter = c->unit->results[i].in_parameter;
    if (in_parameter != NO_ID) {
        if (!is_tensor_state(buffer) || c->per_microbatch)
            draft->states[r.buffer].type = use->results[i];
        if (c->types[in_parameter].zero) // stays open for summands of other types
            draft->states[r.buffer].type = c->types[in_parameter];
        return c->operands[in_parameter];
    }
    if (!is_tensor_state(buffer)) {
        struct reference all = bind_value_result(draft, c, r, &use->results[i]);
        return use->owners ? owned_squares(draft, c, i) : all;
    }
    struct way *way = way_of(draft, buffer);
    draft->states[r.buffer].type = use->results[i];
    return station_item(draft, c->at, way, station_of(c, way), r, c->whole->call.unit);
}

// A microbatch's gradient that goes through a transient, or is summed over devices where it is, is
// joined to others' behind that; where it is carried, behind its last contribution.
static enum over_time gradient_over_time(const struct draft *draft, const struct making_call *c,
                                         struct reference gradient) {
    const struct route *route = &way_of(draft, reference_buffer(draft->plan, gradient))->route;
    if (levels_of_counter(draft->plan) == 0)
        return route->stations[route->used].class == CLASS_TRANSIENT ? OVER_TIME_KEPT
                                                                     : OVER_TIME_ADDED;
    bool is_summed = route_hop(route, HOP_SUM_EACH) || route->used != route->sum;
    bool is_whole = is_same_call(c->at.reach->last_writer[gradient.buffer], c->whole);
    return is_whole && !is_summed && draft->plan->pairs ? OVER_TIME_PAIRED : OVER_TIME_KEPT;
}

// Is the result a parameter that is made of its master copy behind the call, since nothing but that is
// kept, or since the copy is no sum of all islands' before?
static bool is_made_behind(const struct plan *plan, const struct making_call *c,
                           struct reference result) {
    const struct buffer *buffer = reference_buffer(plan, result);
    if (buffer->class != CLASS_PARAMETERS)
        return false;
    const struct storage *storage = storage_of(&plan->placement, buffer);
    bool averages = c->at.kind == STEP_AVERAGE && storage->types.master != DTYPE_NONE;
    return averages || makes_parameters(storage);
}

static enum dtype travels_in(const struct draft *draft, const struct buffer *gradient) {
    const struct route *route = &way_of(draft, gradient)->route;
    return route->stations[route->used].dtype;
}

// The type in which units are to sum a gradient, if that in which they write it is narrower.
static enum dtype sums_wider(const struct draft *draft, const struct buffer *buffer) {
    if (buffer->class != CLASS_GRADIENTS || buffer->tensor == NO_ID)
        return DTYPE_NONE;
    enum dtype travels = travels_in(draft, buffer);
    enum dtype reduced = storage_of(&draft->plan->placement, buffer)->types.reduced;
    bool holds = dtype_holds(travels == DTYPE_NONE ? buffer->dtype : travels, reduced);
    return holds ? DTYPE_NONE : reduced;
}

// Gradients leave units cut as their tensors are, and as summands: storage finishes the sum. So do
// scalars, and bins, for the step. What is handed on is as its reader's work is divided.
static struct wanted_result wanted_of(const struct draft *draft, const struct making_call *c,
                                      uint32_t i) {
    const struct plan *plan = draft->plan;
    const struct reference r = c->from->call.results[i];
    const struct buffer *buffer = reference_buffer(plan, r);
    if (is_made_behind(plan, c, r))
        return (struct wanted_result){.dropped = true};
    bool carries = levels_of_counter(plan) > 0;
    bool is_whole = buffer->rank == 0 || buffer->dims[0].dimension == DIM_FLAT;
    // A parameter that is rounded from its master lies as that does.
    if (c->unit->results[i].in_parameter != NO_ID || is_whole || buffer->class == CLASS_PARAMETERS)
        return (struct wanted_result){.as_made = true,
                                      .over_time = carries ? OVER_TIME_KEPT : OVER_TIME_ADDED,
                                      .summed_in = sums_wider(draft, buffer)};
    if (crosses_pieces(plan, r))
        return (struct wanted_result){.as_made = true};
    if (buffer->class != CLASS_GRADIENTS)
        return (struct wanted_result){.type = plan->divisions[r.buffer].type};
    struct wanted_result wanted = {.over_time = gradient_over_time(draft, c, r),
                                   .type.partial = UINT64_MAX,
                                   .summand = way_of(draft, buffer)->route.summand};
    memcpy(wanted.type.cuts, placement_of(&plan->placement, buffer)->cuts, sizeof wanted.type.cuts);
    enum dtype travels = travels_in(draft, buffer);
    wanted.type.dtype = travels == buffer->dtype ? DTYPE_NONE : travels;
    wanted.summed_in = sums_wider(draft, buffer);
    return wanted;
}

// The local unit has no results that nobody keeps.
static void leave_out_dropped(const struct making_call *c, struct reference *results,
                              uint32_t n_results) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_results; i++)
        if (i >= c->unit->n_results || !c->use->wanted[i].dropped)
            results[n++] = results[i];
}

// The call of the local unit: the reference's operands and results, then those of what was added.
void push_call(struct draft *draft, struct making_call *c) {
    const struct unit_use *use = c->use;
    uint32_t n_parameters = c->unit->n_parameters, n_results = c->unit->n_results;
    struct call call = {
        .unit = use->unit,
        .operands = ARENA_ARRAY(draft->arena, struct reference, n_parameters + use->n_extras + 1),
        .results = ARENA_ARRAY(draft->arena, struct reference, n_results + use->n_extras + 1)};
    for (uint32_t i = 0; i < n_parameters; i++)
        if (c->types[i].zero)
            c->operands[i] = variant_item(draft, c->at, c->from->call.operands[i].buffer,
                                          use->operands[i].partial);
    memcpy(call.operands, c->operands, n_parameters * sizeof *call.operands);
    for (uint32_t i = 0; i < n_results; i++)
        if (!use->wanted[i].dropped)
            call.results[i] = bind_result(draft, c, use, i);
    for (uint32_t i = 0; i < use->n_extras; i++) {
        const struct unit_extra *extra = &use->extras[i];
        struct reference *operand = &call.operands[n_parameters + i];
        switch (extra->kind) {
        case EXTRA_VARIANT:
            *operand = variant_item(draft, c->at, c->from->call.operands[extra->of].buffer,
                                    extra->type.partial);
            call.results[n_results++] = *operand;
            break;
        case EXTRA_MICROBATCH:
            *operand = number_of_microbatch(draft);
            break;
        case EXTRA_FIRST:
            *operand = call.results[extra->of];
            way_of(draft, reference_buffer(draft->plan, c->from->call.results[extra->of]))->paired =
                true;
            break;
        case EXTRA_SUM:
            *operand = call.results[extra->of];
            if (!is_tensor_state(reference_buffer(draft->plan, c->from->call.results[extra->of])))
                note_zeroed(draft, *operand);
            break;
        }
    }
    leave_out_dropped(c, call.results, n_results);
    push_unit_call(draft, c->at, c->from->span, call.unit, call.operands, call.results);
}

// The axes along which what the call is given has owners; all of it that has any has the same.
static uint64_t owners_of(const struct draft *draft, const struct making_call *c) {
    uint64_t owners = 0;
    for (uint32_t i = 0; i < c->unit->n_parameters; i++)
        if (has_way(reference_buffer(draft->plan, c->from->call.operands[i])))
            owners |= axis_list_mask(&draft->program->buffers[c->operands[i].buffer].layout.owners);
    return owners;
}

struct making_call begin_call(struct draft *draft, struct arena *scratch, struct cursor at,
                              const struct statement *from, const struct statement *whole) {
    const struct plan *plan = draft->plan;
    struct making_call c = {.from = from,
                            .at = at,
                            .whole = whole,
                            .scratch = scratch,
                            .unit = &plan->reference->job->units[from->call.unit],
                            .per_microbatch = is_per_microbatch(plan, whole),
                            .updates = call_updates(plan, &whole->call)};
    c.types = ARENA_ARRAY(scratch, struct sharding, c.unit->n_parameters + 1);
    c.operands = ARENA_ARRAY(scratch, struct reference, c.unit->n_parameters + 1);
    for (uint32_t i = 0; i < c.unit->n_parameters; i++)
        bind_operand(draft, &c, i);
    struct wanted_result *wanted =
        ARENA_ARRAY(scratch, struct wanted_result, c.unit->n_results + 1);
    for (uint32_t i = 0; i < c.unit->n_results; i++)
        wanted[i] = wanted_of(draft, &c, i);
    struct unit_use request = {.reference = from->call.unit,
                               .operands = c.types,
                               .wanted = wanted,
                               .layer = at.layer,
                               .tier = operands_tier(draft, c.operands, c.unit->n_parameters),
                               .owners = owners_of(draft, &c)};
    c.use = partition_unit(draft, scratch, &request);
    return c;
}
