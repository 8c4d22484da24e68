// place, offloading: what is kept on the host or on disk, and is not compiled yet together with what.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"
#include "passes/reference/select.h"

static bool is_offloaded(const struct storage *storage, enum state state) {
    return stored_tier(storage, state) != TIER_DEVICE;
}

// No call adds what is on disk to the levels of a counter.
static void check_gradients(struct placing *p, const struct storage *storage) {
    if (stored_tier(storage, STATE_GRADIENTS) == TIER_DISK && p->placement->microbatches > 1 &&
        p->placement->ordered)
        not_yet(p, &storage->lives[STATE_GRADIENTS]->origin,
                "offloading gradients of several microbatches to disk where training is "
                "`reproducible`",
                "keep them on the host, `to = host`");
}

// Islands average on the device, a master copy where it lies.
static void check_averaged(struct placing *p, const struct storage *storage) {
    bool has_master = storage->types.master != DTYPE_NONE;
    if (p->placement->islands.n && storage->trained && has_master &&
        is_offloaded(storage, STATE_OPTIMIZER))
        not_yet(p, &storage->lives[STATE_OPTIMIZER]->origin,
                "averaging parameters by a master copy that is offloaded",
                "keep the optimizer's states `stored`");
}

// Whether the update of a tensor in a range of layers adds up over shards of which the last is padded.
static bool adds_up_padding(const struct placing *p, const struct tensor *tensor,
                            const struct placed_tensor *placed, int64_t layer) {
    const struct storage *storage = placed->storage;
    const struct axis_list *shards = &storage->shards[STATE_OPTIMIZER];
    const struct optimizer_rule *rule = optimizer_rule_of(&p->config->train, tensor, layer);
    bool adds_up =
        rule->optimizer.kind == OPTIMIZER_ADAFACTOR || rule->optimizer.kind == OPTIMIZER_MUON;
    bool is_flat = shards->n > 0 && !storage->along && !storage->by_tensor;
    return adds_up && is_flat &&
           divided_elements(p, tensor, placed) % mesh_group_size(&p->config->mesh, shards) != 0;
}

// What is gathered behind an update, to be copied out, has anything behind its elements, and the next update's
// shards lie in that.
static void check_padding(struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct placed_tensor *placed = &placement->tensors[i];
        const struct storage *storage = placed->storage;
        const struct tensor *tensor = &p->program->job->tensors[i % placement->n_tensors];
        if (!placement_has(placement, p->program->job, i) || !storage->trained ||
            !is_offloaded(storage, STATE_PARAMETERS) ||
            axis_list_equal(&storage->shards[STATE_PARAMETERS],
                            &storage->shards[STATE_OPTIMIZER]) ||
            !adds_up_padding(p, tensor, placed, placement->ranges[i / placement->n_tensors].begin))
            continue;
        not_yet(p, &storage->lives[STATE_PARAMETERS]->origin,
                arena_format(p->arena,
                             "offloading `%s`, whose update adds up shards that are padded,",
                             tensor_model_name(tensor)),
                "cut the parameters as their optimizer's states, by `gathered`, or keep them "
                "`stored`");
        return;
    }
}

// What comes in for a layer does so together: as far ahead as all of it asks for.
static void check_activations(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    p->placement->activations_prefetch = INT64_MAX;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state != STATE_ACTIVATIONS || mode->residency != RESIDENCY_OFFLOADED)
            continue;
        if (mode->prefetch < p->placement->activations_prefetch)
            p->placement->activations_prefetch = mode->prefetch;
    }
}

// How operand `i` of a call is stored in a range, if it is a gradient that the update or the norm reads;
// else NULL.
static struct storage *read_gradient(const struct placing *p, const struct call *call, uint32_t i,
                                     uint32_t range) {
    const struct buffer *buffer = &p->program->buffers[call->operands[i].buffer];
    bool later = p->program->job->units[call->unit].phase == PHASE_UPDATE;
    return later && buffer->class == CLASS_GRADIENTS
               ? p->placement->tensors[range * p->placement->n_tensors + buffer->tensor].storage
               : NULL;
}

// One unit takes the norm of a layer's gradients: on the host if all of them are there. Devices sum what
// is in bins, and no call reads a disk. Whether any has moved.
static bool bring_to_norm(const struct placing *p, const struct call *call, uint32_t range) {
    uint32_t n = p->program->job->units[call->unit].n_parameters;
    bool on_device = false, moved = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct storage *storage = read_gradient(p, call, i, range);
        on_device |= storage && storage->norm_tier == TIER_DEVICE;
    }
    for (uint32_t i = 0; i < n && on_device; i++) {
        struct storage *storage = read_gradient(p, call, i, range);
        if (!storage || storage->norm_tier == TIER_DEVICE)
            continue;
        storage->norm_tier = TIER_DEVICE;
        moved = true;
    }
    return moved;
}

static void find_norm_tiers(const struct placing *p) {
    for (uint32_t i = 0; i < p->placement->n_storages; i++) {
        struct storage *storage = p->placement->storages[i];
        bool host = stored_tier(storage, STATE_GRADIENTS) == TIER_HOST && !p->placement->ordered;
        storage->norm_tier = host ? TIER_HOST : TIER_DEVICE;
    }
    for (bool moved = true; moved;) {
        struct statement_walk walk = walk_statements(&p->program->steps[STEP_TRAIN].body);
        const struct call *call;
        moved = false;
        while ((call = walk_next_call(&walk)))
            for (uint32_t range = 0; range < p->placement->n_ranges; range++)
                moved |= bring_to_norm(p, call, range);
    }
}

void check_offloading(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    find_norm_tiers(p);
    for (uint32_t i = 0; i < p->placement->n_storages; i++) {
        const struct storage *storage = p->placement->storages[i];
        if (p->diagnostics->n_errors == errors)
            check_gradients(p, storage);
        if (p->diagnostics->n_errors == errors)
            check_averaged(p, storage);
    }
    if (p->diagnostics->n_errors == errors)
        check_padding(p);
    if (p->diagnostics->n_errors == errors)
        check_activations(p);
}
