// Laws of products with tests among their factors, which are one or zero. Where a product is not zero its tests hold, so
// what other tests are about may be read as if they did:
//
//   not_negative(x) f(select(not_negative(x), a, b)) = not_negative(x) f(a)       and the same of clamps
//   not_negative(x) is_zero(y) = is_zero(y)      where x is not negative if y is zero
//   sum(i: is_zero(i - j) f(i)) = f(j)           where j is among the places of i
//   is_zero(i - device) f(device) = is_zero(i - device) f(i)
//   is_zero(x) is_zero(y) = 0                    where x - y is never zero
//
// These make the read of a part of a table, guarded by whether the row is in the part, the summand of a read of the
// whole table.
#include "equal/values/laws.h"

#include "equal/values/make.h"
#include "equal/values/places.h"
#include "equal/values/range.h"

enum { MOST_LEVELS = 5 };

static void remove_factor(struct factors *f, uint32_t i) {
    f->items[i] = f->items[--f->n];
}

// What a test is about.
static bool open_test(struct calculus *c, const struct operand *test, struct viewed *tested) {
    struct operand part;
    if (!open_part(c, (struct scaled){test->of, SCALE_ONE}, &test->view, 0, &part))
        return false;
    *tested = value_of_operand(c, &part);
    return true;
}

// ---- what tests decide ------------------------------------------------------------------------

struct deciding {
    struct calculus *c;
    const struct factors *f;
    uint32_t without; // the factor that is being read
};

// Whether among the other factors is this test, or its opposite (`*holds` false).
static bool is_decided(const struct deciding *d, struct viewed which, bool *holds) {
    struct viewed opposite = value_not(d->c, which, &d->f->all);
    for (uint32_t i = 0; i < d->f->n; i++) {
        if (i == d->without || !is_test_kind(term_kind(&d->c->terms, d->f->items[i].of)))
            continue;
        struct viewed test = value_of_operand(d->c, &d->f->items[i]);
        *holds = value_equal(test, which);
        if (*holds || value_equal(test, opposite))
            return true;
    }
    return false;
}

// Whether other factors say that a - b is not negative, or it is known.
static bool is_at_least(const struct deciding *d, struct viewed a, struct viewed b) {
    bool holds;
    struct viewed both[] = {a, value_scaled(d->c, b, -1, 1)};
    struct viewed difference = value_sum(d->c, both, 2, &d->f->all);
    struct bounds bounds = value_bounds(d->c, difference);
    if (bounds.below && bounds.least >= 0)
        return true;
    struct viewed test = value_test(d->c, KIND_AT_LEAST, difference, true, &d->f->all);
    return is_decided(d, test, &holds) && holds;
}

static struct viewed decide(struct deciding *d, struct viewed value, int level);

static struct viewed decide_part(struct deciding *d, struct viewed value, uint32_t i, int level) {
    struct operand part;
    struct view view;
    view_get(&d->c->views, value.view, &view);
    if (!open_part(d->c, value.of, &view, i, &part))
        return value_unknown(d->c, &d->f->all);
    return decide(d, value_of_operand(d->c, &part), level + 1);
}

// What was made of the value's term, with the value's scale.
static struct viewed scaled_as(struct deciding *d, struct viewed made, struct viewed value) {
    made.of.scale = scale_product(&d->c->terms, made.of.scale, value.of.scale);
    return made;
}

static struct viewed decide_sum(struct deciding *d, struct viewed value, int level) {
    uint32_t n = term_node(&d->c->terms, value.of.of)->n_parts;
    struct viewed *parts = ARENA_ARRAY(&d->c->scratch, struct viewed, n);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = decide_part(d, value, i, level);
    return scaled_as(d, value_sum(d->c, parts, n, &d->f->all), value);
}

// A choice between something and zero: tests that hold are left out. What is summed over stays.
static struct viewed decide_product(struct deciding *d, struct viewed value, int level) {
    const int64_t *flags = value_attributes(d->c, value.of.of);
    struct viewed parts[MAX_PRODUCT + 1];
    uint32_t n = term_node(&d->c->terms, value.of.of)->n_parts, kept = 0;
    bool any = false;
    for (int64_t i = 0; i < flags[0]; i++)
        any |= flags[1 + i];
    if (any || n > MAX_PRODUCT)
        return value;
    for (uint32_t i = 0; i < n; i++) {
        bool holds = false;
        parts[kept] = decide_part(d, value, i, level);
        if (!is_test_kind(term_kind(&d->c->terms, parts[kept].of.of)) ||
            !is_decided(d, parts[kept], &holds)) {
            kept++;
            continue;
        }
        if (!holds)
            return value_zero(d->c);
    }
    return scaled_as(d, value_product(d->c, parts, kept, 0, &d->f->all), value);
}

