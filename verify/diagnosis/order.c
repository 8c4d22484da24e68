// Why terms differ where they are ordered (ordered.c): the place where a program first computes
// what the reference does not, or in another order.
#include <string.h>

#include "verify/diagnosis/diagnosis.h"

#include "verify/diagnosis/cause.h"

enum { TEXT_DEPTH = 2 };

// Finds, of what the term is made of and in the order in which it was made, the first that the
// reference has not, made of what it has. The node of a part is older than that of the whole, so one
// pass from the newest to the oldest meets each behind all that is made of it. UINT32_MAX as the
// node: there is none.
static struct term first_unlike(const struct proof *p, struct term whole) {
    struct terms *terms = p->world->terms;
    struct term first = {UINT32_MAX, 0};
    if (whole.node < p->first_own_node)
        return first;
    uint32_t n_own = whole.node - p->first_own_node + 1;
    struct term *met = ARENA_ARRAY(p->world->arena, struct term, n_own); // node 0: not
    met[n_own - 1] = whole;
    for (uint32_t own = n_own; own > 0; own--) {
        struct term term = met[own - 1];
        bool known = term.node != 0;
        for (uint32_t i = 0; term.node && i < term_node(terms, term)->n_parts; i++) {
            struct term part = term_part(terms, term, i).of;
            if (part.node < p->first_own_node)
                continue;
            known = false;
            if (met[part.node - p->first_own_node].node == 0)
                met[part.node - p->first_own_node] = part;
        }
        if (known)
            first = term;
    }
    return first;
}

// How many operands two nodes share.
static uint32_t n_shared(const struct node *a, const struct node *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_parts; i++)
        for (uint32_t k = 0; k < b->n_parts; k++)
            n += a->key->parts[i].node == b->key->parts[k].node;
    return n;
}

// What the reference makes by such an op of most of these operands; the term itself: nothing.
static struct term counterpart(const struct proof *p, struct term term) {
    const struct node *made = term_node(p->world->terms, term);
    struct term found = term;
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->first_own_node; i++) {
        const struct node *other = &p->world->terms->nodes[i];
        bool alike = other->key->kind == made->key->kind && other->n_parts == made->n_parts &&
                     other->key->result == made->key->result;
        uint32_t n = alike ? n_shared(other, made) : 0;
        if (n > most) {
            most = n;
            found = (struct term){i, term.at};
        }
    }
    return found;
}

// Whether the same operands were put together in other blocks, by one op. What else an op says was
// compared when sums commuted.
static bool differs_in_blocks(const struct world *w, struct term made, struct term theirs) {
    const struct node *a = term_node(w->terms, made), *b = term_node(w->terms, theirs);
    return a->key->kind == b->key->kind && a->n_parts == b->n_parts &&
           memcmp(a->key->parts, b->key->parts, a->n_parts * sizeof *a->key->parts) == 0;
}

static const char *difference_text(const struct world *w, struct scaled made,
                                   struct scaled theirs) {
    const char *text = term_text(w, made, TEXT_DEPTH);
    if (term_equal(theirs.of, made.of))
        return arena_format(w->arena, "this is %s, which one device does not compute", text);
    if (differs_in_blocks(w, made.of, theirs.of))
        return arena_format(w->arena, "this is %s in other blocks than one device has", text);
    return arena_format(w->arena, "this is %s, where one device has %s", text,
                        term_text(w, theirs, TEXT_DEPTH));
}

const struct fault *ordered_difference(struct proof *p, const struct expectation *expectation,
                                       const struct judgement *found) {
    if (scaled_equal(found->value, expectation->value))
        return NULL;
    struct scaled made = {first_unlike(p, found->value.of), SCALE_ONE};
    struct scaled theirs = expectation->value;
    if (made.of.node == UINT32_MAX)
        made = found->value;
    else
        theirs.of = counterpart(p, made.of);
    bool own = made.of.node >= p->first_own_node;
    const struct span *origin = term_node(p->world->terms, made.of)->origin;
    struct fault *fault = fault_make(p, E416, own && origin ? *origin : expectation->span, NULL,
                                     "%s", difference_text(p->world, made, theirs));
    fault->effect =
        arena_format(p->world->arena, "so the bits of %s depend on the mesh", expectation->what);
    return fault;
}
