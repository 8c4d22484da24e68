// place, compressed gradients: which travel as codes, over which axes. A code stands for what a
// device has of a sum over the batch, so its axes are such as divide the batch, or the sequence;
// all gradients that are compressed are so alike, over the same ones. They arrive whole: each
// device takes its own part of them where the optimizer or the gradient itself is cut.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"

static bool compresses(const struct mode_statement *mode) {
    return mode && mode->wire.way != WIRE_NONE;
}

static bool same_axes(const struct axis_list *a, const struct axis_list *b) {
    return axis_list_mask(a) == axis_list_mask(b);
}

// ---- the statements ---------------------------------------------------------------------------

// E312. A mode without axes is said of all of them, and so of those on which gradients are summed.
static void report_not_sent(struct placing *p, const struct mode_statement *mode, unsigned axis) {
    const char *name = axis_name(p, axis);
    struct diagnostic *d =
        report(p->diagnostics, E312, origin_span(&mode->origin),
               "gradients are compressed over `%s`, but none are summed there", name);
    const struct split_statement *split = p->placement->split_by[axis];
    if (split)
        diagnostic_label(d, origin_span(&split->origin),
                         axis_list_has(&p->placement->islands, axis)
                             ? "its devices take steps of their own"
                             : "what it splits");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "compress over axes that split the batch and sum gradients in every step");
    struct axis_list summed = axis_list_within(&mode->axes, &p->placement->tokens);
    propose_relaxed_axes(p, d, mode, summed.n ? &summed : &p->placement->tokens);
}

static struct axis_list axes_of_wire(struct placing *p, const struct mode_statement *mode) {
    const struct placement *placement = p->placement;
    if (mode->axes.n == 0)
        return placement->tokens;
    struct axis_list axes = effective_axes(p, &mode->axes);
    for (unsigned i = 0; i < axes.n; i++)
        if (!axis_list_has(&placement->tokens, axes.axes[i])) {
            report_not_sent(p, mode, axes.axes[i]);
            return (struct axis_list){0};
        }
    return axes;
}

// Every microbatch has a sum of its own: of shards always, since no device has room for the whole,
// so of one microbatch that is nothing else.
static bool sums_each(const struct placing *p, const struct mode_statement *mode) {
    return mode->extent == EXTENT_SHARDED ? p->placement->microbatches > 1
                                          : mode->reduce == REDUCE_EACH;
}

void find_wire(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    struct placement *placement = p->placement;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!compresses(mode))
            continue;
        struct axis_list axes = axes_of_wire(p, mode);
        if (axes.n == 0)
            continue;
        bool first = placement->wire_axes.n == 0;
        if (!first && (!wire_equal(placement->wire, mode->wire) ||
                       !same_axes(&placement->wire_axes, &axes))) {
            not_yet(p, &mode->origin,
                    "compressing gradients in several ways, or over different axes,",
                    "compress all of them in one way, over the same axes");
            return;
        }
        if (sums_each(p, mode)) {
            not_yet(p, &mode->origin, "compressing the gradients of each microbatch",
                    mode->extent == EXTENT_SHARDED
                        ? "take one microbatch, or keep whole gradients, `replicated(...)`, "
                          "without `reduce = each`"
                        : "sum the microbatches first, `reduce = last`");
            return;
        }
        placement->wire_axes = axes;
        placement->wire = mode->wire;
    }
}

// ---- the tensors ------------------------------------------------------------------------------

// Notes the axes of the wire on which the statement that wins asks for codes. The gradient is
// summed there: no statement wins on an axis that cuts the tensor.
void place_wire(struct placing *p, struct storage *storage) {
    const struct axis_list *wire = &p->placement->wire_axes;
    for (unsigned i = 0; i < wire->n; i++)
        if (compresses(storage->modes[STATE_GRADIENTS][wire->axes[i]]))
            axis_list_add(&storage->wire, wire->axes[i]);
}

// What keeps the tensor's gradient from being compressed so, and what to say instead.
struct trouble {
    const char *what, *instead; // NULL: nothing does
};

static struct trouble trouble_of(const struct placing *p, const struct storage *storage) {
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    struct axis_list own = axis_list_within(owners, &storage->wire);
    if (!same_axes(&storage->wire, &p->placement->wire_axes))
        return (struct trouble){
            "compressing a gradient over some of the axes over which others are compressed",
            "compress all of them over the same axes"};
    if (own.n < owners->n && p->placement->wire.way == WIRE_SIGN)
        return (struct trouble){
            "compressing shards of gradients to their signs, which padding has not,",
            "compress to `int8`, or leave the optimizer whole"};
    return (struct trouble){0};
}

// Codes are added up in the type in which gradients are kept; of another one for reductions nothing
// would come. E320.
static bool check_reduced(struct placing *p, const struct storage *storage,
                          const struct tensor *tensor) {
    const struct precision_config *precision = &p->config->train.precision;
    const struct element_types *types = &storage->types;
    if (storage->wire.n == 0 || types->reduced == types->gradients)
        return true;
    const struct origin *origin = precision_origin(precision, PRECISION_REDUCE, tensor->roles,
                                                   tensor->n_roles, tensor->first_layer);
    const struct origin *mode = stored_origin(storage, STATE_GRADIENTS, storage->wire.axes[0]);
    struct diagnostic *d =
        report(p->diagnostics, E320, origin_span(origin),
               "gradients that are compressed are not reduced in %s", dtype_word(types->reduced));
    diagnostic_origin(d, origin);
    diagnostic_label(d, origin_span(mode), "they travel as codes, and are added up in %s",
                     dtype_word(types->gradients));
    diagnostic_help(d,
                    "leave `%s` out: what codes stand for is added to gradients as they are kept, "
                    "in `gradients`",
                    precision_said(p->arena, precision, PRECISION_REDUCE, tensor->roles,
                                   tensor->n_roles, tensor->first_layer));
    return false;
}

void check_wires(struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++)
        if (!check_reduced(p, placement->tensors[i].storage,
                           &p->program->job->tensors[i % placement->n_tensors]))
            return;
    for (uint32_t i = 0; i < placement->n_storages; i++) {
        const struct storage *storage = placement->storages[i];
        struct trouble trouble = {0};
        if (storage->wire.n)
            trouble = trouble_of(p, storage);
        if (!trouble.what)
            continue;
        unsigned axis = storage->wire.axes[0];
        not_yet(p, stored_origin(storage, STATE_GRADIENTS, axis), trouble.what, trouble.instead);
        return;
    }
}
