// One line of a graph's `forward`.
#ifndef PLACE_EQUAL_FX_LINES_H
#define PLACE_EQUAL_FX_LINES_H

#include "equal/fx/reader.h"

// An array that the program is given becomes its next parameter.
bool fx_add_parameter(struct reader *, struct word name, const struct array_shape *);
// The line at the place, with the comments before it. `*is_last`: it returns.
bool fx_read_line(struct reader *, bool *is_last);

#endif
