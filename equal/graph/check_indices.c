// gather and scatter. An index is a vector of the indices along `index_vector`; its numbers are places in the dimensions
// `map` of the operand. A window of the operand stands there, whose dimensions are those of the operand that are neither
// `collapsed` nor batching; in the other array, a gather's result or a scatter's updates, they are `offset`.
#include "equal/graph/checker.h"

struct indexed {
    const struct array_shape *operand, *indices;
    const struct array_shape *windows; // a gather's result, a scatter's updates
    const struct index_numbers *numbers;
};

static bool is_of_window(const struct indexed *i, int64_t dimension) {
    return !list_has(&i->numbers->collapsed, dimension) &&
           !list_has(&i->numbers->operand_batching, dimension);
}

static bool check_index_map(const struct checked *c, const struct indexed *i) {
    int64_t at = i->numbers->index_vector, rank = i->indices->rank;
    if (!is_whole_number(i->indices))
        return check_failed_at(c, "indices are whole numbers");
    if (at < 0 || at > rank)
        return check_failed_at(c, "the indices have no dimension %lld", (long long)at);
    int64_t length = at == rank ? 1 : i->indices->sizes[at];
    return i->numbers->map.n == length ||
           check_failed_at(c, "an index has %lld number%s, for %u dimensions", (long long)length,
                           plural_s(length), i->numbers->map.n);
}

static bool check_batching(const struct checked *c, const struct indexed *i) {
    const struct number_list *of = &i->numbers->operand_batching;
    const struct number_list *by = &i->numbers->indices_batching;
    if (of->n != by->n)
        return check_failed_at(c, "operand and indices have different batching dimensions");
    for (uint32_t n = 0; n < of->n; n++)
        if (list_has(&i->numbers->collapsed, of->of[n]) || list_has(&i->numbers->map, of->of[n]) ||
            by->of[n] == i->numbers->index_vector ||
            i->operand->sizes[of->of[n]] != i->indices->sizes[by->of[n]])
            return check_failed_at(c, "dimension %lld is none of batches", (long long)of->of[n]);
    return true;
}

// All lists name dimensions that there are.
static bool check_numbers(const struct checked *c, const struct indexed *i) {
    const struct index_numbers *n = i->numbers;
    uint32_t rank = i->operand->rank;
    return check_dimensions(c, &n->offset, i->windows->rank, true, "the windows") &&
           check_dimensions(c, &n->collapsed, rank, true, "the operand") &&
           check_dimensions(c, &n->map, rank, false, "the operand") &&
           check_dimensions(c, &n->operand_batching, rank, true, "the operand") &&
           check_dimensions(c, &n->indices_batching, i->indices->rank, false, "the indices") &&
           check_index_map(c, i) && check_batching(c, i);
}

// The array of windows has the dimensions of a window, and for each index, in its order.
static bool check_windows(const struct checked *c, const struct indexed *i) {
    const struct number_list *offset = &i->numbers->offset;
    uint32_t vector = i->numbers->index_vector < i->indices->rank;
    if (offset->n + i->numbers->collapsed.n + i->numbers->operand_batching.n != i->operand->rank)
        return check_failed_at(c, "windows have %u dimensions", offset->n);
    if (offset->n + i->indices->rank - vector != i->windows->rank)
        return check_failed_at(c, "windows and indices have %u dimensions, not %u",
                               offset->n + i->indices->rank - vector, i->windows->rank);
    for (uint32_t d = 0, of = 0; d < i->windows->rank; d++) {
        if (list_has(offset, d))
            continue;
        of += of == i->numbers->index_vector;
        if (i->windows->sizes[d] != i->indices->sizes[of++])
            return check_failed_at(c, "dimension %u is not as large as that of the indices", d);
    }
    return true;
}

// The size of a window's n-th dimension, and that of the operand's.
static bool check_window_sizes(const struct checked *c, const struct indexed *i) {
    for (uint32_t d = 0, n = 0; d < i->operand->rank; d++) {
        bool is_shown = is_of_window(i, d);
        int64_t size = is_shown ? i->windows->sizes[i->numbers->offset.of[n++]] : 1;
        if (c->by->primitive == PRIM_GATHER && size != i->numbers->slice_sizes.of[d])
            return check_failed_at(c, "slice_sizes of dimension %u is not the window's size", d);
        if (is_shown && size > i->operand->sizes[d])
            return check_failed_at(c, "windows are larger than dimension %u", d);
        if (c->by->primitive == PRIM_GATHER && size > i->operand->sizes[d])
            return check_failed_at(c, "a window of nothing, in dimension %u", d);
    }
    return true;
}

bool check_gather(const struct checked *c) {
    if (!check_arrays(c))
        return false;
    struct indexed i = {shape_of(c, 0), shape_of(c, 1), c->by->shape, attributes_of(c)->indices};
    if (!have_alike_elements(i.operand, i.windows))
        return check_failed_at(c, "the result has elements of another type");
    if (i.numbers->slice_sizes.n != i.operand->rank)
        return check_failed_at(c, "slice_sizes has one size for each dimension");
    return check_numbers(c, &i) && check_windows(c, &i) && check_window_sizes(c, &i);
}

// n operands, the indices, and n updates, of which the sizes are those of the first.
bool check_scatter(const struct checked *c) {
    uint32_t n = c->by->n_operands / 2;
    if (c->by->n_operands % 2 == 0 || n == 0)
        return check_failed_at(c, "operands, indices and as many updates are expected");
    if (!check_operands_are_arrays(c) || !check_results(c, n))
        return false;
    struct indexed i = {shape_of(c, 0), shape_of(c, n), shape_of(c, n + 1),
                        attributes_of(c)->indices};
    for (uint32_t k = 0; k < n; k++)
        if (!have_same_sizes(shape_of(c, k), i.operand) ||
            !have_same_sizes(shape_of(c, n + 1 + k), i.windows) ||
            !have_alike_elements(shape_of(c, n + 1 + k), shape_of(c, k)) ||
            !are_alike(shape_of(c, k), result_of(c, k, n)))
            return check_failed_at(c, "operand %u, its update and its result do not fit", k);
    return check_numbers(c, &i) && check_windows(c, &i) && check_window_sizes(c, &i) &&
           check_region(c, n);
}
