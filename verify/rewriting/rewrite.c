// Bounded rewriting: is what a unit makes what the reference has, by laws that are no normal forms
// of all terms because they can make a term much longer (expand.c)?
//
// It is asked of a unit's results, so that what a unit hands on has the reference's term again and
// everything behind it is judged as ever: loops by induction, calls by their memo. A result that
// the reference has not is expanded, and so is every value of the same leaves to which the
// reference gave a name in the same layer, or that it made outside of loops; where two expansions
// are equal the result gets the reference's term. Both are of logical values, so whether a device
// has a part, a summand or a copy of it does not matter; what was collected from some microbatches
// is looked for without them.
#include "verify/rewriting/rewrite.h"

#include <string.h>

#include "verify/rewriting/expansion.h"

enum { MAX_CONTEXTS = 4 };

struct candidate { // that the reference has
    struct term of;
    struct known known;
};
struct context {
    struct expansion x;
    struct candidate *candidates;
    uint32_t n, cap;
};
struct rewriter {
    struct proof *proof;
    struct builder *builder;
    struct arena arena; // of what is remembered here, which is much, and no longer than this
    struct context contexts[MAX_CONTEXTS]; // of one evaluation of a unit
    unsigned n_contexts;
    bool spent; // by what is asked now
};

void note_outcome(struct proof *p, const struct judgement *result) {
    struct outcomes *outcomes = &p->outcomes;
    bool noted = result->fault != NULL;
    for (uint32_t i = 0; i < outcomes->n && !noted; i++)
        noted = term_equal(outcomes->list[i], result->value.of);
    if (!noted)
        ARENA_PUSH(p->world->arena, outcomes->list, outcomes->n, outcomes->cap, result->value.of);
}

static bool is_own(const struct proof *p, struct term term) {
    return term.node >= p->first_own_node;
}

// ---- layers -----------------------------------------------------------------------------------

// The layers of which something stands in a term: first those of states, which mostly is one.
struct layers {
    int32_t of_states[MAX_CONTEXTS], of_results[MAX_CONTEXTS];
    unsigned n_states, n_results;
    bool many; // states of more layers
    struct intern visited;
};

// False: the list is full.
static bool note_layer(struct terms *terms, int32_t *list, unsigned *n, int32_t layer) {
    for (unsigned i = 0; i < *n; i++)
        if (number_equal(&terms->symbols, list[i], layer))
            return true;
    if (*n == MAX_CONTEXTS)
        return false;
    list[(*n)++] = layer;
    return true;
}

static bool is_new(struct terms *terms, struct term term, struct layers *layers) {
    bool added;
    if (!term_indexed(terms, term) && term_kind(terms, term) != NODE_SUM)
        return false;
    intern(&layers->visited, &term, sizeof term, &added);
    return added;
}

// Depth first and from the left, with a stack of its own: terms may be as deep as a text is long.
static void find_layers(struct rewriter *r, struct term of, struct layers *layers) {
    struct terms *terms = r->proof->world->terms;
    struct term *left = NULL; // the next one last
    uint32_t n = 0, cap = 0;
    ARENA_PUSH(&r->arena, left, n, cap, of);
    // This saves time: the normal form of what is made of so many terms is not reached.
    while (n > 0 && !layers->many && layers->visited.n <= MAX_REWRITTEN) {
        struct term term = left[--n];
        if (!is_new(terms, term, layers))
            continue;
        const struct node *node = &terms->nodes[term.node];
        if (node->key->kind == NODE_STATE)
            layers->many = !note_layer(terms, layers->of_states, &layers->n_states, term.at);
        if (node->key->kind == NODE_RESULT)
            note_layer(terms, layers->of_results, &layers->n_results, term.at);
        for (uint32_t i = node->n_parts; i > 0; i--)
            ARENA_PUSH(&r->arena, left, n, cap, term_part(terms, term, i - 1).of);
    }
}

// ---- one value --------------------------------------------------------------------------------

static void add_candidate(struct rewriter *r, struct context *c, struct term of) {
    struct candidate candidate = {of, expansion_known(&c->x, of)};
    if (candidate.known.rank >= 0)
        ARENA_PUSH(&r->arena, c->candidates, c->n, c->cap, candidate);
}

