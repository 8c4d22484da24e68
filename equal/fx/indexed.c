// Lookups as products with truths.
#include "equal/fx/indexed.h"

#include "equal/fx/meet.h"
#include "equal/fx/moves.h"

static bool is_whole(enum element element) {
    return fx_kind(element) == NUMBER_INTEGER || fx_kind(element) == NUMBER_UNSIGNED;
}

uint32_t fx_is_index(struct call *c, uint32_t indices, int64_t size) {
    if (indices == NOT_BUILT)
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, indices);
    int64_t places[MAX_GRAPH_RANK];
    if (sizes.rank == MAX_GRAPH_RANK)
        return fx_fail(c, "more than %d dimensions", MAX_GRAPH_RANK);
    if (!is_whole(fx_element(c, indices)))
        return fx_fail(c, "indices are whole numbers");
    for (uint32_t k = 0; k < sizes.rank; k++)
        places[k] = k;
    sizes.of[sizes.rank++] = size;
    uint32_t along = fx_iota(c, fx_element(c, indices), &sizes, sizes.rank - 1);
    return fx_compare(c, DIRECTION_EQ, along, fx_broadcast(c, indices, &sizes, places));
}

// Rows along dimension `at` of the array, in which the indices' dimensions stand for it then.
static uint32_t looked_up(struct call *c, uint32_t array, uint32_t indices, uint32_t at) {
    if (array == NOT_BUILT || indices == NOT_BUILT)
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, indices)->rank, order[MAX_GRAPH_RANK];
    struct contraction d = {.n = 1, .left = {rank}, .right = {at}};
    uint32_t truths = fx_is_index(c, indices, fx_shape(c, array)->sizes[at]);
    uint32_t made = fx_dot(c, fx_convert(c, truths, fx_element(c, array)), array, &d);
    if (made == NOT_BUILT)
        return NOT_BUILT;
    for (uint32_t k = 0; k < fx_shape(c, made)->rank; k++)
        order[k] = k < at ? rank + k : k < at + rank ? k - at : k;
    return fx_transpose(c, made, order);
}

// embedding(weight, indices)
uint32_t fx_build_embedding(struct call *c) {
    uint32_t weight = fx_array(c, 0), indices = fx_array(c, 1);
    if (weight == NOT_BUILT || fx_shape(c, weight)->rank != 2)
        return weight == NOT_BUILT ? NOT_BUILT
                                   : fx_fail(c, "a table of two dimensions is expected");
    return looked_up(c, weight, indices, 0);
}

// What rows along dimension `at` are given back by values that have the indices' dimensions there: the sum over all
// indices of those whose number they are.
static uint32_t given_back(struct call *c, uint32_t indices, int64_t size, uint32_t values,
                           uint32_t at) {
    if (indices == NOT_BUILT || values == NOT_BUILT)
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, indices)->rank;
    struct contraction d = {.n = rank};
    if (fx_shape(c, values)->rank < at + rank)
        return fx_fail(c, "values of %u dimensions for indices of %u", fx_shape(c, values)->rank,
                       rank);
    for (uint32_t k = 0; k < rank; k++) {
        d.left[k] = k;
        d.right[k] = at + k;
    }
    uint32_t truths = fx_is_index(c, indices, size);
    uint32_t made = fx_dot(c, fx_convert(c, truths, fx_element(c, values)), values, &d);
    return fx_move_dimension(c, made, 0, at);
}

// (gradient, indices, rows, padding, scaled by how often)
uint32_t fx_build_embedding_backward(struct call *c) {
    int64_t rows, padding;
    bool is_scaled;
    uint32_t gradient = fx_array(c, 0), indices = fx_array(c, 1);
    if (indices == NOT_BUILT || !fx_integer(c, 2, 0, &rows) || !fx_integer(c, 3, -1, &padding) ||
        !fx_truth(c, 4, false, &is_scaled) || is_scaled || rows < 0)
        return NOT_BUILT;
    if (padding >= 0) { // becomes the number of no row, which a type without a sign does not have
        if (fx_kind(fx_element(c, indices)) == NUMBER_UNSIGNED)
            return NOT_BUILT;
        uint32_t is_padding =
            fx_compare(c, DIRECTION_EQ, indices, fx_like(c, indices, (double)padding));
        indices = fx_select(c, is_padding, fx_like(c, indices, -1), indices);
    }
    return given_back(c, indices, rows, gradient, 0);
}

