// Turns: a digit of an input's dimension that is made concrete. Who goes through microbatches one after the other adds up
// what each gives; where one device takes all at once, its sums are written as sums of sums over each turn.
#ifndef PLACE_EQUAL_VALUES_TURNS_H
#define PLACE_EQUAL_VALUES_TURNS_H

#include "equal/values/value.h"

enum { MOST_TURNS_OF = 64, MOST_TURN_LISTS = 32 };

struct turn { // of an input's dimension: its digit of `count` places, each of `stride` elements
    uint32_t input, dimension;
    int64_t stride, count;
};
struct turn_list {
    struct turn of[MOST_TURN_LISTS];
    uint32_t n;
};

// Finds of which digits of inputs terms from `first` on read one place only.
void turns_find(const struct calculus *, uint32_t first, struct turn_list *);

#endif
