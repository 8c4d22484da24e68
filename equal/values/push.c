// What is read of a term. A view that says all of a term's elements, each once, stands outside of it. Any other, as of a
// slice, a diagonal, or of what went round a ring, is said of the operands: so a function of a slice and a slice of the
// function are one value.
#include <string.h>

#include "equal/values/make.h"
#include "ir/check.h"

// ---- whole views ------------------------------------------------------------------------------

// Whether the index counts from zero to the size, by digits.
static bool is_whole_index(const struct affine *index, int64_t size) {
    int64_t at = 1;
    for (uint32_t i = index->n; i-- > 0; at *= index->pieces[i].extent)
        if (index->pieces[i].coefficient != at || index->pieces[i].shift != 0)
            return false;
    return index->base == 0 && at == size;
}

static bool share_digits(const struct affine *a, const struct affine *b) {
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++) {
            const struct piece *x = &a->pieces[i], *y = &b->pieces[k];
            if (x->coordinate == y->coordinate && x->stride < y->stride * y->extent &&
                y->stride < x->stride * x->extent)
                return true;
        }
    return false;
}

bool is_whole_view(const struct calculus *c, struct term term, const struct view *view) {
    const struct space *space = value_space(c, term);
    for (uint32_t d = 0; d < view->n; d++) {
        if (!is_whole_index(&view->of[d], space->sizes[d]))
            return false;
        for (uint32_t e = 0; e < d; e++)
            if (share_digits(&view->of[d], &view->of[e]))
                return false;
    }
    return true;
}

// ---- said of operands -------------------------------------------------------------------------

// Coordinates, with those that stand for others.
static void add_coordinates_of(struct coordinates *all, const struct substitution *by) {
    for (uint32_t k = 0; by && k < MAX_COORDINATES; k++)
        for (uint32_t i = 0; by->of[k] && i < by->of[k]->n; i++) {
            const struct piece *piece = &by->of[k]->pieces[i];
            int64_t size = piece->stride * piece->extent;
            if (all->sizes[piece->coordinate] < size)
                all->sizes[piece->coordinate] = size;
        }
}

// Where coordinates are replaced, these are no more.
static void remove_replaced(struct coordinates *all, const struct substitution *by) {
    struct coordinates made = {{0}};
    add_coordinates_of(&made, by);
    for (uint32_t k = 0; by && k < MAX_COORDINATES; k++)
        if (by->of[k])
            all->sizes[k] = made.sizes[k];
}

// `by`: coordinates are replaced in parts; NULL: none are.
static bool open_all(struct calculus *c, struct term term, const struct view *view,
                     const struct substitution *by, struct viewed *parts) {
    for (uint32_t i = 0; i < term_node(&c->terms, term)->n_parts; i++) {
        struct operand part;
        if (!open_part(c, (struct scaled){term, SCALE_ONE}, view, i, &part))
            return false;
        struct scaled of = {part.of, part.scale};
        parts[i] = value_of_term(c, of, &part.view);
        if (by && !value_move(c, parts[i], by, &parts[i]))
            return false;
    }
    return true;
}

static bool push_folded(struct calculus *c, struct term term, const struct view *view,
                        const struct substitution *by, struct viewed *made) {
    const int64_t *flags = value_attributes(c, term);
    struct coordinates all = coordinates_of_view(view);
    uint32_t n = (uint32_t)*flags++, n_parts = term_node(&c->terms, term)->n_parts;
    struct viewed *parts = ARENA_ARRAY(&c->scratch, struct viewed, n_parts + 1);
    struct view whole;
    uint64_t folded = 0;
    int kind = term_kind(&c->terms, term);
    add_coordinates_of(&all, by);
    if (!unfold_view(flags, flags + n, n, view, &all, &folded, &whole) ||
        !open_all(c, term, &whole, by, parts))
        return false;
    remove_replaced(&all, by);
    *made = kind == KIND_PRODUCT ? value_product(c, parts, n_parts, folded, &all)
                                 : value_fold(c, (enum value_kind)kind, parts[0], folded, &all);
    return true;
}

