// Sums in normal form: a linear combination over (node, layers, microbatches); see term.h.
//
// A summand is inserted by joining it with what is there: the same thing twice adds the scales,
// neighbouring layers or microbatches of one scale become one range, an overlap is cut into pieces:
//
//   2 h[0..3] + 3 h[2..5]  is  2 h[0..1] + 5 h[2..3] + 3 h[4..5]
//   h[0..1] + h[2..5]      is  h[0..5]
//
// What was collected from every microbatch exactly once thus becomes ALL_MICROBATCHES, and nothing
// else does. Joining is only between summands of one node, of which there are one or two.
#include "verify/algebra/term.h"

#include <string.h>

#include "ir/check.h"

// The norm of all gradients has some dozens, and inserting takes time with their number; of a
// longer sum nothing is proved.
enum { MAX_SUMMANDS = 4096 };

struct range {
    int32_t begin, end;
};

static bool disjoint(struct symbols *symbols, struct range a, struct range b) {
    return !number_before(symbols, b.begin, a.end) || !number_before(symbols, a.begin, b.end);
}

static bool adjacent(struct symbols *symbols, struct range a, struct range b) {
    return number_equal(symbols, a.end, b.begin) || number_equal(symbols, b.end, a.begin);
}

static bool same(struct symbols *symbols, struct range a, struct range b) {
    return number_equal(symbols, a.begin, b.begin) && number_equal(symbols, a.end, b.end);
}

static struct range layers_of(const struct summand *s) {
    return (struct range){s->at, s->end};
}

static struct range microbatches_of(const struct summand *s) {
    return (struct range){s->m_begin, s->m_end};
}

static void set_range(struct summand *s, bool layers, int32_t begin, int32_t end) {
    if (layers) {
        s->at = begin;
        s->end = end;
    } else {
        s->m_begin = begin;
        s->m_end = end;
    }
}

static void insert(struct terms *terms, struct sum *sum, struct summand item);

static void insert_range(struct terms *terms, struct sum *sum, struct summand item, bool layers,
                         int32_t begin, int32_t end) {
    if (!number_before(&terms->symbols, begin, end))
        return;
    set_range(&item, layers, begin, end);
    insert(terms, sum, item);
}

// Joins two summands which agree in all but one kind of range (and maybe the scale). False: they
// stay beside each other.
static bool join(struct terms *terms, struct sum *sum, uint32_t at, struct summand item,
                 bool layers) {
    struct symbols *symbols = &terms->symbols;
    struct summand old = sum->items[at];
    struct range a = layers ? layers_of(&old) : microbatches_of(&old);
    struct range b = layers ? layers_of(&item) : microbatches_of(&item);
    int32_t low = number_least(symbols, a.begin, b.begin);
    int32_t high = number_largest(symbols, a.end, b.end);
    if (disjoint(symbols, a, b)) {
        if (old.scale != item.scale || !adjacent(symbols, a, b))
            return false;
        sum->items[at] = sum->items[--sum->n];
        insert_range(terms, sum, item, layers, low, high);
        return true;
    }
    int32_t both_begin = number_largest(symbols, a.begin, b.begin);
    int32_t both_end = number_least(symbols, a.end, b.end);
    struct summand both = item;
    if (!scale_add(terms, old.scale, item.scale, &both.scale))
        return false;
    sum->items[at] = sum->items[--sum->n];
    insert_range(terms, sum, low == a.begin ? old : item, layers, low, both_begin);
    insert_range(terms, sum, both, layers, both_begin, both_end);
    insert_range(terms, sum, high == a.end ? old : item, layers, both_end, high);
    return true;
}

static void insert(struct terms *terms, struct sum *sum, struct summand item) {
    if (sum->n > MAX_SUMMANDS) // too long, it stays so
        return;
    struct symbols *symbols = &terms->symbols;
    terms->n_compared += sum->n;
    if (same(symbols, microbatches_of(&item), (struct range){0, terms->microbatches}))
        item.m_begin = item.m_end = ALL_MICROBATCHES;
    for (uint32_t i = 0; i < sum->n; i++) {
        struct summand *old = &sum->items[i];
        if (old->node != item.node)
            continue;
        bool same_layers = same(symbols, layers_of(old), layers_of(&item));
        bool same_microbatches = same(symbols, microbatches_of(old), microbatches_of(&item));
        if (same_layers && same_microbatches) {
            scale_id both;
            if (!scale_add(terms, old->scale, item.scale, &both))
                continue;
            *old = sum->items[--sum->n];
            item.scale = both;
            insert(terms, sum, item);
            return;
        }
        if (same_layers && join(terms, sum, i, item, false)) // ALL is beside no microbatch
            return;
        if (same_microbatches && join(terms, sum, i, item, true))
            return;
    }
    ARENA_PUSH(terms->arena, sum->items, sum->n, sum->cap, item);
}

