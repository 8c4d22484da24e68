// Scales: a number times powers of scalars; see term.h. A number whose numerator and denominator are no 64-bit integers, as a
// coefficient's high power is, is the powers of its primes. Which of both a number is depends on its value alone, so equal
// numbers are one scale.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "verify/algebra/term.h"

// ---- powers of primes -------------------------------------------------------------------------

// So many primes are tried that a number below LARGEST_TRIED squared is always taken apart, as those are that people write.
enum { MOST_PRIMES = 24, MOST_POWER = 1 << 20, LARGEST_TRIED = 1 << 12 };

struct factored {
    uint32_t n;
    bool negative;
    struct prime_power of[MOST_PRIMES]; // primes ascend, no power is zero
};

static bool add_prime(struct factored *to, int64_t prime, int64_t power) {
    uint32_t at = 0;
    while (at < to->n && to->of[at].prime < prime)
        at++;
    bool known = at < to->n && to->of[at].prime == prime;
    if (!known) {
        if (to->n == MOST_PRIMES)
            return false;
        memmove(&to->of[at + 1], &to->of[at], (to->n++ - at) * sizeof *to->of);
        to->of[at] = (struct prime_power){prime, 0};
    }
    to->of[at].power += power;
    if (to->of[at].power == 0)
        memmove(&to->of[at], &to->of[at + 1], (--to->n - at) * sizeof *to->of);
    return llabs(power) <= MOST_POWER;
}

// Multiplies by a positive number to a power. False: of a factor of the number it is not known whether that is a prime.
static bool add_number(struct factored *to, int64_t number, int64_t power) {
    for (int64_t prime = 2; prime <= LARGEST_TRIED && prime * prime <= number;
         prime += prime == 2 ? 1 : 2) {
        int64_t times = 0;
        for (; number % prime == 0; number /= prime)
            times++;
        if (times && !add_prime(to, prime, times * power))
            return false;
    }
    bool is_prime = number / LARGEST_TRIED < LARGEST_TRIED;
    return number == 1 || (is_prime && add_prime(to, number, power));
}

const struct prime_power *scale_primes(const struct terms *terms, const struct scale *scale,
                                       uint32_t *n) {
    *n = 0;
    if (!scale->primes)
        return NULL;
    const int64_t *words = interned(&terms->attributes, scale->primes - 1);
    *n = (uint32_t)*words;
    return (const struct prime_power *)(words + 1);
}

// Multiplies by the number of the scale.
static bool add_scale(const struct terms *terms, struct factored *to, const struct scale *scale) {
    to->negative ^= scale->numerator < 0;
    if (!scale->primes)
        return add_number(to, llabs(scale->numerator), 1) && add_number(to, scale->denominator, -1);
    uint32_t n;
    const struct prime_power *primes = scale_primes(terms, scale, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!add_prime(to, primes[i].prime, primes[i].power))
            return false;
    return true;
}

// Whether the number fits, which is the scale's numerator and denominator then.
static bool pack(const struct factored *from, struct scale *scale) {
    int64_t *const sides[] = {&scale->denominator, &scale->numerator};
    scale->numerator = scale->denominator = 1;
    for (uint32_t i = 0; i < from->n; i++)
        for (int64_t k = llabs(from->of[i].power); k > 0; k--) {
            int64_t *side = sides[from->of[i].power > 0];
            if (__builtin_mul_overflow(*side, from->of[i].prime, side))
                return false;
        }
    return true;
}

static void set_number(struct terms *terms, const struct factored *number, struct scale *scale) {
    scale->primes = 0;
    if (!pack(number, scale)) {
        int64_t words[1 + 2 * MOST_PRIMES] = {number->n};
        memcpy(words + 1, number->of, number->n * sizeof *number->of);
        uint32_t size = (1 + 2 * number->n) * (uint32_t)sizeof *words;
        scale->primes = intern(&terms->attributes, words, size, NULL) + 1;
        scale->numerator = scale->denominator = 1;
    }
    if (number->negative)
        scale->numerator = -scale->numerator;
}

// The product of the numbers of two scales. False: that is not known.
static bool multiply_numbers(struct terms *terms, const struct scale *a, const struct scale *b,
                             struct scale *product) {
    // Crosswise first, so that the products stay small.
    int64_t c = greatest_divisor(a->numerator, b->denominator);
    int64_t d = greatest_divisor(b->numerator, a->denominator);
    product->primes = 0;
    if (!a->primes && !b->primes &&
        !__builtin_mul_overflow(a->numerator / c, b->numerator / d, &product->numerator) &&
        !__builtin_mul_overflow(a->denominator / d, b->denominator / c, &product->denominator) &&
        product->numerator != INT64_MIN) // which cannot be negated
        return true;
    struct factored number = {0};
    if (!add_scale(terms, &number, a) || !add_scale(terms, &number, b))
        return false;
    set_number(terms, &number, product);
    return true;
}

