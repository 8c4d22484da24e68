// What differs between a value and the reference's: its term is compared with the reference's node
// that is most like it.
#include "verify/diagnosis/cause.h"

#include <inttypes.h>
#include <string.h>

#include "verify/algebra/attributes.h"

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

static bool is_made(const struct proof *p, uint32_t node) {
    for (uint32_t id = 1; id <= p->history->n; id++)
        if (making_of(p->history, id)->name && making_of(p->history, id)->value.of.node == node)
            return true;
    return false;
}

// The most alike node: of several that are as much alike one that the program lacks; where none is
// alike, and the op reads one value, the only one of its kind. What stands for many iterations is
// none of the reference's values any more: it ended with their induction.
static uint32_t most_alike(const struct proof *p, const struct node *node) {
    uint32_t best = NO_ID, n_of_kind = 0;
    int best_score = 0;
    for (uint32_t i = 0; i < p->first_own_node; i++) {
        const struct node *other = &p->world->terms->nodes[i];
        if (other->symbolic || other->key->kind != node->key->kind ||
            other->key->result != node->key->result ||
            other->key->attributes != node->key->attributes ||
            (node->key->kind != NODE_SUM && other->n_parts != node->n_parts))
            continue;
        int score = likeness(node, other);
        n_of_kind++;
        if (score > best_score ||
            (score == best_score && (score == 0 || (is_made(p, best) && !is_made(p, i))))) {
            best_score = score;
            best = i;
        }
    }
    return best_score > 0 || (n_of_kind == 1 && node->n_parts == 1) ? best : NO_ID;
}

// ---- other numbers ----------------------------------------------------------------------------

