// Why a value is not what the reference has. That it is not is known before, where it is read or
// when the step ends; here the place is found where the first mistake was made, and what kind of
// mistake that looks like.
//
// That place is the first value on the way there which the reference does not explain (history.h).
// What differs there between it and the reference is the mistake (difference.c).
#include "verify/diagnosis/cause.h"

// A value that the reference has, but elsewhere.
static struct fault *exchanged(struct proof *p, const struct expectation *expectation,
                               struct scaled found) {
    struct scaled expected = expectation->value;
    if (term_equal(found.of, expected.of))
        return scale_fault(p, expectation->span, expectation->what, found.scale, expected.scale);
    struct texts texts = texts_of(p, found, expected);
    if (found.of.node == expected.of.node)
        return fault_make(p, E512, expectation->span, NULL,
                          "%s ends the step as `%s`, which is layer %d's", expectation->what,
                          texts.ours, found.of.at);
    if (term_kind(p->world->terms, found.of) == NODE_STATE)
        return fault_make(p, E511, expectation->span, NULL,
                          "%s ends the step as it began it, or as another state did: as `%s`, not "
                          "as %s",
                          expectation->what, texts.ours, texts.theirs);
    return fault_make(p, E490, expectation->span, NULL,
                      "%s ends the step as %s, on one device as %s", expectation->what, texts.ours,
                      texts.theirs);
}

static struct fault *difference(struct proof *p, const struct expectation *expectation,
                                const struct judgement *found) {
    bool detour;
    struct fault *fault = cause_of_value(p, found->made, &detour);
    if (fault)
        fault->effect = arena_format(p->world->arena, "so %s is not what one device computes",
                                     expectation->what);
    else
        fault = exchanged(p, expectation, found->value);
    fault->told = true;
    fault->has_terms = true;
    fault->what = expectation->what;
    fault->found = found->value;
    fault->expected = expectation->value;
    return fault;
}

static struct fault *diagnose_value(struct proof *p, const struct expectation *expectation,
                                    const struct judgement *found) {
    const char *what = expectation->what;
    if (found->partial)
        return fault_make(p, E410, expectation->span, NULL,
                          "%s is still a summand over %s when the step ends", what,
                          mask_text(p->world, found->partial));
    if (found->partial_max)
        return fault_make(p, E410, expectation->span, NULL,
                          "%s is still the greatest of one device's own part over %s when the step "
                          "ends",
                          what, mask_text(p->world, found->partial_max));
    if (found->coverage != COVERAGE_COMPLETE)
        return fault_make(p, E412, expectation->span, NULL, "%s lacks %s when the step ends", what,
                          coverage_missing_text(p->world, found->coverage));
    if (term_is_collected(p->world->terms, found->value.of))
        return fault_make(
            p, E412, expectation->span, NULL,
            "%s holds %s when the step ends, and not each of the %d microbatches once", what,
            microbatches_text(p->world, found->value.of), p->world->terms->microbatches);
    if (scaled_equal(found->value, expectation->value))
        return NULL;
    if (!p->history) // it will be looked into
        return fault_make(p, E490, expectation->span, NULL, "%s differs", what);
    return difference(p, expectation, found);
}

const struct fault *diagnose(struct proof *p, const struct expectation *expectation,
                             const struct judgement *found) {
    if (found->fault)
        return found->fault;
    if (p->ordered)
        return ordered_difference(p, expectation, found);
    struct fault *fault = diagnose_value(p, expectation, found);
    if (fault && p->history) { // whoever reads the state
        history_begin(p, NULL, NULL, expectation->span, found, 1);
        fault->made = p->history->open;
        history_end(p);
    }
    return fault;
}
