// place, order: what `reproducible` asks of a strategy. Gradients and losses are then sums over the
// microbatches of all devices in one order, a binary tree over their numbers, so that every mesh
// adds alike. The digits of a number are, least significant first, the axes that are summed over in
// each microbatch, the microbatch in time, the axes that are summed over after the last; the batch
// is cut accordingly (layout.n_inner), and there is but one such order in a program. Axes of the
// model divide what is worked on in blocks, in whole ones; sums over parts of sequences are inside
// a microbatch.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/place.h"
#include "passes/work.h"

struct axis_list placement_sum(const struct placement *placement, const struct mesh *mesh,
                               uint64_t mask) {
    struct axis_list sum = {0};
    for (unsigned i = 0; i < placement->batch.n; i++)
        if (mask >> placement->batch.axes[i] & 1)
            axis_list_add(&sum, placement->batch.axes[i]);
    for (unsigned axis = 0; axis < mesh->n_axes; axis++) {
        const struct split_statement *split = placement->split_by[axis];
        if (!(mask >> axis & 1))
            continue;
        for (unsigned i = 0; split && i < split->axes.n; i++)
            if (mask >> split->axes.axes[i] & 1)
                axis_list_add(&sum, split->axes.axes[i]);
        axis_list_add(&sum, axis);
    }
    return sum;
}

struct gradient_sums gradient_sums(const struct placement *placement,
                                   const struct placed_tensor *tensor) {
    const struct axis_list *owners = &tensor->shards[STATE_OPTIMIZER];
    struct axis_list tokens = placement->tokens, each = {0};
    for (unsigned i = 0; i < MAX_RANK; i++)
        tokens = axes_without(&tokens, &tensor->cuts[i]);
    if (placement->microbatches > 1) // else each and last are the same
        each = tensor->reduced_each;
    struct axis_list rest = axes_without(&tokens, owners);
    struct gradient_sums sums = {.scatter_each = tensor->scattered_each,
                                 .scatter_last = axes_without(owners, &tensor->scattered_each),
                                 .reduce_last = axes_without(&rest, &each)};
    sums.reduce_each = axes_without(&rest, &sums.reduce_last);
    if (placement->ordered) {
        sums.scatter_each = those_in(&sums.scatter_each, &placement->tokens);
        sums.scatter_last = those_in(&sums.scatter_last, &placement->tokens);
        for (unsigned i = 0; i < owners->n && !axis_list_has(&placement->tokens, owners->axes[i]);
             i++)
            axis_list_add(&sums.keep_first, owners->axes[i]);
    }
    return sums;
}

// ---- E199: what is not summed in order yet ----------------------------------------------------

// What of a split has no order yet; NULL: the batch, which is split alone, has one, and what is
// worked on in blocks.
static const char *without_order(const struct placement *placement,
                                 const struct split_statement *split) {
    if (split->dimensions[0] == DIM_BATCH)
        return NULL;
    for (unsigned i = 0; i < split->axes.n; i++)
        if (axis_list_has(&placement->batch, split->axes.axes[i]))
            return "dividing the model over axes of the batch";
    return split->copies.n ? "copying key and value heads" : NULL;
}

static void check_ordered_splits(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        const char *what = without_order(p->placement, split);
        if (what && effective_axes(p, &split->axes).n)
            not_yet(p, &split->origin,
                    arena_format(p->arena, "%s, where training is `reproducible`,", what));
    }
}

// Parts over axes of the model are kept of what data axes scatter, or of what they have summed: the
// axis that has them in between; -1: none.
static int axis_between(const struct placing *p, const struct placed_tensor *placed) {
    struct gradient_sums sums = gradient_sums(p->placement, placed);
    struct axis_list inside = axes_without(&placed->shards[STATE_OPTIMIZER], &p->placement->tokens);
    inside = axes_without(&inside, &sums.keep_first);
    struct axis_list scattered = those_in(&inside, &placed->scattered_each);
    return inside.n && (scattered.n || sums.scatter_last.n) ? inside.axes[0] : -1;
}

static void check_storage(struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct placed_tensor *placed = &placement->tensors[i];
        int axis = axis_between(p, placed);
        if (axis < 0)
            continue;
        not_yet(p, placed_origin(placed, STATE_OPTIMIZER, (unsigned)axis),
                arena_format(p->arena,
                             "sharding over `%s`, which divides the model, inside shards over data "
                             "axes, where training is `reproducible`,",
                             axis_name(p, (unsigned)axis)));
        return;
    }
}

static void check_kind(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    check_ordered_splits(p);
    check_storage(p);
    for (uint32_t i = 0; i < strategy->n_relaxations; i++)
        if (effective_axes(p, &strategy->relaxations[i].axes).n)
            not_yet(p, &strategy->relaxations[i].origin,
                    "relaxing a condition where training is `reproducible`");
}

