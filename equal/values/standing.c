// What is there at each number of a digit stands together along it, and what is there at each turn of one is there everywhere:
//
//   sum(n: is_zero(i - n) f(n)) = [f(0), f(1), ...](i)          for all places n of i
//   sum(n: is_zero(i - j turned by n) f) = f                    for all turns n of j
#include "equal/values/standing.h"

#include <string.h>

#include "equal/values/make.h"
#include "equal/values/places.h"
#include "equal/values/together.h"

enum { MOST_NUMBERS = 64 };

// ---- factors that test ------------------------------------------------------------------------

// Reads a test; `*into` says of which digit, if that matters.
typedef bool read_test(struct calculus *, const struct operand *, void *into);

static bool has_any(const struct operand *operand, uint64_t coordinates) {
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (coordinates >> k & 1 && operand_has(operand, k))
            return true;
    return false;
}

// Whether a factor of a summand over which nothing is summed is such a test. Makes no terms.
static bool find_test(struct calculus *c, struct viewed value, const struct coordinates *all,
                      read_test *reads, void *into) {
    struct operand part;
    struct view view, whole;
    struct coordinates with = *all;
    uint64_t folded = 0;
    if (!has_factor(c, value, KIND_IS_ZERO))
        return false;
    if (term_kind(&c->terms, value.of.of) == KIND_IS_ZERO) {
        operand_set(c, value, &part);
        return reads(c, &part, into);
    }
    const int64_t *flags = value_attributes(c, value.of.of);
    uint32_t n = (uint32_t)*flags++;
    view_get(&c->views, value.view, &view);
    if (!unfold_view(flags, flags + n, n, &view, &with, &folded, &whole))
        return false;
    for (uint32_t i = 0; i < term_node(&c->terms, value.of.of)->n_parts; i++)
        if (open_part(c, value.of, &whole, i, &part) &&
            term_kind(&c->terms, part.of) == KIND_IS_ZERO && !has_any(&part, folded) &&
            reads(c, &part, into))
            return true;
    return false;
}

// A summand as a test that is one of its factors, and the others. False: it has no such.
static bool split_off(struct calculus *c, struct viewed value, const struct coordinates *all,
                      read_test *reads, void *into, struct viewed *rest) {
    struct split_product split = {.n = 1, .apart = {value}};
    struct viewed factors[MAX_SPLIT + 1];
    uint32_t n = 0;
    bool is = false;
    if (!has_factor(c, value, KIND_IS_ZERO))
        return false;
    if (term_kind(&c->terms, value.of.of) == KIND_PRODUCT) {
        if (!split_product(c, value, false, MAX_SPLIT, all, &split))
            return false;
    } else {
        split.rest = value_fraction(c, 1, 1);
        split.rest.of.scale = value.of.scale;
        split.apart[0].of.scale = SCALE_ONE;
    }
    for (uint32_t i = 0; i < split.n; i++) {
        struct operand factor = operand_of(c, split.apart[i]);
        if (!is && reads(c, &factor, into))
            is = true;
        else
            factors[n++] = split.apart[i];
    }
    factors[n++] = split.rest;
    if (is)
        *rest = value_product(c, factors, n, 0, all);
    return is;
}

static void keep(struct viewed *items, uint32_t *n, const bool *gone) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < *n; i++)
        if (!gone[i])
            items[left++] = items[i];
    *n = left;
}

// ---- turns ------------------------------------------------------------------------------------

static bool reads_turn(struct calculus *c, const struct operand *test, void *into) {
    return read_turn_test(c, test, into);
}

// Whether there are tests of all turns of the same digits.
static bool has_all_turns(const struct turn_test *tests, const bool *has, uint32_t n,
                          const struct turn_test *of) {
    uint64_t turns = 0;
    for (uint32_t k = 0; k < n && of->digits[0].extent <= MOST_NUMBERS; k++)
        if (has[k] && memcmp(tests[k].digits, of->digits, sizeof of->digits) == 0)
            turns |= UINT64_C(1) << tests[k].turn;
    return of->digits[0].extent <= MOST_NUMBERS &&
           turns == UINT64_MAX >> (64 - of->digits[0].extent);
}

