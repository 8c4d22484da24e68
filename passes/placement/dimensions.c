// place, dimensions: states whose shards are cut `by DIMENSION`, along it, in place of flat. All states of
// a tensor are cut alike, since the update reads a device's parts of them together; what statements say
// of one of them holds for the others too, unless these say otherwise. Tensors without the dimension are
// cut flat. Parts are equal, so that there is no padding.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"

uint8_t dimension_along(const struct mode_statement *mode, const struct tensor *tensor) {
    bool named =
        mode->by == CUT_DIMENSION && mode->sets_extent && mode->extent != EXTENT_REPLICATED;
    for (unsigned d = 0; d < tensor->rank && named; d++)
        if (tensor->dims[d].dimension == mode->by_dimension)
            return (uint8_t)(d + 1);
    return 0;
}

// ---- what is said of a tensor -----------------------------------------------------------------

// The statements that cut a tensor's states, one for each state and axis.
struct cut_walk {
    const struct storage *storage;
    enum state state;
    unsigned axis; // the next one
};

static const struct mode_statement *next_cut(struct cut_walk *walk) {
    for (; walk->state < STATE_ACTIVATIONS; walk->state++, walk->axis = 0)
        while (walk->axis < MAX_AXES) {
            unsigned axis = walk->axis++;
            if (stored_extent(walk->storage, walk->state, axis) != EXTENT_REPLICATED)
                return walk->storage->modes[walk->state][axis];
        }
    return NULL;
}

// The first statement that cuts one of its states along a dimension that the tensor has; NULL: none does.
static const struct mode_statement *cuts_along(const struct storage *storage,
                                               const struct tensor *tensor) {
    struct cut_walk walk = {.storage = storage};
    const struct mode_statement *mode;
    while ((mode = next_cut(&walk)) && dimension_along(mode, tensor) == 0)
        ;
    return mode;
}

void place_along(const struct placing *p, struct storage *storage, uint32_t tensor) {
    const struct tensor *of = &p->program->job->tensors[tensor];
    const struct mode_statement *mode = cuts_along(storage, of);
    storage->along = mode ? dimension_along(mode, of) : 0;
}

// ---- what that asks ---------------------------------------------------------------------------

// A tensor in a range of its layers that is cut along a dimension, and the statement that says so.
struct cut_tensor {
    const struct tensor *tensor;
    const struct placed_tensor *placed;
    const struct mode_statement *by;
};

static const char *states_text(enum state state) {
    return state == STATE_OPTIMIZER ? "the optimizer's states" : state_names[state];
}

// E309. What is not said, or is of a dimension that the tensor lacks, follows.
static bool check_one_cut(struct placing *p, const struct cut_tensor *cut) {
    struct cut_walk walk = {.storage = cut->placed->storage};
    for (const struct mode_statement *mode; (mode = next_cut(&walk));) {
        uint8_t along = dimension_along(mode, cut->tensor);
        bool says = along || (mode->by == CUT_FLAT && mode->by_span.source != NO_SOURCE);
        if (!says || along == cut->placed->storage->along)
            continue;
        struct diagnostic *d =
            report(p->diagnostics, E309, origin_span(&mode->origin),
                   "%s of `%s` are cut by `%s`, but %s by `%s`", states_text(mode->state),
                   tensor_model_name(cut->tensor), mode_by_text(mode), states_text(cut->by->state),
                   mode_by_text(cut->by));
        diagnostic_say(d, "a device's part of one is not its part of the other");
        diagnostic_label(d, origin_span(&cut->by->origin), "cut by `%s` here",
                         mode_by_text(cut->by));
        diagnostic_origin(d, &mode->origin);
        diagnostic_help(d, "cut both by one dimension; what says none is cut as the other is");
        diagnostic_edit(d, mode->by_span, "%s", mode_by_text(cut->by));
        return false;
    }
    return true;
}

// E202. Equal parts only.
static bool check_division(struct placing *p, const struct cut_tensor *cut) {
    unsigned at = cut->placed->storage->along - 1u;
    const struct axis_list *work = &cut->placed->cuts[at];
    struct axis_list axes = *work;
    axis_list_add_all(&axes, &cut->placed->storage->shards[STATE_OPTIMIZER]);
    int64_t size = cut->tensor->dims[at].size, parts = mesh_group_size(&p->config->mesh, &axes);
    if (size % parts == 0)
        return true;
    const char *dimension = dimension_names[cut->by->by_dimension];
    struct diagnostic *d =
        report(p->diagnostics, E202, origin_span(&cut->by->origin),
               "%" PRId64 " of `%s` do not divide over the %" PRId64 " devices of `%s`", size,
               dimension, parts, axes_text(p, &axes));
    diagnostic_say(d, "so many has `%s`, of which each device would keep an equal part",
                   tensor_model_name(cut->tensor));
    diagnostic_origin(d, &cut->by->origin);
    diagnostic_help(d,
                    "leave `by %s` out: flat shards are padded; or limit it by a selector to "
                    "tensors that divide",
                    dimension);
    propose_flat(p, d, CUT_DIMENSION);
    return false;
}

// E199.
static bool check_built(struct placing *p, const struct cut_tensor *cut) {
    const struct storage *storage = cut->placed->storage;
    const char *beside = NULL;
    if (storage->wire.n)
        beside = "where gradients travel compressed";
    if (p->placement->islands.n)
        beside = "where islands take steps of their own";
    if (beside)
        propose_flat(p,
                     not_yet(p, &cut->by->origin,
                             arena_format(p->arena, "cutting by a dimension %s", beside),
                             "leave `by` out: shards are then flat"),
                     CUT_DIMENSION);
    return !beside;
}

static bool check_tensors(struct placing *p,
                          bool (*check)(struct placing *, const struct cut_tensor *)) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        struct cut_tensor cut = {.tensor = &p->program->job->tensors[i % placement->n_tensors],
                                 .placed = &placement->tensors[i]};
        if (cut.placed->storage->along == 0)
            continue;
        cut.by = cuts_along(cut.placed->storage, cut.tensor);
        if (!check(p, &cut))
            return false;
    }
    return true;
}

// Does the statement cut any tensor along its dimension?
static bool cuts_any(const struct placing *p, const struct mode_statement *mode) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++)
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (placement->tensors[i].storage->modes[mode->state][axis] == mode &&
                dimension_along(mode, &p->program->job->tensors[i % placement->n_tensors]))
                return true;
    return false;
}

// W830. Tensors of which none has the dimension.
static void check_named(struct placing *p, const struct mode_statement *mode) {
    if (mode->state == STATE_ACTIVATIONS || mode->by != CUT_DIMENSION || !mode->sets_extent ||
        !decides_anything(p, mode) || cuts_any(p, mode))
        return;
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "no tensor of these has `%s`: their shards are flat",
                                  dimension_names[mode->by_dimension]);
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `by %s` out, or name a dimension that they have",
                    dimension_names[mode->by_dimension]);
}

void check_along(struct placing *p) {
    if (!check_tensors(p, check_one_cut) || !check_tensors(p, check_division) ||
        !check_tensors(p, check_built) || p->work_is_right)
        return;
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++)
        check_named(p, &p->config->strategy.modes[m]);
}
