// Moves: the result's elements are operands' at other places, which is another view of the same term, or parts that
// stand together.
#include <string.h>

#include "equal/meaning/read.h"
#include "equal/values/together.h"

// An array that is being built: its value, and its sizes.
struct building {
    struct viewed value;
    struct coordinates all;
    uint32_t rank;
};

static bool moved(const struct at *at, uint32_t operand, const struct substitution *by,
                  struct viewed *made) {
    return value_move(at->r->c, operand_value(at, operand), by, made);
}

static void set_sizes(const struct array_shape *shape, struct substitution *by) {
    for (uint32_t k = 0; k < shape->rank; k++)
        by->sizes[k] = shape->sizes[k];
}

// Each dimension of the operand as the result's of that number.
static bool read_renamed(const struct at *at, bool transposes, struct viewed *made) {
    const struct number_list *dimensions = &at->by->attributes->dimensions;
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    set_sizes(operand_shape(at, 0), &by);
    for (uint32_t i = 0; i < dimensions->n; i++) {
        uint32_t from = transposes ? (uint32_t)dimensions->of[i] : i;
        uint32_t to = transposes ? i : (uint32_t)dimensions->of[i];
        of[from] = affine_coordinate(to, by.sizes[from]);
        by.of[from] = &of[from];
    }
    return moved(at, 0, &by, made);
}

// Through one coordinate that counts all elements, so that dimensions that stay together need no digits of their own.
static bool read_reshape(const struct at *at, struct viewed *made) {
    const struct array_shape *from = operand_shape(at, 0), *to = at->by->shape;
    struct affine of[MAX_GRAPH_RANK], index = affine_constant(0);
    struct substitution all = {0}, by = {0};
    int64_t stride = 1;
    set_sizes(from, &all);
    for (uint32_t k = from->rank; k-- > 0; stride *= from->sizes[k]) {
        of[k] = affine_constant(0);
        affine_push(&of[k], (struct piece){1, stride, from->sizes[k], 0, COORDINATE_FREE});
        all.of[k] = &of[k];
    }
    struct viewed flat;
    if (!moved(at, 0, &all, &flat))
        return false;
    stride = 1;
    for (uint32_t k = to->rank; k-- > 0; stride *= to->sizes[k])
        if (!affine_push(&index, (struct piece){stride, 1, to->sizes[k], 0, k}))
            return false;
    by.of[COORDINATE_FREE] = &index;
    by.sizes[COORDINATE_FREE] = stride;
    return value_move(at->r->c, flat, &by, made);
}

static bool read_ranges(const struct at *at, struct viewed *made) {
    const struct array_shape *from = operand_shape(at, 0), *to = at->by->shape;
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    set_sizes(from, &by);
    for (uint32_t k = 0; k < from->rank; k++) {
        const struct slice_range *range = &at->by->attributes->slices[k];
        of[k] = affine_constant(range->start);
        affine_push(&of[k], (struct piece){range->stride, 1, to->sizes[k], 0, k});
        by.of[k] = &of[k];
    }
    return moved(at, 0, &by, made);
}

static bool read_reverse(const struct at *at, struct viewed *made) {
    const struct number_list *dimensions = &at->by->attributes->dimensions;
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    set_sizes(at->by->shape, &by);
    for (uint32_t i = 0; i < dimensions->n; i++) {
        uint32_t k = (uint32_t)dimensions->of[i];
        of[k] = affine_constant(by.sizes[k] - 1);
        affine_push(&of[k], (struct piece){-1, 1, by.sizes[k], 0, k});
        by.of[k] = &of[k];
    }
    return moved(at, 0, &by, made);
}

// ---- parts that stand together ----------------------------------------------------------------

// A range of a dimension of what is built; without elements it may be anything.
static bool cut(struct calculus *c, const struct building *of, uint32_t k, int64_t from,
                int64_t size, struct viewed *made) {
    struct affine index = affine_constant(from);
    struct substitution by = {0};
    if (size == 0) {
        *made = value_zero(c);
        return true;
    }
    affine_push(&index, (struct piece){1, 1, size, 0, k});
    by.of[k] = &index;
    by.sizes[k] = of->all.sizes[k];
    return value_move(c, of->value, &by, made);
}

