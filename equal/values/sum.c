// Linear combinations. What is an index, or a number, is one affine index; of all else equal ones are one summand.
#include <stdlib.h>
#include <string.h>

#include "equal/values/apart.h"
#include "equal/values/laws.h"
#include "equal/values/make.h"
#include "equal/values/standing.h"
#include "ir/check.h"

enum { MOST_WITH_EXPONENTIALS = 64, SUMMANDS_OF_PRODUCT = 8 };

struct summing {
    struct calculus *c;
    struct viewed *items;
    uint32_t n, cap;
    struct affine index; // over `denominator`
    int64_t denominator;
    bool failed;
};

static bool add_index(struct summing *s, const struct affine *index, int64_t denominator) {
    struct affine both = affine_constant(0);
    int64_t common;
    if (__builtin_mul_overflow(s->denominator, denominator, &common) || common > INT32_MAX)
        return false;
    if (!affine_add(&both, &s->index, denominator) || !affine_add(&both, index, s->denominator) ||
        !affine_normal(&both))
        return false;
    s->index = both;
    s->denominator = common;
    return true;
}

// Adds it to one of the first so many items, if it is a multiple of that.
static void add_item(struct summing *s, struct viewed item, uint32_t n_compared) {
    if (s->n > MOST_SUMMANDS) {
        s->c->reached = BOUND_SUMMANDS;
        s->failed = true;
    }
    for (uint32_t i = 0; i < s->n && i < n_compared && !s->failed; i++) {
        struct viewed *old = &s->items[i];
        bool cancels;
        if (!term_equal(old->of.of, item.of.of) || old->view != item.view ||
            value_is_infinite(s->c, item.of.of) ||
            !scale_total(&s->c->terms, old->of.scale, item.of.scale, &old->of.scale, &cancels))
            continue;
        if (cancels)
            *old = s->items[--s->n];
        return;
    }
    ARENA_PUSH(&s->c->scratch, s->items, s->n, s->cap, item);
}

// A scalar that is a sum times others, as the sum with these as its scale. Of several sums none is opened.
static struct viewed with_sum_outside(struct calculus *c, struct viewed value) {
    struct scale scale = *scale_get(&c->terms, value.of.scale);
    struct term sum = value.of.of;
    uint32_t n = 0;
    for (uint32_t i = 0; i < scale.n_factors; i++)
        if (scale.factors[i].power == 1 && term_kind(&c->terms, scale.factors[i].of) == NODE_SUM) {
            sum = scale.factors[i].of;
            n++;
        }
    if (term_kind(&c->terms, value.of.of) != NODE_ONE || scale.serial || n != 1)
        return value;
    scale_id inverse = scale_invert(&c->terms, scale_of_term(&c->terms, sum));
    value.of.scale = scale_multiply(&c->terms, value.of.scale, inverse);
    value.of.of = sum;
    return value;
}

static void collect(struct summing *s, struct viewed value) {
    struct calculus *c = s->c;
    value = with_sum_outside(c, value);
    struct affine index;
    int64_t denominator;
    if (value_as_index(c, value, &index, &denominator) && add_index(s, &index, denominator))
        return;
    if (term_kind(&c->terms, value.of.of) != NODE_SUM) {
        add_item(s, value, s->n);
        return;
    }
    // None of a sum's own summands is a multiple of another, unless they are read at some of their places only.
    struct view view;
    view_get(&c->views, value.view, &view);
    uint32_t n_others = is_whole_view(c, value.of.of, &view) ? s->n : UINT32_MAX;
    for (uint32_t i = 0; i < term_node(&c->terms, value.of.of)->n_parts; i++) {
        struct viewed part;
        if (!part_value(c, value, i, &part)) {
            s->failed = true;
            return;
        }
        part.of.scale = scale_product(&c->terms, part.of.scale, value.of.scale);
        if (value_as_index(c, part, &index, &denominator) && add_index(s, &index, denominator))
            continue;
        add_item(s, part, n_others);
    }
}

// The index as a summand beside others, its base apart.
static void add_index_items(struct summing *s) {
    struct calculus *c = s->c;
    struct viewed base = value_fraction(c, s->index.base, s->denominator);
    s->index.base = 0;
    struct viewed index = value_index(c, &s->index);
    index = value_scaled(c, index, 1, s->denominator);
    const struct viewed both[] = {base, index};
    for (int i = 0; i < 2; i++)
        if (!value_is_zero(c, both[i]))
            add_item(s, both[i], s->n);
}

// ---- exponentials -----------------------------------------------------------------------------