static void add_names(struct rewriter *r, struct context *c) {
    struct terms *terms = r->proof->world->terms;
    for (uint32_t i = 1; i < terms->n_aliases; i++) {
        struct term leaf = {terms->aliases[i].node, c->x.layer};
        bool seen = false;
        for (uint32_t k = 1; k < i && !seen; k++)
            seen = terms->aliases[k].node == leaf.node;
        if (!seen && !term_equal(term_unnamed(r->builder, leaf), leaf))
            add_candidate(r, c, leaf);
    }
}

// What the reference has in the layer, or outside of layers, where all names are leaves. NULL:
// there are too many.
static struct context *context_of(struct rewriter *r, bool named, int32_t layer) {
    const struct outcomes *sought = r->proof->sought;
    for (unsigned i = 0; i < r->n_contexts; i++)
        if (r->contexts[i].x.named == named &&
            (!named ||
             number_equal(&r->proof->world->terms->symbols, r->contexts[i].x.layer, layer)))
            return &r->contexts[i];
    if (r->n_contexts == MAX_CONTEXTS)
        return NULL;
    struct context *c = &r->contexts[r->n_contexts++];
    expansion_init(&c->x, r->builder, r->proof->program, &r->arena);
    c->x.named = named;
    c->x.layer = layer;
    r->builder->fixed |= !named; // all layers that these hold are meant, wherever it is asked
    for (uint32_t i = 0; !named && i < sought->n; i++)
        add_candidate(r, c, sought->list[i]);
    if (named)
        add_names(r, c);
    return c;
}

static bool expand_or_give_up(struct rewriter *r, struct context *c, struct scaled value,
                              struct scaled *normal) {
    bool done = expand_value(&c->x, value, normal);
    r->spent = r->spent || !done;
    return done;
}

// Whether what the reference has is the value; then `*as` is the value by the reference's term.
static bool is_same(struct rewriter *r, struct context *c, const struct candidate *candidate,
                    struct scaled value, struct scaled *as) {
    struct terms *terms = r->proof->world->terms;
    struct scaled mine, theirs, known = {candidate->of, SCALE_ONE};
    if (!expand_or_give_up(r, c, value, &mine) || !expand_or_give_up(r, c, known, &theirs) ||
        mine.of.node != theirs.of.node || !number_equal(&terms->symbols, mine.of.at, theirs.of.at))
        return false;
    known.scale = scale_multiply(terms, mine.scale, scale_invert(terms, theirs.scale));
    *as = known; // of a reciprocal in it the candidate may have lost the value: zero has none
    return !scale_get(terms, scale_product(terms, known.scale, theirs.scale))->serial;
}

static bool prove_in(struct rewriter *r, bool named, int32_t layer, struct scaled value,
                     struct scaled *as) {
    struct context *c = context_of(r, named, layer);
    struct known known = c ? expansion_known(&c->x, value.of) : (struct known){.rank = -1};
    for (uint32_t i = 0; c && i < c->n; i++) {
        const struct candidate *candidate = &c->candidates[i];
        if (candidate->known.rank == known.rank && candidate->known.leaves == known.leaves &&
            is_same(r, c, candidate, value, as))
            return true;
    }
    return false;
}

// Nothing is looked for in a loop over layers that the reference has outside of layers.
static bool is_outside_layers(const struct cursor *cursor) {
    for (int i = 0; i < cursor->depth; i++)
        if (!cursor->time_loop[i])
            return false;
    return true;
}

static bool prove(struct rewriter *r, struct scaled value, struct scaled *as) {
    struct layers layers = {.visited.arena = &r->arena};
    find_layers(r, value.of, &layers);
    if (is_outside_layers(r->proof->cursor) && prove_in(r, false, 0, value, as))
        return true;
    // This saves time: nothing that the reference has by a name is made of so many layers.
    if (layers.many)
        return false;
    for (unsigned i = 0; i < layers.n_states; i++)
        if (prove_in(r, true, layers.of_states[i], value, as))
            return true;
    for (unsigned i = 0; i < layers.n_results; i++)
        if (prove_in(r, true, layers.of_results[i], value, as))
            return true;
    return false;
}

// ---- sums -------------------------------------------------------------------------------------

// Summands that were collected from the same microbatches.
struct group {
    struct sum all, own, others;
    int32_t m_begin, m_end;
};

