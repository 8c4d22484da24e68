// What the optimizers of a `train` block say of a model, asked once there are tensors: each selects
// some of them, of two that select the same the longer selector wins, and something is trained. An
// optimizer for which that does not hold would be said and not heard.
#include "ir/limits.h"
#include "passes/reference/muon.h"
#include "passes/reference/select.h"

struct rules {
    const struct program *program;
    const struct config *config;
    struct diagnostics *diagnostics;
};

static bool selects(const struct optimizer_rule *rule, const struct tensor *tensor) {
    return selector_matches(&rule->selector, tensor->roles, tensor->n_roles);
}

// Muon holds for the matrices of what it selects; for the rest what would hold without it does.
static bool may_update(const struct optimizer_rule *rule, const struct tensor *tensor) {
    return selects(rule, tensor) &&
           (rule->optimizer.kind != OPTIMIZER_MUON || is_muon_matrix(tensor));
}

// The rule that may hold for a layer and not for the one before it, or the other way round.
static const struct origin *changed_at(const struct train_config *train, int64_t layer) {
    for (uint32_t i = 0; i < train->n_optimizers; i++)
        if (selector_next(&train->optimizers[i].selector, layer - 1) == layer)
            return &train->optimizers[i].origin;
    return NULL;
}

// Each range of layers with optimizers of its own has a text of its own. False: reported.
static bool check_ranges(const struct rules *r) {
    const struct train_config *train = &r->config->train;
    int64_t ranges = 1, begin = 0, next = 0;
    while ((next = optimizer_next(train, next)) < r->config->model.layers) {
        if (optimizers_alike(train, r->program->job, begin, next))
            continue;
        begin = next;
        if (++ranges <= LIMIT_LAYER_RANGES)
            continue;
        report_layer_ranges(r->diagnostics, r->program->arena, "optimizers",
                            changed_at(train, begin));
        return false;
    }
    return true;
}

// The layers in which a tensor may have different optimizers: the first, then the next of each; at last
// one that the model has not.
static int64_t first_layer_behind(const struct rules *r, const struct tensor *tensor,
                                  int64_t layer) {
    return tensor->layers ? optimizer_next(&r->config->train, layer) : INT64_MAX;
}

static bool has_layer(const struct rules *r, const struct tensor *tensor, int64_t layer) {
    return layer < (tensor->layers ? r->config->model.layers : 1);
}

// Backward makes the gradients of all layers or of none. False: reported.
static bool check_frozen(const struct rules *r, const struct tensor *tensor) {
    const struct train_config *train = &r->config->train;
    const struct optimizer_rule *first = optimizer_rule_of(train, tensor, 0);
    for (int64_t layer = 0; has_layer(r, tensor, layer);
         layer = first_layer_behind(r, tensor, layer)) {
        const struct optimizer_rule *rule = optimizer_rule_of(train, tensor, layer);
        if ((rule->optimizer.kind == OPTIMIZER_NONE) == (first->optimizer.kind == OPTIMIZER_NONE))
            continue;
        report_not_built(r->diagnostics, &(rule->selector.has_slice ? rule : first)->origin,
                         "freezing some of the layers only",
                         "freeze the part in all layers, or train it with a small rate");
        return false;
    }
    return true;
}

static void check_selects(const struct rules *r, const struct optimizer_rule *rule) {
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++)
        if (selects(rule, &r->program->job->tensors[t]))
            return;
    struct diagnostic *d = report_selects_no("no tensor of", r->diagnostics, &r->config->model,
                                             &rule->selector, rule->selector.span, "optimizer");
    if (rule->origin.kind == ORIGIN_COMMAND_LINE)
        diagnostic_origin(d, &rule->origin);
}

// ---- two of equal rank ------------------------------------------------------------------------

static void report_rules_tie(const struct rules *r, const struct optimizer_rule *first,
                             const struct optimizer_rule *second, const struct tensor *tensor) {
    struct diagnostic *d =
        report(r->diagnostics, E305, origin_span(&second->origin),
               "two optimizers of equal rank are given to `%s`", tensor_model_name(tensor));
    diagnostic_say(d, "the other says this, of the same tensors");
    diagnostic_label(d, origin_span(&first->origin), "one says this");
    diagnostic_origin(d, &second->origin);
    const char *settles = settles_slices(&first->selector, &second->selector);
    if (settles)
        diagnostic_help(d, "%s", settles);
    else
        diagnostic_help(d, "keep one of them, or say which holds for what both select: `%s = ...`",
                        selectors_joined(r->program->arena, "optimizer", tensor, &first->selector,
                                         &second->selector));
}

// Whether both would update the tensor in a layer in which no longer selector settles it.
static bool tie_of(const struct rules *r, const struct optimizer_rule *first,
                   const struct optimizer_rule *second, const struct tensor *tensor) {
    if (!may_update(first, tensor) || !may_update(second, tensor))
        return false;
    for (int64_t layer = 0; has_layer(r, tensor, layer);
         layer = first_layer_behind(r, tensor, layer))
        if (selector_covers(&first->selector, layer) && selector_covers(&second->selector, layer) &&
            optimizer_rule_of(&r->config->train, tensor, layer)->selector.n_roles ==
                first->selector.n_roles)
            return true;
    return false;
}

