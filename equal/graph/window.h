// Windows that move over an array, as reduce-window and convolution have them.
#ifndef PLACE_EQUAL_GRAPH_WINDOW_H
#define PLACE_EQUAL_GRAPH_WINDOW_H

#include "equal/graph/graph.h"

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

#endif
