// Arrays that stand one behind the other along a coordinate (KIND_JOINED). Parts that follow each other in one term are
// one part, so slices that are put together again are what they were cut from; and what is read of one part alone is
// that part.
//
// The term's space begins with the dimension along which they stand; behind it are the dimensions that are none of a
// part alone. Attributes: the number of dimensions over which parts are joined, for each the part whose own it is, from
// 1 on, and its stride there; their sizes; the number of parts and their sizes.
#include "equal/values/together.h"

#include <string.h>

#include "equal/values/make.h"
#include "ir/check.h"

struct standing { // attributes, read
    uint32_t n_dimensions, n_parts;
    const int64_t *part_of, *strides, *dimensions, *sizes;
};

static struct standing standing_of(const struct calculus *c, struct term term) {
    const int64_t *words = value_attributes(c, term);
    struct standing s = {.n_dimensions = (uint32_t)words[0]};
    s.part_of = words + 1;
    s.strides = s.part_of + s.n_dimensions;
    s.dimensions = s.strides + s.n_dimensions;
    s.n_parts = (uint32_t)s.dimensions[s.n_dimensions];
    s.sizes = s.dimensions + s.n_dimensions + 1;
    return s;
}

uint32_t standing_sizes(const struct calculus *c, struct term term, const int64_t **sizes) {
    if (term_kind(&c->terms, term) != KIND_JOINED)
        return 0;
    struct standing s = standing_of(c, term);
    *sizes = s.sizes;
    return s.n_parts;
}

// ---- neighbours -------------------------------------------------------------------------------

// Takes the coordinate's piece out of an index in which it stands whole, or not at all. False: it stands otherwise.
static bool take_piece(struct affine *index, uint32_t along, int64_t size, int64_t *coefficient) {
    *coefficient = 0;
    for (uint32_t i = 0; i < index->n; i++) {
        struct piece piece = index->pieces[i];
        if (piece.coordinate != along)
            continue;
        if (*coefficient || piece.stride != 1 || piece.extent != size || piece.shift != 0)
            return false;
        *coefficient = piece.coefficient;
        memmove(&index->pieces[i], &index->pieces[i + 1],
                (index->n - i - 1) * sizeof *index->pieces);
        index->n--;
        i--;
    }
    return true;
}

// Whether the second stands behind the first in one term: then `*both` is both.
static bool join_neighbours(struct calculus *c, struct viewed first, int64_t n_first,
                            struct viewed second, int64_t n_second, uint32_t along,
                            struct viewed *both) {
    struct view a, b;
    if (!scaled_equal(first.of, second.of))
        return false;
    view_get(&c->views, first.view, &a);
    view_get(&c->views, second.view, &b);
    uint32_t moved = MAX_DIMENSIONS;
    int64_t step = 0;
    for (uint32_t d = 0; d < a.n; d++) {
        int64_t x, y, far = b.of[d].base - a.of[d].base;
        if (!take_piece(&a.of[d], along, n_first, &x) || !take_piece(&b.of[d], along, n_second, &y))
            return false;
        if (a.of[d].n != b.of[d].n ||
            memcmp(a.of[d].pieces, b.of[d].pieces, a.of[d].n * sizeof *a.of[d].pieces) != 0)
            return false;
        if (far == 0 && x == 0 && y == 0)
            continue;
        int64_t coefficient = x ? x : y ? y : far;
        if (moved < MAX_DIMENSIONS || far != coefficient * n_first || (x && y && x != y) ||
            (n_first > 1 && !x) || (n_second > 1 && !y))
            return false;
        moved = d;
        step = coefficient;
    }
    if (moved == MAX_DIMENSIONS) // the same again
        return false;
    struct piece piece = {step, 1, n_first + n_second, 0, along};
    if (!affine_push(&a.of[moved], piece) || !affine_normal(&a.of[moved]))
        return false;
    *both = value_of_term(c, first.of, &a);
    return true;
}

