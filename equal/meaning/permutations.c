// Permutations: each device has what another one had, or zeros. Which one it was are digits of its own number, turned or in
// another order, or else it is said of each device by itself.
#include "equal/meaning/read.h"

enum { NO_SOURCE_DEVICE = -1, MOST_PAIRS_APART = 64 };

// What each device has had from another one, by its number. Those without have zeros.
struct permuting {
    const struct at *at;
    struct viewed value;
    int64_t *sources, n;
    uint32_t n_without;
};

// The value of the device that the index says.
static bool value_from(const struct permuting *x, struct affine *device, struct viewed *made) {
    struct substitution by = {0};
    by.of[COORDINATE_DEVICE] = device;
    by.sizes[COORDINATE_DEVICE] = x->n;
    return affine_normal(device) && value_move(x->at->r->c, x->value, &by, made);
}

// Digits of the devices' numbers, turned or in another order. False: it is none of such.
static bool by_digits(const struct permuting *x, struct viewed *made) {
    struct affine device = affine_constant(x->sources[0]);
    return x->n_without == 0 &&
           affine_add_numbers(&device, x->sources, 1, x->n, COORDINATE_DEVICE) &&
           value_from(x, &device, made);
}

// One digit of the devices' numbers, by which those that have a source have what another one had.
struct turned {
    int64_t stride, extent, shift;
};

static int64_t source_of(const struct turned *t, int64_t device) {
    int64_t digit = device / t->stride % t->extent;
    return device + ((digit + t->shift) % t->extent - digit) * t->stride;
}

static bool fits(const struct turned *t, const int64_t *sources, int64_t n) {
    for (int64_t d = 0; d < n; d++)
        if (sources[d] != NO_SOURCE_DEVICE && sources[d] != source_of(t, d))
            return false;
    return true;
}

static bool find_turned(const int64_t *sources, int64_t n, struct turned *t) {
    int64_t first = 0;
    while (first < n && sources[first] == NO_SOURCE_DEVICE)
        first++;
    for (t->stride = 1; t->stride <= n; t->stride++)
        for (t->extent = 1; n % t->stride == 0 && t->extent <= n / t->stride; t->extent++) {
            if (n / t->stride % t->extent != 0)
                continue;
            int64_t from = first < n ? sources[first] / t->stride % t->extent : 0;
            t->shift = (from - first / t->stride % t->extent + t->extent) % t->extent;
            if (fits(t, sources, n))
                return true;
        }
    return false;
}

// One where devices have a source: those without are the ones at one end of the digit.
static bool covered(const struct permuting *x, const struct turned *t, struct viewed *factor) {
    struct calculus *c = x->at->r->c;
    const struct coordinates *all = &x->at->all;
    int64_t least = t->extent, largest = -1;
    for (int64_t d = 0; d < x->n; d++) {
        int64_t digit = d / t->stride % t->extent;
        if (x->sources[d] == NO_SOURCE_DEVICE)
            continue;
        least = digit < least ? digit : least;
        largest = digit > largest ? digit : largest;
    }
    for (int64_t d = 0; d < x->n; d++) {
        int64_t digit = d / t->stride % t->extent;
        if ((x->sources[d] != NO_SOURCE_DEVICE) != (digit >= least && digit <= largest))
            return false;
    }
    struct affine digit = affine_constant(0);
    affine_push(&digit, (struct piece){1, t->stride, t->extent, 0, COORDINATE_DEVICE});
    struct viewed place = value_index(c, &digit);
    struct viewed above[] = {place, value_fraction(c, -least, 1)};
    struct viewed below[] = {value_scaled(c, place, -1, 1), value_fraction(c, largest, 1)};
    struct viewed both[] = {value_test(c, KIND_AT_LEAST, value_sum(c, above, 2, all), true, all),
                            value_test(c, KIND_AT_LEAST, value_sum(c, below, 2, all), true, all)};
    *factor = value_product(c, both, 2, 0, all);
    return true;
}

static bool by_turned_digit(const struct permuting *x, struct viewed *made) {
    struct turned t;
    struct viewed both[2];
    struct affine device = affine_constant(0);
    if (!find_turned(x->sources, x->n, &t) || !covered(x, &t, &both[0]))
        return false;
    int64_t above = t.stride * t.extent;
    affine_push(&device, (struct piece){1, 1, t.stride, 0, COORDINATE_DEVICE});
    affine_push(&device, (struct piece){t.stride, t.stride, t.extent, t.shift, COORDINATE_DEVICE});
    affine_push(&device, (struct piece){above, above, x->n / above, 0, COORDINATE_DEVICE});
    if (!value_from(x, &device, &both[1]))
        return false;
    *made = value_product(x->at->r->c, both, 2, 0, &x->at->all);
    return true;
}

// Whatever devices have of which, each by itself: the sum of what is zero elsewhere.
static bool by_pairs(const struct permuting *x, struct viewed *made) {
    struct calculus *c = x->at->r->c;
    const struct coordinates *all = &x->at->all;
    struct viewed summands[MOST_PAIRS_APART];
    uint32_t n = 0;
    if (x->n - x->n_without > MOST_PAIRS_APART)
        return false;
    for (int64_t d = 0; d < x->n; d++) {
        struct affine own = affine_coordinate(COORDINATE_DEVICE, x->n);
        struct affine device = affine_constant(x->sources[d]);
        struct viewed both[2];
        if (x->sources[d] == NO_SOURCE_DEVICE)
            continue;
        own.base = -d;
        both[0] = value_test(c, KIND_IS_ZERO, value_index(c, &own), true, all);
        if (!value_from(x, &device, &both[1]))
            return false;
        summands[n++] = value_product(c, both, 2, 0, all);
    }
    *made = value_sum(c, summands, n, all);
    return true;
}

bool read_permutation(const struct at *at, struct viewed value, struct viewed *made) {
    struct permuting x = {.at = at, .value = value, .n = at->r->graph->n_devices};
    x.sources = ARENA_ARRAY(&at->r->c->scratch, int64_t, (size_t)x.n + 1);
    for (int64_t d = 0; d < x.n; d++)
        x.sources[d] = NO_SOURCE_DEVICE;
    for (uint32_t i = 0; i < at->by->attributes->n_pairs; i++)
        x.sources[at->by->attributes->pairs[i].to] = at->by->attributes->pairs[i].from;
    for (int64_t d = 0; d < x.n; d++)
        x.n_without += x.sources[d] == NO_SOURCE_DEVICE;
    return by_digits(&x, made) || by_turned_digit(&x, made) || by_pairs(&x, made);
}
