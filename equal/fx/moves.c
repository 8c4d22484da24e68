// Elements at other places: reshapes, transposes, slices, and arrays side by side.
#include "equal/fx/moves.h"

#include <string.h>

#include "equal/fx/meet.h"

// ---- shapes -----------------------------------------------------------------------------------

// Finds the one size that is left open as -1, so that there are `n` elements.
static bool fill_open_size(struct call *c, struct sizes *sizes, int64_t n) {
    int64_t product = 1;
    uint32_t open = sizes->rank;
    bool good = true;
    for (uint32_t k = 0; k < sizes->rank; k++)
        if (sizes->of[k] == -1 && open == sizes->rank)
            open = k;
        else
            good = good && sizes->of[k] >= 0 &&
                   !__builtin_mul_overflow(product, sizes->of[k], &product);
    if (good && open < sizes->rank) {
        good = product > 0 && n % product == 0;
        sizes->of[open] = good ? n / product : 0;
    } else {
        good = good && product == n;
    }
    if (!good)
        fx_fail(c, "%lld elements do not become that shape", (long long)n);
    return good;
}

uint32_t fx_build_view(struct call *c) {
    uint32_t array = fx_array(c, 0);
    struct sizes sizes;
    if (c->of[1] && c->of[1]->kind == ARGUMENT_WORD) // another type of the same bits
        return NOT_BUILT;
    if (array == NOT_BUILT || !fx_integers(c, 1, &sizes) ||
        !fill_open_size(c, &sizes, fx_shape(c, array)->n_elements))
        return NOT_BUILT;
    return fx_reshape(c, array, &sizes);
}

uint32_t fx_build_flatten(struct call *c) {
    uint32_t array = fx_array(c, 0), first, last;
    int64_t from, to;
    struct sizes sizes = fx_sizes(c, array), flat = {.rank = 0};
    if (array == NOT_BUILT || !fx_integer(c, 1, 0, &from) || !fx_integer(c, 2, -1, &to))
        return NOT_BUILT;
    if (sizes.rank == 0)
        return fx_reshape(c, array, &(struct sizes){.of = {1}, .rank = 1});
    if (!fx_dimension(c, from, sizes.rank, &first) || !fx_dimension(c, to, sizes.rank, &last))
        return NOT_BUILT;
    for (uint32_t k = 0; k < sizes.rank; k++)
        if (k > first && k <= last)
            flat.of[flat.rank - 1] *= sizes.of[k];
        else
            flat.of[flat.rank++] = sizes.of[k];
    return fx_reshape(c, array, &flat);
}

uint32_t fx_build_unflatten(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t dimension;
    struct sizes sizes = fx_sizes(c, array), inside, all = {.rank = 0};
    if (array == NOT_BUILT || !fx_integer(c, 1, 0, &dimension) ||
        !fx_dimension(c, dimension, sizes.rank, &at) || !fx_integers(c, 2, &inside) ||
        !fill_open_size(c, &inside, sizes.of[at]))
        return NOT_BUILT;
    if (sizes.rank + inside.rank > MAX_GRAPH_RANK)
        return fx_fail(c, "more than %d dimensions", MAX_GRAPH_RANK);
    for (uint32_t k = 0; k < sizes.rank; k++)
        for (uint32_t i = 0; i < (k == at ? inside.rank : 1); i++)
            all.of[all.rank++] = k == at ? inside.of[i] : sizes.of[k];
    return fx_reshape(c, array, &all);
}

// squeeze(x), or of these dimensions, if they have one element.
uint32_t fx_build_squeeze(struct call *c) {
    uint32_t array = fx_array(c, 0), named = 0;
    struct sizes sizes = fx_sizes(c, array), given, rest = {.rank = 0};
    if (array == NOT_BUILT || !fx_integers(c, 1, &given))
        return NOT_BUILT;
    for (uint32_t i = 0; i < given.rank; i++) {
        uint32_t k;
        if (sizes.rank == 0)
            continue;
        if (!fx_dimension(c, given.of[i], sizes.rank, &k))
            return NOT_BUILT;
        named |= 1u << k;
    }
    for (uint32_t k = 0; k < sizes.rank; k++)
        if (sizes.of[k] != 1 || (c->of[1] && !(named >> k & 1)))
            rest.of[rest.rank++] = sizes.of[k];
    return fx_reshape(c, array, &rest);
}

