// Attention, written out.
#include "equal/fx/attention.h"

#include <math.h>

#include "equal/fx/folds.h"
#include "equal/fx/given.h"

struct attending {
    uint32_t query, key, value;
    uint32_t mask; // operand; what is no truth is added
    bool is_causal;
    double scale;
};

// query, key, value from operand `i` on.
static bool attending_given(struct call *c, uint32_t i, struct attending *a) {
    uint32_t *of[] = {&a->query, &a->key, &a->value};
    for (uint32_t k = 0; k < 3; k++) {
        *of[k] = fx_array(c, i + k);
        if (*of[k] == NOT_BUILT)
            return false;
        if (fx_shape(c, *of[k])->rank < 2 ||
            fx_shape(c, *of[k])->rank != fx_shape(c, a->query)->rank)
            return false;
    }
    return true;
}

static bool scale_given(struct call *c, uint32_t i, struct attending *a) {
    struct sizes sizes = fx_sizes(c, a->query);
    double width = (double)sizes.of[sizes.rank - 1];
    return fx_real(c, i, width > 0 ? 1 / sqrt(width) : 1, &a->scale);
}

static uint32_t masked(struct call *c, const struct attending *a, uint32_t scores) {
    struct sizes sizes = fx_sizes(c, scores);
    uint32_t mask = fx_array(c, a->mask);
    if (mask == NOT_BUILT)
        return NOT_BUILT;
    mask = fx_expand(c, mask, &sizes);
    if (mask != NOT_BUILT && fx_element(c, mask) == ELEMENT_TYPE_PRED)
        return fx_select(c, mask, scores, fx_like(c, scores, -INFINITY));
    return fx_binary(c, PRIM_ADD, scores, mask);
}

// What softmax is of.
static uint32_t scores_of(struct call *c, const struct attending *a) {
    uint32_t scores = fx_product(c, a->query, fx_transposed(c, a->key));
    scores = fx_binary_number(c, PRIM_MULTIPLY, scores, a->scale);
    struct sizes sizes = fx_sizes(c, scores);
    if (scores != NOT_BUILT && a->is_causal)
        scores =
            fx_select(c, fx_triangle(c, &sizes, false, 0), scores, fx_like(c, scores, -INFINITY));
    return scores != NOT_BUILT && c->of[a->mask] ? masked(c, a, scores) : scores;
}

// Draws are not followed.
static bool draws(struct call *c, uint32_t i) {
    double dropout;
    return !fx_real(c, i, 0, &dropout) || dropout != 0;
}

// (query, key, value, mask, dropout, causal, scale, whether heads of keys are repeated)
uint32_t fx_build_attention(struct call *c) {
    struct attending a = {.mask = 3};
    bool is_grouped;
    if (!attending_given(c, 0, &a) || draws(c, 4) || !fx_truth(c, 5, false, &a.is_causal) ||
        !scale_given(c, 6, &a) || !fx_truth(c, 7, false, &is_grouped) || is_grouped)
        return NOT_BUILT;
    uint32_t scores = scores_of(c, &a);
    return scores == NOT_BUILT
               ? NOT_BUILT
               : fx_product(c, fx_softmax(c, scores, fx_last_dimension(c, scores)), a.value);
}

// (query, key, value, dropout, causal, mask, scale)
uint32_t fx_build_flash_on_cpu(struct call *c) {
    struct attending a = {.mask = 5};
    if (!attending_given(c, 0, &a) || draws(c, 3) || !fx_truth(c, 4, false, &a.is_causal) ||
        !scale_given(c, 6, &a))
        return NOT_BUILT;
    uint32_t scores = scores_of(c, &a);
    if (scores == NOT_BUILT)
        return NOT_BUILT;
    uint32_t last = fx_last_dimension(c, scores);
    uint32_t logarithms = fx_log_sum(c, scores, last);
    if (logarithms == NOT_BUILT)
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, logarithms);
    sizes.rank--;
    uint32_t both[] = {fx_product(c, fx_softmax(c, scores, last), a.value),
                       fx_reshape(c, logarithms, &sizes)};
    return fx_tuple(c, both, 2);
}

// (gradient, query, key, value, output, logarithms of sums, dropout, causal, mask, scale)
uint32_t fx_build_flash_on_cpu_backward(struct call *c) {
    struct attending a = {.mask = 8};
    uint32_t gradient = fx_array(c, 0), output = fx_array(c, 4), logarithms = fx_array(c, 5);
    if (logarithms == NOT_BUILT || output == NOT_BUILT || !attending_given(c, 1, &a) ||
        draws(c, 6) || !fx_truth(c, 7, false, &a.is_causal) || !scale_given(c, 9, &a))
        return NOT_BUILT;
    uint32_t scores = scores_of(c, &a);
    struct sizes sizes = fx_sizes(c, scores), kept = fx_sizes(c, logarithms);
    if (scores == NOT_BUILT || kept.rank == MAX_GRAPH_RANK)
        return NOT_BUILT;
    kept.of[kept.rank++] = 1;
    uint32_t sums = fx_expand(c, fx_reshape(c, logarithms, &kept), &sizes);
    uint32_t part = fx_unary(c, PRIM_EXPONENTIAL, fx_binary(c, PRIM_SUBTRACT, scores, sums));
    uint32_t to_value = fx_product(c, fx_transposed(c, part), gradient);
    uint32_t to_part = fx_product(c, gradient, fx_transposed(c, a.value));
    uint32_t all = fx_binary(c, PRIM_MULTIPLY, gradient, output);
    if (all == NOT_BUILT)
        return NOT_BUILT;
    all = fx_reduce(c, PRIM_ADD, all, fx_last_dimension(c, all), true);
    uint32_t less = fx_binary(c, PRIM_SUBTRACT, to_part, fx_expand(c, all, &sizes));
    uint32_t to_scores = fx_binary(c, PRIM_MULTIPLY, part, less);
    to_scores = fx_binary_number(c, PRIM_MULTIPLY, to_scores, a.scale);
    uint32_t three[] = {fx_product(c, to_scores, a.key),
                        fx_product(c, fx_transposed(c, to_scores), a.query), to_value};
    return fx_tuple(c, three, 3);
}
