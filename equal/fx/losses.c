// Losses of classes. What PyTorch ignores has no weight; other classes that there are not it refuses.
#include "equal/fx/losses.h"

#include "equal/fx/folds.h"
#include "equal/fx/indexed.h"
#include "equal/fx/meet.h"

enum reduction { REDUCTION_NONE, REDUCTION_MEAN, REDUCTION_SUM };

// What a loss is of: [n, classes], or one row of it.
struct classes {
    uint32_t is_class; // truths, like the logarithms: false in all of a row that is ignored
    uint32_t weight;   // of each row: one, or zero
    int64_t reduction;
};

// The operands target, weights of classes (which are not followed), reduction and what is ignored, from `i` on.
static bool classes_given(struct call *c, uint32_t logarithms, uint32_t i, struct classes *k) {
    int64_t ignored;
    uint32_t target = fx_array(c, i);
    if (logarithms == NOT_BUILT || target == NOT_BUILT || c->of[i + 1] ||
        !fx_integer(c, i + 2, REDUCTION_MEAN, &k->reduction) ||
        !fx_integer(c, i + 3, -100, &ignored))
        return false;
    struct sizes sizes = fx_sizes(c, logarithms);
    uint32_t rank = sizes.rank;
    if (rank < 1 || rank > 2 || fx_shape(c, target)->rank != rank - 1)
        return false;
    enum element element = fx_element(c, logarithms);
    target = fx_convert(c, target, ELEMENT_TYPE_S64); // its type may not have what is ignored
    uint32_t counts = fx_compare(c, DIRECTION_NE, target, fx_like(c, target, (double)ignored));
    k->is_class = fx_is_index(c, target, sizes.of[rank - 1]);
    if (ignored >= 0) {
        int64_t rows[] = {0};
        k->is_class = fx_binary(c, PRIM_AND, k->is_class, fx_broadcast(c, counts, &sizes, rows));
    }
    k->weight = fx_convert(c, counts, element);
    return k->weight != NOT_BUILT;
}

// A row's: less the logarithm of its class.
static uint32_t loss_of_rows(struct call *c, uint32_t logarithms, const struct classes *k) {
    uint32_t chosen = fx_select(c, k->is_class, logarithms, fx_like(c, logarithms, 0));
    return chosen == NOT_BUILT
               ? NOT_BUILT
               : fx_unary(c, PRIM_NEGATE,
                          fx_reduce(c, PRIM_ADD, chosen, fx_last_dimension(c, chosen), false));
}

static uint32_t sum_of_all(struct call *c, uint32_t array) {
    return array == NOT_BUILT ? NOT_BUILT
                              : fx_reduce(c, PRIM_ADD, array, fx_all_dimensions(c, array), false);
}

static uint32_t loss_of(struct call *c, uint32_t logarithms, const struct classes *k,
                        uint32_t *weight) {
    uint32_t rows = loss_of_rows(c, logarithms, k);
    *weight = sum_of_all(c, k->weight);
    if (k->reduction == REDUCTION_NONE)
        return rows;
    uint32_t sum = sum_of_all(c, rows);
    return k->reduction == REDUCTION_SUM ? sum : fx_binary(c, PRIM_DIVIDE, sum, *weight);
}

// nll_loss_forward(logarithms, target, weights, reduction, ignored)
uint32_t fx_build_nll_loss(struct call *c) {
    struct classes k;
    uint32_t logarithms = fx_array(c, 0), both[2];
    if (!classes_given(c, logarithms, 1, &k))
        return NOT_BUILT;
    both[0] = loss_of(c, logarithms, &k, &both[1]);
    return c->which ? fx_tuple(c, both, 2) : both[0];
}

// nll_loss_backward(gradient, logarithms, target, weights, reduction, ignored, weight of all)
uint32_t fx_build_nll_loss_backward(struct call *c) {
    struct classes k;
    uint32_t gradient = fx_array(c, 0), logarithms = fx_array(c, 1);
    if (gradient == NOT_BUILT || !classes_given(c, logarithms, 2, &k))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, logarithms);
    int64_t rows[] = {0};
    if (k.reduction == REDUCTION_MEAN)
        gradient = fx_binary(c, PRIM_DIVIDE, gradient, fx_array(c, 6));
    if (gradient == NOT_BUILT || fx_shape(c, gradient)->rank > 1)
        return NOT_BUILT;
    uint32_t back = fx_unary(c, PRIM_NEGATE, fx_broadcast(c, gradient, &sizes, rows));
    return fx_select(c, k.is_class, back, fx_like(c, logarithms, 0));
}

// cross_entropy_loss(x, target, weights, reduction, ignored, smoothing)
uint32_t fx_build_cross_entropy(struct call *c) {
    struct classes k;
    double smoothing;
    uint32_t x = fx_array(c, 0), weight;
    if (x == NOT_BUILT || fx_shape(c, x)->rank == 0 || !fx_real(c, 5, 0, &smoothing) ||
        smoothing != 0)
        return NOT_BUILT;
    uint32_t logarithms = fx_log_softmax(c, x, fx_last_dimension(c, x));
    return classes_given(c, logarithms, 1, &k) ? loss_of(c, logarithms, &k, &weight) : NOT_BUILT;
}

// Operand `i` less the one behind it.
static uint32_t difference(struct call *c, uint32_t i) {
    struct sizes sizes;
    enum element element;
    if (!fx_meet(c, i, i + 2, &element, &sizes))
        return NOT_BUILT;
    return fx_binary(c, PRIM_SUBTRACT, fx_fitted(c, i, element, &sizes),
                     fx_fitted(c, i + 1, element, &sizes));
}

// mse_loss_backward(gradient, x, target, reduction)
uint32_t fx_build_mse_loss_backward(struct call *c) {
    int64_t reduction;
    uint32_t away = difference(c, 1);
    if (away == NOT_BUILT || !fx_integer(c, 3, REDUCTION_MEAN, &reduction))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, away);
    double n = reduction == REDUCTION_MEAN ? (double)fx_shape(c, away)->n_elements : 1;
    uint32_t back = fx_binary(c, PRIM_MULTIPLY, away, fx_fitted(c, 0, fx_element(c, away), &sizes));
    back = fx_binary_number(c, PRIM_MULTIPLY, back, 2);
    return fx_binary(c, PRIM_DIVIDE, back, fx_count(c, back, n));
}

// mse_loss(x, target, reduction)
uint32_t fx_build_mse_loss(struct call *c) {
    int64_t reduction;
    uint32_t away = difference(c, 0);
    if (!fx_integer(c, 2, REDUCTION_MEAN, &reduction))
        return NOT_BUILT;
    uint32_t square = fx_binary(c, PRIM_MULTIPLY, away, away);
    if (reduction == REDUCTION_NONE || square == NOT_BUILT)
        return square;
    return reduction == REDUCTION_SUM ? sum_of_all(c, square)
                                      : fx_mean(c, square, fx_all_dimensions(c, square), false);
}
