// Joins operands over the coordinates of an expression to one space: the parts of a term.
#ifndef PLACE_EQUAL_VALUES_JOIN_H
#define PLACE_EQUAL_VALUES_JOIN_H

#include "equal/values/value.h"

struct operand {
    struct term of;
    scale_id scale;
    struct view view; // over coordinates; once joined over the space
};

void operand_copy(struct operand *, const struct operand *from);
// Room for so many operands, which are large: until it is asked for again.
struct operand *operand_room(struct calculus *, uint32_t n);
// Whether its view is over the coordinate, or the dimension of a joined space.
bool operand_has(const struct operand *, uint32_t coordinate);

// The space, with dimensions in an order that follows from the operands alone; and where it lies.
struct joined {
    struct space space;
    bool folded[MAX_DIMENSIONS];        // dimensions of coordinates in the mask
    struct affine from[MAX_DIMENSIONS]; // each dimension, over coordinates
};

// A joined space as coordinates, numbered as its dimensions are, and the way back.
struct joined_space {
    struct coordinates all;
    uint64_t folded;
    struct substitution back;
};

// Brings operands to views over the space. `order`: what changes places without changing the term comes in an order of
// its own; else the operands' order is the term's. False: pieces of coordinates do not fall on digits of each other.
bool join_operands(struct calculus *, struct operand *, uint32_t n, uint64_t folded, bool order,
                   struct joined *);
// The same of values in any order, of which many may have one view: the summands of a sum.
bool join_values(struct calculus *, struct viewed *, uint32_t n, struct joined *);
void joined_coordinates(const struct joined *, struct joined_space *);
// The operand as a part of a term over the space.
struct part joined_part(struct calculus *, const struct operand *, const struct space *);
// The same of values whose views are over the space.
void joined_parts(struct calculus *, const struct viewed *, uint32_t n, const struct space *,
                  struct part *);
// Part `i` of a term as an operand over the coordinates over which the view says the term's space.
bool open_part(struct calculus *, struct scaled of, const struct view *, uint32_t i,
               struct operand *);
// The same of a value, as one over the same coordinates; its scale is that which it has in the term.
bool part_value(struct calculus *, struct viewed of, uint32_t i, struct viewed *part);

#endif