// An exponential that is a factor of the item, the i-th of them. False: it has no such.
static bool item_exponential(struct calculus *c, struct viewed value, uint32_t i,
                             const struct coordinates *all, struct viewed *factor) {
    struct split_product split;
    value.of.scale = SCALE_ONE;
    *factor = value;
    if (is_exponential(c, value.of.of))
        return i == 0;
    if (!has_factor(c, value, KIND_EXPONENTIAL) ||
        !split_product(c, value, true, MAX_SPLIT, all, &split) || i >= split.n)
        return false;
    *factor = split.apart[i];
    return true;
}

static bool has_exponential(struct calculus *c, struct viewed item, struct viewed factor,
                            const struct coordinates *all) {
    struct viewed own;
    for (uint32_t i = 0; item_exponential(c, item, i, all, &own); i++)
        if (value_equal(own, factor))
            return true;
    return false;
}

static bool find_common(struct summing *s, const struct coordinates *all, struct viewed *factor) {
    for (uint32_t i = 0; item_exponential(s->c, s->items[0], i, all, factor); i++) {
        uint32_t k = 1;
        while (k < s->n && has_exponential(s->c, s->items[k], *factor, all))
            k++;
        if (k == s->n)
            return true;
    }
    return false;
}

// An exponential that all summands have leaves the sum, as the new shift of a softmax that is made part by part.
static bool pull_exponential(struct summing *s, const struct coordinates *all,
                             struct viewed *made) {
    struct calculus *c = s->c;
    struct viewed factor, exponent;
    if (s->n > MOST_WITH_EXPONENTIALS || !find_common(s, all, &factor) ||
        !exponent_of(c, factor, &exponent))
        return false;
    struct viewed *items = ARENA_ARRAY(&c->scratch, struct viewed, s->n);
    struct viewed inverse = value_exponential(c, value_scaled(c, exponent, -1, 1), all);
    for (uint32_t i = 0; i < s->n; i++) {
        struct viewed both[] = {s->items[i], inverse};
        items[i] = value_product(c, both, 2, 0, all);
    }
    struct viewed both[] = {factor, value_sum(c, items, s->n, all)};
    *made = value_product(c, both, 2, 0, all);
    return true;
}

// ---- places -----------------------------------------------------------------------------------

static bool has_tests(const struct summing *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (has_factor(s->c, s->items[i], KIND_IS_ZERO))
            return true;
    return false;
}

// What is there at every place, or turn, of a digit, each by itself.
static bool join_tested(struct summing *s, const struct coordinates *all) {
    struct viewed made;
    if (s->n < 2 || s->n > MOST_WITH_EXPONENTIALS || !has_tests(s))
        return false;
    if (!stand_at_turns(s->c, s->items, &s->n, all, &made) &&
        !stand_at_places(s->c, s->items, &s->n, all, &made))
        return false;
    collect(s, made);
    return true;
}

// ---- the term ---------------------------------------------------------------------------------

// What the sum is a multiple of: the scale of the summand whose term was made first, and of scalars those that all
// have. That summand stays when others come, as those of each layer do beside what a model began with, so that scales
// do not grow with the number of layers.
static scale_id outer_scale(struct terms *terms, const struct viewed *items,
                            const struct part *parts, uint32_t n) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t own = items[i].of.of.node, least = items[first].of.of.node;
        if (own < least || (own == least && parts[i].node < parts[first].node))
            first = i;
    }
    scale_id outer = items[first].of.scale;
    for (uint32_t i = 0; i < n; i++)
        outer = scale_common(terms, outer, items[i].of.scale);
    return outer;
}

static int compare_parts(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->scale < y->scale ? -1 : x->scale > y->scale;
}

// Terms are mostly made in the order in which they are added.
static void sort_parts(struct part *parts, uint32_t n) {
    uint32_t i = 1;
    while (i < n && compare_parts(&parts[i - 1], &parts[i]) <= 0)
        i++;
    if (i < n)
        qsort(parts, n, sizeof *parts, compare_parts);
}

// The items have been joined; none is a sum, and none a multiple of another.
static struct viewed sum_term(struct calculus *c, const struct viewed *items, uint32_t n,
                              const struct joined *joined) {
    struct part *parts = ARENA_ARRAY(&c->scratch, struct part, n);
    joined_parts(c, items, n, &joined->space, parts);
    scale_id outer = outer_scale(&c->terms, items, parts, n);
    scale_id inverse = scale_invert(&c->terms, outer);
    for (uint32_t i = 0; i < n; i++) {
        bool same = parts[i].scale == outer;
        parts[i].scale = same ? SCALE_ONE : scale_multiply(&c->terms, parts[i].scale, inverse);
    }
    sort_parts(parts, n);
    struct term term = term_make(&c->builder, NODE_SUM, 0, 0, parts, n);
    value_set_space(c, term, &joined->space);
    struct view view;
    view.n = joined->space.n;
    memcpy(view.of, joined->from, view.n * sizeof *view.of);
    return (struct viewed){{term, outer}, view_intern(&c->views, &view)};
}

