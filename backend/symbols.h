// Names that objects define and others refer to (see symbols.c).
#ifndef PLACE_BACKEND_SYMBOLS_H
#define PLACE_BACKEND_SYMBOLS_H

#include "ir/ir.h"

// The name of a step's function, of the job's program of this number.
const char *step_symbol(struct arena *, const struct job *, uint32_t program, enum step_kind);

#endif
