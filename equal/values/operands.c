// What all makers of values stand on: operands, the terms that are made of them, exponentials and scalars as such.
#include "equal/values/make.h"

void operand_set(const struct calculus *c, struct viewed value, struct operand *operand) {
    operand->of = value.of.of;
    operand->scale = value.of.scale;
    view_get(&c->views, value.view, &operand->view);
}

struct operand operand_of(const struct calculus *c, struct viewed value) {
    struct operand operand; // most of a view stays unset
    operand_set(c, value, &operand);
    return operand;
}

struct viewed value_of_operand(struct calculus *c, const struct operand *operand) {
    return (struct viewed){{operand->of, operand->scale}, view_intern(&c->views, &operand->view)};
}

uint32_t add_coordinate(struct coordinates *all, int64_t size) {
    for (uint32_t k = COORDINATE_FREE; k < MAX_COORDINATES; k++)
        if (all->sizes[k] == 0) {
            all->sizes[k] = size;
            return k;
        }
    return MAX_COORDINATES;
}

struct coordinates coordinates_of_view(const struct view *view) {
    struct coordinates all = {{0}};
    for (uint32_t d = 0; d < view->n; d++)
        for (uint32_t i = 0; i < view->of[d].n; i++) {
            const struct piece *piece = &view->of[d].pieces[i];
            int64_t size = piece->stride * piece->extent;
            if (all.sizes[piece->coordinate] < size)
                all.sizes[piece->coordinate] = size;
        }
    return all;
}

bool unfold_view(const int64_t *flags, const int64_t *sizes, uint32_t n, const struct view *view,
                 struct coordinates *all, uint64_t *folded, struct view *whole) {
    uint32_t at = 0;
    whole->n = n;
    for (uint32_t d = 0; d < n; d++) {
        if (!flags[d]) {
            whole->of[d] = view->of[at++];
            continue;
        }
        uint32_t k = add_coordinate(all, sizes[d]);
        if (k == MAX_COORDINATES)
            return false;
        *folded |= UINT64_C(1) << k;
        whole->of[d] = affine_coordinate(k, sizes[d]);
    }
    return true;
}

// Attributes of what folds: the number of dimensions, for each whether it is folded, and their sizes.
static uint32_t fold_attributes(struct calculus *c, const struct joined *joined) {
    int64_t words[2 * MAX_DIMENSIONS + 1] = {joined->space.n};
    for (uint32_t d = 0; d < joined->space.n; d++) {
        words[1 + d] = joined->folded[d];
        words[1 + joined->space.n + d] = joined->space.sizes[d];
    }
    return value_words(c, words, 1 + 2 * joined->space.n);
}

struct viewed value_of_operands(struct calculus *c, int kind, uint32_t attributes,
                                const struct operand *operands, uint32_t n,
                                const struct joined *joined) {
    struct part *parts = ARENA_ARRAY(&c->scratch, struct part, n + 1);
    struct space space = {0};
    struct view view;
    view.n = 0;
    for (uint32_t i = 0; i < n; i++)
        parts[i] = joined_part(c, &operands[i], &joined->space);
    struct term term = term_make(&c->builder, kind, 0, attributes, parts, n);
    for (uint32_t d = 0; d < joined->space.n; d++) {
        if (joined->folded[d])
            continue;
        space.turns[space.n] = joined->space.turns[d];
        space.sizes[space.n++] = joined->space.sizes[d];
        view.of[view.n++] = joined->from[d];
    }
    value_set_space(c, term, &space);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, &view)};
}

struct viewed value_of_joined(struct calculus *c, int kind, const struct operand *operands,
                              uint32_t n, const struct joined *joined) {
    return value_of_operands(c, kind, fold_attributes(c, joined), operands, n, joined);
}

// ---- exponentials -----------------------------------------------------------------------------

struct term bare_part(const struct calculus *c, struct term of, uint32_t i) {
    struct term part = term_part(&c->terms, of, i).of;
    return term_kind(&c->terms, part) == KIND_VIEW ? term_part(&c->terms, part, 0).of : part;
}

bool has_factor(const struct calculus *c, struct viewed value, int kind) {
    int own = term_kind(&c->terms, value.of.of);
    bool any = own == kind;
    for (uint32_t i = 0; own == KIND_PRODUCT && i < term_node(&c->terms, value.of.of)->n_parts; i++)
        any |= term_kind(&c->terms, bare_part(c, value.of.of, i)) == kind;
    return any;
}

bool is_exponential(const struct calculus *c, struct term term) {
    return term_kind(&c->terms, term) == (int)KIND_EXPONENTIAL;
}

bool exponent_of(struct calculus *c, struct viewed value, struct viewed *exponent) {
    struct view view;
    struct operand part;
    view_get(&c->views, value.view, &view);
    if (!is_exponential(c, value.of.of) ||
        !open_part(c, (struct scaled){value.of.of, SCALE_ONE}, &view, 0, &part))
        return false;
    *exponent = value_of_operand(c, &part);
    return true;
}

// ---- scalars ----------------------------------------------------------------------------------

// A scalar among others is a factor of their product; alone, once, it is that scalar.
struct viewed value_normal_scalar(struct calculus *c, struct viewed value) {
    const struct scale *scale = scale_get(&c->terms, value.of.scale);
    int kind = term_kind(&c->terms, value.of.of);
    if (scale->serial || scale->n_factors == 0 || kind == NODE_ZERO ||
        value_space(c, value.of.of)->n > 0 || is_exponential(c, value.of.of))
        return value;
    if (kind != NODE_ONE) {
        scale_id own = scale_of_term(&c->terms, value.of.of);
        value.of.scale = scale_product(&c->terms, value.of.scale, own);
        value.of.of = term_constant(&c->builder, NODE_ONE);
        scale = scale_get(&c->terms, value.of.scale);
    }
    if (scale->n_factors != 1 || scale->factors[0].power != 1 || scale->serial)
        return value;
    struct term of = scale->factors[0].of;
    return (struct viewed){{of, scale_number(&c->terms, value.of.scale)}, VIEW_SCALAR};
}
