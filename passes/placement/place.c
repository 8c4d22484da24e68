// place: where the work and the storage of every tensor lie.
//
// Splits give work: the axes that cut each dimension (placement/divide.c). Modes give storage: for
// every tensor, state and axis the statements that match are weighed: the longer selector wins,
// then the strategy's own text over what `use` or a `states` tuple brought; a tie is an error that
// shows both lines. What no statement says is replicated. The rules of composition stand in
// placement/rules.c: they explain more than a refutation of the program that would come out.
#include "passes/placement/place.h"

#include <string.h>

#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/pipeline/halves.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/reference/islands.h"
#include "passes/reference/select.h"

// ---- storage ----------------------------------------------------------------------------------

struct tie { // of a mode with another, which was told
    uint32_t other;
    const struct tie *next;
};

// Tensors of a range of which the same is said: they are stored alike.
struct group {
    uint32_t *spoken; // statements about one of their states, in ascending order
    uint32_t n_spoken;
    uint64_t cut, split; // axes that cut them, by their bits; those of which a split says so
    bool trained;
    bool layered;                   // there is one for each layer
    bool of_both_ends, taken_later; // as in their storage
    struct element_types types;
    uint64_t
        named; // by dimension, four bits: where in the tensors stands one that statements cut by
    const struct mode_statement *lives[N_STATES]; // where each state does
    uint32_t first;                               // tensor
    struct storage *storage;
};

// What the weighing needs to remember, so that every conflict is reported once.
struct weighing {
    struct placing *placing;
    const struct tie **ties;               // of a mode
    bool *reported;                        // of a mode: it places what a split cuts
    uint32_t *placed;                      // groups that a mode reached
    uint32_t *decided;                     // of these, those that are there and follow it
    const struct mode_statement **instead; // one that others follow
    // The same of where states live.
    uint32_t *housing, *housed;
    const struct mode_statement **elsewhere;
    uint32_t range;                // of the layers that are looked at
    const struct stretch *stretch; // the modes that may speak about them
    uint32_t *spoken;              // room for all modes
    struct group *groups;          // of this range
    uint32_t n_groups, cap_groups;
};

static struct placed_tensor *placed_here(const struct weighing *w, uint32_t t) {
    struct placement *placement = w->placing->placement;
    return &placement->tensors[w->range * placement->n_tensors + t];
}

static void report_tie_once(struct weighing *w, uint32_t first, uint32_t second, unsigned axis) {
    const struct strategy_config *strategy = &w->placing->config->strategy;
    for (const struct tie *tie = w->ties[first]; tie; tie = tie->next)
        if (tie->other == second)
            return;
    const struct tie told = {second, w->ties[first]};
    w->ties[first] = arena_copy(w->placing->arena, &told, sizeof told);
    report_tie(w->placing, &strategy->modes[first], &strategy->modes[second], axis);
}

// A mode with a selector that names a tensor which a split cuts on the axis already.
static void report_cut(struct weighing *w, uint32_t m, const struct tensor *tensor,
                       const struct split_statement *split, unsigned axis) {
    struct placing *p = w->placing;
    const struct mode_statement *mode = &p->config->strategy.modes[m];
    if (w->reported[m])
        return;
    w->reported[m] = true;
    const char *name = p->config->mesh.axes[axis].name;
    struct diagnostic *d =
        report(p->diagnostics, E304, origin_span(&mode->origin),
               "`%s` is cut over `%s` already, by a split", tensor_model_name(tensor), name);
    diagnostic_say(d, "a mode places what the splits leave whole");
    diagnostic_label(d, origin_span(&split->origin), "this cuts its work over `%s`", name);
    diagnostic_origin(d, &mode->origin);
    if (mode->origin.kind == ORIGIN_USE)
        diagnostic_help(d, "leave the `use` out, or limit it to other tensors");
    else
        diagnostic_help(d, "leave `%s` out of this mode, or select other tensors", name);
    struct axis_list cut = {.axes = {(uint8_t)axis}, .n = 1};
    struct axis_list left = axis_list_without(&mode->axes, &cut);
    propose_axes(p, d, mode, &left);
}

// `replicated` without axes is said of all of them.
static bool names_axis(const struct mode_statement *mode, unsigned axis) {
    return mode->axes.n ? axis_list_has(&mode->axes, axis) : mode->extent == EXTENT_REPLICATED;
}

// What is frozen has parameters only.
static bool has_state(const struct group *group, enum state state) {
    return state == STATE_PARAMETERS || group->trained;
}

