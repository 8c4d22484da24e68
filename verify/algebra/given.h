// What a step is given, as leaves of terms: states, and what the host writes. Both programs' are
// equal where the names are.
#ifndef PLACE_VERIFY_ALGEBRA_GIVEN_H
#define PLACE_VERIFY_ALGEBRA_GIVEN_H

#include "verify/algebra/term.h"

// The state of this class that the step finds of the tensor; of a layer, where it has layers.
struct term given_state(struct terms *, enum buffer_class, const struct tensor *, int32_t layer);
// What the host gives as such; each item of layers or microbatches has its own number.
struct term given_by_host(struct terms *, enum host_role, int32_t item);
bool is_given_by_host(struct terms *, struct term, enum host_role);

// The name that such a leaf has: the tensor's, or the role's; and the class of a state.
const char *given_name(const struct terms *, struct term leaf);
enum buffer_class given_class(const struct terms *, struct term state);

#endif