static void add_one(struct builder *builder, struct sum *sum, const struct summand *one) {
    sum_add(builder, sum, (struct scaled){{one->node, one->at}, SCALE_ONE}, one->scale);
}

static bool same_microbatches(struct terms *terms, const struct group *group,
                              const struct summand *item) {
    return number_equal(&terms->symbols, group->m_begin, item->m_begin) &&
           number_equal(&terms->symbols, group->m_end, item->m_end);
}

// Adds to `made` what the group is by the reference's terms, or as it stands.
static void rewrite_group(struct rewriter *r, struct group *group, struct sum *made) {
    struct scaled all = sum_finish(r->builder, &group->all), as;
    bool own = group->own.n > 0 || group->all.n > 1;
    if (own && prove(r, all, &as)) {
        sum_add_collected(r->builder, made, as, group->m_begin, group->m_end);
        return;
    }
    struct sum *known = &group->all;
    if (group->own.n > 0 && group->others.n > 0 &&
        prove(r, sum_finish(r->builder, &group->own), &as)) {
        known = &group->others;
        sum_add(r->builder, known, as, SCALE_ONE);
    }
    for (uint32_t i = 0; i < known->n; i++) {
        struct summand *one = &known->items[i];
        sum_add_collected(r->builder, made, (struct scaled){{one->node, one->at}, one->scale},
                          group->m_begin, group->m_end);
    }
}

static struct scaled rewrite_sum(struct rewriter *r, struct scaled value) {
    struct terms *terms = r->proof->world->terms;
    struct sum parts = {0}, made = {0};
    sum_add(r->builder, &parts, value, SCALE_ONE);
    bool *done = ARENA_ARRAY(&r->arena, bool, parts.n + 1);
    for (uint32_t i = 0; i < parts.n; i++) // over layers: the norm of all gradients
        if (number_before(&terms->symbols, parts.items[i].at + 1, parts.items[i].end))
            return value;
    for (uint32_t i = 0; i < parts.n; i++) {
        struct group group = {.m_begin = parts.items[i].m_begin, .m_end = parts.items[i].m_end};
        for (uint32_t k = i; k < parts.n; k++) {
            struct summand *item = &parts.items[k];
            if (done[k] || !same_microbatches(terms, &group, item))
                continue;
            add_one(r->builder, &group.all, item);
            bool own = is_own(r->proof, (struct term){item->node, item->at});
            add_one(r->builder, own ? &group.own : &group.others, item);
            done[k] = true;
        }
        if (group.all.n > 0)
            rewrite_group(r, &group, &made);
    }
    return sum_finish(r->builder, &made);
}

// ---- results ----------------------------------------------------------------------------------

static struct scaled rewrite_value(struct rewriter *r, struct scaled value) {
    struct scaled as;
    if (term_kind(r->proof->world->terms, value.of) == NODE_SUM)
        return rewrite_sum(r, value);
    return prove(r, value, &as) ? as : value;
}

void rewrite_results(struct proof *p, struct builder *builder, const struct unit *unit,
                     struct judgement *results) {
    struct rewriter r = {.proof = p, .builder = builder};
    for (uint32_t i = 0; i < unit->n_results; i++) {
        struct judgement *result = &results[i];
        if (result->fault || !is_own(p, result->value.of))
            continue;
        // This saves time: parts have the term of the whole, which is looked for when they are
        // joined.
        if (result->coverage != COVERAGE_COMPLETE)
            continue;
        int kind = term_kind(p->world->terms, result->value.of);
        if (kind > N_OPS && kind != NODE_SUM) // no law is about it
            continue;
        struct scaled before = result->value;
        r.spent = false;
        result->value = rewrite_value(&r, before);
        if (!scaled_equal(before, result->value)) {
            history_begin(p, NULL, NULL, p->cursor->statement->span, result, 1);
            history_made(p, result, unit->values[unit->results[i].value].name);
            history_end(p);
        }
        if (r.spent && !p->given_up && scaled_equal(before, result->value))
            p->given_up = arena_format(p->world->arena, "`%s` of `%s`",
                                       unit->values[unit->results[i].value].name, unit->name);
    }
    for (unsigned i = 0; i < r.n_contexts; i++)
        builder->fixed |= r.contexts[i].x.builder.fixed;
    arena_free(&r.arena);
}
