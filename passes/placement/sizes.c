// place, sizes: what is divided must divide. All work is cut into equal parts, so every dimension
// is a multiple of all devices that share it.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"
#include "passes/placement/sequence.h"
#include "passes/placement/work.h"
#include "passes/reference/tensors.h"

// Users count all query heads, and not the groups of them.
static int64_t size_of(const struct placing *p, enum dimension dimension) {
    return dimension == DIM_HEADS ? p->config->model.heads : dimension_size(p->config, dimension);
}

// The axes over which heads are split in a scope and that cut the sequence outside: there devices
// exchange positions for heads (Ulysses).
static struct axis_list exchanged(const struct placing *p, const struct selector *scope,
                                  const struct axis_list *cuts) {
    struct axis_list outside =
        work_cuts_of_kept_in_scope(p->placement, &(struct selector){0}, DIM_SEQUENCE);
    return scope->n_roles ? axis_list_within(cuts, &outside) : (struct axis_list){0};
}

static void help_few_heads(struct placing *p, struct diagnostic *d, const struct origin *origin,
                           const struct axis_list *axes) {
    const char *name = axes_text(p, axes);
    diagnostic_note(d, "for a part of the positions each device of `%s` is given whole heads here",
                    name);
    diagnostic_help(d,
                    "leave this out, and keys and values %s `%s`, which needs no heads; or cut the "
                    "sequence over a product, `split sequence over a * b`, and split heads over "
                    "`b` alone",
                    p->placement->ordered ? "are gathered over" : "travel round", name);
    if (origin->kind == ORIGIN_STATEMENT)
        diagnostic_delete(d, origin->span);
}

// How many devices share the dimension, were there so many where the axes are; 1: these do not cut
// it.
static int64_t parts_with(const struct placing *p, const struct selector *scope,
                          enum dimension dimension, const struct axis_list *axes, int64_t devices) {
    struct axis_list cuts = work_cuts_of_kept_in_scope(p->placement, scope, dimension);
    for (unsigned i = 0; i < axes->n; i++)
        if (!axis_list_has(&cuts, axes->axes[i]))
            return 1;
    for (unsigned i = 0; i < cuts.n; i++) // of devices: microbatches are an axis in time
        if (!axis_list_has(axes, cuts.axes[i]) && cuts.axes[i] < p->config->mesh.n_axes)
            devices = size_times(devices, axis_size(p, cuts.axes[i]));
    return devices;
}

// Whether so many devices have equal parts of the dimension. Key and value heads may be fewer, with
// copies.
static bool would_divide(const struct placing *p, enum dimension dimension, int64_t parts) {
    const struct train_config *train = &p->config->train;
    if (dimension == DIM_BATCH) {
        bool said = train->microbatch_origin.kind != ORIGIN_DEFAULT;
        return train->batch % size_times(parts, said ? train->microbatch : 1) == 0;
    }
    int64_t size = size_of(p, dimension);
    return size % parts == 0 || (dimension == DIM_KV_HEADS && parts % size == 0);
}

// The most devices, fewer than there are where these axes are, that every dimension divides over
// which a statement cuts there; 1: none.
static int64_t fewer_devices(const struct placing *p, const struct axis_list *axes) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (int64_t devices = mesh_group_size(&p->config->mesh, axes) - 1; devices > 1; devices--) {
        bool divide = !p->config->train.reproducible || is_power_of_two(devices);
        for (uint32_t s = 0; s < strategy->n_splits && divide; s++) {
            const struct split_statement *split = &strategy->splits[s];
            for (uint32_t i = 0; i < split->n_dimensions && divide; i++)
                divide =
                    would_divide(p, split->dimensions[i],
                                 parts_with(p, &split->scope, split->dimensions[i], axes, devices));
        }
        for (uint32_t m = 0; m < strategy->n_modes && divide; m++) {
            const struct mode_statement *mode = &strategy->modes[m];
            if (cuts_activations(p, mode))
                divide =
                    would_divide(p, mode->by_dimension,
                                 parts_with(p, &mode->selector, mode->by_dimension, axes, devices));
        }
        if (divide)
            return devices;
    }
    return 1;
}

