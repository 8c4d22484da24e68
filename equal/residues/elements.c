// Functions of elements: the field's own, tests, and those that are drawn; see elements.h.
#include "equal/residues/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t element_sum(const struct field *field, uint64_t a, uint64_t b) {
    if (is_element(a) && is_element(b))
        return field_add(field, a, b);
    if (is_element(a) || a == b)
        return b;
    return is_element(b) ? a : UNDEFINED;
}

uint64_t element_product(const struct field *field, uint64_t a, uint64_t b) {
    return is_element(a) && is_element(b) ? field_multiply(field, a, b) : UNDEFINED;
}

static uint64_t element_opposite(const struct field *field, uint64_t value) {
    return is_element(value)    ? field_negate(field, value)
           : value == ABOVE_ALL ? BELOW_ALL
           : value == BELOW_ALL ? ABOVE_ALL
                                : UNDEFINED;
}

uint64_t element_power(const struct field *field, uint64_t value, int64_t power) {
    if (!is_element(value) || (value == 0 && power < 0))
        return UNDEFINED;
    return power < 0 ? field_power(field, field_inverse(field, value), (uint64_t)-power)
                     : field_power(field, value, (uint64_t)power);
}

static uint64_t drawn(const struct field *field, int kind, uint32_t attributes,
                      const uint64_t *values, int64_t n) {
    uint64_t so_far = mixed(mixed((uint64_t)kind, attributes), (uint64_t)n);
    for (int64_t i = 0; i < n; i++)
        so_far = mixed(so_far, values[i]);
    return field_draw(field, so_far);
}

// ---- tests ------------------------------------------------------------------------------------

static uint64_t test_of_number(const struct field *field, int kind, uint64_t value) {
    int64_t numerator, denominator;
    if (!field_as_fraction(field, value, &numerator, &denominator))
        return UNDEFINED;
    return kind == KIND_AT_LEAST ? numerator >= 0
           : kind == KIND_ABOVE  ? numerator > 0
                                 : numerator == 0;
}

// Whether what is not known is positive: any function of it. Whether it is not negative is whether its opposite is not
// positive; of integers both are one test.
static uint64_t test_of(const struct field *field, const struct element_kind *of, uint64_t value) {
    bool integers = of->attributes != 0;
    if (value == 0)
        return of->kind != KIND_ABOVE;
    if (of->kind == KIND_IS_ZERO) {
        uint64_t opposite = field_negate(field, value);
        uint64_t either = value < opposite ? value : opposite;
        return drawn(field, KIND_IS_ZERO, 0, &either, 1);
    }
    // x >= 0 is that -x > 0 is not so, or, of integers, that -x - 1 >= 0 is not.
    if (of->kind == KIND_AT_LEAST) {
        uint64_t opposite = field_negate(field, integers ? field_add(field, value, 1) : value);
        uint64_t least = value < opposite ? value : opposite;
        if (!integers)
            return field_add(field, 1,
                             field_negate(field, drawn(field, KIND_ABOVE, 0, &opposite, 1)));
        uint64_t is = drawn(field, KIND_AT_LEAST, 1, &least, 1);
        return least == value ? is : field_add(field, 1, field_negate(field, is));
    }
    return drawn(field, KIND_ABOVE, of->attributes, &value, 1);
}

// ---- functions --------------------------------------------------------------------------------

static uint64_t chosen(const struct field *field, const uint64_t *values) {
    if (values[0] <= 1)
        return values[0] ? values[1] : values[2];
    uint64_t is_not =
        is_element(values[0]) ? field_add(field, 1, field_negate(field, values[0])) : UNDEFINED;
    return element_sum(field, element_product(field, values[0], values[1]),
                       element_product(field, is_not, values[2]));
}

//   value ^ (k / 2) = value ^ ((k - 1) / 2) root(value)        k odd
//
// The root is any function of the value. A field has roots of its own, but laws with them that the reals lack: root(-x) is
// root(x) or its opposite, and half of all y are root(y y).
static uint64_t raised(const struct field *field, const struct element_kind *of, uint64_t value) {
    int64_t numerator = of->words[0], denominator = of->words[1];
    if (value == 0)
        return numerator < 0 ? UNDEFINED : 0;
    if (denominator == 1)
        return element_power(field, value, numerator);
    if (denominator != 2)
        return drawn(field, of->kind, of->attributes, &value, 1);
    return field_multiply(field, element_power(field, value, (numerator - 1) / 2),
                          drawn(field, of->kind, 0, &value, 1));
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint64_t element_of(const struct field *field, const struct element_kind *of, uint64_t *values,
                    uint32_t n) {
    if (of->kind == KIND_POINTWISE + PRIM_SELECT)
        return chosen(field, values);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] == BELOW_ALL && is_test_kind(of->kind))
            return 0;
        if (values[i] == ABOVE_ALL && is_test_kind(of->kind))
            return of->kind != KIND_IS_ZERO;
        if (!is_element(values[i]))
            return UNDEFINED;
    }
    if (is_test_kind(of->kind))
        return of->is_concrete ? test_of_number(field, of->kind, values[0])
                               : test_of(field, of, values[0]);
    if (of->kind == KIND_POWER)
        return raised(field, of, values[0]);
    if (of->kind == KIND_POINTWISE + PRIM_ABS && values[0] > field->prime / 2)
        values[0] = field->prime - values[0];
    if (value_commutes(of->kind))
        qsort(values, n, sizeof *values, by_value);
    return drawn(field, of->kind, of->attributes, values, n);
}

// What is folded is a set: the largest of two that are equal is that of one. The least is the opposite of the largest of
// all opposites.
uint64_t element_folded(const struct field *field, int kind, uint64_t *values, int64_t n) {
    if (kind == KIND_LEAST) {
        for (int64_t i = 0; i < n; i++)
            values[i] = element_opposite(field, values[i]);
        return element_opposite(field, element_folded(field, KIND_LARGEST, values, n));
    }
    int64_t n_different = 0;
    qsort(values, (size_t)n, sizeof *values, by_value);
    for (int64_t i = 0; i < n; i++) {
        if (!is_element(values[i]) && (values[i] != BELOW_ALL || kind != KIND_LARGEST))
            return UNDEFINED;
        if (values[i] != BELOW_ALL && (i == 0 || values[i] != values[i - 1]))
            values[n_different++] = values[i];
    }
    if (n_different <= 1)
        return n_different ? values[0] : BELOW_ALL;
    return drawn(field, kind, 0, values, n_different);
}

// A number of few digits is itself, any other one that is drawn.
uint64_t element_of_real(const struct field *field, double number) {
    enum { DIGITS = 20 };
    double multiple = ldexp(number, DIGITS);
    if (isinf(number))
        return number < 0 ? BELOW_ALL : ABOVE_ALL;
    if (isnan(number))
        return UNDEFINED;
    if (multiple == floor(multiple) && fabs(multiple) < 0x1p60)
        return field_multiply(field, field_of_integer(field, (int64_t)multiple),
                              field_inverse(field, UINT64_C(1) << DIGITS));
    uint64_t bits;
    double magnitude = fabs(number);
    memcpy(&bits, &magnitude, sizeof bits);
    uint64_t value = drawn(field, KIND_NUMBER, 0, &bits, 1);
    return number < 0 ? field_negate(field, value) : value;
}
