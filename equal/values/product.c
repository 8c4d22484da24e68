// Products in normal form: factors that are no products, summed over dimensions that at least one of them has. What is
// summed over and stands in one factor alone, which is a sum, is summed inside of it.
#include <string.h>

#include "equal/values/apart.h"
#include "equal/values/laws.h"
#include "equal/values/make.h"
#include "equal/values/together.h"
#include "equal/values/turns.h"
#include "ir/check.h"

enum { MOST_SCRATCH_BYTES = 256 << 20, MOST_DEPTH = 20, MOST_SPREAD = 16 };

// ---- factors ----------------------------------------------------------------------------------

// None yet; items are large, and set as they come.
static void begin_factors(struct factors *f, uint64_t summed, const struct coordinates *all) {
    f->n = 0;
    f->scale = SCALE_ONE;
    f->is_zero = false;
    f->all = *all;
    f->summed = summed;
}

static bool collect(struct calculus *c, struct factors *f, struct viewed value);

static bool open_product(struct calculus *c, struct factors *f, struct viewed value) {
    const int64_t *flags = value_attributes(c, value.of.of);
    uint32_t n = (uint32_t)*flags++;
    struct view view, whole;
    view_get(&c->views, value.view, &view);
    if (!unfold_view(flags, flags + n, n, &view, &f->all, &f->summed, &whole))
        return false;
    struct viewed unfolded = {value.of, view_intern(&c->views, &whole)};
    for (uint32_t i = 0; i < term_node(&c->terms, value.of.of)->n_parts; i++) {
        struct viewed part;
        if (!part_value(c, unfolded, i, &part) || !collect(c, f, part))
            return false;
    }
    return true;
}

static bool collect(struct calculus *c, struct factors *f, struct viewed value) {
    int kind = term_kind(&c->terms, value.of.of);
    f->scale = scale_product(&c->terms, f->scale, value.of.scale);
    value.of.scale = SCALE_ONE;
    if (kind == NODE_ZERO)
        f->is_zero = true;
    if (kind == NODE_ZERO || kind == NODE_ONE)
        return true;
    if (value_space(c, value.of.of)->n == 0 && !is_exponential(c, value.of.of)) {
        scale_id scalar = scale_of_term(&c->terms, value.of.of);
        f->scale = scale_product(&c->terms, f->scale, scalar);
        return true;
    }
    if (kind == KIND_PRODUCT)
        return open_product(c, f, value);
    if (f->n == MAX_PRODUCT) {
        c->reached = BOUND_FACTORS;
        return false;
    }
    operand_set(c, value, &f->items[f->n++]);
    return true;
}

static bool collect_again(struct calculus *c, struct factors *f) {
    struct operand items[MAX_PRODUCT];
    uint32_t n = f->n;
    for (uint32_t i = 0; i < n; i++)
        operand_copy(&items[i], &f->items[i]);
    f->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!collect(c, f, value_of_operand(c, &items[i])))
            return false;
    return true;
}

// ---- what no factor has -----------------------------------------------------------------------

// How often each place of a summed coordinate is met that factors tell apart. False: not equally often.
static bool count_unused(const struct joined *joined, uint32_t coordinate, int64_t size,
                         int64_t *times) {
    struct piece pieces[MAX_DIMENSIONS * 2];
    uint32_t n = 0;
    for (uint32_t d = 0; d < joined->space.n; d++)
        for (uint32_t i = 0; i < joined->from[d].n; i++)
            if (joined->from[d].pieces[i].coordinate == coordinate) {
                if (n == MAX_DIMENSIONS * 2)
                    return false;
                pieces[n++] = joined->from[d].pieces[i];
            }
    int64_t at = 1;
    for (uint32_t done = 0; done < n; done++) {
        const struct piece *next = NULL;
        for (uint32_t i = 0; i < n; i++)
            if (pieces[i].stride >= at && (!next || pieces[i].stride < next->stride))
                next = &pieces[i];
        if (!next || next->stride % at != 0)
            return false;
        *times *= next->stride / at;
        at = next->stride * next->extent;
    }
    *times *= size / at;
    return size % at == 0;
}

