// Numbers with symbols in them; see number.h.
#include "verify/number.h"

#include <stddef.h>

#include "ir/check.h"

// Symbol s is LOWEST_SYMBOL << BITS * s: coefficients of -2 to 2 and offsets of less than 4
// MAX_NUMBER, which is half of the lowest symbol, are told apart.
enum { BITS = 3 };

struct affine { // constant + the sum of slope[s] * i[s] over the symbols' iterations i[s]
    int64_t constant, slope[MAX_SYMBOLS];
};

static int32_t symbol_number(unsigned symbol) {
    return LOWEST_SYMBOL << BITS * symbol;
}

// Takes the multiple of the symbol out of the number; symbols are taken from the last on.
static int32_t take_symbol(int32_t *number, unsigned symbol) {
    int32_t one = symbol_number(symbol), times = 0;
    for (; *number >= one / 2; times++)
        *number -= one;
    for (; *number < -one / 2; times--)
        *number += one;
    return times;
}

int32_t symbol_begin(struct symbols *symbols, int64_t first, int64_t step, int64_t iterations) {
    CHECK(symbols->n < MAX_SYMBOLS);
    symbols->list[symbols->n] = (struct symbol){first, step, iterations};
    return symbol_number(symbols->n++);
}

struct symbol symbol_end(struct symbols *symbols) {
    CHECK(symbols->n > 0);
    return symbols->list[--symbols->n];
}

static void lower(struct symbol *symbol, int64_t iterations) {
    if (iterations < symbol->iterations)
        symbol->iterations = iterations;
}

void symbols_only_first(struct symbols *symbols) {
    if (symbols->n)
        lower(&symbols->list[symbols->n - 1], 1);
}

static struct affine affine_of(const struct symbols *symbols, int32_t number, int64_t stride) {
    struct affine affine = {0};
    if (number_is_symbolic(number))
        for (unsigned s = MAX_SYMBOLS; s-- > 0;) {
            int32_t times = take_symbol(&number, s);
            if (times == 0)
                continue;
            CHECK(s < symbols->n);
            affine.constant += times * symbols->list[s].first * stride;
            affine.slope[s] = times * symbols->list[s].step * stride;
        }
    affine.constant += number * stride;
    return affine;
}

bool number_is_known(const struct symbols *symbols, int32_t number) {
    for (unsigned s = MAX_SYMBOLS; s-- > symbols->n;)
        if (take_symbol(&number, s) != 0)
            return false;
    return true;
}

int64_t number_first(const struct symbols *symbols, int32_t number) {
    return affine_of(symbols, number, 1).constant;
}

int32_t number_replace(const struct symbols *symbols, int32_t number, int32_t by) {
    int32_t rest = number, times = 0;
    for (unsigned s = MAX_SYMBOLS; s >= symbols->n; s--)
        times = take_symbol(&rest, s - 1);
    return number + times * (by - symbol_number(symbols->n - 1));
}

int32_t number_times(struct symbols *symbols, int32_t number, int32_t factor) {
    if (factor != 1 && number_is_symbolic(number)) {
        symbols_only_first(symbols);
        number = (int32_t)number_first(symbols, number);
    }
    return (int32_t)((int64_t)number * factor);
}

// ---- comparing --------------------------------------------------------------------------------

// The innermost symbol on which it depends. Where it depends on several, no more than the first
// iteration of the innermost is claimed: whoever began that one will then drop what it computed.
static struct symbol *decisive(struct symbols *symbols, const struct affine *a, int64_t *slope) {
    struct symbol *found = NULL;
    unsigned n = 0;
    for (unsigned s = 0; s < symbols->n; s++)
        if (a->slope[s]) {
            found = &symbols->list[s];
            *slope = a->slope[s];
            n++;
        }
    symbols->answers += n > 0;
    if (n > 1)
        lower(found, 1);
    return n == 1 ? found : NULL;
}

static bool is_negative(struct symbols *symbols, const struct affine *a) {
    int64_t slope = 0, value = a->constant;
    struct symbol *symbol = decisive(symbols, a, &slope);
    if (symbol && value < 0 && slope > 0)
        lower(symbol, (-value + slope - 1) / slope); // 0 or more from there on
    if (symbol && value >= 0 && slope < 0)
        lower(symbol, value / -slope + 1);
    return value < 0;
}

static bool is_zero(struct symbols *symbols, const struct affine *a) {
    int64_t slope = 0, value = a->constant;
    struct symbol *symbol = decisive(symbols, a, &slope);
    if (symbol && value == 0)
        lower(symbol, 1);
    else if (symbol && value % slope == 0 && value / slope < 0)
        lower(symbol, -(value / slope));
    return value == 0;
}

bool number_before_symbolic(struct symbols *symbols, int32_t a, int32_t b) {
    struct affine difference = affine_of(symbols, a - b, 1);
    return is_negative(symbols, &difference);
}

bool number_equal_symbolic(struct symbols *symbols, int32_t a, int32_t b) {
    struct affine difference = affine_of(symbols, a - b, 1);
    return is_zero(symbols, &difference);
}

// Slots go round with the iterations of a symbol (its step is a multiple of the modulus), or the
// number stays in one round as long as is noted.
int32_t number_modulo(struct symbols *symbols, int32_t number, int64_t modulus) {
    struct affine value = affine_of(symbols, number, 1);
    int64_t rest = value.constant % modulus;
    rest += rest < 0 ? modulus : 0;
    bool goes_round = true;
    for (unsigned s = 0; s < symbols->n; s++)
        goes_round = goes_round && value.slope[s] % modulus == 0;
    if (goes_round)
        return (int32_t)rest;
    struct affine in_round = value;
    in_round.constant = rest;
    bool before = is_negative(symbols, &in_round); // both note for how many iterations it holds
    in_round.constant -= modulus;
    bool behind = !is_negative(symbols, &in_round);
    CHECK(!before && !behind);
    return number - (int32_t)(value.constant - rest);
}

bool address_before(struct symbols *symbols, struct address a, struct address b) {
    // This only saves time: what follows gives the same of plain numbers, which most are.
    if (!number_is_symbolic(a.number) && !number_is_symbolic(b.number))
        return a.base + a.stride * a.number < b.base + b.stride * b.number;
    struct affine difference = affine_of(symbols, a.number, a.stride);
    struct affine other = affine_of(symbols, b.number, b.stride);
    difference.constant += a.base - b.base - other.constant;
    for (unsigned s = 0; s < symbols->n; s++)
        difference.slope[s] -= other.slope[s];
    return is_negative(symbols, &difference);
}
