// The random numbers of dropout, by definition: a function of where an element stands, so that
// nobody need hand on a state, and no division of the work changes what is drawn.
//
// Two levels, because a row has hundreds of elements: the four words of Philox 4x32-10 (Salmon et
// al. 2011) for the row, whose counter is (sample, position, layer, site) and whose key is the
// step's; of these words and the column a bijective mixing of 32 bits makes the element's number.
#ifndef PLACE_IR_INTERPRETER_DRAWS_H
#define PLACE_IR_INTERPRETER_DRAWS_H

#include <stdbool.h>
#include <stdint.h>

struct draw {
    uint64_t key;
    uint32_t sample, position, layer, site, column;
};

// Equally distributed over all numbers of 32 bits.
uint32_t draw_number(const struct draw *);
// True with this probability, 0 <= probability < 1, to 2^-32.
bool draw_drops(const struct draw *, double probability);

#endif