struct summand sum_part(const struct terms *terms, struct scaled value, uint32_t i) {
    const struct part *part = &terms->nodes[value.of.node].key->parts[i];
    int32_t shift = terms->nodes[part->node].key->indexed ? value.of.at : 0;
    return (struct summand){part->node,  part->at + shift, part->end + shift,
                            part->scale, part->m_begin,    part->m_end};
}

void sum_add(struct builder *builder, struct sum *sum, struct scaled value, scale_id factor) {
    struct terms *terms = builder->terms;
    const struct node *node = &terms->nodes[value.of.node];
    scale_id outer = scale_product(terms, value.scale, factor);
    if (node->key->kind == NODE_ZERO)
        return;
    if (node->key->kind != NODE_SUM) {
        insert(terms, sum,
               (struct summand){value.of.node, value.of.at, value.of.at + 1, outer,
                                ALL_MICROBATCHES, ALL_MICROBATCHES});
        return;
    }
    bool apart = sum->n == 0; // those of one sum are
    for (uint32_t i = 0; i < node->n_parts; i++) {
        struct summand item = sum_part(terms, value, i);
        item.scale = scale_product(terms, item.scale, outer);
        // A memo may be moved of anything else, which saves time.
        builder->fixed |= !node->key->indexed && terms->nodes[item.node].key->indexed;
        if (apart)
            ARENA_PUSH(terms->arena, sum->items, sum->n, sum->cap, item);
        else
            insert(terms, sum, item);
    }
}

bool sum_plain(struct builder *builder, struct sum *sum, struct scaled value) {
    sum_add(builder, sum, value, SCALE_ONE);
    for (uint32_t i = 0; i < sum->n; i++)
        if (sum->items[i].m_begin != ALL_MICROBATCHES ||
            number_before(&builder->terms->symbols, sum->items[i].at + 1, sum->items[i].end))
            return false;
    return true;
}

static bool before(struct symbols *symbols, const struct summand *a, const struct summand *b) {
    if (a->node != b->node)
        return a->node < b->node;
    if (!number_equal(symbols, a->at, b->at))
        return number_before(symbols, a->at, b->at);
    if (!number_equal(symbols, a->m_begin, b->m_begin))
        return number_before(symbols, a->m_begin, b->m_begin);
    if (!number_equal(symbols, a->end, b->end))
        return number_before(symbols, a->end, b->end);
    return a->scale < b->scale;
}

// They are few, and mostly in order.
static void sort(struct symbols *symbols, struct sum *sum) {
    for (uint32_t i = 1; i < sum->n; i++) {
        struct summand item = sum->items[i];
        uint32_t at = i;
        for (; at > 0 && before(symbols, &item, &sum->items[at - 1]); at--)
            sum->items[at] = sum->items[at - 1];
        sum->items[at] = item;
    }
}

struct scaled sum_finish(struct builder *builder, struct sum *sum) {
    struct terms *terms = builder->terms;
    if (sum->n == 0)
        return (struct scaled){term_constant(builder, NODE_ZERO), SCALE_ONE};
    if (sum->n > MAX_SUMMANDS)
        return (struct scaled){term_fresh(builder, NODE_UNKNOWN), SCALE_ONE};
    sort(&terms->symbols, sum);
    struct summand *first = &sum->items[0];
    scale_id outer = first->scale;
    for (uint32_t i = 1; i < sum->n; i++)
        outer = scale_common(terms, outer, sum->items[i].scale);
    if (sum->n == 1 && first->m_begin == ALL_MICROBATCHES &&
        number_equal(&terms->symbols, first->end, first->at + 1))
        return (struct scaled){{first->node, first->at}, outer};
    scale_id inverse = outer == SCALE_ONE ? SCALE_ONE : scale_invert(terms, outer);
    struct part few[8];
    struct part *parts = sum->n <= 8 ? few : ARENA_ARRAY(terms->arena, struct part, sum->n);
    for (uint32_t i = 0; i < sum->n; i++) {
        const struct summand *item = &sum->items[i];
        scale_id scale =
            item->scale == outer ? SCALE_ONE : scale_multiply(terms, item->scale, inverse);
        parts[i] =
            (struct part){item->node, item->at, item->end, scale, item->m_begin, item->m_end};
    }
    return (struct scaled){term_make(builder, NODE_SUM, 0, 0, parts, sum->n), outer};
}

void sum_add_collected(struct builder *builder, struct sum *sum, struct scaled value,
                       int32_t m_begin, int32_t m_end) {
    struct sum parts = {0};
    sum_add(builder, &parts, value, SCALE_ONE);
    for (uint32_t i = 0; i < parts.n; i++) {
        struct summand item = parts.items[i];
        item.m_begin = m_begin;
        item.m_end = m_end;
        insert(builder->terms, sum, item);
    }
}

struct scaled sum_microbatch(struct builder *builder, struct scaled value, int32_t m) {
    if (builder->terms->microbatches <= 1)
        return value;
    struct sum sum = {0};
    sum_add_collected(builder, &sum, value, m, m + 1);
    return sum_finish(builder, &sum);
}

