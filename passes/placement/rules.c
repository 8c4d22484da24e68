// The rules of composition: which strategies have a meaning at all.
//
// They are checked before a program exists because they explain more than the refutation of a
// program would: each says what is wrong, why, and what to write instead. What a strategy says
// that has a meaning but is not compiled yet is refused here too, by E199 and at its place.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/alike.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/reference/select.h"

// ---- modes, each by itself --------------------------------------------------------------------

static bool touches_axes(const struct placing *p, const struct mode_statement *mode) {
    return effective_axes(p, &mode->axes).n > 0;
}

static bool splits_batch_over(const struct split_statement *split, unsigned axis) {
    for (uint32_t d = 0; d < split->n_dimensions; d++)
        if (split->dimensions[d] == DIM_BATCH)
            return axis_list_has(&split->axes, axis);
    return false;
}

// The statement that splits the batch over one of its axes is not always the first that names it (E303).
static const struct split_statement *batch_split_over(const struct placing *p, unsigned axis) {
    const struct split_statement *split = p->config->strategy.splits;
    while (!splits_batch_over(split, axis))
        split++;
    return split;
}

// An activation on a data axis is whole where it was computed: nobody else needs it.
static void report_data_activations(struct placing *p, const struct mode_statement *mode,
                                    unsigned axis) {
    struct diagnostic *d =
        report(p->diagnostics, E306, origin_span(&mode->origin),
               "activations cannot be cut over `%s`: it splits the batch", axis_name(p, axis));
    diagnostic_say(d, "each device computes on whole sequences of its own");
    diagnostic_label(d, origin_span(&batch_split_over(p, axis)->origin), "the batch is split here");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave activations replicated over `%s`", axis_name(p, axis));
    struct axis_list left = axis_list_without(&mode->axes, &p->placement->batch);
    if (mode->own_text)
        propose_axes(p, d, mode, &left);
    else if (mode->origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, mode->origin.span, "R");
}

// Ops work on rows of a tensor, and a flat shard has none.
static void report_flat_activations(struct placing *p, const struct mode_statement *mode,
                                    const char *axes) {
    struct diagnostic *d = report(p->diagnostics, E306, origin_span(&mode->origin),
                                  "activations are cut flat over `%s`, but nothing computes on "
                                  "flat shards of them",
                                  axes);
    diagnostic_say(d, "no dimension is named along which they are cut");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "cut them by a dimension");
    if (mode->origin.kind == ORIGIN_STATEMENT && mode->own_text)
        diagnostic_edit(d, origin_span(&mode->origin), "%s(%s by sequence)",
                        mode->extent == EXTENT_SHARDED ? "sharded" : "gathered", axes);
}

static void check_activations(struct placing *p, const struct mode_statement *mode) {
    struct axis_list axes = effective_axes(p, &mode->axes);
    if (mode->extent == EXTENT_REPLICATED || axes.n == 0)
        return;
    for (unsigned i = 0; i < axes.n; i++)
        if (axis_list_has(&p->placement->batch, axes.axes[i])) {
            report_data_activations(p, mode, axes.axes[i]);
            return;
        }
    if (mode->by != CUT_DIMENSION)
        report_flat_activations(p, mode, axes_text(p, &mode->axes));
    else if (mode->by_dimension != DIM_SEQUENCE)
        not_yet(p, &mode->origin,
                arena_format(p->arena, "cutting activations by `%s`",
                             dimension_names[mode->by_dimension]),
                "cut them by `sequence`");
}

// What is kept is gathered out of the shards over the other axes, so its own are among them.
static void check_kept_part(struct placing *p, const struct mode_statement *mode) {
    for (unsigned i = 0; i < mode->kept_axes.n; i++) {
        unsigned axis = mode->kept_axes.axes[i];
        if (axis_list_has(&mode->axes, axis))
            continue;
        struct diagnostic *d =
            report(p->diagnostics, E121, origin_span(&mode->origin),
                   "a part over `%s` is kept of parameters that are not gathered over `%s`",
                   axis_name(p, axis), axis_name(p, axis));
        diagnostic_origin(d, &mode->origin);
        diagnostic_help(d, "keep a part over some of the axes that `gathered` names");
    }
}

