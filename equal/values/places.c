// Tests of whether a digit of a coordinate is a number. Where one holds, other factors say the number:
//
//   is_zero(i - 3) f(i) = is_zero(i - 3) f(3)
#include "equal/values/places.h"

#include "equal/values/make.h"

// The index of which the test says whether it is zero. False: it is no such test.
static bool open_index(struct calculus *c, const struct operand *test, struct affine *index) {
    struct operand tested;
    int64_t denominator;
    return term_kind(&c->terms, test->of) == KIND_IS_ZERO &&
           open_part(c, (struct scaled){test->of, SCALE_ONE}, &test->view, 0, &tested) &&
           value_as_index(c, value_of_operand(c, &tested), index, &denominator);
}

bool read_number_test(struct calculus *c, const struct operand *test, struct number_test *of) {
    struct affine index;
    if (!open_index(c, test, &index) || index.n != 1)
        return false;
    of->digit = index.pieces[0];
    if (of->digit.coefficient != 1 || of->digit.shift != 0)
        return false;
    of->number = -index.base;
    return of->number >= 0 && of->number < of->digit.extent;
}

// Pieces of one test stand in one order.
static bool piece_before(const struct piece *a, const struct piece *b) {
    return a->coordinate != b->coordinate ? a->coordinate < b->coordinate : a->stride < b->stride;
}

bool read_turn_test(struct calculus *c, const struct operand *test, struct turn_test *of) {
    struct affine index;
    if (!open_index(c, test, &index) || index.n != 2 || index.base != 0 ||
        index.pieces[0].coefficient != -index.pieces[1].coefficient ||
        index.pieces[0].extent != index.pieces[1].extent)
        return false;
    bool turned = piece_before(&index.pieces[1], &index.pieces[0]);
    of->digits[0] = index.pieces[turned];
    of->digits[1] = index.pieces[!turned];
    of->turn = of->digits[1].shift - of->digits[0].shift;
    of->turn = (of->turn + index.pieces[0].extent) % index.pieces[0].extent;
    for (int i = 0; i < 2; i++)
        of->digits[i].shift = of->digits[i].coefficient = 0;
    return true;
}

// The coordinate where its digit is the number.
static bool placed_coordinate(const struct number_test *test, int64_t size, struct affine *made) {
    int64_t stride = test->digit.stride, end = stride * test->digit.extent;
    uint32_t coordinate = (uint32_t)test->digit.coordinate;
    if (size == 0 || size % end != 0)
        return false;
    *made = affine_constant(test->number * stride);
    return affine_push(made, (struct piece){1, 1, stride, 0, coordinate}) &&
           affine_push(made, (struct piece){end, end, size / end, 0, coordinate}) &&
           affine_normal(made);
}

bool place_others(struct calculus *c, struct factors *f, uint32_t test, uint32_t coordinate,
                  const struct affine *is) {
    struct substitution by = {0};
    bool changed = false;
    by.of[coordinate] = is;
    by.sizes[coordinate] = f->all.sizes[coordinate];
    for (uint32_t k = 0; k < f->n; k++) {
        struct viewed value = value_of_operand(c, &f->items[k]), moved;
        if (k == test || !value_move(c, value, &by, &moved) || value_equal(value, moved))
            continue;
        f->items[k] = operand_of(c, moved);
        changed = true;
    }
    return changed;
}

bool place_numbers(struct calculus *c, struct factors *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        struct number_test test;
        struct affine place;
        if (!read_number_test(c, &f->items[i], &test))
            continue;
        uint32_t coordinate = (uint32_t)test.digit.coordinate;
        if (!(f->summed >> coordinate & 1) &&
            placed_coordinate(&test, f->all.sizes[coordinate], &place) &&
            place_others(c, f, i, coordinate, &place))
            return true;
    }
    return false;
}
