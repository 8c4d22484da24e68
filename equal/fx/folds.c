// Products and sums over dimensions, and softmax, which is made of them.
#include "equal/fx/folds.h"

#include "equal/fx/meet.h"

// ---- products ---------------------------------------------------------------------------------

uint32_t fx_product(struct call *c, uint32_t a, uint32_t b) {
    if (a == NOT_BUILT || b == NOT_BUILT)
        return NOT_BUILT;
    uint32_t rank = fx_shape(c, a)->rank;
    if (rank < 2 || rank != fx_shape(c, b)->rank)
        return fx_fail(c, "factors of %u and of %u dimensions", rank, fx_shape(c, b)->rank);
    struct contraction d = {.n_batch = rank - 2, .n = 1};
    for (uint32_t k = 0; k < d.n_batch; k++)
        d.left_batch[k] = d.right_batch[k] = k;
    d.left[0] = rank - 1;
    d.right[0] = rank - 2;
    return fx_dot(c, a, b, &d);
}

static uint32_t factor(struct call *c, uint32_t i, uint32_t rank) {
    uint32_t array = fx_array(c, i);
    return array == NOT_BUILT || fx_shape(c, array)->rank == rank
               ? array
               : fx_fail(c, "a factor of %u dimensions, not %u", fx_shape(c, array)->rank, rank);
}

uint32_t fx_build_mm(struct call *c) {
    return fx_product(c, factor(c, 0, 2), factor(c, 1, 2));
}

uint32_t fx_build_bmm(struct call *c) {
    return fx_product(c, factor(c, 0, 3), factor(c, 1, 3));
}

// beta * self + alpha * a @ b
static uint32_t added(struct call *c, uint32_t rank) {
    double beta, alpha;
    uint32_t product = fx_product(c, factor(c, 1, rank), factor(c, 2, rank));
    if (product == NOT_BUILT || !fx_real(c, 3, 1, &beta) || !fx_real(c, 4, 1, &alpha))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, product);
    uint32_t self = fx_fitted(c, 0, fx_element(c, product), &sizes);
    if (alpha != 1)
        product = fx_binary_number(c, PRIM_MULTIPLY, product, alpha);
    if (beta != 1)
        self = fx_binary_number(c, PRIM_MULTIPLY, self, beta);
    return fx_binary(c, PRIM_ADD, self, product);
}

uint32_t fx_build_addmm(struct call *c) {
    return added(c, 2);
}

uint32_t fx_build_baddbmm(struct call *c) {
    return added(c, 3);
}

// Dimensions before the last two are those of both, repeated where they have one element.
static bool meet_batches(struct call *c, uint32_t *a, uint32_t *b) {
    struct sizes left = fx_sizes(c, *a), right = fx_sizes(c, *b), to = {.rank = 0};
    uint32_t rank = left.rank > right.rank ? left.rank : right.rank;
    for (uint32_t k = 0; k + 2 < rank; k++) {
        uint32_t i = k + left.rank - rank, j = k + right.rank - rank;
        int64_t m = k + left.rank < rank ? 1 : left.of[i];
        int64_t n = k + right.rank < rank ? 1 : right.of[j];
        to.of[k] = m == 1 ? n : m;
    }
    to.rank = rank;
    to.of[rank - 2] = left.of[left.rank - 2];
    to.of[rank - 1] = left.of[left.rank - 1];
    *a = fx_expand(c, *a, &to);
    to.of[rank - 2] = right.of[right.rank - 2];
    to.of[rank - 1] = right.of[right.rank - 1];
    *b = fx_expand(c, *b, &to);
    return *a != NOT_BUILT && *b != NOT_BUILT;
}

// Drops a dimension of one element, the last one but `back`.
static uint32_t dropped(struct call *c, uint32_t array, uint32_t back) {
    struct sizes sizes = fx_sizes(c, array), rest = {.rank = 0};
    if (array == NOT_BUILT)
        return NOT_BUILT;
    for (uint32_t k = 0; k < sizes.rank; k++)
        if (k + 1 + back != sizes.rank)
            rest.of[rest.rank++] = sizes.of[k];
    return fx_reshape(c, array, &rest);
}

