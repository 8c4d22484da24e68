// Numbers of layers, microbatches, items and slots. Inside an iteration that stands for many
// (induction.c) they depend on the variables of loops: x + 1, where x is what the loop counts.
//
// A number is one int32_t in which such a variable, a *symbol*, is a large power of two, so that
// adding, subtracting and being the same function of the symbols are what they are of integers, and
// whoever only does that need not know of symbols. Comparing is different: `x + 1 < 16` holds for
// some x. It is answered as it is for the first of the iterations, and how many of them have the
// same answer is noted with the symbol. What was computed between symbol_begin and symbol_end thus
// holds for as many iterations as the symbol then says, and of the others nothing is claimed.
#ifndef PLACE_VERIFY_ALGEBRA_NUMBER_H
#define PLACE_VERIFY_ALGEBRA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

// A multiple of the variable is needed, too, of a loop with others inside that go with it: where x
// counts groups of two layers they begin at 2 x. It is a large power of two of its own, which moves
// with x.
enum {
    MAX_SYMBOLS = 3,     // loops in one another that may stand for many iterations at once, and
                         // multiples of their variables
    MAX_NUMBER = 1 << 20 // of a layer, microbatch, item or slot; sums and differences are below 4
                         // of them, so that they cannot be taken for a symbol
};

struct symbol {
    int64_t first, step; // its value in iteration i is first + i * step
    int64_t iterations;  // for which everything was decided alike
    unsigned place;      // among the powers of two
    int32_t factor;      // of its multiple, which has the next place; 0: it has none
};
struct symbols { // the outermost loop's first
    struct symbol list[MAX_SYMBOLS];
    unsigned n;
    uint32_t answers; // how often an answer depended on a symbol
};

// The number that stands for first, first + step, ...
int32_t symbol_begin(struct symbols *, int64_t first, int64_t step, int64_t iterations);
struct symbol symbol_end(struct symbols *); // of the symbol that was begun last
// Whether there is room for one more, with a multiple or without.
bool symbols_have_room(const struct symbols *, bool with_multiple);
// Gives the symbol that was begun last a multiple: number_times by this factor, which is not 1,
// holds for all its iterations.
void symbol_multiply(struct symbols *, int32_t factor);
// What follows is known of the first iteration only.
void symbols_only_first(struct symbols *);

enum { LOWEST_SYMBOL = 8 * MAX_NUMBER }; // the outermost loop's; the next is 8 times as large
static inline bool number_is_symbolic(int32_t number) {
    return number >= LOWEST_SYMBOL / 2 || number < -LOWEST_SYMBOL / 2;
}
int64_t number_first(const struct symbols *, int32_t number); // its value in the first iteration
// Whether it has one: the symbol of a loop that has ended says nothing any more.
bool number_is_known(const struct symbols *, int32_t number);
// The number with the symbol that was begun last replaced by another number.
int32_t number_replace(const struct symbols *, int32_t number, int32_t by);
// The slow ways of the two below, for numbers of which one at least is symbolic.
bool number_before_symbolic(struct symbols *, int32_t a, int32_t b);
bool number_equal_symbolic(struct symbols *, int32_t a, int32_t b);
// a < b. Most numbers are plain, and nothing is noted of them.
static inline bool number_before(struct symbols *symbols, int32_t a, int32_t b) {
    return number_is_symbolic(a) || number_is_symbolic(b) ? number_before_symbolic(symbols, a, b)
                                                          : a < b;
}
static inline bool number_equal(struct symbols *symbols, int32_t a, int32_t b) {
    return a == b || ((number_is_symbolic(a) || number_is_symbolic(b)) &&
                      number_equal_symbolic(symbols, a, b));
}
static inline int32_t number_least(struct symbols *symbols, int32_t a, int32_t b) {
    return number_before(symbols, b, a) ? b : a;
}
static inline int32_t number_largest(struct symbols *symbols, int32_t a, int32_t b) {
    return number_before(symbols, a, b) ? b : a;
}
// The product, if there is a number for it: if every symbol in it has a multiple by this factor.
bool number_multiple(const struct symbols *, int32_t number, int32_t factor, int64_t *product);
// The same; where there is none it is the first iteration's, and no other is claimed.
int32_t number_times(struct symbols *, int32_t number, int32_t factor);
int32_t number_modulo_symbolic(struct symbols *, int32_t number, int64_t modulus); // the slow way
// 0 .. modulus-1
static inline int32_t number_modulo(struct symbols *symbols, int32_t number, int32_t modulus) {
    if (number_is_symbolic(number))
        return number_modulo_symbolic(symbols, number, modulus);
    int32_t rest = number % modulus;
    return rest < 0 ? rest + modulus : rest;
}

// Bytes of the arena: base + stride * number.
struct address {
    int64_t base, stride;
    int32_t number;
};
bool address_before(struct symbols *, struct address a, struct address b);

#endif