static uint32_t unsqueezed(struct call *c, uint32_t array, int64_t dimension) {
    struct sizes sizes = fx_sizes(c, array);
    uint32_t at;
    if (array == NOT_BUILT || !fx_dimension(c, dimension, sizes.rank + 1, &at))
        return NOT_BUILT;
    if (sizes.rank == MAX_GRAPH_RANK)
        return fx_fail(c, "more than %d dimensions", MAX_GRAPH_RANK);
    memmove(sizes.of + at + 1, sizes.of + at, (sizes.rank - at) * sizeof *sizes.of);
    sizes.of[at] = 1;
    sizes.rank++;
    return fx_reshape(c, array, &sizes);
}

uint32_t fx_build_unsqueeze(struct call *c) {
    int64_t dimension;
    return fx_integer(c, 1, 0, &dimension) ? unsqueezed(c, fx_array(c, 0), dimension) : NOT_BUILT;
}

uint32_t fx_build_expand(struct call *c) {
    uint32_t array = fx_array(c, 0);
    struct sizes sizes, before = fx_sizes(c, array);
    if (array == NOT_BUILT || !fx_integers(c, 1, &sizes))
        return NOT_BUILT;
    for (uint32_t k = 1; k <= sizes.rank; k++) {
        int64_t *size = &sizes.of[sizes.rank - k];
        if (*size == -1 && k <= before.rank)
            *size = before.of[before.rank - k];
        if (*size < 0)
            return fx_fail(c, "a size that is negative");
    }
    return fx_expand(c, array, &sizes);
}

// Each dimension becomes two, of which the outer one is broadcast, and one again.
uint32_t fx_build_repeat(struct call *c) {
    uint32_t array = fx_array(c, 0);
    struct sizes times, before = fx_sizes(c, array), wide = {.rank = 0}, all = {.rank = 0};
    int64_t places[MAX_GRAPH_RANK];
    if (array == NOT_BUILT || !fx_integers(c, 1, &times))
        return NOT_BUILT;
    if (times.rank < before.rank || times.rank + before.rank > MAX_GRAPH_RANK)
        return fx_fail(c, "%u dimensions are repeated %u times", before.rank, times.rank);
    for (uint32_t k = 0; k < times.rank; k++) {
        int64_t size = k + before.rank < times.rank ? 1 : before.of[k + before.rank - times.rank];
        if (times.of[k] < 0 || __builtin_mul_overflow(times.of[k], size, &all.of[all.rank++]))
            return fx_fail(c, "it is repeated less than not at all, or too often");
        wide.of[wide.rank++] = times.of[k];
        if (k + before.rank < times.rank)
            continue;
        places[k + before.rank - times.rank] = wide.rank;
        wide.of[wide.rank++] = size;
    }
    return fx_reshape(c, fx_broadcast(c, array, &wide, places), &all);
}

// ---- order ------------------------------------------------------------------------------------

uint32_t fx_build_permute(struct call *c) {
    uint32_t array = fx_array(c, 0), order[MAX_GRAPH_RANK], seen = 0;
    struct sizes given;
    if (array == NOT_BUILT || !fx_integers(c, 1, &given))
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, array)->rank;
    if (given.rank != rank)
        return fx_fail(c, "an order of %u dimensions is expected", rank);
    for (uint32_t k = 0; k < rank; k++) {
        if (!fx_dimension(c, given.of[k], rank, &order[k]))
            return NOT_BUILT;
        if (seen >> order[k] & 1)
            return fx_fail(c, "dimension %u is named twice", order[k]);
        seen |= 1u << order[k];
    }
    return fx_transpose(c, array, order);
}

static uint32_t exchanged(struct call *c, uint32_t array, uint32_t a, uint32_t b) {
    uint32_t order[MAX_GRAPH_RANK];
    for (uint32_t k = 0; k < MAX_GRAPH_RANK; k++)
        order[k] = k == a ? b : k == b ? a : k;
    return fx_transpose(c, array, order);
}

