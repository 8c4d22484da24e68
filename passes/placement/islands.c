// place, islands: which local steps have a meaning. Devices that take steps of their own over an
// axis need sequences of their own there, whole states to step with, and an average that makes them
// one model again; an average of what is equal would do nothing.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/reference/islands.h"

typedef bool (*mode_test)(const struct mode_statement *);

static bool never_reduces(const struct mode_statement *mode) {
    return mode->reduce == REDUCE_NEVER;
}

static bool averages(const struct mode_statement *mode) {
    return mode->average_every > 0;
}

// The first mode over the axis that does so.
static const struct mode_statement *find_mode(const struct placing *p, unsigned axis,
                                              mode_test test) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (test(mode) && (mode->axes.n == 0 || axis_list_has(&mode->axes, axis)))
            return mode;
    }
    return NULL;
}

// The axes over which `one` is said and `other` is not.
static struct axis_list unmatched(const struct placing *p, mode_test one, mode_test other) {
    struct axis_list axes = {0};
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        if (axis_size(p, axis) > 1 && find_mode(p, axis, one) && !find_mode(p, axis, other))
            axis_list_add(&axes, axis);
    return axes;
}

// ---- E310: both or neither --------------------------------------------------------------------

static void report_never_averaged(struct placing *p, const struct axis_list *axes) {
    const struct mode_statement *mode = find_mode(p, axes->axes[0], never_reduces);
    const char *text = axes_text(p, axes);
    struct diagnostic *d =
        report(p->diagnostics, E310, origin_span(&mode->origin),
               "gradients are never summed over `%s`, and parameters never averaged", text);
    diagnostic_say(d, "this trains %" PRId64 " models that know nothing of each other",
                   mesh_group_size(&p->config->mesh, axes));
    diagnostic_origin(d, &mode->origin);
    const char *average =
        arena_format(p->arena, "parameters : replicated(%s, average = every(100))", text);
    diagnostic_help(d, "average them, where state_consistency is relaxed too: `%s`", average);
    propose_relaxed(p, d, mode, CONDITION_STATE_CONSISTENCY, average);
}

static void report_equal_averages(struct placing *p, const struct axis_list *axes) {
    const struct mode_statement *mode = find_mode(p, axes->axes[0], averages);
    const char *text = axes_text(p, axes);
    struct diagnostic *d =
        report(p->diagnostics, E310, origin_span(&mode->origin),
               "parameters are averaged over `%s`, where their copies are equal", text);
    diagnostic_say(d, "gradients are summed there in every step");
    diagnostic_origin(d, &mode->origin);
    const char *never = arena_format(p->arena, "gradients : replicated(%s, reduce = never)", text);
    diagnostic_help(d,
                    "let devices take steps of their own, where gradient_integrity is relaxed too: "
                    "`%s`",
                    never);
    propose_relaxed(p, d, mode, CONDITION_GRADIENT_INTEGRITY, never);
}

// ---- E311: an axis between islands divides the batch, and nothing else ------------------------

static void report_no_batch(struct placing *p, unsigned axis) {
    const struct mode_statement *mode = find_mode(p, axis, never_reduces);
    struct diagnostic *d = report(p->diagnostics, E311, origin_span(&mode->origin),
                                  "`%s` does not split the batch, so its devices have no sequences "
                                  "of their own to take steps with",
                                  axis_name(p, axis));
    const struct split_statement *split = p->placement->split_by[axis];
    if (split)
        diagnostic_label(d, origin_span(&split->origin), "what it splits");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "sum gradients over it, or split the batch over it");
}

static void report_other_split(struct placing *p, unsigned axis,
                               const struct split_statement *split) {
    const struct mode_statement *mode = find_mode(p, axis, never_reduces);
    struct diagnostic *d = report(p->diagnostics, E311, origin_span(&split->origin),
                                  "`%s` splits `%s`, but its devices take steps of their own",
                                  axis_name(p, axis), dimension_names[split->dimensions[0]]);
    diagnostic_say(d, "parts of one model would be of different steps");
    diagnostic_label(d, origin_span(&mode->origin), "gradients are never summed over it");
    diagnostic_origin(d, &split->origin);
    diagnostic_help(d, "split it over an axis on which gradients are summed");
}

static bool splits_batch(const struct split_statement *split) {
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] != DIM_BATCH)
            return false;
    return split->scope.n_roles == 0;
}

