// The numbers of constants: `{ { 1, 2 }, { 3, 4 } }`, `-inf`, `true`.
#ifndef PLACE_EQUAL_HLO_LITERALS_H
#define PLACE_EQUAL_HLO_LITERALS_H

#include "equal/graph/graph.h"
#include "equal/text/scan.h"

// Whether literals of this shape are read. Of others (tuples, complex numbers) constants are opaque.
bool literal_is_read(const struct array_shape *);
bool read_literal(struct scanner *, const struct array_shape *, const struct literal **);

#endif
