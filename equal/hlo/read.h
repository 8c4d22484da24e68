// Reads HLO text: what XLA dumps (`*.before_optimizations.txt`, `*.after_spmd-partitioning.*.txt`) and what JAX prints
// (`lower(...).as_text("hlo")`).
#ifndef PLACE_EQUAL_HLO_READ_H
#define PLACE_EQUAL_HLO_READ_H

#include "equal/graph/graph.h"
#include "ir/diagnostic.h"

// The graph of a source of the diagnostics' set; NULL: it is none, which has been reported (E90x), at its place. All
// that stays lies in the arena, and points into the source. Memory is linear in the text's bytes, whatever the text
// says of sizes.
struct graph *hlo_read(uint32_t source, struct arena *, struct diagnostics *);

#endif
