// What is there at each number of a digit stands together along it:
//
//   sum(n: is_zero(i - n) f(n)) = [f(0), f(1), ...](i)          for all places n of i
#include "equal/values/standing.h"

#include <string.h>

#include "equal/values/make.h"
#include "equal/values/places.h"
#include "equal/values/together.h"

enum { MOST_NUMBERS = 64, MOST_ITEMS = 256 };

bool has_zero_test(const struct calculus *c, struct viewed value) {
    int kind = term_kind(&c->terms, value.of.of);
    bool any = kind == KIND_IS_ZERO;
    for (uint32_t i = 0; kind == KIND_PRODUCT && i < term_node(&c->terms, value.of.of)->n_parts;
         i++) {
        struct term part = term_part(&c->terms, value.of.of, i).of;
        if (term_kind(&c->terms, part) == KIND_VIEW)
            part = term_part(&c->terms, part, 0).of;
        any |= term_kind(&c->terms, part) == KIND_IS_ZERO;
    }
    return any;
}

// A summand of which a factor is a test of the digit, and its other factors.
struct placed {
    struct number_test test;
    struct viewed rest;
    bool is; // there is such a factor
};

static bool same_digit(const struct piece *a, const struct piece *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

// `digit` NULL: of any.
static bool split_placed(struct calculus *c, struct viewed value, const struct piece *digit,
                         const struct coordinates *all, struct placed *placed) {
    struct split_product split = {.n = 1, .apart = {value}};
    struct viewed factors[MAX_SPLIT + 1];
    uint32_t n = 0;
    placed->is = false;
    if (!has_zero_test(c, value))
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
        struct number_test test;
        if (!placed->is && read_number_test(c, &factor, &test) &&
            (!digit || same_digit(digit, &test.digit))) {
            placed->test = test;
            placed->is = true;
        } else {
            factors[n++] = split.apart[i];
        }
    }
    factors[n++] = split.rest;
    if (placed->is)
        placed->rest = value_product(c, factors, n, 0, all);
    return placed->is;
}

// What the summands are together at each place of the digit, along a coordinate of its own; then it is read along the digit.
static bool together_along(struct calculus *c, const struct placed *placed, uint32_t n,
                           const struct piece *digit, const struct coordinates *all,
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
            if (placed[i].is && placed[i].test.number == number)
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

bool stand_at_places(struct calculus *c, struct viewed *items, uint32_t *n,
                     const struct coordinates *all, struct viewed *made) {
    struct placed *placed = ARENA_ARRAY(&c->scratch, struct placed, *n + 1), first;
    if (*n > MOST_ITEMS)
        return false;
    for (uint32_t i = 0; i < *n; i++) {
        if (!split_placed(c, items[i], NULL, all, &first) ||
            first.test.digit.extent > MOST_NUMBERS || first.test.digit.extent > *n)
            continue;
        for (uint32_t k = 0; k < *n; k++)
            split_placed(c, items[k], &first.test.digit, all, &placed[k]);
        if (!together_along(c, placed, *n, &first.test.digit, all, made))
            continue;
        uint32_t left = 0;
        for (uint32_t k = 0; k < *n; k++)
            if (!placed[k].is)
                items[left++] = items[k];
        *n = left;
        return true;
    }
    return false;
}
