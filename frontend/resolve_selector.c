// Selectors: role names in an order that can occur in a model, and a slice of layers.
//
// A path is checked against the table of roles (ir/roles.def) alone: what no model could have is
// refused here, where it stands, and in a library too. Which tensors it selects is known when there
// are tensors.
#include "frontend/resolve.h"

#include <inttypes.h>
#include <string.h>

// Roles of models that are not built yet; 0 (which is no role's reason) for all others.
static const enum unsupported role_unsupported[N_ROLES] = {
    [ROLE_ROUTER] = UNSUPPORTED_EXPERT_MODEL, [ROLE_EXPERTS] = UNSUPPORTED_EXPERT_MODEL,
    [ROLE_ROUTED] = UNSUPPORTED_EXPERT_MODEL, [ROLE_SHARED] = UNSUPPORTED_EXPERT_MODEL,
    [ROLE_MTP] = UNSUPPORTED_EXTRA_ROLES,     [ROLE_ADAPTER] = UNSUPPORTED_EXTRA_ROLES,
};

// Roles that stand in more than one place; all others have the parent of their table.
static const struct {
    enum role inner, outer;
} further_places[] = {
    {ROLE_NORM, ROLE_LAYERS}, {ROLE_NORM, ROLE_ATTENTION}, {ROLE_NORM, ROLE_MLP},
    {ROLE_NORM, ROLE_QKV},    {ROLE_UP, ROLE_MLP},         {ROLE_UP, ROLE_QKV},
    {ROLE_KV, ROLE_QKV},
};

// Whether `inner` can stand inside of `outer`, at any depth.
static bool can_contain(enum role outer, enum role inner) {
    for (enum role role = role_parents[inner]; role != ROLE_NONE; role = role_parents[role])
        if (role == outer)
            return true;
    for (size_t i = 0; i < sizeof further_places / sizeof *further_places; i++)
        if (further_places[i].inner == inner && further_places[i].outer == outer)
            return true;
    return false;
}

// Python's rule for one bound.
static int64_t clamp_bound(int64_t bound, int64_t layers) {
    if (bound < 0)
        bound += layers;
    return bound < 0 ? 0 : bound > layers ? layers : bound;
}

static bool is_warned(const struct resolver *r, struct span span) {
    for (uint32_t i = 0; i < r->diagnostics->n_items; i++)
        if (r->diagnostics->items[i]->code == W830 &&
            span_equal(r->diagnostics->items[i]->span, span))
            return true;
    return false;
}

// A bound beyond the layers is cut, as in Python; but who wrote it may have counted others. Told
// once for all uses of a strategy.
static void warn_beyond(struct resolver *r, const struct ast_slice *slice) {
    int64_t layers = r->config->model.layers;
    bool before = slice->has_begin && slice->begin < -layers;
    bool behind = slice->has_end && slice->end > layers;
    if ((!before && !behind) || is_warned(r, slice->span))
        return;
    const char *begin = slice->has_begin && !before
                            ? arena_format(r->arena, "%" PRId64, slice->begin)
                            : "",
               *end =
                   slice->has_end && !behind ? arena_format(r->arena, "%" PRId64, slice->end) : "",
               *step = slice->has_step ? arena_format(r->arena, ":%" PRId64, slice->step) : "",
               *left = arena_format(r->arena, "%s:%s%s", begin, end, step);
    struct diagnostic *d =
        report(r->diagnostics, W830, slice->span, "this slice goes beyond the layers of the model");
    diagnostic_say(d, "`%s` selects the same", left);
    diagnostic_label(d, origin_span(&r->config->model.origin), "it has %" PRId64 " layer%s", layers,
                     plural_s(layers));
    diagnostic_help(d, "leave open what is to end with the model");
    diagnostic_edit(d, slice->span, "%s", left);
}

