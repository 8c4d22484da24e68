// Terms, aliases and scales; see term.h. The normalising constructors of ops are in value.c, those
// of sums in sum.c.
#include "verify/algebra/term.h"

#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

void terms_init(struct terms *terms, struct arena *arena, int32_t microbatches) {
    *terms = (struct terms){.arena = arena, .microbatches = microbatches};
    terms->keys.arena = terms->attributes.arena = terms->scales.arena = arena;
    struct alias none = {0};
    ARENA_PUSH(arena, terms->aliases, terms->n_aliases, terms->cap_aliases, none);
    terms->first_alias = 1;
    CHECK(scale_rational(terms, 1, 1) == SCALE_ONE);
}

// ---- nodes ------------------------------------------------------------------------------------

static bool scale_is_symbolic(const struct terms *terms, scale_id id) {
    const struct scale *scale = scale_get(terms, id);
    for (uint32_t i = 0; i < scale->n_factors; i++)
        if (number_is_symbolic(scale->factors[i].of.at) ||
            terms->nodes[scale->factors[i].of.node].symbolic)
            return true;
    return false;
}

static bool part_is_symbolic(const struct terms *terms, const struct part *part) {
    return number_is_symbolic(part->at) || number_is_symbolic(part->end) ||
           number_is_symbolic(part->m_begin) || number_is_symbolic(part->m_end) ||
           terms->nodes[part->node].symbolic || scale_is_symbolic(terms, part->scale);
}

static uint32_t node_of(struct terms *terms, const struct node_key *key, uint32_t n_parts,
                        const struct span *site) {
    bool added;
    uint32_t size = (uint32_t)(sizeof *key + n_parts * sizeof key->parts[0]);
    uint32_t id = intern(&terms->keys, key, size, &added);
    if (added) {
        struct node node = {.key = interned(&terms->keys, id), .n_parts = n_parts, .origin = site};
        for (uint32_t i = 0; i < n_parts && !node.symbolic; i++)
            node.symbolic = part_is_symbolic(terms, &node.key->parts[i]);
        ARENA_PUSH(terms->arena, terms->nodes, terms->n_nodes, terms->cap_nodes, node);
    }
    return id;
}

static bool alias_holds(struct terms *terms, const struct alias *alias, int32_t at) {
    return !number_before(&terms->symbols, at, alias->begin) &&
           number_before(&terms->symbols, at, alias->end);
}

struct term term_follow(struct terms *terms, struct term of) {
    uint32_t i = terms->nodes[of.node].alias;
    while (i && !alias_holds(terms, &terms->aliases[i], of.at))
        i = terms->aliases[i].next;
    const struct alias *alias = &terms->aliases[i];
    return i ? (struct term){alias->node, of.at + alias->offset} : of;
}

static void log_use(struct builder *builder, struct term of, struct term as, uint32_t answers) {
    struct alias_log *log = builder->log;
    if (!log)
        return;
    struct alias_use use = {of, as};
    ARENA_PUSH(builder->terms->arena, log->uses, log->n, log->cap, use);
    builder->terms->symbols.answers = answers; // they will be asked for again
}

struct term term_unnamed(struct builder *builder, struct term leaf) {
    struct terms *terms = builder->terms;
    uint32_t answers = terms->symbols.answers;
    for (uint32_t i = 1; i < terms->n_aliases; i++) {
        const struct alias *alias = &terms->aliases[i];
        struct term of = {alias->of, leaf.at - alias->offset};
        if (alias->node != leaf.node || !alias_holds(terms, alias, of.at))
            continue;
        log_use(builder, of, leaf, answers);
        return of;
    }
    return leaf;
}

static struct term canonical(struct builder *builder, struct term term) {
    struct terms *terms = builder->terms;
    if (builder->names == NAMES_LEFT)
        return term;
    bool named = terms->nodes[term.node].alias;
    // What has no name and gets none has the same answer everywhere; not to note it saves time.
    if (!named && builder->names != NAMES_GIVEN)
        return term;
    uint32_t answers = terms->symbols.answers;
    struct term followed = named ? term_follow(terms, term) : term;
    log_use(builder, term, followed, answers);
    return followed;
}

