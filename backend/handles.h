// How handles are numbered (see handles.c).
#ifndef PLACE_BACKEND_HANDLES_H
#define PLACE_BACKEND_HANDLES_H

#include "ir/ir.h"

// The number of the first slot of a step's handle; NULL: how many the step has in all parts.
int64_t step_handle(const struct job *, enum step_kind, const char *name);
int64_t step_handle_count(const struct job *);                  // of the step that has the most
int64_t unit_handle_count(const struct unit *, uint32_t n_ops); // starts among the first ops
int64_t handle_count(const struct job *);

#endif
