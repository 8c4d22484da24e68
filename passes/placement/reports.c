// See reports.h.
#include "passes/placement/reports.h"

#include "ir/diagnostic.h"
#include "passes/placement/remedies.h"

struct diagnostic *not_yet(struct placing *p, const struct origin *origin, const char *what,
                           const char *instead) {
    return report_not_built(p->diagnostics, origin, what, instead);
}

void report_selects_nothing(struct placing *p, const struct mode_statement *mode,
                            const char *words) {
    bool own = mode->own_text && !mode->origin.inner;
    struct diagnostic *d =
        report_selects_no(words, p->diagnostics, &p->config->model, &mode->selector,
                          mode->selector_span, own ? state_names[mode->state] : NULL);
    if (mode->origin.inner)
        diagnostic_origin(d, &mode->origin);
}

struct diagnostic *report_no_order(struct placing *p, const struct origin *origin,
                                   const char *message) {
    struct diagnostic *d = report(p->diagnostics, E313, origin_span(origin), "%s", message);
    diagnostic_origin(d, origin);
    return d;
}

// ---- E305: ties ---------------------------------------------------------------------------------

// A `use` places several states: what two of them say is told once.
static bool is_reported(const struct placing *p, enum diagnostic_code code, struct span span,
                        struct span label) {
    for (uint32_t i = 0; i < p->diagnostics->n_items; i++) {
        const struct diagnostic *d = p->diagnostics->items[i];
        if (d->code == code && d->n_labels && span_equal(d->span, span) &&
            span_equal(d->labels[0].span, label))
            return true;
    }
    return false;
}

// One text, a tuple or a `use`, places several states.
static bool places_several(const struct mode_statement *mode) {
    return !mode->own_text && mode->statement_span.source != NO_SOURCE;
}

static bool said_together(const struct mode_statement *a, const struct mode_statement *b) {
    return places_several(a) && span_equal(a->statement_span, b->statement_span);
}

// How two modes of two statements that contradict each other compare as what is told of these: best
// where they say different things, then in the order of states.
static int telling(const struct mode_statement *a, const struct mode_statement *b) {
    return (a->extent != b->extent ? N_STATES : 0) + N_STATES - 1 - (int)a->state;
}

// Which modes are told of where two statements place several states.
static void choose_told(const struct placing *p, const struct mode_statement **first,
                        const struct mode_statement **second) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct mode_statement *a = *first, *b = *second;
    for (uint32_t i = 0; i < strategy->n_modes; i++)
        for (uint32_t k = 0; k < strategy->n_modes && said_together(&strategy->modes[i], a); k++) {
            const struct mode_statement *x = &strategy->modes[i], *y = &strategy->modes[k];
            if (said_together(y, b) && x->state == y->state &&
                telling(x, y) > telling(*first, *second)) {
                *first = x;
                *second = y;
            }
        }
}

void report_tie(struct placing *p, const struct mode_statement *first,
                const struct mode_statement *second, unsigned axis) {
    choose_told(p, &first, &second);
    struct span span = origin_span(&second->origin), other = origin_span(&first->origin);
    bool brought = second->origin.kind == ORIGIN_USE;
    bool limited = !places_several(first) || !places_several(second); // can one be, by a selector?
    if (is_reported(p, E305, span, other))
        return;
    const char *what =
        brought ? "the same states" : arena_format(p->arena, "`%s`", state_names[second->state]);
    struct diagnostic *d =
        report(p->diagnostics, E305, span, "two statements of equal rank place %s over `%s`", what,
               p->config->mesh.axes[axis].name);
    diagnostic_say(d, "the other says this, of the same %s",
                   second->state == STATE_ACTIVATIONS && !brought ? "values" : "tensors");
    diagnostic_label(d, other, "one says this");
    diagnostic_origin(d, &second->origin);
    diagnostic_help(d, "keep one of them%s",
                    brought   ? ", or limit one to a part of the model, as in `in mlp { use ... }`"
                    : limited ? ", or give one a longer selector"
                              : "");
    propose_first(p, d, first, second);
}
