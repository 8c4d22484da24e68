// W830: what is said and has a meaning, but changes nothing here. A statement of another strategy
// may be overruled by one's own, that is what `use` is for; what the file itself says is meant to
// hold.
#include "ir/diagnostic.h"
#include "passes/place.h"

void report_decides_nothing(struct placing *p, const struct mode_statement *mode,
                            const struct mode_statement *instead) {
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "this places no `%s`", state_names[mode->state]);
    if (!instead) {
        diagnostic_say(d, "all that it selects is frozen");
        diagnostic_help(d, "leave it out, or give these parameters an optimizer in `train`");
        return;
    }
    diagnostic_say(d, "others hold for all that it selects");
    diagnostic_label(d, origin_span(&instead->origin), "this one, among them");
    diagnostic_help(d, "leave it out, or give it a longer selector");
}

// ---- options ----------------------------------------------------------------------------------

static struct diagnostic *report_option(struct placing *p, const struct mode_statement *mode,
                                        const char *option, const char *why) {
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "`%s` changes nothing here: %s", option, why);
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `%s` out", option);
    return d;
}

// The tensors, range by range, of which a statement says how a state is kept over some axis.
struct walk {
    const struct placing *p;
    const struct mode_statement *mode;
    uint32_t at; // the next one, in placement->tensors
};

static const struct placed_tensor *next_placed(struct walk *walk, unsigned *axis) {
    const struct placement *placement = walk->p->placement;
    enum state state = walk->mode->state;
    while (walk->at < placement->n_ranges * placement->n_tensors) {
        const struct placed_tensor *placed = &placement->tensors[walk->at++];
        for (*axis = 0; *axis < walk->p->config->mesh.n_axes; ++*axis)
            if (placed->extents[state][*axis].mode == walk->mode)
                return placed;
    }
    return NULL;
}

// ---- gradients --------------------------------------------------------------------------------

// Is the tensor's gradient summed over one of the statement's axes, and by an all_reduce?
struct sums_found {
    bool summed, all_reduced;
};

static bool sums_over(const struct axis_list *sum, const struct mode_statement *mode) {
    return those_in(sum, &mode->axes).n > 0;
}

static struct sums_found find_sums(struct placing *p, const struct mode_statement *mode) {
    struct sums_found found = {0};
    struct walk walk = {.p = p, .mode = mode};
    const struct placed_tensor *placed;
    for (unsigned axis; (placed = next_placed(&walk, &axis));) {
        struct gradient_sums sums = gradient_sums(p->placement, placed);
        struct axis_list each = axes_without(&sums.reduce_each, &placed->wire);
        struct axis_list last = axes_without(&sums.reduce_last, &placed->wire);
        found.all_reduced |= each.n + last.n > 0;
        found.summed |= sums_over(&sums.reduce_each, mode) || sums_over(&sums.reduce_last, mode) ||
                        sums_over(&sums.scatter_each, mode) || sums_over(&sums.scatter_last, mode);
    }
    return found;
}

static void check_gradients(struct placing *p, const struct mode_statement *mode) {
    bool says_when = mode->reduce == REDUCE_LAST || mode->reduce == REDUCE_EACH;
    if (!says_when && !mode->bucket_bytes)
        return;
    struct sums_found found = find_sums(p, mode);
    if (says_when && mode->axes.n && !found.summed)
        report_option(p, mode, "reduce",
                      arena_format(p->arena, "none of these gradients is summed over `%s`",
                                   axes_text(p, &mode->axes)));
    if (mode->bucket_bytes && !found.all_reduced)
        report_option(p, mode, "bucket",
                      mode->wire.way ? "gradients travel as codes, not by an all_reduce"
                                     : "each device gets its part of the sum, by no all_reduce");
}

// ---- gathered parameters ----------------------------------------------------------------------

// What is gathered together, all that a layer has, starts together: with the one that waits
// longest.
static int64_t prefetch_of_range(const struct placing *p, uint32_t range) {
    const struct placement *placement = p->placement;
    int64_t least = INT64_MAX;
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        const struct placed_tensor *placed = &placement->tensors[range * placement->n_tensors + t];
        if (p->program->tensors[t].layers && placed->shards[STATE_PARAMETERS].n &&
            placed->prefetch < least)
            least = placed->prefetch;
    }
    return least;
}

static void check_gathered(struct placing *p, const struct mode_statement *mode) {
    bool layers = false, followed = false;
    struct walk walk = {.p = p, .mode = mode};
    for (unsigned axis; next_placed(&walk, &axis);) {
        uint32_t n = p->placement->n_tensors, at = walk.at - 1;
        layers |= p->program->tensors[at % n].layers > 0;
        followed |= prefetch_of_range(p, at / n) == mode->prefetch;
    }
    if (!layers && mode->unit > UNIT_LAYER)
        report_option(p, mode, "unit", "no layer is among what is gathered");
    if (!layers && mode->prefetch != 1)
        report_option(p, mode, "prefetch", "no layer is among what is gathered");
    else if (layers && !followed)
        report_option(p, mode, "prefetch",
                      "a layer is gathered as a whole, and other parts of it start later");
}

// ---- relaxations ------------------------------------------------------------------------------

static bool gives_up(const struct mode_statement *mode, enum condition condition) {
    return condition == CONDITION_GRADIENT_INTEGRITY
               ? mode->reduce == REDUCE_NEVER || mode->wire.way != WIRE_NONE
               : mode->average_every > 0 || mode->outer.kind != OPTIMIZER_NONE;
}

// Reports list what is relaxed, so a condition that nothing gives up would be listed for nothing.
static void check_relaxed(struct placing *p, const struct relax_statement *relax,
                          enum condition condition) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (gives_up(&strategy->modes[m], condition) &&
            (!strategy->modes[m].axes.n || those_in(&strategy->modes[m].axes, &relax->axes).n))
            return;
    struct diagnostic *d =
        report(p->diagnostics, W830, origin_span(&relax->origin), "nothing gives up `%s` over `%s`",
               condition_names[condition], axes_text(p, &relax->axes));
    diagnostic_say(d, "it is proved even so");
    diagnostic_origin(d, &relax->origin);
    diagnostic_help(d, "leave `%s` out", condition_names[condition]);
}

void check_heard(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!mode->sets_extent || effective_axes(p, &mode->axes).n == 0)
            continue;
        if (mode->state == STATE_GRADIENTS && mode->extent == EXTENT_REPLICATED)
            check_gradients(p, mode);
        if (mode->state == STATE_PARAMETERS && mode->extent == EXTENT_GATHERED)
            check_gathered(p, mode);
    }
    for (uint32_t i = 0; i < strategy->n_relaxations; i++)
        for (int condition = 0; condition < N_CONDITIONS; condition++)
            if (strategy->relaxations[i].conditions[condition])
                check_relaxed(p, &strategy->relaxations[i], (enum condition)condition);
}