// ---- the term ---------------------------------------------------------------------------------

struct standing_parts {
    struct viewed *of;
    int64_t *sizes;
    uint32_t n;
};

static void add_part(struct calculus *c, struct standing_parts *parts, struct viewed part,
                     int64_t size, uint32_t along) {
    struct viewed both;
    uint32_t last = parts->n - 1;
    if (parts->n && value_is_zero(c, part) && value_is_zero(c, parts->of[last])) {
        parts->sizes[last] += size;
    } else if (parts->n &&
               join_neighbours(c, parts->of[last], parts->sizes[last], part, size, along, &both)) {
        parts->of[last] = both;
        parts->sizes[last] += size;
    } else {
        parts->of[parts->n] = part;
        parts->sizes[parts->n++] = size;
    }
}

// Each part's coordinate is one of its own, so that parts do not share digits of it.
static bool part_operands(struct calculus *c, const struct standing_parts *parts, uint32_t along,
                          struct coordinates *all, struct operand *operands, uint32_t *own) {
    for (uint32_t i = 0; i < parts->n; i++) {
        own[i] = add_coordinate(all, parts->sizes[i]);
        if (own[i] == MAX_COORDINATES)
            return false;
        struct affine whole = affine_coordinate(own[i], parts->sizes[i]);
        struct substitution by = {0};
        struct view view;
        by.of[along] = &whole;
        by.sizes[along] = parts->sizes[i];
        operand_set(c, parts->of[i], &operands[i]);
        if (!view_substitute(&operands[i].view, &by, &view))
            return false;
        view_copy(&operands[i].view, &view);
    }
    return true;
}

// What the scales of all parts have in common, and the first one's number, as of sums.
static scale_id pull_scale(struct calculus *c, struct operand *operands, uint32_t n) {
    scale_id outer = SCALE_ONE;
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        if (term_kind(&c->terms, operands[i].of) == NODE_ZERO)
            continue;
        outer = any ? scale_common(&c->terms, outer, operands[i].scale) : operands[i].scale;
        any = true;
    }
    scale_id inverse = scale_invert(&c->terms, outer);
    for (uint32_t i = 0; i < n; i++) {
        bool alone =
            operands[i].scale == outer || term_kind(&c->terms, operands[i].of) == NODE_ZERO;
        operands[i].scale =
            alone ? SCALE_ONE : scale_multiply(&c->terms, operands[i].scale, inverse);
    }
    return outer;
}

// Whether parts are more than there are dimensions, or coordinates, to tell them apart.
static bool are_too_many(const struct standing_parts *parts) {
    uint32_t n_dimensions = 1;
    for (uint32_t i = 0; i < parts->n && n_dimensions <= MAX_DIMENSIONS; i++)
        n_dimensions += parts->sizes[i] > 1;
    return n_dimensions > MAX_DIMENSIONS || parts->n > MAX_COORDINATES - COORDINATE_FREE;
}