bool term_is_collected(const struct terms *terms, struct term term) {
    const struct node *node = &terms->nodes[term.node];
    for (uint32_t i = 0; i < node->n_parts; i++) // operands are of all
        if (node->key->parts[i].m_begin != ALL_MICROBATCHES)
            return true;
    return false;
}

static struct summand part_at(const struct terms *terms, struct term term, uint32_t i) {
    return sum_part(terms, (struct scaled){term, SCALE_ONE}, i);
}

static bool differ_in_microbatches(const struct summand *a, const struct summand *b) {
    return a->node == b->node && a->at == b->at && a->end == b->end && a->scale == b->scale;
}

bool sum_part_is_first(const struct terms *terms, struct term term, uint32_t i) {
    struct summand part = part_at(terms, term, i);
    for (uint32_t k = 0; k < i; k++) {
        struct summand other = part_at(terms, term, k);
        if (differ_in_microbatches(&part, &other))
            return false;
    }
    return true;
}

// The ranges of summand i and of those that differ from it in them alone, in order.
static uint32_t part_collected_from(const struct terms *terms, struct term term, uint32_t i,
                                    struct microbatches *from) {
    struct summand first = part_at(terms, term, i);
    uint32_t n = 0;
    for (; i < terms->nodes[term.node].n_parts; i++) {
        struct summand part = part_at(terms, term, i);
        if (!differ_in_microbatches(&first, &part))
            continue;
        if (n == MAX_MICROBATCH_RANGES || part.m_begin == ALL_MICROBATCHES ||
            number_is_symbolic(part.m_begin) || number_is_symbolic(part.m_end))
            return 0;
        from[n++] = (struct microbatches){part.m_begin, part.m_end};
    }
    return n;
}

uint32_t sum_collected_from(const struct terms *terms, struct term term,
                            struct microbatches from[MAX_MICROBATCH_RANGES]) {
    const struct node *node = &terms->nodes[term.node];
    struct microbatches other[MAX_MICROBATCH_RANGES];
    uint32_t n = node->key->kind == NODE_SUM ? part_collected_from(terms, term, 0, from) : 0;
    for (uint32_t i = 1; i < node->n_parts && n; i++)
        if (sum_part_is_first(terms, term, i) && (part_collected_from(terms, term, i, other) != n ||
                                                  memcmp(other, from, n * sizeof *from) != 0))
            return 0;
    return n;
}

struct scaled sum_collect(struct builder *builder, struct term term,
                          const struct microbatches *from, uint32_t n) {
    struct terms *terms = builder->terms;
    struct sum sum = {0};
    for (uint32_t i = 0; i < terms->nodes[term.node].n_parts; i++) {
        struct summand part = part_at(terms, term, i);
        for (uint32_t k = 0; k < n && sum_part_is_first(terms, term, i); k++) {
            part.m_begin = from[k].begin;
            part.m_end = from[k].end;
            insert(terms, &sum, part);
        }
    }
    return sum_finish(builder, &sum);
}

struct term sum_move_microbatches(struct builder *builder, struct term term, int32_t by) {
    struct terms *terms = builder->terms;
    if (!term_is_collected(terms, term))
        return term;
    struct scaled value = {term, SCALE_ONE};
    struct sum sum = {0};
    for (uint32_t i = 0, n = terms->nodes[term.node].n_parts; i < n; i++) {
        struct summand item = sum_part(terms, value, i);
        if (item.m_begin != ALL_MICROBATCHES) {
            item.m_begin += by;
            item.m_end += by;
        }
        insert(terms, &sum, item);
    }
    struct scaled moved = sum_finish(builder, &sum);
    CHECK(moved.scale == SCALE_ONE);
    return moved.of;
}

struct scaled sum_replace(struct builder *builder, struct scaled value, int32_t by) {
    struct terms *terms = builder->terms;
    const struct symbols *symbols = &terms->symbols;
    struct scaled moved = value;
    moved.of.at = number_replace(symbols, value.of.at, by);
    const struct node *node = &terms->nodes[value.of.node];
    if (node->key->kind != NODE_SUM || !node->symbolic)
        return moved;
    struct sum sum = {0};
    for (uint32_t i = 0, n = node->n_parts; i < n; i++) {
        struct summand item = sum_part(terms, value, i);
        item.scale = scale_product(terms, item.scale, value.scale);
        item.at = number_replace(symbols, item.at, by);
        item.end = number_replace(symbols, item.end, by);
        item.m_begin = number_replace(symbols, item.m_begin, by);
        item.m_end = number_replace(symbols, item.m_end, by);
        insert(terms, &sum, item);
    }
    return sum_finish(builder, &sum);
}

struct scaled sum_first(struct builder *builder, struct scaled value) {
    struct symbols *symbols = &builder->terms->symbols;
    unsigned n = symbols->n;
    for (; symbols->n > 0; symbols->n--)
        value = sum_replace(builder, value, (int32_t)symbols->list[symbols->n - 1].first);
    symbols->n = n;
    return value;
}