struct term term_make(struct builder *builder, int kind, unsigned result, uint32_t attributes,
                      struct part *parts, uint32_t n_parts) {
    struct terms *terms = builder->terms;
    _Alignas(struct node_key) char bytes[sizeof(struct node_key) + 16 * sizeof(struct part)];
    struct node_key *key = (struct node_key *)bytes;
    if (n_parts > 16)
        key = arena_alloc(terms->arena, sizeof *key + n_parts * sizeof *parts);
    *key = (struct node_key){
        .kind = (uint16_t)kind, .result = (uint8_t)result, .attributes = attributes};
    int32_t base = 0;
    bool over_layers = false;
    for (uint32_t i = 0; i < n_parts; i++)
        over_layers |= number_before(&terms->symbols, parts[i].at + 1, parts[i].end);
    builder->fixed |= over_layers;
    for (uint32_t i = 0; i < n_parts && !key->indexed && !over_layers; i++)
        if (terms->nodes[parts[i].node].key->indexed) {
            key->indexed = 1;
            base = parts[i].at;
        }
    for (uint32_t i = 0; i < n_parts; i++) {
        key->parts[i] = parts[i];
        if (terms->nodes[parts[i].node].key->indexed) {
            key->parts[i].at -= base;
            key->parts[i].end -= base;
        }
    }
    return canonical(builder, (struct term){node_of(terms, key, n_parts, builder->site), base});
}

struct term term_leaf(struct builder *builder, int kind, uint32_t attributes, bool indexed,
                      int32_t at) {
    struct node_key key = {.kind = (uint16_t)kind, .indexed = indexed, .attributes = attributes};
    return (struct term){node_of(builder->terms, &key, 0, builder->site), indexed ? at : 0};
}

struct term term_given(struct terms *terms, int kind, uint32_t attributes, bool indexed,
                       int32_t at) {
    struct node_key key = {.kind = (uint16_t)kind, .indexed = indexed, .attributes = attributes};
    return (struct term){node_of(terms, &key, 0, NULL), indexed ? at : 0};
}

struct term term_constant(struct builder *builder, int kind) {
    return term_leaf(builder, kind, 0, false, 0);
}

struct term term_fresh(struct builder *builder, int kind) {
    return term_leaf(builder, kind, ++builder->terms->serial, false, 0);
}

struct part part_of(struct term term) {
    return (struct part){.node = term.node,
                         .at = term.at,
                         .end = term.at + 1,
                         .m_begin = ALL_MICROBATCHES,
                         .m_end = ALL_MICROBATCHES};
}

unsigned term_leading(const struct terms *terms, struct term repeated) {
    uint32_t sizes = term_node(terms, repeated)->key->attributes;
    return (unsigned)(terms->attributes.entries[sizes].size / sizeof(int64_t));
}

struct term term_with_scale(struct builder *builder, struct scaled value) {
    if (value.scale == SCALE_ONE)
        return value.of;
    struct part part = part_of(value.of);
    part.scale = value.scale;
    return term_make(builder, NODE_SCALED, 0, 0, &part, 1);
}

// ---- aliases ----------------------------------------------------------------------------------

static void add_alias(struct terms *terms, struct alias added) {
    struct symbols *symbols = &terms->symbols;
    struct node *node = &terms->nodes[added.of];
    for (uint32_t i = node->alias; i >= terms->first_alias; i = terms->aliases[i].next) {
        struct alias *alias = &terms->aliases[i];
        if (alias->node != added.node || alias->offset != added.offset ||
            number_before(symbols, added.end, alias->begin) ||
            number_before(symbols, alias->end, added.begin))
            continue;
        alias->begin = number_least(symbols, alias->begin, added.begin);
        alias->end = number_largest(symbols, alias->end, added.end);
        return;
    }
    added.next = node->alias;
    node->alias = terms->n_aliases;
    ARENA_PUSH(terms->arena, terms->aliases, terms->n_aliases, terms->cap_aliases, added);
}

void term_alias(struct terms *terms, struct term of, struct term as) {
    // What has a symbol inside stands for other values in other loops, and no alias has two names.
    if (terms->nodes[of.node].symbolic || number_is_symbolic(as.at - of.at))
        symbols_only_first(&terms->symbols);
    add_alias(terms, (struct alias){.of = of.node,
                                    .begin = of.at,
                                    .end = of.at + 1,
                                    .node = as.node,
                                    .offset = as.at - of.at});
}

