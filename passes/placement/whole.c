// Tensors that their update needs whole, since one of its ops does not work on flat shards. Where the
// optimizer's states are shards, what that op reads is gathered inside the update: only where `gathered`
// says so. What splits cut of a tensor is no shard: the types of the update's ops say what is summed and
// what is gathered of it.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/placement/work.h"
#include "passes/reference/select.h"

// Where the tensor and the range stand in `placement.tensors`.
static uint32_t index_of(const struct placing *p, uint32_t range, uint32_t tensor) {
    return range * p->placement->n_tensors + tensor;
}

// The update of a range of layers is a loop over these; a call in none is of all ranges.
static void mark_tensor(const struct placing *p, const struct loop *layers, uint32_t tensor,
                        bool *marks) {
    const struct layer_range *ranges = p->placement->ranges;
    for (uint32_t r = 0; r < p->placement->n_ranges; r++)
        if (placement_has(p->placement, p->program->job, index_of(p, r, tensor)) &&
            (!layers || (ranges[r].begin >= layers->begin && ranges[r].begin < layers->end)))
            marks[index_of(p, r, tensor)] = true;
}

// Norms only read.
static bool updates_state(const struct placing *p, const struct call *call) {
    const struct unit *unit = &p->program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (buffer_is_persistent(&p->program->buffers[call->results[i].buffer]))
            return true;
    return false;
}

// Marks the tensors of which a call of an update's unit needs all, with rows and columns: a value is of the
// tensor that the first of its operands is of.
static void mark_call(const struct placing *p, const struct call *call, const struct loop *layers,
                      bool *whole) {
    const struct unit *unit = &p->program->job->units[call->unit];
    uint32_t *tensors = ARENA_ARRAY(p->arena, uint32_t, unit->n_values);
    memset(tensors, 0xff, unit->n_values * sizeof *tensors); // NO_ID
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        tensors[i] = p->program->buffers[call->operands[i].buffer].tensor;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        uint32_t of = NO_ID;
        for (unsigned k = 0; k < op->n_operands && of == NO_ID; k++)
            of = tensors[op->operands[k]];
        for (unsigned k = 0; k < op->n_results; k++)
            tensors[op->results[k]] = of;
        if (of != NO_ID && !op_works_on_shards(op))
            mark_tensor(p, layers, of, whole);
    }
}

static const bool *needed_whole(const struct placing *p) {
    size_t n = (size_t)p->placement->n_tensors * p->placement->n_ranges;
    bool *whole = ARENA_ARRAY(p->arena, bool, n);
    struct statement_walk walk = walk_statements(&p->program->steps[STEP_TRAIN].body);
    const struct call *call;
    while ((call = walk_next_call(&walk)))
        if (p->program->job->units[call->unit].phase == PHASE_UPDATE && updates_state(p, call))
            mark_call(p, call, walk_loop(&walk, 0), whole);
    return whole;
}

// Whether a state has fewer dimensions than the tensor, so that it may lack the one that is cut.
static bool has_sides(const struct placing *p, const struct tensor *tensor) {
    for (buffer_id id = 0; id < p->program->n_buffers; id++) {
        const struct buffer *buffer = &p->program->buffers[id];
        if (buffer_is_persistent(buffer) && &p->program->job->tensors[buffer->tensor] == tensor &&
            buffer->rank < tensor->rank)
            return true;
    }
    return false;
}

// What cannot be cut by a dimension yet.
static bool is_flat_only(const struct placing *p, const struct storage *storage,
                         const struct tensor *tensor) {
    return storage->along && has_sides(p, tensor);
}

static void report_shards(struct placing *p, const struct tensor *tensor, int64_t layer,
                          const struct placed_tensor *placed, unsigned axis) {
    const struct storage *storage = placed->storage;
    const char *name = axis_name(p, axis);
    const struct mode_statement *said = storage->modes[STATE_OPTIMIZER][axis];
    struct axis_list axes = {.n = 1, .axes = {(uint8_t)axis}};
    if (said) // all of its axes, in its order
        axes = effective_axes(p, &said->axes);
    const struct optimizer_rule *rule = optimizer_rule_of(&p->config->train, tensor, layer);
    const struct origin *origin = stored_origin(storage, STATE_OPTIMIZER, axis);
    struct diagnostic *d =
        report(p->diagnostics, E315, origin_span(origin),
               "`%s` needs whole matrices, but over `%s` each device updates a %s of `%s`",
               optimizer_names[rule->optimizer.kind], name, storage->along ? "part" : "flat shard",
               tensor_model_name(tensor));
    diagnostic_label(d, origin_span(&rule->origin), "the update mixes rows and columns");
    diagnostic_origin(d, origin);
    diagnostic_help(d, "gather at the update what it needs whole");
    if (is_flat_only(p, storage, tensor))
        propose_flat_extent(p, d, storage, STATE_OPTIMIZER, EXTENT_GATHERED, &axes);
    else
        propose_extent(p, d, storage, STATE_OPTIMIZER, EXTENT_GATHERED, &axes, said);
}

// The axes that cut the optimizer's states of a tensor, each by a statement.
static void check_shards(struct placing *p, const struct tensor *tensor, int64_t layer,
                         const struct placed_tensor *placed) {
    const struct storage *storage = placed->storage;
    const struct axis_list *shards = &storage->shards[STATE_OPTIMIZER];
    for (unsigned i = 0; i < shards->n; i++)
        if (stored_extent(storage, STATE_OPTIMIZER, shards->axes[i]) != EXTENT_GATHERED) {
            report_shards(p, tensor, layer, placed, shards->axes[i]);
            return;
        }
    if (is_flat_only(p, storage, tensor))
        propose_flat(p,
                     not_yet(p, stored_origin(storage, STATE_OPTIMIZER, shards->axes[0]),
                             "cutting by a dimension what has rows and columns of its own",
                             "leave `by` out: shards are then flat"),
                     CUT_DIMENSION);
}

// Is there a tensor for whose update the statement gathers?
static bool gathers(const struct placing *p, const struct mode_statement *mode, const bool *whole) {
    uint32_t n = p->placement->n_tensors;
    for (uint32_t i = 0; i < n * p->placement->n_ranges; i++)
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (whole[i] && p->placement->tensors[i].storage->modes[STATE_OPTIMIZER][axis] == mode)
                return true;
    return false;
}

static void check_gathered(struct placing *p, const struct mode_statement *mode,
                           const bool *whole) {
    if (mode->state != STATE_OPTIMIZER || mode->extent != EXTENT_GATHERED ||
        !decides_anything(p, mode) || gathers(p, mode, whole))
        return;
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "nothing of the optimizer is gathered");
    diagnostic_say(d, "the updates work on elements, so each device updates its shard");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "say `sharded`");
}

void check_whole(struct placing *p) {
    const bool *whole = needed_whole(p);
    uint32_t errors = p->diagnostics->n_errors, n = p->placement->n_tensors;
    for (uint32_t i = 0; i < n * p->placement->n_ranges && p->diagnostics->n_errors == errors; i++)
        if (p->placement->tensors[i].storage->by_tensor)
            continue; // its owner has it whole
        else if (whole[i])
            check_shards(p, &p->program->job->tensors[i % n], p->placement->ranges[i / n].begin,
                         &p->placement->tensors[i]);
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++)
        check_gathered(p, &p->config->strategy.modes[m], whole);
}
