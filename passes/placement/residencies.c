// place, residencies: which states can be made when they are needed, in place of being kept.
//
//   gradients   are taken by the update as soon as they are whole (layers/consume.c). What needs all
//               of them first, or more than one call for one of them, cannot be had with that.
//   parameters  are made of the optimizer's master copy for each use (routes/routes.c), where there is
//               one, and it has more digits.
//   optimizer   has nothing to keep, or it cannot be had.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"

// The statement that made it so, and what to do: keep the state.
static void help_store(struct diagnostic *d, const struct mode_statement *mode) {
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "keep them: `%s : stored`", state_names[mode->state]);
    if (mode->origin.kind == ORIGIN_STATEMENT && mode->own_text && mode->said == 0)
        diagnostic_edit(d, origin_span(&mode->origin), "stored");
}

static struct diagnostic *report_not_made(struct placing *p, const struct mode_statement *mode,
                                          const char *why) {
    return report(p->diagnostics, E314, origin_span(&mode->origin),
                  "%s cannot be taken one by one as they are made: %s", state_names[mode->state],
                  why);
}

static void check_norm(struct placing *p, const struct mode_statement *mode) {
    const struct train_config *train = &p->config->train;
    if (train->clip == 0)
        return;
    struct diagnostic *d =
        report_not_made(p, mode, "clipping needs the norm of all of them before the first update");
    diagnostic_label(d, origin_span(&train->clip_origin), "gradients are clipped by their norm");
    help_store(d, mode);
}

static void check_skipped(struct placing *p, const struct mode_statement *mode) {
    const struct loss_scale_config *scale = &p->config->train.loss_scale;
    if (scale->initial == 0)
        return;
    struct diagnostic *d = report_not_made(
        p, mode, "whether the step is skipped is known behind the last of them only");
    diagnostic_label(d, origin_span(&scale->origin),
                     "a step is skipped in which one of them is not finite");
    help_store(d, mode);
}

static void check_accumulation(struct placing *p, const struct mode_statement *mode) {
    if (p->placement->microbatches == 1)
        return;
    struct diagnostic *d = report_not_made(
        p, mode,
        arena_format(p->arena, "they are whole behind the last of %lld microbatches only",
                     (long long)p->placement->microbatches));
    diagnostic_label(d, origin_span(&p->config->train.microbatch_origin),
                     "this makes the microbatches");
    help_store(d, mode);
}

static bool has_path(const struct tensor *tensor, const struct selector *selector) {
    return selector_matches(selector, tensor->roles, tensor->n_roles);
}

// A table that stands at both ends of the model gets its gradient from both.
static void check_contributions(struct placing *p, const struct mode_statement *mode) {
    for (uint32_t t = 0; t < p->program->job->n_tensors; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        const struct storage *storage = p->placement->tensors[t].storage;
        if (storage->lives[mode->state] != mode || !tensor->trainable ||
            !has_path(tensor, &mode->selector) || !has_several_terms(p, t))
            continue;
        struct diagnostic *d = report_not_made(
            p, mode, arena_format(p->arena, "%s gets another summand later", tensor->name));
        const char *kept =
            arena_format(p->arena, "gradients.%s : stored", role_names[tensor->roles[0]]);
        diagnostic_origin(d, &mode->origin);
        diagnostic_help(d, "keep this one: `%s`", kept);
        propose_statement(p, d, mode, kept);
        return;
    }
}

// ---- parameters, optimizer --------------------------------------------------------------------

// The first tensor whose state lives as the mode says, and of which `lacks` holds; NO_ID: none.
static uint32_t first_lacking(const struct placing *p, const struct mode_statement *mode,
                              bool (*lacks)(const struct placing *, uint32_t tensor)) {
    const struct placement *placement = p->placement;
    for (uint32_t r = 0; r < placement->n_ranges; r++)
        for (uint32_t t = 0; t < placement->n_tensors; t++)
            if (placement->tensors[r * placement->n_tensors + t].storage->lives[mode->state] ==
                    mode &&
                lacks(p, t))
                return t;
    return NO_ID;
}

