// W830: what is said and has a meaning, but changes nothing here. A statement of another strategy
// may be overruled by one's own, that is what `use` is for; what the file itself says is meant to
// hold.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"

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

// ---- why an option changes nothing --------------------------------------------------------------
// That it changes nothing was found by deriving the step with another value of it. What stands here
// looks for the reason.

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
        if (!placement_has(placement, walk->p->program->job, walk->at - 1))
            continue;
        for (*axis = 0; *axis < walk->p->config->mesh.n_axes; ++*axis)
            if (placed->storage->modes[state][*axis] == walk->mode)
                return placed;
    }
    return NULL;
}

static struct unheard because(const char *why) {
    return (struct unheard){UNHEARD_HERE, why};
}

// ---- gradients

// Is the tensor's gradient summed over one of the statement's axes, and by an all_reduce?
struct sums_found {
    bool summed, all_reduced;
};

static bool sums_over(const struct hop *hop, const struct mode_statement *mode) {
    return hop_sums(hop) && (!mode->axes.n || axis_list_within(&hop->axes, &mode->axes).n > 0);
}

static struct sums_found find_sums(struct placing *p, const struct mode_statement *mode) {
    struct sums_found found = {0};
    struct walk walk = {.p = p, .mode = mode};
    const struct placed_tensor *placed;
    for (unsigned axis; (placed = next_placed(&walk, &axis));) {
        const struct route route = gradient_route(p, placed->storage, 0);
        for (unsigned i = 0; i < route.n_hops; i++) {
            const struct hop *hop = &route.hops[i];
            found.all_reduced |= hop_rows[hop->kind].action == ACTION_REDUCE;
            found.summed |= sums_over(hop, mode);
        }
    }
    return found;
}

static struct unheard why_reduce(struct placing *p, const struct mode_statement *mode) {
    if (!find_sums(p, mode).summed)
        return because(mode->axes.n
                           ? arena_format(p->arena, "none of these gradients is summed over `%s`",
                                          axes_text(p, &mode->axes))
                           : "none of these gradients is summed");
    bool once = p->placement->microbatches == 1; // after each is after the last
    return (struct unheard){.kind = once ? UNHEARD_HOLDS : UNHEARD_HERE};
}

static struct unheard why_bucket(struct placing *p, const struct mode_statement *mode) {
    struct sums_found found = find_sums(p, mode);
    return because(mode->wire.way ? "gradients travel as codes, not by an all_reduce"
                   : mode->reduce == REDUCE_NEVER || !found.summed
                       ? "these gradients are not summed"
                   : !found.all_reduced ? "each device gets its part of the sum, by no all_reduce"
                                        : "each of these sums travels alone");
}

// ---- gathered parameters

// What is gathered together, all that a layer has, starts together: with the one that waits
// longest.
static int64_t prefetch_of_range(const struct placing *p, uint32_t range) {
    const struct placement *placement = p->placement;
    int64_t least = INT64_MAX;
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        const struct storage *storage =
            placement->tensors[range * placement->n_tensors + t].storage;
        if (p->program->job->tensors[t].layers &&
            placement_has(placement, p->program->job, range * placement->n_tensors + t) &&
            storage->shards[STATE_PARAMETERS].n && storage->prefetch < least)
            least = storage->prefetch;
    }
    return least;
}

// Layers that a statement gathers: are there any, is it the one that the others wait for, and how
// many units are they at most?
struct gathered_layers {
    bool any, followed;
    int64_t units;
};

// Layers that are left over, fewer than a unit has, are a range of their own.
static struct gathered_layers find_gathered(const struct placing *p,
                                            const struct mode_statement *mode) {
    uint32_t n = p->placement->n_tensors, last = NO_ID;
    int64_t *units = ARENA_ARRAY(p->arena, int64_t, n + 1); // of each tensor
    struct gathered_layers found = {0};
    struct walk walk = {.p = p, .mode = mode};
    const struct placed_tensor *placed;
    for (unsigned axis; (placed = next_placed(&walk, &axis));) {
        uint32_t at = walk.at - 1, t = at % n;
        if (!p->program->job->tensors[t].layers || at == last)
            continue;
        units[t] += range_layers(&p->placement->ranges[at / n]) / placed->storage->gather_layers;
        found.any = true;
        found.followed |= prefetch_of_range(p, at / n) == mode->prefetch;
        found.units = units[t] > found.units ? units[t] : found.units;
        last = at;
    }
    return found;
}

