// Elements at other places: which sizes a move gives, and that it takes nothing that is not there.
#include "equal/graph/checker.h"

static bool check_elements(const struct checked *c) {
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!have_alike_elements(shape_of(c, i), c->by->shape))
            return check_failed_at(c, "operand %u has elements of another type", i);
    return true;
}

bool check_broadcast(const struct checked *c) {
    if (!check_arrays(c) || !check_elements(c))
        return false;
    const struct number_list *to = &attributes_of(c)->dimensions;
    const struct array_shape *of = shape_of(c, 0), *result = c->by->shape;
    if (to->n != of->rank)
        return check_failed_at(c, "%u dimensions are named for an operand of %u", to->n, of->rank);
    if (!check_dimensions(c, to, result->rank, false, "the result"))
        return false;
    for (uint32_t i = 0; i < to->n; i++)
        if (result->sizes[to->of[i]] != of->sizes[i])
            return check_failed_at(c, "dimension %u of the operand has another size in the result",
                                   i);
    return true;
}

bool check_concatenate(const struct checked *c) {
    if (!check_arrays(c) || !check_elements(c))
        return false;
    const struct number_list *along = &attributes_of(c)->dimensions;
    const struct array_shape *result = c->by->shape;
    if (c->by->n_operands == 0 || along->n != 1)
        return check_failed_at(c, "operands are put together along one dimension");
    if (!check_dimensions(c, along, result->rank, true, "the result"))
        return false;
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->by->n_operands; i++) {
        const struct array_shape *of = shape_of(c, i);
        if (of->rank != result->rank)
            return check_failed_at(c, "operand %u has %u dimensions", i, of->rank);
        for (uint32_t d = 0; d < of->rank; d++)
            if (d != along->of[0] && of->sizes[d] != result->sizes[d])
                return check_failed_at(c, "operand %u has another size in dimension %u", i, d);
        if (__builtin_add_overflow(sum, of->sizes[along->of[0]], &sum))
            return check_failed_at(c, "the operands are too large");
    }
    return sum == result->sizes[along->of[0]] ||
           check_failed_at(c, "the operands' sizes add up to %lld", (long long)sum);
}

// Where a dynamic slice begins: a scalar for each dimension, behind `first` other operands.
static bool check_starts(const struct checked *c, uint32_t first, uint32_t rank) {
    if (c->by->n_operands != first + rank)
        return check_failed_at(c, "one start for each of %u dimensions is expected", rank);
    for (uint32_t i = first; i < c->by->n_operands; i++)
        if (!is_scalar(shape_of(c, i)) || !is_whole_number(shape_of(c, i)))
            return check_failed_at(c, "operand %u is no start of a slice: a whole number", i);
    return true;
}

static bool check_part(const struct checked *c, const int64_t *sizes,
                       const struct array_shape *of) {
    for (uint32_t d = 0; d < of->rank; d++)
        if (sizes[d] < 0 || sizes[d] > of->sizes[d])
            return check_failed_at(c, "the slice is larger than dimension %u", d);
    return true;
}

bool check_dynamic_slice(const struct checked *c) {
    if (!check_arrays(c) || c->by->n_operands == 0)
        return false;
    const struct number_list *sizes = &attributes_of(c)->slice_sizes;
    const struct array_shape *of = shape_of(c, 0);
    if (sizes->n != of->rank)
        return check_failed_at(c, "one size for each dimension is expected");
    return check_starts(c, 1, of->rank) && check_part(c, sizes->of, of) &&
           check_result_sizes(c, sizes->of, sizes->n) &&
           (have_alike_elements(of, c->by->shape) ||
            check_failed_at(c, "the result has elements of another type"));
}

bool check_dynamic_update_slice(const struct checked *c) {
    if (!check_arrays(c))
        return false;
    if (c->by->n_operands < 2)
        return check_failed_at(c, "an array and its update are expected");
    const struct array_shape *of = shape_of(c, 0), *update = shape_of(c, 1);
    if (update->rank != of->rank || !have_alike_elements(update, of))
        return check_failed_at(c, "the update is of another kind than the array");
    return check_starts(c, 2, of->rank) && check_part(c, update->sizes, of) &&
           (are_alike(of, c->by->shape) || check_result_sizes(c, of->sizes, of->rank));
}