static bool count_all_unused(const struct factors *f, const struct joined *joined, int64_t *times) {
    *times = 1;
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (f->summed >> k & 1 && f->all.sizes[k] > 1 &&
            !count_unused(joined, k, f->all.sizes[k], times))
            return false;
    return true;
}

// ---- what one factor has ----------------------------------------------------------------------

// The folded dimensions that this factor alone has.
static uint64_t find_private(const struct factors *f, const struct joined *joined, uint32_t i) {
    uint64_t own = 0;
    for (uint32_t d = 0; d < joined->space.n; d++) {
        if (!joined->folded[d])
            continue;
        bool here = false, elsewhere = false;
        for (uint32_t o = 0; o < f->n; o++)
            if (operand_has(&f->items[o], d))
                *(o == i ? &here : &elsewhere) = true;
        if (here && !elsewhere)
            own |= UINT64_C(1) << d;
    }
    return own;
}

static struct coordinates without(const struct coordinates *all, uint64_t mask) {
    struct coordinates left = *all;
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (mask >> k & 1)
            left.sizes[k] = 0;
    return left;
}

static struct viewed sum_inside(struct calculus *c, const struct operand *sum, uint64_t own,
                                const struct coordinates *space) {
    struct viewed value = value_of_operand(c, sum);
    uint32_t n = term_node(&c->terms, value.of.of)->n_parts;
    struct viewed *parts = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct viewed part;
        if (!part_value(c, value, i, &part))
            return value_unknown(c, space);
        parts[i] = value_product(c, &part, 1, own, space);
    }
    struct coordinates left = without(space, own);
    struct viewed made = value_sum(c, parts, n, &left);
    made.of.scale = scale_product(&c->terms, made.of.scale, value.of.scale);
    return made;
}

// The product over the joined space once more, where a factor has summed inside of it what it alone has. False: none
// has.
static bool push_private(struct calculus *c, const struct factors *f, const struct joined *joined,
                         struct viewed *made) {
    for (uint32_t i = 0; i < f->n; i++) {
        uint64_t own = find_private(f, joined, i);
        if (!own || term_kind(&c->terms, f->items[i].of) != NODE_SUM)
            continue;
        struct joined_space space;
        struct viewed factors[MAX_PRODUCT];
        joined_coordinates(joined, &space);
        for (uint32_t k = 0; k < f->n; k++)
            factors[k] = k == i ? sum_inside(c, &f->items[k], own, &space.all)
                                : value_of_operand(c, &f->items[k]);
        space.all = without(&space.all, own);
        struct viewed product = value_product(c, factors, f->n, space.folded & ~own, &space.all);
        if (!value_move(c, product, &space.back, made))
            *made = value_unknown(c, &f->all);
        return true;
    }
    return false;
}

// ---- squares ----------------------------------------------------------------------------------

// A sum as that of summands that have the dimension, and that of others. False: all have it, or none.
static bool split_sum(struct calculus *c, const struct operand *sum, uint32_t d,
                      const struct coordinates *all, struct viewed split[2]) {
    uint32_t n = term_node(&c->terms, sum->of)->n_parts, counts[2] = {0, 0};
    struct viewed *parts[2], whole = value_of_operand(c, sum), part;
    for (int lacks = 0; lacks < 2; lacks++)
        parts[lacks] = ARENA_ARRAY(&c->scratch, struct viewed, n);
    view_id last = VIEW_SCALAR;
    bool lacks = true; // what has the last view
    for (uint32_t i = 0; i < n; i++) {
        if (!part_value(c, whole, i, &part))
            return false;
        if (part.view != last) {
            struct operand opened;
            operand_set(c, part, &opened);
            lacks = !operand_has(&opened, d);
            last = part.view;
        }
        parts[lacks][counts[lacks]++] = part;
    }
    if (counts[0] == 0 || counts[1] == 0)
        return false;
    for (int lacks = 0; lacks < 2; lacks++) {
        split[lacks] = value_sum(c, parts[lacks], counts[lacks], all);
        split[lacks].of.scale = scale_product(&c->terms, split[lacks].of.scale, sum->scale);
    }
    return true;
}

