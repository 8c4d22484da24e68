// One computation: `%add (a: f32[], b: f32[]) -> f32[] { ... }`, with or without what it is given and gives.
#ifndef PLACE_EQUAL_HLO_COMPUTATIONS_H
#define PLACE_EQUAL_HLO_COMPUTATIONS_H

#include "equal/hlo/reader.h"

// The computation at the place, behind `ENTRY`, becomes the module's last.
bool read_computation(struct reader *, struct word name);

#endif
