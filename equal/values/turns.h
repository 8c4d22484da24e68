// Turns: digits of an input's dimension that are made concrete. Who goes through microbatches one after the other adds up
// what each gives; where another program takes all at once, or others at a time, sums are written as sums of sums over
// each turn of all that either takes by itself.
#ifndef PLACE_EQUAL_VALUES_TURNS_H
#define PLACE_EQUAL_VALUES_TURNS_H

#include "equal/values/value.h"

enum { MOST_TURNS_OF = 64, MOST_DIGITS_OF = 4, MOST_TURN_LISTS = 512, MOST_DIGIT_LISTS = 256 };

struct digit { // of `count` places, each of `stride` elements
    int64_t stride, count;
};
struct digits { // by rising strides, none of which begins where another ends
    struct digit of[MOST_DIGITS_OF];
    uint32_t n;
};
struct turn { // the digits, by their number, of an input's dimension
    uint32_t input, dimension;
    uint8_t digits;
};
struct turn_list {
    struct turn of[MOST_TURN_LISTS];
    uint32_t n;
    struct digits digits[MOST_DIGIT_LISTS]; // the first has none
    uint32_t n_digits;
};

// Finds of which digits of inputs terms read one place only.
void turns_find(const struct calculus *, struct turn_list *);
// A digit of an input's dimension, of so many places, that is read in turns, too.
void turns_add(struct turn_list *, uint32_t input, uint32_t dimension, struct digit, int64_t size);
// The digits that a piece of the index shows, `extent` places from this stride on, as digits of these places.
uint8_t turns_of_piece(struct turn_list *, uint8_t digits, int64_t stride, int64_t extent);
// All digits of both, of a dimension of so many places; those of `a` where they do not fall beside each other.
uint8_t turns_of_both(struct turn_list *, uint8_t a, uint8_t b, int64_t size);

#endif