// Does mode `m`, which speaks of the group, say how this state is kept on this axis?
static bool applies(struct weighing *w, uint32_t m, enum state state, const struct group *group,
                    unsigned axis) {
    struct placing *p = w->placing;
    const struct mode_statement *mode = &p->config->strategy.modes[m];
    if (mode->state != state || !names_axis(mode, axis))
        return false;
    w->placed[m]++;
    bool split = group->split >> axis & 1;
    if (split && mode->selector.n_roles > 0 && mode->axes.n && has_state(group, state))
        report_cut(w, m, &p->program->job->tensors[group->first],
                   placed_here(w, group->first)->cut_by[axis], axis);
    return !split;
}

static void count_decided(struct weighing *w, enum state state, const struct group *group,
                          unsigned axis, uint32_t winner) {
    const struct strategy_config *strategy = &w->placing->config->strategy;
    w->decided[winner]++;
    for (uint32_t i = 0; i < group->n_spoken; i++) {
        uint32_t m = group->spoken[i];
        if (m != winner && !w->instead[m] && applies(w, m, state, group, axis))
            w->instead[m] = &strategy->modes[winner];
    }
}

// The statement that decides about one state of a group on one axis.
static void weigh(struct weighing *w, enum state state, const struct group *group, unsigned axis) {
    const struct strategy_config *strategy = &w->placing->config->strategy;
    int winner = -1, rival = -1; // rival: another one of the winner's rank
    for (uint32_t i = 0; i < group->n_spoken; i++) {
        uint32_t m = group->spoken[i];
        if (!applies(w, m, state, group, axis))
            continue;
        int rank =
            winner < 0 ? 1 : compare_statements(&strategy->modes[m], &strategy->modes[winner]);
        if (winner >= 0 && is_tie(&strategy->modes[m], &strategy->modes[winner]))
            rival = (int)m;
        if (rank > 0) {
            winner = (int)m;
            rival = -1;
        }
    }
    if (rival >= 0)
        report_tie_once(w, (uint32_t)winner, (uint32_t)rival, axis);
    if (winner < 0 || !has_state(group, state))
        return;
    if (!w->placing->work_is_right)
        count_decided(w, state, group, axis, (uint32_t)winner);
    group->storage->modes[state][axis] = &strategy->modes[winner];
}

// The axes on which a state is cut: those that one statement places in the order of its product,
// statements in the order of the mesh, each at its outermost axis.
static struct axis_list shard_axes(const struct placing *p, const struct storage *storage,
                                   enum state state) {
    const struct mode_statement *const *modes = storage->modes[state];
    struct axis_list list = {0};
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++) {
        if (stored_extent(storage, state, axis) == EXTENT_REPLICATED)
            continue;
        for (unsigned i = 0; i < modes[axis]->axes.n; i++)
            if (modes[modes[axis]->axes.axes[i]] == modes[axis])
                axis_list_add(&list, modes[axis]->axes.axes[i]);
    }
    return list;
}

// A part over axes of size one, and over those of the model that cut the tensor, is the whole that
// a device gathers; one over all axes of the parameter is what is stored.
static void place_kept(const struct placing *p, struct storage *storage,
                       const struct mode_statement *mode) {
    struct axis_list kept = effective_axes(p, &mode->kept_axes);
    if (!mode->keeps_part)
        return;
    kept = axis_list_within(&kept, &storage->shards[STATE_PARAMETERS]);
    storage->kept_after_forward = kept.n == 0;
    if (axis_list_mask(&kept) != axis_list_mask(&storage->shards[STATE_PARAMETERS]))
        storage->kept_shards = kept;
}

// What is made of a master copy is so where that is copied to. A gradient that the update takes at once
// goes to it from backward.
static void place_copies(struct storage *storage) {
    enum state used = makes_parameters(storage) ? STATE_OPTIMIZER : STATE_PARAMETERS;
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
        const struct mode_statement *mode = copied_for(storage, state);
        bool copied = mode && mode->residency == RESIDENCY_OFFLOADED &&
                      !(state == STATE_GRADIENTS && consumes_gradients(storage));
        storage->copied_layers[state] = copied ? layers_of_unit(mode) : 1;
    }
    if (stored_tier(storage, used) != TIER_DEVICE &&
        storage->copied_layers[used] > storage->gather_layers)
        storage->gather_layers = storage->copied_layers[used];
}