// What backward of a layer needs comes in together, gathers among it.
static struct unheard why_activations_ahead(const struct placing *p,
                                            const struct mode_statement *mode) {
    if (mode->prefetch > p->config->model.layers)
        return (struct unheard){.kind = UNHEARD_BEYOND};
    return because("what else backward of these layers needs comes in later");
}

static struct unheard why_prefetch(struct placing *p, const struct mode_statement *mode) {
    if (mode->state == STATE_ACTIVATIONS)
        return why_activations_ahead(p, mode);
    struct gathered_layers found = find_gathered(p, mode);
    if (!found.any)
        return because(mode->residency == RESIDENCY_OFFLOADED
                           ? "nothing of it is brought for a layer ahead of its use"
                           : "no layer is among what is gathered");
    if (mode->kept_after_backward)
        return because("all is gathered before the first layer, and kept");
    if (!found.followed)
        return because("a layer is gathered as a whole, and other parts of it start later");
    if (mode->prefetch > p->config->model.layers)
        return (struct unheard){.kind = UNHEARD_BEYOND};
    if (found.units == 1)
        return because("these layers are gathered all at once");
    return because(mode->prefetch > found.units ? "there are fewer units of these layers" : NULL);
}

static struct unheard why_unit(struct placing *p, const struct mode_statement *mode) {
    if (mode->state == STATE_PARAMETERS && mode->sets_extent && !find_gathered(p, mode).any)
        return because("no layer is among what is gathered");
    bool beyond = mode->unit == UNIT_LAYERS && mode->unit_layers > p->config->model.layers;
    return (struct unheard){.kind = beyond ? UNHEARD_BEYOND : UNHEARD_HERE};
}

static struct unheard why_after_forward(struct placing *p, const struct mode_statement *mode) {
    (void)p;
    return because(mode->keeps_part ? "this part is what is stored anyway, as with `freed`" : NULL);
}

// ---- activations

static struct unheard why_activations(struct placing *p, const struct mode_statement *mode) {
    if (mode->residency == RESIDENCY_OFFLOADED && p->placement->pipeline.axes.n)
        return because("nothing is kept of it but what layers hand on, which stays here");
    if (mode->residency != RESIDENCY_STORED)
        return because("nothing of it is kept from forward to backward");
    const char *axes = axes_text(p, &mode->axes);
    return because(
        arena_format(p->arena,
                     mode->extent == EXTENT_GATHERED
                         ? "nothing that it selects is kept whole over `%s` for backward"
                         : "all that it selects and that can be cut is cut over `%s` already",
                     axes));
}

struct unheard why_unheard(const struct config *config, const struct program *program,
                           const struct placement *placement, struct arena *arena,
                           const struct mode_statement *mode, const char *option) {
    static const struct {
        const char *option;
        struct unheard (*why)(struct placing *, const struct mode_statement *);
    } reasons[] = {{"reduce", why_reduce},
                   {"bucket", why_bucket},
                   {"prefetch", why_prefetch},
                   {"unit", why_unit},
                   {"after_forward", why_after_forward}};
    struct placement placed = *placement;
    struct placing p = {.config = config, .program = program, .arena = arena, .placement = &placed};
    if (!option)
        return mode->state == STATE_ACTIVATIONS ? why_activations(&p, mode) : because(NULL);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].option, option) == 0)
            return reasons[i].why(&p, mode);
    return because(NULL);
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
            (!strategy->modes[m].axes.n ||
             axis_list_within(&strategy->modes[m].axes, &relax->axes).n))
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
    for (uint32_t i = 0; i < strategy->n_relaxations; i++)
        for (int condition = 0; condition < N_CONDITIONS; condition++)
            if (strategy->relaxations[i].conditions[condition])
                check_relaxed(p, &strategy->relaxations[i], (enum condition)condition);
}
