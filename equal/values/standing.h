// Sums of what is there at a digit's places each.
#ifndef PLACE_EQUAL_VALUES_STANDING_H
#define PLACE_EQUAL_VALUES_STANDING_H

#include "equal/values/value.h"

// Takes of a sum's items those that are there where two digits are one, for all turns of one of them, which are `*made` then.
// False: there are no such.
bool stand_at_turns(struct calculus *, struct viewed *items, uint32_t *n,
                    const struct coordinates *, struct viewed *made);
// Takes of a sum's items those that are there at a digit's places each, for all places, which are `*made` together. False:
// there are no such.
bool stand_at_places(struct calculus *, struct viewed *items, uint32_t *n,
                     const struct coordinates *all, struct viewed *made);

#endif
