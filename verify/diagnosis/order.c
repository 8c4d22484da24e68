// Why terms differ where they are ordered (ordered.c): the place where a program first computes
// what the reference does not, or in another order.
#include <string.h>

#include "verify/diagnosis/diagnosis.h"

#include "verify/diagnosis/cause.h"

enum { TEXT_DEPTH = 2 };

// A search finds, of what the term is made of and in the order in which it was made, the first that
// the reference has not, made of what it has.
struct search {
    const struct proof *proof;
    bool *seen;
    struct term first;
};

static void search_term(struct search *search, struct term term) {
    const struct proof *p = search->proof;
    if (term.node < p->first_own_node || search->seen[term.node])
        return;
    search->seen[term.node] = true;
    bool known = true;
    for (uint32_t i = 0; i < term_node(p->world->terms, term)->n_parts; i++) {
        struct term part = term_part(p->world->terms, term, i).of;
        known = known && part.node < p->first_own_node;
        search_term(search, part);
    }
    if (known && term.node < search->first.node)
        search->first = term;
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
    struct search search = {
        p, ARENA_ARRAY(p->world->arena, bool, p->world->terms->n_nodes), {UINT32_MAX, 0}};
    memset(search.seen, 0, p->world->terms->n_nodes * sizeof *search.seen);
    search_term(&search, found->value.of);
    struct scaled made = {search.first, SCALE_ONE}, theirs = expectation->value;
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
