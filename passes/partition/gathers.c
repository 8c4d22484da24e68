// Partition, gathers: parameters that are stored as shards, or updated as windows, and used whole.
//
// What one call reads is gathered before it, side by side, into transients that are freed behind
// it; what is kept is gathered before its first use and freed behind its last one, in a step or in
// all microbatches.
#include "ir/check.h"
#include "passes/partition/partition.h"

// ---- several layers at once -------------------------------------------------------------------

static bool reads(const struct partitioner *p, const struct statement *s, buffer_id buffer) {
    if (s->kind != STATEMENT_CALL || call_updates(p, &s->call))
        return false;
    for (uint32_t i = 0; i < p->reference->units[s->call.unit].n_parameters; i++)
        if (s->call.operands[i].buffer == buffer)
            return true;
    return false;
}

// Calls in the loop over units that read a parameter in every layer of one; NULL: none does.
struct unit_readers {
    const struct statement *first, *last;
};

static struct unit_readers readers_of_all(const struct partitioner *p, buffer_id buffer) {
    int64_t layers = placement_of(&p->placement, &p->reference->buffers[buffer])->gather_layers;
    struct unit_readers readers = {0};
    struct statement_walk walk = walk_statements(&p->gather_unit->loop.body);
    while (walk_next(&walk))
        if (reads(p, walk.statement, buffer) && walk_trips(&walk) == layers) {
            readers.first = readers.first ? readers.first : walk.statement;
            readers.last = walk.statement;
        }
    return readers;
}

// Is the parameter gathered with those of other layers, in front of the loops over them? What some
// layers of a unit do without (a bias that only recomputing reads, of all layers but the last) is
// gathered layer by layer.
static bool is_of_unit(const struct partitioner *p, buffer_id buffer) {
    return p->gather_unit &&
           placement_of(&p->placement, &p->reference->buffers[buffer])->gather_layers > 1 &&
           readers_of_all(p, buffer).first;
}

// Of layers that take turns: is it the parameter of the one of this turn? What starts ahead of its
// use does so by turns, so it is gathered in front of the loops over a turn's layers too.
static bool is_of_turn(const struct partitioner *p, struct reference operand) {
    const struct buffer *buffer = reference_buffer(p, operand);
    return p->gather_unit && operand.index.variable == 0 &&
           placement_of(&p->placement, buffer)->prefetch > 0;
}

// ---- one gather -------------------------------------------------------------------------------

buffer_id gathered_buffer(struct partitioner *p, buffer_id parameter, uint32_t unit) {
    static const struct axis_list none = {0};
    const struct buffer *buffer = &p->reference->buffers[parameter];
    buffer_id *gathered = &storage_of(p, buffer)->gathered[unit];
    if (*gathered != NO_ID)
        return *gathered;
    const char *suffix = arena_format(p->arena, ".gathered.%s", p->reference->units[unit].name);
    int64_t slots =
        is_of_unit(p, parameter) ? placement_of(&p->placement, buffer)->gather_layers : 1;
    return *gathered = add_transient(p, buffer, suffix, &none, slots);
}

static bool is_gathered_operand(const struct partitioner *p, struct reference operand) {
    const struct buffer *buffer = reference_buffer(p, operand);
    return buffer->class == CLASS_PARAMETERS && is_gathered(p, buffer);
}

// The gathers before one call: what is kept comes first, since the whole is gathered out of it.
struct gathers {
    struct transfers parts, wholes;
};

// A parameter of which a part is kept between its uses in a step is gathered in two strides: the
// part before the first use, the whole out of the part before each.
static void add_gather(struct partitioner *p, struct gathers *gathers, const struct statement *from,
                       struct reference operand) {
    const struct buffer *buffer = reference_buffer(p, operand);
    const struct placed_tensor *tensor = placement_of(&p->placement, buffer);
    const struct tensor_storage *storage = storage_of(p, buffer);
    const struct axis_list *axes = &tensor->shards[STATE_PARAMETERS];
    int64_t bucket = tensor->gather_unit == UNIT_TENSOR ? 0 : NO_BUCKET;
    struct reference source = tensor_item(p, storage->parameter, operand);
    bool first = p->reach.first_reader[operand.buffer] == from;
    if (storage->kept != NO_ID && !(first && p->reach.last_reader[operand.buffer] == from)) {
        struct reference kept = tensor_item(p, storage->kept, operand);
        struct axis_list inner = axis_list_without(axes, &tensor->kept_shards);
        if (first)
            add_piece(p, &gathers->parts, COLLECTIVE_ALL_GATHER, &inner, source, kept,
                      state_span(p, buffer, STATE_PARAMETERS, &inner), bucket);
        source = kept;
        axes = &tensor->kept_shards;
    }
    add_piece(p, &gathers->wholes, COLLECTIVE_ALL_GATHER, axes, source,
              tensor_item(p, gathered_buffer(p, operand.buffer, from->call.unit), operand),
              state_span(p, buffer, STATE_PARAMETERS, axes), bucket);
}