static struct viewed make_standing(struct calculus *c, const struct standing_parts *parts,
                                   uint32_t along, int64_t total, const struct coordinates *all) {
    if (are_too_many(parts)) { // before room is made for each
        c->reached = BOUND_PARTS;
        return value_unknown(c, all);
    }
    struct operand *operands = operand_room(c, parts->n);
    uint32_t *own = ARENA_ARRAY(&c->scratch, uint32_t, parts->n);
    struct coordinates inner = *all;
    struct joined joined;
    uint64_t folded = 0;
    if (!part_operands(c, parts, along, &inner, operands, own))
        return value_unknown(c, all);
    for (uint32_t i = 0; i < parts->n; i++)
        folded |= UINT64_C(1) << own[i];
    if (!join_operands(c, operands, parts->n, folded, false, &joined) ||
        joined.space.n + 1 > MAX_DIMENSIONS)
        return value_unknown(c, all);
    uint32_t n = joined.space.n;
    int64_t *words = ARENA_ARRAY(&c->scratch, int64_t, 2 + 3 * n + parts->n);
    struct part *made = ARENA_ARRAY(&c->scratch, struct part, parts->n);
    struct space space = {.n = 1, .sizes = {total}};
    struct view view;
    view.n = 1;
    view.of[0] = affine_coordinate(along, total);
    words[0] = n;
    for (uint32_t d = 0; d < n; d++) {
        const struct piece *piece = &joined.from[d].pieces[0];
        words[1 + 2 * n + d] = joined.space.sizes[d];
        if (!joined.folded[d]) {
            space.sizes[space.n++] = joined.space.sizes[d];
            view.of[view.n++] = joined.from[d];
            continue;
        }
        for (uint32_t i = 0; i < parts->n; i++)
            if (own[i] == piece->coordinate)
                words[1 + d] = i + 1;
        words[1 + n + d] = piece->stride;
        if (joined.from[d].n != 1)
            return value_unknown(c, all);
    }
    words[1 + 3 * n] = parts->n;
    memcpy(&words[2 + 3 * n], parts->sizes, parts->n * sizeof *words);
    scale_id outer = pull_scale(c, operands, parts->n);
    for (uint32_t i = 0; i < parts->n; i++)
        made[i] = joined_part(c, &operands[i], &joined.space);
    struct term term = term_make(&c->builder, KIND_JOINED, 0,
                                 value_words(c, words, 2 + 3 * n + parts->n), made, parts->n);
    value_set_space(c, term, &space);
    return (struct viewed){{term, outer}, view_intern(&c->views, &view)};
}

struct viewed value_together(struct calculus *c, const struct viewed *values, const int64_t *sizes,
                             uint32_t n, uint32_t along, const struct coordinates *all) {
    struct standing_parts parts = {.of = ARENA_ARRAY(&c->scratch, struct viewed, n + 1),
                                   .sizes = ARENA_ARRAY(&c->scratch, int64_t, n + 1)};
    int64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += sizes[i];
        if (sizes[i] > 0)
            add_part(c, &parts, values[i], sizes[i], along);
    }
    if (parts.n == 0)
        return value_zero(c);
    return parts.n == 1 ? parts.of[0] : make_standing(c, &parts, along, total, all);
}

// ---- what is read of one ----------------------------------------------------------------------

// Part i, where its elements stand at the index, which counts from its first one.
static bool read_part(struct calculus *c, struct scaled of, const struct view *view,
                      const struct standing *s, uint32_t i, const struct affine *index,
                      struct viewed *read) {
    struct view whole;
    uint32_t at = 1;
    whole.n = s->n_dimensions;
    for (uint32_t d = 0; d < s->n_dimensions; d++) {
        whole.of[d] = affine_constant(0);
        if (s->part_of[d] == 0)
            whole.of[d] = view->of[at++];
        else if (s->part_of[d] == i + 1 &&
                 !affine_piece(index, s->sizes[i], s->strides[d], s->dimensions[d], &whole.of[d]))
            return false;
    }
    struct operand part;
    if (!open_part(c, of, &whole, i, &part))
        return false;
    part.scale = scale_product(&c->terms, part.scale, of.scale);
    if (term_kind(&c->terms, part.of) == NODE_ZERO)
        *read = value_zero(c);
    else
        *read = value_of_term(c, (struct scaled){part.of, part.scale}, &part.view);
    return true;
}

bool read_standing(struct calculus *c, struct scaled of, const struct view *view,
                   struct viewed *read) {
    struct standing s = standing_of(c, of.of);
    int64_t begin = 0, least = affine_least(&view->of[0]), largest = affine_largest(&view->of[0]);
    for (uint32_t i = 0; i < s.n_parts; begin += s.sizes[i++]) {
        if (least < begin || largest >= begin + s.sizes[i])
            continue;
        struct affine index = view->of[0];
        index.base -= begin;
        return read_part(c, of, view, &s, i, &index, read);
    }
    return false;
}