static bool read_concatenate(const struct at *at, struct viewed *made) {
    uint32_t n = at->by->n_operands, k = (uint32_t)at->by->attributes->dimensions.of[0];
    struct viewed *parts = ARENA_ARRAY(&at->r->c->scratch, struct viewed, n + 1);
    int64_t *sizes = ARENA_ARRAY(&at->r->c->scratch, int64_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = operand_value(at, i);
        sizes[i] = operand_shape(at, i)->sizes[k];
    }
    *made = value_together(at->r->c, parts, sizes, n, k, &at->all);
    return true;
}

// Puts so many elements of padding behind each of a dimension: elements and places behind them are digits.
static bool put_behind(struct calculus *c, struct building *b, uint32_t k, int64_t behind,
                       struct viewed padding) {
    int64_t n = b->all.sizes[k], sizes[] = {1, behind}, all;
    struct coordinates with = b->all;
    struct affine of = affine_constant(0), in = affine_constant(0);
    struct substitution by = {0};
    uint32_t apart = add_coordinate(&with, behind + 1);
    if (apart == MAX_COORDINATES || __builtin_mul_overflow(n, behind + 1, &all))
        return false;
    struct viewed parts[] = {b->value, padding};
    struct viewed both = value_together(c, parts, sizes, 2, apart, &with);
    affine_push(&of, (struct piece){1, behind + 1, n, 0, k});
    affine_push(&in, (struct piece){1, 1, behind + 1, 0, k});
    by.of[k] = &of;
    by.sizes[k] = n;
    by.of[apart] = &in;
    by.sizes[apart] = behind + 1;
    b->all.sizes[k] = all;
    return value_move(c, both, &by, &b->value);
}

// Puts so many elements of padding between those of a dimension: behind all but the last.
static bool put_between(struct calculus *c, struct building *b, uint32_t k, int64_t between,
                        struct viewed padding) {
    int64_t n = b->all.sizes[k];
    struct building first = *b;
    struct viewed last;
    if (!cut(c, b, k, n - 1, 1, &last) || !cut(c, b, k, 0, n - 1, &first.value))
        return false;
    first.all.sizes[k] = n - 1;
    if (!put_behind(c, &first, k, between, padding))
        return false;
    struct viewed parts[] = {first.value, last};
    int64_t sizes[] = {first.all.sizes[k], 1};
    b->all.sizes[k] = sizes[0] + 1;
    b->value = value_together(c, parts, sizes, 2, k, &b->all);
    return true;
}

// What is cut off comes before what is put at the ends.
static bool read_pad(const struct at *at, struct viewed *made) {
    struct calculus *c = at->r->c;
    const struct array_shape *from = operand_shape(at, 0);
    struct building b = {operand_value(at, 0), coordinates_of(from, at->r->graph->n_devices),
                         from->rank};
    struct viewed padding = operand_value(at, 1);
    for (uint32_t k = 0; k < from->rank; k++) {
        const struct padding_range *range = &at->by->attributes->padding[k];
        int64_t low = range->low < 0 ? -range->low : 0, high = range->high < 0 ? -range->high : 0;
        if (range->interior && from->sizes[k] > 1 &&
            !put_between(c, &b, k, range->interior, padding))
            return false;
        if ((low || high) && !cut(c, &b, k, low, b.all.sizes[k] - low - high, &b.value))
            return false;
        b.all.sizes[k] -= low + high;
        int64_t sizes[] = {range->low > 0 ? range->low : 0, b.all.sizes[k],
                           range->high > 0 ? range->high : 0};
        struct viewed parts[] = {padding, b.value, padding};
        b.all.sizes[k] = at->by->shape->sizes[k];
        b.value = value_together(c, parts, sizes, 3, k, &b.all);
    }
    *made = b.value;
    return true;
}

// ---- places that are computed -----------------------------------------------------------------

// A start as an index that stays inside, as such starts are made to. False: it is not known, or known not to stay there
// on all devices, where these numbers are no digits.
static bool read_start(const struct at *at, uint32_t operand, int64_t most, struct affine *start) {
    int64_t denominator;
    struct viewed value = operand_value(at, operand);
    bool known = value_as_index(at->r->c, value, start, &denominator) && denominator == 1;
    if (known && start->n == 0)
        start->base = start->base < 0 ? 0 : start->base > most ? most : start->base;
    if (known && affine_least(start) >= 0 && affine_largest(start) <= most)
        return true;
    return clamped_on_devices(at, value, most, start);
}