// Resolves a slice against the model's number of layers. Inside another slice it is cut to what
// both have; one with a step could then begin between two of the other's layers, and is refused.
static bool resolve_slice(struct resolver *r, const struct ast_slice *slice,
                          struct selector *selector) {
    int64_t layers = r->config->model.layers;
    if (!layers) // the model could not be read; that has been said
        return true;
    if (slice->has_step && slice->step < 1) {
        report(r->diagnostics, E107, slice->span, "the step of a slice is at least 1");
        return false;
    }
    int64_t begin = slice->has_begin ? clamp_bound(slice->begin, layers) : 0;
    int64_t end = slice->has_end ? clamp_bound(slice->end, layers) : layers;
    if (slice->is_index) {
        bool inside = slice->begin >= -layers && slice->begin < layers && slice->has_begin;
        end = inside ? begin + 1 : begin;
    }
    if (selector->has_slice && (selector->slice_step != 1 || slice->step != 1)) {
        report(r->diagnostics, E121, slice->span, "a slice with a step inside of another slice");
        return false;
    }
    if (selector->has_slice) {
        begin = begin > selector->slice_begin ? begin : selector->slice_begin;
        end = end < selector->slice_end ? end : selector->slice_end;
    }
    if (begin >= end) {
        struct diagnostic *d =
            report(r->diagnostics, E119, slice->span,
                   !slice->is_index   ? "this slice has no layer of %lld"
                   : slice->has_begin ? "no layer of %lld has this number"
                                      : "there is no number of one of %lld layers",
                   (long long)layers);
        diagnostic_help(d, "layers are numbered from 0 to %lld", (long long)layers - 1);
        return false;
    }
    if (!slice->is_index)
        warn_beyond(r, slice);
    selector->has_slice = true;
    selector->slice_begin = begin;
    selector->slice_end = end;
    selector->slice_step = slice->step;
    return true;
}

// One step inward. Roles that this compiler builds no models of are refused here, once for all
// uses.
static bool append_role(struct resolver *r, const struct ast_step *step,
                        struct selector *selector) {
    int role = table_find(role_names, N_ROLES, step->name.text);
    if (role <= ROLE_NONE) {
        struct diagnostic *d =
            report_unknown(r, E103, step->name, "part of a model", role_names + 1, N_ROLES - 1);
        if (!d->help)
            diagnostic_help(d, "`placec explain roles` lists them");
        return false;
    }
    if (role_unsupported[role]) {
        report_unsupported(r, step->name.span, role_unsupported[role]);
        return false;
    }
    if (step->has_slice && role != ROLE_LAYERS) {
        report(r->diagnostics, E105, step->slice.span, "only `layers` takes a slice");
        return false;
    }
    enum role outer = selector->n_roles ? selector->roles[selector->n_roles - 1] : ROLE_NONE;
    // `in layers[0:16] { parameters.layers[0:8] : ... }` says layers twice and means it once.
    bool again = outer == (enum role)role;
    if (outer != ROLE_NONE && !again && !can_contain(outer, (enum role)role)) {
        report(r->diagnostics, E119, step->name.span, "`%s` has no part called `%s`",
               role_names[outer], step->name.text);
        return false;
    }
    if (!again && selector->n_roles == sizeof selector->roles) {
        report(r->diagnostics, E119, step->name.span, "no part of a model lies this deep");
        return false;
    }
    if (!again)
        selector->roles[selector->n_roles++] = (uint8_t)role;
    return !step->has_slice || resolve_slice(r, &step->slice, selector);
}

// A scope's selector is only ever made longer: what `in` limits, nothing inside widens.
bool resolve_selector(struct resolver *r, const struct ast_path *path, uint32_t first,
                      const struct selector *outer, struct selector *out) {
    *out = *outer;
    for (uint32_t i = first; i < path->n; i++)
        if (!append_role(r, &path->items[i], out))
            return false;
    if (path->n > first)
        out->span = path->span;
    return true;
}