static struct viewed decide_extreme(struct deciding *d, struct viewed value, int level) {
    bool largest = term_kind(&d->c->terms, value.of.of) == KIND_POINTWISE + PRIM_MAXIMUM;
    struct viewed parts[] = {decide_part(d, value, 0, level), decide_part(d, value, 1, level)};
    for (int i = 0; i < 2; i++)
        if (is_at_least(d, parts[i], parts[!i]))
            return scaled_as(d, parts[largest ? i : !i], value);
    return value;
}

static struct viewed decide(struct deciding *d, struct viewed value, int level) {
    struct viewed parts[3], made;
    int64_t numerator, denominator;
    bool holds;
    if (level > MOST_LEVELS)
        return value;
    switch (term_kind(&d->c->terms, value.of.of)) {
    case NODE_SUM:
        return decide_sum(d, value, level);
    case KIND_POINTWISE + PRIM_SELECT:
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = decide_part(d, value, i, level);
        if (value_number(d->c, parts[0], &numerator, &denominator))
            return scaled_as(d, parts[numerator ? 1 : 2], value);
        if (is_decided(d, parts[0], &holds))
            return scaled_as(d, parts[holds ? 1 : 2], value);
        return value;
    case KIND_AT_LEAST:
        if (!term_node(&d->c->terms, value.of.of)->key->attributes) // of reals
            return value;
        parts[0] = decide_part(d, value, 0, level);
        made = value_test(d->c, KIND_AT_LEAST, parts[0], true, &d->f->all);
        if (is_test_kind(term_kind(&d->c->terms, made.of.of)) && is_decided(d, made, &holds))
            return scaled_as(d, holds ? value_fraction(d->c, 1, 1) : value_zero(d->c), value);
        return scaled_as(d, made, value);
    case KIND_PRODUCT:
        return decide_product(d, value, level);
    case KIND_POINTWISE + PRIM_MAXIMUM:
    case KIND_POINTWISE + PRIM_MINIMUM:
        return decide_extreme(d, value, level);
    case KIND_POINTWISE + PRIM_CLAMP:
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = decide_part(d, value, i, level);
        if (is_at_least(d, parts[1], parts[0]) && is_at_least(d, parts[2], parts[1]))
            return scaled_as(d, parts[1], value);
        return value;
    default:
        return value;
    }
}

static bool decide_tests(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct viewed tested;
        struct deciding d = {.c = c, .f = f, .without = i};
        int kind = term_kind(&c->terms, f->items[i].of);
        if (kind != KIND_IS_ZERO || !open_test(c, &f->items[i], &tested))
            continue;
        struct viewed read = decide(&d, tested, 0);
        bool integers = term_node(&c->terms, f->items[i].of)->key->attributes;
        struct viewed made = value_test(c, KIND_IS_ZERO, read, integers, &f->all);
        if (value_equal(made, value_of_operand(c, &f->items[i])))
            continue;
        f->is_zero |= value_is_zero(c, made);
        if (term_kind(&c->terms, made.of.of) == NODE_ONE)
            remove_factor(f, i);
        else
            f->items[i] = operand_of(c, made);
        return true;
    }
    return false;
}

struct viewed decided_where(struct calculus *c, const struct viewed *tests, uint32_t n,
                            struct viewed value, const struct coordinates *all) {
    struct factors f = {.n = 0, .scale = SCALE_ONE, .all = *all};
    struct deciding d = {.c = c, .f = &f, .without = MAX_PRODUCT};
    for (uint32_t i = 0; i < n; i++)
        operand_set(c, tests[i], &f.items[f.n++]);
    return decide(&d, value, 0);
}

// ---- tests that follow ------------------------------------------------------------------------

// Whether a test follows from what is zero: then adding that to what it is about, or taking it away, changes nothing.
static bool follows(struct calculus *c, const struct factors *f, struct viewed tested,
                    struct viewed zero) {
    for (int sign = -1; sign <= 1; sign += 2) {
        struct viewed both[] = {tested, value_scaled(c, zero, sign, 1)};
        struct bounds bounds = value_bounds(c, value_sum(c, both, 2, &f->all));
        if (bounds.below && bounds.least >= 0)
            return true;
    }
    return false;
}

