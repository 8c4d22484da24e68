// Why a value is not what the reference has. That the terms differ is known before; here the place
// is found where they part, and what kind of mistake that looks like.
//
// Terms are shared: every node that the reference made is known by its number. The first value that
// the reference does not have is therefore a node of the final program's own whose operands all are
// the reference's: an op that was given the wrong thing. It is compared with the reference's node
// that is most like it, and what differs between the two is the mistake.
//
// Ops that the reference has nowhere are another way to the same values (a sum of exponentials
// where it has the loss): they are no mistakes themselves, only what is made of them may be.
#include "verify/engine.h"

#include <inttypes.h>
#include <string.h>

struct walk {
    struct engine *engine;
    const struct expectation *expectation;
    bool *visited;
    bool known[N_OPS];    // ops that the reference has
    struct term first[2]; // the own nodes found so far: of ops that it has, of others
    bool found[2];
};

static const struct node *node_of(const struct engine *e, struct term term) {
    return &e->terms->nodes[term.node];
}

static struct scaled part_value(const struct engine *e, struct term of, uint32_t i) {
    const struct part *part = &node_of(e, of)->key->parts[i];
    bool indexed = e->terms->nodes[part->node].key->indexed;
    return (struct scaled){{part->node, part->at + (indexed ? of.at : 0)}, part->scale};
}

// The scalars of a scale are operands too.
static void visit(struct walk *w, struct term term);

static void visit_scale(struct walk *w, scale_id id) {
    const struct scale *scale = scale_get(w->engine->terms, id);
    for (uint32_t i = 0; i < scale->n_factors; i++)
        visit(w, scale->factors[i].of);
}

// A value on the program's own way, or a multiple of one.
static bool is_detour(const struct walk *w, struct term term) {
    int kind = term_kind(w->engine->terms, term);
    if (kind == NODE_SCALED)
        return is_detour(w, part_value(w->engine, term, 0).of);
    return kind == NODE_UNKNOWN || (kind < N_OPS && !w->known[kind]);
}

static void visit(struct walk *w, struct term term) {
    struct engine *e = w->engine;
    if (term.node < e->first_own_node || w->visited[term.node])
        return;
    w->visited[term.node] = true;
    const struct node *node = node_of(e, term);
    bool deepest = true;
    for (uint32_t i = 0; i < node->n_parts; i++) {
        struct scaled part = part_value(e, term, i);
        deepest = deepest && (part.of.node < e->first_own_node || is_detour(w, part.of));
        visit(w, part.of);
        visit_scale(w, part.scale);
    }
    bool detour = is_detour(w, term);
    if (deepest && (!w->found[detour] || term.node < w->first[detour].node)) {
        w->first[detour] = term;
        w->found[detour] = true;
    }
}

// ---- the reference's most alike node ----------------------------------------------------------

static bool same_part(const struct part *a, const struct part *b) {
    return a->node == b->node && a->at == b->at && a->end == b->end && a->scale == b->scale &&
           a->m_begin == b->m_begin && a->m_end == b->m_end;
}

// 3 for every part that is the same, 1 for one of the same node; a sum's parts at any place.
static int likeness(const struct node *a, const struct node *b) {
    int score = 0;
    bool sum = a->key->kind == NODE_SUM;
    for (uint32_t i = 0; i < a->n_parts; i++) {
        int best = 0;
        for (uint32_t k = sum ? 0 : i; k < (sum ? b->n_parts : i + 1) && k < b->n_parts; k++) {
            if (same_part(&a->key->parts[i], &b->key->parts[k]))
                best = 3;
            else if (a->key->parts[i].node == b->key->parts[k].node && best < 1)
                best = 1;
        }
        score += best;
    }
    return score;
}

