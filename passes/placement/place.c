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
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/reference/islands.h"
#include "passes/reference/select.h"

// ---- storage ----------------------------------------------------------------------------------

struct tie { // of a mode with another, which was told
    uint32_t other;
    const struct tie *next;
};

// What the weighing needs to remember, so that every conflict is reported once.
struct weighing {
    struct placing *placing;
    const struct tie **ties;               // of a mode
    bool *reported;                        // of a mode: it places what a split cuts
    uint32_t *placed;                      // tensors that a mode reached
    uint32_t *decided;                     // of these, those that are there and follow it
    const struct mode_statement **instead; // one that others follow
    uint32_t range;                        // of the layers that are looked at
    const struct stretch *stretch;         // the modes that may speak about them
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
    struct diagnostic *d = report(p->diagnostics, E304, origin_span(&mode->origin),
                                  "`%s` is cut over `%s` already, by a split", tensor->name, name);
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

// Does mode `m` speak about this tensor's state on this axis?
static bool applies(struct weighing *w, uint32_t m, enum state state, uint32_t t, unsigned axis) {
    struct placing *p = w->placing;
    const struct mode_statement *mode = &p->config->strategy.modes[m];
    const struct tensor *tensor = &p->program->job->tensors[t];
    if (mode->state != state || !mode->sets_extent || !names_axis(mode, axis) ||
        !selector_matches(&mode->selector, tensor->roles, tensor->n_roles) ||
        !selector_covers(&mode->selector, p->placement->ranges[w->range].begin))
        return false;
    w->placed[m]++;
    const struct split_statement *split = placed_here(w, t)->cut_by[axis];
    if (split && mode->selector.n_roles > 0 && mode->axes.n)
        report_cut(w, m, tensor, split, axis);
    return !split;
}

// What is frozen has parameters only.
static void count_decided(struct weighing *w, enum state state, uint32_t t, unsigned axis,
                          uint32_t winner) {
    const struct strategy_config *strategy = &w->placing->config->strategy;
    if (state != STATE_PARAMETERS && !w->placing->program->job->tensors[t].trainable)
        return;
    w->decided[winner]++;
    for (uint32_t i = 0; i < w->stretch->n; i++) {
        uint32_t m = w->stretch->numbers[i];
        if (m != winner && !w->instead[m] && applies(w, m, state, t, axis))
            w->instead[m] = &strategy->modes[winner];
    }
}

// The statement that decides about one state of one tensor on one axis.
static void weigh(struct weighing *w, enum state state, uint32_t t, unsigned axis) {
    const struct strategy_config *strategy = &w->placing->config->strategy;
    int winner = -1, rival = -1; // rival: another one of the winner's rank
    for (uint32_t i = 0; i < w->stretch->n; i++) {
        uint32_t m = w->stretch->numbers[i];
        if (!applies(w, m, state, t, axis))
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
    if (winner < 0)
        return;
    if (!w->placing->work_is_right)
        count_decided(w, state, t, axis, (uint32_t)winner);
    struct placed_extent *extent = &placed_here(w, t)->extents[state][axis];
    extent->mode = &strategy->modes[winner];
    extent->extent = extent->mode->extent;
}

// The axes on which a state is cut: those that one statement places in the order of its product,
// statements in the order of the mesh, each at its outermost axis.
static struct axis_list shard_axes(const struct placing *p, const struct placed_tensor *placed,
                                   enum state state) {
    const struct placed_extent *extents = placed->extents[state];
    struct axis_list list = {0};
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++) {
        const struct mode_statement *mode = extents[axis].mode;
        if (extents[axis].extent == EXTENT_REPLICATED)
            continue;
        for (unsigned i = 0; i < mode->axes.n; i++)
            if (extents[mode->axes.axes[i]].mode == mode)
                axis_list_add(&list, mode->axes.axes[i]);
    }
    return list;
}

// A part over axes of size one, and over those of the model that cut the tensor, is the whole that
// a device gathers; one over all axes of the parameter is what is stored.
static void place_kept(const struct placing *p, struct placed_tensor *placed,
                       const struct mode_statement *mode) {
    struct axis_list kept = effective_axes(p, &mode->kept_axes);
    if (!mode->keeps_part)
        return;
    kept = axis_list_within(&kept, &placed->shards[STATE_PARAMETERS]);
    placed->kept_after_forward = kept.n == 0;
    if (axis_list_mask(&kept) != axis_list_mask(&placed->shards[STATE_PARAMETERS]))
        placed->kept_shards = kept;
}

// Options come from the statements that gave the extents; without one, the defaults.
static void place_options(const struct placing *p, struct placed_tensor *placed) {
    placed->gather_unit = UNIT_LAYER;
    placed->gather_layers = 1;
    placed->prefetch = 1;
    placed->bucket_bytes = LIMIT_BUCKET_BYTES;
    bool bucket_said = false;
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++) {
        const struct placed_extent *parameters = &placed->extents[STATE_PARAMETERS][axis];
        if (parameters->extent == EXTENT_GATHERED) {
            placed->gather_unit = parameters->mode->unit;
            placed->gather_layers = layers_of_unit(parameters->mode);
            placed->prefetch = parameters->mode->prefetch;
            placed->kept_after_forward = parameters->mode->kept_after_forward;
            placed->kept_after_backward = parameters->mode->kept_after_backward;
            place_kept(p, placed, parameters->mode);
        }
        const struct placed_extent *gradients = &placed->extents[STATE_GRADIENTS][axis];
        if (gradients->mode && gradients->extent == EXTENT_REPLICATED &&
            gradients->mode->reduce == REDUCE_EACH)
            axis_list_add(&placed->reduced_each, axis);
        // The smallest holds of several that were said.
        int64_t bucket = gradients->mode ? gradients->mode->bucket_bytes : 0;
        if (bucket && (!bucket_said || bucket < placed->bucket_bytes))
            placed->bucket_bytes = bucket;
        bucket_said |= bucket != 0;
    }
}