// Options come from the statements that gave the extents; without one, the defaults.
static void place_options(const struct placing *p, struct storage *storage) {
    storage->gather_unit = UNIT_LAYER;
    storage->gather_layers = 1;
    storage->prefetch = 1;
    storage->bucket_bytes = LIMIT_BUCKET_BYTES;
    bool bucket_said = false;
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++) {
        const struct mode_statement *parameters = storage->modes[STATE_PARAMETERS][axis];
        if (parameters && parameters->extent == EXTENT_GATHERED) {
            storage->gather_unit = parameters->unit;
            storage->gather_layers = layers_of_unit(parameters);
            storage->prefetch = parameters->prefetch;
            storage->kept_after_forward = parameters->kept_after_forward;
            storage->kept_after_backward = parameters->kept_after_backward;
            place_kept(p, storage, parameters);
        }
        const struct mode_statement *gradients = storage->modes[STATE_GRADIENTS][axis];
        if (gradients && gradients->extent == EXTENT_REPLICATED && gradients->reduce == REDUCE_EACH)
            axis_list_add(&storage->reduced_each, axis);
        // The smallest holds of several that were said.
        int64_t bucket = gradients ? gradients->bucket_bytes : 0;
        if (bucket && (!bucket_said || bucket < storage->bucket_bytes))
            storage->bucket_bytes = bucket;
        bucket_said |= bucket != 0;
    }
    place_copies(storage);
}

// Activations have no tensors: placement/divide.c places them, op by op.
static void place_group(struct weighing *w, const struct group *group) {
    struct placing *p = w->placing;
    struct storage *storage = group->storage;
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (axis_size(p, axis) > 1)
                weigh(w, state, group, axis);
        storage->shards[state] = shard_axes(p, storage, state);
    }
    if (makes_parameters(storage))
        storage->shards[STATE_PARAMETERS] = storage->shards[STATE_OPTIMIZER];
    if (!group->trained) // so that the finest shards are the optimizer's here, too
        storage->shards[STATE_OPTIMIZER] = storage->shards[STATE_PARAMETERS];
    place_along(p, storage, group->first);
    place_options(p, storage);
    order_shards(p, storage);
    place_owners(storage, group->layered);
    place_wire(p, storage);
}

// ---- tensors of which the same is said --------------------------------------------------------

static bool speaks_of(const struct weighing *w, uint32_t m, const struct tensor *tensor) {
    const struct placing *p = w->placing;
    const struct mode_statement *mode = &p->config->strategy.modes[m];
    return mode->state != STATE_ACTIVATIONS && mode->sets_extent &&
           selector_matches(&mode->selector, tensor->roles, tensor->n_roles) &&
           selector_covers(&mode->selector, p->placement->ranges[w->range].begin);
}

static uint64_t cut_axes(const struct placed_tensor *placed) {
    uint64_t axes = 0;
    for (unsigned d = 0; d < MAX_RANK; d++)
        axes |= axis_list_mask(&placed->cuts[d]);
    return axes;
}

static uint64_t split_axes(const struct placing *p, const struct placed_tensor *placed) {
    uint64_t axes = 0;
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        axes |= (uint64_t)(placed->cut_by[axis] != NULL) << axis;
    return axes;
}

// Whether units write a gradient in the type in which it is reduced: an op rounds what it makes to
// whatever type, but computes in fp64 if any of it is fp64; and what loses other digits in that type
// than where it is kept is rounded to the latter first.
static bool writes_reduced(const struct placing *p, uint32_t t, struct element_types types) {
    bool doubles = types.gradients == DTYPE_F64 || types.reduced == DTYPE_F64;
    bool nested =
        dtype_holds(types.gradients, types.reduced) || dtype_holds(types.reduced, types.gradients);
    return types.gradients == types.reduced || (!doubles && nested && !has_several_terms(p, t));
}

static struct element_types types_of(const struct placing *p, uint32_t t) {
    const struct job *job = p->program->job;
    const struct tensor *tensor = &job->tensors[t];
    struct element_types types = {.gradients = tensor_reduce(job, tensor),
                                  .gathered = tensor_gather(job, tensor),
                                  .reduced = tensor_reduce(job, tensor)};
    for (uint32_t b = 0; b < p->program->n_buffers; b++) {
        const struct buffer *buffer = &p->program->buffers[b];
        if (buffer->tensor == t && buffer->class == CLASS_PARAMETERS)
            types.parameters = buffer->dtype;
        if (buffer->tensor == t && buffer->class == CLASS_MASTER)
            types.master = buffer->dtype;
        if (buffer->tensor == t && buffer->class == CLASS_GRADIENTS)
            types.gradients = buffer->dtype;
    }
    types.written = writes_reduced(p, t, types) ? types.reduced : types.gradients;
    return types;
}

