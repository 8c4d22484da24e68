// Elements that are combined over dimensions.
#include "equal/graph/checker.h"

// The dimensions of one operand of a product: batch and contracted ones, all different; appends the sizes of the rest.
static bool check_factor(const struct checked *c, uint32_t operand, int64_t *sizes, uint32_t *n) {
    const struct instruction_attributes *a = attributes_of(c);
    const struct number_list *batch = operand == 0 ? &a->left_batch : &a->right_batch;
    const struct number_list *summed = operand == 0 ? &a->left_contracting : &a->right_contracting;
    const struct array_shape *shape = shape_of(c, operand);
    const char *what = operand == 0 ? "the left operand" : "the right operand";
    if (!check_dimensions(c, batch, shape->rank, false, what) ||
        !check_dimensions(c, summed, shape->rank, false, what))
        return false;
    for (uint32_t i = 0; i < batch->n; i++)
        if (list_has(summed, batch->of[i]))
            return check_failed_at(c, "dimension %lld of %s is of the batch and summed",
                                   (long long)batch->of[i], what);
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (list_has(batch, d) || list_has(summed, d))
            continue;
        if (*n == MAX_GRAPH_RANK)
            return check_failed_at(c, "the result has more than %d dimensions", MAX_GRAPH_RANK);
        sizes[(*n)++] = shape->sizes[d];
    }
    return true;
}

static bool check_pairs(const struct checked *c, const struct number_list *left,
                        const struct number_list *right, const char *what) {
    if (left->n != right->n)
        return check_failed_at(c, "%u and %u %s dimensions", left->n, right->n, what);
    for (uint32_t i = 0; i < left->n; i++) {
        int64_t a = shape_of(c, 0)->sizes[left->of[i]], b = shape_of(c, 1)->sizes[right->of[i]];
        if (a != b)
            return check_failed_at(c, "a %s dimension has %lld elements and %lld", what,
                                   (long long)a, (long long)b);
    }
    return true;
}

static bool check_factor_types(const struct checked *c) {
    enum number_kind left = kind_of(shape_of(c, 0)), right = kind_of(shape_of(c, 1));
    enum number_kind result = kind_of(c->by->shape);
    return (left == right && (result == left || result == NUMBER_REAL)) ||
           check_failed_at(c, "factors and result have elements of different kinds");
}

bool check_dot(const struct checked *c) {
    if (!check_arrays(c) || !check_factor_types(c))
        return false;
    const struct instruction_attributes *a = attributes_of(c);
    int64_t sizes[MAX_GRAPH_RANK];
    uint32_t n = 0;
    if (!check_dimensions(c, &a->left_batch, shape_of(c, 0)->rank, false, "the left operand"))
        return false;
    for (uint32_t i = 0; i < a->left_batch.n; i++)
        sizes[n++] = shape_of(c, 0)->sizes[a->left_batch.of[i]];
    return check_factor(c, 0, sizes, &n) && check_factor(c, 1, sizes, &n) &&
           check_pairs(c, &a->left_batch, &a->right_batch, "batch") &&
           check_pairs(c, &a->left_contracting, &a->right_contracting, "summed") &&
           check_result_sizes(c, sizes, n);
}

// n arrays of the same sizes.
static bool check_same_sizes(const struct checked *c, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (!have_same_sizes(shape_of(c, i), shape_of(c, 0)))
            return check_failed_at(c, "operand %u has other sizes than the first", i);
    return true;
}

// n arrays, and the n numbers that their reductions begin with.
bool check_reduce(const struct checked *c) {
    uint32_t n = c->by->n_operands / 2, rank = 0;
    if (c->by->n_operands % 2 || n == 0)
        return check_failed_at(c, "arrays and as many numbers to begin with are expected");
    if (!check_operands_are_arrays(c) || !check_results(c, n) || !check_same_sizes(c, n))
        return false;
    const struct array_shape *of = shape_of(c, 0);
    const struct number_list *over = &attributes_of(c)->dimensions;
    int64_t sizes[MAX_GRAPH_RANK];
    if (!check_dimensions(c, over, of->rank, false, "the operand"))
        return false;
    for (uint32_t d = 0; d < of->rank; d++)
        if (!list_has(over, d))
            sizes[rank++] = of->sizes[d];
    for (uint32_t i = 0; i < n; i++) {
        struct array_shape expected = {
            .element = shape_of(c, i)->element, .rank = rank, .sizes = sizes};
        if (!is_scalar(shape_of(c, n + i)) ||
            !have_alike_elements(shape_of(c, n + i), shape_of(c, i)))
            return check_failed_at(c, "operand %u is no number of operand %u's type", n + i, i);
        if (!are_alike(&expected, result_of(c, i, n)))
            return check_failed_at(c, "the result is %s",
                                   shape_text(&expected, c->diagnostics->arena));
    }
    return check_region(c, n);
}

// Whether the region says of two elements of each operand which comes first.
static bool check_order(const struct checked *c, uint32_t n) {
    if (attributes_of(c)->n_called != 1)
        return check_failed_at(c, "one computation compares");
    const struct computation *order = called_by(c, 0);
    if (order->n_parameters != 2 * (uint64_t)n)
        return check_failed_at(c, "`%s` has %u parameters, not %u", order->name,
                               order->n_parameters, 2 * n);
    for (uint32_t i = 0; i < 2 * n; i++)
        if (!is_scalar(parameter_shape(order, i)) ||
            !have_alike_elements(parameter_shape(order, i), shape_of(c, i / 2)))
            return check_failed_at(c, "`%s` does not compare elements of operand %u", order->name,
                                   i / 2);
    return (is_scalar(root_shape(order)) && kind_of(root_shape(order)) == NUMBER_TRUTH) ||
           check_failed_at(c, "`%s` gives no pred[]", order->name);
}

bool check_sort(const struct checked *c) {
    uint32_t n = c->by->n_operands;
    if (!check_operands_are_arrays(c) || !check_results(c, n) || !check_same_sizes(c, n))
        return false;
    const struct number_list *along = &attributes_of(c)->dimensions;
    if (along->n != 1)
        return check_failed_at(c, "one dimension is sorted along");
    for (uint32_t i = 0; i < n; i++)
        if (!are_alike(shape_of(c, i), result_of(c, i, n)))
            return check_failed_at(c, "result %u is of another shape than its operand", i);
    return check_dimensions(c, along, shape_of(c, 0)->rank, false, "the operand") &&
           check_order(c, n);
}
