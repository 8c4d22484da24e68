// What one device does where the many go wrong: the instruction of its program that reads the same values, and which of
// them another one stands for.
#ifndef PLACE_EQUAL_DIAGNOSIS_REFERENCE_H
#define PLACE_EQUAL_DIAGNOSIS_REFERENCE_H

#include "equal/diagnosis/numbers.h"
#include "verify/algebra/intern.h"

enum mismatch_kind {
    MISMATCH_NONE,
    MISMATCH_MADE,  // `at` makes another value of the same operands
    MISMATCH_MOVED, // `at` takes elements that are none of `expected`, or puts them elsewhere
    MISMATCH_READ,  // `at` reads `instead`, one device reads `expected`
};
struct mismatch {
    enum mismatch_kind kind;
    uint32_t at, instead; // of the many's trace
    uint32_t expected;    // of the one's; NOWHERE: it is not known
};

// What is asked for again and again is kept.
struct counterparts {
    const struct numbers *numbers;
    struct seen *seen;  // by array of the many's trace
    double **sorted;    // by array of the one's: its numbers that tell; NULL: not asked for
    uint32_t *n_sorted; // how many
    struct element_mean *means[2];          // by array of the one's and of the many's trace
    struct element_mean *turns[2];          // the same, of all that is made by the instruction
    uint32_t *next[2];                      // by array the next that the instruction makes, round
    struct array_place *places[2];          // by array, in the user's program
    uint32_t *first_on_line, *next_on_line; // arrays of the one's trace; NOWHERE: none is left
    struct intern lines, routes;            // of calls
    struct arena scratch;                   // of one question
    struct arena *arena;
};

// Whether an array of integers or truths is on some device no part of those that one device makes at this place of the
// user's program. False also where it makes none there.
bool reference_lacks(const struct counterparts *, uint32_t at);
// Whether all that devices have of an array is `factor` times what one device makes at this place of the user's program.
bool reference_makes_multiple(struct counterparts *, uint32_t at, double factor);
struct counterparts reference_new(const struct numbers *, struct arena *);
void reference_free(struct counterparts *);
// What is wrong about an array all of whose operands are sound.
struct mismatch reference_operands(struct counterparts *, uint32_t at);
// The same of a sound array that is read, by `reader` of the many, where `expected` of the one should be; a result
// reads itself.
struct mismatch reference_instead(struct counterparts *, uint32_t reader, uint32_t found,
                                  uint32_t expected);

#endif