// The reference's op on the same operands, with other attributes; NO_ID: none.
static uint32_t same_but_attributes(const struct proof *p, const struct node *node) {
    if (node->key->kind >= N_OPS || node->key->kind == OP_EINSUM || node->key->kind == OP_IOTA)
        return NO_ID;
    for (uint32_t i = 0; i < p->first_own_node; i++) {
        const struct node *other = &p->world->terms->nodes[i];
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

bool differs_in_attributes(const struct proof *p, struct term of) {
    return same_but_attributes(p, &p->world->terms->nodes[of.node]) != NO_ID;
}

static const char *attribute_text(const struct world *w, const struct attribute *attribute) {
    enum attribute_kind kind = attribute_kinds[attribute->name];
    if (kind == KIND_WORD)
        return arena_format(w->arena, "\"%s\"", attribute->word);
    return kind == KIND_REAL ? arena_format(w->arena, "%.15g", attribute->real)
                             : arena_format(w->arena, "%" PRId64, attribute->integer);
}

static const char *attributes_text(const struct world *w, uint32_t attributes) {
    const char *text = "";
    struct attribute attribute;
    for (uint32_t at = 0; attributes_next(w->terms, attributes, &at, &attribute);)
        text = arena_format(w->arena, "%s%s%s=%s", text, *text ? ", " : "",
                            attribute_names[attribute.name], attribute_text(w, &attribute));
    return arena_format(w->arena, "{%s}", text);
}

static struct fault *attributes_fault(struct proof *p, struct span span, const struct node *node) {
    uint32_t like = same_but_attributes(p, node);
    if (like == NO_ID)
        return NULL;
    return fault_make(p, E490, span, NULL, "`%s` is given %s; on one device it is given %s",
                      op_rows[node->key->kind].text,
                      attributes_text(p->world, node->key->attributes),
                      attributes_text(p->world, p->world->terms->nodes[like].key->attributes));
}

// ---- what differs -----------------------------------------------------------------------------

static const char *place_text(const struct world *w, struct term term) {
    int kind = term_kind(w->terms, term);
    if (kind == NODE_ARRIVED)
        kind = OP_DECOMPRESS;
    return kind < N_OPS ? op_rows[kind].text : "sum";
}

// The value as the reference has it, where it has it once; else of the layer of what was found.
static struct scaled at_same_index(const struct proof *p, const struct node *like,
                                   struct term found) {
    struct term of = {(uint32_t)(like - p->world->terms->nodes), found.at};
    history_only_index(p, of.node, &of.at);
    return (struct scaled){of, SCALE_ONE};
}

struct texts texts_of(const struct proof *p, struct scaled ours, struct scaled theirs) {
    enum { DEEPEST = 4 };
    struct texts texts;
    int depth = 0;
    do {
        depth++;
        texts =
            (struct texts){term_text(p->world, ours, depth), term_text(p->world, theirs, depth)};
    } while (depth < DEEPEST && strcmp(texts.ours, texts.theirs) == 0);
    return texts;
}

// What an op reads, as the user knows it: by the name that the op's row gives the operand.
static const char *operand_text(const struct world *w, struct term of, uint32_t part) {
    enum op_kind kind = term_kind(w->terms, of);
    if (kind >= N_OPS || term_node(w->terms, of)->n_parts != op_operand_count(kind))
        return "what is read here";
    return arena_format(w->arena, "operand `%s` of `%s`", op_operand_name(w->arena, kind, part),
                        op_rows[kind].text);
}

struct fault *scale_fault(struct proof *p, struct span span, const char *what, scale_id found,
                          scale_id expected) {
    scale_id ratio =
        scale_multiply(p->world->terms, found, scale_invert(p->world->terms, expected));
    const struct scale *factor = scale_get(p->world->terms, ratio);
    const char *found_text = scale_text(p->world, found),
               *expected_text = scale_text(p->world, expected);
    if (!scale_is_fraction(factor) || factor->numerator <= 0)
        return fault_make(p, E413, span, NULL,
                          "%s is scaled by %s; on one device it is scaled by %s", what, found_text,
                          expected_text);
    bool large = factor->numerator > factor->denominator;
    return fault_make(p, E413, span, NULL,
                      "%s is %s times too %s: it is scaled by %s, on one device by %s", what,
                      scale_text(p->world, large ? ratio : scale_invert(p->world->terms, ratio)),
                      large ? "large" : "small", found_text, expected_text);
}

static struct fault *with_given(struct fault *fault, struct scaled given, struct scaled wanted) {
    fault->has_given = true;
    fault->given = given;
    fault->wanted = wanted;
    return fault;
}

// What the op was given that added it: a sum has it in the dimensions of all others.
static struct scaled part_given(const struct world *w, struct term of, uint32_t i) {
    struct scaled part = term_part(w->terms, of, i);
    return term_kind(w->terms, part.of) == NODE_BROADCAST ? term_part(w->terms, part.of, 0) : part;
}

// The only part of a that b does not have; NO_ID: there are several, or none.
static uint32_t only_other_part(const struct node *a, const struct node *b) {
    uint32_t other = NO_ID;
    for (uint32_t i = 0; i < a->n_parts; i++) {
        bool has = false;
        for (uint32_t k = 0; k < b->n_parts && !has; k++)
            has = same_part(&a->key->parts[i], &b->key->parts[k]);
        if (!has && other != NO_ID)
            return NO_ID;
        other = has ? other : i;
    }
    return other;
}

static struct fault *sum_fault(struct proof *p, struct span span, struct term found,
                               const struct node *like) {
    const struct node *node = term_node(p->world->terms, found);
    for (uint32_t i = 0; i < node->n_parts; i++)
        for (uint32_t k = 0; k < like->n_parts; k++) {
            const struct part *a = &node->key->parts[i], *b = &like->key->parts[k];
            if (a->node != b->node || a->at != b->at || a->end != b->end || a->scale == b->scale)
                continue;
            scale_id ratio =
                scale_multiply(p->world->terms, a->scale, scale_invert(p->world->terms, b->scale));
            struct scaled summand = {term_part(p->world->terms, found, i).of, SCALE_ONE};
            return fault_make(p, E412, span, NULL,
                              "the sum has `%s` %s times, against the rest of it, where the "
                              "reference has it once",
                              term_text(p->world, summand, 1), scale_text(p->world, ratio));
        }
    struct scaled theirs = at_same_index(p, like, found);
    struct texts sums = texts_of(p, (struct scaled){found, SCALE_ONE}, theirs);
    struct fault *fault = fault_make(
        p, E412, span, NULL, "the sum here is %s, the reference's is %s", sums.ours, sums.theirs);
    uint32_t given = only_other_part(node, like), wanted = only_other_part(like, node);
    if (given == NO_ID || wanted == NO_ID)
        return fault;
    return with_given(fault, part_given(p->world, found, given),
                      part_given(p->world, theirs.of, wanted));
}

static struct fault *operand_fault(struct proof *p, struct span span, struct term found,
                                   const struct node *like) {
    const struct node *node = term_node(p->world->terms, found);
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *a = &node->key->parts[i], *b = &like->key->parts[i];
        struct scaled ours = term_part(p->world->terms, found, i);
        struct scaled theirs = term_part(p->world->terms, at_same_index(p, like, found).of, i);
        if (same_part(a, b))
            continue;
        if (a->node == b->node && a->at == b->at)
            return scale_fault(p, span, operand_text(p->world, found, i), a->scale, b->scale);
        if (a->node == b->node) {
            struct texts made =
                texts_of(p, (struct scaled){found, SCALE_ONE}, at_same_index(p, like, found));
            return with_given(
                fault_make(p, E512, span, NULL,
                           "values of different layers meet: this is `%s`, the reference has `%s`",
                           made.ours, made.theirs),
                ours, theirs);
        }
        bool state = term_kind(p->world->terms, ours.of) == NODE_STATE;
        struct texts given = texts_of(p, ours, theirs);
        return with_given(fault_make(p, state ? E511 : E490, span, NULL,
                                     "`%s` is given %s where the reference gives it %s",
                                     place_text(p->world, found), given.ours, given.theirs),
                          ours, theirs);
    }
    return NULL;
}

static struct fault *first_difference(struct proof *p, struct span span, struct term found) {
    const struct node *node = term_node(p->world->terms, found);
    struct fault *fault = attributes_fault(p, span, node);
    if (fault)
        return fault;
    uint32_t like = most_alike(p, node);
    if (like != NO_ID && node->key->kind == NODE_SUM)
        fault = sum_fault(p, span, found, &p->world->terms->nodes[like]);
    else if (like != NO_ID)
        fault = operand_fault(p, span, found, &p->world->terms->nodes[like]);
    if (fault)
        return fault;
    return fault_make(p, E490, span, NULL,
                      "this computes %s, which one device does not, and of which nothing is known "
                      "that would make it equal",
                      term_text(p->world, (struct scaled){found, SCALE_ONE}, 2));
}

// What is summed in a sum over some microbatches, if that is one value.
static bool collected_of(const struct world *w, struct scaled value, struct scaled *one) {
    const struct node *node = term_node(w->terms, value.of);
    *one = term_part(w->terms, value.of, 0);
    for (uint32_t i = 1; i < node->n_parts; i++)
        if (!scaled_equal(term_part(w->terms, value.of, i), *one))
            return false;
    one->scale = scale_multiply(w->terms, one->scale, value.scale);
    return true;
}

// A sum where one operand is a summand and the other is whole: every device adds it.
static struct fault *mixed_fault(struct proof *p, const struct making *making) {
    for (uint32_t i = 0; making->op && making->n_operands == 2 && i < 2; i++) {
        uint32_t one = making_operand(p->history, making, i);
        uint32_t other = making_operand(p->history, making, !i);
        if (!one || !other || !op_is_sum(making->op->kind))
            continue;
        const struct making *whole = making_of(p->history, one);
        uint32_t axes = making_of(p->history, other)->partial & ~whole->partial;
        if (axes)
            return fault_make(p, E412, making->span, NULL,
                              "`%s` is added once by every device of %s to its own summand `%s`, "
                              "and so as many times",
                              whole->name, mask_text(p->world, axes),
                              making_of(p->history, other)->name);
    }
    return NULL;
}

static struct fault *iota_fault(struct proof *p, const struct making *making) {
    int64_t ours = iota_count(p->world->terms, making->value.of), theirs = 0;
    for (uint32_t i = 0; i < p->first_own_node; i++)
        if (p->world->terms->nodes[i].key->kind == OP_IOTA &&
            iota_dimension(p->world->terms, (struct term){i, 0}) ==
                iota_dimension(p->world->terms, making->value.of))
            theirs = iota_count(p->world->terms, (struct term){i, 0});
    return fault_make(p, E510, making->span, NULL,
                      "`%s` counts %" PRId64
                      " positions of `%s`, of which one device counts %" PRId64,
                      making->name, ours,
                      dimension_names[iota_dimension(p->world->terms, making->value.of)], theirs);
}

// What multiplies scores beside the value, if attention reads it as queries or keys: the program's
// attribute and the reference's on the same operands, where these differ. False: nothing does.
static bool scales_of_scores(const struct proof *p, const struct making *making, double *ours,
                             double *theirs) {
    uint32_t id = (uint32_t)(making - p->history->makings) + 1, q, k;
    const struct making *reader = NULL;
    for (uint32_t i = id + 1; i <= p->history->n && !reader; i++) {
        const struct making *other = making_of(p->history, i);
        if (!other->op || other->op->kind != OP_ATTENTION)
            continue;
        q = making_operand(p->history, other, 0);
        k = making_operand(p->history, other, 1);
        reader = q && k && (q == id || k == id) ? other : NULL;
    }
    for (uint32_t i = 0; reader && i < p->first_own_node; i++) {
        const struct node_key *key = p->world->terms->nodes[i].key;
        if (key->kind != OP_ATTENTION ||
            key->parts[0].node != making_of(p->history, q)->value.of.node ||
            key->parts[1].node != making_of(p->history, k)->value.of.node)
            continue;
        *ours = op_real(reader->op, ATTRIBUTE_SCALE, 1);
        struct attribute scale;
        if (!term_attribute(p->world->terms, (struct term){i, 0}, ATTRIBUTE_SCALE, &scale))
            return false;
        *theirs = scale.real;
        return *ours != *theirs;
    }
    return false;
}

// A part of what the scores lack or have too much may be in the attribute.
static struct fault *scores_fault(struct proof *p, const struct making *making, scale_id expected) {
    double ours, theirs;
    const struct scale *factor =
        scale_get(p->world->terms, scale_multiply(p->world->terms, making->value.scale,
                                                  scale_invert(p->world->terms, expected)));
    if (!scale_is_fraction(factor) || !scales_of_scores(p, making, &ours, &theirs))
        return NULL;
    double ratio = ours / theirs * (double)factor->numerator / (double)factor->denominator;
    bool large = ratio > 1;
    return fault_make(p, E413, making->span, NULL,
                      "scores of attention are %.6g times too %s: `%s` is scaled by %s, on one "
                      "device by %s, and scores by %.15g, on one device by %.15g",
                      large ? ratio : 1 / ratio, large ? "large" : "small", making->name,
                      scale_text(p->world, making->value.scale), scale_text(p->world, expected),
                      ours, theirs);
}

struct fault *diagnose_making(struct proof *p, const struct making *making) {
    struct scaled value = making->value, one;
    scale_id expected;
    const char *what = arena_format(p->world->arena, "`%s`", making->name);
    struct fault *mixed = mixed_fault(p, making);
    if (mixed)
        return mixed;
    if (term_kind(p->world->terms, value.of) == OP_IOTA)
        return iota_fault(p, making);
    if (term_is_collected(p->world->terms, value.of)) {
        if (!collected_of(p->world, value, &one))
            return fault_make(p, E412, making->span, NULL,
                              "%s is the sum of %s here, and each microbatch counts once", what,
                              microbatches_text(p->world, value.of));
        value = one;
    }
    if (history_scale(p, value, &expected)) {
        struct fault *scores = scores_fault(p, making, expected);
        return scores ? scores : scale_fault(p, making->span, what, value.scale, expected);
    }
    return first_difference(p, making->span, value.of);
}