static void emit_parts(struct partitioner *p, struct gathers *gathers,
                       const struct statement *from) {
    emit_transfers(p, &gathers->parts, arena_format(p->arena, "keep.%s", unit_name(p, from)));
}

static void emit_wholes(struct partitioner *p, struct gathers *gathers,
                        const struct statement *from) {
    emit_transfers(p, &gathers->wholes, arena_format(p->arena, "gather.%s", unit_name(p, from)));
}

static void emit_gathers(struct partitioner *p, struct gathers *gathers,
                         const struct statement *from) {
    emit_parts(p, gathers, from);
    emit_wholes(p, gathers, from);
}

// Is an operand of the call, a parameter that is gathered, gathered here?
typedef bool gather_condition(const struct partitioner *p, const struct statement *from,
                              struct reference operand);

static struct gathers gathers_of_call(struct partitioner *p, const struct statement *from,
                                      gather_condition *here) {
    struct gathers gathers = {0};
    for (uint32_t i = 0; i < p->reference->units[from->call.unit].n_parameters; i++) {
        struct reference operand = from->call.operands[i];
        if (is_gathered_operand(p, operand) && here(p, from, operand))
            add_gather(p, &gathers, from, operand);
    }
    return gathers;
}

// Is this the use before which the parameter is gathered? Of a kept one the first of the step's
// reads, or none where it has been gathered before the loop over microbatches.
static bool gathers_here(const struct partitioner *p, const struct statement *from,
                         buffer_id buffer) {
    const struct placed_tensor *tensor =
        placement_of(&p->placement, &p->reference->buffers[buffer]);
    if (tensor->kept_after_backward && p->in_microbatch)
        return false;
    return !tensor->kept_after_forward || p->reach.first_reader[buffer] == from;
}

// ---- the gathers of a unit --------------------------------------------------------------------

// All calls of the unit read what is gathered for the first that goes through all of its layers; of
// layers that are recomputed, for backward.
static void share_gathered(struct partitioner *p, const struct statement *from, buffer_id buffer) {
    const struct buffer *parameter = &p->reference->buffers[buffer];
    buffer_id *gathered = storage_of(p, parameter)->gathered;
    struct statement_walk walk = walk_statements(&p->gather_unit->loop.body);
    while (walk_next(&walk))
        if (reads(p, walk.statement, buffer))
            gathered[walk.statement->call.unit] = gathered[from->call.unit];
}

static bool is_first_of_unit(const struct partitioner *p, const struct statement *from,
                             struct reference operand) {
    return is_of_unit(p, operand.buffer) && readers_of_all(p, operand.buffer).first == from &&
           gathers_here(p, from, operand.buffer);
}

static struct gathers gathers_of_unit(struct partitioner *p, const struct statement *from) {
    struct gathers gathers = gathers_of_call(p, from, is_first_of_unit);
    for (uint32_t i = 0; i < p->reference->units[from->call.unit].n_parameters; i++) {
        struct reference operand = from->call.operands[i];
        if (is_gathered_operand(p, operand) && is_first_of_unit(p, from, operand))
            share_gathered(p, from, operand.buffer);
    }
    return gathers;
}

void gather_unit_parts(struct partitioner *p, const struct statement *from) {
    struct gathers gathers = gathers_of_unit(p, from);
    emit_parts(p, &gathers, from);
}

void gather_unit_wholes(struct partitioner *p, const struct statement *from) {
    struct gathers gathers = gathers_of_unit(p, from);
    emit_wholes(p, &gathers, from);
}

static bool is_turns_first(const struct partitioner *p, const struct statement *from,
                           struct reference operand) {
    return is_of_turn(p, operand) && gathers_here(p, from, operand.buffer);
}