// Reports a tie once for the two, however many tensors both select. That they do the same settles it.
static void check_tie(const struct rules *r, const struct optimizer_rule *first,
                      const struct optimizer_rule *second) {
    if (first->selector.n_roles != second->selector.n_roles ||
        !selectors_overlap(&first->selector, &second->selector) ||
        !*optimizer_differences(r->program->arena, &first->optimizer, &second->optimizer))
        return;
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++)
        if (tie_of(r, first, second, &r->program->job->tensors[t])) {
            report_rules_tie(r, first, second, &r->program->job->tensors[t]);
            return;
        }
}

// ---- what decides nothing ---------------------------------------------------------------------

// Whether it holds for a tensor somewhere; if not, `instead` does, among what it selects.
static bool decides_of(const struct rules *r, const struct optimizer_rule *rule,
                       const struct tensor *tensor, const struct optimizer_rule **instead) {
    for (int64_t layer = 0; has_layer(r, tensor, layer);
         layer = first_layer_behind(r, tensor, layer)) {
        const struct optimizer_rule *best = optimizer_rule_of(&r->config->train, tensor, layer);
        if (best == rule)
            return true;
        if (selects(rule, tensor) && selector_covers(&rule->selector, layer))
            *instead = best;
    }
    return false;
}

static bool selects_matrices(const struct rules *r, const struct optimizer_rule *rule) {
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++)
        if (may_update(rule, &r->program->job->tensors[t]))
            return true;
    return false;
}

// Others hold for all that it selects, and take nothing from it. No selector makes matrices of gains.
static void check_decides(const struct rules *r, const struct optimizer_rule *rule) {
    const struct optimizer_rule *instead = NULL;
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++)
        if (decides_of(r, rule, &r->program->job->tensors[t], &instead))
            return;
    if (!instead || rule->is_inherited)
        return;
    struct diagnostic *d =
        report(r->diagnostics, W830, origin_span(&rule->origin), "this optimizer updates nothing");
    bool for_others = rule->optimizer.kind == OPTIMIZER_MUON && !selects_matrices(r, rule);
    diagnostic_say(d, for_others ? "`muon` is for matrices of layers, and it selects none"
                                 : "others hold for all that it selects");
    diagnostic_label(d, origin_span(&instead->origin),
                     for_others ? "what it selects has this one" : "this one, among them");
    diagnostic_help(d, for_others
                           ? "leave it out, or select matrices: `optimizer.layers = muon(...)`"
                           : "leave it out, or give it a longer selector");
}

// ---- Muon -------------------------------------------------------------------------------------

// Where a rule with a selector is Muon's, what is no matrix has the optimizer that would hold without it;
// the rule of all has none behind it.
static void check_muon(const struct rules *r) {
    const struct optimizer_rule *rule = &r->config->train.optimizers[0];
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++) {
        const struct tensor *tensor = &r->program->job->tensors[t];
        if (rule->optimizer.kind != OPTIMIZER_MUON || is_muon_matrix(tensor) ||
            optimizer_rule_of(&r->config->train, tensor, 0) != rule)
            continue;
        struct diagnostic *d = report(r->diagnostics, E121, origin_span(&rule->origin),
                                      "`muon` updates matrices of layers, and `%s` is none",
                                      tensor_model_name(tensor));
        diagnostic_origin(d, &rule->origin);
        diagnostic_help(d, "give the rest another optimizer: `optimizer = adamw(lr = 1e-3)`, and "
                           "`optimizer.layers = muon(...)`");
        return;
    }
}

// ---- something to train -----------------------------------------------------------------------

// Something must be trained, else the backward would be empty, and a step would do nothing.
static void check_trains(const struct rules *r) {
    for (uint32_t t = 0; t < r->program->job->n_tensors; t++)
        if (r->program->job->tensors[t].trainable)
            return;
    const struct train_config *train = &r->config->train;
    struct diagnostic *d = report(r->diagnostics, E121, origin_span(&train->optimizers[0].origin),
                                  "every parameter is frozen: there is nothing to train");
    diagnostic_origin(d, &train->optimizers[0].origin);
    diagnostic_help(d,
                    "give some part an optimizer, as in `optimizer.attention = adamw(lr = 1e-3)`");
}

bool check_optimizers(const struct program *program, const struct config *config,
                      struct diagnostics *diagnostics) {
    const struct train_config *train = &config->train;
    const struct rules r = {program, config, diagnostics};
    uint32_t errors = r.diagnostics->n_errors;
    if (!check_ranges(&r))
        return false;
    for (uint32_t i = 0; i < train->n_optimizers; i++) {
        check_selects(&r, &train->optimizers[i]);
        for (uint32_t k = 0; k < i; k++)
            check_tie(&r, &train->optimizers[k], &train->optimizers[i]);
    }
    for (uint32_t t = 0; t < program->job->n_tensors; t++)
        if (!check_frozen(&r, &program->job->tensors[t]))
            break;
    check_muon(&r);
    if (r.diagnostics->n_errors == errors)
        check_trains(&r);
    for (uint32_t i = 0; i < train->n_optimizers && r.diagnostics->n_errors == errors; i++)
        check_decides(&r, &train->optimizers[i]);
    return r.diagnostics->n_errors == errors;
}
