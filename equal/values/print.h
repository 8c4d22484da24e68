// Terms as text, for messages and to look at.
#ifndef PLACE_EQUAL_VALUES_PRINT_H
#define PLACE_EQUAL_VALUES_PRINT_H

#include "equal/values/value.h"

// The term down to so many levels, "..." below; dimensions of a term are i, j, k, ... in its parts.
const char *term_words(const struct calculus *, struct scaled, int levels, struct arena *);
// With the view over an array's dimensions and the device's number.
const char *value_text(const struct calculus *, struct viewed, int levels, struct arena *);

// The innermost terms in which two differ, as far as they are made alike.
void term_difference(const struct calculus *, struct scaled *, struct scaled *);

#endif