static bool read_dynamic_slice(const struct at *at, struct viewed *made) {
    const struct array_shape *from = operand_shape(at, 0), *to = at->by->shape;
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    set_sizes(from, &by);
    for (uint32_t k = 0; k < from->rank; k++) {
        if (!read_start(at, k + 1, from->sizes[k] - to->sizes[k], &of[k]) ||
            !affine_push(&of[k], (struct piece){1, 1, to->sizes[k], 0, k}) ||
            !affine_normal(&of[k]))
            return false;
        by.of[k] = &of[k];
    }
    return moved(at, 0, &by, made);
}

// One dimension is updated in part, or none. Starts that differ by device say a choice: for each element whether it
// lies in the update.
static bool updated_part(const struct at *at, uint32_t k, const struct affine *start,
                         struct viewed *made) {
    struct calculus *c = at->r->c;
    int64_t size = operand_shape(at, 1)->sizes[k], all = at->by->shape->sizes[k];
    struct building b = {operand_value(at, 0), at->all, at->by->shape->rank};
    if (size == 0) {
        *made = operand_value(at, 0);
        return true;
    }
    if (start->n == 0) {
        struct viewed parts[3];
        int64_t sizes[] = {start->base, size, all - start->base - size};
        parts[1] = operand_value(at, 1);
        if (!cut(c, &b, k, 0, sizes[0], &parts[0]) ||
            !cut(c, &b, k, start->base + size, sizes[2], &parts[2]))
            return false;
        *made = value_together(c, parts, sizes, 3, k, &at->all);
        return true;
    }
    struct affine place = affine_coordinate(k, all), first = *start, high, low, begin, rest;
    struct substitution by = {0};
    if (all % size != 0 || !affine_piece(&place, all, 1, size, &low) ||
        !affine_piece(&place, all, size, all / size, &high) ||
        !affine_piece(&first, all, size, all / size, &begin) ||
        !affine_piece(&first, all, 1, size, &rest) || rest.n || rest.base)
        return false;
    by.of[k] = &low;
    by.sizes[k] = size;
    struct viewed inside;
    struct viewed places[] = {value_index(c, &high),
                              value_scaled(c, value_index(c, &begin), -1, 1)};
    struct viewed far = value_sum(c, places, 2, &at->all);
    struct viewed here = value_test(c, KIND_IS_ZERO, far, true, &at->all);
    if (!moved(at, 1, &by, &inside))
        return false;
    *made = value_select(c, here, inside, operand_value(at, 0), &at->all);
    return true;
}

static bool read_dynamic_update_slice(const struct at *at, struct viewed *made) {
    const struct array_shape *shape = at->by->shape, *update = operand_shape(at, 1);
    struct affine start = affine_constant(0);
    uint32_t part = MAX_GRAPH_RANK;
    for (uint32_t k = 0; k < shape->rank; k++) {
        if (update->sizes[k] == shape->sizes[k])
            continue;
        if (part < MAX_GRAPH_RANK ||
            !read_start(at, k + 2, shape->sizes[k] - update->sizes[k], &start))
            return false;
        part = k;
    }
    if (part < MAX_GRAPH_RANK)
        return updated_part(at, part, &start, made);
    *made = operand_value(at, 1);
    return true;
}

bool read_move(const struct at *at, struct viewed *made) {
    switch (at->by->primitive) {
    case PRIM_BROADCAST:
        return read_renamed(at, false, made);
    case PRIM_TRANSPOSE:
        return read_renamed(at, true, made);
    case PRIM_BITCAST:
    case PRIM_RESHAPE:
        return operand_shape(at, 0)->n_elements == at->by->shape->n_elements &&
               read_reshape(at, made);
    case PRIM_SLICE:
        return read_ranges(at, made);
    case PRIM_REVERSE:
        return read_reverse(at, made);
    case PRIM_CONCATENATE:
        return read_concatenate(at, made);
    case PRIM_PAD:
        return read_pad(at, made);
    case PRIM_DYNAMIC_SLICE:
        return read_dynamic_slice(at, made);
    case PRIM_DYNAMIC_UPDATE_SLICE:
        return read_dynamic_update_slice(at, made);
    case PRIM_OPTIMIZATION_BARRIER:
        *made = operand_value(at, 0);
        return true;
    default:
        return false;
    }
}