// Where the right factor is one matrix, the left one's dimensions but the last go on; else batch by batch.
static uint32_t product_of(struct call *c, uint32_t a, uint32_t b) {
    uint32_t left = fx_shape(c, a)->rank;
    if (fx_shape(c, b)->rank == 2) {
        struct contraction d = {.n = 1, .left = {left - 1}, .right = {0}};
        return fx_dot(c, a, b, &d);
    }
    return meet_batches(c, &a, &b) ? fx_product(c, a, b) : NOT_BUILT;
}

uint32_t fx_build_matmul(struct call *c) {
    uint32_t a = fx_array(c, 0), b = fx_array(c, 1);
    if (a == NOT_BUILT || b == NOT_BUILT)
        return NOT_BUILT;
    struct sizes left = fx_sizes(c, a), right = fx_sizes(c, b);
    if (left.rank == 0 || right.rank == 0)
        return fx_fail(c, "a factor of no dimensions");
    bool is_row = left.rank == 1, is_column = right.rank == 1;
    if (is_row)
        a = fx_reshape(c, a, &(struct sizes){.of = {1, left.of[0]}, .rank = 2});
    if (is_column)
        b = fx_reshape(c, b, &(struct sizes){.of = {right.of[0], 1}, .rank = 2});
    uint32_t made = product_of(c, a, b);
    if (is_column)
        made = dropped(c, made, 0);
    return is_row ? dropped(c, made, !is_column) : made;
}

// x @ weight^T + bias
uint32_t fx_build_linear(struct call *c) {
    uint32_t x = fx_array(c, 0), weight = factor(c, 1, 2);
    if (x == NOT_BUILT || weight == NOT_BUILT)
        return NOT_BUILT;
    if (fx_shape(c, x)->rank == 0)
        return fx_fail(c, "a factor of no dimensions");
    struct contraction d = {.n = 1, .left = {fx_shape(c, x)->rank - 1}, .right = {1}};
    uint32_t made = fx_dot(c, x, weight, &d);
    if (!c->of[2] || made == NOT_BUILT)
        return made;
    struct sizes sizes = fx_sizes(c, made);
    return fx_binary(c, PRIM_ADD, made, fx_fitted(c, 2, fx_element(c, made), &sizes));
}

uint32_t fx_transposed(struct call *c, uint32_t array) {
    uint32_t rank = array == NOT_BUILT ? 0 : fx_shape(c, array)->rank, order[MAX_GRAPH_RANK];
    if (rank < 2)
        return NOT_BUILT;
    for (uint32_t k = 0; k < rank; k++)
        order[k] = k;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return fx_transpose(c, array, order);
}

// ---- sums -------------------------------------------------------------------------------------

bool fx_dimensions_given(struct call *c, uint32_t i, uint32_t array, uint32_t *dimensions) {
    struct sizes given;
    if (array == NOT_BUILT || !fx_integers(c, i, &given))
        return false;
    *dimensions = given.rank ? 0 : fx_all_dimensions(c, array);
    for (uint32_t k = 0; k < given.rank; k++) {
        uint32_t at, rank = fx_shape(c, array)->rank;
        if (!fx_dimension(c, given.of[k], rank ? rank : 1, &at))
            return false;
        *dimensions |= rank ? 1u << at : 0;
    }
    return true;
}

// What is folded: its dimensions, and whether they are kept, from operand `i` on.
struct folding {
    uint32_t array, dimensions;
    bool keeps;
};

static bool folding_given(struct call *c, uint32_t i, struct folding *f) {
    f->array = fx_array(c, 0);
    return fx_dimensions_given(c, i, f->array, &f->dimensions) &&
           fx_truth(c, i + 1, false, &f->keeps) && fx_kind(fx_element(c, f->array)) != NUMBER_OTHER;
}

// sum(x, dimensions, keepdim, dtype): whole numbers and truths are summed in 64 bits.
uint32_t fx_build_sum(struct call *c) {
    struct folding f;
    if (!folding_given(c, 1, &f))
        return NOT_BUILT;
    enum element element = fx_element(c, f.array);
    if (fx_kind(element) != NUMBER_REAL)
        element = ELEMENT_TYPE_S64;
    if (!fx_element_given(c, 3, &element))
        return NOT_BUILT;
    return fx_reduce(c, PRIM_ADD, fx_convert(c, f.array, element), f.dimensions, f.keeps);
}

