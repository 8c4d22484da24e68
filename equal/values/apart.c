// What is made element by element of arrays of which some stand together along a dimension is made of each part, and
// stands together: so a function of arrays that were put together, and functions that were, are one value.
//
//   f([a, b], c) = [f(a, c of a's places), f(b, c of b's places)]
//
// So is what is summed, or folded, over other dimensions than this.
#include "equal/values/apart.h"

#include <stdlib.h>
#include <string.h>

#include "equal/values/together.h"
#include "ir/check.h"

enum { MOST_PARTS_APART = 256, MAX_POINTWISE = 8 };

// Where parts end along a dimension, the last end not among them.
struct ends {
    int64_t of[MOST_PARTS_APART];
    uint32_t n;
};

static bool add_end(struct ends *ends, int64_t end) {
    for (uint32_t i = 0; i < ends->n; i++)
        if (ends->of[i] == end)
            return true;
    if (ends->n == MOST_PARTS_APART)
        return false;
    ends->of[ends->n++] = end;
    return true;
}

static int compare_ends(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

// Whether what stands together is read from some place of it on, one place after the other, along the dimension.
static bool is_along(const struct affine *index, uint32_t dimension, int64_t size) {
    const struct piece *piece = &index->pieces[0];
    return index->n == 1 && piece->coordinate == dimension && piece->coefficient == 1 &&
           piece->stride == 1 && piece->shift == 0 && piece->extent == size;
}

// False: none of the operands stands together along the dimension, or there are too many parts.
static bool find_ends(const struct calculus *c, const struct operand *operands, uint32_t n,
                      uint32_t dimension, int64_t size, struct ends *ends) {
    ends->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *sizes;
        uint32_t n_parts = standing_sizes(c, operands[i].of, &sizes);
        if (n_parts == 0 || !is_along(&operands[i].view.of[0], dimension, size))
            continue;
        int64_t end = -operands[i].view.of[0].base;
        for (uint32_t k = 0; k < n_parts; k++) {
            end += sizes[k];
            if (end > 0 && end < size && !add_end(ends, end))
                return false;
        }
    }
    qsort(ends->of, ends->n, sizeof *ends->of, compare_ends);
    return ends->n > 0;
}

// What is made of these places. False: operands cannot be said there.
static bool make_part(struct calculus *c, const struct element_function *function,
                      const struct viewed *operands, uint32_t n, const struct coordinates *space,
                      uint32_t dimension, int64_t begin, int64_t size, struct viewed *made) {
    struct viewed *values = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    struct substitution by = {{0}, {0}};
    struct coordinates part = *space;
    struct affine index = affine_constant(begin);
    affine_push(&index, (struct piece){1, 1, size, 0, dimension});
    if (!affine_normal(&index))
        return false;
    by.of[dimension] = &index;
    by.sizes[dimension] = space->sizes[dimension];
    part.sizes[dimension] = size;
    for (uint32_t i = 0; i < n; i++)
        if (!value_move(c, operands[i], &by, &values[i]))
            return false;
    *made = function->make(c, function, values, n, &part);
    return true;
}

bool made_by_parts(struct calculus *c, const struct element_function *function,
                   const struct operand *operands, uint32_t n, const struct joined *joined,
                   struct viewed *made) {
    struct ends ends;
    uint32_t d = 0;
    while (d < joined->space.n &&
           (joined->folded[d] || !find_ends(c, operands, n, d, joined->space.sizes[d], &ends)))
        d++;
    if (d == joined->space.n)
        return false;
    struct joined_space space;
    joined_coordinates(joined, &space);
    struct coordinates left = space.all;
    for (uint32_t k = 0; k < joined->space.n; k++)
        left.sizes[k] = joined->folded[k] ? 0 : left.sizes[k];
    // Operands may lie in room that is used again when parts are made.
    struct viewed *values = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    for (uint32_t i = 0; i < n; i++)
        values[i] = value_of_operand(c, &operands[i]);
    struct viewed *parts = ARENA_ARRAY(&c->scratch, struct viewed, ends.n + 1), all;
    int64_t *sizes = ARENA_ARRAY(&c->scratch, int64_t, ends.n + 1), begin = 0;
    for (uint32_t i = 0; i <= ends.n; i++) {
        int64_t end = i < ends.n ? ends.of[i] : space.all.sizes[d];
        sizes[i] = end - begin;
        if (!make_part(c, function, values, n, &space.all, d, begin, sizes[i], &parts[i]))
            return false;
        begin = end;
    }
    all = value_together(c, parts, sizes, ends.n + 1, d, &left);
    return value_move(c, all, &space.back, made);
}

// ---- functions of elements -----------------------------------------------------------------------------

bool value_commutes(int kind) {
    switch (kind) {
    case KIND_POINTWISE + PRIM_MAXIMUM:
    case KIND_POINTWISE + PRIM_MINIMUM:
    case KIND_POINTWISE + PRIM_AND:
    case KIND_POINTWISE + PRIM_OR:
    case KIND_POINTWISE + PRIM_XOR:
        return true;
    default:
        return false;
    }
}

static struct viewed make_again(struct calculus *c, const struct element_function *function,
                                const struct viewed *values, uint32_t n,
                                const struct coordinates *all) {
    return c->forms->of_kind(c, function->kind, function->attributes, values, n, all);
}

struct viewed value_pointwise(struct calculus *c, int kind, uint32_t attributes,
                              const struct viewed *values, uint32_t n,
                              const struct coordinates *all) {
    struct operand operands[MAX_POINTWISE];
    struct joined joined;
    struct viewed made;
    struct element_function function = {make_again, kind, attributes, 0};
    CHECK(n <= MAX_POINTWISE);
    for (uint32_t i = 0; i < n; i++)
        operand_set(c, values[i], &operands[i]);
    if (!join_flat(c, operands, n, 0, value_commutes(kind), &joined))
        return value_unknown(c, all);
    if (made_of_dissolved(c, &function, operands, n, &joined, &made) ||
        made_by_parts(c, &function, operands, n, &joined, &made))
        return made;
    return value_of_operands(c, kind, attributes, operands, n, &joined);
}
