// place, remedies: the edits that helps propose. They are texts in the place of what the user
// wrote, or beside it; the driver compiles what they make of the file, and keeps those that make it
// right. So nothing here need know whether an edit is enough, only that it is what the help says.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/place.h"

// ---- one statement
// --------------------------------------------------------------------------------

// What the user wrote for an extent, in the notation that stands at its place: a letter of a tuple
// or a mode.
static const char *extent_text(struct placing *p, struct span at, enum extent extent,
                               const char *axes) {
    static const char *const letters[] = {"R", "S", "S*"};
    static const char *const names[] = {"replicated", "sharded", "gathered"};
    if (at.source != NO_SOURCE && at.end - at.begin <= 2)
        return letters[extent];
    return arena_format(p->arena, "%s(%s)", names[extent], axes);
}

void propose_extent(struct placing *p, struct diagnostic *d, const struct placed_tensor *placed,
                    enum state state, enum extent extent, const struct axis_list *axes,
                    struct span behind) {
    const struct origin *old = placed_origin(placed, state, axes->axes[0]);
    if (old && old->kind == ORIGIN_STATEMENT) {
        struct span at = origin_span(old);
        diagnostic_edit(d, at, "%s", extent_text(p, at, extent, axes_text(p, axes)));
        return;
    }
    if (behind.source == NO_SOURCE)
        return;
    struct span end = {behind.source, behind.end, behind.end};
    diagnostic_edit(d, end, "\n  %s : %s", state_names[state],
                    extent_text(p, span_nowhere(), extent, axes_text(p, axes)));
}

struct axis_list axes_without(const struct axis_list *axes, const struct axis_list *others) {
    struct axis_list left = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (!axis_list_has(others, axes->axes[i]))
            axis_list_add(&left, axes->axes[i]);
    return left;
}

void propose_axes(struct placing *p, struct diagnostic *d, const struct mode_statement *mode,
                  const struct axis_list *axes) {
    if (axes->n)
        diagnostic_edit(d, mode->axes_span, "%s", axes_text(p, axes));
    else if (mode->statement_span.source != NO_SOURCE)
        diagnostic_edit(d, mode->statement_span, "%s", "");
}

// Of two statements with one text the second adds nothing.
void propose_first(struct placing *p, struct diagnostic *d, const struct mode_statement *first,
                   const struct mode_statement *second) {
    struct span a = first->statement_span, b = second->statement_span;
    if (a.source == NO_SOURCE || a.source != b.source || span_equal(a, b) ||
        a.end - a.begin != b.end - b.begin)
        return;
    const char *text = p->diagnostics->sources->items[a.source].text;
    if (strncmp(text + a.begin, text + b.begin, a.end - a.begin) == 0)
        diagnostic_edit(d, b, "%s", "");
}

// ---- `relax` around it -------------------------------------------------------------------------

// The nearest head in front of the mode that is about its axes: the one it stands under, or the
// fix is none.
static const struct relax_statement *relax_around(const struct placing *p,
                                                  const struct mode_statement *mode) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct span *at = &mode->origin.span;
    const struct relax_statement *nearest = NULL;
    for (uint32_t i = 0; i < strategy->n_relaxations; i++) {
        const struct relax_statement *relax = &strategy->relaxations[i];
        const struct span *head = &relax->origin.span;
        struct axis_list outside = axes_without(&mode->axes, &relax->axes);
        if (relax->origin.kind == ORIGIN_STATEMENT && head->source == at->source &&
            head->end <= at->begin && outside.n == 0 &&
            (!nearest || nearest->origin.span.end < head->end))
            nearest = relax;
    }
    return nearest;
}

static void propose_head(struct placing *p, struct diagnostic *d,
                         const struct relax_statement *relax, const bool *conditions,
                         const struct axis_list *axes) {
    const char *text = "";
    for (int c = 0; c < N_CONDITIONS; c++)
        if (conditions[c])
            text = arena_format(p->arena, "%s%s%s", text, *text ? ", " : "", condition_names[c]);
    diagnostic_edit(d, relax->origin.span, "relax %s over %s", text, axes_text(p, axes));
}

void propose_relaxed(struct placing *p, struct diagnostic *d, const struct mode_statement *mode,
                     enum condition condition, const char *statement) {
    const struct relax_statement *relax = relax_around(p, mode);
    if (!relax || mode->origin.kind != ORIGIN_STATEMENT)
        return;
    bool conditions[N_CONDITIONS];
    for (int c = 0; c < N_CONDITIONS; c++)
        conditions[c] = relax->conditions[c] || c == (int)condition;
    if (!relax->conditions[condition])
        propose_head(p, d, relax, conditions, &relax->axes);
    struct span at = mode->origin.span, behind = {at.source, at.end, at.end};
    const struct source_files *sources = p->diagnostics->sources;
    bool one_line =
        source_place(sources, relax->origin.span).line == source_place(sources, at).line;
    diagnostic_edit(d, behind, "%s%s", one_line ? "  " : "\n    ", statement);
}

void propose_relaxed_axes(struct placing *p, struct diagnostic *d,
                          const struct mode_statement *mode, const struct axis_list *axes) {
    const struct relax_statement *relax = relax_around(p, mode);
    if (!relax || axes->n == 0)
        return;
    if (axes_without(axes, &relax->axes).n)
        propose_head(p, d, relax, relax->conditions, axes);
    propose_axes(p, d, mode, axes);
}
