// Terms and aliases; see term.h. The normalising constructors of ops are in value.c, those of sums in sum.c, scales in
// scale.c.
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

static struct node_key *key_room(struct terms *terms, uint32_t n_parts) {
    if (n_parts > terms->cap_room) {
        terms->cap_room = 2 * n_parts;
        terms->room = arena_alloc(terms->arena, sizeof *terms->room +
                                                    terms->cap_room * sizeof *terms->room->parts);
    }
    return terms->room;
}

struct term term_make(struct builder *builder, int kind, unsigned result, uint32_t attributes,
                      struct part *parts, uint32_t n_parts) {
    struct terms *terms = builder->terms;
    _Alignas(struct node_key) char bytes[sizeof(struct node_key) + 16 * sizeof(struct part)];
    struct node_key *key = (struct node_key *)bytes;
    if (n_parts > 16)
        key = key_room(terms, n_parts);
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
