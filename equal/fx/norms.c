// Norms over the last dimensions, written out in means.
#include "equal/fx/norms.h"

#include "equal/fx/meet.h"

// An array, and the dimensions over which it is normed: as many of the last as operand 1 has sizes.
struct norming {
    uint32_t x, over;
    struct sizes sizes;
};

static bool norming_given(struct call *c, uint32_t array, uint32_t shape, struct norming *n) {
    struct sizes normed;
    n->x = fx_array(c, array);
    if (n->x == NOT_BUILT || !fx_integers(c, shape, &normed))
        return false;
    n->sizes = fx_sizes(c, n->x);
    if (normed.rank > n->sizes.rank || normed.rank == 0) {
        fx_fail(c, "a norm over %u dimensions of %u", normed.rank, n->sizes.rank);
        return false;
    }
    n->over = fx_all_dimensions(c, n->x) & ~((1u << (n->sizes.rank - normed.rank)) - 1);
    for (uint32_t k = 0; k < normed.rank; k++)
        if (n->sizes.of[n->sizes.rank - normed.rank + k] != normed.of[k]) {
            fx_fail(c, "a norm over other sizes than the array has");
            return false;
        }
    return true;
}

static uint32_t times(struct call *c, uint32_t a, uint32_t b) {
    return fx_binary(c, PRIM_MULTIPLY, a, b);
}

static uint32_t spread_mean(struct call *c, const struct norming *n, uint32_t array) {
    return fx_expand(c, fx_mean(c, array, n->over, true), &n->sizes);
}

// 1 / sqrt(mean of squares + eps), with the dimensions that are normed kept.
static uint32_t inverse_root(struct call *c, const struct norming *n, uint32_t array, double eps) {
    uint32_t mean = fx_mean(c, times(c, array, array), n->over, true);
    return fx_unary(c, PRIM_RSQRT, fx_binary_number(c, PRIM_ADD, mean, eps));
}

// The array times operand `i`, where one is given.
static uint32_t weighted(struct call *c, const struct norming *n, uint32_t array, uint32_t i,
                         enum primitive by) {
    if (array == NOT_BUILT || !c->of[i])
        return array;
    return fx_binary(c, by, array, fx_fitted(c, i, fx_element(c, array), &n->sizes));
}

// (x, shape, weight, bias, eps)
uint32_t fx_build_layer_norm(struct call *c) {
    struct norming n;
    double eps;
    if (!norming_given(c, 0, 1, &n) || !fx_real(c, 4, 1e-5, &eps))
        return NOT_BUILT;
    uint32_t mean = fx_mean(c, n.x, n.over, true);
    uint32_t away = fx_binary(c, PRIM_SUBTRACT, n.x, fx_expand(c, mean, &n.sizes));
    uint32_t inverse = inverse_root(c, &n, away, eps);
    uint32_t normed = times(c, away, fx_expand(c, inverse, &n.sizes));
    normed = weighted(c, &n, weighted(c, &n, normed, 2, PRIM_MULTIPLY), 3, PRIM_ADD);
    uint32_t all[] = {normed, mean, inverse};
    return c->which ? fx_tuple(c, all, 3) : normed;
}

// What comes back to x: of `normed`, which is x less its mean where `is_centred`, times the inverse. It is written as a
// sum of products, as what PyTorch decomposes it to is.
static uint32_t back(struct call *c, const struct norming *n, uint32_t gradient, uint32_t normed,
                     uint32_t inverse, bool is_centred) {
    uint32_t along = times(c, normed, spread_mean(c, n, times(c, gradient, normed)));
    uint32_t made =
        fx_binary(c, PRIM_SUBTRACT, times(c, gradient, inverse), times(c, along, inverse));
    if (!is_centred)
        return made;
    return fx_binary(c, PRIM_SUBTRACT, made, times(c, spread_mean(c, n, gradient), inverse));
}

static uint32_t sum_of_rest(struct call *c, const struct norming *n, uint32_t array) {
    return array == NOT_BUILT
               ? NOT_BUILT
               : fx_reduce(c, PRIM_ADD, array, fx_all_dimensions(c, array) & ~n->over, false);
}

// (gradient, x, shape, mean, inverse, weight, bias, which are asked for)
uint32_t fx_build_layer_norm_backward(struct call *c) {
    struct norming n;
    if (!norming_given(c, 1, 2, &n))
        return NOT_BUILT;
    uint32_t gradient = fx_array(c, 0);
    uint32_t mean = fx_expand(c, fx_array(c, 3), &n.sizes);
    uint32_t inverse = fx_expand(c, fx_array(c, 4), &n.sizes);
    uint32_t normed = times(c, fx_binary(c, PRIM_SUBTRACT, n.x, mean), inverse);
    uint32_t of_normed = weighted(c, &n, gradient, 5, PRIM_MULTIPLY);
    uint32_t all[] = {back(c, &n, of_normed, normed, inverse, true),
                      sum_of_rest(c, &n, times(c, gradient, normed)), sum_of_rest(c, &n, gradient)};
    return fx_tuple(c, all, 3);
}

// (x, shape, weight, eps), of which eps is the type's own where none is given
uint32_t fx_build_rms_norm(struct call *c) {
    struct norming n;
    double eps;
    if (!norming_given(c, 0, 1, &n) || !fx_real(c, 3, 0x1p-23, &eps))
        return NOT_BUILT;
    if (!c->of[3] && fx_element(c, n.x) != ELEMENT_TYPE_F32)
        return NOT_BUILT;
    uint32_t inverse = inverse_root(c, &n, n.x, eps);
    uint32_t normed = times(c, n.x, fx_expand(c, inverse, &n.sizes));
    normed = weighted(c, &n, normed, 2, PRIM_MULTIPLY);
    uint32_t both[] = {normed, inverse};
    return c->which ? fx_tuple(c, both, 2) : normed;
}

// (gradient, x, shape, inverse, weight, which are asked for)
uint32_t fx_build_rms_norm_backward(struct call *c) {
    struct norming n;
    if (!norming_given(c, 1, 2, &n))
        return NOT_BUILT;
    uint32_t gradient = fx_array(c, 0), inverse = fx_expand(c, fx_array(c, 3), &n.sizes);
    uint32_t normed = times(c, n.x, inverse);
    uint32_t of_normed = weighted(c, &n, gradient, 4, PRIM_MULTIPLY);
    uint32_t both[] = {back(c, &n, of_normed, normed, inverse, false),
                       sum_of_rest(c, &n, times(c, gradient, normed))};
    return fx_tuple(c, both, 2);
}
