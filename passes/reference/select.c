// Selectors against tensors; see select.h and docs/language.md.
#include "passes/reference/select.h"

#include <string.h>

#include "ir/limits.h"
#include "passes/reference/muon.h"

bool selectors_overlap(const struct selector *a, const struct selector *b) {
    if (!a->has_slice || !b->has_slice)
        return true;
    for (int64_t layer = a->slice_begin; !selector_covers(b, layer); layer += a->slice_step)
        if (a->slice_step >= a->slice_end - layer)
            return false;
    return true;
}

bool selector_is_partial(const struct selector *selector, int64_t layers) {
    return selector->has_slice && !(selector->slice_begin == 0 && selector->slice_end == layers &&
                                    selector->slice_step == 1);
}

struct diagnostic *report_selects_no(const char *words, struct diagnostics *diagnostics,
                                     const struct model_config *model,
                                     const struct selector *selector, struct span at,
                                     const char *of) {
    struct diagnostic *d =
        report(diagnostics, E119, at, "%s model `%s` has this role", words, model->name);
    bool tied = model->tied && selector->n_roles == 1 && selector->roles[0] == ROLE_HEAD;
    if (tied) {
        diagnostic_say(d, "tied: it is the embedding");
        diagnostic_help(d, "select `embedding`, whose table the head reads too");
    } else {
        diagnostic_help(
            d, "select another part: `placec explain roles` prints all, with what each owns");
    }
    if (tied && of)
        diagnostic_edit(d, at, "%s.embedding", of);
    return d;
}

const char *settles_slices(const struct selector *a, const struct selector *b) {
    if (a->has_slice != b->has_slice)
        return "keep one of them: a slice makes no selector longer";
    bool same = a->n_roles == b->n_roles && memcmp(a->roles, b->roles, a->n_roles) == 0;
    return a->has_slice && same
               ? "keep one of them, or let the layers of one leave out those of the other"
               : NULL;
}

const char *selectors_joined(struct arena *arena, const char *text, const struct tensor *tensor,
                             const struct selector *a, const struct selector *b) {
    unsigned of_a = 0, of_b = 0;
    for (unsigned i = 0; i < tensor->n_roles; i++) {
        bool in_a = of_a < a->n_roles && a->roles[of_a] == tensor->roles[i];
        bool in_b = of_b < b->n_roles && b->roles[of_b] == tensor->roles[i];
        of_a += in_a;
        of_b += in_b;
        if (in_a || in_b)
            text = arena_format(arena, "%s.%s", text, role_names[tensor->roles[i]]);
    }
    return text;
}

const struct optimizer_rule *optimizer_rule_of(const struct train_config *train,
                                               const struct tensor *tensor, int64_t layer) {
    const struct optimizer_rule *best = &train->optimizers[0];
    for (uint32_t i = 1; i < train->n_optimizers; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        if (selector_matches(&rule->selector, tensor->roles, tensor->n_roles) &&
            selector_covers(&rule->selector, layer) &&
            (rule->optimizer.kind != OPTIMIZER_MUON || is_muon_matrix(tensor)) &&
            rule->selector.n_roles > best->selector.n_roles)
            best = rule;
    }
    return best;
}

bool optimizers_alike(const struct train_config *train, const struct job *job, int64_t a,
                      int64_t b) {
    struct arena scratch = {0};
    bool alike = true;
    for (uint32_t t = 0; t < job->n_tensors && alike; t++) {
        const struct optimizer_rule *first = optimizer_rule_of(train, &job->tensors[t], a);
        const struct optimizer_rule *second = optimizer_rule_of(train, &job->tensors[t], b);
        alike = first == second ||
                !*optimizer_differences(&scratch, &first->optimizer, &second->optimizer);
    }
    arena_free(&scratch);
    return alike;
}

int64_t optimizer_next(const struct train_config *train, int64_t layer) {
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < train->n_optimizers; i++) {
        int64_t of_rule = selector_next(&train->optimizers[i].selector, layer);
        next = of_rule < next ? of_rule : next;
    }
    return next;
}

struct layer_ranges precision_ranges(struct arena *arena, const struct precision_config *precision,
                                     int64_t layers) {
    struct layer_ranges ranges = {0};
    uint32_t cap = 0;
    for (int64_t begin = 0, end; begin < layers; begin = end) {
        int64_t next = precision_next(precision, begin);
        end = next < layers ? next : layers;
        struct layer_range *last = ranges.n ? &ranges.list[ranges.n - 1] : NULL;
        if (last && precision_alike(precision, last->begin, begin))
            last->end = end;
        else
            ARENA_PUSH(arena, ranges.list, ranges.n, cap, (struct layer_range){begin, end, 1});
    }
    return ranges;
}

void report_layer_ranges(struct diagnostics *diagnostics, struct arena *arena, const char *use,
                         const struct origin *origin) {
    report_not_built(diagnostics, origin,
                     arena_format(arena, "saying other %s of more than %d ranges of layers", use,
                                  LIMIT_LAYER_RANGES),
                     "say the same of layers that follow one another, as in `layers[0:4]`");
}

