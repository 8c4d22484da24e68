// place, order: what `reproducible` asks of a strategy. Gradients and losses are then sums over the
// microbatches of all devices in one order, a binary tree over their numbers, so that every mesh
// adds alike. The digits of a number are, least significant first, the axes that are summed over in
// each microbatch, the microbatch in time, the axes that are summed over after the last; the batch
// is cut accordingly (layout.n_inner), and there is but one such order in a program. Axes of the
// model divide what is worked on in blocks, in whole ones; sums over parts of sequences are inside
// a microbatch.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/placement/work.h"
#include "passes/reference/tensors.h"

// ---- E199: what is not summed in order yet ----------------------------------------------------

static struct diagnostic *not_in_order_yet(struct placing *p, const struct origin *origin,
                                           const char *what) {
    return not_yet(p, origin, arena_format(p->arena, "%s, where training is `reproducible`,", what),
                   "leave out `reproducible`");
}

static void report_copies(struct placing *p, const struct split_statement *split) {
    const char *axes = axes_text(p, &split->said);
    struct diagnostic *d = not_in_order_yet(p, &split->origin, "copying key and value heads");
    if (p->config->model.kv_heads == 1)
        diagnostic_help(d, "split neither, as the model has one of these, or leave out "
                           "`reproducible`");
    else
        diagnostic_help(d,
                        "split them over at most %" PRId64 " devices, as many as the model has, or "
                        "leave out `reproducible`",
                        p->config->model.kv_heads);
    diagnostic_say(d, "`%s` has %" PRId64 " devices", axes,
                   mesh_group_size(&p->config->mesh, &split->said));
}

// The batch, which is split alone, has an order, and what is worked on in blocks.
static void check_ordered_split(struct placing *p, const struct split_statement *split) {
    struct axis_list axes = effective_axes(p, &split->axes);
    if (split->dimensions[0] == DIM_BATCH)
        return;
    struct axis_list shared = axis_list_within(&axes, &p->placement->batch);
    if (shared.n) {
        struct diagnostic *d =
            not_in_order_yet(p, &split->origin, "dividing the model over axes of the batch");
        diagnostic_say(d, "`%s` splits the batch, too", axes_text(p, &shared));
        diagnostic_help(d, "divide it over other axes, or leave out `reproducible`");
    } else if (effective_axes(p, &split->copies).n) {
        report_copies(p, split);
    }
}

// A tensor in a range of its layers, and the route of its gradient.
struct summed {
    uint32_t tensor; // its number
    const struct placed_tensor *placed;
    struct route route;
};

// The axes over which a tensor's gradient is a sum over parts of sequences.
static uint64_t sum_over_sequences(const struct placing *p, uint32_t i) {
    const struct placement *placement = p->placement;
    const struct tensor *tensor = &p->program->job->tensors[i % placement->n_tensors];
    struct part part = {tensor->roles, tensor->n_roles,
                        placement->ranges[i / placement->n_tensors].begin};
    struct work_label labels[MAX_RANK + 1] = {{.dimensions = UINT32_C(1) << DIM_SEQUENCE}};
    struct axis_list cuts[MAX_RANK + 1];
    const struct work_rule *by[MAX_AXES];
    for (unsigned d = 0; d < tensor->rank; d++)
        labels[d + 1].dimensions = UINT32_C(1) << tensor->dims[d].dimension;
    work_cuts(placement, part, labels, tensor->rank + 1, cuts, by);
    return axis_list_mask(&cuts[0]);
}

// The axes of the model over which parts are kept before data axes sum them.
static struct axis_list kept_first(const struct placing *p, const struct axis_list *cuts) {
    struct axis_list kept = {0};
    for (unsigned i = 0; i < cuts->n && !axis_list_has(&p->placement->tokens, cuts->axes[i]); i++)
        axis_list_add(&kept, cuts->axes[i]);
    return kept;
}

// Each device keeps its part, as it stands in memory, of a gradient that those of an axis have
// alike. Nothing is known behind the last element of the whole, so all parts must be full: the axis
// over which they are not; -1: none. One sum over parts of sequences that is scattered over the
// axes of the shards fills them up; any other is whole first.
static int axis_of_short_parts(const struct placing *p, const struct summed *summed) {
    const struct mesh *mesh = &p->config->mesh;
    const struct placed_tensor *placed = summed->placed;
    const struct tensor *tensor = &p->program->job->tensors[summed->tensor];
    const struct route *route = &summed->route;
    struct axis_list kept = kept_first(p, &route->stations[route->sum].flat);
    bool scattered = route_hop(route, HOP_SCATTER_FIRST) && !has_several_terms(p, summed->tensor);
    bool full = divided_elements(p, tensor, placed) %
                    mesh_group_size(mesh, &placed->storage->shards[STATE_OPTIMIZER]) ==
                0;
    return tensor->trainable && kept.n && !full && !scattered ? kept.axes[0] : -1;
}