// A folded dimension that two equal factors have, which are sums, and no other.
static bool find_square(struct calculus *c, const struct factors *f, const struct joined *joined,
                        uint32_t *i, uint32_t *k, uint32_t *d) {
    for (*i = 0; *i < f->n; ++*i)
        for (*k = *i + 1; *k < f->n; ++*k) {
            if (term_kind(&c->terms, f->items[*i].of) != NODE_SUM ||
                !term_equal(f->items[*i].of, f->items[*k].of) ||
                !value_equal(value_of_operand(c, &f->items[*i]),
                             value_of_operand(c, &f->items[*k])))
                continue;
            for (*d = 0; *d < joined->space.n; ++*d) {
                bool alone = joined->folded[*d] && operand_has(&f->items[*i], *d);
                for (uint32_t o = 0; o < f->n && alone; o++)
                    alone = o == *i || o == *k || !operand_has(&f->items[o], *d);
                if (alone)
                    return true;
            }
        }
    return false;
}

// The sum of squares of what has been centred, as a variance is made of it, is that of squares and of means:
//
//   sum(d: (x + m)^2) = sum(d: x^2) + 2 m sum(d: x) + sum(d: m^2)         where m lacks d
static bool expand_square(struct calculus *c, const struct factors *f, const struct joined *joined,
                          struct viewed *made) {
    uint32_t i, k, d, n_rest = 0;
    struct viewed split[2], rest[MAX_PRODUCT], summands[3];
    struct joined_space space;
    if (!find_square(c, f, joined, &i, &k, &d))
        return false;
    joined_coordinates(joined, &space);
    if (!split_sum(c, &f->items[i], d, &space.all, split))
        return false;
    for (uint32_t o = 0; o < f->n; o++)
        if (o != i && o != k)
            rest[n_rest++] = value_of_operand(c, &f->items[o]);
    for (int lack = 0; lack < 3; lack++) { // of the two
        rest[n_rest] = split[lack > 1];
        rest[n_rest + 1] = split[lack > 0];
        summands[lack] = value_product(c, rest, n_rest + 2, space.folded, &space.all);
    }
    summands[1] = value_scaled(c, summands[1], 2, 1);
    struct coordinates left = without(&space.all, space.folded);
    struct viewed sum = value_sum(c, summands, 3, &left);
    if (!value_move(c, sum, &space.back, made))
        *made = value_unknown(c, &f->all);
    return true;
}

// ---- sums that are tested ---------------------------------------------------------------------

// Whether all that has the dimension beside the factor is a test.
static bool is_tested_alone(const struct calculus *c, const struct factors *f, uint32_t factor,
                            uint32_t d) {
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++) {
        if (i == factor || !operand_has(&f->items[i], d))
            continue;
        if (!is_test_kind(term_kind(&c->terms, f->items[i].of)))
            return false;
        any = true;
    }
    return any;
}

// The product as two, in which factor i is its summands that have the dimension, and the others. False: all have it, or none,
// or the factor is no sum.
static bool split_factor(struct calculus *c, const struct factors *f, const struct joined *joined,
                         uint32_t i, uint32_t d, struct viewed *made) {
    struct joined_space space;
    struct viewed split[2], factors[MAX_PRODUCT], summands[2];
    joined_coordinates(joined, &space);
    if (!joined->folded[d] || term_kind(&c->terms, f->items[i].of) != NODE_SUM ||
        !operand_has(&f->items[i], d) || !split_sum(c, &f->items[i], d, &space.all, split))
        return false;
    for (int lacks = 0; lacks < 2; lacks++) {
        for (uint32_t o = 0; o < f->n; o++)
            factors[o] = o == i ? split[lacks] : value_of_operand(c, &f->items[o]);
        summands[lacks] = value_product(c, factors, f->n, space.folded, &space.all);
    }
    struct coordinates left = without(&space.all, space.folded);
    struct viewed sum = value_sum(c, summands, 2, &left);
    if (!value_move(c, sum, &space.back, made))
        *made = value_unknown(c, &f->all);
    return true;
}