static bool drop_following(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct viewed tested, zero;
        if (term_kind(&c->terms, f->items[i].of) != KIND_AT_LEAST ||
            !term_node(&c->terms, f->items[i].of)->key->attributes || // of integers
            !open_test(c, &f->items[i], &tested))
            continue;
        for (uint32_t k = 0; k < f->n; k++)
            if (term_kind(&c->terms, f->items[k].of) == KIND_IS_ZERO &&
                open_test(c, &f->items[k], &zero) && follows(c, f, tested, zero)) {
                remove_factor(f, i);
                return true;
            }
    }
    return false;
}

// ---- sums with one summand --------------------------------------------------------------------

// A summed coordinate that the index says: what the rest of it is then. False: none, or not one that is always there.
static bool solve(const struct factors *f, const struct affine *index, uint32_t *coordinate,
                  struct affine *is) {
    for (uint32_t i = 0; i < index->n; i++) {
        const struct piece *piece = &index->pieces[i];
        int64_t size = f->all.sizes[piece->coordinate];
        bool whole = piece->stride == 1 && piece->extent == size && piece->shift == 0;
        if (!(f->summed >> piece->coordinate & 1) || !whole ||
            (piece->coefficient != 1 && piece->coefficient != -1))
            continue;
        struct affine rest = affine_constant(index->base);
        for (uint32_t k = 0; k < index->n; k++)
            if (k != i)
                affine_push(&rest, index->pieces[k]);
        *is = affine_constant(0);
        if (affine_has(&rest, (uint32_t)piece->coordinate) ||
            !affine_add(is, &rest, -piece->coefficient) || !affine_normal(is) ||
            affine_least(is) < 0 || affine_largest(is) >= size)
            continue;
        *coordinate = (uint32_t)piece->coordinate;
        return true;
    }
    return false;
}

static bool place_all(struct calculus *c, const struct factors *f, uint32_t coordinate,
                      const struct affine *is, struct operand made[MAX_PRODUCT]) {
    struct substitution by = {0};
    struct viewed value;
    by.of[coordinate] = is;
    by.sizes[coordinate] = f->all.sizes[coordinate];
    for (uint32_t i = 0; i < f->n; i++) {
        if (!value_move(c, value_of_operand(c, &f->items[i]), &by, &value))
            return false;
        made[i] = operand_of(c, value);
    }
    return true;
}

static bool sum_single(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct viewed tested;
        struct affine index, is;
        struct operand made[MAX_PRODUCT];
        int64_t denominator;
        uint32_t coordinate;
        if (term_kind(&c->terms, f->items[i].of) != KIND_IS_ZERO ||
            !open_test(c, &f->items[i], &tested) ||
            !value_as_index(c, tested, &index, &denominator) ||
            !solve(f, &index, &coordinate, &is) || !place_all(c, f, coordinate, &is, made))
            continue;
        for (uint32_t k = 0; k < f->n; k++)
            f->items[k] = made[k];
        remove_factor(f, i);
        f->summed &= ~(UINT64_C(1) << coordinate);
        f->all.sizes[coordinate] = 0;
        return true;
    }
    return false;
}

// The number as an index among its summands. False: there is none.
static bool index_within(struct calculus *c, struct viewed value, struct affine *index) {
    int64_t denominator;
    if (value_as_index(c, value, index, &denominator))
        return denominator == 1;
    if (term_kind(&c->terms, value.of.of) != NODE_SUM)
        return false;
    for (uint32_t i = 0; i < term_node(&c->terms, value.of.of)->n_parts; i++) {
        struct operand part;
        struct view view;
        view_get(&c->views, value.view, &view);
        if (!open_part(c, value.of, &view, i, &part))
            return false;
        part.scale = scale_product(&c->terms, part.scale, value.of.scale);
        if (term_kind(&c->terms, part.of) == KIND_INDEX &&
            value_as_index(c, value_of_operand(c, &part), index, &denominator))
            return denominator == 1;
    }
    return false;
}

