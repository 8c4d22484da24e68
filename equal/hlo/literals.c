// Literals. Braces nest as dimensions do, and there are as many numbers as the shape has, so that memory is bounded by
// the text. A literal whose elements are all the same keeps one.
#include "equal/hlo/literals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Numbers so far, as bits: those of doubles or of integers.
struct numbers {
    const struct array_shape *shape;
    enum number_kind kind;
    int64_t *bits;
    uint32_t n, cap;
};

// What a type of reals keeps: binary digits, and the exponent of the smallest normal number.
struct real_format {
    int digits, least;
};
static const struct real_format real_formats[N_ELEMENT_TYPES] = {
    [ELEMENT_TYPE_F4E2M1FN] = {2, 0},     [ELEMENT_TYPE_F8E3M4] = {5, -2},
    [ELEMENT_TYPE_F8E4M3] = {4, -6},      [ELEMENT_TYPE_F8E4M3B11FNUZ] = {4, -10},
    [ELEMENT_TYPE_F8E4M3FNUZ] = {4, -7},  [ELEMENT_TYPE_F8E5M2FNUZ] = {3, -15},
    [ELEMENT_TYPE_F8E8M0FNU] = {1, -127}, [ELEMENT_TYPE_F8E4M3FN] = {4, -6},
    [ELEMENT_TYPE_F8E5M2] = {3, -14},     [ELEMENT_TYPE_F16] = {11, -14},
    [ELEMENT_TYPE_BF16] = {8, -126},      [ELEMENT_TYPE_F32] = {24, -126},
    [ELEMENT_TYPE_F64] = {53, -1022},
};

// The type's number that the text means: text has no more digits than tell it from its neighbours.
static double rounded(double x, struct real_format format) {
    int exponent;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &exponent); // x is below 2^exponent
    int last = (exponent - 1 > format.least ? exponent - 1 : format.least) - (format.digits - 1);
    return ldexp(nearbyint(ldexp(x, -last)), last);
}

static bool read_real(struct scanner *s, enum element element, int64_t *bits) {
    scan_blanks(s);
    char *behind;
    bool is_number = *s->at == '-' || *s->at == '.' || *s->at == 'i' || *s->at == 'n' ||
                     (*s->at >= '0' && *s->at <= '9');
    double x = is_number ? strtod(s->at, &behind) : 0;
    if (!is_number || behind == s->at)
        return scan_expected(s, "a number");
    s->at = behind;
    x = rounded(x, real_formats[element]);
    memcpy(bits, &x, sizeof x);
    return true;
}

// A number of 64 bits with or without a sign; above 2^63 it is kept as its bits.
static bool read_integer(struct scanner *s, enum element element, int64_t *bits) {
    scan_blanks(s);
    const char *begin = s->at;
    const struct element_row *row = &element_rows[element];
    bool negative = *s->at == '-';
    s->at += negative;
    if (*s->at < '0' || *s->at > '9') {
        s->at = begin;
        return scan_expected(s, "a whole number");
    }
    uint64_t value = 0;
    bool fits = true;
    for (; *s->at >= '0' && *s->at <= '9'; s->at++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value);
    uint64_t most = row->kind == NUMBER_UNSIGNED ? UINT64_MAX >> (64 - row->bits)
                                                 : (UINT64_C(1) << (row->bits - 1)) - !negative;
    if (!fits || value > most || (negative && value && row->kind == NUMBER_UNSIGNED))
        return scan_fail(s, E902, scan_from(s, begin), "no number of type %s", row->text);
    *bits = (int64_t)(negative ? -value : value);
    return true;
}

static bool read_element(struct scanner *s, struct numbers *to) {
    int64_t bits = 0;
    bool truth, good;
    if (to->kind == NUMBER_TRUTH) {
        good = scan_truth(s, &truth);
        bits = truth;
    } else if (to->kind == NUMBER_REAL) {
        good = read_real(s, to->shape->element, &bits);
    } else {
        good = read_integer(s, to->shape->element, &bits);
    }
    if (good)
        ARENA_PUSH(s->scratch, to->bits, to->n, to->cap, bits);
    return good;
}

// `{...}`, in place of a number or of many.
static bool fail_elided(struct scanner *s) {
    struct diagnostic *d = scan_report(s, E903, (struct word){s->at, 5},
                                       "the text leaves out the numbers of this constant");
    if (d)
        diagnostic_help(d, "dump it again with --xla_dump_large_constants=true in XLA_FLAGS");
    return false;
}

static bool read_dimension(struct scanner *s, struct numbers *to, uint32_t dimension) {
    scan_blanks(s);
    const char *begin = s->at;
    if (strncmp(begin, "{...}", 5) == 0)
        return fail_elided(s);
    if (dimension == to->shape->rank)
        return read_element(s, to);
    if (!scan_need(s, '{'))
        return false;
    for (int64_t i = 0; i < to->shape->sizes[dimension]; i++)
        if ((i && !scan_need(s, ',')) || !read_dimension(s, to, dimension + 1))
            return false;
    if (scan_peek(s) != '}' && !s->failed)
        return scan_fail(s, E905, scan_from(s, begin), "not as many numbers as the shape has");
    return scan_need(s, '}');
}

static bool are_all_same(const struct numbers *numbers) {
    for (uint32_t i = 1; i < numbers->n; i++)
        if (numbers->bits[i] != numbers->bits[0])
            return false;
    return numbers->n > 0;
}

bool literal_is_read(const struct array_shape *shape) {
    return !shape->is_tuple && element_rows[shape->element].kind != NUMBER_OTHER;
}

bool read_literal(struct scanner *s, const struct array_shape *shape, const struct literal **to) {
    struct numbers numbers = {shape, element_rows[shape->element].kind, NULL, 0, 0};
    if (shape->n_elements == 0 && scan_peek(s) == '{') {
        if (!scan_balanced(s))
            return false;
    } else if (!read_dimension(s, &numbers, 0)) {
        return false;
    }
    int64_t n = are_all_same(&numbers) ? 1 : numbers.n;
    const void *kept = arena_copy(s->arena, numbers.bits, (size_t)n * sizeof *numbers.bits);
    struct literal *literal = ARENA_NEW(s->arena, struct literal);
    literal->n = n;
    if (numbers.kind == NUMBER_REAL)
        literal->reals = kept;
    else
        literal->integers = kept;
    *to = literal;
    return true;
}
