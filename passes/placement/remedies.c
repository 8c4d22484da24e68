// place, remedies: the edits that helps propose. They are texts in the place of what the user
// wrote, or beside it; the driver compiles what they make of the file, and keeps those that make it
// right. So nothing here need know whether an edit is enough, only that it is what the help says.
#include "passes/placement/remedies.h"

#include <inttypes.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/placement/alike.h"

// ---- one statement -----------------------------------------------------------------------------

enum { MOST_LETTERS = 2 }; // of an extent in a tuple, `S*`

// What the user wrote for an extent, in the notation that stands at its place: a letter of a tuple
// or a mode with its arguments.
static const char *extent_text(struct placing *p, struct span at, enum extent extent,
                               const char *arguments) {
    static const char *const letters[] = {"R", "S", "S*"};
    static const char *const names[] = {"replicated", "sharded", "gathered"};
    if (at.source != NO_SOURCE && at.end - at.begin <= MOST_LETTERS)
        return letters[extent];
    return arena_format(p->arena, "%s(%s)", names[extent], arguments);
}

// What stands between a statement and another behind it: of a block with a line for each, its line
// end and indentation.
static const char *between_statements(const struct placing *p, struct span behind) {
    const char *text = p->diagnostics->sources->items[behind.source].text;
    uint32_t line = behind.begin;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    int indentation = (int)strspn(text + line, " \t");
    if (memchr(text + line, '{', behind.begin - line))
        return "  ";
    return arena_format(p->arena, "\n%.*s", indentation, text + line);
}

// A statement behind that of the mode: what else that says stays its own.
static void propose_behind(struct placing *p, struct diagnostic *d,
                           const struct mode_statement *mode, const char *statement) {
    bool written = mode->origin.kind == ORIGIN_STATEMENT;
    struct span behind = written ? mode->whole_span : origin_span(&mode->origin);
    struct span end = {behind.source, behind.end, behind.end};
    if (behind.source < p->diagnostics->sources->n_items)
        diagnostic_edit(d, end, "%s%s", between_statements(p, behind), statement);
}

const char *subject_text(struct placing *p, enum state state, const struct mode_statement *like) {
    struct span path = like->selector_span;
    const char *subject = state_names[state];
    if (like->own_text && path.source < p->diagnostics->sources->n_items) {
        const char *text = p->diagnostics->sources->items[path.source].text;
        const char *dot = memchr(text + path.begin, '.', path.end - path.begin);
        const char *end = text + path.end;
        return dot ? arena_format(p->arena, "%s%.*s", subject, (int)(end - dot), dot) : subject;
    }
    struct selector own = like->selector;
    own.n_roles -= like->scope_roles;
    memmove(own.roles, own.roles + like->scope_roles, own.n_roles);
    return selected_words(p->arena, subject, &own);
}

// An extent over some axes that a statement is to say.
struct proposal {
    enum state state;
    enum extent extent;
    const char *by; // "": flat, or nothing is cut
    const struct axis_list *axes;
    const char *options; // behind the axes
};

static const char *proposal_text(struct placing *p, const struct proposal *proposed,
                                 struct span at) {
    const char *arguments = arena_format(p->arena, "%s%s%s", axes_text(p, proposed->axes),
                                         proposed->by, proposed->options);
    return extent_text(p, at, proposed->extent, arguments);
}

// The axes of which the text of a statement speaks, too, so that the mode cannot take its place.
static struct axis_list other_axes(const struct placing *p, const struct mode_statement *mode,
                                   const struct axis_list *axes) {
    struct axis_list said = effective_axes(p, &mode->axes);
    return axis_list_without(&said, axes);
}

static bool is_letter(const struct mode_statement *mode) {
    struct span at = mode->origin.span;
    return at.end - at.begin <= MOST_LETTERS;
}