static bool lacks_master(const struct placing *p, uint32_t tensor) {
    return p->placement->tensors[tensor].storage->types.master == DTYPE_NONE;
}

// Parameters that are updated themselves are the only ones there are.
static void check_master(struct placing *p, const struct mode_statement *mode) {
    uint32_t t = first_lacking(p, mode, lacks_master);
    if (t == NO_ID)
        return;
    const struct tensor *tensor = &p->program->job->tensors[t];
    struct diagnostic *d =
        report(p->diagnostics, E314, origin_span(&mode->origin),
               "parameters cannot be made of a master copy: nothing keeps one of %s", tensor->name);
    diagnostic_origin(d, &mode->origin);
    if (tensor->trainable)
        diagnostic_help(d,
                        "keep one, which has more digits: `precision { parameters = bf16  master "
                        "= fp32 }`; or keep these: `parameters.%s : stored`",
                        role_names[tensor->roles[0]]);
    else
        diagnostic_help(d, "it is not trained, so keep it as it is: `parameters.%s : stored`",
                        role_names[tensor->roles[0]]);
}

// A class of states that the optimizer has of a tensor; N_CLASSES: it has none.
static enum buffer_class state_kept(const struct placing *p, uint32_t tensor) {
    for (uint32_t b = 0; b < p->program->n_buffers; b++) {
        const struct buffer *buffer = &p->program->buffers[b];
        if (buffer->tensor == tensor && class_states[buffer->class] == STATE_OPTIMIZER)
            return buffer->class;
    }
    return N_CLASSES;
}

static bool keeps_state(const struct placing *p, uint32_t tensor) {
    return state_kept(p, tensor) != N_CLASSES;
}

static void check_stateless(struct placing *p, const struct mode_statement *mode) {
    uint32_t t = first_lacking(p, mode, keeps_state);
    if (t == NO_ID)
        return;
    struct diagnostic *d = report(
        p->diagnostics, E314, origin_span(&mode->origin),
        "the optimizer's states cannot be made anew in each step: the next one needs the %s of "
        "%s",
        class_names[state_kept(p, t)], p->program->job->tensors[t].name);
    diagnostic_label(d, origin_span(&p->config->train.optimizers[0].origin),
                     "this optimizer goes on with what it has kept");
    diagnostic_note(d, "only `sgd` without momentum, of parameters without a master copy, keeps "
                       "nothing");
    help_store(d, mode);
}

// ---- the whole --------------------------------------------------------------------------------

static bool is_reached(const struct placing *p, const struct mode_statement *mode) {
    for (uint32_t i = 0; i < p->placement->n_storages; i++)
        if ((p->placement->storages[i]->trained || mode->state == STATE_PARAMETERS) &&
            p->placement->storages[i]->lives[mode->state] == mode)
            return true;
    return false;
}

// W830. An update that runs on the host moves something even so.
static void check_anything_kept(struct placing *p, const struct mode_statement *mode) {
    if (mode->state != STATE_OPTIMIZER || mode->update_on != TIER_DEVICE ||
        first_lacking(p, mode, keeps_state) != NO_ID)
        return;
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "nothing of the optimizer is kept elsewhere");
    diagnostic_say(d, "this optimizer keeps no states");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `offloaded` out");
}

enum { MAX_CHECKS = 4 };
static void (*const checks[N_STATES][MAX_CHECKS])(struct placing *,
                                                  const struct mode_statement *) = {
    [STATE_PARAMETERS] = {check_master},
    [STATE_OPTIMIZER] = {check_stateless},
    [STATE_GRADIENTS] = {check_norm, check_skipped, check_accumulation, check_contributions}};

void check_residencies(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        if (!mode->sets_residency || !is_reached(p, mode))
            continue;
        if (mode->residency == RESIDENCY_OFFLOADED)
            check_anything_kept(p, mode);
        if (mode->residency != RESIDENCY_MATERIALIZED)
            continue;
        for (int i = 0; i < MAX_CHECKS; i++)
            if (checks[mode->state][i] && p->diagnostics->n_errors == errors)
                checks[mode->state][i](p, mode);
    }
}
