// Windows that move over an array, as reduce-window and convolution have them.
#ifndef PLACE_EQUAL_INTERPRETER_WINDOW_H
#define PLACE_EQUAL_INTERPRETER_WINDOW_H

#include "equal/interpreter/walk.h"

// Along a dimension. The array's elements lie `base_dilation` apart, between `low` and `high` others that are none; the
// window's lie `dilation` apart.
struct window_dimension {
    int64_t size, stride, low, high, base_dilation, dilation, reversal;
};
struct window {
    uint32_t rank;
    struct window_dimension dimensions[MAX_GRAPH_RANK];
};

// The text of a window among an instruction's other attributes ("window={size=1x4 pad=0_0x3_0}"). False: there is
// none, or it has numbers that no window has.
bool window_read(const char *others, struct window *);
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