// Fewer devices, or more of the model.
static void help_parts(struct placing *p, struct diagnostic *d, const struct origin *origin,
                       const struct selector *scope, enum dimension dimension,
                       const struct axis_list *cuts) {
    int64_t parts = mesh_group_size(&p->config->mesh, cuts);
    struct axis_list moved = exchanged(p, scope, cuts);
    if (moved.n && (dimension == DIM_HEADS || dimension == DIM_KV_HEADS)) {
        help_few_heads(p, d, origin, &moved);
        return;
    }
    const char *more = arena_format(p->arena, "the model's %s a multiple of %" PRId64,
                                    dimension_names[dimension], parts);
    int64_t fewer = fewer_devices(p, cuts);
    if (fewer == 1) {
        diagnostic_help(d, "make %s", more);
        return;
    }
    diagnostic_help(d, "make `%s` %" PRId64 "%s, or %s", axes_text(p, cuts), fewer,
                    cuts->n > 1 ? " devices" : "", more);
    struct span at = p->config->mesh.axes[cuts->axes[0]].size_span;
    if (cuts->n == 1 && at.source != NO_SOURCE)
        diagnostic_edit(d, at, "%" PRId64, fewer);
}

// A statement that cuts a dimension: where it names it, and whence it is.
struct cutting {
    const struct origin *origin;
    struct span span;
    const struct selector *scope;
    enum dimension dimension;
};

// What another file says cannot be pointed at; what brought it can.
static struct cutting cutting_of_split(const struct split_statement *split, uint32_t i) {
    bool own = split->origin.kind == ORIGIN_STATEMENT;
    return (struct cutting){&split->origin,
                            own ? split->dimension_spans[i] : origin_span(&split->origin),
                            &split->scope, split->dimensions[i]};
}

static void report_parts(struct placing *p, const struct cutting *cutting,
                         const struct axis_list *cuts) {
    const struct origin *origin = cutting->origin;
    enum dimension dimension = cutting->dimension;
    int64_t parts = mesh_group_size(&p->config->mesh, cuts), size = size_of(p, dimension);
    const char *axes = axes_text(p, cuts);
    struct diagnostic *d;
    if (dimension == DIM_SEQUENCE) {
        d = report(p->diagnostics, E202, cutting->span,
                   "a sequence of %" PRId64 " token%s does not divide over the %" PRId64
                   " devices of `%s`",
                   size, plural_s(size), parts, axes);
        diagnostic_label(d, origin_span(&p->config->train.sequence_origin), "its length");
    } else if (dimension == DIM_VOCAB) {
        d = report(p->diagnostics, E202, cutting->span,
                   "a vocabulary of %" PRId64 " token%s does not divide over the %" PRId64
                   " devices of `%s`",
                   size, plural_s(size), parts, axes);
        diagnostic_label(d, origin_span(&p->config->model.origin), "the model has %" PRId64, size);
    } else {
        const char *what =
            dimension == DIM_FFN
                ? arena_format(p->arena, "an ffn of %" PRId64 " column%s does", size,
                               plural_s(size))
                : arena_format(p->arena,
                               size == 1 ? "%" PRId64 " of `%s` does" : "%" PRId64 " %s do", size,
                               dimension_names[dimension]);
        d = report(p->diagnostics, E202, cutting->span,
                   "%s not divide over the %" PRId64 " devices of `%s`", what, parts, axes);
        diagnostic_label(d, origin_span(&p->config->model.origin), "the model has %" PRId64, size);
    }
    diagnostic_say(d, "%" PRId64 " is not a multiple of %" PRId64, size, parts);
    diagnostic_origin(d, origin);
    int64_t above = (size + parts - 1) / parts * parts;
    if (dimension == DIM_VOCAB) {
        diagnostic_help(d,
                        "a vocabulary of %" PRId64
                        " would do, set with model.vocab: tokens that no "
                        "data has only learn to be unlikely",
                        above);
    } else if (dimension == DIM_SEQUENCE) {
        diagnostic_help(d, "make `%s` smaller, or the sequence a multiple of %" PRId64, axes,
                        sequence_parts(p));
        propose_sequence(p, d);
    } else {
        help_parts(p, d, origin, cutting->scope, dimension, cuts);
    }
}