// The mode takes the place of what the user wrote of it in `old`, if that can say it; else it stands
// behind it, or behind `beside` where that is given.
static void propose_mode(struct placing *p, struct diagnostic *d, const struct mode_statement *old,
                         const struct proposal *proposed, const struct mode_statement *beside) {
    bool written = old && old->origin.kind == ORIGIN_STATEMENT;
    struct axis_list rest = written ? other_axes(p, old, proposed->axes) : (struct axis_list){0};
    if (written && rest.n == 0 && !(is_letter(old) && *proposed->by)) {
        diagnostic_edit(d, old->origin.span, "%s", proposal_text(p, proposed, old->origin.span));
        return;
    }
    if (written && rest.n && old->own_text) {
        if (old->statement_span.source == NO_SOURCE)
            return; // others of its line would go with it
        propose_axes(p, d, old, &rest);
        beside = old;
    }
    beside = beside ? beside : old;
    if (beside)
        propose_behind(p, d, beside,
                       arena_format(p->arena, "%s : %s", subject_text(p, proposed->state, beside),
                                    proposal_text(p, proposed, span_nowhere())));
}

// How what is cut is to be cut: as it was, or as what is said beside.
static const char *by_text(struct placing *p, const struct mode_statement *old,
                           const struct mode_statement *beside) {
    const struct mode_statement *by = old && old->by != CUT_FLAT ? old : beside;
    return by && by->by != CUT_FLAT ? arena_format(p->arena, " by %s", mode_by_text(by)) : "";
}

static void propose_extent_by(struct placing *p, struct diagnostic *d,
                              const struct storage *storage, enum state state, enum extent extent,
                              const struct axis_list *axes, const struct mode_statement *beside,
                              const char *by) {
    const struct mode_statement *old = storage->modes[state][axes->axes[0]];
    const struct proposal proposed = {
        .state = state, .extent = extent, .by = by, .axes = axes, .options = ""};
    propose_mode(p, d, old, &proposed, beside);
}

void propose_extent(struct placing *p, struct diagnostic *d, const struct storage *storage,
                    enum state state, enum extent extent, const struct axis_list *axes,
                    const struct mode_statement *beside) {
    const struct mode_statement *old = storage->modes[state][axes->axes[0]];
    const char *by = extent == EXTENT_REPLICATED ? "" : by_text(p, old, beside);
    propose_extent_by(p, d, storage, state, extent, axes, beside, by);
}

void propose_flat_extent(struct placing *p, struct diagnostic *d, const struct storage *storage,
                         enum state state, enum extent extent, const struct axis_list *axes) {
    propose_extent_by(p, d, storage, state, extent, axes, storage->modes[state][axes->axes[0]], "");
}

// Whether the state is kept over all axes as over the first.
static bool is_uniform(const struct storage *storage, enum state state,
                       const struct axis_list *axes) {
    for (unsigned i = 1; i < axes->n; i++)
        if (!stored_alike(storage, axes->axes[0], storage, axes->axes[i], state))
            return false;
    return true;
}

void propose_alike(struct placing *p, struct diagnostic *d, const struct storage *odd,
                   const struct storage *like, enum state state, const struct axis_list *axes) {
    unsigned axis = axes->axes[0];
    const struct mode_statement *mode = odd->modes[state][axis];
    struct axis_list said = *axes; // an edited statement keeps its axes
    if (mode && mode->origin.kind == ORIGIN_STATEMENT)
        said = effective_axes(p, &mode->axes);
    bool uniform = is_uniform(like, state, &said);
    if (mode && mode->own_text && !uniform) {
        struct axis_list left = axis_list_without(&mode->axes, axes);
        propose_axes(p, d, mode, &left); // what is said of all then holds here, too
    }
    if (!mode || !uniform)
        return;
    bool each = state == STATE_GRADIENTS && axis_list_has(&like->reduced_each, axis);
    const struct proposal proposed = {.state = state,
                                      .extent = stored_extent(like, state, axis),
                                      .by = "",
                                      .axes = &said,
                                      .options = each ? ", reduce = each" : ""};
    propose_mode(p, d, mode, &proposed, mode);
}

void propose_stored(struct placing *p, struct diagnostic *d, const struct mode_statement *mode) {
    bool written = mode->origin.kind == ORIGIN_STATEMENT;
    if (written && is_letter(mode))
        diagnostic_edit(d, mode->origin.span, "%s",
                        extent_text(p, mode->origin.span, EXTENT_REPLICATED, ""));
    else if (written && mode->own_text && !mode->said)
        diagnostic_edit(d, mode->origin.span, "stored");
    else if (!mode->own_text)
        propose_behind(p, d, mode,
                       arena_format(p->arena, "%s : stored", subject_text(p, mode->state, mode)));
}