static void report_short_parts(struct placing *p, const struct summed *summed, unsigned axis) {
    int64_t parts =
        mesh_group_size(&p->config->mesh, &summed->placed->storage->shards[STATE_OPTIMIZER]);
    struct diagnostic *d = not_in_order_yet(
        p, stored_origin(summed->placed->storage, STATE_OPTIMIZER, axis),
        arena_format(p->arena, "sharding over `%s`, which divides the model, in parts of two sizes",
                     axis_name(p, axis)));
    diagnostic_say(d, "what a device has of `%s` is no multiple of %" PRId64 " elements",
                   tensor_model_name(&p->program->job->tensors[summed->tensor]), parts);
    diagnostic_help(d,
                    "take sizes that %" PRId64 " divides, shard over data axes only, or leave out "
                    "`reproducible`",
                    parts);
}

static void check_storage(struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct placed_tensor *placed = &placement->tensors[i];
        if (!placement_has(placement, p->program->job, i))
            continue;
        const struct summed summed = {i % placement->n_tensors, placed,
                                      gradient_route(p, placed->storage, sum_over_sequences(p, i))};
        int of_short = axis_of_short_parts(p, &summed);
        if (of_short < 0)
            continue;
        report_short_parts(p, &summed, (unsigned)of_short);
        return;
    }
}

static void check_kind(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t i = 0; i < strategy->n_splits; i++)
        check_ordered_split(p, &strategy->splits[i]);
    check_storage(p);
}

// ---- E313: what has no order --------------------------------------------------------------------

// What is lost in codes, and what islands train between averages, depends on how many there are. So
// the file promises what holds on no mesh, not even on one device, where nothing is lost.
static void check_relaxed(struct placing *p) {
    const struct train_config *train = &p->config->train;
    if (!p->config->strategy.n_relaxations)
        return;
    const struct relax_statement *relax = &p->config->strategy.relaxations[0];
    struct diagnostic *d = report_no_order(
        p, &relax->origin,
        "`relax` gives other results on every mesh, but training is `reproducible`");
    diagnostic_label(d, origin_span(&train->reproducible_origin), "the same results are promised");
    diagnostic_help(d, "leave out `reproducible`, or `relax` with what stands in it");
    if (train->reproducible_origin.kind == ORIGIN_STATEMENT)
        diagnostic_delete(d, train->reproducible_origin.span);
}

// ---- E313: sizes --------------------------------------------------------------------------------

static void check_number(struct placing *p) {
    const struct train_config *train = &p->config->train;
    int64_t devices = mesh_group_size(&p->config->mesh, &p->placement->batch);
    if (devices <= train->reproducible)
        return;
    struct diagnostic *d =
        report_no_order(p, &train->reproducible_origin,
                        arena_format(p->arena,
                                     "%" PRId64 " devices share the batch, more than "
                                     "`reproducible = %" PRId64 "`",
                                     devices, train->reproducible));
    if (devices > LIMIT_REPRODUCIBLE) {
        diagnostic_help(d, "split the batch over at most %d devices", LIMIT_REPRODUCIBLE);
        return;
    }
    diagnostic_help(d,
                    "raise `reproducible` to %" PRId64 ": it is the most devices that train to "
                    "these bits",
                    devices);
    propose_reproducible(p, d, devices);
}

static void check_powers(struct placing *p) {
    const struct train_config *train = &p->config->train;
    const struct axis_list *batch = &p->placement->batch;
    for (unsigned i = 0; i < batch->n; i++) {
        unsigned axis = batch->axes[i];
        if (is_power_of_two(axis_size(p, axis)))
            continue;
        struct diagnostic *d = report_no_order(
            p, &p->placement->split_by[axis]->origin,
            arena_format(p->arena, "`%s` has %" PRId64 " devices, which make no binary tree",
                         axis_name(p, axis), axis_size(p, axis)));
        diagnostic_help(d, "`reproducible` takes axes whose sizes are powers of two");
    }
    if (is_power_of_two(p->placement->microbatches))
        return;
    struct diagnostic *d =
        report_no_order(p, &train->batch_origin,
                        arena_format(p->arena, "%" PRId64 " microbatches make no binary tree",
                                     p->placement->microbatches));
    propose_microbatches(p, d);
}

// A dimension that axes cut, and a statement that says so; `split` is NULL where that is not one.
struct division {
    struct dim dim;
    struct axis_list cuts;
    const struct origin *origin;
    const struct split_statement *split;
};

