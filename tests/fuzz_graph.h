// What fuzzers of readers of programs hold: that a graph is what equal/graph/graph.h says.
#ifndef PLACE_TESTS_FUZZ_GRAPH_H
#define PLACE_TESTS_FUZZ_GRAPH_H

#include "equal/graph/graph.h"
#include "ir/diagnostic.h"

// What a reading gave of so many bytes: a graph or one message, in memory that the bytes bound. All of it is looked at.
void hold_reading(const struct graph *, const struct diagnostics *, const struct arena *kept,
                  size_t bytes);

#endif