// What of an index is of the coordinates in the mask, where that counts all their places, up or down. `sign`: of it.
static bool counts_all(const struct factors *f, const struct affine *index, uint64_t mask,
                       struct affine *count, int64_t *sign, int64_t *size) {
    uint64_t seen = 0;
    *count = affine_constant(0);
    *size = 1;
    for (uint32_t i = index->n; i-- > 0;)
        if (mask >> index->pieces[i].coordinate & 1)
            affine_push(count, index->pieces[i]);
    *sign = count->n && count->pieces[0].coefficient < 0 ? -1 : 1;
    for (uint32_t done = 0; done < count->n; done++) {
        uint32_t i = 0;
        while (i < count->n && count->pieces[i].coefficient != *sign * *size)
            i++;
        if (i == count->n)
            return false;
        const struct piece *piece = &count->pieces[i];
        if (piece->stride != 1 || piece->shift != 0 ||
            piece->extent != f->all.sizes[piece->coordinate] || seen >> piece->coordinate & 1)
            return false;
        seen |= UINT64_C(1) << piece->coordinate;
        *size *= piece->extent;
    }
    return count->n > 0 && seen == mask && affine_normal(count);
}

// Whether the tested number is zero at one place of the coordinates in the mask, whatever else it depends on.
static bool is_met_once(struct calculus *c, const struct factors *f, struct viewed tested,
                        uint64_t mask) {
    struct affine index, count;
    int64_t sign, size;
    if (!index_within(c, tested, &index) || !counts_all(f, &index, mask, &count, &sign, &size))
        return false;
    struct viewed both[] = {tested, value_scaled(c, value_index(c, &count), -1, 1)};
    struct viewed rest = value_sum(c, both, 2, &f->all);
    struct operand of = operand_of(c, rest);
    struct bounds bounds = value_bounds(c, value_scaled(c, rest, -sign, 1));
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if ((mask >> k & 1) && operand_has(&of, k))
            return false;
    return bounds.below && bounds.above && bounds.least >= 0 && bounds.largest < size;
}

// A test that is met once along coordinates that no other factor has adds up to one.
static bool sum_once(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct viewed tested;
        uint64_t own = 0;
        if (term_kind(&c->terms, f->items[i].of) != KIND_IS_ZERO ||
            !term_node(&c->terms, f->items[i].of)->key->attributes || // of integers
            !open_test(c, &f->items[i], &tested))
            continue;
        for (uint32_t k = 0; k < MAX_COORDINATES; k++) {
            bool alone = (f->summed >> k & 1) && operand_has(&f->items[i], k);
            for (uint32_t o = 0; o < f->n && alone; o++)
                alone = o == i || !operand_has(&f->items[o], k);
            own |= (uint64_t)alone << k;
        }
        if (!own || !is_met_once(c, f, tested, own))
            continue;
        remove_factor(f, i);
        f->summed &= ~own;
        for (uint32_t k = 0; k < MAX_COORDINATES; k++)
            f->all.sizes[k] = own >> k & 1 ? 0 : f->all.sizes[k];
        return true;
    }
    return false;
}

// ---- intervals --------------------------------------------------------------------------------

// Whether two tests together say in which of the coordinate's intervals of equal length, one behind the other, a number
// lies that lies in one of them: y - c k >= 0 and c - 1 - (y - c k) >= 0.
static bool is_in_one(struct calculus *c, const struct factors *f, struct viewed begin,
                      struct viewed end, uint32_t coordinate) {
    int64_t last, denominator, size = f->all.sizes[coordinate], all;
    struct affine whole = affine_coordinate(coordinate, size);
    struct viewed both[] = {begin, end};
    if (!value_number(c, value_sum(c, both, 2, &f->all), &last, &denominator) || denominator != 1 ||
        last < 0 || last == INT64_MAX || __builtin_mul_overflow(last + 1, size, &all))
        return false;
    both[1] = value_scaled(c, value_index(c, &whole), last + 1, 1);
    struct viewed rest = value_sum(c, both, 2, &f->all);
    struct operand of = operand_of(c, rest);
    struct bounds bounds = value_bounds(c, rest);
    return !operand_has(&of, coordinate) && bounds.below && bounds.above && bounds.least >= 0 &&
           bounds.largest < all;
}

// A coordinate that these two factors alone have, and over which is summed, is met once.
static bool drop_interval(struct calculus *c, struct factors *f, uint32_t i, uint32_t k) {
    struct viewed begin, end;
    if (!open_test(c, &f->items[i], &begin) || !open_test(c, &f->items[k], &end))
        return false;
    for (uint32_t d = 0; d < MAX_COORDINATES; d++) {
        bool alone = (f->summed >> d & 1) && f->all.sizes[d] > 1;
        for (uint32_t o = 0; o < f->n && alone; o++)
            alone = operand_has(&f->items[o], d) == (o == i || o == k);
        if (!alone || !is_in_one(c, f, begin, end, d))
            continue;
        remove_factor(f, i > k ? i : k);
        remove_factor(f, i > k ? k : i);
        f->summed &= ~(UINT64_C(1) << d);
        f->all.sizes[d] = 0;
        return true;
    }
    return false;
}