_Static_assert(N_DIMENSIONS <= 16 && MAX_RANK < 16, "four bits for each");
static uint64_t named_dimension(const struct weighing *w, uint32_t m, const struct tensor *tensor) {
    const struct mode_statement *mode = &w->placing->config->strategy.modes[m];
    return (uint64_t)dimension_along(mode, tensor) << (4 * mode->by_dimension);
}

// Where sums have an order, or a code is of the sum, what two stages give to one gradient is added first.
static bool has_both_ends(const struct placing *p, uint32_t t) {
    return (p->placement->ordered || p->placement->wire_axes.n) &&
           p->placement->pipeline.n_stages > 1 && has_several_terms(p, t);
}

// Where backward is in two parts, whether the first makes the gradient and the second others of its unit: their
// update stands behind both.
static bool is_taken_later(const struct placing *p, uint32_t t) {
    const struct schedule *schedule = p->placement->pipeline.schedule;
    struct statement_walk walk = walk_statements(&p->program->steps[STEP_TRAIN].body);
    if (!schedule || !schedule->splits_backward)
        return false;
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &p->program->job->units[call->unit];
        for (uint32_t i = 0; i < unit->n_results && unit->phase == PHASE_BACKWARD; i++) {
            const struct buffer *buffer = &p->program->buffers[call->results[i].buffer];
            const struct op *made_by = unit_producer(unit, unit->results[i].value);
            uint32_t n_weights;
            if (buffer->class == CLASS_GRADIENTS && buffer->tensor == t &&
                halves_of(p->arena, p->program, call, &n_weights)[made_by - unit->ops] ==
                    OF_INPUTS &&
                n_weights > 0)
                return true;
        }
    }
    return false;
}

// What is said of a tensor, in the room for all modes.
static struct group group_of(const struct weighing *w, uint32_t t) {
    const struct tensor *tensor = &w->placing->program->job->tensors[t];
    const struct placed_tensor *placed = placed_here(w, t);
    struct group group = {.spoken = w->spoken,
                          .cut = cut_axes(placed),
                          .split = split_axes(w->placing, placed),
                          .trained = tensor->trainable,
                          .layered = tensor->layers > 0,
                          .of_both_ends = has_both_ends(w->placing, t),
                          .types = types_of(w->placing, t),
                          .first = t};
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        if (has_state(&group, state))
            group.lives[state] =
                residency_of(&w->placing->modes, state, tensor->roles, tensor->n_roles,
                             w->placing->placement->ranges[w->range].begin);
    const struct mode_statement *kept = group.lives[STATE_GRADIENTS];
    group.taken_later =
        kept && kept->residency == RESIDENCY_MATERIALIZED && is_taken_later(w->placing, t);
    for (uint32_t i = 0; i < w->stretch->n; i++)
        if (speaks_of(w, w->stretch->numbers[i], tensor)) {
            group.named |= named_dimension(w, w->stretch->numbers[i], tensor);
            group.spoken[group.n_spoken++] = w->stretch->numbers[i];
        }
    return group;
}

// What statements say of where the tensor's states live, in the range that is looked at.
static void note_homes(struct weighing *w, const struct tensor *tensor, const struct group *group) {
    const struct placing *p = w->placing;
    for (uint32_t i = 0; i < w->stretch->n; i++) {
        uint32_t m = w->stretch->numbers[i];
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        if (!mode->sets_residency || mode->state == STATE_ACTIVATIONS ||
            !selector_matches(&mode->selector, tensor->roles, tensor->n_roles) ||
            !selector_covers(&mode->selector, p->placement->ranges[w->range].begin))
            continue;
        w->housing[m]++;
        w->housed[m] += group->lives[mode->state] == mode;
        if (group->lives[mode->state] && group->lives[mode->state] != mode)
            w->elsewhere[m] = group->lives[mode->state];
    }
}

static bool says_by_tensor(const struct weighing *w, const struct group *group) {
    for (uint32_t i = 0; i < group->n_spoken; i++)
        if (w->placing->config->strategy.modes[group->spoken[i]].by == CUT_TENSOR)
            return true;
    return false;
}

static bool is_taken_by_layer(const struct storage *storage) {
    bool by_layer = storage->gather_layers == 1;
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        by_layer &= storage->copied_layers[state] == 1;
    return by_layer;
}

