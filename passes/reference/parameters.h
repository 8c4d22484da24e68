// The parameters of a model: which it has, and their tensors and buffers.
#ifndef PLACE_PASSES_PARAMETERS_H
#define PLACE_PASSES_PARAMETERS_H

#include "ir/config.h"

enum parameter {
#define PARAMETER(ID, ...) PARAMETER_##ID,
#define PART(...)
#include "passes/reference/parameters.def"
#undef PART
#undef PARAMETER
    N_PARAMETERS
};

// Every parameter's tensor, and the buffer of the same name that holds it: that of one that this
// model has not is NO_ID.
void add_parameters(struct program *, const struct config *, buffer_id buffers[N_PARAMETERS]);
const char *parameter_name(enum parameter);
const enum role *parameter_roles(enum parameter); // MAX_ROLES, outermost first; NONE fills up

#endif