struct viewed normal_of_kind(struct calculus *c, int kind, uint32_t attributes,
                             const struct viewed *parts, uint32_t n,
                             const struct coordinates *all) {
    switch (kind) {
    case NODE_SUM:
        return value_sum(c, parts, n, all);
    case KIND_POWER: {
        const int64_t *exponent = value_words_at(c, attributes);
        return value_power(c, parts[0], exponent[0], exponent[1], all);
    }
    case KIND_AT_LEAST:
    case KIND_ABOVE:
    case KIND_IS_ZERO:
        return value_test(c, (enum value_kind)kind, parts[0], attributes, all);
    case KIND_POINTWISE + PRIM_SELECT:
        return value_select(c, parts[0], parts[1], parts[2], all);
    case KIND_POINTWISE + PRIM_MAXIMUM:
    case KIND_POINTWISE + PRIM_MINIMUM:
        return value_extreme(c, kind == KIND_POINTWISE + PRIM_MAXIMUM, attributes, parts[0],
                             parts[1], all);
    case KIND_POINTWISE + PRIM_CLAMP:
        return value_clamped(c, attributes, parts[0], parts[1], parts[2], all);
    case KIND_POINTWISE + PRIM_DIVIDE: // of integers: others are products
        return value_quotient(c, parts[0], parts[1], all);
    case KIND_POINTWISE + PRIM_REMAINDER:
        return value_rest(c, attributes, parts[0], parts[1], all);
    case KIND_POINTWISE + PRIM_EXPONENTIAL:
        return value_exponential(c, parts[0], all);
    case KIND_POINTWISE + PRIM_LOG:
        return value_log(c, parts[0], all);
    default:
        return value_pointwise(c, kind, attributes, parts, n, all);
    }
}

static bool push_pointwise(struct calculus *c, struct term term, const struct view *view,
                           const struct substitution *by, struct viewed *made) {
    const struct node_key *key = term_node(&c->terms, term)->key;
    uint32_t n = term_node(&c->terms, term)->n_parts;
    struct viewed *parts = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    struct coordinates all = coordinates_of_view(view);
    add_coordinates_of(&all, by);
    if (!open_all(c, term, view, by, parts))
        return false;
    remove_replaced(&all, by);
    *made = normal_of_kind(c, key->kind, key->attributes, parts, n, &all);
    return true;
}

static bool push(struct calculus *c, struct term term, const struct view *view,
                 const struct substitution *by, struct viewed *made) {
    int kind = term_kind(&c->terms, term);
    if (kind >= KIND_PRODUCT && kind <= KIND_ANY)
        return push_folded(c, term, view, by, made);
    if (kind == NODE_SUM || kind == KIND_POWER || kind == KIND_AT_LEAST || kind == KIND_ABOVE ||
        kind == KIND_IS_ZERO || kind >= KIND_POINTWISE)
        return push_pointwise(c, term, view, by, made);
    return false;
}

// What is along whole coordinates, read at some of their places only. It is made of its parts' where it tells all of a
// dimension's places apart, which they may know as one.
static bool push_flat(struct calculus *c, struct term term, const struct view *view,
                      struct viewed *made) {
    struct substitution by = {0};
    struct view inner;
    struct scaled part = open_flat(c, term, view, &inner, &by);
    if (!is_told_by_digits(c, term) || !push(c, part.of, &inner, &by, made))
        return false;
    made->of.scale = scale_product(&c->terms, made->of.scale, part.scale);
    return true;
}

// ---- all of it --------------------------------------------------------------------------------

struct viewed normal_read(struct calculus *c, struct scaled of, const struct view *view) {
    struct viewed as_it_is = {of, view_intern(&c->views, view)}, made;
    int kind = term_kind(&c->terms, of.of);
    if (kind == KIND_INDEX) {
        made = value_index(c, &view->of[0]);
    } else if (kind == KIND_JOINED) {
        return read_standing(c, of, view, &made) ? made : as_it_is;
    } else if (kind == KIND_FLAT && read_flat(c, of, view, &made)) {
        return made;
    } else if (is_whole_view(c, of.of, view)) {
        return as_it_is;
    } else {
        uint32_t key[2] = {of.of.node, as_it_is.view};
        bool added;
        uint32_t at = intern(&c->pushed_keys, key, sizeof key, &added);
        if (added) {
            struct viewed none = {{of.of, SCALE_ONE}, as_it_is.view};
            ARENA_PUSH(c->arena, c->pushed, c->n_pushed, c->cap_pushed, none);
            if (kind == KIND_FLAT ? push_flat(c, of.of, view, &made)
                                  : push(c, of.of, view, NULL, &made))
                c->pushed[at] = made;
        }
        made = c->pushed[at];
    }
    made.of.scale = scale_product(&c->terms, made.of.scale, of.scale);
    return made;
}