static void invert_number(struct terms *terms, struct scale *scale) {
    int64_t numerator = scale->numerator;
    scale->numerator = scale->denominator;
    scale->denominator = numerator;
    if (!scale->primes)
        return;
    struct factored number = {.negative = numerator < 0};
    const struct prime_power *primes = scale_primes(terms, scale, &number.n);
    for (uint32_t i = 0; i < number.n; i++)
        number.of[i] = (struct prime_power){primes[i].prime, -primes[i].power};
    set_number(terms, &number, scale);
}

double scale_number_value(const struct terms *terms, const struct scale *scale) {
    double value = (double)scale->numerator / (double)scale->denominator;
    uint32_t n;
    const struct prime_power *primes = scale_primes(terms, scale, &n);
    for (uint32_t i = 0; i < n; i++)
        value *= pow((double)primes[i].prime, (double)primes[i].power);
    return value;
}

// ---- scales -----------------------------------------------------------------------------------

int64_t greatest_divisor(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static scale_id scale_intern(struct terms *terms, struct scale scale) {
    int64_t divisor = greatest_divisor(scale.numerator, scale.denominator);
    if (scale.denominator < 0)
        divisor = -divisor;
    struct scale key;
    CHECK(scale.numerator != 0); // a weight of zero has no scale (expand.c), sums keep what cancels
    memset(&key, 0, sizeof key); // padding is part of the key
    key.numerator = scale.numerator / divisor;
    key.denominator = scale.denominator / divisor;
    key.serial = scale.serial;
    key.primes = scale.primes;
    for (uint32_t i = 0; i < scale.n_factors; i++)
        key.factors[key.n_factors++] = scale.factors[i];
    return intern(&terms->scales, &key, sizeof key, NULL);
}

// A scale that the arithmetic here cannot hold is equal to no other: at worst nothing is proved.
static scale_id scale_unknown(struct terms *terms) {
    return scale_intern(
        terms, (struct scale){.numerator = 1, .denominator = 1, .serial = ++terms->serial});
}

const struct scale *scale_get(const struct terms *terms, scale_id scale) {
    return interned(&terms->scales, scale);
}

scale_id scale_rational(struct terms *terms, int64_t numerator, int64_t denominator) {
    return scale_intern(terms, (struct scale){.numerator = numerator, .denominator = denominator});
}

scale_id scale_of_term(struct terms *terms, struct term scalar) {
    if (term_kind(terms, scalar) == NODE_ONE)
        return SCALE_ONE;
    return scale_intern(
        terms,
        (struct scale){.numerator = 1, .denominator = 1, .n_factors = 1, .factors = {{scalar, 1}}});
}

scale_id scale_number(struct terms *terms, scale_id a) {
    struct scale scale = *scale_get(terms, a);
    scale.n_factors = 0;
    return scale_intern(terms, scale);
}

static bool factor_before(struct factor a, struct factor b) {
    return a.of.node != b.of.node ? a.of.node < b.of.node : a.of.at < b.of.at;
}

// Merges two sorted lists of factors, adding powers. False: too many, or too high a power.
static bool merge_factors(struct scale *to, const struct scale *a, const struct scale *b) {
    uint32_t i = 0, k = 0;
    while (i < a->n_factors || k < b->n_factors) {
        struct factor next;
        if (k == b->n_factors ||
            (i < a->n_factors && factor_before(a->factors[i], b->factors[k]))) {
            next = a->factors[i++];
        } else if (i == a->n_factors || factor_before(b->factors[k], a->factors[i])) {
            next = b->factors[k++];
        } else {
            next = a->factors[i++];
            next.power += b->factors[k++].power;
        }
        if (next.power == 0)
            continue;
        if (to->n_factors == MAX_FACTORS || abs(next.power) > MAX_POWER)
            return false;
        to->factors[to->n_factors++] = next;
    }
    return true;
}

scale_id scale_multiply(struct terms *terms, scale_id a, scale_id b) {
    if (a == SCALE_ONE || b == SCALE_ONE)
        return a == SCALE_ONE ? b : a;
    struct multiplied *known = &terms->multiplied[(a * 31 + b) % N_MULTIPLIED];
    if (known->a == a && known->b == b)
        return known->product;
    const struct scale *left = scale_get(terms, a), *right = scale_get(terms, b);
    struct scale product = {0};
    if (left->serial || right->serial || !merge_factors(&product, left, right) ||
        !multiply_numbers(terms, left, right, &product))
        return scale_unknown(terms);
    *known = (struct multiplied){a, b, scale_intern(terms, product)};
    return known->product;
}

static bool have_inverses(const struct scale *a, const struct scale *b) {
    for (uint32_t i = 0; i < a->n_factors; i++)
        for (uint32_t k = 0; k < b->n_factors; k++)
            if (term_equal(a->factors[i].of, b->factors[k].of) &&
                (a->factors[i].power < 0) != (b->factors[k].power < 0))
                return true;
    return false;
}

scale_id scale_product(struct terms *terms, scale_id a, scale_id b) {
    if (a == SCALE_ONE || b == SCALE_ONE)
        return a == SCALE_ONE ? b : a;
    return have_inverses(scale_get(terms, a), scale_get(terms, b)) ? scale_unknown(terms)
                                                                   : scale_multiply(terms, a, b);
}

static int32_t common_power(int32_t a, int32_t b) {
    if ((a < 0) != (b < 0))
        return 0;
    return (a < 0) == (a < b) ? b : a;
}

scale_id scale_common(struct terms *terms, scale_id a, scale_id b) {
    struct scale left = *scale_get(terms, a);
    const struct scale *right = scale_get(terms, b);
    uint32_t n = 0;
    if (left.n_factors == 0 && !left.serial)
        return a;
    for (uint32_t i = 0; i < left.n_factors; i++)
        for (uint32_t k = 0; k < right->n_factors; k++) {
            struct factor factor = left.factors[i];
            factor.power = common_power(factor.power, right->factors[k].power);
            if (term_equal(factor.of, right->factors[k].of) && factor.power)
                left.factors[n++] = factor;
        }
    left.n_factors = n;
    left.serial = 0;
    return scale_intern(terms, left);
}

scale_id scale_invert(struct terms *terms, scale_id a) {
    struct scale scale = *scale_get(terms, a);
    if (scale.serial)
        return scale_unknown(terms);
    invert_number(terms, &scale);
    for (uint32_t i = 0; i < scale.n_factors; i++)
        scale.factors[i].power = -scale.factors[i].power;
    return scale_intern(terms, scale);
}

// Adds the number of b to that of a; what has primes as a (1 + b / a). False: that is not known.
static bool add_numbers(struct terms *terms, struct scale *a, const struct scale *b) {
    struct scale inverse = *a, ratio, first = *a;
    int64_t x, y;
    if (!a->primes && !b->primes) {
        bool fits = !__builtin_mul_overflow(a->numerator, b->denominator, &x) &&
                    !__builtin_mul_overflow(b->numerator, a->denominator, &y) &&
                    !__builtin_add_overflow(x, y, &a->numerator) && a->numerator != INT64_MIN;
        return fits && !__builtin_mul_overflow(a->denominator, b->denominator, &a->denominator);
    }
    invert_number(terms, &inverse);
    if (!multiply_numbers(terms, b, &inverse, &ratio) || ratio.primes)
        return false;
    if (__builtin_add_overflow(ratio.numerator, ratio.denominator, &ratio.numerator) ||
        ratio.numerator == INT64_MIN)
        return false;
    if (ratio.numerator == 0) {
        a->numerator = 0;
        return true;
    }
    int64_t divisor = greatest_divisor(ratio.numerator, ratio.denominator);
    ratio.numerator /= divisor;
    ratio.denominator /= divisor;
    return multiply_numbers(terms, &first, &ratio, a);
}

bool scale_total(struct terms *terms, scale_id a, scale_id b, scale_id *sum, bool *cancels) {
    struct scale left = *scale_get(terms, a), right = *scale_get(terms, b);
    if (left.serial || right.serial || left.n_factors != right.n_factors ||
        memcmp(left.factors, right.factors, left.n_factors * sizeof *left.factors) != 0)
        return false;
    if (!add_numbers(terms, &left, &right))
        return false;
    *cancels = left.numerator == 0;
    if (!*cancels)
        *sum = scale_intern(terms, left);
    return true;
}

bool scale_add(struct terms *terms, scale_id a, scale_id b, scale_id *sum) {
    bool cancels;
    bool signs = (scale_get(terms, a)->numerator < 0) == (scale_get(terms, b)->numerator < 0);
    return signs && scale_total(terms, a, b, sum, &cancels);
}
