// place, owners: states that are cut by whole tensors (`by tensor`). Of the tensors that layers have,
// each layer's is one device's; of what the model has once there would be no more than one owner, so it
// is cut flat. All states of a tensor that are cut lie at the same owner.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"

// The statement that cuts a state over one of its axes by tensor, or says that it is cut in another
// way; NULL: none does. What says no way is cut as the tensor's other states are.
static const struct mode_statement *cut_so(const struct storage *storage, enum state state,
                                           bool by_tensor) {
    const struct axis_list *shards = &storage->shards[state];
    for (unsigned i = 0; i < shards->n; i++) {
        const struct mode_statement *mode = storage->modes[state][shards->axes[i]];
        if (mode && mode->by_span.source != NO_SOURCE && (mode->by == CUT_TENSOR) == by_tensor)
            return mode;
    }
    return NULL;
}

void place_owners(struct storage *storage, bool layered) {
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        storage->by_tensor |= layered && cut_so(storage, state, true) != NULL;
}

// ---- rules ------------------------------------------------------------------------------------

static const struct mode_statement *first_by_tensor(const struct storage *storage) {
    const struct mode_statement *found = NULL;
    for (enum state state = 0; state < STATE_ACTIVATIONS && !found; state++)
        found = cut_so(storage, state, true);
    return found;
}

// All states that lie elsewhere at once: with one of them mended the next would be refused.
static void propose_same_owners(struct placing *p, struct diagnostic *d,
                                const struct storage *storage) {
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
        const struct axis_list *axes = &storage->shards[state];
        const struct mode_statement *other = cut_so(storage, state, false);
        if (other)
            diagnostic_edit(d, other->by_span, "tensor");
        if (axes->n && !axis_list_equal(axes, owners))
            diagnostic_edit(d, storage->modes[state][axes->axes[0]]->axes_span, "%s",
                            axes_text(p, owners));
    }
}

// A state of which a device has a part, or the whole of some layers over fewer axes, of a tensor whose
// others lie whole at owners.
static void report_other_cut(struct placing *p, const struct storage *storage, enum state state,
                             const struct mode_statement *other) {
    const struct mode_statement *mode = first_by_tensor(storage);
    const struct tensor *tensor =
        &p->program->job->tensors[storage->first % p->placement->n_tensors];
    const struct axis_list *axes = &storage->shards[state];
    const struct mode_statement *at = other     ? other
                                      : axes->n ? storage->modes[state][axes->axes[0]]
                                                : mode;
    struct diagnostic *d =
        report(p->diagnostics, E317, origin_span(&at->origin),
               "the %s of `%s` and its other states do not lie at the same owners",
               state_names[state], tensor_model_name(tensor));
    diagnostic_say(d, other ? "this cuts each tensor by `%s`" : "these owners are over other axes",
                   other ? mode_by_text(other) : "");
    if (at != mode)
        diagnostic_label(d, origin_span(&mode->origin), "this gives each tensor an owner");
    diagnostic_origin(d, &at->origin);
    diagnostic_help(d,
                    "cut all of its states that are cut `by tensor`, over the same axes, or none");
    propose_same_owners(p, d, storage);
}

static bool check_alike(struct placing *p, const struct storage *storage) {
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
        const struct mode_statement *flat = cut_so(storage, state, false);
        bool same =
            storage->shards[state].n == 0 || axis_list_equal(&storage->shards[state], owners);
        if (!flat && same)
            continue;
        report_other_cut(p, storage, state, flat);
        return false;
    }
    return true;
}

// Whether gradients would have to be summed over other axes of the batch than the owners' where their owner
// has added up microbatches, alone or in front of the next, or has them from elsewhere.
static bool sums_between_owners(const struct placing *p, const struct storage *storage) {
    struct axis_list rest =
        axis_list_without(&p->placement->tokens, &storage->shards[STATE_OPTIMIZER]);
    uint64_t copies = axis_list_mask(&rest) & ~storage->cut;
    bool cast = storage->types.gradients != storage->types.reduced;
    bool away = stored_tier(storage, STATE_GRADIENTS) != TIER_DEVICE;
    bool each = storage->scattered_each.n &&
                (cast || away || axis_list_mask(&storage->reduced_each) & copies);
    return copies && (storage->shards[STATE_GRADIENTS].n || each);
}

// What is not compiled together with owners yet, however parameters are kept; NULL: nothing.
static const char *missing_beside(const struct placing *p, const struct storage *storage) {
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    struct axis_list model = axis_list_without(owners, &p->placement->tokens);
    if (model.n && storage->shards[STATE_GRADIENTS].n)
        return "of gradients over axes of the model";
    if (model.n && storage->scattered_each.n)
        return "over axes of the model, beside gradients that go to owners in each microbatch,";
    if (model.n && p->placement->ordered)
        return "over axes of the model, where training is `reproducible`,";
    if (sums_between_owners(p, storage))
        return "over some of the axes that split the batch, beside gradients that go to owners in "
               "each microbatch,";
    return storage->wire.n ? "of gradients that travel compressed" : NULL;
}

static const char *missing_with(const struct placing *p, const struct storage *storage) {
    const char *missing = missing_beside(p, storage);
    bool at_owners = storage->shards[STATE_PARAMETERS].n > 0;
    if (missing)
        return missing;
    if (p->placement->islands.n && storage->types.master != DTYPE_NONE)
        return "of a master copy that islands average";
    if (p->placement->islands.n && at_owners)
        return "of parameters that islands average";
    if (p->placement->islands.n && stored_tier(storage, STATE_PARAMETERS) != TIER_DEVICE)
        return "of offloaded parameters that islands average";
    return at_owners && storage->kept_shards.n ? "of parameters of which a part is kept" : NULL;
}

static void check_storage(struct placing *p, const struct storage *storage) {
    const struct mode_statement *mode = first_by_tensor(storage);
    const char *missing = NULL;
    if (check_alike(p, storage))
        missing = missing_with(p, storage);
    if (missing)
        propose_flat(p,
                     not_yet(p, &mode->origin,
                             arena_format(p->arena, "cutting by whole tensors %s", missing),
                             "leave `by tensor` out: each tensor is cut flat"),
                     CUT_TENSOR);
}

// Is there a tensor of layers that the statement cuts so?
static bool gives_owners(const struct placing *p, const struct mode_statement *mode) {
    for (uint32_t i = 0; i < p->placement->n_storages; i++)
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (p->placement->storages[i]->by_tensor &&
                p->placement->storages[i]->modes[mode->state][axis] == mode)
                return true;
    return false;
}

static void check_heard_of(struct placing *p, const struct mode_statement *mode) {
    if (mode->by != CUT_TENSOR || mode->state == STATE_ACTIVATIONS || !decides_anything(p, mode) ||
        gives_owners(p, mode))
        return;
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "no tensor has an owner: the model has each of these once");
    diagnostic_say(d, "each is cut flat, since one owner would hold all that it is to save");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `by tensor` out, or select tensors of layers");
}

void check_owners(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t i = 0; i < p->placement->n_storages && p->diagnostics->n_errors == errors; i++)
        if (p->placement->storages[i]->by_tensor)
            check_storage(p, p->placement->storages[i]);
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++)
        if (p->diagnostics->n_errors == errors)
            check_heard_of(p, &p->config->strategy.modes[m]);
}
