// Which inputs are read in turns: views of them that lack digits, whose place is a number.
#include "equal/values/turns.h"

#include <stdlib.h>
#include <string.h>

#include "equal/values/make.h"

// ---- digits -----------------------------------------------------------------------------------

static int compare_digits(const void *a, const void *b) {
    const struct digit *x = a, *y = b;
    return x->stride != y->stride ? (x->stride < y->stride ? -1 : 1)
                                  : (x->count > y->count) - (x->count < y->count);
}

// The least digit in which both lie.
static struct digit around(struct digit a, struct digit b) {
    int64_t stride = greatest_divisor(a.stride, b.stride);
    int64_t end = a.stride * a.count, other = b.stride * b.count;
    end = end / greatest_divisor(end, other) * other;
    return (struct digit){stride, end / stride};
}

// Takes as one what overlaps, follows, or falls on no digits of the other. False: they fall on none of the dimension, or
// there are too many turns.
static bool digits_normal(struct digit *of, uint32_t n, int64_t size, struct digits *made) {
    int64_t turns = 1;
    made->n = 0;
    qsort(of, n, sizeof *of, compare_digits);
    for (uint32_t i = 0; i < n; i++) {
        struct digit next = of[i];
        if (size % (next.stride * next.count) != 0)
            return false;
        while (made->n) {
            struct digit last = made->of[made->n - 1];
            int64_t end = last.stride * last.count;
            if (next.stride > end && next.stride % end == 0)
                break;
            next = around(last, next);
            made->n--;
        }
        if (made->n == MOST_DIGITS_OF)
            return false;
        made->of[made->n++] = next;
    }
    for (uint32_t i = 0; i < made->n; i++)
        if (__builtin_mul_overflow(turns, made->of[i].count, &turns) || turns > MOST_TURNS_OF)
            return false;
    return true;
}

static uint8_t number_of_digits(struct turn_list *list, const struct digits *digits) {
    if (digits->n == 0)
        return 0;
    for (uint32_t i = 1; i < list->n_digits; i++)
        if (list->digits[i].n == digits->n &&
            memcmp(list->digits[i].of, digits->of, digits->n * sizeof *digits->of) == 0)
            return (uint8_t)i;
    if (list->n_digits == MOST_DIGIT_LISTS)
        return 0;
    list->digits[list->n_digits] = *digits;
    return (uint8_t)list->n_digits++;
}

uint8_t turns_of_piece(struct turn_list *list, uint8_t digits, int64_t stride, int64_t extent) {
    const struct digits *of = &list->digits[digits];
    struct digits made = {.n = 0};
    int64_t end = stride * extent;
    for (uint32_t i = 0; i < of->n; i++) {
        int64_t begin = of->of[i].stride, until = begin * of->of[i].count;
        if (until <= stride || begin >= end)
            continue;
        begin = begin > stride ? begin : stride;
        until = until < end ? until : end;
        if (begin % stride != 0 || until % begin != 0 || end % until != 0)
            return 0;
        made.of[made.n++] = (struct digit){begin / stride, until / begin};
    }
    return number_of_digits(list, &made);
}

uint8_t turns_of_both(struct turn_list *list, uint8_t a, uint8_t b, int64_t size) {
    const struct digits *x = &list->digits[a], *y = &list->digits[b];
    struct digit all[2 * MOST_DIGITS_OF];
    struct digits made;
    if (a == b || b == 0)
        return a;
    memcpy(all, x->of, x->n * sizeof *all);
    memcpy(all + x->n, y->of, y->n * sizeof *all);
    return digits_normal(all, x->n + y->n, size, &made) ? number_of_digits(list, &made) : a;
}

// ---- inputs -----------------------------------------------------------------------------------

// The digits that an index of so many places lacks. False: digits do not fall there.
static bool find_gaps(const struct affine *index, int64_t size, struct digits *gaps) {
    int64_t at = 1;
    gaps->n = 0;
    for (uint32_t i = index->n + 1; i-- > 0;) {
        int64_t next = i > 0 ? index->pieces[i - 1].coefficient : size;
        if (next < at || next % at != 0 || (i > 0 && index->pieces[i - 1].shift != 0))
            return false;
        if (next > at) {
            if (gaps->n == MOST_DIGITS_OF || next / at > MOST_TURNS_OF)
                return false;
            gaps->of[gaps->n++] = (struct digit){at, next / at};
        }
        if (i == 0)
            break;
        int64_t extent = index->pieces[i - 1].extent;
        if (extent > size / next) // the quotient of an index of which no end is known
            return false;
        at = next * extent;
    }
    int64_t left = index->base; // which says the place of each gap, and nothing else
    for (uint32_t i = gaps->n; i-- > 0;)
        left %= gaps->of[i].stride;
    return left == 0;
}

static void add_turns(struct turn_list *list, uint32_t input, uint32_t dimension,
                      const struct digits *gaps, int64_t size) {
    struct digits normal = *gaps;
    uint32_t i = 0;
    if (!digits_normal(normal.of, gaps->n, size, &normal) || normal.n == 0)
        return;
    uint8_t number = number_of_digits(list, &normal);
    while (i < list->n && (list->of[i].input != input || list->of[i].dimension != dimension))
        i++;
    if (i < list->n)
        list->of[i].digits = turns_of_both(list, list->of[i].digits, number, size);
    else if (list->n < MOST_TURN_LISTS && number)
        list->of[list->n++] = (struct turn){input, dimension, number};
}

void turns_add(struct turn_list *list, uint32_t input, uint32_t dimension, struct digit digit,
               int64_t size) {
    add_turns(list, input, dimension, &(struct digits){{digit}, 1}, size);
}

void turns_find(const struct calculus *c, struct turn_list *list) {
    list->n = 0;
    list->n_digits = 1;
    for (uint32_t node = 0; node < c->terms.n_nodes; node++) {
        struct term term = {node, 0}, of;
        if (term_kind(&c->terms, term) != KIND_VIEW)
            continue;
        of = term_part(&c->terms, term, 0).of;
        if (term_kind(&c->terms, of) != KIND_INPUT)
            continue;
        const int64_t *words = value_attributes(c, term);
        uint32_t input = term_node(&c->terms, of)->key->attributes - 1;
        struct digits gaps;
        struct view view;
        view_get(&c->views, (view_id)words[1 + words[0]], &view);
        for (uint32_t d = 0; d < view.n; d++) {
            int64_t size = value_space(c, of)->sizes[d];
            if (find_gaps(&view.of[d], size, &gaps))
                add_turns(list, input, d, &gaps, size);
        }
    }
}