uint32_t fx_build_mean(struct call *c) {
    struct folding f;
    if (!folding_given(c, 1, &f))
        return NOT_BUILT;
    enum element element = fx_element(c, f.array);
    if (!fx_element_given(c, 3, &element))
        return NOT_BUILT;
    return fx_mean(c, fx_convert(c, f.array, element), f.dimensions, f.keeps);
}

uint32_t fx_build_extreme(struct call *c) {
    struct folding f;
    return folding_given(c, 1, &f)
               ? fx_reduce(c, (enum primitive)c->which, f.array, f.dimensions, f.keeps)
               : NOT_BUILT;
}

uint32_t fx_build_whether(struct call *c) {
    struct folding f;
    if (!folding_given(c, 1, &f))
        return NOT_BUILT;
    uint32_t truths = fx_convert(c, f.array, ELEMENT_TYPE_PRED);
    return fx_reduce(c, (enum primitive)c->which, truths, f.dimensions, f.keeps);
}

// var(x, dimensions, correction = 1, keepdim)
static uint32_t variance(struct call *c, uint32_t *mean) {
    double correction, n = 1;
    bool keeps;
    uint32_t x = fx_array(c, 0), dimensions;
    if (!fx_dimensions_given(c, 1, x, &dimensions) || !fx_real(c, 2, 1, &correction) ||
        !fx_truth(c, 3, false, &keeps))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, x);
    for (uint32_t k = 0; k < sizes.rank; k++)
        n *= dimensions >> k & 1 ? (double)sizes.of[k] : 1;
    uint32_t middle = fx_mean(c, x, dimensions, true);
    uint32_t away = fx_binary(c, PRIM_SUBTRACT, x, fx_expand(c, middle, &sizes));
    uint32_t sum =
        fx_reduce(c, PRIM_ADD, fx_binary(c, PRIM_MULTIPLY, away, away), dimensions, keeps);
    if (sum == NOT_BUILT || correction > n)
        return NOT_BUILT;
    struct sizes kept = fx_sizes(c, sum);
    *mean = fx_reshape(c, middle, &kept);
    return fx_binary(c, PRIM_DIVIDE, sum, fx_count(c, sum, n - correction));
}

uint32_t fx_build_var(struct call *c) {
    uint32_t mean;
    return variance(c, &mean);
}

uint32_t fx_build_var_mean(struct call *c) {
    uint32_t both[2] = {NOT_BUILT, NOT_BUILT};
    both[0] = variance(c, &both[1]);
    return fx_tuple(c, both, 2);
}

// linalg_vector_norm(x, ord = 2, dimensions, keepdim, dtype), of the second order
uint32_t fx_build_norm(struct call *c) {
    double order;
    bool keeps;
    uint32_t x = fx_array(c, 0), dimensions;
    if (!fx_dimensions_given(c, 2, x, &dimensions) || !fx_real(c, 1, 2, &order) ||
        !fx_truth(c, 3, false, &keeps) || order != 2)
        return NOT_BUILT;
    enum element element = fx_element(c, x);
    if (!fx_element_given(c, 4, &element))
        return NOT_BUILT;
    x = fx_convert(c, x, element);
    return fx_unary(c, PRIM_SQRT,
                    fx_reduce(c, PRIM_ADD, fx_binary(c, PRIM_MULTIPLY, x, x), dimensions, keeps));
}

// ---- softmax ----------------------------------------------------------------------------------

// Less the largest, which changes nothing but rounding.
static uint32_t shifted(struct call *c, uint32_t x, uint32_t dimensions) {
    return fx_binary(c, PRIM_SUBTRACT, x, fx_spread(c, PRIM_MAXIMUM, x, dimensions));
}

