// Why a value is not what the reference has: walks both terms together to where they part, and says
// what kind of mistake that is, at the statement that made the first value the reference does not
// have. Nothing here decides anything: that the terms differ is known before.
#include "verify/engine.h"

#include <inttypes.h>

struct walk {
    struct engine *engine;
    const struct expectation *expectation;
    struct span span;   // of the innermost value that only the final program has
    const char *reader; // the op whose operand differs
};

static const struct node *node_of(const struct walk *w, struct term term) {
    return &w->engine->terms->nodes[term.node];
}

// A result of the reference's loop, back to the term that it names.
static struct term definition_of(const struct terms *terms, struct term term) {
    for (uint32_t n = 0; n < terms->n_nodes && term_kind(terms, term) == NODE_RESULT; n++)
        for (uint32_t i = terms->nodes[n].alias; i; i = terms->aliases[i].next) {
            const struct alias *alias = &terms->aliases[i];
            int32_t at = term.at - alias->offset;
            if (alias->node == term.node && alias->begin <= at && at < alias->end)
                return (struct term){n, at};
        }
    return term;
}

static void enter(struct walk *w, struct term found) {
    const struct node *node = node_of(w, found);
    if (found.node >= w->engine->first_own_node && node->origin)
        w->span = *node->origin;
    if (node->key->kind < N_OPS)
        w->reader = op_rows[node->key->kind].text;
}

static const char *what(const struct walk *w) {
    return w->expectation->what;
}

// ---- scales -----------------------------------------------------------------------------------

static const struct fault *scale_fault(struct walk *w, scale_id found, scale_id expected) {
    struct engine *e = w->engine;
    scale_id ratio = scale_multiply(e->terms, found, scale_invert(e->terms, expected));
    const struct scale *factor = scale_get(e->terms, ratio);
    const char *place = w->reader ? w->reader : "the step's end";
    if (factor->n_factors || factor->serial || factor->numerator <= 0)
        return fault_make(e, E413, w->span, NULL,
                          "%s: the value that reaches `%s` is scaled by %s, not by %s", what(w),
                          place, scale_text(e, found), scale_text(e, expected));
    bool large = factor->numerator > factor->denominator;
    const char *ratio_text =
        large ? scale_text(e, ratio) : scale_text(e, scale_invert(e->terms, ratio));
    return fault_make(
        e, E413, w->span, NULL,
        "%s: the value that reaches `%s` is %s times too %s; it is scaled by %s, not by "
        "%s",
        what(w), place, ratio_text, large ? "large" : "small", scale_text(e, found),
        scale_text(e, expected));
}

// ---- sums -------------------------------------------------------------------------------------

static bool same_summand(const struct summand *a, const struct summand *b) {
    return a->node == b->node && a->at == b->at && a->end == b->end && a->m_begin == b->m_begin &&
           a->m_end == b->m_end;
}

static struct scaled scaled_of(const struct summand *s) {
    return (struct scaled){{s->node, s->at}, s->scale};
}

// Takes out of both what they have in common.
static void cancel(struct sum *a, struct sum *b) {
    for (uint32_t i = 0; i < a->n;) {
        uint32_t k = 0;
        while (k < b->n && !(same_summand(&a->items[i], &b->items[k]) &&
                             a->items[i].scale == b->items[k].scale))
            k++;
        if (k == b->n) {
            i++;
            continue;
        }
        a->items[i] = a->items[--a->n];
        b->items[k] = b->items[--b->n];
    }
}

static const struct summand *find_node(const struct sum *sum, const struct summand *like) {
    for (uint32_t i = 0; i < sum->n; i++)
        if (sum->items[i].node == like->node && sum->items[i].at == like->at)
            return &sum->items[i];
    return NULL;
}

static const struct fault *descend(struct walk *w, struct scaled found, struct scaled expected);

static const struct fault *coefficient_fault(struct walk *w, const struct summand *found,
                                             const struct summand *expected) {
    struct engine *e = w->engine;
    scale_id ratio =
        scale_multiply(e->terms, found->scale, scale_invert(e->terms, expected->scale));
    struct scaled plain = scaled_of(expected);
    plain.scale = SCALE_ONE;
    const struct fault *fault = fault_make(
        e, E412, w->span, NULL, "%s: the sum has %s of `%s` where the reference has it once",
        what(w), scale_text(e, ratio), term_text(e, plain, 1));
    return fault;
}

