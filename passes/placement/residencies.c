// place, residencies: which states can be made when they are needed, in place of being kept.
//
//   gradients   are taken by the update as soon as they are whole (layers/consume.c). What needs all
//               of them first, or more than one call for one of them, cannot be had with that.
//   parameters  are made of the optimizer's master copy for each use (routes/routes.c), where there is
//               one, and it has more digits.
//   optimizer   has nothing to keep, or it cannot be had.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"

// What to do: keep the state of what the statement selects.
static void help_store(struct placing *p, struct diagnostic *d, const struct mode_statement *mode) {
    diagnostic_origin(d, &mode->origin);
    if (mode->said)
        diagnostic_help(d, "keep them: leave `%s` out of this statement",
                        subject_text(p, mode->state, mode));
    else
        diagnostic_help(d, "keep them: `%s : stored`", subject_text(p, mode->state, mode));
    propose_stored(p, d, mode);
}

// ---- gradients --------------------------------------------------------------------------------

// Why a statement's gradients cannot be taken one by one: all reasons in one message, since with one of
// them gone the next would be told.
struct reasons {
    struct placing *p;
    const struct mode_statement *mode;
    struct diagnostic *d; // NULL: none so far
};

static void add_reason(struct reasons *r, const struct origin *cause, const char *why,
                       const char *of_cause) {
    if (!r->d)
        r->d = report(r->p->diagnostics, E314, origin_span(&r->mode->origin),
                      "%s cannot be taken one by one as they are made: %s",
                      state_names[r->mode->state], why);
    else
        diagnostic_note(r->d, "also: %s", why);
    if (cause)
        diagnostic_label(r->d, origin_span(cause), "%s", of_cause);
}

static void find_norm(struct reasons *r) {
    const struct train_config *train = &r->p->config->train;
    if (train->clip != 0)
        add_reason(r, &train->clip_origin,
                   "clipping needs the norm of all of them before the first update",
                   "gradients are clipped by their norm");
}

static void find_skipped(struct reasons *r) {
    const struct loss_scale_config *scale = &r->p->config->train.loss_scale;
    if (scale->initial != 0)
        add_reason(r, &scale->origin,
                   "whether the step is skipped is known behind the last of them only",
                   "a step is skipped in which one of them is not finite");
}

static void find_accumulation(struct reasons *r) {
    long long microbatches = (long long)r->p->placement->microbatches;
    if (microbatches > 1)
        add_reason(r, &r->p->config->train.microbatch_origin,
                   arena_format(r->p->arena,
                                "they are whole behind the last of %lld microbatches only",
                                microbatches),
                   "this makes the microbatches");
}

static bool has_path(const struct tensor *tensor, const struct selector *selector) {
    return selector_matches(selector, tensor->roles, tensor->n_roles);
}

// A table that stands at both ends of the model gets its gradient from both.
static bool is_added_to(const struct placing *p, const struct mode_statement *mode, uint32_t t) {
    const struct tensor *tensor = &p->program->job->tensors[t];
    return p->placement->tensors[t].storage->lives[mode->state] == mode &&
           has_path(tensor, &mode->selector) && has_several_terms(p, t);
}

// The statements that keep what is added to, each on a line of its own; of all gradients that are taken
// one by one these alone need it if nothing else does.
static void find_contributions(struct reasons *r) {
    bool others = r->d != NULL;
    const char *kept = "";
    uint32_t roles = 0;
    for (uint32_t t = 0; t < r->p->program->job->n_tensors; t++) {
        const struct tensor *tensor = &r->p->program->job->tensors[t];
        if (!is_added_to(r->p, r->mode, t))
            continue;
        add_reason(
            r, NULL,
            arena_format(r->p->arena, "%s gets another summand later", tensor_model_name(tensor)),
            NULL);
        if (!(roles >> tensor->roles[0] & 1))
            kept = arena_format(r->p->arena, "%s%s%s.%s : stored", kept, *kept ? "  " : "",
                                state_names[r->mode->state], role_names[tensor->roles[0]]);
        roles |= 1u << tensor->roles[0];
    }
    if (others || !r->d)
        return;
    diagnostic_origin(r->d, &r->mode->origin);
    diagnostic_help(r->d, "keep this one: `%s`", kept);
    propose_statement(r->p, r->d, r->mode, kept);
}

static void check_taken(struct placing *p, const struct mode_statement *mode) {
    struct reasons r = {.p = p, .mode = mode};
    find_norm(&r);
    find_skipped(&r);
    find_accumulation(&r);
    if (r.d)
        help_store(p, r.d, mode);
    find_contributions(&r);
}

// ---- parameters, optimizer --------------------------------------------------------------------

// Whether the mode says how the tensor's state lives, in some range of layers.
static bool says_of(const struct placing *p, const struct mode_statement *mode, uint32_t tensor) {
    const struct placement *placement = p->placement;
    for (uint32_t r = 0; r < placement->n_ranges; r++)
        if (placement->tensors[r * placement->n_tensors + tensor].storage->lives[mode->state] ==
            mode)
            return true;
    return false;
}

// The first tensor whose state lives as the mode says, and of which `lacks` holds; NO_ID: none.
static uint32_t first_lacking(const struct placing *p, const struct mode_statement *mode,
                              bool (*lacks)(const struct placing *, uint32_t tensor)) {
    for (uint32_t t = 0; t < p->placement->n_tensors; t++)
        if (says_of(p, mode, t) && lacks(p, t))
            return t;
    return NO_ID;
}

