// Programs of which only the parameters and results are there, for tests of layouts.
#ifndef PLACE_TESTS_EQUAL_LAYOUT_PROGRAM_H
#define PLACE_TESTS_EQUAL_LAYOUT_PROGRAM_H

#include "equal/graph/graph.h"
#include "ir/diagnostic.h"

// A line for each fact, which also is the place of its instruction:
//
//   devices 4
//   partitioned
//   axes dp=2 tp=2                           that device groups name
//   groups 2 0 1 2 3                         an all_reduce in groups of that size
//   parameter a[0]['wq'] f32[28,32] {devices=[1,2]<=[2]}
//   parameter - f32[28]                      one without a path
//   result f32[4,16] {replicated}            the last one's sharding is the root's
//   tuple                                    the root is one, even of one result
struct graph *layout_program(const char *name, const char *text, struct arena *,
                             struct diagnostics *);

#endif