// Activations have no tensors: placement/divide.c places them, op by op.
static void place_tensor(struct weighing *w, uint32_t t) {
    struct placing *p = w->placing;
    struct placed_tensor *placed = placed_here(w, t);
    for (int state = 0; state < STATE_ACTIVATIONS; state++) {
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (axis_size(p, axis) > 1)
                weigh(w, (enum state)state, t, axis);
        placed->shards[state] = shard_axes(p, placed, (enum state)state);
    }
    place_options(p, placed);
    order_shards(p, placed);
    place_wire(p, placed);
}

// ---- tensors of which the same is said --------------------------------------------------------

// Most tensors of a layer are placed as others are, of which the same statements speak and which the
// same splits cut.
struct spoken {
    uint64_t modes; // by their bits, and one more
    uint64_t cuts;  // axes
};

static struct spoken spoken_of(const struct weighing *w, uint32_t t) {
    const struct placing *p = w->placing;
    const struct tensor *tensor = &p->program->job->tensors[t];
    struct spoken spoken = {0};
    for (uint32_t i = 0; i < w->stretch->n && p->config->strategy.n_modes <= 63; i++) {
        uint32_t m = w->stretch->numbers[i];
        const struct selector *selector = &p->config->strategy.modes[m].selector;
        if (selector_matches(selector, tensor->roles, tensor->n_roles) &&
            selector_covers(selector, p->placement->ranges[w->range].begin))
            spoken.modes |= UINT64_C(1) << m;
    }
    spoken.modes |= UINT64_C(1) << 63;
    for (unsigned d = 0; d < MAX_RANK; d++)
        spoken.cuts |= axis_list_mask(&placed_here(w, t)->cuts[d]);
    return spoken;
}

// What is said of the tensor was said of one before it: it has the same storage then.
static bool place_alike(struct weighing *w, const struct spoken *spoken, uint32_t t) {
    static const size_t from = offsetof(struct placed_tensor, extents);
    struct placed_tensor *placed = placed_here(w, t);
    const struct tensor *tensors = w->placing->program->job->tensors;
    for (uint32_t i = 0; i < t; i++) {
        const struct placed_tensor *other = placed_here(w, i);
        if (spoken[i].modes != spoken[t].modes || spoken[i].cuts != spoken[t].cuts ||
            tensors[i].trainable != tensors[t].trainable ||
            memcmp(other->cut_by, placed->cut_by, sizeof placed->cut_by) != 0)
            continue;
        memcpy((char *)placed + from, (const char *)other + from, sizeof *placed - from);
        return true;
    }
    return false;
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

static void place_storage(struct placing *p) {
    uint32_t n = p->config->strategy.n_modes, errors = p->diagnostics->n_errors;
    struct weighing w = {.placing = p,
                         .ties = ARENA_ARRAY(p->arena, const struct tie *, n + 1),
                         .reported = ARENA_ARRAY(p->arena, bool, n + 1),
                         .placed = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .decided = ARENA_ARRAY(p->arena, uint32_t, n + 1),
                         .instead = ARENA_ARRAY(p->arena, const struct mode_statement *, n + 1)};
    struct spoken *spoken = ARENA_ARRAY(p->arena, struct spoken, p->program->job->n_tensors + 1);
    for (w.range = 0; w.range < p->placement->n_ranges; w.range++) {
        w.stretch = stretch_at(&p->modes.index, p->placement->ranges[w.range].begin);
        for (uint32_t t = 0; t < p->program->job->n_tensors; t++) {
            spoken[t] = spoken_of(&w, t);
            if (!place_alike(&w, spoken, t))
                place_tensor(&w, t);
        }
    }
    settle_ranges(p);
    check_reach(&w, p->diagnostics->n_errors == errors && !p->work_is_right);
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
                   tensor->name, (long long)elements_of(tensor), (long long)most);
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
}

static bool derive(struct placing *p) {
    static void (*const checks[])(struct placing *) = {check_states, check_island_states,
                                                       check_wires, check_order, check_gathers};
    const struct diagnostics *diagnostics = p->diagnostics;
    uint32_t errors = diagnostics->n_errors;
    p->placement->islands = islands_of(p->config);
    p->placement->ordered = p->config->train.reproducible > 0;
    make_rules(p);
    find_ring(p);
    check_work(p);
    find_wire(p);
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
