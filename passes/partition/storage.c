// Partition, storage: where tensors lie between uses, and the reductions that bring gradients
// there.
//
//   parameters   gathered: flat shards (partition/gathers.c). Whole, with an optimizer that is cut:
//   each device updates its own window of the
//                whole, then the windows are gathered in place.
//   gradients    whole: units write or accumulate them; after the last microbatch they are summed,
//                by reduce_scatter into the window that the update reads where the optimizer is
//                cut, by all_reduce otherwise. Cut, or reduce = each: units write one microbatch's
//                gradient to a transient, which is reduced and then accumulated.
//
// Pieces of one call that go over the same axes are one collective, side by side.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/partition/partition.h"

// ---- types ------------------------------------------------------------------------------------

// How what a buffer of the reference program, or of ours, holds is placed.
static const struct placed_tensor *placed(const struct partitioner *p,
                                          const struct buffer *buffer) {
    return placement_of(&p->placement, buffer);
}

struct tensor_storage *storage_of(const struct partitioner *p, const struct buffer *buffer) {
    return &p->storage[placement_index(&p->placement, buffer)];
}

buffer_id written_gradient(const struct tensor_storage *storage) {
    return storage->unreduced != NO_ID ? storage->unreduced : storage->gradient;
}

bool is_gathered(const struct partitioner *p, const struct buffer *buffer) {
    return placed(p, buffer)->shards[STATE_PARAMETERS].n > 0;
}

static struct sharding work_sharding(const struct partitioner *p, const struct buffer *buffer) {
    struct sharding type = {0};
    memcpy(type.cuts, placed(p, buffer)->cuts, sizeof type.cuts);
    return type;
}