// What is gathered or copied several layers at once is only what layers have (bound_layers), and so is
// what has owners.
static bool is_stored_so(const struct weighing *w, const struct group *group,
                         const struct group *other) {
    return group->n_spoken == other->n_spoken && group->cut == other->cut &&
           group->split == other->split && group->trained == other->trained &&
           group->named == other->named && group->of_both_ends == other->of_both_ends &&
           group->taken_later == other->taken_later &&
           (group->layered == other->layered ||
            (is_taken_by_layer(group->storage) && !says_by_tensor(w, group))) &&
           memcmp(&group->types, &other->types, sizeof group->types) == 0 &&
           memcmp(group->lives, other->lives, sizeof group->lives) == 0 &&
           memcmp(group->spoken, other->spoken, group->n_spoken * sizeof *group->spoken) == 0;
}

static struct storage *place_tensor(struct weighing *w, uint32_t t) {
    struct arena *arena = w->placing->arena;
    struct group group = group_of(w, t);
    note_homes(w, &w->placing->program->job->tensors[t], &group);
    for (uint32_t i = 0; i < w->n_groups; i++)
        if (is_stored_so(w, &w->groups[i], &group))
            return w->groups[i].storage;
    group.spoken = arena_copy(arena, group.spoken, group.n_spoken * sizeof *group.spoken);
    group.storage = ARENA_NEW(arena, struct storage);
    *group.storage = (struct storage){.number = NO_ID,
                                      .trained = group.trained,
                                      .cut = group.cut,
                                      .of_both_ends = group.of_both_ends,
                                      .taken_later = group.taken_later,
                                      .types = group.types};
    memcpy(group.storage->lives, group.lives, sizeof group.lives);
    ARENA_PUSH(arena, w->groups, w->n_groups, w->cap_groups, group);
    place_group(w, &group);
    return group.storage;
}

// A mode that reached no tensor says something about nothing; of one that others overrule wherever
// it reaches, it is told if all else is well and the own text of the strategy says it.
static void check_reach(struct weighing *w, bool well) {
    struct placing *p = w->placing;
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        if (mode->state == STATE_ACTIVATIONS || !mode->sets_extent ||
            effective_axes(p, &mode->axes).n == 0)
            continue;
        if (!w->placed[m])
            report_selects_nothing(p, mode, "no tensor of");
        else if (!w->decided[m] && mode->own_text && well)
            report_decides_nothing(p, mode, w->instead[m]);
    }
}

// What says that a state is stored as it is anyway is true.
static void check_homes(struct weighing *w) {
    struct placing *p = w->placing;
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        if (mode->residency != RESIDENCY_STORED && mode->own_text && w->housing[m] && !w->housed[m])
            report_decides_nothing(p, mode, w->elsewhere[m]);
    }
}

static void place_storage(struct placing *p) {
    uint32_t n = p->config->strategy.n_modes, errors = p->diagnostics->n_errors;
    struct weighing w = {.placing = p,
                         .ties = ARENA_ARRAY(p->arena, const struct tie *, n + 1),
                         .reported = ARENA_ARRAY(p->arena, bool, n + 1),
                         .placed = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .decided = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .instead = ARENA_ARRAY(p->arena, const struct mode_statement *, n + 1),
                         .housing = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .housed = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .elsewhere = ARENA_ARRAY(p->arena, const struct mode_statement *, n + 1),
                         .spoken = ARENA_ARRAY(p->arena, uint32_t, n + 1)};
    for (w.range = 0; w.range < p->placement->n_ranges; w.range++) {
        w.stretch = stretch_at(&p->modes.index, p->placement->ranges[w.range].begin);
        w.n_groups = 0;
        for (uint32_t t = 0; t < p->program->job->n_tensors; t++)
            if (placement_has(p->placement, p->program->job, w.range * p->placement->n_tensors + t))
                placed_here(&w, t)->storage = place_tensor(&w, t);
    }
    settle_ranges(p);
    check_reach(&w, p->diagnostics->n_errors == errors && !p->work_is_right);
    if (p->diagnostics->n_errors == errors && !p->work_is_right)
        check_homes(&w);
}

