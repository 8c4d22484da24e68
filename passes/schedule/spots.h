// The statements of a step, with the loops around them and what these name, and what is freed behind
// them. Shared by release.c and spots.c.
#ifndef PLACE_PASSES_SPOTS_H
#define PLACE_PASSES_SPOTS_H

#include "passes/schedule/frees.h"

struct named_stack { // of a buffer
    buffer_id buffer;
    unsigned stack;
    int64_t modulus; // of the remainder that names its places; 0: none does
};
struct stack_list { // in order, each as often as it was found
    struct named_stack *list;
    uint32_t n, cap;
};

// A statement, and where it stands.
struct spot {
    uint32_t loop;           // the innermost loop around it, a spot; NO_ID: none
    int depth;               // loops around it
    struct stack_list named; // of a loop, by its variable: places of which stacks
    bool is_fixed;           // its variable has one value
    bool is_once;            // it is executed once in each iteration of the loop that it goes with
    struct frees frees;
    uint32_t first_end; // of lives in the buffer that release.c looks at, from 1 on; 0: none
    uint32_t naming; // of such a buffer's items there (release.c), from 1 on; 0: none was asked for
};

// Finds the spots of a step, by place, in `arena`.
struct spot *find_spots(struct arena *, const struct program *, const struct step *);
// How the loop's variable names places of a stack; NULL: it does not.
const struct named_stack *find_named(const struct spot *loop, buffer_id, unsigned stack);
// Does it name places of any of the buffer's?
bool names_buffer(const struct spot *loop, buffer_id);

#endif