uint32_t aliases_begin(struct terms *terms) {
    uint32_t begun = terms->first_alias;
    terms->first_alias = terms->n_aliases;
    return begun;
}

// The alias in the i-th of the iterations that the symbol stands for.
static struct alias alias_in(const struct terms *terms, struct alias alias,
                             const struct symbol *symbol, int64_t i) {
    int32_t value = (int32_t)(symbol->first + i * symbol->step);
    alias.begin = number_replace(&terms->symbols, alias.begin, value);
    alias.end = number_replace(&terms->symbols, alias.end, value);
    return alias;
}

bool aliases_fit(struct terms *terms, const struct symbol *symbol) {
    for (uint32_t i = terms->first_alias; i < terms->n_aliases; i++) {
        struct alias first = alias_in(terms, terms->aliases[i], symbol, 0);
        struct alias second = alias_in(terms, terms->aliases[i], symbol, 1);
        if (second.end < first.begin || first.end < second.begin)
            return false;
    }
    return true;
}

void aliases_end(struct terms *terms, uint32_t begun, const struct symbol *symbol,
                 int64_t iterations) {
    uint32_t n = terms->n_aliases - terms->first_alias;
    struct alias *made =
        arena_copy(terms->arena, &terms->aliases[terms->first_alias], n * sizeof *terms->aliases);
    while (terms->n_aliases > terms->first_alias) { // the newest are first in their lists
        const struct alias *alias = &terms->aliases[--terms->n_aliases];
        terms->nodes[alias->of].alias = alias->next;
    }
    terms->first_alias = begun;
    for (uint32_t i = 0; i < n && iterations > 0; i++) {
        struct alias first = alias_in(terms, made[i], symbol, 0);
        struct alias last = alias_in(terms, made[i], symbol, iterations - 1);
        first.begin = number_least(&terms->symbols, first.begin, last.begin);
        first.end = number_largest(&terms->symbols, first.end, last.end);
        add_alias(terms, first);
    }
}

// ---- scales -----------------------------------------------------------------------------------