// The first layer behind this one in which other tensors begin.
static int64_t next_tensors(const struct job *job, int64_t layer) {
    int64_t next = job->sizes.layers;
    for (uint32_t t = 0; t < job->n_tensors; t++)
        if (job->tensors[t].first_layer > layer && job->tensors[t].first_layer < next)
            next = job->tensors[t].first_layer;
    return next;
}

struct layer_ranges optimizer_ranges(struct arena *arena, const struct train_config *train,
                                     const struct job *job) {
    struct layer_ranges ranges = {0};
    uint32_t cap = 0;
    int64_t tensors = 0; // where the present ones end
    for (int64_t begin = 0, end; begin < job->sizes.layers; begin = end) {
        bool apart = begin == tensors;
        if (apart)
            tensors = next_tensors(job, begin);
        int64_t next = optimizer_next(train, begin);
        end = next < tensors ? next : tensors;
        struct layer_range *last = ranges.n ? &ranges.list[ranges.n - 1] : NULL;
        if (!apart && optimizers_alike(train, job, last->begin, begin))
            last->end = end;
        else
            ARENA_PUSH(arena, ranges.list, ranges.n, cap, (struct layer_range){begin, end, 1});
    }
    return ranges;
}

int compare_statements(const struct mode_statement *a, const struct mode_statement *b) {
    if (a->selector.n_roles != b->selector.n_roles)
        return a->selector.n_roles > b->selector.n_roles ? 1 : -1;
    return (int)a->own_text - (int)b->own_text;
}

bool is_tie(const struct mode_statement *a, const struct mode_statement *b) {
    return compare_statements(a, b) == 0 && (a->said == 0 || a->said != b->said);
}

struct modes_by_layer modes_by_layer(struct arena *arena, const struct strategy_config *strategy) {
    const struct selector **selectors =
        ARENA_ARRAY(arena, const struct selector *, strategy->n_modes + 1);
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        selectors[m] = &strategy->modes[m].selector;
    return (struct modes_by_layer){strategy,
                                   selectors_by_layer(arena, selectors, strategy->n_modes)};
}

// Two things are said of activations: what is made again, and where the rest is kept. That they are
// stored says both.
static bool says_where(const struct mode_statement *mode) {
    return mode->residency != RESIDENCY_MATERIALIZED;
}

static bool says_whether(const struct mode_statement *mode) {
    return mode->state != STATE_ACTIVATIONS || mode->residency != RESIDENCY_OFFLOADED;
}

static const struct mode_statement *best_residency(const struct modes_by_layer *modes,
                                                   enum state state, const uint8_t *roles,
                                                   unsigned n_roles, int64_t layer,
                                                   bool (*says)(const struct mode_statement *)) {
    const struct mode_statement *best = NULL;
    const struct stretch *stretch = stretch_at(&modes->index, layer);
    for (uint32_t i = 0; i < stretch->n; i++) {
        const struct mode_statement *mode = &modes->strategy->modes[stretch->numbers[i]];
        if (mode->state == state && mode->sets_residency && says(mode) &&
            selector_matches(&mode->selector, roles, n_roles) &&
            selector_covers(&mode->selector, layer) &&
            (!best || compare_statements(mode, best) > 0))
            best = mode;
    }
    return best;
}

const struct mode_statement *residency_of(const struct modes_by_layer *modes, enum state state,
                                          const uint8_t *roles, unsigned n_roles, int64_t layer) {
    return best_residency(modes, state, roles, n_roles, layer, says_whether);
}

const struct mode_statement *offloads_activations(const struct modes_by_layer *modes,
                                                  const uint8_t *roles, unsigned n_roles,
                                                  int64_t layer) {
    const struct mode_statement *mode =
        best_residency(modes, STATE_ACTIVATIONS, roles, n_roles, layer, says_where);
    return mode && mode->residency == RESIDENCY_OFFLOADED ? mode : NULL;
}

const struct mode_statement *offloads_input(const struct modes_by_layer *modes, int64_t layer) {
    static const uint8_t whole_layer[] = {ROLE_LAYERS};
    return offloads_activations(modes, whole_layer, 1, layer);
}

bool offload_alike(const struct mode_statement *a, const struct mode_statement *b) {
    return a == b || (a && b && a->to == b->to && a->unit == b->unit &&
                      layers_of_unit(a) == layers_of_unit(b));
}

int64_t layers_of_unit(const struct mode_statement *mode) {
    if (mode->unit < UNIT_LAYERS)
        return 1;
    return mode->unit == UNIT_LAYERS ? mode->unit_layers : INT64_MAX;
}

const struct mode_statement *recomputes_layer(const struct modes_by_layer *modes, int64_t layer) {
    const uint8_t whole_layer[] = {ROLE_LAYERS};
    const struct mode_statement *mode =
        residency_of(modes, STATE_ACTIVATIONS, whole_layer, 1, layer);
    return mode && mode->residency == RESIDENCY_MATERIALIZED ? mode : NULL;
}

int64_t layers_recomputed_at_once(const struct modes_by_layer *modes, int64_t layer) {
    const struct mode_statement *mode = recomputes_layer(modes, layer);
    return mode ? layers_of_unit(mode) : 1;
}