// Is there an op of the model for which all of the selectors hold?
static bool reaches(const struct placing *p, const struct selector *const *selectors, unsigned n) {
    for (uint32_t u = 0; u < p->program->job->n_units; u++) {
        const struct unit *unit = &p->program->job->units[u];
        for (uint32_t i = 0; unit->phase == PHASE_FORWARD && i < unit->n_ops; i++) {
            unsigned k = 0;
            while (k < n &&
                   selector_matches(selectors[k], unit->ops[i].roles, unit->ops[i].n_roles))
                k++;
            if (k == n)
                return true;
        }
    }
    return false;
}

static void check_recomputed(struct placing *p, const struct mode_statement *mode) {
    const struct selector *selector = &mode->selector;
    enum role last = selector->n_roles ? selector->roles[selector->n_roles - 1] : ROLE_LAYERS;
    if (mode->unit > UNIT_LAYER && last != ROLE_LAYERS) {
        struct diagnostic *d =
            report(p->diagnostics, E121, origin_span(&mode->origin),
                   "several layers are recomputed at once from the input of the first, not `%s` of "
                   "them alone",
                   role_names[last]);
        diagnostic_origin(d, &mode->origin);
        diagnostic_help(d, "leave `unit` out, or recompute whole layers");
    } else if (!reaches(p, &selector, 1)) {
        report_selects_nothing(p, mode, "nothing computed by");
    }
}

// E305: of two statements that no rank tells apart neither wins.
static void check_residencies_agree(struct placing *p, const struct mode_statement *first,
                                    const struct mode_statement *second) {
    const struct selector *both[] = {&first->selector, &second->selector};
    if (!first->sets_residency || !second->sets_residency || first->state != second->state ||
        live_alike(first, second) || residencies_compose(first, second) ||
        compare_statements(first, second) != 0 || !reaches(p, both, 2) ||
        !selectors_overlap(&first->selector, &second->selector))
        return;
    struct diagnostic *d =
        report(p->diagnostics, E305, origin_span(&second->origin),
               "two statements of equal rank say where `%s` live", state_names[second->state]);
    diagnostic_say(d, "the other says this, of the same values");
    diagnostic_label(d, origin_span(&first->origin), "one says this");
    diagnostic_origin(d, &second->origin);
    diagnostic_help(d, "keep one of them, or give one a longer selector");
}

static void check_mode(struct placing *p, const struct mode_statement *mode) {
    if (mode->sets_residency && mode->residency == RESIDENCY_MATERIALIZED &&
        mode->state == STATE_ACTIVATIONS)
        check_recomputed(p, mode);
    if (!mode->sets_extent || !touches_axes(p, mode))
        return;
    if (mode->state == STATE_ACTIVATIONS)
        check_activations(p, mode);
    else if (mode->keeps_part)
        check_kept_part(p, mode);
}

void check_modes(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        check_mode(p, &strategy->modes[m]);
        for (uint32_t k = 0; k < m; k++)
            check_residencies_agree(p, &strategy->modes[k], &strategy->modes[m]);
    }
}

// ---- states that must meet --------------------------------------------------------------------

// What the triple of extents on an axis lacks.
enum trouble {
    TROUBLE_NONE,
    TROUBLE_PARAMETERS, // shards of parameters, and nothing that computes on them
    TROUBLE_GRADIENTS,  // shards of gradients, whole updates
    TROUBLE_OPTIMIZER,  // shards of parameters, whole updates
    N_TROUBLES
};

// The triples that have a meaning (parameters, optimizer, gradients): R R R, R S R, R S S, S* S S,
// S* S R; of what is frozen R and S*. Of the others the first thing that is wrong is named.
static enum trouble trouble_of(const struct storage *storage, unsigned axis) {
    enum extent parameters = stored_extent(storage, STATE_PARAMETERS, axis);
    enum extent optimizer = stored_extent(storage, STATE_OPTIMIZER, axis);
    enum extent gradients = stored_extent(storage, STATE_GRADIENTS, axis);
    if (parameters == EXTENT_SHARDED)
        return TROUBLE_PARAMETERS;
    if (!storage->trained)
        return TROUBLE_NONE;
    if (gradients == EXTENT_SHARDED && optimizer == EXTENT_REPLICATED)
        return TROUBLE_GRADIENTS;
    if (parameters == EXTENT_GATHERED && optimizer == EXTENT_REPLICATED)
        return TROUBLE_OPTIMIZER;
    return TROUBLE_NONE;
}