// Axes that several statements bring go by the mesh, unless one statement names two of them.
static const struct split_statement *split_that_orders(const struct placing *p,
                                                       const struct axis_list *axes) {
    for (unsigned i = 0; i < axes->n; i++) {
        const struct split_statement *split = p->placement->split_by[axes->axes[i]];
        for (unsigned k = 0; split && k < axes->n; k++)
            if (k != i && axis_list_has(&split->axes, axes->axes[k]))
                return split;
    }
    return NULL;
}

static const char *one_before_another(struct placing *p, const struct axis_list *axes) {
    const char *text = "";
    for (unsigned i = 0; i < axes->n; i++)
        text = arena_format(p->arena, "%s%s`%s`", text, i ? " before " : "",
                            axis_name(p, axes->axes[i]));
    return text;
}

static void help_with_order(struct placing *p, struct diagnostic *d,
                            const struct division *division, const struct axis_list *sum) {
    const struct split_statement *split = division->split, *orders;
    if (split && axis_list_mask(&split->axes) == axis_list_mask(sum)) {
        diagnostic_help(d, "split it over `%s`", axes_text(p, sum));
        propose_split(p, d, split, sum);
    } else if ((orders = split_that_orders(p, sum))) {
        diagnostic_label(d, origin_span(&orders->origin), "sums go by this");
        diagnostic_help(d, "name %s there", one_before_another(p, &division->cuts));
        propose_split(p, d, orders, &division->cuts);
    } else {
        diagnostic_help(d, "name %s in the mesh", one_before_another(p, &division->cuts));
    }
}

// The devices of the last axis that cuts a dimension are neighbours in a sum over it.
static void check_sum_over(struct placing *p, const struct division *division) {
    const struct mesh *mesh = &p->config->mesh;
    const struct axis_list *cuts = &division->cuts;
    struct axis_list sum = placement_sum(p->placement, mesh, axis_list_mask(cuts));
    if (axis_list_equal(&sum, cuts))
        return;
    struct diagnostic *d = report_no_order(
        p, division->origin,
        arena_format(p->arena, "`%s` is divided over `%s`, but sums over these go by `%s`",
                     dimension_names[division->dim.dimension], mesh_axes_text(mesh, cuts, p->arena),
                     mesh_axes_text(mesh, &sum, p->arena)));
    help_with_order(p, d, division, &sum);
}

// Every device has whole blocks of what it is given a part of.
static void check_blocks(struct placing *p, const struct division *division) {
    const struct dim *dim = &division->dim;
    int64_t blocks = blocks_of(&p->program->job->policy, dim->dimension, dim->size);
    int64_t parts = mesh_group_size(&p->config->mesh, &division->cuts);
    if (blocks % parts == 0)
        return;
    const char *work =
        blocks == 1 ? "whole" : arena_format(p->arena, "in %" PRId64 " blocks", blocks);
    struct diagnostic *d =
        report_no_order(p, division->origin,
                        arena_format(p->arena, "`%s` is divided in %" PRId64 ", but worked on %s",
                                     dimension_names[dim->dimension], parts, work));
    diagnostic_say(d,
                   "as many blocks as the greatest power of two that divides %" PRId64
                   ", at most `reproducible` and %d",
                   dim->size, LIMIT_BLOCKS);
    if (is_power_of_two(parts) && parts <= LIMIT_BLOCKS && dim->size % parts == 0) {
        diagnostic_help(d, "raise `reproducible` to %" PRId64 ", which gives other bits", parts);
        propose_reproducible(p, d, parts);
    } else if (blocks > 1) {
        diagnostic_help(d, "divide it in a power of two that is at most %" PRId64, blocks);
    } else {
        diagnostic_help(d, "leave it whole on every device");
    }
}

static void check_division(struct placing *p, const struct division *division) {
    uint32_t errors = p->diagnostics->n_errors;
    check_blocks(p, division);
    if (p->diagnostics->n_errors == errors)
        check_sum_over(p, division);
}

// What no tensor says, rules do: of sequences always, of the vocabulary where a head divides work
// on a table that it shares.
static void check_scopes(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t i = 0; i < p->placement->n_rules && p->diagnostics->n_errors == errors; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        if (rule->dimension != DIM_SEQUENCE && rule->dimension != DIM_VOCAB)
            continue;
        struct division division = {
            .dim = {rule->dimension, dimension_size(p->config, rule->dimension)},
            .cuts = work_cuts_in_scope(p->placement, rule->scope, rule->dimension),
            .origin = rule_origin(rule),
            .split = rule->split};
        if (division.cuts.n)
            check_division(p, &division);
    }
}

static void check_dimensions(struct placing *p) {
    const struct placement *placement = p->placement;
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct tensor *tensor = &p->program->job->tensors[i % placement->n_tensors];
        const struct placed_tensor *placed = &placement->tensors[i];
        for (unsigned d = 0; d < tensor->rank && p->diagnostics->n_errors == errors; d++) {
            const struct axis_list *cuts = &placed->cuts[d];
            if (!cuts->n)
                continue;
            const struct split_statement *split = placed->cut_by[cuts->axes[0]];
            check_division(p, &(struct division){tensor->dims[d], *cuts, &split->origin, split});
        }
    }
    if (p->diagnostics->n_errors == errors)
        check_scopes(p);
}