uint32_t fx_build_transpose(struct call *c) {
    uint32_t array = fx_array(c, 0), a, b;
    int64_t first, second;
    if (array == NOT_BUILT || !fx_integer(c, 1, 0, &first) || !fx_integer(c, 2, 1, &second))
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, array)->rank;
    return fx_dimension(c, first, rank, &a) && fx_dimension(c, second, rank, &b)
               ? exchanged(c, array, a, b)
               : NOT_BUILT;
}

uint32_t fx_build_t(struct call *c) {
    uint32_t array = fx_array(c, 0);
    if (array == NOT_BUILT || fx_shape(c, array)->rank < 2)
        return array;
    if (fx_shape(c, array)->rank > 2)
        return fx_fail(c, "`t` of %u dimensions", fx_shape(c, array)->rank);
    return exchanged(c, array, 0, 1);
}

uint32_t fx_move_dimension(struct call *c, uint32_t array, uint32_t from, uint32_t to) {
    uint32_t order[MAX_GRAPH_RANK], next = 0;
    if (array == NOT_BUILT)
        return NOT_BUILT;
    for (uint32_t k = 0; k < fx_shape(c, array)->rank; k++) {
        next += next == from;
        order[k] = k == to ? from : next++;
    }
    return fx_transpose(c, array, order);
}

// The outer digit of the one dimension becomes that of the other.
uint32_t fx_regroup(struct call *c, uint32_t array, uint32_t from, int64_t n, uint32_t to) {
    struct sizes sizes = fx_sizes(c, array), wide = {.rank = 0};
    if (array == NOT_BUILT || sizes.rank == MAX_GRAPH_RANK || from == to)
        return from == to ? array : NOT_BUILT;
    for (uint32_t k = 0; k < sizes.rank; k++) {
        if (k == from)
            wide.of[wide.rank++] = n;
        wide.of[wide.rank++] = k == from ? sizes.of[k] / n : sizes.of[k];
    }
    array = fx_move_dimension(c, fx_reshape(c, array, &wide), from, to);
    sizes.of[from] /= n;
    sizes.of[to] *= n;
    return fx_reshape(c, array, &sizes);
}

// ---- slices -----------------------------------------------------------------------------------

// A dimension that an op names as its operand `i`.
static bool dimension_given(struct call *c, uint32_t i, uint32_t array, uint32_t *dimension) {
    int64_t given;
    return array != NOT_BUILT && fx_integer(c, i, 0, &given) &&
           fx_dimension(c, given, fx_shape(c, array)->rank, dimension);
}

// start, end and step, from operand `i` on, as Python counts them.
static bool range_given(struct call *c, uint32_t i, int64_t size, struct slice_range *range) {
    if (!fx_integer(c, i, 0, &range->start) || !fx_integer(c, i + 1, INT64_MAX, &range->limit) ||
        !fx_integer(c, i + 2, 1, &range->stride))
        return false;
    if (range->stride < 1) {
        fx_fail(c, "a step of %lld", (long long)range->stride);
        return false;
    }
    int64_t *ends[] = {&range->start, &range->limit};
    for (int k = 0; k < 2; k++) {
        *ends[k] += *ends[k] < 0 ? size : 0;
        *ends[k] = *ends[k] < 0 ? 0 : *ends[k] > size ? size : *ends[k];
    }
    range->limit = range->limit < range->start ? range->start : range->limit;
    return true;
}

uint32_t fx_build_slice(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    struct slice_range range;
    if (!dimension_given(c, 1, array, &at) ||
        !range_given(c, 2, fx_shape(c, array)->sizes[at], &range))
        return NOT_BUILT;
    return fx_slice(c, array, at, range);
}

uint32_t fx_build_narrow(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t start, length;
    if (!dimension_given(c, 1, array, &at) || !fx_integer(c, 2, 0, &start) ||
        !fx_integer(c, 3, 0, &length))
        return NOT_BUILT;
    int64_t size = fx_shape(c, array)->sizes[at];
    start += start < 0 ? size : 0;
    if (start < 0 || start > size || length < 0 || length > size - start)
        return fx_fail(c, "%lld elements from %lld on, of %lld", (long long)length,
                       (long long)start, (long long)size);
    return fx_slice(c, array, at, (struct slice_range){start, start + length, 1});
}