// Splits a sum of which some summands lack what is summed over: what is picked out of it by tests is picked out of its
// summands, of which some may be the same everywhere.
//
//   sum(d: t (x + m)) = sum(d: t x) + m sum(d: t)                         where m lacks d
//
// Where products are spread over sums so is any such, as one from which a mean is taken away.
static bool split_mixed(struct calculus *c, const struct factors *f, const struct joined *joined,
                        struct viewed *made) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t d = 0; d < joined->space.n; d++)
            if ((c->distributes || is_tested_alone(c, f, i, d)) &&
                split_factor(c, f, joined, i, d, made))
                return true;
    return false;
}

// ---- sums of sums -----------------------------------------------------------------------------

// Some places of a dimension, behind `base`: those of all digits that are left.
struct places {
    int64_t base;
    struct digit left[MOST_DIGITS_OF + 1];
    uint32_t n_left;
};

// The sum over these places of the dimension, of the factors.
static struct viewed sum_places(struct calculus *c, const struct viewed *factors, uint32_t n,
                                uint32_t d, const struct places *places,
                                const struct joined_space *joined, uint64_t folded) {
    struct coordinates space = joined->all;
    struct substitution by = {{0}, {0}};
    struct affine index = affine_constant(places->base);
    struct viewed placed[MAX_PRODUCT];
    bool can = true;
    space.sizes[d] = 0;
    for (uint32_t i = 0; i < places->n_left && can; i++) {
        const struct digit *left = &places->left[i];
        uint32_t k = add_coordinate(&space, left->count);
        can = k < MAX_COORDINATES &&
              affine_push(&index, (struct piece){left->stride, 1, left->count, 0, k});
        folded |= can ? UINT64_C(1) << k : 0;
    }
    by.of[d] = &index;
    by.sizes[d] = joined->all.sizes[d];
    can = can && affine_normal(&index);
    for (uint32_t k = 0; k < n && can; k++)
        can = value_move(c, factors[k], &by, &placed[k]);
    return can ? value_product(c, placed, n, folded, &space) : value_unknown(c, &space);
}

// The sum over a dimension as that of sums over some of its places each, of all factors, or of those that have it.
static struct viewed sum_all_places(struct calculus *c, const struct factors *f,
                                    const struct joined *joined, uint32_t d,
                                    const struct places *places, uint32_t n) {
    struct viewed *summands = ARENA_ARRAY(&c->scratch, struct viewed, n + 1), made;
    struct viewed inside[MAX_PRODUCT], outside[MAX_PRODUCT + 1];
    uint32_t n_inside = 0, n_outside = 0;
    struct joined_space space;
    joined_coordinates(joined, &space);
    uint64_t folded = space.folded & ~(UINT64_C(1) << d);
    for (uint32_t k = 0; k < f->n; k++) {
        bool stays = c->outside_of_turns && !operand_has(&f->items[k], d);
        *(stays ? &outside[n_outside++] : &inside[n_inside++]) = value_of_operand(c, &f->items[k]);
    }
    for (uint32_t i = 0; i < n; i++)
        summands[i] =
            sum_places(c, inside, n_inside, d, &places[i], &space, n_outside ? 0 : folded);
    struct coordinates left = without(&space.all, space.folded);
    if (n_outside > 0) {
        struct coordinates all = without(&space.all, UINT64_C(1) << d);
        outside[n_outside++] = value_sum(c, summands, n, &all);
        made = value_product(c, outside, n_outside, folded, &all);
    } else {
        made = value_sum(c, summands, n, &left);
    }
    return value_move(c, made, &space.back, &made) ? made : value_unknown(c, &f->all);
}

// The places of each turn. How many there are.
static uint32_t find_turns(const struct digits *digits, int64_t size, struct places *places) {
    struct places rest = {.base = 0};
    uint32_t n = 1;
    int64_t at = 1;
    for (uint32_t i = 0; i <= digits->n; i++) {
        int64_t next = i < digits->n ? digits->of[i].stride : size;
        if (next > at)
            rest.left[rest.n_left++] = (struct digit){at, next / at};
        at = i < digits->n ? next * digits->of[i].count : at;
    }
    places[0] = rest;
    for (uint32_t i = 0; i < digits->n; i++) {
        const struct digit *digit = &digits->of[i];
        for (uint32_t k = n; k < n * (uint32_t)digit->count; k++) {
            places[k] = rest;
            places[k].base = places[k - n].base + digit->stride;
        }
        n *= (uint32_t)digit->count;
    }
    return n;
}

