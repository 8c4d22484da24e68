// Where the elements of windows lie, and walks over them.
#ifndef PLACE_EQUAL_INTERPRETER_WINDOW_H
#define PLACE_EQUAL_INTERPRETER_WINDOW_H

#include "equal/graph/window.h"
#include "equal/interpreter/walk.h"

// The index of the array's element at an element of the window at a place of the result. False: there is none.
bool window_index(const struct window_dimension *, int64_t place, int64_t element, int64_t size,
                  int64_t *index);
// How many places the window has along a dimension of that size.
int64_t window_places(const struct window_dimension *, int64_t size);
// The window's elements, all dimensions together, which may be too many to count: then the largest number.
int64_t window_elements(const struct window *);
// A walk over them.
struct walk window_walk(const struct window *);

#endif
