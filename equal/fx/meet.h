// What an op of several is given, in one type and in one shape.
#ifndef PLACE_EQUAL_FX_MEET_H
#define PLACE_EQUAL_FX_MEET_H

#include "equal/fx/build.h"

// Widens the sizes by those of an array. False: they do not fit together, which has been reported.
bool fx_meet_sizes(struct call *, uint32_t array, struct sizes *);
// The type and the sizes that an op of several gives: arguments `first` up to `end`, arrays or numbers.
bool fx_meet(struct call *, uint32_t first, uint32_t end, enum element *, struct sizes *);
// Argument `i` as an array of this type and these sizes.
uint32_t fx_fitted(struct call *, uint32_t i, enum element, const struct sizes *);

#endif