// Takes the scalars that are factors of all summands out of them. What is left of a scalar may be one by itself then.
static scale_id pull_scalars(struct summing *s) {
    struct calculus *c = s->c;
    scale_id common = s->items[0].of.scale;
    for (uint32_t i = 1; i < s->n; i++)
        common = scale_common(&c->terms, common, s->items[i].of.scale);
    const struct scale *scale = scale_get(&c->terms, common);
    if (s->n == 1 || scale->n_factors == 0 || scale->serial)
        return SCALE_ONE;
    scale_id number = scale_number(&c->terms, common);
    common = scale_multiply(&c->terms, common, scale_invert(&c->terms, number));
    scale_id inverse = scale_invert(&c->terms, common);
    struct viewed *items = s->items;
    uint32_t n = s->n;
    s->items = NULL;
    s->n = s->cap = 0;
    s->index = affine_constant(0);
    s->denominator = 1;
    for (uint32_t i = 0; i < n; i++) {
        items[i].of.scale = scale_multiply(&c->terms, items[i].of.scale, inverse);
        collect(s, value_normal_scalar(c, items[i]));
    }
    add_index_items(s);
    return common;
}

static struct viewed times_scalars(struct calculus *c, struct viewed value, scale_id scalars) {
    value.of.scale = scale_multiply(&c->terms, value.of.scale, scalars);
    return value_normal_scalar(c, value);
}

static struct viewed sum_of_part(struct calculus *c, const struct element_function *function,
                                 const struct viewed *values, uint32_t n,
                                 const struct coordinates *all) {
    (void)function;
    return value_sum(c, values, n, all);
}

// Whether an item is none that is read as a whole: it stands together, or is along whole coordinates (flat.c).
static bool has_apart(const struct summing *s) {
    bool any = false;
    for (uint32_t i = 0; i < s->n && !any; i++) {
        int kind = term_kind(&s->c->terms, s->items[i].of.of);
        any = kind == KIND_JOINED || kind == KIND_FLAT;
    }
    return any;
}

// Items as operands, in room that is used again when values are made of them.
static struct operand *opened_items(const struct summing *s) {
    struct operand *items = operand_room(s->c, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        operand_set(s->c, s->items[i], &items[i]);
    return items;
}

// The sum where such items are.
static struct viewed sum_apart(struct summing *s, const struct coordinates *all) {
    struct calculus *c = s->c;
    struct joined joined;
    struct viewed made;
    struct element_function sum = {.make = sum_of_part};
    struct operand *items = opened_items(s);
    if (!join_flat(c, items, s->n, 0, true, &joined))
        return value_unknown(c, all);
    for (uint32_t i = 0; i < s->n; i++)
        s->items[i] = value_of_operand(c, &items[i]);
    if (made_of_dissolved(c, &sum, items, s->n, &joined, &made) ||
        made_by_parts(c, &sum, opened_items(s), s->n, &joined, &made))
        return made;
    return sum_term(c, s->items, s->n, &joined);
}

static struct viewed finish_items(struct summing *s, const struct coordinates *all) {
    struct calculus *c = s->c;
    struct joined joined;
    struct viewed pulled;
    if (s->n == 0)
        return value_zero(c);
    if (s->n == 1)
        return s->items[0];
    if (pull_exponential(s, all, &pulled))
        return pulled;
    if (s->n > MOST_SUMMANDS) {
        c->reached = BOUND_SUMMANDS;
        return value_unknown(c, all);
    }
    if (has_apart(s) || !join_values(c, s->items, s->n, &joined))
        return sum_apart(s, all);
    return sum_term(c, s->items, s->n, &joined);
}

static struct viewed finish(struct summing *s, const struct coordinates *all) {
    struct calculus *c = s->c;
    while (join_tested(s, all))
        continue;
    if (s->n == 0)
        return value_scaled(c, value_index(c, &s->index), 1, s->denominator);
    add_index_items(s);
    scale_id scalars = pull_scalars(s);
    struct viewed made = times_scalars(c, finish_items(s, all), scalars);
    return s->failed ? value_unknown(c, all) : made;
}

struct viewed normal_sum(struct calculus *c, const struct viewed *values, uint32_t n,
                         const struct coordinates *all) {
    struct summing s = {.c = c, .index = affine_constant(0), .denominator = 1};
    for (uint32_t i = 0; i < n; i++)
        if (!value_is_zero(c, values[i]))
            collect(&s, values[i]);
    c->products_left -= s.n / SUMMANDS_OF_PRODUCT;
    return s.failed || c->products_left <= 0 ? value_unknown(c, all) : finish(&s, all);
}