static uint32_t most_alike(const struct engine *e, const struct node *node) {
    uint32_t best = NO_ID;
    int best_score = 0;
    for (uint32_t i = 0; i < e->first_own_node; i++) {
        const struct node *other = &e->terms->nodes[i];
        if (other->key->kind != node->key->kind || other->key->result != node->key->result ||
            other->key->attributes != node->key->attributes ||
            (node->key->kind != NODE_SUM && other->n_parts != node->n_parts))
            continue;
        int score = likeness(node, other);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

// ---- other numbers ----------------------------------------------------------------------------

// The reference's op on the same operands, with other attributes; NO_ID: none.
static uint32_t same_but_attributes(const struct engine *e, const struct node *node) {
    if (node->key->kind >= N_OPS || node->key->kind == OP_EINSUM || node->key->kind == OP_IOTA)
        return NO_ID;
    for (uint32_t i = 0; i < e->first_own_node; i++) {
        const struct node *other = &e->terms->nodes[i];
        bool same = other->key->kind == node->key->kind &&
                    other->key->result == node->key->result && other->n_parts == node->n_parts &&
                    other->key->attributes != node->key->attributes;
        for (uint32_t k = 0; same && k < node->n_parts; k++)
            same = same_part(&node->key->parts[k], &other->key->parts[k]);
        if (same)
            return i;
    }
    return NO_ID;
}

static const char *attribute_text(const struct engine *e, enum attribute_kind kind,
                                  const char *bytes) {
    int64_t integer;
    double real;
    if (kind == KIND_WORD)
        return arena_format(e->arena, "\"%s\"", bytes);
    if (kind == KIND_REAL) {
        memcpy(&real, bytes, sizeof real);
        return arena_format(e->arena, "%.15g", real);
    }
    memcpy(&integer, bytes, sizeof integer);
    return arena_format(e->arena, "%" PRId64, integer);
}

// As rule.c packs them: a byte for the name, then the value.
static const char *attributes_text(const struct engine *e, uint32_t attributes) {
    if (!attributes)
        return "{}";
    const struct intern_entry *entry = &e->terms->attributes.entries[attributes - 1];
    const char *text = "", *bytes = entry->bytes;
    for (uint32_t at = 0; at < entry->size;) {
        int name = bytes[at++];
        enum attribute_kind kind = attribute_kinds[name];
        text = arena_format(e->arena, "%s%s%s=%s", text, *text ? ", " : "", attribute_names[name],
                            attribute_text(e, kind, bytes + at));
        at += kind == KIND_WORD ? (uint32_t)strlen(bytes + at) + 1 : (uint32_t)sizeof(int64_t);
    }
    return arena_format(e->arena, "{%s}", text);
}

static const struct fault *attributes_fault(struct engine *e, struct span span,
                                            const struct node *node) {
    uint32_t like = same_but_attributes(e, node);
    if (like == NO_ID)
        return NULL;
    return fault_make(e, E490, span, NULL, "`%s` is given %s; on one device it is given %s",
                      op_rows[node->key->kind].text, attributes_text(e, node->key->attributes),
                      attributes_text(e, e->terms->nodes[like].key->attributes));
}

// ---- what differs -----------------------------------------------------------------------------

static const char *place_text(const struct engine *e, struct term term) {
    int kind = term_kind(e->terms, term);
    return kind < N_OPS ? op_rows[kind].text : "sum";
}

static struct scaled at_same_index(const struct engine *e, const struct node *like,
                                   struct term found) {
    return (struct scaled){{(uint32_t)(like - e->terms->nodes), found.at}, SCALE_ONE};
}

// What an op reads, as the user knows it: by the name that the op's row gives the operand.
static const char *operand_text(const struct engine *e, struct term of, uint32_t part) {
    enum op_kind kind = term_kind(e->terms, of);
    if (kind >= N_OPS || node_of(e, of)->n_parts != op_operand_count(kind))
        return "what is read here";
    return arena_format(e->arena, "operand `%s` of `%s`", op_operand_name(e->arena, kind, part),
                        op_rows[kind].text);
}

static const struct fault *scale_fault(struct engine *e, struct span span, const char *what,
                                       scale_id found, scale_id expected) {
    scale_id ratio = scale_multiply(e->terms, found, scale_invert(e->terms, expected));
    const struct scale *factor = scale_get(e->terms, ratio);
    const char *found_text = scale_text(e, found), *expected_text = scale_text(e, expected);
    if (factor->n_factors || factor->serial || factor->numerator <= 0)
        return fault_make(e, E413, span, NULL,
                          "%s is scaled by %s; on one device it is scaled by %s", what, found_text,
                          expected_text);
    bool large = factor->numerator > factor->denominator;
    return fault_make(e, E413, span, NULL,
                      "%s is %s times too %s: it is scaled by %s, on one device by %s", what,
                      scale_text(e, large ? ratio : scale_invert(e->terms, ratio)),
                      large ? "large" : "small", found_text, expected_text);
}

static const struct fault *sum_fault(struct engine *e, struct span span, struct term found,
                                     const struct node *like) {
    const struct node *node = node_of(e, found);
    for (uint32_t i = 0; i < node->n_parts; i++)
        for (uint32_t k = 0; k < like->n_parts; k++) {
            const struct part *a = &node->key->parts[i], *b = &like->key->parts[k];
            if (a->node != b->node || a->at != b->at || a->end != b->end || a->scale == b->scale)
                continue;
            scale_id ratio = scale_multiply(e->terms, a->scale, scale_invert(e->terms, b->scale));
            struct scaled summand = {part_value(e, found, i).of, SCALE_ONE};
            return fault_make(e, E412, span, NULL,
                              "the sum has `%s` %s times, against the rest of it, where the "
                              "reference has it once",
                              term_text(e, summand, 1), scale_text(e, ratio));
        }
    return fault_make(e, E412, span, NULL, "the sum here is %s, the reference's is %s",
                      term_text(e, (struct scaled){found, SCALE_ONE}, 1),
                      term_text(e, at_same_index(e, like, found), 1));
}

static const struct fault *operand_fault(struct engine *e, struct span span, struct term found,
                                         const struct node *like) {
    const struct node *node = node_of(e, found);
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *a = &node->key->parts[i], *b = &like->key->parts[i];
        struct scaled ours = part_value(e, found, i);
        struct scaled theirs = {{b->node, b->at + (ours.of.at - a->at)}, b->scale};
        if (same_part(a, b))
            continue;
        if (a->node == b->node && a->at == b->at)
            return scale_fault(e, span, operand_text(e, found, i), a->scale, b->scale);
        if (a->node == b->node)
            return fault_make(e, E512, span, NULL,
                              "values of different layers meet: this is `%s`, the reference has "
                              "`%s`",
                              term_text(e, (struct scaled){found, SCALE_ONE}, 1),
                              term_text(e, at_same_index(e, like, found), 1));
        bool state = term_kind(e->terms, ours.of) == NODE_STATE;
        return fault_make(e, state ? E511 : E490, span, NULL,
                          "`%s` is given %s where the reference gives it %s", place_text(e, found),
                          term_text(e, ours, 1), term_text(e, theirs, 1));
    }
    return NULL;
}

static const struct fault *first_difference(struct engine *e, struct term found) {
    const struct node *node = node_of(e, found);
    struct span span = node->origin ? *node->origin : span_nowhere();
    const struct fault *fault = attributes_fault(e, span, node);
    if (fault)
        return fault;
    uint32_t like = most_alike(e, node);
    if (like != NO_ID && node->key->kind == NODE_SUM)
        fault = sum_fault(e, span, found, &e->terms->nodes[like]);
    else if (like != NO_ID)
        fault = operand_fault(e, span, found, &e->terms->nodes[like]);
    if (fault)
        return fault;
    return fault_make(e, E490, span, NULL,
                      "this computes %s, which one device does not, and of which nothing is known "
                      "that would make it equal",
                      term_text(e, (struct scaled){found, SCALE_ONE}, 2));
}

// A value that the reference has, but elsewhere.
static const struct fault *exchanged(struct engine *e, const struct expectation *expectation,
                                     struct scaled found) {
    struct scaled expected = expectation->value;
    if (term_equal(found.of, expected.of))
        return scale_fault(e, expectation->span, expectation->what, found.scale, expected.scale);
    const char *ours = term_text(e, found, 1), *theirs = term_text(e, expected, 1);
    if (found.of.node == expected.of.node)
        return fault_make(e, E512, expectation->span, NULL,
                          "%s ends the step as `%s`, which is layer %d's", expectation->what, ours,
                          found.of.at);
    if (term_kind(e->terms, found.of) == NODE_STATE)
        return fault_make(e, E511, expectation->span, NULL,
                          "%s ends the step as it began it, or as another state did: as `%s`, not "
                          "as %s",
                          expectation->what, ours, theirs);
    return fault_make(e, E490, expectation->span, NULL,
                      "%s ends the step as %s, on one device as %s", expectation->what, ours,
                      theirs);
}

static const struct fault *difference(struct engine *e, const struct expectation *expectation,
                                      struct scaled found) {
    struct walk w = {.engine = e,
                     .expectation = expectation,
                     .visited = ARENA_ARRAY(e->arena, bool, e->terms->n_nodes)};
    for (uint32_t i = 0; i < e->first_own_node; i++)
        if (e->terms->nodes[i].key->kind < N_OPS)
            w.known[e->terms->nodes[i].key->kind] = true;
    visit(&w, found.of);
    visit_scale(&w, found.scale);
    bool own = w.found[0] || w.found[1];
    struct fault *fault = (struct fault *)(own ? first_difference(e, w.first[w.found[0] ? 0 : 1])
                                               : exchanged(e, expectation, found));
    if (own)
        fault->effect =
            arena_format(e->arena, "so %s is not what one device computes", expectation->what);
    fault->has_terms = true;
    fault->what = expectation->what;
    fault->found = found;
    fault->expected = expectation->value;
    return fault;
}

const struct fault *diagnose(struct engine *e, const struct expectation *expectation,
                             const struct judgement *found) {
    const char *what = expectation->what;
    if (found->fault)
        return found->fault;
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
    return difference(e, expectation, found->value);
}