int64_t greatest_divisor(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static scale_id scale_intern(struct terms *terms, struct scale scale) {
    int64_t divisor = greatest_divisor(scale.numerator, scale.denominator);
    if (scale.denominator < 0)
        divisor = -divisor;
    struct scale key;
    CHECK(scale.numerator != 0); // a weight of zero has no scale (expand.c), sums keep what cancels
    memset(&key, 0, sizeof key); // padding is part of the key
    key.numerator = scale.numerator / divisor;
    key.denominator = scale.denominator / divisor;
    key.serial = scale.serial;
    for (uint32_t i = 0; i < scale.n_factors; i++)
        key.factors[key.n_factors++] = scale.factors[i];
    return intern(&terms->scales, &key, sizeof key, NULL);
}

// A scale that the arithmetic here cannot hold is equal to no other: at worst nothing is proved.
static scale_id scale_unknown(struct terms *terms) {
    return scale_intern(
        terms, (struct scale){.numerator = 1, .denominator = 1, .serial = ++terms->serial});
}

const struct scale *scale_get(const struct terms *terms, scale_id scale) {
    return interned(&terms->scales, scale);
}

scale_id scale_rational(struct terms *terms, int64_t numerator, int64_t denominator) {
    return scale_intern(terms, (struct scale){.numerator = numerator, .denominator = denominator});
}

scale_id scale_of_term(struct terms *terms, struct term scalar) {
    if (term_kind(terms, scalar) == NODE_ONE)
        return SCALE_ONE;
    return scale_intern(
        terms,
        (struct scale){.numerator = 1, .denominator = 1, .n_factors = 1, .factors = {{scalar, 1}}});
}

static bool factor_before(struct factor a, struct factor b) {
    return a.of.node != b.of.node ? a.of.node < b.of.node : a.of.at < b.of.at;
}

// Merges two sorted lists of factors, adding powers. False: too many, or too high a power.
static bool merge_factors(struct scale *to, const struct scale *a, const struct scale *b) {
    uint32_t i = 0, k = 0;
    while (i < a->n_factors || k < b->n_factors) {
        struct factor next;
        if (k == b->n_factors ||
            (i < a->n_factors && factor_before(a->factors[i], b->factors[k]))) {
            next = a->factors[i++];
        } else if (i == a->n_factors || factor_before(b->factors[k], a->factors[i])) {
            next = b->factors[k++];
        } else {
            next = a->factors[i++];
            next.power += b->factors[k++].power;
        }
        if (next.power == 0)
            continue;
        if (to->n_factors == MAX_FACTORS || abs(next.power) > MAX_POWER)
            return false;
        to->factors[to->n_factors++] = next;
    }
    return true;
}

scale_id scale_multiply(struct terms *terms, scale_id a, scale_id b) {
    if (a == SCALE_ONE || b == SCALE_ONE)
        return a == SCALE_ONE ? b : a;
    const struct scale *left = scale_get(terms, a), *right = scale_get(terms, b);
    struct scale product = {0};
    // Crosswise first, so that the products stay small.
    int64_t c = greatest_divisor(left->numerator, right->denominator);
    int64_t d = greatest_divisor(right->numerator, left->denominator);
    if (left->serial || right->serial || !merge_factors(&product, left, right) ||
        __builtin_mul_overflow(left->numerator / c, right->numerator / d, &product.numerator) ||
        __builtin_mul_overflow(left->denominator / d, right->denominator / c,
                               &product.denominator) ||
        product.numerator == INT64_MIN) // which cannot be negated
        return scale_unknown(terms);
    return scale_intern(terms, product);
}

static bool have_inverses(const struct scale *a, const struct scale *b) {
    for (uint32_t i = 0; i < a->n_factors; i++)
        for (uint32_t k = 0; k < b->n_factors; k++)
            if (term_equal(a->factors[i].of, b->factors[k].of) &&
                (a->factors[i].power < 0) != (b->factors[k].power < 0))
                return true;
    return false;
}

scale_id scale_product(struct terms *terms, scale_id a, scale_id b) {
    return have_inverses(scale_get(terms, a), scale_get(terms, b)) ? scale_unknown(terms)
                                                                   : scale_multiply(terms, a, b);
}

static int32_t common_power(int32_t a, int32_t b) {
    if ((a < 0) != (b < 0))
        return 0;
    return (a < 0) == (a < b) ? b : a;
}

scale_id scale_common(struct terms *terms, scale_id a, scale_id b) {
    struct scale left = *scale_get(terms, a);
    const struct scale *right = scale_get(terms, b);
    uint32_t n = 0;
    for (uint32_t i = 0; i < left.n_factors; i++)
        for (uint32_t k = 0; k < right->n_factors; k++) {
            struct factor factor = left.factors[i];
            factor.power = common_power(factor.power, right->factors[k].power);
            if (term_equal(factor.of, right->factors[k].of) && factor.power)
                left.factors[n++] = factor;
        }
    left.n_factors = n;
    left.serial = 0;
    return scale_intern(terms, left);
}

scale_id scale_invert(struct terms *terms, scale_id a) {
    struct scale scale = *scale_get(terms, a);
    if (scale.serial)
        return scale_unknown(terms);
    int64_t numerator = scale.numerator;
    scale.numerator = scale.denominator;
    scale.denominator = numerator;
    for (uint32_t i = 0; i < scale.n_factors; i++)
        scale.factors[i].power = -scale.factors[i].power;
    return scale_intern(terms, scale);
}

bool scale_total(struct terms *terms, scale_id a, scale_id b, scale_id *sum, bool *cancels) {
    struct scale left = *scale_get(terms, a), right = *scale_get(terms, b);
    if (left.serial || right.serial || left.n_factors != right.n_factors ||
        memcmp(left.factors, right.factors, left.n_factors * sizeof *left.factors) != 0)
        return false;
    int64_t x, y;
    if (__builtin_mul_overflow(left.numerator, right.denominator, &x) ||
        __builtin_mul_overflow(right.numerator, left.denominator, &y) ||
        __builtin_add_overflow(x, y, &left.numerator) ||
        __builtin_mul_overflow(left.denominator, right.denominator, &left.denominator) ||
        left.numerator == INT64_MIN)
        return false;
    *cancels = left.numerator == 0;
    if (!*cancels)
        *sum = scale_intern(terms, left);
    return true;
}

bool scale_add(struct terms *terms, scale_id a, scale_id b, scale_id *sum) {
    bool cancels;
    bool signs = (scale_get(terms, a)->numerator < 0) == (scale_get(terms, b)->numerator < 0);
    return signs && scale_total(terms, a, b, sum, &cancels);
}