// What is said about the optimizer may be about other axes, or about other tensors.
static const char *unsaid_of_optimizer(struct placing *p, const struct axis_list *axes) {
    const struct strategy_config *strategy = &p->config->strategy;
    bool other_axes = false;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state != STATE_OPTIMIZER || !mode->sets_extent || !touches_axes(p, mode))
            continue;
        struct axis_list about = effective_axes(p, &mode->axes);
        other_axes = true;
        if (axis_list_mask(&about) & axis_list_mask(axes))
            return arena_format(p->arena, "the optimizer of some tensors over `%s`",
                                axes_text(p, axes));
    }
    return other_axes ? arena_format(p->arena, "the optimizer over `%s`", axes_text(p, axes))
                      : "the optimizer";
}

static enum state state_of(enum trouble trouble) {
    return trouble == TROUBLE_GRADIENTS ? STATE_GRADIENTS : STATE_PARAMETERS;
}

// E402: every device would update the whole parameter with its part of the gradient. E307: whole
// optimizer states for parameters of which each device keeps a part.
static void report_whole_update(struct placing *p, const struct storage *storage,
                                enum trouble trouble, const struct axis_list *axes) {
    bool gradient = trouble == TROUBLE_GRADIENTS;
    enum state state = state_of(trouble);
    const struct origin *shards = stored_origin(storage, state, axes->axes[0]);
    const struct origin *optimizer = stored_origin(storage, STATE_OPTIMIZER, axes->axes[0]);
    struct diagnostic *d =
        gradient
            ? report(p->diagnostics, E402, origin_span(shards),
                     "gradients are sharded over `%s`, but the optimizer is replicated there",
                     axes_text(p, axes))
            : report(p->diagnostics, E307, origin_span(shards),
                     "parameters are stored as shards over `%s`, but the optimizer is whole there",
                     axes_text(p, axes));
    diagnostic_say(d, "each device keeps 1/%" PRId64 " of %s",
                   mesh_group_size(&p->config->mesh, axes),
                   gradient ? "the gradient" : "each parameter");
    if (optimizer)
        diagnostic_label(d, origin_span(optimizer), "each device updates the whole parameter");
    else
        diagnostic_note(d, "nothing is said about %s, so each device updates the whole parameter",
                        unsaid_of_optimizer(p, axes));
    diagnostic_origin(d, shards);
    diagnostic_help(d, "shard the optimizer too");
    propose_extent(p, d, storage, STATE_OPTIMIZER, EXTENT_SHARDED, axes,
                   storage->modes[state][axes->axes[0]]);
}

static struct axis_list replicated_axes(const struct storage *storage, enum state state,
                                        const struct axis_list *axes) {
    struct axis_list whole = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (stored_extent(storage, state, axes->axes[i]) == EXTENT_REPLICATED)
            axis_list_add(&whole, axes->axes[i]);
    return whole;
}

