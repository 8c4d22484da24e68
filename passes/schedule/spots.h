// The statements of a step, with the loops around them and what these name, and what is freed behind
// them. Shared by release.c and spots.c.
#ifndef PLACE_PASSES_SPOTS_H
#define PLACE_PASSES_SPOTS_H

#include "passes/schedule/frees.h"

struct stack_of { // of a buffer
    buffer_id buffer;
    unsigned stack;
};
struct stack_list { // in order, each as often as it was found
    struct stack_of *list;
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
};

// Finds the spots of a step, by place, in `arena`.
struct spot *find_spots(struct arena *, const struct program *, const struct step *);
// Does the loop's variable name places of a stack, or of any of the buffer's?
bool names_stack(const struct spot *loop, buffer_id, unsigned stack);
bool names_buffer(const struct spot *loop, buffer_id);

#endif
