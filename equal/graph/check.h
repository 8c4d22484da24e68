// Holds a graph to what graph.h says of it beyond its form: that operands and attributes fit together, and that shapes
// are those that follow from them. Readers end with it.
#ifndef PLACE_EQUAL_GRAPH_CHECK_H
#define PLACE_EQUAL_GRAPH_CHECK_H

#include "equal/graph/graph.h"
#include "ir/diagnostic.h"

// False: it has been reported (E905) of the first instruction that does not fit.
bool graph_check(const struct graph *, struct diagnostics *);

#endif