static const struct fault *sum_fault(struct walk *w, struct scaled found, struct scaled expected) {
    struct engine *e = w->engine;
    struct sum ours = {0}, theirs = {0};
    sum_add(e->terms, &ours, found, SCALE_ONE);
    sum_add(e->terms, &theirs, expected, SCALE_ONE);
    cancel(&ours, &theirs);
    for (uint32_t i = 0; i < theirs.n; i++) {
        const struct summand *like = find_node(&ours, &theirs.items[i]);
        if (like && same_summand(like, &theirs.items[i]))
            return coefficient_fault(w, like, &theirs.items[i]);
    }
    if (ours.n == 0)
        return fault_make(e, E412, w->span, NULL, "%s: `%s` is missing from the sum", what(w),
                          term_text(e, scaled_of(&theirs.items[0]), 1));
    if (theirs.n == 0)
        return fault_make(e, E412, w->span, NULL,
                          "%s: the sum has `%s`, which the reference's has not", what(w),
                          term_text(e, scaled_of(&ours.items[0]), 1));
    if (find_node(&ours, &theirs.items[0]))
        return fault_make(e, E412, w->span, NULL,
                          "%s: what is summed is %s, but the reference sums %s", what(w),
                          term_text(e, found, 1), term_text(e, expected, 1));
    return descend(w, scaled_of(&ours.items[0]), scaled_of(&theirs.items[0]));
}

// ---- the walk ---------------------------------------------------------------------------------

static const struct fault *unproved(struct walk *w, struct scaled found, struct scaled expected) {
    struct engine *e = w->engine;
    return fault_make(e, E490, w->span, NULL,
                      "%s: found %s where the reference has %s, and no reason why these should be "
                      "equal",
                      what(w), term_text(e, found, 2), term_text(e, expected, 2));
}

static struct scaled part_value(const struct walk *w, struct term of, uint32_t i) {
    const struct part *part = &node_of(w, of)->key->parts[i];
    bool indexed = w->engine->terms->nodes[part->node].key->indexed;
    return (struct scaled){{part->node, part->at + (indexed ? of.at : 0)}, part->scale};
}

static const struct fault *same_op(struct walk *w, struct scaled found, struct scaled expected) {
    uint32_t n = node_of(w, found.of)->n_parts;
    for (uint32_t i = 0; i < n; i++) {
        struct scaled ours = part_value(w, found.of, i), theirs = part_value(w, expected.of, i);
        if (!scaled_equal(ours, theirs))
            return descend(w, ours, theirs);
    }
    return unproved(w, found, expected);
}

static struct scaled without_scale_node(const struct walk *w, struct scaled value) {
    if (node_of(w, value.of)->key->kind != NODE_SCALED)
        return value;
    struct scaled inner = part_value(w, value.of, 0);
    inner.scale = scale_multiply(w->engine->terms, inner.scale, value.scale);
    return inner;
}

static const struct fault *index_fault(struct walk *w, struct scaled found,
                                       struct scaled expected) {
    struct engine *e = w->engine;
    return fault_make(e, E512, w->span, NULL, "%s: `%s` is used where layer %d's is needed: `%s`",
                      what(w), term_text(e, found, 1), expected.of.at, term_text(e, expected, 1));
}

static bool is_state(const struct walk *w, struct term term) {
    return node_of(w, term)->key->kind == NODE_STATE;
}

static const struct fault *descend(struct walk *w, struct scaled found, struct scaled expected) {
    found = without_scale_node(w, found);
    expected = without_scale_node(w, expected);
    if (term_equal(found.of, expected.of))
        return scale_fault(w, found.scale, expected.scale);
    if (found.of.node == expected.of.node)
        return index_fault(w, found, expected);
    enter(w, found.of);
    if (is_state(w, found.of) && !is_state(w, expected.of))
        return fault_make(w->engine, E511, w->span, NULL,
                          "%s: found `%s` as it was before this step, where %s is needed", what(w),
                          term_text(w->engine, found, 1), term_text(w->engine, expected, 1));
    if (is_state(w, expected.of))
        return fault_make(w->engine, E511, w->span, NULL,
                          "%s: found %s where `%s` is needed as it was before this step", what(w),
                          term_text(w->engine, found, 2), term_text(w->engine, expected, 1));
    struct scaled defined = {definition_of(w->engine->terms, expected.of), expected.scale};
    struct scaled ours = {definition_of(w->engine->terms, found.of), found.scale};
    const struct node_key *x = node_of(w, ours.of)->key, *y = node_of(w, defined.of)->key;
    if (x->kind == NODE_SUM || y->kind == NODE_SUM)
        return sum_fault(w, ours, defined);
    bool same = x->kind == y->kind && x->result == y->result && x->attributes == y->attributes &&
                node_of(w, ours.of)->n_parts == node_of(w, defined.of)->n_parts;
    return same ? same_op(w, ours, defined) : unproved(w, found, expected);
}

const struct fault *diagnose(struct engine *e, const struct expectation *expectation,
                             const struct judgement *found) {
    struct walk w = {.engine = e, .expectation = expectation, .span = expectation->span};
    if (found->fault)
        return found->fault;
    if (found->partial)
        return fault_make(e, E410, expectation->span, NULL,
                          "%s is still a summand over %s when the step ends", what(&w),
                          mask_text(e, found->partial));
    if (term_is_collected(e->terms, found->value.of))
        return fault_make(e, E412, expectation->span, NULL,
                          "%s holds %s of %d microbatches when the step ends", what(&w),
                          microbatches_text(e, found->value.of), e->terms->microbatches);
    if (scaled_equal(found->value, expectation->value))
        return NULL;
    return descend(&w, found->value, expectation->value);
}