// Indices count from the end where they are negative.
static uint32_t from_the_front(struct call *c, uint32_t indices, int64_t size) {
    uint32_t is_negative = fx_compare(c, DIRECTION_LT, indices, fx_like(c, indices, 0));
    return fx_select(c, is_negative, fx_binary_number(c, PRIM_ADD, indices, (double)size), indices);
}

// The one array of whole numbers in a list of indices, and for which dimension it is. False: there are none or more,
// or a mask, of truths or as PyTorch has it of uint8, which is not followed.
static bool one_index(struct call *c, const struct argument *list, uint32_t rank, uint32_t *indices,
                      uint32_t *at) {
    uint32_t n = 0;
    if (!list || list->kind != ARGUMENT_LIST || list->list.n > rank) {
        fx_fail(c, "a list of indices is expected, for %u dimensions at most", rank);
        return false;
    }
    for (uint32_t k = 0; k < list->list.n; k++) {
        if (list->list.of[k].kind == ARGUMENT_NONE)
            continue;
        c->of[1] = &list->list.of[k];
        *indices = fx_array(c, 1);
        *at = k;
        n++;
        if (*indices == NOT_BUILT || !is_whole(fx_element(c, *indices)) ||
            fx_element(c, *indices) == ELEMENT_TYPE_U8)
            return false;
    }
    return n == 1;
}

uint32_t fx_build_index(struct call *c) {
    uint32_t array = fx_array(c, 0), indices, at;
    if (array == NOT_BUILT || !one_index(c, c->of[1], fx_shape(c, array)->rank, &indices, &at))
        return NOT_BUILT;
    return looked_up(c, array, from_the_front(c, indices, fx_shape(c, array)->sizes[at]), at);
}

// index_put(x, [None, indices], values, accumulate = True)
uint32_t fx_build_index_put(struct call *c) {
    uint32_t array = fx_array(c, 0), indices, at;
    bool is_added;
    if (array == NOT_BUILT || !fx_truth(c, 3, false, &is_added) || !is_added ||
        !one_index(c, c->of[1], fx_shape(c, array)->rank, &indices, &at))
        return NOT_BUILT;
    struct sizes all = fx_sizes(c, array), of = fx_sizes(c, indices), sizes = {.rank = 0};
    if (all.rank + of.rank > MAX_GRAPH_RANK)
        return NOT_BUILT;
    for (uint32_t k = 0; k < all.rank; k++)
        for (uint32_t i = 0; i < (k == at ? of.rank : 1); i++)
            sizes.of[sizes.rank++] = k == at ? of.of[i] : all.of[k];
    uint32_t values = fx_fitted(c, 2, fx_element(c, array), &sizes);
    uint32_t rows = from_the_front(c, indices, all.of[at]);
    return fx_binary(c, PRIM_ADD, array, given_back(c, rows, all.of[at], values, at));
}

static bool dimension_given(struct call *c, uint32_t array, uint32_t *at) {
    int64_t given;
    return array != NOT_BUILT && fx_integer(c, 1, 0, &given) &&
           fx_dimension(c, given, fx_shape(c, array)->rank, at);
}

// index_select(x, dimension, indices)
uint32_t fx_build_index_select(struct call *c) {
    uint32_t array = fx_array(c, 0), indices = fx_array(c, 2), at;
    return dimension_given(c, array, &at) ? looked_up(c, array, indices, at) : NOT_BUILT;
}

// index_add(x, dimension, indices, values), of one dimension of indices
uint32_t fx_build_index_add(struct call *c) {
    uint32_t array = fx_array(c, 0), indices = fx_array(c, 2), values = fx_array(c, 3), at;
    double alpha;
    if (indices == NOT_BUILT || !dimension_given(c, array, &at) || !fx_real(c, 4, 1, &alpha) ||
        alpha != 1 || fx_shape(c, indices)->rank != 1)
        return NOT_BUILT;
    uint32_t back = given_back(c, indices, fx_shape(c, array)->sizes[at], values, at);
    return fx_binary(c, PRIM_ADD, array, back);
}

