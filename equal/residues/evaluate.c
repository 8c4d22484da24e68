// All terms that claims are made of, once each, in the order in which they were made, field by field.
#include <string.h>

#include "equal/residues/evaluation.h"
#include "equal/residues/residues.h"
#include "ir/check.h"

// Steps of one field, and of all that are looked into. A power takes as many as its exponent has digits.
enum { MOST_STEPS = 20 * 1000 * 1000, MOST_STEPS_OF_ALL = 40 * 1000 * 1000, STEPS_OF_POWER = 50 };

// ---- what is needed ---------------------------------------------------------------------------

static bool makes_concrete(int kind) {
    return kind == NODE_ZERO || kind == NODE_ONE || kind == NODE_SUM || kind == KIND_INDEX ||
           kind == KIND_ARRAY || kind == KIND_VIEW || kind == KIND_PRODUCT || kind == KIND_JOINED ||
           kind == KIND_FLAT || is_test_kind(kind) || kind == KIND_POINTWISE + PRIM_SELECT;
}

static uint8_t larger_level(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

// How many exponentials stand inside of each other in a value.
static uint8_t level_of(const struct evaluation *e, struct scaled of) {
    const struct scale *scale = scale_get(&e->c->terms, of.scale);
    uint8_t level = e->levels[of.of.node];
    for (uint32_t i = 0; i < scale->n_factors; i++)
        level = larger_level(level, e->levels[scale->factors[i].of.node]);
    return level;
}

static void look_inside(struct evaluation *e, struct term term) {
    int kind = term_kind(&e->c->terms, term);
    bool concrete = makes_concrete(kind);
    uint8_t level = 0;
    for (uint32_t i = 0; i < term_node(&e->c->terms, term)->n_parts; i++) {
        struct scaled part = term_part(&e->c->terms, term, i);
        concrete &=
            e->is_concrete[part.of.node] && scale_is_fraction(scale_get(&e->c->terms, part.scale));
        level = larger_level(level, level_of(e, part));
    }
    e->is_concrete[term.node] = concrete;
    e->levels[term.node] = level + (kind == KIND_EXPONENTIAL && level < N_FIELDS);
}

static bool is_read_through(int kind) {
    return kind == KIND_VIEW || kind == KIND_INDEX;
}

// The product, or INT64_MAX.
static int64_t times(int64_t a, int64_t b) {
    int64_t n;
    return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

// The steps that it takes to make a term in a field; INT64_MAX: more than can be counted.
static int64_t term_steps(struct evaluation *e, struct term term) {
    int kind = term_kind(&e->c->terms, term);
    int64_t own = space_places(value_space(e->c, term)), n = 1;
    struct walked walked;
    if (is_read_through(kind))
        return 0;
    walked_of(e, term, &walked);
    if (kind == KIND_PRODUCT) {
        struct contraction x = contraction_of(e, term, &walked, &e->passing);
        n = contraction_steps(&x, &e->passing);
        arena_reuse(&e->passing);
        return n;
    }
    for (uint32_t d = 0; d < walked.n; d++)
        n = times(n, walked.sizes[d]);
    n = times(n, term_node(&e->c->terms, term)->n_parts);
    own = times(own, kind == KIND_POWER || kind == KIND_EXPONENTIAL ? STEPS_OF_POWER : 1);
    return n > INT64_MAX - own ? INT64_MAX : n + own;
}

static int64_t claim_steps(const struct claim *claim) {
    int64_t n = 2;
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        n = times(n, claim->all.sizes[k] > 1 ? claim->all.sizes[k] : 1);
    return n;
}

// Nodes that a claim needs and others do not: what is in the list is marked, and its parts are not yet.
struct needing {
    uint32_t *nodes, n, cap;
};

static void need_node(struct evaluation *e, struct needing *needing, uint32_t node) {
    if (e->is_needed[node])
        return;
    e->is_needed[node] = true;
    ARENA_PUSH(&e->lasting, needing->nodes, needing->n, needing->cap, node);
}

static void need(struct evaluation *e, struct needing *needing, struct scaled of) {
    const struct scale *scale = scale_get(&e->c->terms, of.scale);
    need_node(e, needing, of.of.node);
    for (uint32_t i = 0; i < scale->n_factors; i++)
        need_node(e, needing, scale->factors[i].of.node);
}

// False: with it more steps were needed than are made; then nothing of it is needed.
static bool take_claim(struct evaluation *e, const struct claim *claim, int64_t *steps) {
    struct needing needing = {.n = 0};
    int64_t own = claim_steps(claim);
    need(e, &needing, claim->expected.of);
    need(e, &needing, claim->found.of);
    for (uint32_t i = 0; i < needing.n && own <= MOST_STEPS - *steps; i++) {
        struct term term = {needing.nodes[i], 0};
        int64_t n = term_steps(e, term);
        own = n > MOST_STEPS ? n : own + n;
        for (uint32_t k = 0; k < term_node(&e->c->terms, term)->n_parts; k++)
            need(e, &needing, term_part(&e->c->terms, term, k));
    }
    bool fits = own <= MOST_STEPS - *steps;
    for (uint32_t i = 0; i < needing.n && !fits; i++)
        e->is_needed[needing.nodes[i]] = false;
    *steps += fits ? own : 0;
    return fits;
}

// ---- claims -----------------------------------------------------------------------------------

static void walked_of_claim(const struct claim *claim, struct walked *walked) {
    *walked = (struct walked){0};
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (claim->all.sizes[k] > 1) {
            CHECK(walked->n < MAX_DIMENSIONS);
            walked->sizes[walked->n] = claim->all.sizes[k];
            walked->coordinates[walked->n++] = k;
        }
}

static struct reader side_reader(struct evaluation *e, const struct viewed *side,
                                 const struct walked *walked) {
    struct reader reader = reader_of(e, side->of);
    struct view view;
    view_get(&e->c->views, side->view, &view);
    reader_places(&reader, walked, value_space(e->c, side->of.of), &view, &e->passing);
    return reader;
}

static bool is_equal_here(struct evaluation *e, const struct claim *claim) {
    struct walked walked;
    struct places_read at;
    bool meets = true;
    walked_of_claim(claim, &walked);
    struct reader sides[] = {side_reader(e, &claim->expected, &walked),
                             side_reader(e, &claim->found, &walked)};
    places_begin(&at, &walked, sides, 2, &e->passing);
    do {
        uint64_t expected = places_value(&at, e->field, 0);
        meets = expected != UNDEFINED && expected == places_value(&at, e->field, 1);
    } while (meets && places_next(&at));
    arena_reuse(&e->passing);
    return meets;
}

static void evaluate_in_field(struct evaluation *e, bool concrete) {
    for (uint32_t node = 0; node < e->n_nodes; node++) {
        struct term term = {node, 0};
        if (!e->is_needed[node] || is_read_through(term_kind(&e->c->terms, term)) ||
            (concrete && !e->is_concrete[node]))
            continue;
        int64_t n = space_places(value_space(e->c, term));
        if (!e->values[node])
            e->values[node] = ARENA_ARRAY(&e->lasting, uint64_t, (size_t)n);
        if (e->decided[node]) {
            memcpy(e->values[node], e->decided[node], (size_t)n * sizeof *e->values[node]);
            continue;
        }
        memset(e->values[node], 0, (size_t)n * sizeof *e->values[node]);
        make_term(e, term, e->values[node]);
        arena_reuse(&e->passing);
    }
}

// In the largest field, in which numbers are told from each other best.
static void decide_tests(struct evaluation *e) {
    e->field = &fields[N_FIELDS - 1];
    evaluate_in_field(e, true);
    for (uint32_t node = 0; node < e->n_nodes; node++)
        if (e->values[node] && is_test_kind(term_kind(&e->c->terms, (struct term){node, 0}))) {
            e->decided[node] = e->values[node];
            e->values[node] = NULL;
        }
}

// A claim holds where it does so in two fields, one behind the other: numbers of a text may be multiples of a prime.
struct followed {
    bool is_taken, held_before;
};

// The steps of a field.
static int64_t begin_evaluation(struct evaluation *e, const struct claim *claims, uint32_t n,
                                struct followed *of) {
    int64_t steps = 0;
    e->n_nodes = e->c->terms.n_nodes;
    e->is_needed = ARENA_ARRAY(&e->lasting, bool, e->n_nodes + 1);
    e->is_concrete = ARENA_ARRAY(&e->lasting, bool, e->n_nodes + 1);
    e->levels = ARENA_ARRAY(&e->lasting, uint8_t, e->n_nodes + 1);
    e->values = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->exponents = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->decided = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->squares = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    for (uint32_t i = 0; i < n; i++)
        of[i].is_taken = take_claim(e, &claims[i], &steps);
    for (uint32_t node = 0; node < e->n_nodes; node++)
        if (e->is_needed[node])
            look_inside(e, (struct term){node, 0});
    return steps;
}

static void look_at(struct evaluation *e, struct claim *claim, struct followed *of) {
    bool holds = of->is_taken && !claim->holds && is_equal_here(e, claim);
    claim->holds |= holds && of->held_before;
    of->held_before = holds;
}

// Whether another field may show it.
static bool is_open(const struct evaluation *e, const struct claim *claim,
                    const struct followed *of, uint32_t level) {
    uint8_t deepest = larger_level(level_of(e, claim->expected.of), level_of(e, claim->found.of));
    return of->is_taken && !claim->holds && (of->held_before || level < deepest);
}

void claims_evaluate(const struct calculus *c, struct claim *claims, uint32_t n) {
    struct evaluation e = {.c = c};
    struct followed *of = ARENA_ARRAY(&e.lasting, struct followed, n + 1);
    int64_t steps = begin_evaluation(&e, claims, n, of), left = MOST_STEPS_OF_ALL;
    bool goes_on = n > 0;
    decide_tests(&e);
    for (uint32_t level = 0; level < N_FIELDS && goes_on && left >= steps; level++, left -= steps) {
        goes_on = false;
        e.field = &fields[level];
        evaluate_in_field(&e, false);
        for (uint32_t i = 0; i < n; i++) {
            look_at(&e, &claims[i], &of[i]);
            goes_on |= is_open(&e, &claims[i], &of[i], level);
        }
    }
    arena_free(&e.lasting);
    arena_free(&e.passing);
}
