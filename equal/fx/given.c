// Arrays of one number, of numbers in a row, and triangles of them.
#include "equal/fx/given.h"

#include <math.h>

static bool sizes_given(struct call *c, uint32_t i, struct sizes *sizes) {
    if (!fx_integers(c, i, sizes))
        return false;
    for (uint32_t k = 0; k < sizes->rank; k++)
        if (sizes->of[k] < 0) {
            fx_fail(c, "a size that is negative");
            return false;
        }
    return true;
}

static bool is_real(const struct call *c, uint32_t i) {
    return c->of[i] && c->of[i]->kind == ARGUMENT_REAL;
}

// The type of a number, where none is named.
static enum element type_of_number(const struct call *c, uint32_t i) {
    return is_real(c, i)                                  ? ELEMENT_TYPE_F32
           : c->of[i] && c->of[i]->kind == ARGUMENT_TRUTH ? ELEMENT_TYPE_PRED
                                                          : ELEMENT_TYPE_S64;
}

uint32_t fx_build_full(struct call *c) {
    struct sizes sizes;
    double number;
    enum element element = type_of_number(c, 1);
    if (!sizes_given(c, 0, &sizes) || !fx_real(c, 1, 0, &number) ||
        !fx_element_given(c, 2, &element))
        return NOT_BUILT;
    return fx_full(c, element, number, &sizes);
}

static uint32_t like(struct call *c, double number, uint32_t type) {
    uint32_t array = fx_array(c, 0);
    if (array == NOT_BUILT)
        return NOT_BUILT;
    enum element element = fx_element(c, array);
    struct sizes sizes = fx_sizes(c, array);
    return fx_element_given(c, type, &element) ? fx_full(c, element, number, &sizes) : NOT_BUILT;
}

uint32_t fx_build_full_like(struct call *c) {
    double number;
    return fx_real(c, 1, 0, &number) ? like(c, number, 2) : NOT_BUILT;
}

uint32_t fx_build_like(struct call *c) {
    return like(c, c->which, 1);
}

uint32_t fx_build_filled(struct call *c) {
    struct sizes sizes;
    enum element element = ELEMENT_TYPE_F32;
    if (!sizes_given(c, 0, &sizes) || !fx_element_given(c, 1, &element))
        return NOT_BUILT;
    return fx_full(c, element, c->which, &sizes);
}

static uint32_t new_filled(struct call *c, double number, uint32_t type) {
    struct sizes sizes;
    uint32_t array = fx_array(c, 0);
    if (array == NOT_BUILT || !sizes_given(c, 1, &sizes))
        return NOT_BUILT;
    enum element element = fx_element(c, array);
    return fx_element_given(c, type, &element) ? fx_full(c, element, number, &sizes) : NOT_BUILT;
}

uint32_t fx_build_new_filled(struct call *c) {
    return new_filled(c, c->which, 2);
}

uint32_t fx_build_new_full(struct call *c) {
    double number;
    return fx_real(c, 2, 0, &number) ? new_filled(c, number, 3) : NOT_BUILT;
}

uint32_t fx_build_scalar(struct call *c) {
    double number;
    enum element element = type_of_number(c, 0);
    const struct sizes none = {.rank = 0};
    if (!fx_real(c, 0, 0, &number) || !fx_element_given(c, 1, &element))
        return NOT_BUILT;
    return fx_full(c, element, number, &none);
}

// start, start + step, ...: so many.
static uint32_t in_a_row(struct call *c, enum element element, double n, double start,
                         double step) {
    if (!(n >= 0 && n < 0x1p52))
        return fx_fail(c, "it makes no numbers, or more than can be counted");
    struct sizes sizes = {.of = {(int64_t)n}, .rank = 1};
    uint32_t made = fx_iota(c, element, &sizes, 0);
    if (step != 1)
        made = fx_binary_number(c, PRIM_MULTIPLY, made, step);
    return start == 0 ? made : fx_binary_number(c, PRIM_ADD, made, start);
}

uint32_t fx_build_arange(struct call *c) {
    double numbers[3] = {0, 0, 1};
    enum element element = ELEMENT_TYPE_S64;
    for (int i = 0; i < c->which; i++) {
        if (!fx_real(c, (uint32_t)i, 0, &numbers[c->which == 1 ? 1 : i]))
            return NOT_BUILT;
        if (is_real(c, (uint32_t)i))
            element = ELEMENT_TYPE_F32;
    }
    if (!fx_element_given(c, (uint32_t)c->which, &element) || numbers[2] == 0)
        return NOT_BUILT;
    double n = ceil((numbers[1] - numbers[0]) / numbers[2]);
    return in_a_row(c, element, n, numbers[0], numbers[2]);
}

uint32_t fx_build_iota(struct call *c) {
    double n, start, step;
    enum element element = ELEMENT_TYPE_S64;
    if (!fx_real(c, 0, 0, &n) || !fx_real(c, 1, 0, &start) || !fx_real(c, 2, 1, &step) ||
        !fx_element_given(c, 3, &element))
        return NOT_BUILT;
    return in_a_row(c, element, n, start, step);
}

uint32_t fx_triangle(struct call *c, const struct sizes *sizes, bool upper, int64_t diagonal) {
    uint32_t row = fx_iota(c, ELEMENT_TYPE_S64, sizes, sizes->rank - 2);
    uint32_t column = fx_iota(c, ELEMENT_TYPE_S64, sizes, sizes->rank - 1);
    if (diagonal != 0)
        row = fx_binary_number(c, PRIM_ADD, row, (double)diagonal);
    return fx_compare(c, upper ? DIRECTION_GE : DIRECTION_LE, column, row);
}

uint32_t fx_build_triangle(struct call *c) {
    int64_t diagonal;
    uint32_t array = fx_array(c, 0);
    struct sizes sizes = fx_sizes(c, array);
    if (array == NOT_BUILT || !fx_integer(c, 1, 0, &diagonal))
        return NOT_BUILT;
    if (sizes.rank < 2)
        return fx_fail(c, "a triangle of %u dimensions", sizes.rank);
    return fx_select(c, fx_triangle(c, &sizes, c->which, diagonal), array, fx_like(c, array, 0));
}
