// place, work: the rules by which work is divided (work.h), in the order in which their cuts nest,
// and what they cut of every tensor.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/placement/work.h"
#include "passes/reference/select.h"

// An axis between islands has its work in the batch that is dealt out to them: on an island all is
// there.
static void add_rule(struct placing *p, struct work_rule rule) {
    struct placement *placement = p->placement;
    if (!axis_list_has(&placement->islands, rule.axis))
        ARENA_PUSH(p->arena, placement->rules, placement->n_rules, placement->cap_rules, rule);
    if (rule.split && !placement->split_by[rule.axis])
        placement->split_by[rule.axis] = rule.split;
}

// ---- splits -----------------------------------------------------------------------------------

// A device works on one microbatch after the other of what the data axes left it: the cut in time
// stands inside theirs.
static void add_microbatches(struct placing *p) {
    static const struct selector everything = {.span = {.source = NO_SOURCE}};
    const struct train_config *train = &p->config->train;
    int64_t parts = mesh_group_size(&p->config->mesh, &p->placement->batch);
    p->placement->microbatches = train->batch / parts / train->microbatch;
    if (p->placement->microbatches > 1)
        add_rule(p, (struct work_rule){.axis = (uint8_t)p->config->mesh.n_axes,
                                       .dimension = DIM_BATCH,
                                       .scope = &everything});
}

static void add_split(struct placing *p, const struct split_statement *split) {
    struct axis_list axes = effective_axes(p, &split->axes);
    for (uint32_t d = 0; d < split->n_dimensions; d++) {
        if (split->dimensions[d] == DIM_BATCH)
            p->placement->batch = axes;
        bool tokens = split->dimensions[d] == DIM_BATCH ||
                      (split->dimensions[d] == DIM_SEQUENCE && !p->placement->ordered);
        for (unsigned i = 0; i < axes.n && tokens && split->scope.n_roles == 0; i++)
            if (!axis_list_has(&p->placement->islands, axes.axes[i]))
                axis_list_add(&p->placement->tokens, axes.axes[i]);
        for (unsigned i = 0; i < axes.n; i++)
            add_rule(p, (struct work_rule){.axis = axes.axes[i],
                                           .dimension = split->dimensions[d],
                                           .scope = &split->scope,
                                           .split = split});
    }
}

static void add_copies(struct placing *p, const struct split_statement *split) {
    struct axis_list axes = effective_axes(p, &split->copies);
    for (uint32_t d = 0; d < split->n_dimensions; d++)
        for (unsigned i = 0; i < axes.n; i++)
            add_rule(p, (struct work_rule){.axis = axes.axes[i],
                                           .dimension = split->dimensions[d],
                                           .copies = true,
                                           .scope = &split->scope,
                                           .split = split});
}

// Outer scopes first: their cuts are the outer ones. Of one scope, what is cut wins over copies.
static void add_splits(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    uint32_t deepest = 0;
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        if (strategy->splits[s].scope_depth > deepest)
            deepest = strategy->splits[s].scope_depth;
    for (uint32_t depth = 0; depth <= deepest; depth++) {
        for (uint32_t s = 0; s < strategy->n_splits; s++)
            if (strategy->splits[s].scope_depth == depth)
                add_copies(p, &strategy->splits[s]);
        for (uint32_t s = 0; s < strategy->n_splits; s++)
            if (strategy->splits[s].scope_depth == depth)
                add_split(p, &strategy->splits[s]);
    }
    add_microbatches(p);
}

// ---- stored activations -----------------------------------------------------------------------

// Activations that are stored as parts are computed as parts, where no split says otherwise.
static void add_storage(struct placing *p, const struct mode_statement *mode) {
    bool sharded = mode->extent == EXTENT_SHARDED;
    struct axis_list axes = effective_axes(p, &mode->axes);
    for (unsigned axis = 0; axis < p->config->mesh.n_axes && !mode->axes.n; axis++)
        axis_list_add(&axes, axis); // `replicated` of all
    for (unsigned i = 0; i < axes.n; i++)
        add_rule(p, (struct work_rule){.axis = axes.axes[i],
                                       .dimension = sharded ? mode->by_dimension : DIM_NONE,
                                       .scope = &mode->selector,
                                       .mode = mode});
}

// Weaker statements first, by insertion: there are few.
static void add_stored_activations(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct mode_statement **sorted =
        ARENA_ARRAY(p->arena, const struct mode_statement *, strategy->n_modes + 1);
    uint32_t n = 0;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state != STATE_ACTIVATIONS || !mode->sets_extent)
            continue;
        uint32_t at = n++;
        for (; at > 0 && compare_statements(sorted[at - 1], mode) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = mode;
    }
    for (uint32_t i = 0; i < n; i++)
        add_storage(p, sorted[i]);
}

