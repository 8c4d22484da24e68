// Numbers with symbols in them; see number.h.
#include "verify/algebra/number.h"

#include <stddef.h>

#include "ir/check.h"

// The power of two at place p is LOWEST_SYMBOL << BITS * p: coefficients of -2 to 2 and offsets of
// less than 4 MAX_NUMBER, which is half of the lowest symbol, are told apart.
enum { BITS = 3 };

struct affine { // constant + the sum of slope[s] * i[s] over the symbols' iterations i[s]
    int64_t constant, slope[MAX_SYMBOLS];
};

static int32_t power_at(unsigned place) {
    return LOWEST_SYMBOL << BITS * place;
}

// Takes what is at the place out of the number; places are taken from the last on.
static int32_t take_place(int32_t *number, unsigned place) {
    int32_t one = power_at(place), times = 0;
    for (; *number >= one / 2; times++)
        *number -= one;
    for (; *number < -one / 2; times--)
        *number += one;
    return times;
}

static unsigned places_taken(const struct symbols *symbols) {
    if (symbols->n == 0)
        return 0;
    const struct symbol *last = &symbols->list[symbols->n - 1];
    return last->place + (last->factor ? 2 : 1);
}

bool symbols_have_room(const struct symbols *symbols, bool with_multiple) {
    return places_taken(symbols) + with_multiple < MAX_SYMBOLS;
}

int32_t symbol_begin(struct symbols *symbols, int64_t first, int64_t step, int64_t iterations) {
    CHECK(symbols_have_room(symbols, false));
    unsigned place = places_taken(symbols);
    symbols->list[symbols->n++] = (struct symbol){first, step, iterations, place, 0};
    return power_at(place);
}

void symbol_multiply(struct symbols *symbols, int32_t factor) {
    CHECK(symbols->n > 0 && symbols_have_room(symbols, false) && factor > 1);
    symbols->list[symbols->n - 1].factor = factor;
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

// The symbol that has the place, or whose multiple has it.
static unsigned symbol_at(const struct symbols *symbols, unsigned place) {
    CHECK(place < places_taken(symbols));
    unsigned s = symbols->n - 1;
    while (symbols->list[s].place > place)
        s--;
    return s;
}

static struct affine affine_of(const struct symbols *symbols, int32_t number, int64_t stride) {
    struct affine affine = {0};
    if (number_is_symbolic(number))
        for (unsigned place = MAX_SYMBOLS; place-- > 0;) {
            int64_t times = take_place(&number, place) * stride;
            if (times == 0)
                continue;
            unsigned s = symbol_at(symbols, place);
            const struct symbol *symbol = &symbols->list[s];
            times *= place == symbol->place ? 1 : symbol->factor;
            affine.constant += times * symbol->first;
            affine.slope[s] += times * symbol->step;
        }
    affine.constant += number * stride;
    return affine;
}

bool number_is_known(const struct symbols *symbols, int32_t number) {
    for (unsigned place = MAX_SYMBOLS; place-- > places_taken(symbols);)
        if (take_place(&number, place) != 0)
            return false;
    return true;
}

int64_t number_first(const struct symbols *symbols, int32_t number) {
    return affine_of(symbols, number, 1).constant;
}

int32_t number_replace(const struct symbols *symbols, int32_t number, int32_t by) {
    const struct symbol *last = &symbols->list[symbols->n - 1];
    int32_t rest = number;
    if (!number_is_symbolic(number)) // this saves time: nothing is in it
        return number;
    CHECK(number_is_known(symbols, number));
    for (unsigned place = places_taken(symbols); place-- > last->place;) {
        int32_t times = take_place(&rest, place);
        int64_t as = by;
        if (place > last->place) // the multiple's
            CHECK(times == 0 || number_multiple(symbols, by, last->factor, &as));
        number += times * ((int32_t)as - power_at(place));
    }
    return number;
}

bool number_multiple(const struct symbols *symbols, int32_t number, int32_t factor,
                     int64_t *product) {
    *product = factor == 1 ? number : 0;
    if (factor == 1)
        return true;
    for (unsigned place = MAX_SYMBOLS; number_is_symbolic(number) && place-- > 0;) {
        int32_t times = take_place(&number, place);
        if (times == 0)
            continue;
        const struct symbol *symbol = &symbols->list[symbol_at(symbols, place)];
        if (place != symbol->place || symbol->factor != factor)
            return false;
        *product += (int64_t)times * power_at(place + 1);
    }
    *product += (int64_t)number * factor;
    return true;
}

int32_t number_times(struct symbols *symbols, int32_t number, int32_t factor) {
    int64_t product;
    if (number_multiple(symbols, number, factor, &product))
        return (int32_t)product;
    symbols_only_first(symbols);
    return (int32_t)(number_first(symbols, number) * factor);
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
int32_t number_modulo_symbolic(struct symbols *symbols, int32_t number, int64_t modulus) {
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