// Storage is cut after work: flat shards of what tensor parallelism left, so that no shard has
// strides.
struct sharding stored_sharding(const struct partitioner *p, const struct buffer *buffer) {
    struct sharding type = work_sharding(p, buffer);
    enum state state = class_states[buffer->class];
    type.flat = placed(p, buffer)->shards[state];
    return type;
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

static buffer_id add_tensor_buffer(struct partitioner *p, const struct buffer *reference,
                                   const char *suffix, enum buffer_class class,
                                   const struct axis_list *flat) {
    struct buffer buffer = *reference;
    buffer.name = name_with(p->arena, reference->name, suffix);
    buffer.class = class;
    memcpy(buffer.layout.cuts, placed(p, reference)->cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat = *flat;
    int64_t pad = finest_parts(p, reference) / mesh_group_size(&p->program->mesh, flat);
    buffer.pad_elements = pad > 1 ? pad : 0;
    return program_add_buffer(p->program, buffer);
}

buffer_id add_transient(struct partitioner *p, const struct buffer *reference, const char *suffix,
                        const struct axis_list *flat, int64_t slots) {
    buffer_id id = add_tensor_buffer(p, reference, suffix, CLASS_TRANSIENT, flat);
    struct buffer *buffer = &p->program->buffers[id];
    buffer->count = slots;
    buffer->stack = slots > 1 ? STACK_SLOTS : STACK_NONE;
    buffer->first_layer = buffer->layer_step = 0;
    return id;
}

// This device's part of a buffer, cut by all of `flat`, where it is: no copy to update or to reduce
// into. The buffer itself, if it is cut so already.
static buffer_id add_window(struct partitioner *p, const struct buffer *reference, buffer_id whole,
                            const char *suffix, const struct axis_list *flat) {
    if (axis_list_equal(&p->program->buffers[whole].layout.flat, flat))
        return whole;
    enum buffer_class class = p->program->buffers[whole].class;
    buffer_id id = add_tensor_buffer(p, reference, suffix, class, flat);
    struct buffer *window = &p->program->buffers[id];
    const struct buffer *of = &p->program->buffers[whole];
    window->window_of = whole;
    window->stack = of->stack;
    window->count = of->count;
    window->first_layer = of->first_layer;
    window->layer_step = of->layer_step;
    return id;
}

// The stored parameter, what of it this device updates, and the wholes that are gathered.
static void make_parameter(struct partitioner *p, const struct buffer *reference) {
    static const struct axis_list none = {0};
    const struct placed_tensor *tensor = placed(p, reference);
    struct tensor_storage *storage = storage_of(p, reference);
    const struct axis_list *shards = &tensor->shards[STATE_PARAMETERS];
    storage->parameter = storage->updated =
        add_tensor_buffer(p, reference, "", CLASS_PARAMETERS, shards);
    if (p->reference->tensors[reference->tensor].trainable)
        storage->updated = add_window(p, reference, storage->parameter, ".window",
                                      &tensor->shards[STATE_OPTIMIZER]);
    if (shards->n == 0)
        return;
    if (tensor->kept_shards.n)
        storage->kept =
            add_tensor_buffer(p, reference, ".kept", CLASS_TRANSIENT, &tensor->kept_shards);
    storage->gathered = ARENA_ARRAY(p->arena, buffer_id, p->reference->n_units);
    buffer_id kept = NO_ID;
    if (tensor->kept_after_forward)
        kept = add_tensor_buffer(p, reference, ".gathered", CLASS_TRANSIENT, &none);
    for (uint32_t unit = 0; unit < p->reference->n_units; unit++)
        storage->gathered[unit] = kept;
}

// The axes over which storage sums what units leave, in whichever way.
static uint64_t summed_axes(const struct tensor_storage *storage) {
    const struct gradient_sums *sums = &storage->sums;
    return axis_list_mask(&sums->scatter_each) | axis_list_mask(&sums->scatter_last) |
           axis_list_mask(&sums->reduce_each) | axis_list_mask(&sums->reduce_last) |
           axis_list_mask(&storage->wire);
}

// Over which axes the gradient is summed, when, and how; on other axes gradients are copies, or cut
// as their tensors are. Where the optimizer is cut only the owner needs the sum. What is summed
// must leave units as a summand: a copy, of an axis of the model or of what a scope divides
// otherwise than the table that it reads, as one that all but the first have as zeros.
static void plan_reduction(const struct partitioner *p, const struct placed_tensor *tensor,
                           struct tensor_storage *storage) {
    storage->sums = gradient_sums(&p->placement, tensor);
    storage->wire = tensor->wire;
    // Codes are summed over their axes, to the whole that all of these have.
    storage->sums.scatter_last = axis_list_without(&storage->sums.scatter_last, &tensor->wire);
    storage->sums.reduce_last = axis_list_without(&storage->sums.reduce_last, &tensor->wire);
    storage->summand = summed_axes(storage);
}

// The axes of a sum's parts: what was kept of it and what was scattered, one inside the other.
static struct axis_list cuts_of_sum(const struct gradient_sums *sums) {
    struct axis_list cuts = sums->keep_first;
    for (unsigned i = 0; i < sums->scatter_each.n; i++)
        axis_list_add(&cuts, sums->scatter_each.axes[i]);
    return cuts;
}

// What accumulates, and the transients that one microbatch's gradient passes through before it
// does.
static void make_gradient(struct partitioner *p, const struct buffer *reference) {
    static const struct axis_list none = {0};
    const struct placed_tensor *tensor = placed(p, reference);
    struct tensor_storage *storage = storage_of(p, reference);
    plan_reduction(p, tensor, storage);
    storage->gradient =
        add_tensor_buffer(p, reference, "", CLASS_GRADIENTS, &tensor->shards[STATE_GRADIENTS]);
    storage->own_gradient =
        add_window(p, reference, storage->gradient, ".window", &tensor->shards[STATE_OPTIMIZER]);
    struct axis_list cuts = cuts_of_sum(&storage->sums);
    storage->sum = axis_list_equal(&cuts, &tensor->shards[STATE_OPTIMIZER])
                       ? storage->own_gradient
                       : add_window(p, reference, storage->gradient, ".sum", &cuts);
    make_codes(p, reference);
    bool carries = levels_of_counter(p) > 0;
    storage->part = storage->kept_first = storage->sum;
    if (storage->sums.scatter_each.n + tensor->shards[STATE_GRADIENTS].n +
            (carries ? 0 : storage->sums.reduce_each.n) ==
        0)
        return;
    // Layers whose parameters are gathered together are reduced together.
    int64_t slots = tensor->gather_layers;
    storage->unreduced = add_transient(p, reference, ".unreduced", &none, slots);
    storage->part =
        add_window(p, reference, storage->unreduced, ".part", &storage->sums.keep_first);
    if (storage->sums.scatter_each.n || storage->sums.keep_first.n == 0)
        storage->kept_first = storage->part;
    if (storage->sums.scatter_each.n && p->placement.microbatches > 1 && !carries)
        storage->reduced =
            add_transient(p, reference, ".reduced", &storage->sums.scatter_each, slots);
}

void make_storage(struct partitioner *p) {
    uint32_t n = p->placement.n_ranges * p->placement.n_tensors;
    p->storage = ARENA_ARRAY(p->arena, struct tensor_storage, n + 1);
    for (uint32_t t = 0; t < n; t++)
        p->storage[t] = (struct tensor_storage){.parameter = NO_ID,
                                                .updated = NO_ID,
                                                .kept = NO_ID,
                                                .gradient = NO_ID,
                                                .sum = NO_ID,
                                                .own_gradient = NO_ID,
                                                .sent = NO_ID,
                                                .residual = NO_ID,
                                                .code = NO_ID,
                                                .codes = NO_ID,
                                                .unreduced = NO_ID,
                                                .reduced = NO_ID};
    for (uint32_t b = 0; b < p->reference->n_buffers; b++) {
        const struct buffer *buffer = &p->reference->buffers[b];
        if (buffer->class == CLASS_PARAMETERS)
            make_parameter(p, buffer);
        else if (buffer->class == CLASS_GRADIENTS)
            make_gradient(p, buffer);
    }
}

// ---- collectives ------------------------------------------------------------------------------

// The newest collective of a kind and axes that has room for `bytes` more; else a new one.
static struct filled_transfer *transfer_with_room(struct partitioner *p,
                                                  struct transfers *transfers,
                                                  enum collective_kind kind,
                                                  const struct axis_list *axes, struct span span,
                                                  int64_t bytes, int64_t bucket_bytes) {
    for (uint32_t i = transfers->n; i-- > 0;) {
        struct filled_transfer *filled = &transfers->items[i];
        const struct exchange *exchange = &filled->transfer.exchange;
        if (exchange->kind != kind || !axis_list_equal(&exchange->axes, axes))
            continue;
        if (filled->bytes <= bucket_bytes - bytes)
            return filled;
        break; // the newest is full: pieces stay in the order in which they were added
    }
    struct filled_transfer made = {.transfer.exchange = exchange_flat(kind, axes), .span = span};
    ARENA_PUSH(p->arena, transfers->items, transfers->n, transfers->cap, made);
    return &transfers->items[transfers->n - 1];
}

void add_piece(struct partitioner *p, struct transfers *transfers, enum collective_kind kind,
               const struct axis_list *axes, struct reference from, struct reference to,
               struct span span, int64_t bucket_bytes) {
    if (axes->n == 0)
        return;
    bool gather = kind == COLLECTIVE_ALL_GATHER;
    const struct buffer *whole = &p->program->buffers[gather ? to.buffer : from.buffer];
    int64_t bytes = buffer_item_bytes(p->program, whole);
    struct filled_transfer *filled =
        transfer_with_room(p, transfers, kind, axes, span, bytes, bucket_bytes);
    struct transfer *transfer = &filled->transfer;
    struct transfer_piece piece = {.from = from, .to = to};
    ARENA_PUSH(p->arena, transfer->pieces, transfer->n_pieces, filled->capacity, piece);
    filled->bytes += bytes;
}

// Every collective has a handle of its own, so that overlap can move starts and waits freely.
void emit_transfers(struct partitioner *p, struct transfers *transfers, const char *name) {
    for (uint32_t i = 0; i < transfers->n; i++) {
        struct transfer *transfer = &transfers->items[i].transfer;
        struct span span = transfers->items[i].span;
        transfer->handle =
            step_add_handle(p->program, p->step, names_fresh(&p->step->handle_names, name, '.'), 1);
        transfer->handle_index = index_constant(0);
        push_statement(
            p, (struct statement){.kind = STATEMENT_START, .span = span, .start = *transfer});
        push_statement(p, (struct statement){
                              .kind = STATEMENT_WAIT,
                              .span = span,
                              .wait = {.handle = transfer->handle, .index = index_constant(0)}});
    }
    transfers->n = 0;
}

struct span state_span(const struct partitioner *p, const struct buffer *buffer, enum state state,
                       const struct axis_list *axes) {
    unsigned axis = axes->axes[0];
    const struct origin *origin = axes->n ? placed_origin(placed(p, buffer), state, axis) : NULL;
    return origin ? origin_span(origin) : split_span(p, axis);
}

struct reference tensor_item(const struct partitioner *p, buffer_id buffer,
                             struct reference reference) {
    const struct buffer *stacked = &p->program->buffers[buffer];
    struct reference item = {buffer, moved_index(p, reference.index)};
    if (stacked->stack == STACK_SLOTS)
        item.index.modulus = stacked->count;
    else if (stacked->stack != STACK_LAYERS)
        item.index = index_constant(0);
    return item;
}

const char *unit_name(const struct partitioner *p, const struct statement *call) {
    return p->reference->units[call->call.unit].name;
}

void free_item(struct partitioner *p, struct freed *freed, struct reference reference) {
    ARENA_PUSH(p->arena, freed->items, freed->n, freed->cap, reference);
}

void emit_free(struct partitioner *p, const struct statement *from, const struct freed *freed) {
    if (freed->n > 0)
        push_statement(p, (struct statement){.kind = STATEMENT_FREE,
                                             .span = from->span,
                                             .free = {freed->items, freed->n}});
}

// ---- gradients --------------------------------------------------------------------------------

static struct written last_written(struct partitioner *p, const struct statement *from) {
    const struct unit *unit = &p->reference->units[from->call.unit];
    struct written written = {.results =
                                  ARENA_ARRAY(p->arena, struct reference, unit->n_results + 1)};
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct reference result = from->call.results[i];
        if (reference_buffer(p, result)->class == CLASS_GRADIENTS &&
            p->reach.last_writer[result.buffer] == from)
            written.results[written.n++] = result;
    }
    return written;
}

struct tensor_storage *gradient_storage(const struct partitioner *p, struct reference gradient) {
    return storage_of(p, reference_buffer(p, gradient));
}

void add_reduction(struct partitioner *p, struct transfers *transfers, enum collective_kind kind,
                   const struct axis_list *axes, struct reference gradient, buffer_id from,
                   buffer_id to) {
    if (axes->n == 0)
        return;
    const struct buffer *buffer = reference_buffer(p, gradient);
    add_piece(p, transfers, kind, axes, tensor_item(p, from, gradient),
              tensor_item(p, to, gradient), state_span(p, buffer, STATE_GRADIENTS, axes),
              kind == COLLECTIVE_ALL_REDUCE ? placed(p, buffer)->bucket_bytes : NO_BUCKET);
}

bool has_types(const struct partitioner *p, const struct unit *unit,
               const struct reference *operands, uint32_t n) {
    bool equal = unit->n_parameters == n;
    for (uint32_t i = 0; equal && i < n; i++) {
        struct tensor_type type = buffer_type(p->program, &p->program->buffers[operands[i].buffer]);
        equal = type_equal(&type, &unit->values[i].type);
    }
    return equal;
}

// Those of no unit stand behind those of all.
static struct accumulation **accumulations_of(const struct partitioner *p, uint32_t of) {
    return &p->accumulations[of == NO_ID ? p->reference->n_units : of];
}

uint32_t find_accumulation(const struct partitioner *p, uint32_t of, int level,
                           const struct reference *operands, uint32_t n) {
    for (const struct accumulation *made = *accumulations_of(p, of); made; made = made->before)
        if (made->level == level && has_types(p, &p->program->units[made->unit], operands, n))
            return made->unit;
    return NO_ID;
}

void note_accumulation(struct partitioner *p, uint32_t of, int level, uint32_t unit) {
    struct accumulation **last = accumulations_of(p, of);
    const struct accumulation made = {.unit = unit, .level = level, .before = *last};
    *last = arena_copy(p->arena, &made, sizeof made);
}

// The unit that adds every second operand to the one before it, in its place: what `from` has made
// of one microbatch. Ranges of layers share it, if they lie alike.
static uint32_t accumulation(struct partitioner *p, const struct statement *from,
                             const struct reference *operands, uint32_t n) {
    struct program *program = p->program;
    uint32_t found = find_accumulation(p, from->call.unit, 0, operands, 2 * n);
    if (found != NO_ID)
        return found;
    const char *name = arena_format(p->arena, "accumulate_%s", unit_name(p, from));
    uint32_t id = add_local_unit(p, name, from->span);
    struct unit *unit = &program->units[id];
    unit->phase = PHASE_BACKWARD;
    for (uint32_t i = 0; i < 2 * n; i++) {
        const struct buffer *buffer = &program->buffers[operands[i].buffer];
        const char *of = program->tensors[buffer->tensor].name;
        unit_add_parameter(program, unit,
                           arena_format(p->arena, "%s.%s", of, i % 2 ? "term" : "sum"),
                           buffer_type(program, buffer), false);
    }
    for (uint32_t i = 0; i < n; i++) {
        value_id pair[2] = {2 * i, 2 * i + 1};
        const char *total = arena_format(p->arena, "%s.total", unit->values[2 * i].name);
        struct op *op = unit_add_op(program, unit, OP_ACCUMULATE, total, pair, 2, from->span);
        unit->values[op->results[0]].type = unit->values[2 * i].type;
        unit_add_result(program, unit, op->results[0], 2 * i);
    }
    note_accumulation(p, from->call.unit, 0, id);
    return id;
}

// A call of the unit that adds one microbatch's reduced gradients to the sums.
static void accumulate_reduced(struct partitioner *p, const struct statement *from,
                               const struct written *written) {
    struct reference *operands = ARENA_ARRAY(p->arena, struct reference, 2 * written->n + 1);
    struct reference *results = ARENA_ARRAY(p->arena, struct reference, written->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *storage = gradient_storage(p, written->results[i]);
        if (storage->unreduced == NO_ID)
            continue;
        buffer_id term = storage->reduced != NO_ID ? storage->reduced : storage->unreduced;
        results[n] = operands[2 * n] = tensor_item(p, storage->sum, written->results[i]);
        operands[2 * n + 1] = tensor_item(p, term, written->results[i]);
        n++;
    }
    if (n == 0)
        return;
    uint32_t unit = accumulation(p, from, operands, n);
    push_statement(
        p, (struct statement){.kind = STATEMENT_CALL,
                              .span = from->span,
                              .call = {.unit = unit, .operands = operands, .results = results}});
}

// One microbatch: scatter to the owners, sum over what else asks for it each time, add to the sums.
static void reduce_each(struct partitioner *p, const struct statement *from,
                        const struct written *written) {
    const char *name = arena_format(p->arena, "reduce.%s", unit_name(p, from));
    struct transfers scatters = {0}, sums = {0};
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written->results[i]);
        buffer_id shard = s->reduced != NO_ID ? s->reduced : s->sum;
        buffer_id whole = s->sums.scatter_each.n ? shard : s->kept_first;
        add_reduction(p, &scatters, COLLECTIVE_REDUCE_SCATTER, &s->sums.scatter_each,
                      written->results[i], s->kept_first, shard);
        add_reduction(p, &sums, COLLECTIVE_ALL_REDUCE, &s->sums.reduce_each, written->results[i],
                      whole, whole);
    }
    emit_transfers(p, &scatters, name);
    emit_transfers(p, &sums, name);
    if (levels_of_counter(p))
        carry_gradients(p, from, written);
    else if (p->placement.microbatches > 1)
        accumulate_reduced(p, from, written);
    struct freed freed = {0};
    for (uint32_t i = 0; i < written->n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written->results[i]);
        if (s->unreduced != NO_ID)
            free_item(p, &freed, tensor_item(p, s->unreduced, written->results[i]));
        if (s->reduced != NO_ID)
            free_item(p, &freed, tensor_item(p, s->reduced, written->results[i]));
    }
    emit_free(p, from, &freed);
}