bool check_get_tuple_element(const struct checked *c) {
    const struct array_shape *of = shape_of(c, 0);
    int64_t index = attributes_of(c)->index;
    if (!of->is_tuple || index < 0 || index >= of->n_members)
        return check_failed_at(c, "the operand has no element %lld", (long long)index);
    return are_alike(of->members[index], c->by->shape) ||
           check_failed_at(c, "the element is %s",
                           shape_text(of->members[index], c->diagnostics->arena));
}

// size + low + high + (size - 1) * interior; false: it is no size.
static bool padded_size(int64_t size, struct padding_range by, int64_t *padded) {
    int64_t between = 0;
    return by.interior >= 0 &&
           !(size > 0 && __builtin_mul_overflow(size - 1, by.interior, &between)) &&
           !__builtin_add_overflow(size, between, padded) &&
           !__builtin_add_overflow(*padded, by.low, padded) &&
           !__builtin_add_overflow(*padded, by.high, padded) && *padded >= 0;
}

bool check_pad(const struct checked *c) {
    if (!check_arrays(c) || !check_elements(c))
        return false;
    const struct array_shape *of = shape_of(c, 0);
    int64_t sizes[MAX_GRAPH_RANK];
    if (!is_scalar(shape_of(c, 1)))
        return check_failed_at(c, "what is put around is a scalar");
    for (uint32_t d = 0; d < of->rank; d++)
        if (!padded_size(of->sizes[d], attributes_of(c)->padding[d], &sizes[d]))
            return check_failed_at(c, "dimension %u cannot be padded so", d);
    return check_result_sizes(c, sizes, of->rank);
}

bool check_reshape(const struct checked *c) {
    return check_arrays(c) && check_elements(c) &&
           (shape_of(c, 0)->n_elements == c->by->shape->n_elements ||
            check_failed_at(c, "%lld elements of %lld", (long long)c->by->shape->n_elements,
                            (long long)shape_of(c, 0)->n_elements));
}

bool check_reverse(const struct checked *c) {
    const struct array_shape *of = shape_of(c, 0);
    return check_arrays(c) && check_elements(c) &&
           check_dimensions(c, &attributes_of(c)->dimensions, of->rank, false, "the operand") &&
           check_result_sizes(c, of->sizes, of->rank);
}

bool check_slice(const struct checked *c) {
    if (!check_arrays(c) || !check_elements(c))
        return false;
    const struct array_shape *of = shape_of(c, 0);
    int64_t sizes[MAX_GRAPH_RANK];
    for (uint32_t d = 0; d < of->rank; d++) {
        struct slice_range range = attributes_of(c)->slices[d];
        if (range.start < 0 || range.start > range.limit || range.limit > of->sizes[d] ||
            range.stride < 1)
            return check_failed_at(c, "no slice of dimension %u, of size %lld", d,
                                   (long long)of->sizes[d]);
        int64_t length = range.limit - range.start;
        sizes[d] = length / range.stride + (length % range.stride != 0);
    }
    return check_result_sizes(c, sizes, of->rank);
}

bool check_transpose(const struct checked *c) {
    if (!check_arrays(c) || !check_elements(c))
        return false;
    const struct array_shape *of = shape_of(c, 0);
    const struct number_list *order = &attributes_of(c)->dimensions;
    int64_t sizes[MAX_GRAPH_RANK];
    if (order->n != of->rank)
        return check_failed_at(c, "an order of %u dimensions is expected", of->rank);
    if (!check_dimensions(c, order, of->rank, false, "the operand"))
        return false;
    for (uint32_t d = 0; d < of->rank; d++)
        sizes[d] = of->sizes[order->of[d]];
    return check_result_sizes(c, sizes, of->rank);
}

bool check_tuple(const struct checked *c) {
    const struct array_shape *result = c->by->shape;
    if (!result->is_tuple || result->n_members != c->by->n_operands)
        return check_failed_at(c, "the result is a tuple of %u", c->by->n_operands);
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!are_alike(shape_of(c, i), result->members[i]))
            return check_failed_at(c, "element %u is %s", i,
                                   shape_text(shape_of(c, i), c->diagnostics->arena));
    return true;
}
