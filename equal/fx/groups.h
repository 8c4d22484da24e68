// Process groups. A text names them, mostly by numbers, and says of some how many devices meet: equal/layout/
// process_groups.h finds which these are.
#ifndef PLACE_EQUAL_FX_GROUPS_H
#define PLACE_EQUAL_FX_GROUPS_H

#include "equal/fx/reader.h"

// The number of the group of this name. `size` is how many devices meet; 0: the text does not say. False: it said
// something else before, which has been reported.
bool fx_group_named(struct reader *, struct word name, int64_t size, uint32_t *number);
// Gives all collectives their groups, at the end of the text. False: the devices of one are not known, which has been
// reported (E909), or are not those of the program (E906).
bool fx_find_groups(struct reader *);

#endif