static bool check_microbatches(struct placing *p) {
    const struct train_config *train = &p->config->train;
    int64_t most = train->reproducible ? LIMIT_REPRODUCIBLE_MICROBATCHES : LIMIT_MICROBATCHES;
    if (p->placement->microbatches <= most)
        return true;
    struct diagnostic *d = report(p->diagnostics, E107, origin_span(&train->batch_origin),
                                  "a step of %lld microbatches; at most %d can be compiled%s",
                                  (long long)p->placement->microbatches, (int)most,
                                  train->reproducible ? " where training is `reproducible`" : "");
    diagnostic_help(d, "raise train.microbatch or lower train.batch");
    return false;
}

static int64_t elements_of(const struct tensor *tensor) {
    int64_t elements = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i].size;
    return elements;
}

// Bins may be full beyond it, and what is summed last is rounded.
static bool check_squares(struct placing *p) {
    const struct train_config *train = &p->config->train;
    const int64_t most = LIMIT_SQUARES;
    for (uint32_t t = 0; t < p->program->job->n_tensors && train->reproducible; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        if (elements_of(tensor) <= most)
            continue;
        struct diagnostic *d =
            report(p->diagnostics, E107, origin_span(&train->reproducible_origin),
                   "%s has %lld elements; the squares of at most %lld can be summed where training "
                   "is `reproducible`",
                   tensor_model_name(tensor), (long long)elements_of(tensor), (long long)most);
        diagnostic_help(d, "leave out `reproducible`");
        return false;
    }
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

// What statements say of work, before layers are told apart.
static void check_work(struct placing *p) {
    if (!p->work_is_right)
        check_splits(p);
    check_modes(p);
    check_islands(p);
}

// What sizes say of it, once they are.
static void check_divided(struct placing *p) {
    if (p->work_is_right)
        return;
    check_microbatch_splits(p);
    check_sizes(p);
    check_pipeline(p);
}

// What codes lack of a gradient is a state that a step which is skipped would have to leave as it was,
// though codes are sent before that is known, and it is of the loss's scale in that step.
static void check_loss_scale(struct placing *p) {
    const struct loss_scale_config *scale = &p->config->train.loss_scale;
    if (scale->initial != 0 && p->placement->wire_axes.n)
        not_yet(p, &scale->origin, "a loss scale beside compressed gradients",
                "leave out one of both");
}

static bool derive(struct placing *p) {
    static void (*const checks[])(struct placing *) = {
        check_states,     check_owners,        check_along, check_whole, check_residencies,
        check_offloading, check_island_states, check_wires, check_order, check_gathers};
    const struct diagnostics *diagnostics = p->diagnostics;
    uint32_t errors = diagnostics->n_errors;
    p->placement->islands = islands_of(p->config);
    p->placement->ordered = p->config->train.reproducible > 0;
    make_rules(p);
    find_ring(p);
    check_work(p);
    find_wire(p);
    find_pipeline(p);
    check_loss_scale(p);
    if (diagnostics->n_errors == errors && !p->work_is_right)
        check_ring(p); // of what has a meaning: what is not compiled yet
    if (diagnostics->n_errors > errors)
        return false; // what follows would only repeat it
    find_ranges(p);
    place_work(p);
    check_divided(p);
    place_storage(p);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (diagnostics->n_errors == errors)
            checks[i](p);
    return diagnostics->n_errors == errors;
}

bool placement_derive(const struct config *config, const struct program *program,
                      struct arena *arena, struct diagnostics *diagnostics, struct placement *out) {
    *out = (struct placement){0};
    struct placing p = {.config = config,
                        .program = program,
                        .arena = arena,
                        .diagnostics = diagnostics,
                        .placement = out,
                        .modes = modes_by_layer(arena, &config->strategy)};
    if (!derive(&p))
        return false;
    check_heard(&p);
    return check_microbatches(&p) && check_squares(&p);
}

bool placement_derive_storage(const struct config *config, const struct program *program,
                              struct arena *arena, struct diagnostics *diagnostics,
                              struct placement *out) {
    *out = (struct placement){0};
    struct placing p = {.config = config,
                        .program = program,
                        .arena = arena,
                        .diagnostics = diagnostics,
                        .placement = out,
                        .modes = modes_by_layer(arena, &config->strategy),
                        .work_is_right = true};
    return derive(&p);
}

bool placement_for(const struct program *program, const struct pass_context *context,
                   struct placement *out) {
    const struct placement *made = context->placement;
    if (made && made->tensors) {
        *out = *made;
        return true;
    }
    bool placed =
        placement_derive(context->config, program, program->arena, context->diagnostics, out);
    if (placed && context->placement)
        *context->placement = *out;
    return placed;
}

bool place(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct placement placement;
    return placement_for(program, context, &placement);
}
