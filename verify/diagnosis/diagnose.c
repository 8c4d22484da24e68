// Why a value is not what the reference has. That it is not is known before, where it is read or
// when the step ends; here the place is found where the first mistake was made, and what kind of
// mistake that looks like.
//
// That place is the first value on the way there which the reference does not explain (history.h).
// What differs there between it and the reference is the mistake (difference.c).
#include "verify/diagnosis/cause.h"

// A value that the reference has, but elsewhere.
static struct fault *exchanged(struct engine *e, const struct expectation *expectation,
                               struct scaled found) {
    struct scaled expected = expectation->value;
    if (term_equal(found.of, expected.of))
        return scale_fault(e, expectation->span, expectation->what, found.scale, expected.scale);
    struct texts texts = texts_of(e, found, expected);
    if (found.of.node == expected.of.node)
        return fault_make(e, E512, expectation->span, NULL,
                          "%s ends the step as `%s`, which is layer %d's", expectation->what,
                          texts.ours, found.of.at);
    if (term_kind(e->terms, found.of) == NODE_STATE)
        return fault_make(e, E511, expectation->span, NULL,
                          "%s ends the step as it began it, or as another state did: as `%s`, not "
                          "as %s",
                          expectation->what, texts.ours, texts.theirs);
    return fault_make(e, E490, expectation->span, NULL,
                      "%s ends the step as %s, on one device as %s", expectation->what, texts.ours,
                      texts.theirs);
}

static struct fault *difference(struct engine *e, const struct expectation *expectation,
                                const struct judgement *found) {
    bool detour;
    struct fault *fault = cause_of_value(e, found->made, &detour);
    if (fault)
        fault->effect =
            arena_format(e->arena, "so %s is not what one device computes", expectation->what);
    else
        fault = exchanged(e, expectation, found->value);
    fault->told = true;
    fault->has_terms = true;
    fault->what = expectation->what;
    fault->found = found->value;
    fault->expected = expectation->value;
    return fault;
}

static struct fault *diagnose_value(struct engine *e, const struct expectation *expectation,
                                    const struct judgement *found) {
    const char *what = expectation->what;
    if (found->partial)
        return fault_make(e, E410, expectation->span, NULL,
                          "%s is still a summand over %s when the step ends", what,
                          mask_text(e, found->partial));
    if (found->partial_max)
        return fault_make(e, E410, expectation->span, NULL,
                          "%s is still the greatest of one device's own part over %s when the step "
                          "ends",
                          what, mask_text(e, found->partial_max));
    if (found->coverage != COVERAGE_COMPLETE)
        return fault_make(e, E412, expectation->span, NULL, "%s lacks %s when the step ends", what,
                          coverage_missing_text(e, found->coverage));
    if (term_is_collected(e->terms, found->value.of))
        return fault_make(
            e, E412, expectation->span, NULL,
            "%s holds %s when the step ends, and not each of the %d microbatches once", what,
            microbatches_text(e, found->value.of), e->terms->microbatches);
    if (scaled_equal(found->value, expectation->value))
        return NULL;
    if (!e->history) // it will be looked into
        return fault_make(e, E490, expectation->span, NULL, "%s differs", what);
    return difference(e, expectation, found);
}

const struct fault *diagnose(struct engine *e, const struct expectation *expectation,
                             const struct judgement *found) {
    if (found->fault)
        return found->fault;
    if (e->terms->ordered)
        return ordered_difference(e, expectation, found);
    struct fault *fault = diagnose_value(e, expectation, found);
    if (fault && e->history) { // whoever reads the state
        history_begin(e, NULL, NULL, expectation->span, found, 1);
        fault->made = e->history->open;
        history_end(e);
    }
    return fault;
}
