// place, sizes: what is divided must divide. All work is cut into equal parts, so every dimension
// is a multiple of all devices that share it.
#include <inttypes.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/place.h"
#include "passes/work.h"

// m = batch / (microbatch * devices) must be whole: a remainder would weigh some sequences more.
static void check_batch(struct placing *p) {
    const struct train_config *train = &p->config->train;
    const struct axis_list *axes = &p->placement->batch;
    int64_t parts = mesh_group_size(&p->config->mesh, axes), unit;
    if (__builtin_mul_overflow(parts, train->microbatch, &unit))
        unit = INT64_MAX;
    if (train->batch % unit == 0)
        return;
    struct diagnostic *d =
        report(p->diagnostics, E201, origin_span(&train->batch_origin),
               "a batch of %" PRId64 " does not divide into microbatches of %" PRId64
               " sequences on %" PRId64 " devices",
               train->batch, train->microbatch, parts);
    diagnostic_say(d, "not a multiple of %" PRId64, unit);
    diagnostic_label(d, origin_span(&train->microbatch_origin), "sequences on a device at once");
    if (parts > 1)
        diagnostic_label(d, origin_span(&p->placement->split_by[axes->axes[0]]->origin),
                         "%" PRId64 " devices share the batch", parts);
    diagnostic_origin(d, &train->batch_origin);
    int64_t below = train->batch / unit * unit;
    if (below > 0)
        diagnostic_help(d, "a batch of %" PRId64 " or %" PRId64 " would do", below, below + unit);
    else
        diagnostic_help(d, "the smallest batch that would do is %" PRId64, unit);
}

static int64_t size_of(const struct placing *p, enum dimension dimension) {
    const struct model_config *model = &p->config->model;
    switch (dimension) {
    case DIM_HEADS:
        return model->heads;
    case DIM_KV_HEADS:
        return model->kv_heads;
    case DIM_GROUP:
        return model->heads / model->kv_heads;
    case DIM_FFN:
        return model->ffn;
    case DIM_SEQUENCE:
        return p->config->train.sequence;
    default:
        CHECK(false);
    }
}

static void report_parts(struct placing *p, const struct origin *origin, enum dimension dimension,
                         const struct axis_list *cuts) {
    int64_t parts = mesh_group_size(&p->config->mesh, cuts), size = size_of(p, dimension);
    const char *axes = axes_text(p, cuts);
    struct diagnostic *d;
    if (dimension == DIM_SEQUENCE) {
        d = report(p->diagnostics, E202, origin_span(origin),
                   "a sequence of %" PRId64 " tokens does not divide over the %" PRId64
                   " devices of `%s`",
                   size, parts, axes);
        diagnostic_label(d, origin_span(&p->config->train.sequence_origin), "its length");
    } else {
        d = report(p->diagnostics, E202, origin_span(origin),
                   "%" PRId64 " %s do not divide over the %" PRId64 " devices of `%s`", size,
                   dimension_names[dimension], parts, axes);
        diagnostic_label(d, origin_span(&p->config->model.origin), "the model has %" PRId64, size);
    }
    diagnostic_say(d, "%" PRId64 " is not a multiple of %" PRId64, size, parts);
    diagnostic_origin(d, origin);
    diagnostic_help(d, "make `%s` smaller, or the %s a multiple of it", axes,
                    dimension == DIM_SEQUENCE ? "sequence" : "dimension");
}

// All axes count that cut the dimension where a statement cuts it: its own, and those of statements
// outside its scope. False, once reported.
static bool check_dimension(struct placing *p, const struct origin *origin,
                            const struct selector *scope, enum dimension dimension) {
    struct axis_list cuts = work_cuts_in_scope(p->placement, scope, dimension);
    int64_t parts = mesh_group_size(&p->config->mesh, &cuts);
    if (dimension == DIM_BATCH || size_of(p, dimension) % parts == 0)
        return true;
    report_parts(p, origin, dimension, &cuts);
    return false;
}

static void check_dimensions(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        for (uint32_t i = 0; i < split->n_dimensions; i++)
            if (!check_dimension(p, &split->origin, &split->scope, split->dimensions[i]))
                break;
    }
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == STATE_ACTIVATIONS && mode->extent == EXTENT_SHARDED &&
            effective_axes(p, &mode->axes).n)
            check_dimension(p, &mode->origin, &mode->selector, mode->by_dimension);
    }
}

// Storage modes alone do not make an axis worth its devices.
static void check_idle_axis(struct placing *p, unsigned axis) {
    const struct mesh_axis *of = &p->config->mesh.axes[axis];
    if (of->size == 1 || p->placement->split_by[axis])
        return;
    struct diagnostic *d =
        report(p->diagnostics, E301, of->span,
               "no split uses `%s`: its %" PRId64 " devices repeat all work", of->name, of->size);
    diagnostic_say(d, "nothing is split over this axis");
    diagnostic_note_at(d, p->config->strategy.name_span, "by this strategy");
    struct axis_list batch = p->placement->batch;
    axis_list_add(&batch, axis);
    diagnostic_help(d, "split the batch over it, `split batch over %s`, or make the axis 1",
                    axes_text(p, &batch));
}

void check_sizes(struct placing *p) {
    check_batch(p);
    check_dimensions(p);
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        check_idle_axis(p, axis);
}