// ---- whether what is said of activations says something ---------------------------------------

struct reach {                           // of a mode, over all ops of the model
    bool matches;                        // some op has the role
    const struct split_statement *split; // that cuts such an op where the mode would
    bool decides;
    const struct mode_statement *tie; // of equal rank, about the same op
    unsigned tie_axis;
};

// Keys and values whose positions a split divides are gathered for attention.
static bool gathers_keys(const struct mode_statement *mode, const struct work_rule *winner) {
    const struct selector *selector = &mode->selector;
    return mode->extent == EXTENT_GATHERED && winner && winner->split &&
           winner->dimension == DIM_SEQUENCE && selector->n_roles > 0 &&
           selector->roles[selector->n_roles - 1] == ROLE_KV;
}

static void reach_op(struct placing *p, const struct unit *unit, const struct op *op, int64_t layer,
                     struct reach *reach) {
    struct work_label labels[MAX_LABELS];
    struct axis_list cuts[MAX_LABELS];
    char letters[MAX_LABELS + 1];
    const struct work_rule *by[MAX_AXES];
    unsigned n = work_labels(unit, op, letters, labels);
    work_cuts(p->placement, (struct part){op->roles, op->n_roles, layer}, labels, n, cuts, by);
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct work_rule *rule = &p->placement->rules[i], *winner = by[rule->axis];
        if (!rule->mode || !selector_matches(rule->scope, op->roles, op->n_roles) ||
            !selector_covers(rule->scope, layer))
            continue;
        struct reach *mine = &reach[rule->mode - p->config->strategy.modes];
        mine->matches = true;
        bool same = winner && winner->mode && winner->mode->said == rule->mode->said &&
                    rule->mode->said; // for another selector
        mine->decides |= winner == rule || same || gathers_keys(rule->mode, winner);
        if (winner && winner->split)
            mine->split = winner->split;
        if (winner && winner->mode && winner != rule && is_tie(winner->mode, rule->mode)) {
            mine->tie = winner->mode;
            mine->tie_axis = rule->axis;
        }
    }
}

// What is cut already, or not there, is not stored otherwise either.
static void report_idle(struct placing *p, const struct mode_statement *mode,
                        const struct split_statement *split) {
    if (!split) {
        report_selects_nothing(p, mode, "no activation of");
        return;
    }
    struct diagnostic *d = report(p->diagnostics, E304, origin_span(&mode->origin),
                                  "all work on these activations is cut already, by a split");
    diagnostic_say(d, "a mode places what the splits leave whole");
    diagnostic_label(d, origin_span(&split->origin), "this cuts it over `%s`",
                     axes_text(p, &split->axes));
    diagnostic_help(d, "leave this mode out, or select other activations");
    propose_axes(p, d, mode, &(struct axis_list){0});
    diagnostic_origin(d, &mode->origin);
}

static void check_reach(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    struct reach *reach = ARENA_ARRAY(p->arena, struct reach, strategy->n_modes + 1);
    for (uint32_t u = 0; u < p->program->job->n_units; u++) {
        const struct unit *unit = &p->program->job->units[u];
        for (uint32_t i = 0; i < unit->n_ops && unit->phase != PHASE_UPDATE; i++)
            for (uint32_t r = 0; unit->ops[i].n_operands && r < p->placement->n_ranges; r++)
                reach_op(p, unit, &unit->ops[i], p->placement->ranges[r].begin, reach);
    }
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (reach[m].tie)
            report_tie(p, mode, reach[m].tie, reach[m].tie_axis);
        else if (mode->state == STATE_ACTIVATIONS && mode->extent != EXTENT_REPLICATED &&
                 effective_axes(p, &mode->axes).n && !reach[m].decides)
            report_idle(p, mode, reach[m].split);
    }
}

// ---- the whole --------------------------------------------------------------------------------

void make_rules(struct placing *p) {
    add_splits(p);
    add_stored_activations(p);
}

void place_work(struct placing *p) {
    const struct placement *placement = p->placement;
    if (!p->work_is_right)
        check_reach(p);
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        const struct tensor *tensor = &p->program->job->tensors[i % placement->n_tensors];
        struct placed_tensor *placed = &placement->tensors[i];
        const struct work_rule *by[MAX_AXES];
        int64_t layer = placement->ranges[i / placement->n_tensors].begin;
        work_cuts_of_dims(placement, (struct part){tensor->roles, tensor->n_roles, layer},
                          tensor->dims, tensor->rank, placed->cuts, by);
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (by[axis] && !by[axis]->copies)
                placed->cut_by[axis] = by[axis]->split;
    }
}