// The array without a dimension that has one element.
static uint32_t without(struct call *c, uint32_t array, uint32_t at) {
    struct sizes rest = fx_sizes(c, array);
    if (array == NOT_BUILT)
        return NOT_BUILT;
    memmove(rest.of + at, rest.of + at + 1, (rest.rank - at - 1) * sizeof *rest.of);
    rest.rank--;
    return fx_reshape(c, array, &rest);
}

static uint32_t selected(struct call *c, uint32_t array, uint32_t at, int64_t index) {
    int64_t size = fx_shape(c, array)->sizes[at];
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
        return fx_fail(c, "no element %lld of %lld", (long long)index, (long long)size);
    return without(c, fx_slice(c, array, at, (struct slice_range){index, index + 1, 1}), at);
}

uint32_t fx_build_select(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t index;
    return dimension_given(c, 1, array, &at) && fx_integer(c, 2, 0, &index)
               ? selected(c, array, at, index)
               : NOT_BUILT;
}

// ---- parts ------------------------------------------------------------------------------------

uint32_t fx_part(struct call *c, const struct array_parts *parts, int64_t i) {
    if (i < 0 || i >= parts->n)
        return fx_fail(c, "no part %lld of %lld", (long long)i, (long long)parts->n);
    if (parts->drops_dimension)
        return selected(c, parts->array, parts->dimension, i);
    int64_t size = fx_shape(c, parts->array)->sizes[parts->dimension], start = i * parts->size;
    int64_t length = parts->size;
    if (parts->starts) {
        start = parts->starts[i];
        length = parts->starts[i + 1] - start;
    }
    int64_t limit = size - start < length ? size : start + length;
    return fx_slice(c, parts->array, parts->dimension, (struct slice_range){start, limit, 1});
}

// Each device's own part, of those that are equally large.
uint32_t fx_part_by_rank(struct call *c, const struct array_parts *parts, const int64_t *numbers) {
    struct sizes rest = fx_sizes(c, parts->array);
    int64_t length = parts->drops_dimension ? 1 : parts->size;
    for (uint32_t d = 0; d < c->r->n_devices; d++)
        if (numbers[d] < 0 || numbers[d] >= parts->n)
            return fx_fail(c, "no part %lld of %lld", (long long)numbers[d], (long long)parts->n);
    if (parts->starts || rest.of[parts->dimension] != length * parts->n)
        return NOT_BUILT;
    uint32_t start = fx_by_rank(c, numbers);
    if (length > 1)
        start = fx_binary_number(c, PRIM_MULTIPLY, start, (double)length);
    uint32_t made = fx_slice_from(c, parts->array, parts->dimension, start, length);
    return parts->drops_dimension ? without(c, made, parts->dimension) : made;
}

// Parts of `size` each, the last one maybe shorter.
static uint32_t split(struct call *c, uint32_t array, uint32_t at, int64_t size) {
    int64_t all = fx_shape(c, array)->sizes[at];
    if (size < 1)
        return fx_fail(c, "parts of %lld elements", (long long)size);
    c->parts = (struct array_parts){
        .array = array, .dimension = at, .size = size, .n = all / size + (all % size != 0)};
    if (c->parts.n == 0)
        c->parts.n = 1;
    return array;
}

uint32_t fx_build_split(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t size;
    return dimension_given(c, 2, array, &at) && fx_integer(c, 1, 0, &size)
               ? split(c, array, at, size)
               : NOT_BUILT;
}

uint32_t fx_build_chunk(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t n;
    if (!dimension_given(c, 2, array, &at) || !fx_integer(c, 1, 0, &n))
        return NOT_BUILT;
    if (n < 1)
        return fx_fail(c, "%lld parts", (long long)n);
    int64_t all = fx_shape(c, array)->sizes[at], size = all / n + (all % n != 0);
    return split(c, array, at, size ? size : 1);
}

