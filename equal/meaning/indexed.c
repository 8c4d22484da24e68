// What is read or added to at places that numbers of another array say. Reading is a product with a test of which place
// it is, summed over the places: gather clamps its indices and scatter drops what lies outside, so the clamp stands in
// the term, unless it is known that it does nothing.
#include "equal/meaning/read.h"
#include "equal/values/range.h"

struct indexing {
    const struct at *at;
    const struct index_numbers *numbers;
    struct viewed indices;
    const struct array_shape *indices_shape;
    struct coordinates all;
    uint32_t batch[MAX_GRAPH_RANK]; // by the indices' dimension: its coordinate
    uint64_t summed;
    struct viewed factors[MAX_GRAPH_RANK + 1];
    uint32_t n_factors;
};

static bool is_among(const struct number_list *list, int64_t number, uint32_t *place) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->of[i] == number) {
            *place = i;
            return true;
        }
    return false;
}

// The i-th number of each index.
static bool index_number(struct indexing *x, uint32_t i, struct viewed *made) {
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    for (uint32_t k = 0; k < x->indices_shape->rank; k++) {
        by.sizes[k] = x->indices_shape->sizes[k];
        of[k] = k == x->numbers->index_vector ? affine_constant(i)
                                              : affine_coordinate(x->batch[k], by.sizes[k]);
        by.of[k] = &of[k];
    }
    return value_move(x->at->r->c, x->indices, &by, made);
}

static bool is_inside(struct indexing *x, struct viewed number, int64_t most) {
    struct bounds bounds = value_bounds(x->at->r->c, number);
    return bounds.below && bounds.least >= 0 && bounds.above && bounds.largest <= most;
}

static struct viewed clamped_number(struct indexing *x, struct viewed number, int64_t most) {
    struct calculus *c = x->at->r->c;
    if (is_inside(x, number, most))
        return number;
    struct viewed all[] = {value_zero(c), number, value_fraction(c, most, 1)};
    return value_pointwise(c, KIND_POINTWISE + PRIM_CLAMP, true, all, 3, &x->all);
}

// A factor that is one where the number, and what lies at `offset` in its window, is the place.
static void add_test(struct indexing *x, struct viewed number, const struct affine *offset,
                     const struct affine *place) {
    struct calculus *c = x->at->r->c;
    struct affine far = *place;
    bool fits = affine_add(&far, offset, -1) && affine_normal(&far);
    struct viewed both[] = {number, value_scaled(c, value_index(c, &far), -1, 1)};
    struct viewed difference = fits ? value_sum(c, both, 2, &x->all) : value_unknown(c, &x->all);
    x->factors[x->n_factors++] = value_test(c, KIND_IS_ZERO, difference, true, &x->all);
}

// ---- gather -----------------------------------------------------------------------------------

// Coordinates of the result: those of the indices' dimensions, and those of windows, in the order of the operand's.
static uint32_t name_results(struct indexing *x, uint32_t windows[MAX_GRAPH_RANK]) {
    uint32_t n = 0, batch = 0, ignored;
    for (uint32_t k = 0; k < x->at->by->shape->rank; k++) {
        if (is_among(&x->numbers->offset, k, &ignored)) {
            windows[n++] = k;
            continue;
        }
        batch += batch == x->numbers->index_vector;
        x->batch[batch++] = k;
    }
    return n;
}

static bool gather_dimension(struct indexing *x, uint32_t d, const struct affine *window,
                             struct affine *of) {
    const struct index_numbers *numbers = x->numbers;
    const struct array_shape *shape = operand_shape(x->at, 0);
    uint32_t i;
    if (is_among(&numbers->operand_batching, d, &i)) {
        *of = affine_coordinate(x->batch[numbers->indices_batching.of[i]], shape->sizes[d]);
        return true;
    }
    *of = *window;
    if (!is_among(&numbers->map, d, &i))
        return true;
    struct viewed number;
    struct affine index;
    int64_t denominator, most = shape->sizes[d] - numbers->slice_sizes.of[d];
    if (!index_number(x, i, &number))
        return false;
    number = clamped_number(x, number, most);
    if (value_as_index(x->at->r->c, number, &index, &denominator) && denominator == 1)
        return affine_add(of, &index, 1) && affine_normal(of);
    uint32_t place = add_coordinate(&x->all, shape->sizes[d]);
    if (place == MAX_COORDINATES)
        return false;
    x->summed |= UINT64_C(1) << place;
    *of = affine_coordinate(place, shape->sizes[d]);
    add_test(x, number, window, of);
    return true;
}