uint32_t fx_softmax(struct call *c, uint32_t x, uint32_t dimensions) {
    uint32_t power = fx_unary(c, PRIM_EXPONENTIAL, shifted(c, x, dimensions));
    return fx_binary(c, PRIM_DIVIDE, power, fx_spread(c, PRIM_ADD, power, dimensions));
}

uint32_t fx_log_softmax(struct call *c, uint32_t x, uint32_t dimensions) {
    uint32_t less = shifted(c, x, dimensions);
    uint32_t sum = fx_spread(c, PRIM_ADD, fx_unary(c, PRIM_EXPONENTIAL, less), dimensions);
    return fx_binary(c, PRIM_SUBTRACT, less, fx_unary(c, PRIM_LOG, sum));
}

uint32_t fx_log_sum(struct call *c, uint32_t x, uint32_t dimensions) {
    uint32_t most = fx_reduce(c, PRIM_MAXIMUM, x, dimensions, true);
    uint32_t power = fx_unary(c, PRIM_EXPONENTIAL, shifted(c, x, dimensions));
    uint32_t sum = fx_reduce(c, PRIM_ADD, power, dimensions, true);
    return fx_binary(c, PRIM_ADD, fx_unary(c, PRIM_LOG, sum), most);
}

uint32_t fx_build_logsumexp(struct call *c) {
    struct folding f;
    if (!folding_given(c, 1, &f))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, f.array), rest = {.rank = 0};
    for (uint32_t k = 0; k < sizes.rank; k++)
        if (f.keeps || !(f.dimensions >> k & 1))
            rest.of[rest.rank++] = f.dimensions >> k & 1 ? 1 : sizes.of[k];
    return fx_reshape(c, fx_log_sum(c, f.array, f.dimensions), &rest);
}

// The array as reals of the type that operand `type` names, and the one dimension.
static bool softmax_given(struct call *c, uint32_t type, uint32_t *x, uint32_t *dimensions) {
    *x = fx_array(c, 0);
    if (*x == NOT_BUILT || !c->of[1] || !fx_dimensions_given(c, 1, *x, dimensions))
        return false;
    enum element element = fx_element(c, *x);
    if (type && c->of[type] && c->of[type]->kind == ARGUMENT_WORD &&
        !fx_element_given(c, type, &element))
        return false;
    if (fx_kind(element) != NUMBER_REAL)
        element = ELEMENT_TYPE_F32;
    *x = fx_convert(c, *x, element);
    return true;
}

uint32_t fx_build_softmax(struct call *c) {
    uint32_t x, dimensions;
    return softmax_given(c, 2, &x, &dimensions) ? fx_softmax(c, x, dimensions) : NOT_BUILT;
}

uint32_t fx_build_log_softmax(struct call *c) {
    uint32_t x, dimensions;
    return softmax_given(c, 2, &x, &dimensions) ? fx_log_softmax(c, x, dimensions) : NOT_BUILT;
}

// (gradient, output, dimension): output * (gradient - sum of gradient * output)
uint32_t fx_build_softmax_backward(struct call *c) {
    uint32_t gradient = fx_array(c, 0), output = fx_array(c, 1), dimensions;
    if (output == NOT_BUILT || !c->of[2] || !fx_dimensions_given(c, 2, output, &dimensions))
        return NOT_BUILT;
    uint32_t sum =
        fx_spread(c, PRIM_ADD, fx_binary(c, PRIM_MULTIPLY, gradient, output), dimensions);
    return fx_binary(c, PRIM_MULTIPLY, output, fx_binary(c, PRIM_SUBTRACT, gradient, sum));
}

// gradient - exp(output) * sum of gradient
uint32_t fx_build_log_softmax_backward(struct call *c) {
    uint32_t gradient = fx_array(c, 0), output = fx_array(c, 1), dimensions;
    if (output == NOT_BUILT || !c->of[2] || !fx_dimensions_given(c, 2, output, &dimensions))
        return NOT_BUILT;
    uint32_t sum = fx_spread(c, PRIM_ADD, gradient, dimensions);
    uint32_t back = fx_binary(c, PRIM_MULTIPLY, fx_unary(c, PRIM_EXPONENTIAL, output), sum);
    return fx_binary(c, PRIM_SUBTRACT, gradient, back);
}