uint32_t fx_build_split_with_sizes(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    const struct argument *list = c->of[1];
    if (!dimension_given(c, 2, array, &at))
        return NOT_BUILT;
    if (!list || list->kind != ARGUMENT_LIST || list->list.n == 0)
        return fx_fail(c, "sizes of parts are expected");
    int64_t *starts = ARENA_ARRAY(c->r->s.scratch, int64_t, list->list.n + 1), sum = 0;
    for (uint32_t i = 0; i < list->list.n; i++) {
        const struct argument *size = &list->list.of[i];
        if (size->kind != ARGUMENT_INTEGER || size->integer < 0 ||
            __builtin_add_overflow(sum, size->integer, &sum))
            return fx_fail(c, "sizes of parts are expected");
        starts[i + 1] = sum;
    }
    if (sum != fx_shape(c, array)->sizes[at])
        return fx_fail(c, "parts of %lld elements together, of %lld", (long long)sum,
                       (long long)fx_shape(c, array)->sizes[at]);
    c->parts =
        (struct array_parts){.array = array, .dimension = at, .starts = starts, .n = list->list.n};
    return array;
}

uint32_t fx_build_unbind(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    if (!dimension_given(c, 1, array, &at))
        return NOT_BUILT;
    if (fx_shape(c, array)->sizes[at] == 0)
        return fx_fail(c, "no parts");
    c->parts = (struct array_parts){.array = array,
                                    .dimension = at,
                                    .n = fx_shape(c, array)->sizes[at],
                                    .drops_dimension = true};
    return array;
}

// ---- arrays side by side ----------------------------------------------------------------------

// The arrays of a list, in their common type. Returns how many; 0: there are none, which has been reported.
static uint32_t arrays_given(struct call *c, uint32_t **arrays) {
    const struct argument *list = c->of[0];
    enum element element = ELEMENT_TYPE_PRED;
    if (!list || list->kind != ARGUMENT_LIST || list->list.n == 0) {
        fx_fail(c, "a list of arrays is expected");
        return 0;
    }
    *arrays = ARENA_ARRAY(c->r->s.scratch, uint32_t, list->list.n);
    for (uint32_t i = 0; i < list->list.n; i++) {
        c->of[0] = &list->list.of[i];
        (*arrays)[i] = fx_array(c, 0);
        if ((*arrays)[i] == NOT_BUILT)
            return 0;
        element = fx_promoted(element, fx_element(c, (*arrays)[i]));
    }
    for (uint32_t i = 0; i < list->list.n; i++)
        (*arrays)[i] = fx_convert(c, (*arrays)[i], element);
    return list->list.n;
}

// Arrays of one dimension and no elements are passed over, whatever the others are.
static uint32_t drop_empty(const struct call *c, uint32_t *arrays, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct array_shape *shape = fx_shape(c, arrays[i]);
        if (shape->rank != 1 || shape->sizes[0] > 0 || (kept == 0 && i + 1 == n))
            arrays[kept++] = arrays[i];
    }
    return kept;
}

// The range that a slice has of one dimension, where it has all of the others. False: it is no such slice.
static bool sliced_along(const struct call *c, uint32_t slice, uint32_t *dimension,
                         struct slice_range *range) {
    const struct instruction *by = &c->r->instructions[slice];
    uint32_t n = 0;
    if (by->primitive != PRIM_SLICE)
        return false;
    const struct array_shape *of = fx_shape(c, by->operands[0]);
    for (uint32_t k = 0; k < of->rank; k++)
        if (by->shape->sizes[k] != of->sizes[k]) {
            *dimension = k;
            *range = by->attributes->slices[k];
            n++;
        }
    return n == 1 && range->stride == 1;
}

// Whether the arrays are all parts of one, equally large and in order: an all_gather or a reduce_scatter along another
// dimension than the first is written so, and is no matter of many arrays.
static bool are_parts(const struct call *c, const uint32_t *arrays, uint32_t n, uint32_t *of,
                      uint32_t *dimension) {
    struct slice_range range;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t along = 0;
        if (!sliced_along(c, arrays[i], &along, &range))
            return false;
        uint32_t array = c->r->instructions[arrays[i]].operands[0];
        int64_t size = fx_shape(c, array)->sizes[along] / n;
        if (i == 0) {
            *of = array;
            *dimension = along;
        }
        if (array != *of || along != *dimension || fx_shape(c, array)->sizes[along] % n != 0 ||
            range.start != i * size || range.limit != range.start + size)
            return false;
    }
    return n > 1;
}