static bool read_gather(const struct at *at, struct viewed *made) {
    struct indexing x = {.at = at,
                         .numbers = at->by->attributes->indices,
                         .indices = operand_value(at, 1),
                         .indices_shape = operand_shape(at, 1),
                         .all = at->all};
    const struct array_shape *shape = operand_shape(at, 0);
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by = {0};
    uint32_t windows[MAX_GRAPH_RANK], next = 0, ignored;
    name_results(&x, windows);
    for (uint32_t d = 0; d < shape->rank; d++) {
        bool has = !is_among(&x.numbers->collapsed, d, &ignored) &&
                   !is_among(&x.numbers->operand_batching, d, &ignored);
        struct affine window = affine_constant(0);
        if (has)
            window = affine_coordinate(windows[next++], x.numbers->slice_sizes.of[d]);
        if (!gather_dimension(&x, d, &window, &of[d]))
            return false;
        by.of[d] = &of[d];
        by.sizes[d] = shape->sizes[d];
    }
    if (!value_move(at->r->c, operand_value(at, 0), &by, &x.factors[x.n_factors++]))
        return false;
    *made = value_product(at->r->c, x.factors, x.n_factors, x.summed, &x.all);
    return true;
}

// ---- scatter ----------------------------------------------------------------------------------

// Coordinates of what is added: each dimension of the updates is one that is summed over, but those of windows that
// lie along all of a dimension of the result.
struct updating {
    struct affine of[MAX_GRAPH_RANK];
    struct substitution by;
};

static bool scatter_dimension(struct indexing *x, struct updating *u, uint32_t d, uint32_t *next) {
    const struct index_numbers *numbers = x->numbers;
    const struct array_shape *shape = x->at->by->shape;
    uint32_t i, window_of = MAX_GRAPH_RANK;
    struct affine place = affine_coordinate(d, shape->sizes[d]), window = affine_constant(0);
    if (is_among(&numbers->operand_batching, d, &i)) {
        struct viewed batch;
        struct affine own =
            affine_coordinate(x->batch[numbers->indices_batching.of[i]], shape->sizes[d]);
        batch = value_index(x->at->r->c, &own);
        add_test(x, batch, &window, &place);
        return true;
    }
    if (!is_among(&numbers->collapsed, d, &i))
        window_of = (uint32_t)numbers->offset.of[(*next)++];
    bool mapped = is_among(&numbers->map, d, &i);
    if (window_of < MAX_GRAPH_RANK && !mapped) { // all of it
        if (u->by.sizes[window_of] != shape->sizes[d])
            return false;
        u->of[window_of] = place;
        u->by.of[window_of] = &u->of[window_of];
        return true;
    }
    if (window_of < MAX_GRAPH_RANK) {
        uint32_t k = add_coordinate(&x->all, u->by.sizes[window_of]);
        if (k == MAX_COORDINATES)
            return false;
        x->summed |= UINT64_C(1) << k;
        window = u->of[window_of] = affine_coordinate(k, u->by.sizes[window_of]);
        u->by.of[window_of] = &u->of[window_of];
    }
    struct viewed number = value_zero(x->at->r->c);
    if (mapped && !index_number(x, i, &number))
        return false;
    // A window that lies in part outside is dropped, all of it.
    if (window.n && !is_inside(x, number, shape->sizes[d] - u->by.sizes[window_of]))
        return false;
    add_test(x, number, &window, &place);
    return true;
}

static bool name_updates(struct indexing *x, struct updating *u) {
    const struct array_shape *updates = operand_shape(x->at, 2);
    uint32_t batch = 0, ignored;
    for (uint32_t k = 0; k < updates->rank; k++) {
        u->by.sizes[k] = updates->sizes[k];
        if (is_among(&x->numbers->offset, k, &ignored))
            continue;
        uint32_t coordinate = add_coordinate(&x->all, updates->sizes[k]);
        if (coordinate == MAX_COORDINATES)
            return false;
        x->summed |= UINT64_C(1) << coordinate;
        u->of[k] = affine_coordinate(coordinate, updates->sizes[k]);
        u->by.of[k] = &u->of[k];
        batch += batch == x->numbers->index_vector;
        x->batch[batch++] = coordinate;
    }
    return true;
}

static bool read_scatter(const struct at *at, struct viewed *made) {
    struct indexing x = {.at = at,
                         .numbers = at->by->attributes->indices,
                         .indices = operand_value(at, 1),
                         .indices_shape = operand_shape(at, 1),
                         .all = at->all};
    struct updating u = {0};
    uint32_t next = 0;
    if (at->by->n_operands != 3 || shape_kind(at->by->shape) == NUMBER_TRUTH ||
        region_primitive(at->r->graph, at->by->attributes->called[0]) != PRIM_ADD ||
        !name_updates(&x, &u))
        return false;
    for (uint32_t d = 0; d < at->by->shape->rank; d++)
        if (!scatter_dimension(&x, &u, d, &next))
            return false;
    if (!value_move(at->r->c, operand_value(at, 2), &u.by, &x.factors[x.n_factors++]))
        return false;
    struct viewed both[] = {operand_value(at, 0),
                            value_product(at->r->c, x.factors, x.n_factors, x.summed, &x.all)};
    *made = value_sum(at->r->c, both, 2, &at->all);
    return true;
}

bool read_indexed(const struct at *at, struct viewed *made) {
    return at->by->primitive == PRIM_GATHER ? read_gather(at, made) : read_scatter(at, made);
}