static bool sum_in_turns(struct calculus *c, const struct factors *f, const struct joined *joined,
                         struct viewed *made) {
    for (uint32_t d = 0; d < joined->space.n; d++) {
        if (!joined->folded[d] || !joined->space.turns[d])
            continue;
        struct places places[MOST_TURNS_OF];
        const struct digits *turns = &c->turns->digits[joined->space.turns[d]];
        uint32_t n = find_turns(turns, joined->space.sizes[d], places);
        *made = sum_all_places(c, f, joined, d, places, n);
        return true;
    }
    return false;
}

// Over what stands together: part by part.
static bool sum_in_parts(struct calculus *c, const struct factors *f, const struct joined *joined,
                         struct viewed *made) {
    for (uint32_t i = 0; i < f->n; i++) {
        const int64_t *sizes;
        const struct affine *index = &f->items[i].view.of[0];
        uint32_t n = standing_sizes(c, f->items[i].of, &sizes);
        if (n == 0 || index->n != 1 || index->base != 0 || index->pieces[0].coefficient != 1 ||
            !joined->folded[index->pieces[0].coordinate] ||
            index->pieces[0].extent != value_space(c, f->items[i].of)->sizes[0])
            continue;
        struct places *places = ARENA_ARRAY(&c->scratch, struct places, n);
        int64_t begin = 0;
        for (uint32_t k = 0; k < n; begin += sizes[k++])
            places[k] = (struct places){begin, {{1, sizes[k]}}, 1};
        *made = sum_all_places(c, f, joined, (uint32_t)index->pieces[0].coordinate, places, n);
        return true;
    }
    return false;
}

// ---- products of a sum ------------------------------------------------------------------------

// A factor that is a sum of not too many summands; of several where all together make few. False: there is none.
static bool find_sum(const struct calculus *c, const struct factors *f, uint32_t *sum) {
    uint64_t summands = 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n && summands <= MOST_TURNS_OF; i++)
        if (term_kind(&c->terms, f->items[i].of) == NODE_SUM) {
            summands *= term_node(&c->terms, f->items[i].of)->n_parts;
            *sum = i;
            n++;
        }
    return n > 0 && f->n > 1 && summands <= (n == 1 ? MOST_TURNS_OF : MOST_SPREAD);
}

// Multiplies each summand with the other factors, where nothing is summed over; but not with exponentials, which leave a
// sum where all summands have them.
static bool multiply_summands(struct calculus *c, const struct factors *f,
                              const struct joined *joined, struct viewed *made) {
    uint32_t sum = 0, n_others = 0, n_outside = 0;
    struct joined_space space;
    struct viewed factors[MAX_PRODUCT], outside[MAX_PRODUCT];
    joined_coordinates(joined, &space);
    if (space.folded || !find_sum(c, f, &sum))
        return false;
    uint32_t n = term_node(&c->terms, f->items[sum].of)->n_parts;
    struct viewed *summands = ARENA_ARRAY(&c->scratch, struct viewed, n);
    for (uint32_t i = 0; i < f->n; i++) {
        struct viewed factor = value_of_operand(c, &f->items[i]);
        if (i != sum)
            *(is_exponential(c, factor.of.of) ? &outside[n_outside++] : &factors[n_others++]) =
                factor;
    }
    if (n_others == 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct operand part;
        if (!open_part(c, (struct scaled){f->items[sum].of, SCALE_ONE}, &f->items[sum].view, i,
                       &part))
            return false;
        factors[n_others] = value_of_operand(c, &part);
        summands[i] = value_product(c, factors, n_others + 1, 0, &space.all);
    }
    outside[n_outside++] = value_sum(c, summands, n, &space.all);
    struct viewed all = value_product(c, outside, n_outside, 0, &space.all);
    return value_move(c, all, &space.back, made);
}

// ---- all together -----------------------------------------------------------------------------

static struct viewed scaled_by(struct calculus *c, struct viewed value, scale_id scale,
                               int64_t times) {
    scale_id number = scale_rational(&c->terms, times, 1);
    value.of.scale = scale_product(&c->terms, value.of.scale, scale);
    value.of.scale = scale_multiply(&c->terms, value.of.scale, number);
    return value_normal_scalar(c, value);
}