// ---- E313: sizes --------------------------------------------------------------------------------

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

static struct diagnostic *report_order(struct placing *p, const struct origin *origin,
                                       const char *message) {
    struct diagnostic *d = report(p->diagnostics, E313, origin_span(origin), "%s", message);
    diagnostic_origin(d, origin);
    return d;
}

static void check_number(struct placing *p) {
    const struct train_config *train = &p->config->train;
    int64_t devices = mesh_group_size(&p->config->mesh, &p->placement->batch);
    if (devices <= train->reproducible)
        return;
    struct diagnostic *d =
        report_order(p, &train->reproducible_origin,
                     arena_format(p->arena,
                                  "%" PRId64 " devices share the batch, more than "
                                  "`reproducible = %" PRId64 "`",
                                  devices, train->reproducible));
    diagnostic_help(d, "raise `reproducible`: it is the most devices that train to these bits");
}

static void check_powers(struct placing *p) {
    const struct train_config *train = &p->config->train;
    const struct axis_list *batch = &p->placement->batch;
    for (unsigned i = 0; i < batch->n; i++) {
        unsigned axis = batch->axes[i];
        if (is_power_of_two(axis_size(p, axis)))
            continue;
        struct diagnostic *d = report_order(
            p, &p->placement->split_by[axis]->origin,
            arena_format(p->arena, "`%s` has %" PRId64 " devices, which make no binary tree",
                         axis_name(p, axis), axis_size(p, axis)));
        diagnostic_help(d, "`reproducible` takes axes whose sizes are powers of two");
    }
    if (is_power_of_two(p->placement->microbatches))
        return;
    struct diagnostic *d =
        report_order(p, &train->batch_origin,
                     arena_format(p->arena, "%" PRId64 " microbatches make no binary tree",
                                  p->placement->microbatches));
    diagnostic_help(d, "make train.batch a power of two times train.microbatch");
}

// A dimension that axes cut, and a statement that says so.
struct division {
    struct dim dim;
    struct axis_list cuts;
    const struct origin *origin;
};

// Of the axes that cut a dimension the last one's devices are neighbours in a sum over it.
static void check_sum_over(struct placing *p, const struct division *division) {
    const struct mesh *mesh = &p->config->mesh;
    const struct axis_list *cuts = &division->cuts;
    struct axis_list sum = placement_sum(p->placement, mesh, axis_list_mask(cuts));
    if (axis_list_equal(&sum, cuts))
        return;
    struct diagnostic *d = report_order(
        p, division->origin,
        arena_format(p->arena, "`%s` is divided over `%s`, but sums over these go by `%s`",
                     dimension_names[division->dim.dimension], mesh_axes_text(mesh, cuts, p->arena),
                     mesh_axes_text(mesh, &sum, p->arena)));
    diagnostic_help(d, "name the axes in that order, those of several statements in the mesh");
}

// Every device has whole blocks of what it is given a part of.
static void check_blocks(struct placing *p, const struct division *division) {
    const struct dim *dim = &division->dim;
    int64_t blocks = blocks_of(&p->program->policy, dim->dimension, dim->size);
    int64_t parts = mesh_group_size(&p->config->mesh, &division->cuts);
    if (blocks % parts == 0)
        return;
    const char *work =
        blocks == 1 ? "whole" : arena_format(p->arena, "in %" PRId64 " blocks", blocks);
    struct diagnostic *d =
        report_order(p, division->origin,
                     arena_format(p->arena, "`%s` is divided in %" PRId64 ", but worked on %s",
                                  dimension_names[dim->dimension], parts, work));
    diagnostic_say(d,
                   "as many blocks as the greatest power of two that divides %" PRId64
                   ", at most `reproducible` and %d",
                   dim->size, LIMIT_BLOCKS);
    if (is_power_of_two(parts) && parts <= LIMIT_BLOCKS && dim->size % parts == 0)
        diagnostic_help(d, "raise `reproducible` to %" PRId64 ", which gives other bits", parts);
    else if (blocks > 1)
        diagnostic_help(d, "divide it in a power of two that is at most %" PRId64, blocks);
    else
        diagnostic_help(d, "leave it whole on every device");
}

static void check_division(struct placing *p, const struct division *division) {
    uint32_t errors = p->diagnostics->n_errors;
    check_blocks(p, division);
    if (p->diagnostics->n_errors == errors)
        check_sum_over(p, division);
}