// What was reported of each dimension: over which axes it does not divide.
struct undivided {
    uint64_t axes[N_DIMENSIONS];
};

// False: it does not divide, and that has been reported.
static bool check_dimension(struct placing *p, struct cutting cutting, struct undivided *reported) {
    struct axis_list cuts =
        work_cuts_of_kept_in_scope(p->placement, cutting.scope, cutting.dimension);
    int64_t parts = mesh_group_size(&p->config->mesh, &cuts);
    if (cutting.dimension == DIM_BATCH || size_of(p, cutting.dimension) % parts == 0)
        return true;
    if (reported->axes[cutting.dimension] != axis_list_mask(&cuts))
        report_parts(p, &cutting, &cuts);
    reported->axes[cutting.dimension] = axis_list_mask(&cuts);
    return false;
}

static bool check_dimensions(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    struct undivided reported = {0};
    bool divide = true;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        for (uint32_t i = 0; i < split->n_dimensions; i++)
            if (!check_dimension(p, cutting_of_split(split, i), &reported)) {
                divide = false;
                break;
            }
    }
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        struct cutting cutting = {&mode->origin, origin_span(&mode->origin), &mode->selector,
                                  mode->by_dimension};
        if (cuts_activations(p, mode))
            divide &= check_dimension(p, cutting, &reported);
    }
    return divide;
}

// What is kept as parts over the axis: once for each statement, or `use`.
static void label_storage(struct placing *p, struct diagnostic *d, unsigned axis) {
    struct span last = span_nowhere();
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        struct span span = origin_span(&mode->origin);
        if (!axis_list_has(&mode->axes, axis) || mode->extent == EXTENT_REPLICATED ||
            (span.source == last.source && span.begin == last.begin))
            continue;
        diagnostic_label(d, span, "this divides what is kept, not what is computed");
        last = span;
    }
}

// The split of the batch with this axis in it, too, where the file has one.
static void propose_batch(struct placing *p, struct diagnostic *d, const char *axes) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        if (split->dimensions[0] == DIM_BATCH && split->n_dimensions == 1 && !split->scope_depth &&
            split->origin.kind == ORIGIN_STATEMENT)
            diagnostic_edit(d, split->origin.span, "split batch over %s", axes);
    }
    // Where nothing splits the batch yet, in front of the first thing that is said.
    struct span first = span_nowhere();
    if (strategy->n_splits)
        first = strategy->splits[0].origin.span;
    else if (strategy->n_modes)
        first = strategy->modes[0].statement_span;
    if (p->placement->batch.n == 0 && first.source != NO_SOURCE) {
        first.end = first.begin;
        diagnostic_edit(d, first, "split batch over %s  ", axes);
    }
}

// Storage modes alone do not make an axis worth its devices.
static void check_idle_axis(struct placing *p, unsigned axis) {
    const struct mesh_axis *of = &p->config->mesh.axes[axis];
    if (of->size == 1 || p->placement->split_by[axis] ||
        axis_list_has(&p->placement->pipeline.axes, axis))
        return;
    struct diagnostic *d =
        report(p->diagnostics, E301, of->span,
               "no split uses `%s`: its %" PRId64 " devices repeat all work", of->name, of->size);
    diagnostic_say(d, "nothing is split over this axis");
    label_storage(p, d, axis);
    diagnostic_note_at(d, p->config->strategy.name_span, "by this strategy");
    struct axis_list batch = p->placement->batch;
    axis_list_add(&batch, axis);
    diagnostic_help(d, "split the batch over it, `split batch over %s`, or make the axis 1",
                    axes_text(p, &batch));
    propose_batch(p, d, axes_text(p, &batch));
}

void check_sizes(struct placing *p) {
    check_batch(p);
    if (check_dimensions(p))
        check_chunks(p);
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        check_idle_axis(p, axis);
}