static bool lacks_master(const struct placing *p, uint32_t tensor) {
    return p->placement->tensors[tensor].storage->types.master == DTYPE_NONE;
}

static bool has_master(const struct placing *p, uint32_t tensor) {
    return !lacks_master(p, tensor);
}

static bool share_layers(const struct tensor *a, const struct tensor *b) {
    return a->first_layer < b->first_layer + b->layers &&
           b->first_layer < a->first_layer + a->layers;
}

// Whether a tensor that can be made is selected: one that has layers of `of`, or (NULL) any.
static bool selects_made(const struct placing *p, const struct mode_statement *mode,
                         const struct selector *selector, const struct tensor *of) {
    for (uint32_t t = 0; t < p->placement->n_tensors; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        if (has_master(p, t) && has_path(tensor, selector) && says_of(p, mode, t) &&
            (!of || share_layers(tensor, of)))
            return true;
    }
    return false;
}

// The shortest selector of a tensor without a master copy that selects nothing that has one, and is longer than the
// statement's. Inside a scope, which may have said the layers, it takes no slice.
static struct selector selector_without(const struct placing *p, const struct mode_statement *mode,
                                        const struct tensor *of) {
    struct selector selector = {.n_roles = mode->selector.n_roles + 1};
    memcpy(selector.roles, of->roles, of->n_roles);
    const struct tensor *where = mode->scope_roles ? NULL : of;
    while (selector.n_roles < of->n_roles && selects_made(p, mode, &selector, where))
        selector.n_roles++;
    if (selector.n_roles > of->n_roles)
        selector.n_roles = of->n_roles;
    selector.has_slice =
        !mode->scope_roles && of->layers > 0 && selects_made(p, mode, &selector, NULL);
    selector.slice_begin = of->first_layer;
    selector.slice_end = of->first_layer + of->layers;
    selector.slice_step = 1;
    return selector;
}

// What is left of it within the scope in which the statement stands.
static struct selector within_scope(const struct mode_statement *mode, struct selector selector) {
    for (unsigned i = selector.n_roles; mode->scope_roles && i-- > 1;)
        if (selector.roles[i - 1] == mode->selector.roles[mode->scope_roles - 1]) {
            memmove(selector.roles, selector.roles + i, selector.n_roles - i);
            selector.n_roles -= i;
            break;
        }
    return selector;
}

// The statements that keep what has no master copy.
static const char *kept_text(struct placing *p, const struct mode_statement *mode) {
    const char *kept = "";
    for (uint32_t t = 0; t < p->placement->n_tensors; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        if (!lacks_master(p, t) || !says_of(p, mode, t))
            continue;
        struct selector selector = within_scope(mode, selector_without(p, mode, tensor));
        const char *statement = arena_format(
            p->arena, "%s : stored", selected_words(p->arena, state_names[mode->state], &selector));
        if (!strstr(kept, statement))
            kept = arena_format(p->arena, "%s%s%s", kept, *kept ? "  " : "", statement);
    }
    return kept;
}

// Parameters that are updated themselves are the only ones there are.
static void check_master(struct placing *p, const struct mode_statement *mode) {
    uint32_t t = first_lacking(p, mode, lacks_master);
    if (t == NO_ID)
        return;
    const struct tensor *tensor = &p->program->job->tensors[t];
    struct diagnostic *d =
        report(p->diagnostics, E314, origin_span(&mode->origin),
               "parameters cannot be made of a master copy: nothing keeps one of %s",
               tensor_model_name(tensor));
    bool some = first_lacking(p, mode, has_master) != NO_ID;
    const char *kept =
        some ? kept_text(p, mode)
             : arena_format(p->arena, "%s : stored", subject_text(p, mode->state, mode));
    diagnostic_origin(d, &mode->origin);
    if (tensor->trainable)
        diagnostic_help(d,
                        "keep one, which has more digits: `precision { parameters = bf16  master "
                        "= fp32 }`; or keep these: `%s`",
                        kept);
    else
        diagnostic_help(d, "it is not trained, so keep it as it is: `%s`", kept);
    if (some)
        propose_statement(p, d, mode, kept);
    else
        propose_stored(p, d, mode);
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
        class_names[state_kept(p, t)], tensor_model_name(&p->program->job->tensors[t]));
    diagnostic_label(d, origin_span(&p->config->train.optimizers[0].origin),
                     "this optimizer goes on with what it has kept");
    diagnostic_note(d, "only `sgd` without momentum, of parameters without a master copy, keeps "
                       "nothing");
    help_store(p, d, mode);
}

// ---- the whole --------------------------------------------------------------------------------

static bool is_reached(const struct placing *p, const struct mode_statement *mode) {
    for (uint32_t i = 0; i < p->placement->n_storages; i++)
        if (p->placement->storages[i]->lives[mode->state] == mode)
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

static void (*const checks[N_STATES])(struct placing *, const struct mode_statement *) = {
    [STATE_PARAMETERS] = check_master,
    [STATE_OPTIMIZER] = check_stateless,
    [STATE_GRADIENTS] = check_taken};

void check_residencies(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        if (!mode->sets_residency || !is_reached(p, mode))
            continue;
        if (mode->residency == RESIDENCY_OFFLOADED)
            check_anything_kept(p, mode);
        if (mode->residency == RESIDENCY_MATERIALIZED && checks[mode->state] &&
            p->diagnostics->n_errors == errors)
            checks[mode->state](p, mode);
    }
}