static bool is_bound(const struct calculus *c, const struct operand *test) {
    return term_kind(&c->terms, test->of) == KIND_AT_LEAST &&
           term_node(&c->terms, test->of)->key->attributes; // of integers
}

static bool sum_intervals(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = 0; k < f->n && is_bound(c, &f->items[i]); k++)
            if (k != i && is_bound(c, &f->items[k]) && drop_interval(c, f, i, k))
                return true;
    return false;
}

// ---- places of devices ------------------------------------------------------------------------

bool read_place_test(struct calculus *c, const struct operand *test, struct place_test *place) {
    struct viewed tested;
    struct affine index;
    int64_t denominator;
    if (term_kind(&c->terms, test->of) != KIND_IS_ZERO || !open_test(c, test, &tested) ||
        !value_as_index(c, tested, &index, &denominator) || index.n != 2 || index.base != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct piece *device = &index.pieces[i], *other = &index.pieces[!i];
        if (device->coordinate != COORDINATE_DEVICE || other->coordinate == COORDINATE_DEVICE ||
            device->coefficient != -other->coefficient || device->extent != other->extent ||
            (device->coefficient != 1 && device->coefficient != -1) || other->shift != 0)
            continue;
        place->device = *device;
        place->other = *other;
        place->device.coefficient = place->other.coefficient = 1;
        return true;
    }
    return false;
}

// The device's number where its digit is the other piece, turned back.
static bool placed_device(const struct place_test *place, int64_t n_devices, struct affine *made) {
    int64_t stride = place->device.stride, end = stride * place->device.extent;
    struct piece digit = place->other;
    if (n_devices % end != 0)
        return false;
    *made = affine_constant(0);
    digit.coefficient = stride;
    digit.shift = (place->device.extent - place->device.shift) % place->device.extent;
    return affine_push(made, (struct piece){1, 1, stride, 0, COORDINATE_DEVICE}) &&
           affine_push(made, digit) &&
           affine_push(made, (struct piece){end, end, n_devices / end, 0, COORDINATE_DEVICE}) &&
           affine_normal(made);
}

// Other factors say the device's digit as what it is tested to be.
static bool place_devices(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct place_test place;
        struct affine device;
        if (read_place_test(c, &f->items[i], &place) &&
            placed_device(&place, f->all.sizes[COORDINATE_DEVICE], &device) &&
            place_others(c, f, i, COORDINATE_DEVICE, &device))
            return true;
    }
    return false;
}

static bool exclude(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = i + 1; k < f->n; k++) {
            struct viewed a, b;
            if (term_kind(&c->terms, f->items[i].of) != KIND_IS_ZERO ||
                term_kind(&c->terms, f->items[k].of) != KIND_IS_ZERO ||
                !open_test(c, &f->items[i], &a) || !open_test(c, &f->items[k], &b))
                continue;
            for (int sign = -1; sign <= 1; sign += 2) {
                struct viewed both[] = {a, value_scaled(c, b, sign, 1)};
                f->is_zero |= value_is_never_zero(c, value_sum(c, both, 2, &f->all));
            }
            if (f->is_zero)
                return true;
        }
    return false;
}

// A test twice is that test.
static bool drop_equal(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = i + 1; k < f->n; k++)
            if (is_test_kind(term_kind(&c->terms, f->items[i].of)) &&
                value_equal(value_of_operand(c, &f->items[i]), value_of_operand(c, &f->items[k]))) {
                remove_factor(f, k);
                return true;
            }
    return false;
}

static bool tests_zeros(const struct calculus *c, const struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        if (term_kind(&c->terms, f->items[i].of) == KIND_IS_ZERO)
            return true;
    return false;
}

bool apply_law(struct calculus *c, struct factors *f) {
    if (drop_equal(c, f))
        return true;
    if (sum_intervals(c, f))
        return true;
    return tests_zeros(c, f) &&
           (exclude(c, f) || decide_tests(c, f) || drop_following(c, f) || sum_single(c, f) ||
            sum_once(c, f) || place_devices(c, f) || place_numbers(c, f));
}
