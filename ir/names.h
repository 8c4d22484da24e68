// A table from names to numbers, for lists that may be long: a file may declare 100,000 strategies,
// a text of a program 50,000 buffers, and each is looked up by its name.
#ifndef PLACE_IR_NAMES_H
#define PLACE_IR_NAMES_H

#include <stdint.h>

#include "ir/arena.h"

struct named_number {
    const char *name; // NULL: the slot is free
    uint32_t hash, number;
    uint32_t given; // the last number that names_fresh has put behind it
};
struct names { // all zero but for the arena: empty
    struct arena *arena;
    struct named_number *slots; // open addressing, a power of two of them
    uint32_t n, n_slots;
};

#define NOT_NAMED UINT32_MAX

// The number of the name; NOT_NAMED: it is not in the table.
uint32_t names_find(const struct names *, const char *name);
// The name must not be in the table. It is kept, not copied.
void names_add(struct names *, const char *name, uint32_t number);
// The name, if it is not in the table, else the first that is not of name, mark and 2, 3, ... What
// it gave to an earlier call it takes for added.
const char *names_fresh(struct names *, const char *name, char mark);

#endif
