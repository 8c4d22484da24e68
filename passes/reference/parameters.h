// The parameters of a model: which it has, and their tensors and buffers.
#ifndef PLACE_PASSES_PARAMETERS_H
#define PLACE_PASSES_PARAMETERS_H

#include "ir/config.h"
#include "passes/reference/select.h"

enum parameter {
#define PARAMETER(ID, ...) PARAMETER_##ID,
#define PART(...)
#include "passes/reference/parameters.def"
#undef PART
#undef PARAMETER
    N_PARAMETERS
};

// The buffers of parameters in a range of layers; NO_ID: this model has no such parameter.
typedef buffer_id parameter_buffers[N_PARAMETERS];
// Every parameter's tensors, one for each range of layers, and the buffers of the same names that hold
// them.
void add_parameters(struct program *, const struct config *, const struct layer_ranges *,
                    parameter_buffers *buffers); // by range
const char *parameter_name(enum parameter);
const enum role *parameter_roles(enum parameter); // MAX_ROLES, outermost first; NONE fills up

#endif