// The stream's elements may be wider than what a part computes in, and so than its gradients can be made:
// what one microbatch gives would be rounded.
static bool check_stream(struct placing *p, const struct storage *storage) {
    const struct precision_config *precision = &p->config->train.precision;
    enum dtype stream = precision_type(precision, PRECISION_ACTIVATIONS, NULL, 0, 0);
    if (dtype_holds(storage->types.gradients, dtype_added_up_in(stream)))
        return true;
    enum precision_use said =
        precision->of_all[PRECISION_ACTIVATIONS] ? PRECISION_ACTIVATIONS : PRECISION_COMPUTE;
    not_in_order_yet(p, precision_origin(precision, said, NULL, 0, 0),
                     "adding up in fp64 gradients of a part in fewer bits");
    return false;
}

// Parameters that are rounded to be gathered, and then once more to what reads them, where one device
// rounds once.
static bool check_gathered(struct placing *p, const struct storage *storage,
                           const struct tensor *tensor) {
    const struct precision_config *precision = &p->config->train.precision;
    const int64_t layer = tensor->first_layer;
    enum dtype used = precision_of_work(precision, tensor->roles, tensor->n_roles, layer);
    enum dtype gathered = storage->types.gathered;
    if (storage->shards[STATE_PARAMETERS].n == 0 || dtype_holds(used, gathered) ||
        dtype_holds(gathered, storage->types.parameters))
        return true;
    const struct origin *origin =
        precision_origin(precision, PRECISION_GATHER, tensor->roles, tensor->n_roles, layer);
    struct diagnostic *d = report_no_order(
        p, origin,
        arena_format(p->arena, "parameters are rounded to %s to be gathered, and then to %s",
                     dtype_word(gathered), dtype_word(used)));
    diagnostic_say(d, "a device that has `%s` whole rounds it once, to other bits",
                   tensor_model_name(tensor));
    diagnostic_help(d, "say `%s = %s`, of which less is sent, too",
                    precision_said(p->arena, precision, PRECISION_GATHER, tensor->roles,
                                   tensor->n_roles, layer),
                    dtype_word(used));
    struct span span =
        precision_type_span(precision, PRECISION_GATHER, tensor->roles, tensor->n_roles, layer);
    if (span.source != NO_SOURCE)
        diagnostic_edit(d, span, "%s", dtype_word(used));
    return false;
}

// Sums over devices would be of another type than those over the microbatches of one.
static bool check_reduced(struct placing *p, const struct tensor *tensor) {
    const struct precision_config *precision = &p->config->train.precision;
    enum dtype reduced = precision_type(precision, PRECISION_REDUCE, tensor->roles, tensor->n_roles,
                                        tensor->first_layer);
    enum dtype sums = tensor_reduce(p->program->job, tensor);
    if (reduced == sums || !tensor->trainable ||
        !precision_says(precision, PRECISION_REDUCE, tensor->roles, tensor->n_roles,
                        tensor->first_layer))
        return true;
    const struct origin *origin = precision_origin(precision, PRECISION_REDUCE, tensor->roles,
                                                   tensor->n_roles, tensor->first_layer);
    struct diagnostic *d =
        report_no_order(p, origin,
                        arena_format(p->arena, "gradients are reduced in %s, but added up in %s",
                                     dtype_word(reduced), dtype_word(sums)));
    diagnostic_say(d, "how much is added up in which type depends on how many devices there are");
    diagnostic_help(d, "leave out `%s`: sums are rounded to `gradients` when they are whole",
                    precision_said(p->arena, precision, PRECISION_REDUCE, tensor->roles,
                                   tensor->n_roles, tensor->first_layer));
    return false;
}

static void check_rounding(struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t t = 0; t < placement->n_tensors; t++)
        if (!check_reduced(p, &p->program->job->tensors[t]))
            return;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct storage *storage = placement->tensors[i].storage;
        const struct tensor *tensor = &p->program->job->tensors[i % placement->n_tensors];
        if (!check_stream(p, storage) || !check_gathered(p, storage, tensor))
            return;
    }
}

// What is refused by one of these would be refused for the wrong reason by those behind it.
void check_order(struct placing *p) {
    static void (*const checks[])(struct placing *) = {
        check_relaxed, check_kind,       check_promised, check_powers,
        check_number,  check_dimensions, check_sums,     check_rounding};
    uint32_t errors = p->diagnostics->n_errors;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && p->config->train.reproducible; i++)
        if (p->diagnostics->n_errors == errors)
            checks[i](p);
}