// ---- an index for each element ----------------------------------------------------------------

// A product of truths [indices..., n] with an array, batch by batch of all dimensions but `at`. The array has `at` in
// the place `right`: what is summed.
static uint32_t by_element(struct call *c, uint32_t truths, uint32_t array, uint32_t at,
                           uint32_t summed) {
    struct contraction d = {.n = 1, .left = {summed}, .right = {at}};
    if (truths == NOT_BUILT || array == NOT_BUILT)
        return NOT_BUILT;
    for (uint32_t k = 0; k < fx_shape(c, array)->rank; k++)
        if (k != at)
            d.left_batch[d.n_batch] = d.right_batch[d.n_batch] = k, d.n_batch++;
    uint32_t made = fx_dot(c, fx_convert(c, truths, fx_element(c, array)), array, &d);
    return fx_move_dimension(c, made, d.n_batch, at);
}

// Whether the indices have the array's sizes, but along `at`. Else it is not followed, or of another rank, which is
// reported.
static bool has_sizes_but(struct call *c, uint32_t indices, uint32_t array, uint32_t at) {
    const struct array_shape *a = fx_shape(c, array), *i = fx_shape(c, indices);
    if (a->rank != i->rank) {
        fx_fail(c, "indices of %u dimensions for %u", i->rank, a->rank);
        return false;
    }
    for (uint32_t k = 0; k < a->rank; k++)
        if (k != at && a->sizes[k] != i->sizes[k])
            return false;
    return true;
}

// gather(x, dimension, indices)
uint32_t fx_build_gather(struct call *c) {
    uint32_t array = fx_array(c, 0), indices = fx_array(c, 2), at;
    if (indices == NOT_BUILT || !dimension_given(c, array, &at) ||
        !has_sizes_but(c, indices, array, at))
        return NOT_BUILT;
    uint32_t truths = fx_is_index(c, indices, fx_shape(c, array)->sizes[at]);
    return by_element(c, truths, array, at, fx_shape(c, indices)->rank);
}

// scatter_add(x, dimension, indices, values)
uint32_t fx_build_scatter_add(struct call *c) {
    uint32_t array = fx_array(c, 0), indices = fx_array(c, 2), values = fx_array(c, 3), at;
    if (indices == NOT_BUILT || values == NOT_BUILT || !dimension_given(c, array, &at) ||
        !has_sizes_but(c, indices, array, at) || !has_sizes_but(c, indices, values, at) ||
        fx_shape(c, indices)->sizes[at] != fx_shape(c, values)->sizes[at])
        return NOT_BUILT;
    uint32_t truths = fx_is_index(c, indices, fx_shape(c, array)->sizes[at]);
    return fx_binary(c, PRIM_ADD, array, by_element(c, truths, values, at, at));
}

// scatter(x, dimension, indices, values or a number). Of more values than indices the first are written, which is not
// followed.
uint32_t fx_build_scatter(struct call *c) {
    uint32_t array = fx_array(c, 0), indices = fx_array(c, 2), at;
    if (indices == NOT_BUILT || !dimension_given(c, array, &at) ||
        !has_sizes_but(c, indices, array, at) || fx_shape(c, indices)->sizes[at] != 1)
        return NOT_BUILT;
    uint32_t values = fx_is_array(c, 3) ? fx_array(c, 3) : indices;
    if (values == NOT_BUILT || !has_sizes_but(c, values, array, at) ||
        fx_shape(c, values)->sizes[at] != 1)
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, array);
    uint32_t truths = fx_is_index(c, indices, sizes.of[at]);
    uint32_t rank = sizes.rank;
    truths = fx_move_dimension(c, truths, rank, at); // [.., n, 1, ..]
    truths = fx_reshape(c, truths, &sizes);
    return fx_select(c, truths, fx_fitted(c, 3, fx_element(c, array), &sizes), array);
}