static void check_splits_of(struct placing *p, unsigned axis) {
    const struct strategy_config *strategy = &p->config->strategy;
    if (!axis_list_has(&p->placement->batch, axis)) {
        report_no_batch(p, axis);
        return;
    }
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        if (axis_list_has(&strategy->splits[s].axes, axis) && !splits_batch(&strategy->splits[s]))
            report_other_split(p, axis, &strategy->splits[s]);
}

// The average is said in the mode; and, where gradients are summed as everywhere else, that they
// are not.
static void propose_average(struct placing *p, struct diagnostic *d,
                            const struct mode_statement *mode) {
    const char *axes = axes_text(p, &mode->axes);
    struct span at = mode->origin.span;
    if (mode->origin.kind != ORIGIN_STATEMENT || mode->axes.n == 0)
        return;
    at.begin = --at.end;
    diagnostic_edit(d, at, ", average = every(100)");
    if (!find_mode(p, mode->axes.axes[0], never_reduces))
        propose_relaxed(p, d, mode, CONDITION_GRADIENT_INTEGRITY,
                        arena_format(p->arena, "gradients : replicated(%s, reduce = never)", axes));
}

static void report_outer_alone(struct placing *p, const struct mode_statement *mode) {
    struct diagnostic *d =
        report(p->diagnostics, E310, origin_span(&mode->origin),
               "an outer optimizer steps from averages of parameters, and none is taken");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "say how often: `average = every(100)` beside it");
    propose_average(p, d, mode);
}

// All that averages is one step of the program, so it says the same.
static void check_alike(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct mode_statement *first = NULL;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->outer.kind != OPTIMIZER_NONE && !averages(mode)) {
            report_outer_alone(p, mode);
            return;
        }
        first = first || !averages(mode) ? first : mode;
        if (!averages(mode) || (mode->average_every == first->average_every &&
                                !*optimizer_differences(p->arena, &mode->outer, &first->outer)))
            continue;
        not_yet(p, &mode->origin, "averaging over several axes, over each in its own way,",
                "average over their product, in one statement");
        return;
    }
}

void check_islands(struct placing *p) {
    struct axis_list apart = unmatched(p, never_reduces, averages);
    struct axis_list equal = unmatched(p, averages, never_reduces);
    if (apart.n)
        report_never_averaged(p, &apart);
    if (equal.n)
        report_equal_averages(p, &equal);
    for (unsigned i = 0; i < p->placement->islands.n; i++)
        check_splits_of(p, p->placement->islands.axes[i]);
    check_alike(p);
}

// ---- E311: every island has all of its states -------------------------------------------------

static void report_shared_state(struct placing *p, const struct mode_statement *mode,
                                unsigned axis) {
    const struct mode_statement *never = find_mode(p, axis, never_reduces);
    struct diagnostic *d =
        report(p->diagnostics, E311, origin_span(&mode->origin),
               "%s are kept as shards over `%s`, but its devices take steps of their own",
               mode->state == STATE_OPTIMIZER ? "the optimizer's states" : state_names[mode->state],
               axis_name(p, axis));
    diagnostic_say(d, "shards of one state would be of different steps");
    diagnostic_label(d, origin_span(&never->origin), "gradients are never summed over it");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "shard over axes on which gradients are summed");
    struct axis_list left = axis_list_without(&mode->axes, &p->placement->islands);
    propose_axes(p, d, mode, &left);
}

// Are these tensors stepped and averaged as all others are, or never? False, once reported.
static bool check_storage(struct placing *p, const struct storage *storage, unsigned axis) {
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
        const struct mode_statement *mode = storage->modes[state][axis];
        if (stored_extent(storage, state, axis) != EXTENT_REPLICATED) {
            if (storage->trained)
                report_shared_state(p, mode, axis);
            else
                not_yet(p, &mode->origin, "gathering frozen parameters from other islands",
                        "shard over axes on which gradients are summed");
            return false;
        }
        bool as_relaxed = !storage->trained           ? true
                          : state == STATE_GRADIENTS  ? mode && never_reduces(mode)
                          : state == STATE_PARAMETERS ? mode && averages(mode)
                                                      : true;
        if (!as_relaxed) {
            not_yet(p, mode ? &mode->origin : &find_mode(p, axis, never_reduces)->origin,
                    "taking local steps with a part of the model",
                    "say it without a selector, of the whole model");
            return false;
        }
    }
    return true;
}

void check_island_states(struct placing *p) {
    const struct placement *placement = p->placement;
    for (unsigned i = 0; i < placement->islands.n; i++)
        for (uint32_t k = 0; k < placement->n_storages; k++)
            if (!check_storage(p, placement->storages[k], placement->islands.axes[i]))
                return;
}