uint32_t fx_build_cat(struct call *c) {
    uint32_t *arrays, at, of = 0, along = 0, n = arrays_given(c, &arrays);
    if (n == 0)
        return NOT_BUILT;
    n = drop_empty(c, arrays, n);
    if (!dimension_given(c, 1, arrays[0], &at))
        return NOT_BUILT;
    return are_parts(c, arrays, n, &of, &along) && fx_shape(c, of)->rank < MAX_GRAPH_RANK
               ? fx_regroup(c, of, along, n, at)
               : fx_concatenate(c, arrays, n, at);
}

uint32_t fx_build_stack(struct call *c) {
    uint32_t *arrays, at, n = arrays_given(c, &arrays);
    int64_t given;
    if (n == 0 || !fx_integer(c, 1, 0, &given) ||
        !fx_dimension(c, given, fx_shape(c, arrays[0])->rank + 1, &at))
        return NOT_BUILT;
    for (uint32_t i = 0; i < n; i++)
        arrays[i] = unsqueezed(c, arrays[i], at);
    return arrays[0] == NOT_BUILT ? NOT_BUILT : fx_concatenate(c, arrays, n, at);
}

// All arrays of a list, each as large as they are together.
uint32_t fx_build_broadcast_tensors(struct call *c) {
    const struct argument *list = c->of[0];
    struct sizes sizes = {.rank = 0};
    if (!list || list->kind != ARGUMENT_LIST || list->list.n == 0)
        return fx_fail(c, "a list of arrays is expected");
    uint32_t n = list->list.n, *arrays = ARENA_ARRAY(c->r->s.scratch, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        c->of[0] = &list->list.of[i];
        arrays[i] = fx_array(c, 0);
        if (arrays[i] == NOT_BUILT || !fx_meet_sizes(c, arrays[i], &sizes))
            return NOT_BUILT;
    }
    for (uint32_t i = 0; i < n; i++)
        arrays[i] = fx_expand(c, arrays[i], &sizes);
    return fx_tuple(c, arrays, n);
}

uint32_t fx_build_flip(struct call *c) {
    uint32_t array = fx_array(c, 0), seen = 0;
    struct sizes given;
    if (array == NOT_BUILT || !fx_integers(c, 1, &given))
        return NOT_BUILT;
    for (uint32_t i = 0; i < given.rank; i++) {
        uint32_t at;
        if (!fx_dimension(c, given.of[i], fx_shape(c, array)->rank, &at))
            return NOT_BUILT;
        if (seen >> at & 1)
            return fx_fail(c, "dimension %u is named twice", at);
        seen |= 1u << at;
        given.of[i] = at;
    }
    struct instruction_attributes *with = fx_attributes(c);
    with->dimensions = fx_numbers(c, given.of, given.rank);
    return fx_emit(c, PRIM_REVERSE, fx_shape(c, array), &array, 1, with);
}

uint32_t fx_build_roll(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    struct sizes by, along;
    if (array == NOT_BUILT || !fx_integers(c, 1, &by) || !fx_integers(c, 2, &along))
        return NOT_BUILT;
    if (by.rank != along.rank)
        return NOT_BUILT; // of the flat array
    for (uint32_t i = 0; i < by.rank; i++) {
        if (!fx_dimension(c, along.of[i], fx_shape(c, array)->rank, &at))
            return NOT_BUILT;
        int64_t size = fx_shape(c, array)->sizes[at];
        int64_t first = size ? (by.of[i] % size + size) % size : 0;
        if (first == 0)
            continue;
        uint32_t both[] = {fx_slice(c, array, at, (struct slice_range){size - first, size, 1}),
                           fx_slice(c, array, at, (struct slice_range){0, size - first, 1})};
        array = fx_concatenate(c, both, 2, at);
    }
    return array;
}

// constant_pad_nd(x, [last low, last high, the one before's low, ...], number)
uint32_t fx_build_pad(struct call *c) {
    uint32_t array = fx_array(c, 0);
    const struct argument *list = c->of[1];
    double number;
    if (array == NOT_BUILT || !fx_real(c, 2, 0, &number))
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, array)->rank;
    if (!list || list->kind != ARGUMENT_LIST || list->list.n % 2 || list->list.n > 2 * rank)
        return fx_fail(c, "two sizes for each of the last dimensions are expected");
    for (uint32_t i = 0; i < list->list.n && array != NOT_BUILT; i += 2) {
        const struct argument *low = &list->list.of[i], *high = &list->list.of[i + 1];
        if (low->kind != ARGUMENT_INTEGER || high->kind != ARGUMENT_INTEGER)
            return fx_fail(c, "two sizes for each of the last dimensions are expected");
        struct padding_range by = {low->integer, high->integer, 0};
        if (by.low || by.high)
            array = fx_pad(c, array, rank - 1 - i / 2, by, number);
    }
    return array;
}