bool is_edited(const struct diagnostic *d, struct span span) {
    for (uint32_t i = 0; i < d->n_edits; i++)
        if (d->edits[i].span.source == span.source && d->edits[i].span.begin == span.begin)
            return true;
    return false;
}

void propose_flat(struct placing *p, struct diagnostic *d, enum cut_by by) {
    for (uint32_t m = 0; m < p->config->strategy.n_modes; m++) {
        const struct mode_statement *mode = &p->config->strategy.modes[m];
        struct span way = {mode->by_span.source, mode->axes_span.end, mode->by_span.end};
        if (mode->by == by && mode->state != STATE_ACTIVATIONS && !is_edited(d, way))
            diagnostic_edit(d, way, "%s", "");
    }
}

void propose_unit(struct placing *p, struct diagnostic *d, const struct mode_statement *mode,
                  int64_t layers) {
    const char *unit =
        layers == 1 ? "layer" : arena_format(p->arena, "layers(%" PRId64 ")", layers);
    for (uint32_t i = 0; i < mode->n_options; i++)
        if (strcmp(mode->options[i].name, "unit") == 0)
            diagnostic_edit(d, mode->options[i].span, "unit = %s", unit);
}

void propose_reproducible(struct placing *p, struct diagnostic *d, int64_t most) {
    const struct train_config *train = &p->config->train;
    if (train->reproducible_origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, train->reproducible_span, "%" PRId64, most);
}

void propose_axes(struct placing *p, struct diagnostic *d, const struct mode_statement *mode,
                  const struct axis_list *axes) {
    if (axes->n)
        diagnostic_edit(d, mode->axes_span, "%s", axes_text(p, axes));
    else if (mode->statement_span.source != NO_SOURCE)
        diagnostic_delete(d, mode->statement_span);
}

// The second of two statements with one text adds nothing.
void propose_first(struct placing *p, struct diagnostic *d, const struct mode_statement *first,
                   const struct mode_statement *second) {
    struct span a = first->statement_span, b = second->statement_span;
    if (a.source == NO_SOURCE || a.source != b.source || span_equal(a, b) ||
        a.end - a.begin != b.end - b.begin)
        return;
    const char *text = p->diagnostics->sources->items[a.source].text;
    if (strncmp(text + a.begin, text + b.begin, a.end - a.begin) == 0)
        diagnostic_delete(d, b);
}

// ---- what is divided ---------------------------------------------------------------------------

void propose_split(struct placing *p, struct diagnostic *d, const struct split_statement *split,
                   const struct axis_list *axes) {
    if (split->origin.kind != ORIGIN_STATEMENT ||
        axis_list_mask(&split->axes) != axis_list_mask(axes))
        return;
    const char *dimensions = "";
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        dimensions = arena_format(p->arena, "%s%s%s", dimensions, i ? ", " : "",
                                  dimension_names[split->dimensions[i]]);
    diagnostic_edit(d, split->origin.span, "split %s over %s", dimensions, axes_text(p, axes));
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
        struct axis_list outside = axis_list_without(&mode->axes, &relax->axes);
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
    propose_behind(p, d, mode, statement);
}

void propose_relaxed_axes(struct placing *p, struct diagnostic *d,
                          const struct mode_statement *mode, const struct axis_list *axes) {
    const struct relax_statement *relax = relax_around(p, mode);
    if (!relax || axes->n == 0)
        return;
    if (axis_list_without(axes, &relax->axes).n)
        propose_head(p, d, relax, relax->conditions, axes);
    propose_axes(p, d, mode, axes);
}

void propose_statement(struct placing *p, struct diagnostic *d, const struct mode_statement *behind,
                       const char *statement) {
    if (behind->own_text && behind->origin.kind == ORIGIN_STATEMENT)
        propose_behind(p, d, behind, statement);
}
