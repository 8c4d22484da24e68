// Sums in normal form: a linear combination over (node, layers, microbatches); see term.h.
//
// A summand is inserted by joining it with what is there: the same thing twice adds the scales,
// neighbouring layers or microbatches of one scale become one range, an overlap is cut into pieces.
// What was collected from every microbatch exactly once thus becomes ALL_MICROBATCHES, and nothing
// else does. Joining is only between summands of one node, of which there are one or two.
#include "verify/term.h"

#include <stdlib.h>

struct range {
    int32_t begin, end;
};

static bool disjoint(struct range a, struct range b) {
    return a.end <= b.begin || b.end <= a.begin;
}

static bool adjacent(struct range a, struct range b) {
    return a.end == b.begin || b.end == a.begin;
}

static bool same(struct range a, struct range b) {
    return a.begin == b.begin && a.end == b.end;
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
    if (begin >= end)
        return;
    set_range(&item, layers, begin, end);
    insert(terms, sum, item);
}

// Joins two summands which agree in all but one kind of range (and maybe the scale). False: they
// stay beside each other.
static bool join(struct terms *terms, struct sum *sum, uint32_t at, struct summand item,
                 bool layers) {
    struct summand old = sum->items[at];
    struct range a = layers ? layers_of(&old) : microbatches_of(&old);
    struct range b = layers ? layers_of(&item) : microbatches_of(&item);
    int32_t low = a.begin < b.begin ? a.begin : b.begin, high = a.end > b.end ? a.end : b.end;
    if (disjoint(a, b)) {
        if (!adjacent(a, b) || old.scale != item.scale)
            return false;
        sum->items[at] = sum->items[--sum->n];
        insert_range(terms, sum, item, layers, low, high);
        return true;
    }
    int32_t both_begin = a.begin > b.begin ? a.begin : b.begin;
    int32_t both_end = a.end < b.end ? a.end : b.end;
    struct summand both = item;
    if (!scale_add(terms, old.scale, item.scale, &both.scale))
        return false;
    sum->items[at] = sum->items[--sum->n];
    insert_range(terms, sum, a.begin < b.begin ? old : item, layers, low, both_begin);
    insert_range(terms, sum, both, layers, both_begin, both_end);
    insert_range(terms, sum, a.end > b.end ? old : item, layers, both_end, high);
    return true;
}

static void insert(struct terms *terms, struct sum *sum, struct summand item) {
    if (scale_is_zero(terms, item.scale))
        return;
    if (item.m_begin == 0 && item.m_end == terms->microbatches)
        item.m_begin = item.m_end = ALL_MICROBATCHES;
    for (uint32_t i = 0; i < sum->n; i++) {
        struct summand *old = &sum->items[i];
        if (old->node != item.node)
            continue;
        bool same_layers = same(layers_of(old), layers_of(&item));
        bool same_microbatches = same(microbatches_of(old), microbatches_of(&item));
        if (same_layers && same_microbatches) {
            scale_id both;
            if (!scale_add(terms, old->scale, item.scale, &both))
                continue;
            *old = sum->items[--sum->n];
            item.scale = both;
            insert(terms, sum, item);
            return;
        }
        bool finite = old->m_begin != ALL_MICROBATCHES && item.m_begin != ALL_MICROBATCHES;
        if (same_layers && finite && join(terms, sum, i, item, false))
            return;
        if (same_microbatches && join(terms, sum, i, item, true))
            return;
    }
    ARENA_PUSH(terms->arena, sum->items, sum->n, sum->cap, item);
}

void sum_add(struct terms *terms, struct sum *sum, struct scaled value, scale_id factor) {
    const struct node *node = &terms->nodes[value.of.node];
    scale_id outer = scale_multiply(terms, value.scale, factor);
    if (node->key->kind == NODE_ZERO)
        return;
    if (node->key->kind != NODE_SUM) {
        insert(terms, sum,
               (struct summand){value.of.node, value.of.at, value.of.at + 1, outer,
                                ALL_MICROBATCHES, ALL_MICROBATCHES});
        return;
    }
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *part = &node->key->parts[i];
        int32_t shift = terms->nodes[part->node].key->indexed ? value.of.at : 0;
        insert(terms, sum,
               (struct summand){part->node, part->at + shift, part->end + shift,
                                scale_multiply(terms, part->scale, outer), part->m_begin,
                                part->m_end});
    }
}

static int by_content(const void *left, const void *right) {
    const struct summand *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->m_begin != b->m_begin)
        return a->m_begin < b->m_begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->scale < b->scale ? -1 : a->scale > b->scale;
}

struct scaled sum_finish(struct terms *terms, struct sum *sum) {
    if (sum->n == 0)
        return (struct scaled){term_constant(terms, NODE_ZERO), SCALE_ONE};
    struct summand *first = &sum->items[0];
    if (sum->n > 1)
        qsort(sum->items, sum->n, sizeof *sum->items, by_content);
    scale_id outer = first->scale;
    if (sum->n == 1 && first->end == first->at + 1 && first->m_begin == ALL_MICROBATCHES)
        return (struct scaled){{first->node, first->at}, outer};
    scale_id inverse = outer == SCALE_ONE ? SCALE_ONE : scale_invert(terms, outer);
    struct part few[8];
    struct part *parts = sum->n <= 8 ? few : ARENA_ARRAY(terms->arena, struct part, sum->n);
    for (uint32_t i = 0; i < sum->n; i++) {
        const struct summand *item = &sum->items[i];
        scale_id scale = i ? scale_multiply(terms, item->scale, inverse) : SCALE_ONE;
        parts[i] =
            (struct part){item->node, item->at, item->end, scale, item->m_begin, item->m_end};
    }
    return (struct scaled){term_make(terms, NODE_SUM, 0, 0, parts, sum->n), outer};
}

void sum_add_collected(struct terms *terms, struct sum *sum, struct scaled value, int32_t m_begin,
                       int32_t m_end) {
    struct sum parts = {0};
    sum_add(terms, &parts, value, SCALE_ONE);
    for (uint32_t i = 0; i < parts.n; i++) {
        struct summand item = parts.items[i];
        item.m_begin = m_begin;
        item.m_end = m_end;
        insert(terms, sum, item);
    }
}

struct scaled sum_microbatch(struct terms *terms, struct scaled value, int32_t m) {
    if (terms->microbatches <= 1)
        return value;
    struct sum sum = {0};
    sum_add_collected(terms, &sum, value, m, m + 1);
    return sum_finish(terms, &sum);
}

bool term_is_collected(const struct terms *terms, struct term term) {
    const struct node *node = &terms->nodes[term.node];
    if (node->key->kind != NODE_SUM)
        return false;
    for (uint32_t i = 0; i < node->n_parts; i++)
        if (node->key->parts[i].m_begin != ALL_MICROBATCHES)
            return true;
    return false;
}

struct scaled sum_rename(struct terms *terms, struct scaled value, int32_t (*move)(int32_t, void *),
                         void *data) {
    if (!term_is_collected(terms, value.of))
        return value;
    struct sum sum = {0}, renamed = {0};
    sum_add(terms, &sum, value, SCALE_ONE);
    for (uint32_t i = 0; i < sum.n; i++) {
        struct summand item = sum.items[i];
        if (item.m_begin != ALL_MICROBATCHES) {
            item.m_begin = move(item.m_begin, data);
            item.m_end = move(item.m_end, data);
        }
        insert(terms, &renamed, item);
    }
    return sum_finish(terms, &renamed);
}