// ---- back from slices -------------------------------------------------------------------------

// The array, in which every `stride`-th element of a dimension from `start` on is taken, with zeros between.
static uint32_t spread_out(struct call *c, uint32_t array, uint32_t at, int64_t size,
                           struct slice_range range, double between) {
    struct sizes sizes = fx_sizes(c, array);
    int64_t length = range.limit - range.start, n = length / range.stride;
    n += length % range.stride != 0;
    if (array == NOT_BUILT)
        return NOT_BUILT;
    if (at >= sizes.rank || sizes.of[at] != n)
        return fx_fail(c, "not as many elements as the slice has: %lld", (long long)n);
    int64_t last = n ? range.start + (n - 1) * range.stride + 1 : range.start;
    struct padding_range by = {range.start, size - last, range.stride - 1};
    return by.low || by.high || by.interior ? fx_pad(c, array, at, by, between) : array;
}

uint32_t fx_build_slice_backward(struct call *c) {
    uint32_t gradient = fx_array(c, 0), at;
    struct sizes sizes;
    int64_t given;
    struct slice_range range;
    if (gradient == NOT_BUILT || !fx_integers(c, 1, &sizes) || !fx_integer(c, 2, 0, &given) ||
        !fx_dimension(c, given, sizes.rank, &at) || !range_given(c, 3, sizes.of[at], &range))
        return NOT_BUILT;
    return spread_out(c, gradient, at, sizes.of[at], range, 0);
}

uint32_t fx_build_select_backward(struct call *c) {
    uint32_t gradient = fx_array(c, 0), at;
    struct sizes sizes;
    int64_t given, index;
    if (gradient == NOT_BUILT || !fx_integers(c, 1, &sizes) || !fx_integer(c, 2, 0, &given) ||
        !fx_dimension(c, given, sizes.rank, &at) || !fx_integer(c, 3, 0, &index))
        return NOT_BUILT;
    index += index < 0 ? sizes.of[at] : 0;
    if (index < 0 || index >= sizes.of[at])
        return fx_fail(c, "no element %lld of %lld", (long long)index, (long long)sizes.of[at]);
    return spread_out(c, unsqueezed(c, gradient, at), at, sizes.of[at],
                      (struct slice_range){index, index + 1, 1}, 0);
}

// `part` at a slice of the array.
static uint32_t scattered(struct call *c, uint32_t array, uint32_t part, uint32_t at,
                          struct slice_range range) {
    if (array == NOT_BUILT || part == NOT_BUILT)
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, array);
    part = fx_convert(c, part, fx_element(c, array));
    uint32_t there = fx_full(c, ELEMENT_TYPE_PRED, 1, &(struct sizes){.rank = 0});
    struct sizes of_part = fx_sizes(c, part);
    there = fx_expand(c, there, &of_part);
    there = spread_out(c, there, at, sizes.of[at], range, 0);
    return fx_select(c, there, spread_out(c, part, at, sizes.of[at], range, 0), array);
}

uint32_t fx_build_slice_scatter(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    struct slice_range range;
    if (!dimension_given(c, 2, array, &at) ||
        !range_given(c, 3, fx_shape(c, array)->sizes[at], &range))
        return NOT_BUILT;
    return scattered(c, array, fx_array(c, 1), at, range);
}

uint32_t fx_build_select_scatter(struct call *c) {
    uint32_t array = fx_array(c, 0), at;
    int64_t index;
    if (!dimension_given(c, 2, array, &at) || !fx_integer(c, 3, 0, &index))
        return NOT_BUILT;
    int64_t size = fx_shape(c, array)->sizes[at];
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
        return fx_fail(c, "no element %lld of %lld", (long long)index, (long long)size);
    return scattered(c, array, unsqueezed(c, fx_array(c, 1), at), at,
                     (struct slice_range){index, index + 1, 1});
}