uint64_t model_summands(const struct partitioner *p, struct reference gradient) {
    return p->states[gradient.buffer].type.partial & ~p->token_axes;
}

// The axes over which the gradient is summed at the end: data axes that nothing has summed over
// yet, and those of the model on which units left it a summand.
static struct axis_list last_sums(const struct partitioner *p, struct reference gradient) {
    const struct tensor_storage *s = storage_of(p, reference_buffer(p, gradient));
    uint64_t model = p->placement.ordered ? 0 : model_summands(p, gradient);
    model &= ~axis_list_mask(&s->sums.scatter_each) & ~axis_list_mask(&s->sums.scatter_last);
    return axes_of_sum(p, axis_list_mask(&s->sums.reduce_last) | model);
}

// After the last microbatch: scatter first, so that what is left to sum is a shard's bytes.
void reduce_last(struct partitioner *p, const struct statement *from) {
    const char *name = arena_format(p->arena, "reduce.%s", unit_name(p, from));
    struct written written = last_written(p, from);
    struct transfers scatters = {0}, sums = {0};
    for (uint32_t i = 0; i < written.n; i++) {
        const struct tensor_storage *s = gradient_storage(p, written.results[i]);
        add_reduction(p, &scatters, COLLECTIVE_REDUCE_SCATTER, &s->sums.scatter_last,
                      written.results[i], s->sum, s->own_gradient);
        struct axis_list summed = last_sums(p, written.results[i]);
        buffer_id place = s->sent != NO_ID ? s->sent : s->own_gradient;
        add_reduction(p, &sums, COLLECTIVE_ALL_REDUCE, &summed, written.results[i], place, place);
    }
    emit_transfers(p, &scatters, name);
    emit_transfers(p, &sums, name);
    send_codes(p, from, &written);
}

// After a call of the backward pass. A gradient with several contributions (a tied table) is
// reduced after the last of them only.
void reduce_after(struct partitioner *p, const struct statement *from) {
    if (!is_per_microbatch(p, from))
        return;
    struct written written = last_written(p, from);
    if (p->placement.ordered)
        reduce_first(p, from, &written);
    reduce_each(p, from, &written);
    if (p->placement.microbatches == 1)
        reduce_last(p, from);
}

// Before the first microbatch, all that accumulates is zero.
void zero_gradients(struct partitioner *p, const struct statement *from) {
    struct written written = last_written(p, from);
    for (uint32_t i = 0; i < written.n; i++) {
        buffer_id sum = gradient_storage(p, written.results[i])->sum;
        push_statement(p, (struct statement){.kind = STATEMENT_ZERO,
                                             .span = from->span,
                                             .zero = tensor_item(p, sum, written.results[i])});
    }
}