void gather_turn(struct partitioner *p, const struct statement *from) {
    struct gathers gathers = gathers_of_call(p, from, is_turns_first);
    emit_gathers(p, &gathers, from);
}

// ---- before and behind a call -----------------------------------------------------------------

static bool is_calls_own(const struct partitioner *p, const struct statement *from,
                         struct reference operand) {
    return !is_of_unit(p, operand.buffer) && !is_of_turn(p, operand) &&
           gathers_here(p, from, operand.buffer);
}

// All parameters that a call reads are one gather, side by side (or one each, by `unit = tensor`).
void gather_before(struct partitioner *p, const struct statement *from) {
    if (call_updates(p, &from->call))
        return;
    struct gathers gathers = gathers_of_call(p, from, is_calls_own);
    emit_gathers(p, &gathers, from);
}

// Is this the last call of the step that reads the parameter, as long as it is gathered?
static bool ends_use(const struct partitioner *p, const struct statement *from, buffer_id buffer) {
    if (placement_of(&p->placement, &p->reference->buffers[buffer])->kept_after_forward)
        return p->reach.last_reader[buffer] == from;
    return !is_of_unit(p, buffer) || readers_of_all(p, buffer).last == from;
}

void free_after(struct partitioner *p, const struct statement *from) {
    const struct unit *unit = &p->reference->units[from->call.unit];
    struct freed freed = {0};
    if (call_updates(p, &from->call))
        return;
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct reference operand = from->call.operands[i];
        if (!is_gathered_operand(p, operand))
            continue;
        const struct buffer *buffer = reference_buffer(p, operand);
        if (placement_of(&p->placement, buffer)->kept_after_backward && p->in_microbatch)
            continue;
        if (ends_use(p, from, operand.buffer))
            free_item(p, &freed,
                      tensor_item(p, gathered_buffer(p, operand.buffer, from->call.unit), operand));
        if (storage_of(p, buffer)->kept != NO_ID && p->reach.last_reader[operand.buffer] == from &&
            p->reach.first_reader[operand.buffer] != from)
            free_item(p, &freed, tensor_item(p, storage_of(p, buffer)->kept, operand));
    }
    emit_free(p, from, &freed);
}

static bool is_kept_from_here(const struct partitioner *p, const struct statement *from,
                              struct reference operand) {
    return p->reach.first_reader[operand.buffer] == from &&
           placement_of(&p->placement, reference_buffer(p, operand))->kept_after_backward;
}

// Parameters that stay gathered for the whole step, outside the loop over microbatches.
void gather_kept(struct partitioner *p, const struct statement *from) {
    struct gathers gathers = gathers_of_call(p, from, is_kept_from_here);
    emit_gathers(p, &gathers, from);
}

void free_kept(struct partitioner *p, const struct statement *from) {
    const struct unit *unit = &p->reference->units[from->call.unit];
    struct freed freed = {0};
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct reference operand = from->call.operands[i];
        const struct buffer *buffer = reference_buffer(p, operand);
        if (is_gathered_operand(p, operand) && p->reach.last_reader[operand.buffer] == from &&
            placement_of(&p->placement, buffer)->kept_after_backward)
            free_item(p, &freed,
                      tensor_item(p, gathered_buffer(p, operand.buffer, from->call.unit), operand));
    }
    emit_free(p, from, &freed);
}

// After the last update of windows, the whole parameters.
void gather_updated(struct partitioner *p, const struct statement *from) {
    struct transfers transfers = {0};
    const struct unit *unit = &p->reference->units[from->call.unit];
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct reference result = from->call.results[i];
        const struct buffer *buffer = reference_buffer(p, result);
        if (buffer->class != CLASS_PARAMETERS || p->reach.last_writer[result.buffer] != from)
            continue;
        const struct tensor_storage *storage = storage_of(p, buffer);
        struct axis_list axes =
            buffer_window_axes(p->program, &p->program->buffers[storage->updated]);
        add_piece(p, &transfers, COLLECTIVE_ALL_GATHER, &axes,
                  tensor_item(p, storage->updated, result),
                  tensor_item(p, storage->parameter, result),
                  state_span(p, buffer, STATE_OPTIMIZER, &axes), NO_BUCKET);
    }
    emit_transfers(p, &transfers, arena_format(p->arena, "gather.%s", unit->name));
}