static struct viewed multiply_part(struct calculus *c, const struct element_function *function,
                                   const struct viewed *values, uint32_t n,
                                   const struct coordinates *all) {
    return value_product(c, values, n, function->folded, all);
}

static bool multiply_parts(struct calculus *c, const struct factors *f, const struct joined *joined,
                           struct viewed *made) {
    struct joined_space space;
    joined_coordinates(joined, &space);
    struct element_function product = {.make = multiply_part, .folded = space.folded};
    return made_by_parts(c, &product, f->items, f->n, joined, made);
}

static bool multiply_dissolved(struct calculus *c, const struct factors *f,
                               const struct joined *joined, struct viewed *made) {
    struct joined_space space;
    joined_coordinates(joined, &space);
    struct element_function product = {.make = multiply_part, .folded = space.folded};
    return made_of_dissolved(c, &product, f->items, f->n, joined, made);
}

static struct viewed finish(struct calculus *c, struct factors *f, const struct coordinates *left) {
    struct joined joined;
    int64_t times;
    if (!join_flat(c, f->items, f->n, f->summed, true, &joined) ||
        !count_all_unused(f, &joined, &times))
        return value_unknown(c, left);
    struct viewed made;
    if (multiply_dissolved(c, f, &joined, &made) ||
        (c->turns && sum_in_turns(c, f, &joined, &made)) || sum_in_parts(c, f, &joined, &made))
        return scaled_by(c, made, f->scale, times);
    if (push_private(c, f, &joined, &made) || multiply_parts(c, f, &joined, &made) ||
        expand_square(c, f, &joined, &made) || split_mixed(c, f, &joined, &made) ||
        (c->distributes && multiply_summands(c, f, &joined, &made)))
        return scaled_by(c, made, f->scale, times);
    bool folds = false;
    for (uint32_t d = 0; d < joined.space.n; d++)
        folds |= joined.folded[d];
    if (f->n == 0) {
        made = value_fraction(c, 1, 1);
    } else if (f->n == 1 && !folds) {
        struct joined_space space;
        joined_coordinates(&joined, &space);
        if (!value_move(c, value_of_operand(c, &f->items[0]), &space.back, &made))
            return value_unknown(c, left);
    } else {
        made = value_of_joined(c, KIND_PRODUCT, f->items, f->n, &joined);
    }
    return scaled_by(c, made, f->scale, times);
}

// ---- exponentials -----------------------------------------------------------------------------

// Two of multiples of one exponent are one.
static bool join_exponentials(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = i + 1; k < f->n; k++) {
            struct viewed a, b, both[2];
            struct term one = f->items[i].of, other = f->items[k].of;
            if (!is_exponential(c, one) || !is_exponential(c, other) ||
                !term_equal(bare_part(c, one, 0), bare_part(c, other, 0)) ||
                !exponent_of(c, value_of_operand(c, &f->items[i]), &a) ||
                !exponent_of(c, value_of_operand(c, &f->items[k]), &b) || a.view != b.view)
                continue;
            both[0] = a;
            both[1] = b;
            struct viewed exponent = value_sum(c, both, 2, &f->all);
            f->items[i] = operand_of(c, value_exponential(c, exponent, &f->all));
            f->items[k] = f->items[--f->n];
            return true;
        }
    return false;
}

// The inverse, a power, of a number and a multiple of the exponential: the numbers a and b of 1 / (a + b e). False: it is no
// such.
static bool is_inverse_with(struct calculus *c, const struct operand *inverse,
                            struct viewed exponential, int64_t a[2], int64_t b[2]) {
    struct operand sum, part;
    const int64_t *exponent = value_attributes(c, inverse->of);
    if (exponent[0] != -1 || exponent[1] != 1 ||
        !open_part(c, (struct scaled){inverse->of, SCALE_ONE}, &inverse->view, 0, &sum) ||
        term_kind(&c->terms, sum.of) != NODE_SUM || term_node(&c->terms, sum.of)->n_parts != 2)
        return false;
    bool has[2] = {false, false};
    for (uint32_t i = 0; i < 2; i++) {
        if (!open_part(c, (struct scaled){sum.of, SCALE_ONE}, &sum.view, i, &part))
            return false;
        part.scale = scale_product(&c->terms, part.scale, sum.scale);
        struct viewed value = value_of_operand(c, &part);
        const struct scale *scale = scale_get(&c->terms, value.of.scale);
        if (value_number(c, value, &a[0], &a[1])) {
            has[0] = true;
            continue;
        }
        b[0] = scale->numerator;
        b[1] = scale->denominator;
        has[1] = scale_is_fraction(scale) && term_equal(value.of.of, exponential.of.of) &&
                 value.view == exponential.view;
    }
    return has[0] && has[1];
}

