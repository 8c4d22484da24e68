// What an op that has no rule makes of its operands (KIND_OPAQUE): the same op of the same arrays is the same, whatever it
// does; on devices whose arrays differ, by their numbers. Attributes: what the op is, and which dimension of the space
// over which operands are joined is which piece of which operand's dimension.
#include "equal/values/opaque.h"

#include <string.h>

#include "equal/values/make.h"

static bool is_mapped(const struct opaque_operand *from, uint32_t n, uint32_t dimension) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < from[i].rank; k++)
            if (from[i].mapped[k] == (int)dimension)
                return true;
    return false;
}

// Each operand's dimensions as coordinates of its own, in the mask, but those over which the op maps.
static bool name_operands(struct calculus *c, const struct opaque_operand *from, uint32_t n,
                          struct coordinates *inner, uint64_t *own, struct operand *operands) {
    for (uint32_t i = 0; i < n; i++) {
        struct affine of[COORDINATE_DEVICE];
        struct substitution by = {0};
        struct viewed moved;
        for (uint32_t k = 0; k < from[i].rank; k++) {
            if (from[i].mapped[k] >= 0) {
                of[k] = affine_coordinate((uint32_t)from[i].mapped[k], from[i].sizes[k]);
                by.of[k] = &of[k];
                by.sizes[k] = from[i].sizes[k];
                inner->sizes[from[i].mapped[k]] = from[i].sizes[k];
                continue;
            }
            uint32_t coordinate = add_coordinate(inner, from[i].sizes[k]);
            if (coordinate == MAX_COORDINATES)
                return false;
            *own |= UINT64_C(1) << coordinate;
            of[k] = affine_coordinate(coordinate, from[i].sizes[k]);
            by.of[k] = &of[k];
            by.sizes[k] = from[i].sizes[k];
        }
        if (!value_move(c, from[i].value, &by, &moved))
            return false;
        operand_set(c, moved, &operands[i]);
    }
    return true;
}

struct viewed value_opaque(struct calculus *c, uint32_t what, const struct opaque_operand *from,
                           uint32_t n, const struct coordinates *all) {
    struct operand *operands = ARENA_ARRAY(&c->scratch, struct operand, n + 1);
    struct part *parts = ARENA_ARRAY(&c->scratch, struct part, n + 1);
    struct coordinates inner = {{0}};
    struct joined joined;
    uint64_t own = 0;
    inner.sizes[COORDINATE_DEVICE] = all->sizes[COORDINATE_DEVICE];
    if (!name_operands(c, from, n, &inner, &own, operands) ||
        !join_operands(c, operands, n, own, false, &joined))
        return value_unknown(c, all);
    struct space space = {0};
    struct view view = {.n = 0};
    for (uint32_t k = 0; k < COORDINATE_DEVICE; k++)
        if (all->sizes[k] > 1 && !is_mapped(from, n, k)) {
            space.sizes[space.n++] = all->sizes[k];
            view.of[view.n++] = affine_coordinate(k, all->sizes[k]);
        }
    int64_t *words = ARENA_ARRAY(&c->scratch, int64_t, 2 + 3 * MAX_DIMENSIONS);
    uint32_t n_words = 0;
    words[n_words++] = what;
    words[n_words++] = joined.space.n;
    for (uint32_t d = 0; d < joined.space.n; d++) {
        const struct piece *piece = &joined.from[d].pieces[0];
        words[n_words++] = joined.folded[d] ? piece->coordinate : -1;
        words[n_words++] = joined.folded[d] ? piece->stride : 0;
        words[n_words++] = joined.space.sizes[d];
        if (joined.folded[d] && joined.from[d].n != 1)
            return value_unknown(c, all);
        if (joined.folded[d])
            continue;
        if (space.n == MAX_DIMENSIONS)
            return value_unknown(c, all);
        space.sizes[space.n++] = joined.space.sizes[d];
        view.of[view.n++] = joined.from[d];
    }
    for (uint32_t i = 0; i < n; i++)
        parts[i] = joined_part(c, &operands[i], &joined.space);
    struct term term =
        term_make(&c->builder, KIND_OPAQUE, 0, value_words(c, words, n_words), parts, n);
    value_set_space(c, term, &space);
    return (struct viewed){{term, SCALE_ONE}, view_intern(&c->views, &view)};
}