// E306: where no split cuts the weight there is no op that could use a part of it.
static void report_parameters(struct placing *p, const struct storage *storage,
                              const struct axis_list *axes) {
    const struct origin *parameters = stored_origin(storage, STATE_PARAMETERS, axes->axes[0]);
    const char *name = axes_text(p, axes);
    struct diagnostic *d =
        report(p->diagnostics, E306, origin_span(parameters),
               "parameters are sharded over `%s`, but nothing computes on shards", name);
    diagnostic_say(d, "each device keeps 1/%" PRId64 " of each parameter",
                   mesh_group_size(&p->config->mesh, axes));
    bool data = axis_list_has(&p->placement->tokens, axes->axes[0]);
    const struct split_statement *split = p->placement->split_by[axes->axes[0]];
    if (data)
        diagnostic_label(d, origin_span(&split->origin),
                         "over `%s` each device runs the whole model", name);
    else if (split)
        diagnostic_label(d, origin_span(&split->origin), "this does not cut their work");
    diagnostic_origin(d, parameters);
    const struct axis_list whole =
        storage->trained ? replicated_axes(storage, STATE_OPTIMIZER, axes) : (struct axis_list){0};
    diagnostic_help(d, "gather them before use%s", whole.n ? ", and shard the optimizer too" : "");
    propose_extent(p, d, storage, STATE_PARAMETERS, EXTENT_GATHERED, axes, NULL);
    if (whole.n)
        propose_extent(p, d, storage, STATE_OPTIMIZER, EXTENT_SHARDED, &whole,
                       storage->modes[STATE_PARAMETERS][axes->axes[0]]);
}

// One error per trouble and axis is enough: what holds of some tensors holds of their likes.
struct seen {
    uint64_t axes[N_TROUBLES];
};

static bool first_time(uint64_t *seen, unsigned axis) {
    bool first = !(*seen >> axis & 1);
    *seen |= UINT64_C(1) << axis;
    return first;
}

// Whether what is told of one axis, and what its help edits, is of the other too.
static bool same_statements(const struct placing *p, const struct storage *storage,
                            enum trouble trouble, unsigned a, unsigned b) {
    enum state state = state_of(trouble);
    const struct axis_list *tokens = &p->placement->tokens;
    if (trouble == TROUBLE_PARAMETERS && axis_list_has(tokens, a) != axis_list_has(tokens, b))
        return false;
    return storage->modes[state][a] == storage->modes[state][b] &&
           (trouble == TROUBLE_PARAMETERS ||
            storage->modes[STATE_OPTIMIZER][a] == storage->modes[STATE_OPTIMIZER][b]);
}

// The data axes, then those of the model.
static struct axis_list all_axes(const struct placing *p) {
    struct axis_list axes = p->placement->tokens;
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        if (axis_size(p, axis) > 1)
            axis_list_add(&axes, axis);
    return axes;
}

// These axes in the order in which a statement says them: in another one the help's would not agree
// with it.
static struct axis_list as_said(const struct mode_statement *mode, const struct axis_list *axes) {
    struct axis_list said = mode ? axis_list_within(&mode->axes, axes) : *axes;
    return said.n == axes->n ? said : *axes;
}

// The axes of a product are in trouble together, where the same statements speak about them.
static void check_axes(struct placing *p, const struct storage *storage, struct seen *seen) {
    const struct axis_list all = all_axes(p);
    for (unsigned i = 0; i < all.n; i++) {
        enum trouble trouble = trouble_of(storage, all.axes[i]);
        struct axis_list axes = {0};
        if (trouble == TROUBLE_NONE)
            continue;
        for (unsigned k = i; k < all.n; k++)
            if (trouble_of(storage, all.axes[k]) == trouble &&
                same_statements(p, storage, trouble, all.axes[i], all.axes[k]) &&
                first_time(&seen->axes[trouble], all.axes[k]))
                axis_list_add(&axes, all.axes[k]);
        if (axes.n)
            axes = as_said(storage->modes[state_of(trouble)][axes.axes[0]], &axes);
        if (axes.n && trouble == TROUBLE_PARAMETERS)
            report_parameters(p, storage, &axes);
        else if (axes.n)
            report_whole_update(p, storage, trouble, &axes);
    }
}

void check_states(struct placing *p) {
    struct seen seen = {0};
    uint32_t errors = p->diagnostics->n_errors;
    // A statement may be about both, and a remedy is to be one for what is trained, too.
    for (int frozen = 0; frozen < 2; frozen++)
        for (uint32_t i = 0; i < p->placement->n_storages; i++)
            if (p->placement->storages[i]->trained == !frozen)
                check_axes(p, p->placement->storages[i], &seen);
    for (uint32_t i = 0; i < p->placement->n_storages && p->diagnostics->n_errors == errors; i++)
        check_nesting(p, p->placement->storages[i]);
}