// An exponential over a sum with it, as what is left of a logistic function that is differentiated:
//
//   e / (a + b e) = (1 - a / (a + b e)) / b
static bool divide_exponential(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = 0; k < f->n; k++) {
            if (i == k || !is_exponential(c, f->items[i].of) ||
                term_kind(&c->terms, f->items[k].of) != KIND_POWER)
                continue;
            struct viewed exponential = value_of_operand(c, &f->items[i]);
            int64_t a[2], b[2];
            if (!is_inverse_with(c, &f->items[k], exponential, a, b))
                continue;
            struct viewed inverse = value_of_operand(c, &f->items[k]);
            struct viewed both[] = {value_fraction(c, 1, 1), value_scaled(c, inverse, -a[0], a[1])};
            struct viewed rest = value_scaled(c, value_sum(c, both, 2, &f->all), b[1], b[0]);
            f->items[i] = operand_of(c, rest);
            f->items[k] = f->items[--f->n];
            return true;
        }
    return false;
}

static struct viewed multiply(struct calculus *c, const struct viewed *values, uint32_t n,
                              uint64_t summed, const struct coordinates *all) {
    struct factors f;
    begin_factors(&f, summed, all);
    struct coordinates left = without(all, summed);
    for (uint32_t i = 0; i < n; i++)
        if (!collect(c, &f, values[i]))
            return value_unknown(c, &left);
    while (!f.is_zero &&
           (apply_law(c, &f) || join_exponentials(c, &f) || divide_exponential(c, &f)))
        if (!collect_again(c, &f))
            return value_unknown(c, &left);
    return f.is_zero ? value_zero(c) : finish(c, &f, &left);
}

// Sums of sums of products may be as many as turns to the power of sums: there is an end to what one instruction may
// take, and to all.
struct viewed normal_product(struct calculus *c, const struct viewed *values, uint32_t n,
                             uint64_t summed, const struct coordinates *all) {
    if (arena_used_bytes(&c->scratch) > MOST_SCRATCH_BYTES || c->depth == MOST_DEPTH)
        c->products_left = 0;
    if (c->products_left <= 0) {
        struct coordinates left = without(all, summed);
        return value_unknown(c, &left);
    }
    c->products_left--;
    c->depth++;
    struct viewed made = multiply(c, values, n, summed, all);
    c->depth--;
    return made;
}

// ---- parts of a product -----------------------------------------------------------------------

bool split_product(struct calculus *c, struct viewed value, bool exponentials, uint32_t most,
                   const struct coordinates *all, struct split_product *split) {
    struct factors f;
    begin_factors(&f, 0, all);
    struct viewed rest[MAX_PRODUCT];
    uint32_t n_rest = 0;
    split->n = 0;
    if (!collect(c, &f, value))
        return false;
    for (uint32_t i = 0; i < f.n; i++) {
        struct viewed factor = value_of_operand(c, &f.items[i]);
        bool sums = false;
        for (uint32_t k = 0; k < f.items[i].view.n; k++)
            for (uint32_t p = 0; p < f.items[i].view.of[k].n; p++)
                sums |= f.summed >> f.items[i].view.of[k].pieces[p].coordinate & 1;
        if (sums || split->n == most || (exponentials && !is_exponential(c, factor.of.of)))
            rest[n_rest++] = factor;
        else
            split->apart[split->n++] = factor;
    }
    split->rest = value_product(c, rest, n_rest, f.summed, &f.all);
    split->rest.of.scale = scale_product(&c->terms, split->rest.of.scale, f.scale);
    return true;
}