// Sequences have no tensor that would say how they are divided, but rules do.
static void check_sequences(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t i = 0; i < p->placement->n_rules && p->diagnostics->n_errors == errors; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        struct division division = {.dim = {DIM_SEQUENCE, p->config->train.sequence},
                                    .cuts =
                                        work_cuts_in_scope(p->placement, rule->scope, DIM_SEQUENCE),
                                    .origin = rule_origin(rule)};
        if (rule->dimension == DIM_SEQUENCE && division.cuts.n)
            check_division(p, &division);
    }
}

static void check_dimensions(struct placing *p) {
    const struct placement *placement = p->placement;
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct tensor *tensor = &p->program->tensors[i % placement->n_tensors];
        const struct placed_tensor *placed = &placement->tensors[i];
        for (unsigned d = 0; d < tensor->rank && p->diagnostics->n_errors == errors; d++) {
            const struct axis_list *cuts = &placed->cuts[d];
            if (cuts->n)
                check_division(p, &(struct division){tensor->dims[d], *cuts,
                                                     &placed->cut_by[cuts->axes[0]]->origin});
        }
    }
    if (p->diagnostics->n_errors == errors)
        check_sequences(p);
}

// ---- E313: one order ----------------------------------------------------------------------------

static void append(struct axis_list *to, const struct axis_list *axes) {
    for (unsigned i = 0; i < axes->n; i++)
        axis_list_add(to, axes->axes[i]);
}

static struct axis_list inner_axes(const struct gradient_sums *sums) {
    struct axis_list inner = sums->reduce_each;
    append(&inner, &sums->scatter_each);
    return inner;
}

// All that a tensor's gradient is summed over, what is summed over last first.
static struct axis_list digits_of(const struct gradient_sums *sums) {
    struct axis_list digits = sums->reduce_last, inner = inner_axes(sums);
    append(&digits, &sums->scatter_last);
    append(&digits, &inner);
    return digits;
}

static const struct origin *origin_of_sums(const struct placing *p,
                                           const struct placed_tensor *tensor) {
    for (unsigned i = 0; i < p->placement->batch.n; i++) {
        const struct origin *origin =
            placed_origin(tensor, STATE_GRADIENTS, p->placement->batch.axes[i]);
        if (origin)
            return origin;
    }
    return &p->config->train.reproducible_origin;
}

static void report_two_orders(struct placing *p, const struct placed_tensor *tensor,
                              const char *name, const char *first) {
    struct diagnostic *d = report_order(
        p, origin_of_sums(p, tensor),
        arena_format(p->arena, "gradients of %s are summed in another order than those of %s", name,
                     first));
    diagnostic_say(d, "no one order of microbatches fits both");
    diagnostic_help(d, "shard and reduce all gradients alike, where training is `reproducible`");
}

static void report_other_order(struct placing *p, const struct axis_list *digits) {
    const struct axis_list *batch = &p->placement->batch;
    const struct split_statement *split = p->placement->split_by[batch->axes[0]];
    struct diagnostic *d = report_order(
        p, &split->origin,
        arena_format(p->arena,
                     "the batch is split over `%s`, but gradients are summed over it in "
                     "the order of `%s`",
                     mesh_axes_text(&p->config->mesh, batch, p->arena),
                     mesh_axes_text(&p->config->mesh, digits, p->arena)));
    diagnostic_say(d, "neighbours are added first, and what is summed over first comes last");
    diagnostic_help(d, "split the batch over the axes in that order");
}

// All tensors have the order of the first that is trained, and the batch has it too.
static void check_sums(struct placing *p) {
    struct placement *placement = p->placement;
    struct axis_list order = {0};
    const char *first = NULL;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct tensor *tensor = &p->program->tensors[i % placement->n_tensors];
        if (!tensor->trainable)
            continue;
        struct gradient_sums sums = gradient_sums(placement, &placement->tensors[i]);
        struct axis_list inner = {0}, digits = digits_of(&sums);
        if (placement->microbatches > 1)
            inner = inner_axes(&sums);
        if (!first) {
            placement->inner = inner;
            order = digits;
            first = tensor->name;
        }
        if (!axis_list_equal(&inner, &placement->inner) || !axis_list_equal(&digits, &order)) {
            report_two_orders(p, &placement->tensors[i], tensor->name, first);
            return;
        }
    }
    if (first && !axis_list_equal(&order, &placement->batch))
        report_other_order(p, &order);
}

void check_order(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    if (!p->config->train.reproducible)
        return;
    check_promised(p);
    if (p->diagnostics->n_errors == errors)
        check_kind(p);
    if (p->diagnostics->n_errors > errors)
        return;
    check_number(p);
    check_powers(p);
    check_dimensions(p);
    if (p->diagnostics->n_errors == errors)
        check_sums(p);
}