bool stand_at_turns(struct calculus *c, struct viewed *items, uint32_t *n,
                    const struct coordinates *all, struct viewed *made) {
    struct turn_test *tests = ARENA_ARRAY(&c->scratch, struct turn_test, *n + 1);
    struct viewed *rests = ARENA_ARRAY(&c->scratch, struct viewed, *n + 1);
    bool *has = ARENA_ARRAY(&c->scratch, bool, *n + 1),
         *same = ARENA_ARRAY(&c->scratch, bool, *n + 1);
    for (uint32_t i = 0; i < *n; i++)
        has[i] = find_test(c, items[i], all, reads_turn, &tests[i]);
    for (uint32_t i = 0; i < *n; i++)
        has[i] = has[i] && has_all_turns(tests, has, *n, &tests[i]) &&
                 split_off(c, items[i], all, reads_turn, &tests[i], &rests[i]);
    for (uint32_t i = 0; i < *n; i++) {
        uint64_t turns = 0;
        int64_t extent = tests[i].digits[0].extent;
        if (!has[i] || extent > MOST_NUMBERS)
            continue;
        for (uint32_t k = 0; k < *n; k++) {
            same[k] = has[k] && value_equal(rests[i], rests[k]) &&
                      memcmp(tests[i].digits, tests[k].digits, sizeof tests[i].digits) == 0 &&
                      !(turns >> tests[k].turn & 1);
            turns |= (uint64_t)same[k] << (same[k] ? tests[k].turn : 0);
        }
        if (turns != UINT64_MAX >> (64 - extent))
            continue;
        keep(items, n, same);
        *made = rests[i];
        return true;
    }
    return false;
}

// ---- numbers ----------------------------------------------------------------------------------

// A summand of which a factor is a test of the digit, and its other factors.
struct placed {
    struct number_test test;
    const struct piece *only; // the digit; NULL: any
    struct viewed rest;
};

static bool reads_number(struct calculus *c, const struct operand *test, void *into) {
    struct placed *placed = into;
    struct number_test of;
    if (!read_number_test(c, test, &of) ||
        (placed->only && memcmp(placed->only, &of.digit, sizeof of.digit) != 0))
        return false;
    placed->test = of;
    return true;
}

// What the summands are together at each place of the digit, along a coordinate of its own; then it is read along the digit.
static bool together_along(struct calculus *c, const struct placed *placed, const bool *is,
                           uint32_t n, const struct piece *digit, const struct coordinates *all,
                           struct viewed *made) {
    struct viewed parts[MOST_NUMBERS], *rests = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    int64_t sizes[MOST_NUMBERS];
    struct coordinates with = *all;
    struct substitution by = {0};
    struct affine index = affine_constant(0);
    uint32_t along = add_coordinate(&with, digit->extent);
    if (along == MAX_COORDINATES)
        return false;
    for (int64_t number = 0; number < digit->extent; number++) {
        uint32_t n_rests = 0;
        for (uint32_t i = 0; i < n; i++)
            if (is[i] && placed[i].test.number == number)
                rests[n_rests++] = placed[i].rest;
        if (n_rests == 0)
            return false;
        sizes[number] = 1;
        parts[number] = value_sum(c, rests, n_rests, all);
    }
    struct viewed stands = value_together(c, parts, sizes, (uint32_t)digit->extent, along, &with);
    affine_push(&index, *digit);
    by.of[along] = &index;
    by.sizes[along] = digit->extent;
    return value_move(c, stands, &by, made);
}

// Whether there is something at each place of the digit.
static bool has_all_numbers(struct calculus *c, const struct viewed *items, uint32_t n,
                            const struct piece *digit, const struct coordinates *all) {
    uint64_t numbers = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct placed placed = {.only = digit};
        if (find_test(c, items[k], all, reads_number, &placed))
            numbers |= UINT64_C(1) << placed.test.number;
    }
    return numbers == UINT64_MAX >> (64 - digit->extent);
}

bool stand_at_places(struct calculus *c, struct viewed *items, uint32_t *n,
                     const struct coordinates *all, struct viewed *made) {
    struct placed *placed = ARENA_ARRAY(&c->scratch, struct placed, *n + 1);
    bool *is = ARENA_ARRAY(&c->scratch, bool, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        struct placed first = {.only = NULL};
        const struct piece *digit = &first.test.digit;
        if (!find_test(c, items[i], all, reads_number, &first) || digit->extent > MOST_NUMBERS ||
            digit->extent > *n || !has_all_numbers(c, items, *n, digit, all))
            continue;
        for (uint32_t k = 0; k < *n; k++) {
            placed[k].only = digit;
            is[k] = split_off(c, items[k], all, reads_number, &placed[k], &placed[k].rest);
        }
        if (!together_along(c, placed, is, *n, digit, all, made))
            continue;
        keep(items, n, is);
        return true;
    }
    return false;
}
